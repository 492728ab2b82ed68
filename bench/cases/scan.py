"""Training by scans (`solver => 'scan'`) beside the dual cached loops, on a table that the cache does not hold, and how many scans
real data take.

The table: normal rows of 50 columns that go together, a linear rule with noise, one label in twenty turned; as an array of
float4. Wall seconds of one statement to a gap of 1e-3, C 1, standardized, medians of the runs: by scans, with as many parallel
workers as the machine has cores, and by `stream`, both with a cache of a fortieth of the rows; by the trainer with everything in
memory; and `SELECT sum(x[1])` by the same parallel plan. The first scan, which learns what rows are like and draws the sample, is
part of the seconds. Memory is that of all processes above their start, less the cache.

Scans to 1e-3 on real sets, that first one counted, with a cache that would hold all rows; no longer than LONGEST seconds each.
"""

import math
import os

import numpy as np
import psycopg

import datasets
import server
from machine import ServerWatch, median
from report import seconds, table

TITLE = "Scans"
FEATURES = 50
ROWS = {"quick": 1_000_000, "full": 10_000_000}
RUNS = {"quick": 3, "full": 3}
PART = 40
CORES = os.cpu_count()
PARALLEL = [f"max_parallel_workers_per_gather = {CORES}"]
COSTS = [0.01, 1.0, 100.0]
TOLERANCE = 1e-3
# seconds of a training on real data at most
LONGEST = 20
# and on the large table
LONGEST_LARGE = 900
# rows and cores of what is reckoned, not run
PAPER = [1e7, 1e8, 1e9, 1e10]
PAPER_CORES = 16
# name, form, how it is scaled here; what is asked of the squared hinge and of the hinge
SETS = [
    ("ijcnn1", "std", 7, 8),
    ("a9a", "std", 7, 12),
    ("kddcup99", "std", 7, 8),
    ("cover_2v4", "raw", 9, 8),
    ("mnist", "std", None, 12),
]


def measure(run):
    mode = "quick" if run.quick else "full"
    return {"large": large(run, mode), "real": real(run)}


def large(run, mode):
    rows = ROWS[mode]
    with server.connect() as connection:
        load(connection, rows)
        row_bytes = 4 * FEATURES + 32
        cache = f"{max(rows * row_bytes // PART >> 20, 1)}MB"
        memory = f"{(rows * row_bytes >> 20) + 200}MB"
        found = {"rows": rows, "cache": cache, "sum": summed(connection), "ways": []}
    ways = [
        ("scan", "squared_hinge", cache),
        ("stream", "squared_hinge", cache),
        ("auto", "squared_hinge", memory),
        ("scan", "hinge", cache),
        ("stream", "hinge", cache),
        ("auto", "hinge", memory),
    ]
    for solver, loss, bytes_of_cache in ways:
        runs = [trained("scanned", solver, loss, 1.0, bytes_of_cache) for _ in range(RUNS[mode])]
        found["ways"].append({"solver": solver, "loss": loss, "cache": bytes_of_cache, "runs": runs})
        run.say(f"  {solver}, {loss}, {bytes_of_cache}: {runs}")
    return found


def load(connection, rows):
    """Rows in the order in which they are made; the same with every run."""
    random = np.random.default_rng(1)
    mixing = 0.7 * random.normal(size=(FEATURES, FEATURES)) / FEATURES**0.5 + 0.5 * np.eye(FEATURES)
    rule = random.normal(size=FEATURES)
    deviation = np.linalg.norm(mixing @ rule)
    server.create_array_table(connection, "scanned")
    for first in range(0, rows, 500_000):
        count = min(500_000, rows - first)
        x = (random.standard_normal((count, FEATURES), dtype=np.float32) @ mixing).astype(np.float32)
        score = x @ rule / deviation + 0.5 * random.normal(size=count) + 0.3
        y = np.where((score > 0) ^ (random.random(count) < 0.05), 1, -1)
        server.append_arrays(connection, "scanned", y, x)
    server.settle(connection, "scanned")


def summed(connection):
    """Wall seconds of a sum over the table, by a parallel plan."""
    for setting in PARALLEL:
        connection.execute(f"SET {setting}")
    found = []
    for _ in range(4):
        with ServerWatch(connection) as watch:
            connection.execute("SELECT sum(x[1]) FROM scanned")
        found.append(watch.usage.wall)
    return median(found[1:])


def trained(name, solver, loss, c, cache, tolerance=TOLERANCE, longest=LONGEST_LARGE, **more):
    """A training: seconds, scans, memory and files."""
    settings = [*PARALLEL, f"statement_timeout = '{longest}s'"]
    before = temporary_bytes()
    more = {"scale": "standard"} | more
    usage, _, _, model = server.train(
        name, c, tolerance, cache=cache, settings=settings, solver=solver, loss=loss, **more
    )
    return {
        "wall": usage.wall,
        "cpu": usage.cpu,
        "peak": usage.peak_bytes,
        "files": temporary_bytes() - before,
        "passes": model["passes"],
        "solver": model["solver"],
        "gap": model["gap"],
        "primal": model["primal"],
    }


def temporary_bytes():
    with server.connect() as connection:
        return int(connection.execute("SELECT sum(temp_bytes) FROM pg_stat_database").fetchone()[0])


def real(run):
    found = []
    for name, form, problem in datasets.problems_at_hand(run, SETS):
        with server.connect() as connection:
            put(connection, problem)
        cache = server.cache_for(problem.rows, problem.features, 1.5)
        for loss in ["squared_hinge", "hinge"]:
            for c in COSTS:
                model = f"{name}_{loss}_{c:g}"
                try:
                    said = trained(
                        "real",
                        "scan",
                        loss,
                        c,
                        cache,
                        longest=LONGEST,
                        scale="none",
                        features=features(problem),
                        model=model,
                    )
                except psycopg.errors.QueryCanceled:
                    said = {"passes": None, "gap": None, "wall": None}
                run.say(f"  {name}, {form}, {loss}, C {c}: {said}")
                found.append({"set": name, "form": form, "loss": loss, "c": c, **said})
    return found


def put(connection, problem):
    load_rows = server.load_arrays if problem.is_dense else server.load_sparse
    load_rows(connection, "real", problem.y, problem.x)


def features(problem):
    return ["x"] if problem.is_dense else ["sparse(idx, val)"]


def report(found):
    verdicts = []
    of = {(way["solver"], way["loss"]): way["runs"] for way in found["large"]["ways"]}
    wall = {key: median([one["wall"] for one in runs]) for key, runs in of.items()}
    for loss in ["squared_hinge", "hinge"]:
        scan = wall["scan", loss]
        verdicts += [
            (f"{loss}: 'stream' seconds / 'scan' seconds", wall["stream", loss] / scan, 2, 4),
            (f"{loss}: everything in memory, seconds / 'scan' seconds", wall["auto", loss] / scan, 0.8, 1.5),
            (f"{loss}: 'scan' seconds / seconds of a sum", scan / found["large"]["sum"], 10, 5, True),
        ]
    scans = [one for key, runs in of.items() if key[0] == "scan" for one in runs]
    cache = int(found["large"]["cache"][:-2])
    beyond = max(one["peak"] for one in scans) / 2**20 - cache
    verdicts.append(("memory above the cache, MB", max(beyond, 0.0), 64, 16, True))
    verdicts.append(("temporary files, bytes", float(max(one["files"] for one in scans)), 0, None, True))
    asked = {name: {"squared_hinge": squared, "hinge": hinge} for name, _, squared, hinge in SETS}
    for loss in ["squared_hinge", "hinge"]:
        for name in asked:
            most = [scans_of(one) for one in found["real"] if (one["set"], one["loss"]) == (name, loss)]
            if most and asked[name][loss]:
                verdicts.append(
                    (f"{name}, {loss}: most scans to 1e-3", float(max(most)), asked[name][loss], None, True)
                )
    head = ["solver", "loss", "cache", "wall s", "cpu s", "scans or passes", "gap", "peak MB", "files MB"]
    lines = [line(way) for way in found["large"]["ways"]]
    lines.append([f"sum(x[1]), {CORES} workers", "", "", seconds(found["large"]["sum"]), *[""] * 5])
    parts = [f"{found['large']['rows']} rows of {FEATURES} columns:", table(head, lines)]
    rows = [
        [
            one["set"],
            one["form"],
            one["loss"],
            f"{one['c']:g}",
            *ended(one),
        ]
        for one in found["real"]
    ]
    parts.append(table(["data", "form", "loss", "C", "scans", "gap", "wall s"], rows))
    parts.append(on_paper(found["large"]))
    return "\n\n".join(parts), verdicts, []


def on_paper(large):
    """What more rows of the same kind would cost, from processor time a row and scan."""
    head = ["loss", "scans", "processor microseconds a row and scan", *[f"{rows:.0e} rows" for rows in PAPER]]
    lines = []
    for way in (it for it in large["ways"] if it["solver"] == "scan"):
        scans = median([one["passes"] + 1 for one in way["runs"]])
        row = median([one["cpu"] for one in way["runs"]]) / scans / large["rows"]
        walls = [f"{duration(scans * row * rows / PAPER_CORES)}" for rows in PAPER]
        lines.append([way["loss"], f"{scans:g}", f"{1e6 * row:.2f}", *walls])
    text = (
        f"On paper, the same scans over more rows, wall time on {PAPER_CORES} cores that all have rows to scan, on one server or several; "
        "reading from a device is not in it:"
    )
    return f"{text}\n\n{table(head, lines)}"


def duration(value):
    """Seconds, minutes or hours."""
    for unit, size in [("h", 3600), ("min", 60)]:
        if value >= 2 * size:
            return f"{value / size:.0f} {unit}"
    return f"{value:.2g} s"


def scans_of(one):
    """Those of a training that has arrived by them."""
    arrived = one["passes"] is not None and one["gap"] <= TOLERANCE and not went_over(one)
    return one["passes"] + 1 if arrived else math.inf


def went_over(one):
    """Whether it has given way to rows that stream."""
    return one.get("solver", "scan") != "scan"


def ended(one):
    if one["passes"] is None:
        return [f"not in {LONGEST} s", "", ""]
    if went_over(one):
        return [f"went over, then {one['passes']} passes", f"{one['gap']:.1e}", seconds(one["wall"])]
    return [str(one["passes"] + 1), f"{one['gap']:.1e}", seconds(one["wall"])]


def line(way):
    runs = way["runs"]

    def of(key):
        return median([one[key] for one in runs])

    return [
        way["solver"],
        way["loss"],
        way["cache"],
        seconds(of("wall")),
        seconds(of("cpu")),
        f"{of('passes'):g}",
        f"{max(one['gap'] for one in runs):.1e}",
        f"{of('peak') / 2**20:.0f}",
        f"{of('files') / 2**20:.0f}",
    ]
