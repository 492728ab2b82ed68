"""What is done with kernel machines beside one training: ten classes at once, a grid over gamma and C, prediction, the way from
a table to a model, and how accuracy grows with landmarks and seconds.

| part | measures |
|---|---|
| ten classes | the solver alone on mnist, low rank: ten trainings of one class against the rest / one of all; processor seconds |
| grid | `svm_cross_validate` over ten gammas, ten C and five folds on ijcnn1 / one training of LIBSVM; processor seconds |
| prediction | `svm_decision` over rows of mnist, one process, beside the matrix product of the same rows and landmarks by numpy on one core; wall seconds |
| end to end | `svm_train` of an exact machine from a table of ijcnn1 / COPY to a file, reading it and scikit-learn-intelex; wall seconds, one core each |
| rings | the table of the tutorial: decisions of a linear and an exact RBF machine over the plane, as docs/figures/rings.svg |
| rank | ijcnn1: error on the test rows and processor seconds by rank, landmarks by pivots and uniform, beside the exact machine and LIBSVM on parts of the rows |
"""

import json
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np

import kernel_sets
import server
from cases import kernels
from machine import ROOT, TARGET, ServerWatch
from report import Picture, seconds, table
from solvers import measure_program

TITLE = "Kernel machines in use"
CLASSES, CLASS_RANK, PREDICTION_RANK = 10, 490, 490
RANKS = {"quick": [50, 100, 200, 400], "full": [50, 100, 200, 400, 800, 1600]}
PARTS = {"quick": [0.05, 0.2], "full": [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]}
GAMMAS = [0.125 * 2.0**k for k in range(10)]
COSTS = [0.0625 * 4.0**k for k in range(10)]
FOLDS = 5
PREDICTED = 10_000


def measure(run):
    mode = "quick" if run.quick else "full"
    found = {}
    for name in ("mnist", "ijcnn1"):
        if not kernel_sets.available(name):
            run.say(f"  skipped, no {name} in the folder PGSVM_DATA")
            return None
    for part in (ten_classes, grid, prediction, end_to_end, rings, by_rank):
        found[part.__name__] = part(run, mode)
        run.say(f"  {part.__name__}: {json.dumps(found[part.__name__])[:400]}")
    return found


def ten_classes(run, mode):
    train, _ = kernel_sets.sets("mnist")
    gamma, c = kernel_sets.KERNELS["mnist"]
    digits = kernel_sets.digits()
    digits.astype(np.int8).tofile(train.folder / "digit.i8")
    counted = 2 if mode == "quick" else CLASSES
    apart = []
    for digit in range(counted):
        np.where(digits == digit, 1, -1).astype(np.int8).tofile(train.folder / f"is_{digit}.i8")
        apart.append(trained(train, gamma, c, labels=f"is_{digit}.i8"))
    together = trained(train, gamma, c, heads=CLASSES, labels="digit.i8")
    return {"apart": float(np.mean(apart) * CLASSES), "counted": counted, "together": together}


def trained(train, gamma, c, **more):
    """Processor seconds of choosing landmarks, mapping rows and training."""
    terms = {"kernel": "rbf", "gamma": gamma, "c": c, "rank": CLASS_RANK, "loss": "hinge"}
    terms |= {"features": train.features, "tolerance": kernels.TOLERANCE, **more}
    command = [measure_program(), train.folder, *(f"{key}={value}" for key, value in terms.items())]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    took = json.loads(said[0])
    return took["load_cpu"] + took["cpu"]


def grid(run, mode):
    train, test = kernel_sets.sets("ijcnn1")
    gamma, c = kernel_sets.KERNELS["ijcnn1"]
    with server.connect() as connection:
        server.load_arrays(connection, "grid_rows", train.y, train.x)
        connection.execute("SET pgsvm.cache_size = '1GB'")
        took = {}
        for loss in ("hinge", "squared_hinge"):
            with ServerWatch(connection) as watch:
                best = connection.execute(
                    """SELECT gamma, c, max(overall) FROM svm_cross_validate('grid_rows', 'label', kernel => 'rbf', scale => 'none',
                           loss => %s, gamma => %s, c => %s, folds => %s)
                       GROUP BY gamma, c ORDER BY 3 DESC LIMIT 1""",
                    (loss, GAMMAS, COSTS, FOLDS),
                ).fetchone()
            took[loss] = {"cpu": watch.usage.cpu, "best": list(best)}
    return {"rows": train.rows, **took, "libsvm": kernels.peer("sklearn", train, test, gamma, c)["cpu"]}


def prediction(run, mode):
    train, test = kernel_sets.sets("mnist")
    gamma, c = kernel_sets.KERNELS["mnist"]
    rows = 12_000 if mode == "quick" else train.rows
    with server.connect() as connection:
        server.load_arrays(connection, "digits", train.y[:rows], train.x[:rows])
        server.load_arrays(connection, "predicted", test.y[:PREDICTED], test.x[:PREDICTED])
        connection.execute("SET pgsvm.cache_size = '1GB'")
        terms = (
            f"kernel => 'rbf', gamma => {gamma}, c => {c}, rank => {PREDICTION_RANK}, scale => 'none', model => 'eight'"
        )
        connection.execute(f"SELECT svm_train('digits', 'label', {terms})")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        took = {}
        queries = {
            "ours": "SELECT sum(decision) FROM svm_predict_query('eight', 'SELECT x FROM predicted')",
            "by_row": "SELECT sum(svm_decision('eight', x)) FROM predicted",
            "reading": "SELECT sum(x[1]) FROM predicted",
        }
        for name, query in queries.items():
            times = []
            for _ in range(4):
                with ServerWatch(connection) as watch:
                    connection.execute(query)
                times.append(watch.usage.wall)
            took[name] = float(np.median(times[1:]))
    code = f"""
import numpy as np, time
x = np.fromfile({str(test.folder / "dense.f32")!r}, np.float32).reshape(-1, {test.features})[:{PREDICTED}]
z = x[:{PREDICTION_RANK}].copy()
times = []
for _ in range(6):
    started = time.perf_counter()
    x @ z.T
    times.append(time.perf_counter() - started)
print(np.median(times[1:]))
"""
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=kernels.peer_environment()
    )
    return {**took, "product": float(said.stdout), "rows": PREDICTED}


def end_to_end(run, mode):
    train, _ = kernel_sets.sets("ijcnn1")
    gamma, c = kernel_sets.KERNELS["ijcnn1"]
    with server.connect() as connection:
        server.load_columns(connection, "machines", train.y, train.x)
        connection.execute("SET pgsvm.cache_size = '2GB'; SET max_parallel_workers_per_gather = 0")
        terms = f"kernel => 'rbf', gamma => {gamma}, c => {c}, scale => 'none', loss => 'hinge', model => 'whole'"
        with ServerWatch(connection) as watch:
            options = """options => '{"method": "exact"}'"""
            connection.execute(f"SELECT svm_train('machines', 'label', {terms}, {options})")
        path = TARGET / "out" / "machines.csv"
        copied = server.copy_out(connection, "SELECT * FROM machines", path)
    code = f"""
import time
started = time.perf_counter()
import numpy as np
from sklearnex.svm import SVC
rows = np.loadtxt({str(path)!r}, dtype=np.float32)
SVC(kernel="rbf", gamma={gamma}, C={c}, tol=1e-3, cache_size=200).fit(rows[:, 1:], rows[:, 0])
print(time.perf_counter() - started)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=kernels.peer_environment())
    fitted = float(said.stdout) if said.returncode == 0 else None
    os.remove(path)
    return {"ours": watch.usage.wall, "copy": copied.wall, "peer": fitted}


def rings(run, mode):
    """What both machines of the tutorial decide over the plane."""
    with server.connect() as connection:
        connection.execute(RINGS)
        for model, kernel in (("line", "linear"), ("curve", "rbf")):
            connection.execute(f"SELECT svm_train('rings', 'ring', ARRAY['x', 'y'], '{model}', kernel => '{kernel}')")
        rows = connection.execute("SELECT x, y, ring = 'outer' FROM rings").fetchall()
        plane = connection.execute(PLANE).fetchall()
        accuracy = dict(
            connection.execute("SELECT name, training_accuracy FROM svm_models WHERE name IN ('line', 'curve')")
        )
    x, y, outer = (np.array(column) for column in zip(*rows))
    side = int(len(plane) ** 0.5)
    across, up, *decisions = (np.array(column).reshape(side, side) for column in zip(*plane))
    # the corner is outside: which class is positive follows from how rows come
    decisions = [decided * np.sign(decisions[1][0, 0]) for decided in decisions]
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True)
    for axis, decided, title in zip(axes, decisions, ("linear", "rbf"), strict=True):
        axis.contourf(across, up, decided, levels=[-np.inf, 0, np.inf], colors=["#dbe9f6", "#fde8d7"])
        axis.contour(
            across, up, decided, levels=[-1, 0, 1], colors="#555555", linestyles=["--", "-", "--"], linewidths=1
        )
        for is_outer, colour in ((False, "#1f6fb4"), (True, "#d95f02")):
            axis.scatter(x[outer == is_outer], y[outer == is_outer], s=3, color=colour)
        axis.set_title(f"kernel => '{title}'", fontsize=10)
        axis.set_aspect("equal")
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "figures" / "rings.svg", metadata={"Date": None})
    figure.savefig(TARGET / "rings.png", dpi=100)
    plt.close(figure)
    return {"accuracy": accuracy}


RINGS = """
    SELECT setseed(0.5);
    DROP TABLE IF EXISTS rings;
    CREATE TABLE rings AS
    SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring
    FROM (SELECT id, 1 + id % 2 + 0.4 * (random() - 0.5) AS radius, 6.2831853 * random() AS angle
          FROM generate_series(1, 300) AS id) AS drawn
"""
PLANE = """
    SELECT x, y, svm_decision('line', p), svm_decision('curve', p)
    FROM (SELECT x / 40.0::float8 AS x, y / 40.0::float8 AS y
          FROM generate_series(-120, 120) AS y, generate_series(-120, 120) AS x) AS p ORDER BY y, x
"""


def by_rank(run, mode):
    train, test = kernel_sets.sets("ijcnn1")
    gamma, c = kernel_sets.KERNELS["ijcnn1"]
    curves = {}
    for landmarks in ("pivots", "uniform"):
        for rank in RANKS[mode]:
            said = kernels.ours(train, test, gamma, c, rank, landmarks=landmarks)
            curves.setdefault(f"low rank, {landmarks}", []).append([rank, said["cpu"], 1 - said["accuracy"]])
    exact = kernels.ours(train, test, gamma, c, None, exact=kernels.MEMORY)
    curves["exact"] = [[exact["landmarks"], exact["cpu"], 1 - exact["accuracy"]]]
    for share in PARTS[mode]:
        rows = int(share * train.rows)
        for kind, name in (("sklearn", "LIBSVM on a part of the rows"), ("sklearnex", "intelex on a part of the rows")):
            said = kernels.peer(kind, kernel_sets.part("ijcnn1", rows), test, gamma, c)
            if said:
                curves.setdefault(name, []).append([said["landmarks"], said["cpu"], 1 - said["accuracy"]])
    return curves


def report(found):
    classes, tried, predicted, whole = (found[name] for name in ("ten_classes", "grid", "prediction", "end_to_end"))
    ratio = classes["apart"] / classes["together"]
    verdicts = [(f"ten classes of mnist, low rank {CLASS_RANK}: ten trainings / one", ratio, 4.0, 8.0)]
    for loss in ("hinge", "squared_hinge"):
        name = f"grid of {len(GAMMAS)} gammas x {len(COSTS)} C x {FOLDS} folds, {tried['rows']} rows of ijcnn1, {loss}"
        verdicts.append(
            (f"{name}: seconds / one LIBSVM training", tried[loss]["cpu"] / tried["libsvm"], 4.0, 2.0, True)
        )
    ratio = (predicted["ours"] - predicted["reading"]) / predicted["product"]
    name = f"prediction, {PREDICTION_RANK} landmarks, {predicted['rows']} rows of mnist: seconds / matrix product alone"
    verdicts.append((name, ratio, 1.5, 1.1, True))
    if whole["peer"]:
        ratio = (whole["copy"] + whole["peer"]) / whole["ours"]
        verdicts.append(("exact, ijcnn1 from the table: COPY and scikit-learn-intelex / ours, wall", ratio, 2.0, 5.0))
    lines = [
        ["ten classes, ten trainings", seconds(classes["apart"])],
        ["ten classes, one training", seconds(classes["together"])],
        ["grid, hinge", seconds(tried["hinge"]["cpu"])],
        ["grid, squared hinge", seconds(tried["squared_hinge"]["cpu"])],
        ["one LIBSVM training on the rows of the grid", seconds(tried["libsvm"])],
        ["prediction by svm_predict_query", seconds(predicted["ours"])],
        ["prediction row by row, svm_decision", seconds(predicted["by_row"])],
        ["the same rows read and taken apart alone", seconds(predicted["reading"])],
        ["their product with the landmarks alone, by numpy", seconds(predicted["product"])],
        ["from the table to an exact machine", seconds(whole["ours"])],
        ["COPY to a file", seconds(whole["copy"])],
        [
            "reading it and fitting by scikit-learn-intelex",
            seconds(whole["peer"]) if whole["peer"] else "not installed",
        ],
    ]
    note = ""
    if classes["counted"] < CLASSES:
        note = f"Of the ten trainings {classes['counted']} were made, and their mean taken ten times.\n\n"
    by_seconds = Picture("kernel_seconds", 1, "processor s", "error on test rows")
    by_landmarks = Picture("kernel_rank", 1, "landmarks or support vectors", "error on test rows")
    for picture, place in ((by_seconds, 1), (by_landmarks, 0)):
        picture.panel(
            "ijcnn1", {name: [(one[place], one[2]) for one in points] for name, points in found["by_rank"].items()}
        )
    return note + table(["", "s"], lines), verdicts, [by_seconds, by_landmarks]
