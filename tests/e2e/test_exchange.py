"""Models go to LIBLINEAR and LIBSVM and come from them with equal predictions; LIBSVM files become tables."""

import lzma
import re
import shutil
import subprocess
import time

import numpy
import psycopg
import pytest

from harness.data import data_file
from harness.data import examples as rows_of
from harness.sessions import one

# name, training file, test file; what the features of the tables are
DATA_SETS = [
    ("a9a", "a9a/a9a.xz", "a9a/a9a.t.xz"),
    ("ijcnn1", "ijcnn1/ijcnn1.trn.xz", "ijcnn1/ijcnn1.tst.xz"),
    ("news20", "news20_multiclass/news20.xz", "news20_multiclass/news20.xz"),
]


def program(name):
    """The path of one of LIBLINEAR's programs; skips the test without them."""
    return shutil.which(name) or pytest.skip(f"no program {name}: scripts/setup installs it")


def unpacked(folder, name):
    """A plain copy of a compressed data set that the server may read."""
    path = folder / name.replace("/", "_").removesuffix(".xz")
    path.write_bytes(lzma.decompress(data_file(name).read_bytes()))
    return path


@pytest.fixture
def folder(tmp_path_factory):
    """A folder that the server's user can enter."""
    made = tmp_path_factory.mktemp("exchange")
    # up to the folder of this user's test runs, which others cannot enter
    for parent in [made, *made.parents]:
        parent.chmod(0o755)
        if parent.name.startswith("pytest-of-"):
            break
    return made


def liblinear_predictions(folder, model, data):
    """What LIBLINEAR's program says of each line."""
    (folder / "model").write_text(model)
    subprocess.run(
        [program("liblinear-predict"), data, folder / "model", folder / "out"], check=True, capture_output=True
    )
    return [float(line) for line in (folder / "out").read_text().split()]


@pytest.mark.parametrize(("name", "training", "test"), DATA_SETS, ids=[name for name, *_ in DATA_SETS])
def test_both_predict_the_same_labels(connection, folder, name, training, test):
    train, liblinear_train = unpacked(folder, training), program("liblinear-train")
    data = unpacked(folder, test)
    assert one(connection, "SELECT svm_load_libsvm(%s, path => %s)", [name, str(train)]) == len(examples(train))

    one(connection, "SELECT svm_train(%s, 'label', ARRAY['sparse(idx, val)'], model => %s)", [name, name])
    exported = one(connection, "SELECT svm_export(%s)", [name])
    assert predictions(connection, name, data) == liblinear_predictions(folder, exported, data)

    subprocess.run([liblinear_train, "-q", "-B", "1", train, folder / "theirs"], check=True, capture_output=True)
    theirs = (folder / "theirs").read_text()
    one(connection, "SELECT svm_import(%s, %s)", [f"{name}_imported", theirs])
    expected = liblinear_predictions(folder, theirs, data)
    assert predictions(connection, f"{name}_imported", data) == expected
    assert weights(one(connection, "SELECT svm_export(%s)", [f"{name}_imported"])) == weights(theirs)

    # rows of the table that the file became, which has no order
    one(connection, "SELECT svm_load_libsvm(%s, content => %s)", [f"{name}_test", data.read_text()])
    rows = connection.execute(f"SELECT svm_predict(%s, t) FROM {name}_test AS t", [f"{name}_imported"])
    assert sorted(label for (label,) in rows) == sorted(expected)


def examples(path):
    return path.read_text().splitlines()


def predictions(connection, model, path):
    """What the model says of each line's features."""
    features = [line.partition(" ")[2] for line in examples(path)]
    rows = connection.execute(
        "SELECT svm_predict(%s, features) FROM unnest(%s::text[]) WITH ORDINALITY AS t (features, line) ORDER BY line",
        [model, features],
    )
    return [label for (label,) in rows]


def weights(model):
    return [float(weight) for weight in model.split("\nw\n")[1].split()]


def libsvm_predictions(folder, model, data, *options):
    """The lines that LIBSVM's program writes for each line."""
    (folder / "model").write_text(model)
    command = [program("svm-predict"), *options, data, folder / "model", folder / "out"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "out").read_text().splitlines()


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "sigmoid", "linear"])
def test_libsvm_and_a_kernel_machine_predict_the_same(connection, folder, kernel):
    """Of what svm-train made, here and there; and of what was trained here, exact and of low rank."""
    name, codes = f"guide_{kernel}", {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}
    data = unpacked(folder, "svmguide1/svmguide1.xz")
    parameters = {
        "rbf": ["-g", "0.01"],
        "polynomial": ["-g", "0.01", "-r", "1", "-d", "2"],
        "sigmoid": ["-g", "1e-5", "-r", "-1"],
    }
    lines = examples(data)
    (folder / "some").write_text("".join(f"{line}\n" for line in lines[::3]))
    command = [program("svm-train"), "-q", "-t", str(codes[kernel]), "-c", "0.1", *parameters.get(kernel, [])]
    if kernel in ("rbf", "sigmoid"):
        command += ["-b", "1"]
    subprocess.run([*command, folder / "some", folder / "theirs"], check=True)
    theirs = (folder / "theirs").read_text()
    one(connection, "SELECT svm_import(%s, %s, 'libsvm')", [name, theirs])
    expected = [float(line) for line in libsvm_predictions(folder, theirs, data)]
    assert 0.1 < sum(expected) / len(expected) < 0.9
    assert differences(predictions(connection, name, data), expected) <= 1
    # and as it goes out again
    exported = one(connection, "SELECT svm_export(%s, 'libsvm_model')", [name])
    assert [float(line) for line in libsvm_predictions(folder, exported, data)] == expected
    if "-b" in command:
        header, *probabilities = libsvm_predictions(folder, theirs, data, "-b", "1")
        column = header.split().index("1")
        features = [line.partition(" ")[2] for line in lines]
        query = (
            "SELECT svm_probability(%s, f, '1') FROM unnest(%s::text[]) WITH ORDINALITY AS t (f, line) ORDER BY line"
        )
        ours = [found for (found,) in connection.execute(query, [name, features])]
        assert ours == pytest.approx([float(line.split()[column]) for line in probabilities], abs=1e-4)


@pytest.mark.parametrize("method", ["exact", "low_rank"])
def test_libsvm_predicts_as_the_machine_trained_here(connection, folder, method):
    data = unpacked(folder, "svmguide1/svmguide1.xz")
    one(connection, "SELECT svm_load_libsvm(%s, path => %s)", [f"guide_{method}", str(data)])
    terms = f"kernel => 'rbf', gamma => 0.01, options => '{{\"method\": \"{method}\"}}'"
    one(
        connection,
        f"SELECT svm_train('guide_{method}', 'label', '{{\"sparse(idx, val)\"}}', 'guide_{method}', {terms})",
    )
    exported = one(connection, "SELECT svm_export(%s, 'libsvm_model')", [f"guide_{method}"])
    expected = [float(line) for line in libsvm_predictions(folder, exported, data)]
    assert differences(predictions(connection, f"guide_{method}", data), expected) <= 1


@pytest.mark.parametrize("cost", [0.1, 10])
def test_a_free_intercept_makes_it_the_problem_of_libsvm(connection, folder, cost):
    """Both duals are the same number, once rows are not scaled: LIBSVM writes its own, with the other sign."""
    data, name = unpacked(folder, "svmguide1/svmguide1.xz"), f"libsvm_{10 * cost:.0f}"
    command = [
        program("svm-train"),
        "-t",
        "2",
        "-g",
        "0.001",
        "-c",
        str(cost),
        "-e",
        "0.00001",
        data,
        folder / "theirs",
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expected = -float(said.partition("obj = ")[2].partition(",")[0])
    one(connection, "SELECT svm_load_libsvm(%s, path => %s)", [name, str(data)])
    terms = "kernel => 'rbf', gamma => 0.001, loss => 'hinge', scale => 'none', tolerance => 1e-5"
    options = """options => '{"method": "exact", "intercept": "free"}'"""
    call = f"SELECT svm_train(%s, 'label', '{{\"sparse(idx, val)\"}}', %s, c => {cost}, {terms}, {options})"
    one(connection, call, [name, name])
    primal, gap = connection.execute("SELECT primal, gap FROM svm_models WHERE name = %s", [name]).fetchone()
    assert gap <= 1e-5 and primal == pytest.approx(expected, rel=3e-5)


def differences(ours, theirs):
    """Rows that get another label: one that lies on the boundary may, by rounding."""
    assert len(ours) == len(theirs)
    return sum(one != other for one, other in zip(ours, theirs))


LABELS = [7, -3, 0, 12, 5]


def clouds(rows):
    """Rows of five classes that overlap, and the label of each, in no order."""
    random = numpy.random.default_rng(5)
    own = random.integers(5, size=rows)
    x = random.normal(size=(5, 4))[own] * 1.2 + random.normal(size=(rows, 4))
    return x.astype(numpy.float32), [LABELS[at] for at in own]


def as_libsvm(x, labels):
    lines = (" ".join(f"{at + 1}:{value:.9g}" for at, value in enumerate(row)) for row in x)
    return "".join(f"{label} {line}\n" for label, line in zip(labels, lines))


def told_by_votes(connection, exported, model, rows, row="row"):
    """What the model's votes tell as LIBSVM counts them, the first class of equals, and whether there are no equals."""
    labels = re.search("label (.*)", exported)[1].split()
    query = f"""
        SELECT ARRAY(SELECT svm_decision(%s, {row}, class) FROM unnest(%s::text[]) WITH ORDINALITY AS c (class, place) ORDER BY place)
        FROM unnest(%s::text[]) WITH ORDINALITY AS t (row, line) ORDER BY line
    """
    found = connection.execute(query, [model, labels, rows]).fetchall()
    votes = numpy.rint([decisions for (decisions,) in found])
    told = [float(labels[at]) for at in votes.argmax(axis=1)]
    return told, (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "sigmoid", "linear"])
def test_machines_of_several_classes_come_from_libsvm(connection, folder, kernel):
    name, data = f"clouds_{kernel}", folder / "clouds"
    data.write_text(as_libsvm(*clouds(800)))
    parameters = {
        "rbf": ["-t", "2", "-g", "0.3"],
        "polynomial": ["-t", "1", "-g", "0.5", "-r", "1", "-d", "3"],
        "sigmoid": ["-t", "3", "-g", "0.05", "-r", "-0.5"],
        "linear": ["-t", "0"],
    }
    command = [program("svm-train"), "-q", "-b", "1", *parameters[kernel], data, folder / "theirs"]
    subprocess.run(command, check=True)
    theirs = (folder / "theirs").read_text()
    one(connection, "SELECT svm_import(%s, %s, 'libsvm')", [name, theirs])
    expected = [float(line) for line in libsvm_predictions(folder, theirs, data)]
    rows = [line.partition(" ")[2] for line in examples(data)]
    told, alone = told_by_votes(connection, theirs, name, rows)
    assert len(set(expected)) == 5 and alone.mean() > 0.9
    assert differences(told, expected) <= 1
    ours = numpy.array(predictions(connection, name, data))
    assert differences(ours[alone], numpy.array(expected)[alone]) <= 1
    # and as it goes out again
    exported = one(connection, "SELECT svm_export(%s, 'libsvm_model')", [name])
    assert [float(line) for line in libsvm_predictions(folder, exported, data)] == expected
    # LIBSVM ends the coupling of probabilities within .005 of a class's share
    header, *lines = libsvm_predictions(folder, theirs, data, "-b", "1")
    probabilities = numpy.array([[float(word) for word in line.split()[1:]] for line in lines])
    query = "SELECT svm_probability(%s, f, %s) FROM unnest(%s::text[]) WITH ORDINALITY AS t (f, line) ORDER BY line"
    for column, label in enumerate(header.split()[1:]):
        found = [found for (found,) in connection.execute(query, [name, label, rows])]
        assert found == pytest.approx(probabilities[:, column], abs=0.01)


@pytest.mark.parametrize("method", ["exact", "low_rank"])
def test_machines_of_several_classes_go_to_libsvm(connection, folder, method):
    x, labels = clouds(800)
    connection.execute("DROP TABLE IF EXISTS clouds; CREATE TABLE clouds (x real[], label int)")
    connection.cursor().executemany("INSERT INTO clouds VALUES (%s, %s)", zip(x.tolist(), labels))
    options = f'{{"method": "{method}", "multiclass": "one_vs_one", "calibration": "sigmoid"}}'
    train = "SELECT svm_train('clouds', 'label', '{x}', %s, kernel => 'rbf', probability => true, options => %s)"
    one(connection, train, [method, options])
    exported = one(connection, "SELECT svm_export(%s, 'libsvm_model')", [method])
    assert "nr_class 5\n" in exported
    scaling = one(
        connection,
        "SELECT features #> '{kernel,scaling}' FROM svm_version WHERE id = svm_internal.svm_version_id(%s)",
        [method],
    )
    scaled = (x - numpy.array(scaling["centre"])) * numpy.array(scaling["factor"])
    data = folder / "clouds"
    data.write_text(as_libsvm(scaled, labels))
    rows = ["{" + ",".join(map(str, row)) + "}" for row in x.tolist()]
    told, _ = told_by_votes(connection, exported, method, rows, "row::real[]")
    assert len(set(told)) == 5
    assert differences(told, [float(line) for line in libsvm_predictions(folder, exported, data)]) <= 1
    header, *lines = libsvm_predictions(folder, exported, data, "-b", "1")
    probabilities = numpy.array([[float(word) for word in line.split()[1:]] for line in lines])
    for column, label in enumerate(header.split()[1:]):
        query = "SELECT svm_probability(%s, f::real[], %s) FROM unnest(%s::text[]) WITH ORDINALITY AS t (f, line) ORDER BY line"
        found = [found for (found,) in connection.execute(query, [method, label, rows])]
        assert found == pytest.approx(probabilities[:, column], abs=0.01)


def test_logistic_regression_gives_the_probabilities_of_liblinear(connection, folder):
    data = unpacked(folder, "svmguide1/svmguide1.xz")
    subprocess.run([program("liblinear-train"), "-q", "-s", "0", data, folder / "model"], check=True)
    subprocess.run(
        [program("liblinear-predict"), "-b", "1", data, folder / "model", folder / "out"],
        check=True,
        capture_output=True,
    )
    header, *lines = (folder / "out").read_text().splitlines()
    column = header.split().index("1")
    one(connection, "SELECT svm_import('guide', %s)", [(folder / "model").read_text()])
    features = [line.partition(" ")[2] for line in examples(data)]
    rows = connection.execute(
        "SELECT svm_probability('guide', features, '1')"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t (features, line) ORDER BY line",
        [features],
    )
    expected = [float(line.split()[column]) for line in lines]
    assert [ours for (ours,) in rows] == pytest.approx(expected, rel=1e-5)


def test_loading_a_file_can_be_cancelled(connection, connect, run, folder):
    path = folder / "long"
    path.write_text(("1 " + " ".join(f"{index}:0.5" for index in range(1, 50)) + "\n") * 400_000)
    loading = run(connect(), "SELECT svm_load_libsvm('long', path => %s)", [str(path)])
    one(connection, "SELECT pg_sleep(0.2)")
    assert not loading.over
    asked = time.monotonic()
    one(connection, "SELECT pg_cancel_backend(%s)", [loading.pid])
    assert loading.seconds_until_end(asked) < 1
    assert isinstance(loading.end(), psycopg.errors.QueryCanceled)
    assert one(connection, "SELECT to_regclass('long') IS NULL")


def together(model, x, own, c):
    """The objective of Crammer and Singer at the weights of a model as LIBLINEAR writes it."""
    head, _, weights = model.partition("\nw\n")
    labels = [int(label) for label in re.search("label (.*)", head)[1].split()]
    w = numpy.array([[float(weight) for weight in line.split()] for line in weights.splitlines()])
    scores, rows = x @ w[: x.shape[1]] + w[x.shape[1]], numpy.arange(len(own))
    column = numpy.array([labels.index(label) for label in own])
    owns = scores[rows, column]
    scores[rows, column] = -numpy.inf
    return 0.5 * numpy.sum(w * w) + c * numpy.sum(numpy.maximum(0, 1 + scores.max(axis=1) - owns))


@pytest.mark.parametrize(("solver", "cache"), [("ocas", "64MB"), ("ocas", "1MB"), ("cutting_plane", "64MB")])
def test_ten_digits_told_apart_together_are_as_liblinear_has_them(connection, folder, solver, cache):
    rows, c = 2000, 0.01
    x, own = numpy.zeros((rows, 784)), numpy.zeros(rows, dtype=int)
    for row, (label, pairs) in zip(range(rows), rows_of("mnist/mnist.train.libsvm.xz")):
        own[row] = label
        for index, value in pairs:
            x[row, int(index) - 1] = float(value) / 256
    # all features occur
    x[0, 783] = 1 / 256
    entries = [" ".join(f"{at + 1}:{line[at]:.9g}" for at in numpy.flatnonzero(line)) for line in x]
    path = folder / "digits"
    path.write_text("".join(f"{label} {line}\n" for label, line in zip(own, entries)))
    connection.execute("DROP TABLE IF EXISTS ten")
    one(connection, "SELECT svm_load_libsvm('ten', path => %s)", [str(path)])
    connection.execute("SET pgsvm.cache_size = '%s'" % cache)
    one(
        connection,
        "SELECT svm_train('ten', 'label', ARRAY['sparse(idx, val)'], 'ten', c => %s, solver => %s, scale => 'none',"
        ' options => \'{"multiclass": "crammer_singer"}\')',
        [c, solver],
    )
    query = "SELECT primal, dual, gap, stop_reason FROM svm_models WHERE name = 'ten'"
    primal, dual, gap, stop = connection.execute(query).fetchone()
    assert stop == "tolerance" and 0 <= gap <= 1e-3
    exported = one(connection, "SELECT svm_export('ten')")
    assert exported.startswith("solver_type MCSVM_CS")
    assert together(exported, x, own, c) == pytest.approx(primal, rel=1e-9)
    terms = ["-s", "4", "-c", str(c), "-B", "1", "-e", "0.001"]
    train = [program("liblinear-train"), "-q", *terms, path, folder / "theirs"]
    subprocess.run(train, check=True, capture_output=True)
    theirs = together((folder / "theirs").read_text(), x, own, c)
    # neither is above the other by more than its tolerance, and no dual is above an objective
    assert dual <= theirs * (1 + 1e-9)
    assert primal == pytest.approx(theirs, rel=1.1e-3)


# features of a table of mails, and what the training is told beside
EXPANDED = {
    "texts": ('text(body),tags,"ngrams(body, 2, 3)"', "scale => 'none'"),
    "everything": (
        'length,kind,text(body),"cross(length, hour)","polynomial(length, hour, 2)","bucket(hour, 4)","hash(sparse(idx, val), 6)"',
        "nulls => 'mean'",
    ),
    "sequences": ('"weighted_degree(dna, 3)",hour', "nulls => 'zero'"),
}


@pytest.mark.parametrize(("features", "told"), EXPANDED.values(), ids=EXPANDED)
def test_liblinear_trains_on_expanded_rows_to_the_same_objective(connection, folder, features, told):
    connection.execute(
        """
        DROP TABLE IF EXISTS mails;
        CREATE TABLE mails AS
        SELECT 'word' || i % 37 || ' word' || i * i % 41 || ' number ' || i AS body, ARRAY['t' || i % 5, 't' || i % 3] AS tags,
            nullif(i % 13, 5) AS length, (i % 24)::float8 AS hour, CASE WHEN i % 11 > 0 THEN 'k' || i % 6 END AS kind,
            ARRAY[i, i % 100 + 7] AS idx, ARRAY[0.5, i % 3]::float8[] AS val,
            translate(lpad((i * 7919 % 4096)::bit(12)::text, 12, '0') || (i % 16)::bit(4)::text, '01', 'AC') AS dna,
            (i % 13 + i % 5 + i * i % 41 % 3) % 2 = 0 AS spam
        FROM generate_series(1, 800) AS i
        """
    )
    model = f"SELECT svm_train('mails', 'spam', %s, 'expanded', tolerance => 1e-7, max_passes => 5000, {told})"
    one(connection, model, ["{" + features + "}"])
    primal = one(connection, "SELECT primal FROM svm_models WHERE name = 'expanded'")
    lines = [line for (line,) in connection.execute("SELECT line FROM svm_export_rows('expanded', 'mails')")]
    assert len(lines) == 800
    path = folder / "expanded"
    path.write_text("".join(line + "\n" for line in lines))

    terms = ["-s", "2", "-c", "1", "-B", "1", "-e", "1e-9"]
    subprocess.run([program("liblinear-train"), "-q", *terms, path, folder / "theirs"], check=True, capture_output=True)
    theirs = squared_hinge((folder / "theirs").read_text(), lines)
    assert primal == pytest.approx(theirs, rel=1e-6)


def squared_hinge(model, lines):
    """The objective of a model of LIBLINEAR's, c being 1, at rows in LIBSVM's form."""
    head, _, weights = model.partition("\nw\n")
    labels = [int(label) for label in re.search(r"label (.*)", head).group(1).split()]
    w = [float(weight) for weight in weights.split()]
    loss = 0
    for line in lines:
        label, *pairs = line.split()
        indices = [int(pair.partition(":")[0]) for pair in pairs]
        assert indices == sorted(set(indices)) and indices[0] >= 1
        decision = w[-1] + sum(w[at - 1] * float(pair.partition(":")[2]) for at, pair in zip(indices, pairs))
        margin = decision if int(label) == labels[0] else -decision
        loss += max(0, 1 - margin) ** 2
    return 0.5 * sum(weight * weight for weight in w) + loss
