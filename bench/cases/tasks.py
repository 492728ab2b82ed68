"""Regression: labels that are numbers.

| part | measures |
|---|---|
| the solver alone | processor seconds of one thread to a gap of 1e-3 over labels as they are, beside LIBLINEAR's -s 13 (the distance beyond epsilon) and the faster of its -s 11 and -s 12 (its square), for the same C and epsilon |
| held out | R² of `svm_train` with its defaults, linear and with `kernel => 'rbf'`, beside scikit-learn's `LinearSVR()` and `SVR()` with theirs, whose columns and label are standardized |
| intervals | of rows held out, the share that `svm_interval` holds where nine in ten are asked for: small sets, twenty splits |

Epsilon is 0 for the square and a tenth of the label's deviation for the distance, as `svm_train` has them. Rows are in each solver's memory already, features
standardized but for generated ones; LIBLINEAR's P is compared with the best lower bound that anybody found, and time is interpolated between two settings of its -e. Real sets
are known ones of classes with one of their numbers for the label, and sets that come with packages. A label of few whole numbers is called one by `task => 'regression'`.
"""

import math

import numpy as np

import datasets
import problems
import server
from cases import defaults, losses
from report import seconds, table
from solvers import Liblinear

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
            verdicts.append((f"{words}, LIBLINEAR's faster solver / ours, geometric mean", ratio, 1.0, None))
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
                (f"{entry['set']}, how much {own}'s held-out R² is below {other}'s", below, 0.01, None, True)
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
