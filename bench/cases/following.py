"""`svm_refresh` after one row in a hundred has changed (a third deleted, a third inserted, a third updated), and after half of them
have and one label in ten of all has been turned round, against `svm_train` with a key on the rows as they are then: the same C, no scaling, gap 1e-3, no workers, in turns. The cache holds
all rows, or where the table says so a tenth of them; then the others go through a temporary file.

Both certify the gap over all rows. A refresh passes over those that are as they were and have leeway enough: it reads
them, but does not decode them and does not train on them. How many these are depends on how many lie near the margin and
on how far weights move within the tolerance. The seconds from the end of reading on (`svm_training_log`) stand beside
those of the whole call.
"""

import datasets
import problems
import server
from machine import ServerWatch, median, spread
from report import seconds, table

TITLE = "Refresh after changes"
COSTS = [1.0, 100.0]
TARGET = 0.2
# no refresh takes longer than training anew by more than this
NEVER_SLOWER = 1.1
CACHE = "2GB"
SETTINGS = ("pgsvm.workers = 0", "client_min_messages = warning")
# with a tenth of the rows in the cache too, at the first C
SMALL_CACHE = ["54 columns, 12 nonzero", "cover_2v4, raw", "kddcup99, std"]
HEADER_BYTES = 20
# the first two quartered in the quick run
GENERATED = {
    "54 columns, 12 nonzero": lambda share: problems.cover_like(581_012 // share),
    "500 columns, dense": lambda share: problems.unit_rows(100_000 // share),
}
REAL = [("a9a", "raw"), ("reuters_moneyfx", "raw")]
FULL_ONLY = [("ijcnn1", "std"), ("cover_2v4", "raw"), ("mnist", "std"), ("kddcup99", "std"), ("kddcup99", "raw")]
# of so many rows one is deleted, one comes later, one takes the place of another; and of how many one label is turned round
PERIODS = {"a hundredth": (300, None), "half": (6, 10)}
DELETED, LATER, UPDATED, REPLACEMENT = 1, 2, 3, 4
# longer calls are repeated less often
LONG_SECONDS = 5.0


def measure(run):
    share = 4 if run.quick else 1
    found, missing = [], []
    made = [(name, lambda make=make: make(share)) for name, make in GENERATED.items()]
    for name, form in REAL + ([] if run.quick else FULL_ONLY):
        if datasets.available(name):
            made.append((f"{name}, {form}", lambda name=name, form=form: datasets.problem(name, form)))
        else:
            run.say(f"  {name}: skipped, no {datasets.FILES[name]} in the folder PGSVM_DATA")
            missing.append(name)
    if run.quick:
        missing += [name for name, _ in FULL_ONLY]
    for name, make in made:
        problem = make()
        with server.connect() as connection:
            load(connection, problem)
            for c in COSTS:
                for changed in PERIODS:
                    measured = cell(run, name, connection, problem, (c, changed))
                    found.append({"problem": name, "rows": problem.rows, "c": c, "changed": changed, **measured})
            if name in SMALL_CACHE:
                c, cache = COSTS[0], f"{int(cached_bytes(problem) / 10 / 1024)}kB"
                small = f"{name}, a tenth in the cache"
                for changed in PERIODS:
                    measured = cell(run, small, connection, problem, (c, changed), cache)
                    found.append({"problem": small, "rows": problem.rows, "c": c, "changed": changed, **measured})
            connection.execute("DROP TABLE following_all, following")
    return {"cells": found, "missing": missing}


def cached_bytes(problem):
    values = 4 * problem.x.size if problem.is_dense else 8 * problem.x.nnz
    return values + HEADER_BYTES * problem.rows


def load(connection, problem):
    """All rows, also those that come later, numbered through."""
    put = server.load_arrays if problem.is_dense else server.load_sparse
    put(connection, "following_loaded", problem.y, problem.x)
    connection.execute("DROP TABLE IF EXISTS following_all")
    connection.execute("CREATE TABLE following_all AS SELECT row_number() OVER () AS id, * FROM following_loaded")
    connection.execute("DROP TABLE following_loaded")


def cell(run, name, connection, problem, case, cache=CACHE):
    c, changed = case
    runs = {"anew": [], "refreshed": []}
    columns = ["x"] if problem.is_dense else ["idx", "val"]
    features = ["x"] if problem.is_dense else ["sparse(idx, val)"]
    while len(runs["anew"]) < (2 if run.quick else 3):
        seed = len(runs["anew"])
        begin(connection, changed)
        call(train("followed", features, c, seed), "followed", cache)
        change(connection, columns, changed)
        calls = [
            ("refreshed", "SELECT svm_refresh('followed')", "followed"),
            ("anew", train("anew", features, c, seed), "anew"),
        ]
        for kind, statement, model in calls if seed % 2 else reversed(calls):
            runs[kind].append(call(statement, model, cache))
        connection.execute("SELECT svm_drop('followed'), svm_drop('anew')")
        run.say(
            f"  {name}, C = {c:g}, {changed} changed: {runs['anew'][-1]['wall']:.2f} s, refreshed {runs['refreshed'][-1]['wall']:.2f} s"
        )
        if runs["anew"][-1]["wall"] > LONG_SECONDS:
            break
    return {kind: summary(all) for kind, all in runs.items()}


def begin(connection, changed):
    period, _ = PERIODS[changed]
    connection.execute("DROP TABLE IF EXISTS following")
    connection.execute(
        f"CREATE TABLE following AS SELECT * FROM following_all WHERE id % {period} NOT IN ({LATER}, {REPLACEMENT})"
    )
    server.settle(connection, "following")


def change(connection, columns, changed):
    period, turned = PERIODS[changed]
    assigned = ", ".join(f"{column} = other.{column}" for column in ["label", *columns])
    connection.execute(f"DELETE FROM following WHERE id % {period} = {DELETED}")
    connection.execute(f"INSERT INTO following SELECT * FROM following_all WHERE id % {period} = {LATER}")
    connection.execute(
        f"""UPDATE following AS own SET {assigned} FROM following_all AS other
            WHERE own.id % {period} = {UPDATED} AND other.id = own.id + {REPLACEMENT - UPDATED}"""
    )
    if turned:
        labels = connection.execute("SELECT min(label) + max(label) FROM following_all").fetchone()[0]
        connection.execute(f"UPDATE following SET label = {labels} - label WHERE id % {turned} = 0")
    server.settle(connection, "following")


def train(model, features, c, seed):
    names = ", ".join(f"'{feature}'" for feature in features)
    return f"""SELECT svm_train('following', 'label', features => ARRAY[{names}], c => {c}, loss => 'hinge', scale => 'none', seed => {seed},
        model => '{model}', key => 'id')"""


def call(statement, model, cache):
    """What one call cost, and what its model says of it."""
    with server.connect() as connection:
        for setting in (f"pgsvm.cache_size = '{cache}'", *SETTINGS):
            connection.execute(f"SET {setting}")
        with ServerWatch(connection) as watch:
            connection.execute(statement)
        rows, passes, gap, stop = connection.execute(
            "SELECT rows_used, passes, gap, stop_reason FROM svm_models WHERE name = %s", (model,)
        ).fetchone()
        passed = connection.execute(
            "SELECT (followed ->> 'passed_over')::int FROM svm_versions WHERE name = %s AND deployed", (model,)
        ).fetchone()[0]
        read, ended, visits = connection.execute(
            "SELECT min(seconds), max(seconds), max(visits) FROM svm_training_log(%s)", (model,)
        ).fetchone()
    solving = {
        "solving": ended - read,
        "visits": visits / rows,
        "passes": passes,
        "gap": gap,
        "passed": (passed or 0) / rows,
        "arrived": stop == "tolerance",
    }
    return {"wall": watch.usage.wall, "cpu": watch.usage.cpu, **solving}


def summary(runs):
    times = {key: spread([run[key] for run in runs]) for key in ["wall", "cpu", "solving"]}
    counts = {key: median([run[key] for run in runs]) for key in ["visits", "passes", "passed"]}
    return {**times, **counts, "gap": max(run["gap"] for run in runs), "arrived": all(run["arrived"] for run in runs)}


def report(found):
    rows, verdicts, ratios = [], [], []
    for cell in found["cells"]:
        anew, refreshed = cell["anew"], cell["refreshed"]
        whole, solving = ratio(cell, "wall"), ratio(cell, "solving")
        for kind, entry in [("anew", anew), ("refreshed", refreshed)]:
            last = [f"{entry['passed']:.0%}", f"{whole:.2f}", f"{solving:.2f}"] if kind == "refreshed" else ["", "", ""]
            gap = f"{entry['gap']:.1e}" + ("" if entry["arrived"] else " (passes used up)")
            times = [seconds(entry[key]) for key in ["wall", "cpu", "solving"]]
            shown = [f"{cell['problem']}, {cell['rows']} rows", f"{cell['c']:g}", cell["changed"], kind, *times]
            rows.append([*shown, f"{entry['visits']:.1f}", f"{entry['passes']:g}", gap, *last])
        ratios.append(whole)
        if cell["changed"] == "a hundredth" and anew["solving"]["median"] > 2 / 3 * anew["wall"]["median"]:
            name = f"refresh after 1 % changed / training from nothing, {cell['problem']}, {cell['rows']} rows, C = {cell['c']:g}, wall time"
            verdicts.append((name, whole, TARGET, None, True))
    verdicts.append(
        ("refresh / training from nothing, worst of all changes, wall time", max(ratios), NEVER_SLOWER, 1.0, True)
    )
    header = [
        "problem",
        "C",
        "changed",
        "trained",
        "wall s",
        "processor s",
        "s behind reading",
        "visits a row",
        "passes",
    ]
    header += ["largest gap", "rows passed over", "ratio of wall time", "ratio behind reading"]
    note = f"Left out: {', '.join(found['missing'])}.\n\n" if found["missing"] else ""
    return note + table(header, rows), verdicts, []


def ratio(cell, key):
    return cell["refreshed"][key]["median"] / cell["anew"][key]["median"]
