"""What a metric forest, the index of Yen, Chang, Chen and Lin (KDD 2013), could leave unread of real rows: at the solution of the ramp, where its
bound prunes most, with leaves of so many rows; reckoned with numpy (metric_forest.py) on 60,000 rows of each set.

Rows that matter have a margin below 1 and are no outliers. Standardized, C = 1, s = 1.
"""

import datasets
import metric_forest
from report import table
from solvers import ours

TITLE = "A metric forest"
SETS = [("a9a", "std"), ("ijcnn1", "std"), ("kddcup99", "std"), ("cover_2v4", "std"), ("mnist", "std")]
LEAVES = [16, 64, 256]
TOLERANCE, S = 1e-3, 1.0


def measure(run):
    cells = []
    for name, _, problem in datasets.problems_at_hand(run, SETS):
        _, w, b, _, _ = ours(problem, 1.0, TOLERANCE, loss="hinge", truncation=S)
        for leaf in LEAVES:
            cells.append({"set": name, "leaf": leaf, **metric_forest.unread(problem, w, b, S, leaf)})
            run.say(f"  {cells[-1]}")
    return {"cells": cells}


def report(found):
    rows = []
    for cell in found["cells"]:
        shares = [f"{100 * cell[it]:.1f} %" for it in ("matter", "near", "unread")]
        rows.append([cell["set"], str(cell["leaf"]), *shares])
    head = ["data", "rows of a leaf", "rows that matter", "in a leaf with one", "left unread by the bound"]
    return table(head, rows), [], []
