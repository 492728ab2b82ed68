"""Both losses side by side, the solver alone: ours and LIBLINEAR's, which has a dual solver for each (-s 3, -s 1) and for the
squared hinge Newton's method on the primal too (-s 2).

Processor seconds of one thread to a gap of 1e-3, rows already in each solver's memory, with intercept. Ours counts when its own
certificate is there; LIBLINEAR's P is compared with the best lower bound that anybody found, and time is interpolated between
two settings of its -e. Each loss has its own objective, so that seconds compare within a row only.
"""

import math

import cells
import datasets
import problems
from machine import median
from report import seconds, table
from solvers import Liblinear, ours

TITLE = "Both losses, solver alone"
TOLERANCE, BOUND_TOLERANCE = 1e-3, 1e-5
LOSSES = Liblinear.SOLVERS
COSTS = {"quick": [1.0], "full": cells.COSTS}
QUICK_SETS = ["a9a", "ijcnn1", "reuters_moneyfx"]
EPSILONS = [10, 1, 0.1, 0.01, 1e-3, 1e-4]
OURS_SECONDS, PEER_SECONDS = 30.0, {"quick": 10.0, "full": 60.0}
REPEATS, SHORT_SECONDS, MAX_PASSES = 5, 0.5, 100_000


def measure(run):
    mode = "quick" if run.quick else "full"
    found, missing = [], []
    for name in QUICK_SETS if run.quick else datasets.FILES:
        if not datasets.available(name):
            run.say(f"  {name}: skipped, no {datasets.FILES[name]} in the folder PGSVM_DATA")
            missing.append(name)
            continue
        for form in datasets.FORMS:
            problem = datasets.problem(name, form)
            peer = Liblinear(problem)
            for c in COSTS[mode]:
                for loss in LOSSES:
                    cell = {"set": name, "form": form, "c": c, "loss": loss}
                    found.append({**cell, **measure_cell(problem, peer, c, loss, PEER_SECONDS[mode])})
                    run.say("  " + " | ".join(row(found[-1])))
    return {"cells": found, "missing": missing}


def measure_cell(problem, peer, c, loss, patience):
    squared = loss == "squared_hinge"
    runs = []
    while len(runs) < (1 if runs and runs[0] > SHORT_SECONDS else REPEATS):
        usage, _, _, _, said = ours(problem, c, TOLERANCE, MAX_PASSES, loss=loss, seconds=OURS_SECONDS, seed=len(runs))
        if said["gap"] > TOLERANCE:
            break
        runs.append(usage.cpu)
    _, _, _, duals, _ = ours(problem, c, BOUND_TOLERANCE, MAX_PASSES, loss=loss, seconds=OURS_SECONDS)
    bound = problems.dual(problem, c, duals, squared)
    ladders = {}
    for kind, solver in LOSSES[loss].items():
        ladder = []
        for epsilon in EPSILONS:
            rung = cells.alone(lambda e=epsilon, s=solver: rung_of(problem, peer, c, e, s, squared), patience)
            ladder.append(rung or (patience, None))
            if not rung or (rung[1] - bound) / rung[1] <= TOLERANCE:
                break
        ladders[kind] = [(cpu, primal and (primal - bound) / primal) for cpu, primal in ladder]
    return {"ours": median(runs) if runs else None, "liblinear": ladders}


def rung_of(problem, peer, c, epsilon, solver, squared):
    runs = []
    while len(runs) < (1 if runs and runs[0][0].cpu > SHORT_SECONDS else REPEATS):
        runs.append(peer.train(c, epsilon, solver=solver))
    _, w, b, _, _ = runs[0]
    return median([run[0].cpu for run in runs]), problems.primal(problem, c, w, b, squared)


def theirs(cell, kind):
    ladder = cell["liblinear"].get(kind)
    return ladder and cells.interpolated(TOLERANCE, ladder)


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
        shown.append(seconds(took) if took else f"not in {seconds(cell['liblinear'][kind][-1][0])}" if known else "")
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
