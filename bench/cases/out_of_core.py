"""The cache holds a tenth of the encoded rows; C = 1. How many passes over the spool, and how many seconds where reading
it is slow, until the dual objective is within 1e-3 of the optimum, relatively.

The solver's core without PostgreSQL, the reader in a thread of its own. The dual objective is noted after each pass over all
rows, and between passes after every block or sweep of the cache whose visits cost many times as much as computing it.
The first scan, which writes the spool, is the same for all and not counted. The slow device is a throttle in the spool
of the measuring program: cgroups limit only what the page cache does not hold, and a temporary file that was just
written is there. BM and SBM are ours, the same kernels, cache and spool with another schedule, without proximal shift.
"""

import math

import problems
from machine import median
from report import Picture, seconds, table
from solvers import NotAvailable, measured, ours

TITLE = "Cache of a tenth"
SHARE = 0.1
DIFFERENCE = 1e-3
REFERENCE_TOLERANCE = 1e-5
SOLVERS = ["stream", "paper", "selective_block", "block"]
PEERS = {"block": ("BM", 6, 12), "selective_block": ("SBM", 1.3, 3)}
# name, how to make it (the quick run takes a quarter of the rows), megabytes a second of the slow device
CASES = [
    ("dense, 500 columns", lambda share: problems.unit_rows(100_000 // share), 100),
    ("54 columns, 12 nonzero", lambda share: problems.cover_like(581_012 // share), 200),
    ("text, 1M columns", lambda share: problems.text_like(300_000 // share), 100),
]
# a training ends at this difference, the curves with it
END = {"quick": 0.99e-3, "full": 1e-4}
# or after so many times the seconds of `stream` on the same device
PATIENCE = 13
# a training that takes so many is not repeated
LONG_SECONDS = 20.0
FULL_ONLY = ["paper"]


def measure(run):
    share = 4 if run.quick else 1
    return {"cases": [measure_case(run, name, make(share), slow) for name, make, slow in CASES], "quick": run.quick}


def measure_case(run, name, problem, slow):
    mode = "quick" if run.quick else "full"
    _, _, _, _, whole = ours(problem, 1.0, REFERENCE_TOLERANCE, seconds=60)
    size = int(whole["row_bytes"] * problem.rows)
    best = whole["dual"]
    settings = {"c": 1, "tolerance": REFERENCE_TOLERANCE, "cache": int(SHARE * size), "threads": 2}
    settings["dual"] = best * (1 - END[mode])
    found = []
    for throttle in [math.inf, slow]:
        wall = math.inf
        for solver in SOLVERS:
            if run.quick and solver in FULL_ONLY:
                continue
            options = {"solver": solver, "throttle_mb": throttle, "wall": wall, **settings}
            runs = trained(run, problem, options, 1 if run.quick else 3)
            best = max([best, *(said["dual"] for said in runs)])
            reached = [arrival(said, best) for said in runs]
            run.say(f"  {name}, {solver}, {throttle} MB/s: {reached}")
            found.append({"solver": solver, "throttle": throttle, "wall": wall, "runs": runs})
            if solver == "stream":
                wall = PATIENCE * max(said["wall"] for said in runs)
    return {"problem": f"{name}, {problem.rows} rows", "slow": slow, "best_dual": best, "runs": found}


def trained(run, problem, settings, repeats):
    """What each of the repeats said; nothing where this build has no such schedule."""
    try:
        runs = []
        for seed in range(repeats):
            runs.append(measured(problem, seed=seed, **settings))
            if runs[-1]["wall"] > LONG_SECONDS:
                break
        return runs
    except NotAvailable as missing:
        run.say(f"  {settings['solver']}: not available ({missing})")
        return []


def arrival(said, best):
    """(passes, wall seconds) after which the dual objective is within the relative difference; None: never."""
    for point in said["duals"]:
        if (best - point["dual"]) / best <= DIFFERENCE:
            return point["passes"], point["wall"]
    return None


def medians(entry, best):
    """Median passes and seconds of the repeats, None if one of them did not arrive."""
    arrivals = [arrival(said, best) for said in entry["runs"]]
    return tuple(map(median, zip(*arrivals))) if arrivals and all(arrivals) else None


def report(found):
    rows, verdicts, ratios = [], [], {solver: [] for solver in PEERS}
    for case in found["cases"]:
        reached = {(entry["solver"], entry["throttle"]): medians(entry, case["best_dual"]) for entry in case["runs"]}
        rows += [line(case, entry, reached[entry["solver"], entry["throttle"]]) for entry in case["runs"]]
        verdicts += case_verdicts(case, reached, ratios)
    for solver, (short, least, aim) in PEERS.items():
        if all_ratios := ratios[solver]:
            name = f"cache a tenth, disk-bound: {short} / ours, geometric mean over {len(all_ratios)} data sets"
            verdicts.append((name, math.exp(sum(map(math.log, all_ratios)) / len(all_ratios)), least, aim))
    text = table(["data", "schedule", "device", "passes", "wall s", "spool MB", "read MB"], rows)
    if found["quick"]:
        text += f"\n\nA quarter of the rows; without {', '.join(FULL_ONLY)}."
    return text, verdicts, [picture(found)]


def case_verdicts(case, reached, ratios):
    """The verdicts of a data set; its ratios are added to those of the others."""
    name, slow = case["problem"], case["slow"]
    for throttle, device in [(slow, "disk-bound"), (math.inf, "spool in memory")]:
        arrived = reached["stream", throttle]
        passes = arrived[0] if arrived else math.inf
        yield f"cache a tenth, {device}, {name}: passes to a dual difference of 1e-3", passes, 4, 2, True
    mine = reached["stream", slow]
    for entry in case["runs"]:
        if entry["solver"] in PEERS and entry["throttle"] == slow and entry["runs"] and mine:
            short, least, aim = PEERS[entry["solver"]]
            theirs = reached[entry["solver"], slow]
            name = f"cache a tenth, disk-bound, {case['problem']}: {short} / ours" + ("" if theirs else " (given up)")
            ratios[entry["solver"]].append((theirs[1] if theirs else entry["wall"]) / mine[1])
            yield name, ratios[entry["solver"]][-1], least, aim


def line(case, entry, reached):
    device = "memory" if math.isinf(entry["throttle"]) else f"{entry['throttle']} MB/s"
    start = [case["problem"], entry["solver"], device]
    if not entry["runs"]:
        return [*start, "not available", "", "", ""]
    size = f"{median([said['spool_bytes'] for said in entry['runs']]) / 1e6:.0f}"
    read = f"{median([said['spool_bytes_read'] for said in entry['runs']]) / 1e6:.0f}"
    if reached is None:
        return [*start, "-", f"not in {seconds(entry['wall'])}", size, read]
    return [*start, f"{reached[0]:.1f}", seconds(reached[1]), size, read]


def picture(found):
    drawing = Picture("out_of_core", len(found["cases"]), "wall seconds", "relative dual difference", gaps=True)
    names = {"stream": "pgsvm", "paper": "StreamSVM as published", "selective_block": "SBM", "block": "BM"}
    for case in found["cases"]:
        best = case["best_dual"]
        curves = {
            names[entry["solver"]]: thinned([(p["wall"], (best - p["dual"]) / best) for p in entry["runs"][0]["duals"]])
            for entry in case["runs"]
            if entry["throttle"] == case["slow"] and entry["runs"]
        }
        drawing.panel(f"{case['problem']}, {case['slow']} MB/s", curves)
    return drawing


def thinned(curve):
    """The first point, those that lie lower than the one before by a twentieth, and the last."""
    kept = curve[:1]
    for point in curve[1:]:
        if point[1] <= 0.95 * kept[-1][1]:
            kept.append(point)
    return kept + curve[-1:]
