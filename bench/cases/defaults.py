"""What a newcomer gets: `svm_train(table, label)` beside scikit-learn's `LinearSVC()`, both with all defaults, on rows that
neither was trained on.

The peer gets numbers moved to mean 0 and deviation 1 and text as one indicator a value (StandardScaler, OneHotEncoder), as
its own documentation asks for; NULLs are means, or the commonest value. Ours reads the table as it is and decides the same
by itself; it is told what is no feature (Titanic's names, tickets and what is known afterwards only) and, where there are
NULLs, `nulls => 'mean'`. One split, five seeds of training each. F1 is of the larger label of two and the mean over several
classes; AUC of one class against the rest, their mean. Where the table below says so, a sample of the training rows is
used: the peer takes minutes for all.
"""

import csv
import lzma

import numpy as np
from scipy.stats import rankdata

import datasets
import problems
import server
from machine import median
from report import table

TITLE = "All defaults, held out"
SEEDS = range(5)
WITHIN, SPREAD = 0.005, 0.01
FIGURES = ["accuracy", "F1", "AUC"]

ADULT = """age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain
    capital_loss hours_per_week native_country""".split()
ADULT_NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
TITANIC_NUMBERS, TITANIC_TEXT = ["pclass", "age", "sibsp", "parch", "fare"], ["sex", "embarked"]
KDD_TEXT = [1, 2, 3]
# training rows and test rows at most
LIMITS = {"quick": (10_000, 20_000), "full": (50_000, 100_000)}
PIXEL_LIMITS = {"quick": (2_000, 5_000), "full": (10_000, 10_000)}


class Held:
    """A data set: columns by name (numbers with nan for NULL, or text with None), or an array `x`; labels; which rows are
    trained on."""

    def __init__(self, columns, labels, training):
        self.columns, self.labels, self.training = columns, np.asarray(labels), training

    @property
    def has_nulls(self):
        return any(is_null(column).any() for column in self.columns.values())


def is_null(column):
    return np.isnan(column) if column.dtype != object else np.equal(column, None)


def measure(run):
    found, missing = [], []
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error")
        for name, make in DATA_SETS.items():
            try:
                held = make("quick" if run.quick else "full")
            except datasets.Missing as error:
                run.say(f"  {name}: skipped, {error}")
                missing.append(name)
                continue
            load(connection, held)
            figures = {"pgsvm": [ours(connection, held, seed) for seed in SEEDS]}
            figures["LinearSVC"] = [peer(held, seed) for seed in SEEDS]
            counts = {"trained": int(held.training.sum()), "held_out": int((~held.training).sum())}
            found.append({"set": name, "classes": len(set(held.labels.tolist())), **counts, "figures": figures})
            run.say(f"  {name}: " + ", ".join(f"{who} {shown(found[-1], who)}" for who in figures))
        connection.execute("DROP TABLE IF EXISTS defaults_trained, defaults_held")
    return {"sets": found, "missing": missing}


def load(connection, held):
    """Tables defaults_trained and defaults_held (id, label, columns), the rows in their order."""
    kinds = {
        name: "text" if column.dtype == object else "float4[]" if column.ndim == 2 else "float8"
        for name, column in held.columns.items()
    }
    declared = ", ".join(["id int", "label text", *(f'"{name}" {kind}' for name, kind in kinds.items())])
    for name, rows in [("trained", held.training), ("held", ~held.training)]:
        connection.execute(f"DROP TABLE IF EXISTS defaults_{name}; CREATE TABLE defaults_{name} ({declared})")
        with connection.cursor().copy(f"COPY defaults_{name} FROM STDIN") as copy:
            for row in np.flatnonzero(rows):
                values = (value_of(column, row) for column in held.columns.values())
                copy.write_row([int(row), str(held.labels[row]), *values])
        connection.execute(f"VACUUM ANALYZE defaults_{name}")


def value_of(column, row):
    if column.ndim == 2:
        return "{" + ",".join(map(str, column[row].tolist())) + "}"
    value = column[row]
    return value if column.dtype == object else None if np.isnan(value) else float(value)


def ours(connection, held, seed):
    """The figures of svm_train with its defaults. `id` is there for the order of the rows alone."""
    columns = ", ".join(f'"{name}"' for name in held.columns)
    query = f"SELECT label, {columns} FROM defaults_trained"
    nulls = ", nulls => 'mean'" if held.has_nulls else ""
    connection.execute(f"SELECT svm_train_query('{query}', 'label', model => 'defaults', seed => {seed}{nulls})")
    labels = held.labels[~held.training].astype(str)
    classes = sorted(set(held.labels.astype(str).tolist()))
    rows = connection.execute(
        """SELECT h.id, p.class, p.decision FROM defaults_held AS h, svm_predict_set('defaults', h) AS p ORDER BY h.id, p.class"""
    ).fetchall()
    connection.execute("SELECT svm_drop('defaults')")
    decisions = np.array([decision for _, _, decision in rows]).reshape(len(labels), len(classes))
    said = [name for _, name, _ in rows[: len(classes)]]
    decisions = decisions[:, [said.index(name) for name in classes]]
    return figures_of(labels, classes, decisions)


def peer(held, seed):
    from sklearn.svm import LinearSVC

    x = features_of(held)
    labels = held.labels.astype(str)
    fitted = LinearSVC(random_state=seed).fit(x[held.training], labels[held.training])
    decisions = fitted.decision_function(x[~held.training])
    if decisions.ndim == 1:
        decisions = np.stack([-decisions, decisions], axis=1)
    return figures_of(labels[~held.training], list(fitted.classes_), decisions)


def features_of(held):
    parts = []
    for column in held.columns.values():
        trained = column[held.training]
        if column.dtype == object:
            kept = trained[~is_null(trained)].tolist()
            common = max(sorted(set(kept)), key=kept.count)
            column = np.where(is_null(column), common, column)
            # values that come in held out rows only have no indicator
            parts += [(column == value).astype(float)[:, None] for value in sorted(set(kept))]
            continue
        numbers = column.astype(float).reshape(len(column), -1)
        mean, deviation = np.nanmean(numbers[held.training], axis=0), np.nanstd(numbers[held.training], axis=0)
        numbers = np.where(np.isnan(numbers), mean, numbers)
        parts.append((numbers - mean) / np.where(deviation > 0, deviation, 1.0))
    return np.hstack(parts)


def figures_of(labels, classes, decisions):
    said = np.array(classes)[decisions.argmax(axis=1)]
    counted = classes[1:] if len(classes) == 2 else classes
    f1 = [f1_of(labels == name, said == name) for name in counted]
    areas = [
        auc_of(labels == name, decisions[:, classes.index(name)])
        for name in counted
        if 0 < (labels == name).sum() < len(labels)
    ]
    return {"accuracy": float((said == labels).mean()), "F1": float(np.mean(f1)), "AUC": float(np.mean(areas))}


def f1_of(actual, said):
    both = (actual & said).sum()
    return 2 * both / max(actual.sum() + said.sum(), 1)


def auc_of(positive, decision):
    ranks = rankdata(decision)
    few = positive.sum()
    return (ranks[positive].sum() - few * (few + 1) / 2) / (few * (len(positive) - few))


def report(found):
    rows, verdicts = [], []
    for entry in found["sets"]:
        what = f"{entry['set']} ({entry['classes']} classes)"
        rows.append([what, entry["trained"], entry["held_out"], *(shown(entry, who) for who in entry["figures"])])
        rows[-1] += [f"{areas(entry, who):.4f}" for who in entry["figures"]]
        worst = max(abs(middle(entry, "pgsvm", f) - middle(entry, "LinearSVC", f)) for f in FIGURES)
        verdicts.append(
            (f"{entry['set']}, largest difference of a held-out figure to LinearSVC's", worst, WITHIN, None, True)
        )
        verdicts.append((f"{entry['set']}, spread of AUC over seeds", areas(entry, "pgsvm"), SPREAD, None, True))
    header = ["data", "rows trained on", "held out", "pgsvm: " + " / ".join(FIGURES), "LinearSVC: the same"]
    header += ["pgsvm, spread of AUC", "LinearSVC, spread of AUC"]
    note = f"\n\nLeft out, not in the folder of data sets: {', '.join(found['missing'])}." if found["missing"] else ""
    return table(header, rows) + note, verdicts, []


def middle(entry, who, figure):
    return median([said[figure] for said in entry["figures"][who]])


def shown(entry, who):
    return " / ".join(f"{middle(entry, who, figure):.3f}" for figure in FIGURES)


def areas(entry, who):
    """Largest AUC less the least, over the seeds."""
    said = [figures["AUC"] for figures in entry["figures"][who]]
    return max(said) - min(said)


def lines_of(name):
    path = datasets.folder() / name
    if not path.exists():
        raise datasets.Missing(f"no {name} in the folder PGSVM_DATA")
    with lzma.open(path, "rt") as lines:
        yield from (line for line in lines if line.strip())


def text_column(values, null):
    return np.array([None if value == null else value for value in values], object)


def number_column(values):
    return np.array([np.nan if value in ("", "?") else float(value) for value in values])


def adult(_):
    fields = [
        [field.strip() for field in line.rstrip().rstrip(".").split(",")]
        for name in ("adult/adult.data.xz", "adult/adult.test.xz")
        for line in lines_of(name)
    ]
    *columns, labels = zip(*fields)
    made = {
        name: number_column(values) if name in ADULT_NUMBERS else text_column(values, None)
        for name, values in zip(ADULT, columns)
    }
    training = np.arange(len(labels)) < sum(1 for _ in lines_of("adult/adult.data.xz"))
    return Held(made, labels, training)


def titanic(_):
    rows = list(csv.DictReader(lines_of("titanic/titanic_openML.csv.xz")))
    made = {name: number_column([row[name] for row in rows]) for name in TITANIC_NUMBERS}
    made |= {name: text_column([row[name] for row in rows], "?") for name in TITANIC_TEXT}
    return Held(made, [row["survived"] for row in rows], share_of(len(rows)))


def shuttle(mode):
    files = [
        np.array([line.split() for line in lines_of(f"shuttle/shuttle.{part}.xz")], int) for part in ("trn", "tst")
    ]
    rows = np.concatenate(files)
    training = np.arange(len(rows)) < len(files[0])
    return limited(
        {f"c{i}": rows[:, i].astype(float) for i in range(rows.shape[1] - 1)}, rows[:, -1], training, LIMITS[mode]
    )


def kddcup(mode):
    rows = [line.rstrip().rstrip(".").split(",") for line in lines_of("kddcup99/kddcup.data_10_percent.xz")]
    *columns, labels = zip(*rows)
    made = {
        f"c{i}": text_column(values, None) if i in KDD_TEXT else number_column(values)
        for i, values in enumerate(columns)
    }
    labels = np.where(np.array(labels) == "normal", "normal", "attack")
    return limited(made, labels, share_of(len(labels)), LIMITS[mode])


def mnist(mode):
    x, labels = [], []
    sizes = []
    for name in ("mnist/mnist.train.libsvm.xz", "mnist/mnist.t10k.libsvm.xz"):
        for line in lines_of(name):
            label, *pairs = line.split()
            row = np.zeros(784, np.float32)
            for pair in pairs:
                index, _, value = pair.partition(":")
                row[int(index) - 1] = float(value)
            x.append(row)
            labels.append(int(label))
        sizes.append(len(x))
    return limited({"x": np.array(x)}, np.array(labels), np.arange(len(x)) < sizes[0], PIXEL_LIMITS[mode])


def cover_like(mode):
    problem = problems.cover_like(sum(LIMITS[mode]))
    training = np.arange(problem.rows) < LIMITS[mode][0]
    x = problem.x if problem.is_dense else problem.x.toarray()
    return Held({f"c{i}": x[:, i].astype(float) for i in range(x.shape[1])}, problem.y, training)


def share_of(rows):
    """Seven rows in ten, the same every time."""
    return np.random.default_rng(0).random(rows) < 0.7


def limited(columns, labels, training, limits):
    """So many rows to train on and to hold out at most, drawn the same way every time."""
    random = np.random.default_rng(1)
    kept = []
    for rows, limit in ((np.flatnonzero(training), limits[0]), (np.flatnonzero(~training), limits[1])):
        kept.append(np.sort(random.permutation(rows)[:limit]))
    rows = np.concatenate(kept)
    return Held({name: column[rows] for name, column in columns.items()}, labels[rows], training[rows])


DATA_SETS = {
    "adult": adult,
    "titanic": titanic,
    "shuttle": shuttle,
    "kddcup99": kddcup,
    "mnist": mnist,
    "covtype-like": cover_like,
}
