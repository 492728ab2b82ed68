"""Both losses side by side, the solver alone: ours and LIBLINEAR's, which has a dual solver for each (-s 3, -s 1) and for the
squared hinge Newton's method on the primal too (-s 2).

Processor seconds of one thread to a gap of 1e-3, rows already in each solver's memory, with intercept. Ours counts when its own
certificate is there; LIBLINEAR's P is compared with the best lower bound that anybody found, and time is interpolated between
two settings of its -e. Each loss has its own objective, so that seconds compare within a row only.
"""

import math

import cells
import datasets
from report import seconds, table
from solvers import Liblinear

TITLE = "Both losses, solver alone"
TOLERANCE = 1e-3
LOSSES = Liblinear.SOLVERS
COSTS = {"quick": [1.0], "full": cells.COSTS}
QUICK_SETS = ["a9a", "ijcnn1", "reuters_moneyfx"]
EPSILONS = [10, 1, 0.1, 0.01, 1e-3, 1e-4]
OURS_SECONDS, PEER_SECONDS = 30.0, {"quick": 10.0, "full": 60.0}


def measure(run):
    mode = "quick" if run.quick else "full"
    found = []
    names, missing = datasets.at_hand(run, QUICK_SETS if run.quick else datasets.FILES)
    for name, form, problem in datasets.in_each_form(names):
        peer = Liblinear(problem)
        for c in COSTS[mode]:
            for loss in LOSSES:
                cell = {"set": name, "form": form, "c": c, "loss": loss}
                found.append({**cell, **measure_cell(problem, peer, c, loss, PEER_SECONDS[mode])})
                run.say("  " + " | ".join(row(found[-1])))
    return {"cells": found, "missing": missing}


def measure_cell(problem, peer, c, loss, patience, own_patience=OURS_SECONDS, **options):
    mine, bound = cells.measure_ours(problem, c, [TOLERANCE], own_patience, loss, **options)
    bound = max(bound, cells.lower_bound(problem, c, own_patience, loss))
    kinds = peer.solvers()[loss]
    rungs = {kind: cells.measure_peer(problem, peer, c, EPSILONS, patience, bound, loss, kind) for kind in kinds}
    return {"ours": cells.seconds_of({"ours": mine}, TOLERANCE), "bound": bound, "liblinear": rungs}


def theirs(cell, kind):
    if kind not in cell["liblinear"]:
        return None
    return cells.peer_seconds({"bound": cell["bound"], "liblinear": cell["liblinear"][kind]}, TOLERANCE)


def row(cell):
    shown = [
        cell["set"],
        cell["form"],
        f"{cell['c']:g}",
        cell["loss"],
        seconds(cell["ours"]) if cell["ours"] else "not reached",
    ]
    for kind in ("dual", "primal"):
        took = theirs(cell, kind)
        known = kind in cell["liblinear"]
        shown.append(
            seconds(took) if took else f"not in {seconds(cell['liblinear'][kind][-1]['cpu'])}" if known else ""
        )
    best = fastest(cell)
    return [*shown, f"{best / cell['ours']:.2f}" if best and cell["ours"] else "-"]


def fastest(cell):
    """LIBLINEAR's seconds by its faster solver; None: it never arrives."""
    return min(filter(None, (theirs(cell, kind) for kind in cell["liblinear"])), default=None)


def report(found):
    if not found["cells"]:
        return "No data set found: the environment variable PGSVM_DATA names their folder.", [], []
    verdicts = []
    for loss in LOSSES:
        both = [(fastest(cell), cell["ours"]) for cell in found["cells"] if cell["loss"] == loss]
        ratios = [math.log(peer / mine) for peer, mine in both if peer and mine]
        if ratios:
            verdicts.append(
                (
                    f"{loss}, LIBLINEAR's faster solver / ours, geometric mean",
                    math.exp(sum(ratios) / len(ratios)),
                    1.0,
                    None,
                )
            )
    note = f"\n\nLeft out: {', '.join(found['missing'])}." if found["missing"] else ""
    header = [
        "data",
        "form",
        "C",
        "loss",
        "ours, s",
        "LIBLINEAR dual, s",
        "LIBLINEAR primal, s",
        "LIBLINEAR's faster / ours",
    ]
    return table(header, [row(cell) for cell in found["cells"]]) + note, verdicts, []
