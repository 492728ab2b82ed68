"""Regression: labels that are numbers.

| part | measures |
|---|---|
| the solver alone | processor seconds of one thread to a gap of 1e-3 over labels as they are, beside LIBLINEAR's -s 13 (the distance beyond epsilon) and the faster of its -s 11 and -s 12 (its square), for the same C and epsilon |
| held out | R² of `svm_train` with its defaults, linear and with `kernel => 'rbf'`, beside scikit-learn's `LinearSVR()` and `SVR()` with theirs, whose columns and label are standardized |
| intervals | of rows held out, the share that `svm_interval` holds where nine in ten are asked for: small sets, twenty splits |
| from the table | seconds of `svm_train` beside those of COPY to a file, pandas, and `LinearSVR` or `SGDRegressor`, the first of their settings whose P is within 1e-3 of the best lower bound |
| kernels | processor seconds of the backend in `svm_train` with an exact machine, beside those of `fit` of scikit-learn's `SVR` (LIBSVM) and scikit-learn-intelex's: the same problem, the intercept in no norm |
| one class | the same of `task => 'novelty'` beside `OneClassSVM`, and of linear machines beside LIBLINEAR's -s 21; objectives, and the share of rows with a decision below 0 |

Epsilon is 0 for the square and a tenth of the label's deviation for the distance, as `svm_train` has them. Rows are in each solver's memory already, features
standardized but for generated ones; LIBLINEAR's P is compared with the best lower bound that anybody found, and time is interpolated between two settings of its -e. Real sets
are known ones of classes with one of their numbers for the label, and sets that come with packages. A label of few whole numbers is called one by `task => 'regression'`.
"""

import math

import numpy as np

import datasets
import problems
import server
from cases import defaults, kernels, losses
from cases.end_to_end import FILES, by_scikit
from machine import ServerWatch
from report import seconds, table
from solvers import Liblinear, one_class_by_liblinear

TITLE = "Regression"
COSTS = [0.01, 1.0, 100.0]
LOSSES = {"hinge": "distance", "squared_hinge": "its square"}
EPSILON_SHARE = {"hinge": 0.1, "squared_hinge": 0.0}
# rows of the generated sets, and processor seconds of a training at most
ROWS = {"quick": (200_000, 100_000), "full": (1_000_000, 581_012)}
SECONDS = {"quick": 5.0, "full": 60.0}
COVERAGE = 0.9
LIMITS = {"quick": (5_000, 20_000), "full": (50_000, 100_000)}
KERNEL_LIMITS = {"quick": (2_000, 5_000), "full": (10_000, 20_000)}
MOST_SPLIT = 5_000
PAIRS = [("pgsvm", "LinearSVR"), ("pgsvm, rbf", "SVR")]


def measure(run):
    mode = "quick" if run.quick else "full"
    found = {"alone": alone(run, mode)}
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error")
        found["held"], found["intervals"] = held_out(run, connection, mode), intervals(run, connection)
        found["table"], found["kernels"] = from_table(run, connection, mode), kernels_of(run, connection, mode)
        found["one_class"] = one_class(run, connection, mode)
        connection.execute("DROP TABLE IF EXISTS defaults_trained, defaults_held")
    return found


def alone(run, mode):
    found = []
    for name, x, numbers in arrays(run, mode):
        for loss in LOSSES:
            epsilon = EPSILON_SHARE[loss] * float(numbers.std())
            rows = problems.kept(f"tasks_{name}_{x.shape[0]}", lambda _, x=x: (x, np.ones(x.shape[0])))
            problem = problems.with_numbers(rows, numbers, epsilon)
            peer = Liblinear(problem)
            for c in COSTS:
                cell = losses.measure_cell(problem, peer, c, loss, SECONDS[mode], SECONDS[mode], newton="auto")
                found.append(
                    {"set": name, "rows": problem.rows, "features": problem.features, "c": c, "loss": loss} | cell
                )
                run.say("  " + " | ".join(map(str, row(found[-1]))))
    return found


def arrays(run, mode):
    """Names, features and labels: two generated sets, and four real ones."""
    plane_rows, group_rows = ROWS[mode]
    random = np.random.default_rng(3)
    x = problems.noisy(plane_rows, 50).x
    yield "plane", x, x @ random.standard_normal(50) + random.standard_normal(plane_rows) + 5.0
    x = problems.cover_like(group_rows).x
    yield "groups", x, x @ random.standard_normal(54) + 0.3 * random.standard_normal(group_rows)
    for name, column in (("cover_2v4", 0), ("adult", 0), ("shuttle", 0)):
        names, _ = datasets.at_hand(run, [name])
        if names:
            rows = datasets.problem(name, "raw").x
            rows = (rows if isinstance(rows, np.ndarray) else rows.toarray()).astype(np.float64)
            yield name, standardized(np.delete(rows, column, axis=1)), rows[:, column]
    held = diamonds(mode)
    held.training = np.ones(len(held.labels), bool)
    yield "diamonds", standardized(defaults.features_of(held)), held.labels


def standardized(x):
    deviation = x.std(axis=0)
    varies = deviation > 1e-9
    return ((x - x.mean(axis=0)) / np.where(varies, deviation, 1.0))[:, varies].astype(np.float32)


def row(cell):
    mine, best = cell["ours"], losses.fastest(cell)
    last = max(rungs[-1]["cpu"] for rungs in cell["liblinear"].values())
    return [
        cell["set"],
        cell["rows"],
        cell["features"],
        LOSSES[cell["loss"]],
        f"{cell['c']:g}",
        seconds(mine) if mine else "not reached",
        seconds(best) if best else f"not in {seconds(last)}",
        f"{best / mine:.1f}" if mine and best else "-",
    ]


def held_out(run, connection, mode):
    found = []
    for name, make in SETS.items():
        try:
            held = make(mode)
        except datasets.Missing as error:
            run.say(f"  {name}: skipped, {error}")
            continue
        figures, counts = {}, {}
        for number, (own, other) in enumerate(PAIRS):
            limits = [LIMITS, KERNEL_LIMITS][number][mode]
            for seed, split in splits(held, limits):
                defaults.load(connection, split)
                more = ["", ", kernel => 'rbf'"][number]
                figures.setdefault(own, []).append(ours(connection, split, seed, more))
                figures.setdefault(other, []).append(theirs(split, number, seed))
            counts[own] = defaults.counts_of(split)
        found.append({"set": name, "figures": figures, "counts": counts})
        run.say(f"  {name}: " + ", ".join(f"{who} {mean(figures[who]):.3f}" for who in figures))
    return found


def splits(held, limits):
    """Of small sets many, of large ones one, of so many rows at most."""
    if len(held.labels) <= MOST_SPLIT:
        training = [defaults.share_of(len(held.labels), seed) for seed in range(defaults.SPLITS)]
        return [(seed, defaults.Held(held.columns, held.labels, own)) for seed, own in enumerate(training)]
    own = defaults.share_of(len(held.labels)) if held.training is None else held.training
    return [(0, defaults.limited(held.columns, held.labels, own, limits))]


def source(held, table_name):
    """Rows with a number for the label; `id` is there for the order of the rows alone."""
    columns = ", ".join(f'"{name}"' for name in held.columns)
    return f"SELECT label::float8 AS label, {columns} FROM {table_name}"


def train(connection, held, seed, more):
    connection.execute(
        f"SELECT svm_train_query(%s, 'label', model => 'tasks', task => 'regression', seed => {seed}{more})",
        [source(held, "defaults_trained")],
    )


def ours(connection, held, seed, more):
    train(connection, held, seed, more)
    query = source(held, "defaults_held")
    (r2,) = connection.execute("SELECT r2 FROM svm_evaluate('tasks', %s)", [query]).fetchone()
    connection.execute("SELECT svm_drop('tasks')")
    return r2


def theirs(held, number, seed):
    from sklearn.svm import SVR, LinearSVR

    machine = [LinearSVR(random_state=seed), SVR()][number]
    x, numbers = defaults.features_of(held), held.labels.astype(float)
    own = numbers[held.training]
    machine.fit(x[held.training], (own - own.mean()) / own.std())
    off = machine.predict(x[~held.training]) * own.std() + own.mean() - numbers[~held.training]
    left = numbers[~held.training] - numbers[~held.training].mean()
    return float(1 - (off @ off) / (left @ left))


def intervals(run, connection):
    found = []
    for name, make in SMALL.items():
        held = make("quick")
        for kind, more in (("linear", ""), ("rbf", ", kernel => 'rbf'")):
            told = []
            for seed in range(defaults.SPLITS):
                split = defaults.Held(held.columns, held.labels, defaults.share_of(len(held.labels), seed))
                defaults.load(connection, split)
                train(connection, split, seed, more + """, options => '{"intervals": true}'""")
                query = f"""SELECT avg((h.label BETWEEN i.lower AND i.upper)::int)::float8, avg(i.upper - i.lower) / stddev_pop(h.label)
                    FROM ({source(split, "defaults_held")}) AS h, svm_interval('tasks', h, {COVERAGE}) AS i"""
                told.append(connection.execute(query).fetchone())
                connection.execute("SELECT svm_drop('tasks')")
            covered, width = zip(*told)
            found.append({"set": name, "kind": kind, "covered": covered, "width": width, **defaults.counts_of(split)})
            run.say(f"  intervals, {name}, {kind}: {mean(covered):.3f} of {COVERAGE}")
    return found


# numbers that are not features
LABEL = ("float8", ">f8")
WITHIN = 1e-3
SCIKIT_LOSS = {"hinge": "epsilon_insensitive", "squared_hinge": "squared_epsilon_insensitive"}
PEER_TOLERANCES = [1e-1, 1e-2, 1e-3, 1e-4]
KERNEL_ROWS = {"quick": 3_000, "full": 10_000}
NU = [0.05, 0.1, 0.5]


def table_sets(run, mode):
    for name, x, numbers in arrays(run, mode):
        if name in ("plane", "diamonds"):
            yield name, x, (numbers - numbers.mean()) / numbers.std()


def from_table(run, connection, mode):
    """The same function on both sides: columns and label as they are, C = 1."""
    found = []
    for name, x, numbers in table_sets(run, mode):
        server.load_columns(connection, "noisy", numbers, x, LABEL)
        rows = problems.kept(f"tasks_{name}_{x.shape[0]}", lambda _, x=x: (x, np.ones(x.shape[0])))
        for loss, epsilon in EPSILON_SHARE.items():
            problem, squared = problems.with_numbers(rows, numbers, epsilon), loss == "squared_hinge"
            used, _, _, model = server.train(
                "noisy",
                1.0,
                cache=server.cache_for(2 * problem.rows, problem.features),
                loss=SCIKIT_LOSS[loss],
                task="regression",
                epsilon=epsilon,
                options='{"scale_label": "none"}',
            )
            most, peers = model["dual"] * (1 + WITHIN), {}
            for estimator in ("LinearSVR", "SGDRegressor"):
                peers[estimator] = None
                for tolerance in PEER_TOLERANCES:
                    said = f"{estimator}:{SCIKIT_LOSS[loss]}:{epsilon}"
                    parts, w, b = by_scikit(connection, said, tolerance, FILES / "noisy.txt", FILES / "model")
                    if problems.primal(problem, 1.0, w, b, squared) <= most:
                        peers[estimator] = sum(part.wall for part in parts.values())
                        break
            found.append({"set": name, "rows": problem.rows, "loss": loss, "ours": used.wall, "peers": peers})
            run.say(f"  table, {name}, {loss}: {used.wall:.3f} s, {peers}")
    connection.execute("DROP TABLE noisy")
    return found


def kernel_sets(run, mode):
    for name, x, numbers in arrays(run, mode):
        if name in ("diamonds", "adult", "cover_2v4"):
            own = np.random.default_rng(5).permutation(len(numbers))[: KERNEL_ROWS[mode]]
            yield name, x[own], (numbers[own] - numbers[own].mean()) / numbers[own].std()


def as_problem(name, x, numbers, epsilon=None):
    rows = problems.kept(f"tasks_kernel_{name}_{x.shape[0]}", lambda _: (x, np.ones(x.shape[0])))
    return problems.with_numbers(rows, numbers, epsilon)


def trained(connection, call):
    """Processor seconds of the backend in a training over `machine`, and its row in svm_models."""
    with ServerWatch(connection) as watch:
        connection.execute(f"SELECT svm_train('machine', {call}, scale => 'none', model => 'machine')")
    cursor = connection.execute(
        "SELECT m.*, v.rows_used AS n FROM svm_models AS m JOIN svm_versions AS v ON v.id = m.id WHERE m.name = 'machine'"
    )
    model = dict(zip((column.name for column in cursor.description), cursor.fetchone()))
    connection.execute("SELECT svm_drop('machine')")
    return watch.usage.cpu, model


def kernels_of(run, connection, mode):
    found = []
    for name, x, numbers in kernel_sets(run, mode):
        server.load_columns(connection, "machine", numbers, x, LABEL)
        problem, gamma = as_problem(name, x, numbers), 1.0 / x.shape[1]
        for c in (1.0, 100.0):
            options = """options => '{"method": "exact", "intercept": "free", "scale_label": "none"}'"""
            call = (
                f"'label', task => 'regression', kernel => 'rbf', gamma => {gamma}, c => {c}, epsilon => 0.1, {options}"
            )
            took, model = trained(connection, call)
            folders = (problem.folder, problem.folder)
            peers = {
                kind: kernels.peer_machine(kind, "SVR", folders, gamma=gamma, C=c, epsilon=0.1)
                for kind in ("sklearn", "sklearnex")
            }
            bounds = model["primal"], model["dual"]
            found.append({"set": name, "rows": len(numbers), "c": c, "ours": took, "bounds": bounds, "peers": peers})
            run.say(f"  kernel, {name}, C {c:g}: {took:.2f} s, {bounds}, {peers}")
    return found


def one_class(run, connection, mode):
    found = []
    for name, x, _ in kernel_sets(run, mode):
        x = x - x.min(axis=0) + 0.1
        server.load_columns(connection, "machine", np.zeros(len(x)), x, LABEL)
        problem, gamma = as_problem(f"one_{name}", x, np.zeros(len(x))), 1.0 / x.shape[1]
        for nu in NU:
            asked = f"exclude => '{{label}}', nu => {nu}"
            took, model = trained(connection, f"{asked}, kernel => 'linear'")
            peer = one_class_by_liblinear(x, nu)
            found.append(told(name, "linear", nu, (took, model), {"LIBLINEAR -s 21": peer}, len(x)))
            run.say(f"  one class, {found[-1]}")
            options = """options => '{"method": "exact"}'"""
            took, model = trained(connection, f"{asked}, kernel => 'rbf', gamma => {gamma}, {options}")
            folders = (problem.folder, problem.folder)
            peer = kernels.peer_machine("sklearn", "OneClassSVM", folders, gamma=gamma, nu=nu)
            found.append(told(name, "rbf", nu, (took, model), {"LIBSVM": peer}, len(x)))
            run.say(f"  one class, {found[-1]}")
    return found


def told(name, kernel, nu, ours, peers, rows):
    """`objective`: 1/2 |v|^2 / C^2 of the dual's v, which LIBSVM and LIBLINEAR minimize over dual variables between 0 and 1 with the sum nu n."""
    took, model = ours
    c = model["c"]
    objective = (model["nu"] * c * rows - model["dual"]) / (c * c)
    peers = {who: {"cpu": peer["cpu"], "objective": peer["objective"]} for who, peer in peers.items() if peer}
    return {
        "set": name,
        "kernel": kernel,
        "nu": nu,
        "rows": rows,
        "ours": took,
        "objective": objective,
        "novel": model["training_novel"],
        "peers": peers,
    }


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def report_from_table(found):
    shown, verdicts = [], []
    for entry in found:
        peers = entry["peers"]
        best = min((took for took in peers.values() if took), default=None)
        cells = [seconds(took) if took else "not reached" for took in peers.values()]
        shown.append(
            [entry["set"], entry["rows"], LOSSES[entry["loss"]], seconds(entry["ours"]), *cells]
            + [f"{best / entry['ours']:.1f}" if best else "-"]
        )
    for loss, words in LOSSES.items():
        ratios = [
            min(took for took in entry["peers"].values() if took) / entry["ours"]
            for entry in found
            if entry["loss"] == loss and any(entry["peers"].values())
        ]
        if ratios:
            verdicts.append(
                (f"{words}, from the table: the faster peer / ours, geometric mean", geometric(ratios), 10.0, 30.0)
            )
    header = ["data", "rows", "loss", "ours, s", "LinearSVR, s", "SGDRegressor, s", "faster / ours"]
    return "### From the table\n\n" + table(header, shown), verdicts


def report_kernels(found):
    shown, verdicts = [], []
    ratios = {"sklearn": [], "sklearnex": []}
    off = 0.0
    for entry in found:
        cells = []
        for kind, peer in entry["peers"].items():
            cells.append(seconds(peer["cpu"]) if peer else "-")
            if peer:
                ratios[kind].append(peer["cpu"] / entry["ours"])
                primal, dual = entry["bounds"]
                # between their dual objective and our primal lies the optimum
                off = max(off, abs(primal - peer["objective"]) / primal)
        shown.append([entry["set"], entry["rows"], f"{entry['c']:g}", seconds(entry["ours"]), *cells])
    for kind, words, least, aim in (("sklearn", "LIBSVM", 3.0, 10.0), ("sklearnex", "intelex", 1.0, 2.0)):
        if ratios[kind]:
            verdicts.append(
                (f"exact kernel regression: {words} / ours, geometric mean", geometric(ratios[kind]), least, aim)
            )
    verdicts.append(("exact kernel regression: largest difference of objectives, relative", off, WITHIN, None, True))
    header = ["data", "rows", "C", "ours, s", "LIBSVM, s", "intelex, s"]
    return "### Exact kernel machines\n\n" + table(header, shown), verdicts


def report_one_class(found):
    shown, verdicts, apart, share = [], [], 0.0, 0.0
    ratios = {"linear": [], "rbf": []}
    for entry in found:
        share = max(share, abs(entry["novel"] - entry["nu"]))
        for who, peer in entry["peers"].items():
            off = entry["objective"] / peer["objective"] - 1
            apart = max(apart, abs(off))
            ratios[entry["kernel"]].append(peer["cpu"] / entry["ours"])
            shown.append(
                [entry["set"], entry["rows"], entry["kernel"], f"{entry['nu']:g}", seconds(entry["ours"]), who]
                + [seconds(peer["cpu"]), f"{off:.0e}", f"{entry['novel']:.4f}"]
            )
    for kernel, found_ratios in ratios.items():
        if found_ratios:
            verdicts.append(
                (f"one class, {kernel}: the peer / ours, geometric mean", geometric(found_ratios), 1.0, None)
            )
    verdicts.append(("one class: largest difference of objectives, relative", apart, WITHIN, None, True))
    verdicts.append(("one class: how far the share of novel rows is from nu, at most", share, 0.01, None, True))
    header = ["data", "rows", "kernel", "nu", "ours, s", "peer", "peer, s", "objective, off", "novel"]
    return "### One class\n\n" + table(header, shown), verdicts


def mean(values):
    return float(np.mean(values))


def report(found):
    parts, verdicts = [], []
    header = ["data", "rows", "features", "loss", "C", "ours, s", "LIBLINEAR's faster, s", "LIBLINEAR / ours"]
    parts.append("### The solver alone\n\n" + table(header, [row(cell) for cell in found["alone"]]))
    for loss, words in LOSSES.items():
        own = [cell for cell in found["alone"] if cell["loss"] == loss]
        both = [(losses.fastest(cell), cell["ours"]) for cell in own]
        ratios = [math.log(peer / mine) for peer, mine in both if peer and mine]
        if ratios:
            ratio = math.exp(sum(ratios) / len(ratios))
            verdicts.append((f"{words}, LIBLINEAR's faster solver / ours, geometric mean", ratio, 5.0, 15.0))
        certified = sum(mine is not None for _, mine in both) / len(both)
        verdicts.append((f"{words}, share of trainings that are certified in time", certified, 1.0, None))
    for own, other in PAIRS:
        rows = []
        for entry in found["held"]:
            figures = [entry["figures"][who] for who in (own, other)]
            rows.append(
                [
                    entry["set"],
                    *entry["counts"][own].values(),
                    len(figures[0]),
                    *(f"{mean(it):.3f}" for it in figures),
                ]
            )
            below = mean(figures[1]) - mean(figures[0])
            verdicts.append(
                (f"{entry['set']}, how much {own}'s held-out R² is below {other}'s", below, 0.005, 0.0, True)
            )
        header = ["data", "rows trained on", "held out", "splits", f"{own}: R²", f"{other}: R²"]
        parts.append(f"### Held out: {own} beside {other}\n\n" + table(header, rows))
    rows = []
    for entry in found["intervals"]:
        covered = entry["covered"]
        error = float(np.std(covered, ddof=1)) / math.sqrt(len(covered))
        shown = [
            f"{mean(covered):.3f}",
            f"{error:.3f}",
            f"{min(covered):.2f} to {max(covered):.2f}",
            f"{mean(entry['width']):.2f}",
        ]
        rows.append([entry["set"], entry["kind"], entry["trained"], entry["held_out"], *shown])
        verdicts.append(
            (
                f"{entry['set']}, {entry['kind']}, share of labels in intervals of {COVERAGE}",
                mean(covered),
                COVERAGE - 0.01,
                None,
            )
        )
    header = [
        "data",
        "kernel",
        "rows trained on",
        "held out",
        "inside, mean",
        "its standard error",
        "of the splits",
        "width in deviations of the label",
    ]
    parts.append(f"### Intervals: how many labels {COVERAGE:.0%} ones hold\n\n" + table(header, rows))
    for part, report_of in (("table", report_from_table), ("kernels", report_kernels), ("one_class", report_one_class)):
        text, more = report_of(found[part])
        parts.append(text)
        verdicts += more
    return "\n\n".join(parts), verdicts, []


def as_label(make, column):
    """A set with one of its number columns for the label."""

    def made(mode):
        held = make(mode)
        others = {name: values for name, values in held.columns.items() if name != column}
        return defaults.Held(others, held.columns[column].astype(float), held.training)

    return made


def of_numbers(make):
    """A set whose labels are numbers already, as numbers."""

    def made(mode):
        held = make(mode)
        return defaults.Held(held.columns, held.labels.astype(float), held.training)

    return made


diamonds = of_numbers(
    defaults.of_r(["ggplot2/diamonds"], "price", "carat depth table x y z", ["cut", "color", "clarity"])
)
BOSTON = "crim zn indus chas nox rm age dis rad tax ptratio black lstat"
SMALL = {
    "boston": of_numbers(defaults.of_r(["MASS/Boston"], "medv", BOSTON)),
    "diabetes": of_numbers(defaults.of_scikit("diabetes")),
    "cars": of_numbers(
        defaults.of_r(
            ["MASS/Cars93"],
            "Price",
            "MPG.city MPG.highway EngineSize Horsepower RPM Fuel.tank.capacity Length Wheelbase Width Weight",
            ["Type", "DriveTrain"],
        )
    ),
}
SETS = {
    "diamonds, price": diamonds,
    "adult, hours_per_week": as_label(defaults.adult, "hours_per_week"),
    "shuttle, first column": as_label(defaults.shuttle, "c0"),
    **SMALL,
}
