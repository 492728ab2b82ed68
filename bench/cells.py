"""One cell = one real data set, raw or standardized, at one C: seconds to a certified gap, ours and LIBLINEAR's.

`cells.py [SET [raw|std [C]]] [--tolerance 1e-3 ...] [--seconds 10]` times ours in the cells that fit and prints them
beside LIBLINEAR, which runs once for a cell and is then remembered in target/bench/cells: for whoever works on the
solver. The case `real` measures both anew.
"""

import argparse
import json
import math
import os
import pickle
import signal

import datasets
import problems
from machine import TARGET, median, spread
from report import seconds, table
from solvers import Liblinear, ours

SETS = ["a9a", "ijcnn1", "mnist", "kddcup99", "reuters_moneyfx", "cover_2v4"]
COSTS = [0.01, 1.0, 100.0]
TOLERANCES = [1e-2, 1e-3]
EPSILONS = [10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001]
MAX_PASSES = 100_000
REFERENCE_TOLERANCE = 1e-5
# a training shorter than this is repeated, the median counts
SHORT_SECONDS = 0.5
REPEATS = 5


def all_cells():
    return [(name, form, c) for name in SETS for form in datasets.FORMS for c in COSTS]


def measure_ours(problem, c, tolerances, seconds, loss="hinge", **options):
    """For each tolerance processor seconds (a spread) and the gap certified; and D recomputed from the last duals."""
    found, duals = [], None
    for tolerance in tolerances:
        runs = []
        while len(runs) < (1 if runs and runs[0][0] > SHORT_SECONDS else REPEATS):
            given = {"loss": loss, "seconds": seconds, "seed": len(runs), **options}
            usage, _, _, duals, said = ours(problem, c, tolerance, MAX_PASSES, **given)
            runs.append((usage.cpu, said["gap"], said["passes"], said["load_cpu"]))
        cpu, gap, passes, load = zip(*runs)
        # of the repeats the largest gap: all have to be certified
        point = {"tolerance": tolerance, "gap": max(gap), "passes": median(passes), "load": median(load)}
        found.append({**point, "cpu": spread(cpu)})
        if max(gap) > tolerance:
            # a smaller gap will not be had either
            break
    return found, problems.dual(problem, c, duals, is_squared(loss))


def lower_bound(problem, c, seconds, loss="hinge"):
    """A lower bound of the least objective: D recomputed from the dual variables of a long run."""
    _, _, _, duals, _ = ours(problem, c, REFERENCE_TOLERANCE, MAX_PASSES, loss=loss, seconds=seconds)
    return problems.dual(problem, c, duals, is_squared(loss))


def is_squared(loss):
    return loss == "squared_hinge"


def measure_peer(problem, peer, c, epsilons, seconds, bound, loss="hinge", kind="dual"):
    """LIBLINEAR's dual or primal solver with one stopping tolerance after the other: (epsilon, cpu, primal, dual, capped) of each, until the gap
    is within the last tolerance, its iteration cap is reached or it takes more than `seconds` (primal is None then)."""
    rungs = []
    for epsilon in epsilons:
        rung = alone(lambda epsilon=epsilon: _rung(problem, peer, c, epsilon, loss, kind), seconds)
        rungs.append(rung or {"epsilon": epsilon, "cpu": seconds, "primal": None, "dual": None, "capped": False})
        if not rung or rung["capped"]:
            break
        if (rung["primal"] - max(bound, rung["dual"] or bound)) / rung["primal"] < 0.5 * TOLERANCES[-1]:
            break
    return rungs


def _rung(problem, peer, c, epsilon, loss, kind):
    runs = []
    while len(runs) < (1 if runs and runs[0][0].cpu > SHORT_SECONDS else REPEATS):
        runs.append(peer.train(c, epsilon, solver=peer.solvers()[loss][kind]))
    _, w, b, dual, capped = runs[0]
    cpu, primal = median([run[0].cpu for run in runs]), problems.primal(problem, c, w, b, is_squared(loss))
    return {"epsilon": epsilon, "cpu": cpu, "primal": primal, "dual": dual, "capped": capped}


def alone(work, seconds):
    """What `work` returns, from a child process that is ended by the system when it has used more processor time; None
    then. LIBLINEAR cannot be stopped from outside in any other way."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # repeats of short trainings and the computed objective are not meant
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds + REPEATS * SHORT_SECONDS)
        with os.fdopen(writing, "wb") as out:
            pickle.dump(work(), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(said) if said else None


def seconds_of(found, tolerance):
    """Our processor seconds to a certified gap (the median); None: not certified."""
    for point in found["ours"]:
        if point["tolerance"] == tolerance and point["gap"] <= tolerance:
            return point["cpu"]["median"]
    return None


def peer_seconds(found, tolerance):
    """LIBLINEAR's processor seconds to a gap, log gap linear between its stopping tolerances; None: never.

    The gap is against the best lower bound that anybody found.
    """
    bound = max([found["bound"], *(rung["dual"] for rung in found["liblinear"] if rung["dual"] is not None)])
    ladder = [(r["cpu"], r["primal"] and (r["primal"] - bound) / r["primal"]) for r in found["liblinear"]]
    return interpolated(tolerance, ladder)


def interpolated(tolerance, ladder):
    """Seconds at which a ladder of (seconds, gap or None: given up) reaches a gap; None: never."""
    before = None
    for cpu, gap in ladder:
        if gap is None:
            return None
        gap = max(gap, 1e-9)
        if gap <= tolerance:
            if before is None or before[1] <= gap or before[0] >= cpu:
                return cpu
            share = math.log(before[1] / tolerance) / math.log(before[1] / gap)
            return before[0] + share * (cpu - before[0])
        before = cpu, gap
    return None


def row(name, form, c, found, tolerances):
    """A line of the table: what each took to each gap and their ratio."""
    cells = [name, form, f"{c:g}"]
    for tolerance in tolerances:
        mine, theirs = seconds_of(found, tolerance), peer_seconds(found, tolerance)
        last = found["liblinear"][-1]["cpu"]
        ratio = f"{theirs / mine:.1f}" if mine and theirs else f"> {last / mine:.0f}" if mine else "-"
        ours_said = seconds(mine) if mine else f"- (gap {found['ours'][-1]['gap']:.1e})"
        cells += [ours_said, seconds(theirs) if theirs else f"not in {seconds(last)}", ratio]
    return cells


def header(tolerances):
    return [
        "data",
        "form",
        "C",
        *(f"{what} {t:g}" for t in tolerances for what in ["ours, s, to", "LIBLINEAR, s, to", "ratio at"]),
    ]


def summary(cells, tolerance):
    """(share certified, cells that only LIBLINEAR reaches, cells where it is over 1.5 times faster, mean of ratios)."""
    times = [(seconds_of(cell, tolerance), peer_seconds(cell, tolerance)) for cell in cells]
    both = [theirs / mine for mine, theirs in times if mine and theirs]
    return {
        "certified": sum(mine is not None for mine, _ in times) / len(times),
        "only_theirs": sum(mine is None and theirs is not None for mine, theirs in times),
        "slower": sum(ratio < 1 / 1.5 for ratio in both),
        "both": len(both),
        "mean": math.exp(sum(map(math.log, both)) / len(both)) if both else math.nan,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", choices=SETS)
    parser.add_argument("form", nargs="?", choices=datasets.FORMS)
    parser.add_argument("c", nargs="?", type=float)
    parser.add_argument("--tolerance", type=float, nargs="+", default=TOLERANCES)
    parser.add_argument("--seconds", type=float, default=10.0, help="processor seconds after which ours is stopped")
    given = parser.parse_args()
    wanted = [
        cell for cell in all_cells() if all(w is None or w == v for w, v in zip((given.set, given.form, given.c), cell))
    ]
    cells, rows = [], []
    for name, form, c in wanted:
        problem = datasets.problem(name, form)
        cell = remembered_peer(problem, c)
        cell["ours"], _ = measure_ours(problem, c, sorted(given.tolerance, reverse=True), given.seconds)
        cells.append(cell)
        rows.append(row(name, form, c, cell, given.tolerance))
        print(*rows[-1], sep="\t", flush=True)
    print(table(header(given.tolerance), rows))
    for tolerance in given.tolerance:
        print(f"gap {tolerance:g}:", summary(cells, tolerance))


def remembered_peer(problem, c):
    """LIBLINEAR's ladder of a cell and the lower bound that it was judged by, measured once."""
    path = TARGET / "cells" / f"{problem.name}_{c:g}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        bound = lower_bound(problem, c, 20.0)
        rungs = measure_peer(problem, Liblinear(problem), c, EPSILONS, 20.0, bound)
        path.write_text(json.dumps({"bound": bound, "liblinear": rungs}))
    return json.loads(path.read_text())


if __name__ == "__main__":
    main()
