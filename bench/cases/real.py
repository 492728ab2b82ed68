"""The solver alone on real data sets, as they are and standardized, with intercept, at C = 0.01, 1 and 100: 36 cells.

Processor seconds of one thread, rows already in each solver's memory. Ours counts when its own certificate is within
the tolerance. LIBLINEAR proves nothing, so its P is compared with the best lower bound that anybody found, and between
two settings of its -e time is interpolated. Each has a cap on its seconds and is given up behind it; LIBLINEAR also
ends by itself after its fixed number of iterations.
"""

import cells
import datasets
from report import Picture, table
from solvers import Liblinear

TITLE = "Real data, solver alone"
SETS = cells.SETS
# the large ones take minutes
FULL_ONLY = ["mnist", "kddcup99"]
OURS_SECONDS = {"quick": 5.0, "full": 60.0}
# LIBLINEAR gets so many times our seconds to 1e-3, within these bounds
PATIENCE = 5
PEER_SECONDS = {"quick": (0.5, 1.0), "full": (20.0, 120.0)}
EPSILONS = {"quick": [10, 1, 0.1, 0.01, 0.001], "full": cells.EPSILONS}


def measure(run):
    mode = "quick" if run.quick else "full"
    found = []
    left_out = FULL_ONLY if run.quick else []
    names, missing = datasets.at_hand(run, [name for name in SETS if name not in left_out])
    missing += left_out
    for name, form, problem in datasets.in_each_form(names):
        peer = Liblinear(problem)
        for c in cells.COSTS:
            cell = measure_cell(problem, peer, c, mode)
            found.append({"set": name, "form": form, "c": c, **cell})
            run.say("  " + " | ".join(cells.row(name, form, c, cell, cells.TOLERANCES)))
    return {"cells": found, "missing": missing, "seconds": OURS_SECONDS[mode]}


def measure_cell(problem, peer, c, mode):
    limit = OURS_SECONDS[mode]
    ours, bound = cells.measure_ours(problem, c, cells.TOLERANCES, limit)
    mine = cells.seconds_of({"ours": ours}, cells.TOLERANCES[-1])
    if mine:
        bound = max(bound, cells.lower_bound(problem, c, min(limit, max(1.0, PATIENCE * mine))))
    least, most = PEER_SECONDS[mode]
    patience = min(max(least, PATIENCE * mine), most) if mine else most
    rungs = cells.measure_peer(problem, peer, c, EPSILONS[mode], patience, bound)
    return {"ours": ours, "bound": bound, "liblinear": rungs}


def report(found):
    if not found["cells"]:
        return "No data set found: the environment variable PGSVM_DATA names their folder.", [], []
    rows = [cells.row(cell["set"], cell["form"], cell["c"], cell, cells.TOLERANCES) for cell in found["cells"]]
    sums = {tolerance: cells.summary(found["cells"], tolerance) for tolerance in cells.TOLERANCES}
    lines = [
        [
            f"{tolerance:g}",
            f"{said['certified']:.0%}",
            said["only_theirs"],
            said["slower"],
            f"{said['mean']:.2f} (of {said['both']})",
        ]
        for tolerance, said in sums.items()
    ]
    head = ["gap", "ours certified", "only LIBLINEAR", "LIBLINEAR over 1.5 times faster", "mean LIBLINEAR / ours"]
    said = sums[1e-3]
    count = len(found["cells"])
    part = "" if count == len(cells.all_cells()) else f" ({count} of {len(cells.all_cells())} cells)"
    verdicts = [
        (f"real data{part}, share of cells certified to 1e-3", said["certified"], 0.9, None),
        (f"real data{part}, cells that LIBLINEAR reaches and ours does not", said["only_theirs"], 0, None, True),
        (f"real data{part}, cells where LIBLINEAR is more than 1.5 times faster", said["slower"], 0, None, True),
        (f"real data{part}, LIBLINEAR / ours where both arrive, geometric mean", said["mean"], 3.5, None),
    ]
    note = f"Ours is stopped after {found['seconds']:g} s."
    if found["missing"]:
        note += f" Left out: {', '.join(found['missing'])}."
    text = [table(head, lines), "", note, "", table(cells.header(cells.TOLERANCES), rows)]
    return "\n".join(text), verdicts, [picture(found)]


def picture(found):
    drawing = Picture("real", len(cells.TOLERANCES), "pgsvm, processor seconds", "LIBLINEAR, processor seconds")
    for tolerance in cells.TOLERANCES:
        points = {"both arrive": [], "LIBLINEAR given up": []}
        for cell in found["cells"]:
            mine, theirs = cells.seconds_of(cell, tolerance), cells.peer_seconds(cell, tolerance)
            if mine:
                name = "both arrive" if theirs else "LIBLINEAR given up"
                points[name].append((mine, theirs or cell["liblinear"][-1]["cpu"]))
        drawing.scatter(f"gap {tolerance:g}, one point a cell", points)
    return drawing
