"""A metric forest, the index of Yen, Chang, Chen and Lin (KDD 2013). First what it could leave unread of real rows by an exact bound: at the solution of
the ramp, where that prunes most, with leaves of so many rows; reckoned with numpy (metric_forest.py) on 60,000 rows of each set.
Rows that matter have a margin below 1 and are no outliers. And how many of the first 2000 rows matter, of 20,000, where leaves are read by the boundary between pivots, as published,
by their own pivot, as here, and in any order.

Then trainings with 'indexed' by slack and by the forest ("chunks_by": "forest", with its usual options), beside 'stream': through a cache
of a tenth, from a device of 40 MB/s, to a gap of 1e-3 of the hinge and of the ramp. Bytes are those written to the spool and read from it, as it packs
them, as multiples of what the rows take without packing; passes of the forest are queries, which read some rows only. Standardized,
C = 1, s = 1.
"""

import datasets
import metric_forest
from cases.indexed_reading import cell_of
from report import seconds, table
from solvers import measured, ours

TITLE = "A metric forest"
SETS = [("a9a", "std"), ("ijcnn1", "std"), ("kddcup99", "std"), ("cover_2v4", "std"), ("mnist", "std")]
LEAVES = [16, 64, 256]
TOLERANCE, S = 1e-3, 1.0
LOSSES = ("hinge", "ramp")
WAYS = {"stream": ("stream", {}), "slack": ("indexed", {}), "forest": ("indexed", {"chunks_by": "forest"})}


def measure(run):
    cells, trained = [], []
    for name, _, problem in datasets.problems_at_hand(run, SETS):
        bare = problem.rows * measured(problem, passes=1)["row_bytes"]
        for loss in LOSSES:
            ways = {way: cell_of(problem, bare, loss, *given) for way, given in WAYS.items()}
            trained.append({"set": name, "loss": loss, **ways})
            run.say(f"  {trained[-1]}")
        _, w, b, _, _ = ours(problem, 1.0, TOLERANCE, loss="hinge", truncation=S)
        for leaf in LEAVES:
            ways = {
                "unread": metric_forest.unread(problem, w, b, S, leaf),
                "found": metric_forest.found(problem, w, b, S, leaf),
            }
            cells.append({"set": name, "leaf": leaf, **ways["unread"], **ways["found"]})
            run.say(f"  {cells[-1]}")
    return {"cells": cells, "trained": trained}


def report(found):
    rows = []
    for cell in found["cells"]:
        shares = [f"{100 * cell[it]:.1f} %" for it in ("matter", "near", "unread", "boundary", "pivot", "any")]
        rows.append([cell["set"], str(cell["leaf"]), *shares])
    head = ["data", "rows of a leaf", "rows that matter", "in a leaf with one", "left unread by the bound"]
    head += ["matter by boundary", "by pivot", "in any order"]
    bounds = table(head, rows)
    rows = []
    for cell in found["trained"]:
        used = [f"{cell[way]['read'] + cell[way]['written']:.1f}" for way in WAYS]
        passes = [f"{cell[way]['passes']:.0f}" for way in WAYS]
        walls = [seconds(cell[way]["wall"]) for way in WAYS]
        objectives = [f"{cell[way]['objective']:.6g}" for way in WAYS]
        gaps = [f"{cell[way]['gap']:.1e}" for way in WAYS]
        rows.append([cell["set"], cell["loss"], *passes, *used, *walls, *objectives, *gaps])
    heads = [f"{what} {way}" for what in ("passes", "bytes", "s", "objective", "gap") for way in WAYS]
    return bounds + "\n\n" + table(["data", "loss", *heads], rows), [], []
