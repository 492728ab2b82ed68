"""One trainer and two, the solver alone: wall seconds to a certified gap of 1e-3, C = 1, in turns; one head and ten classes, all rows
in the cache and a cache of a tenth. Beside it processor seconds of the trainer that also does what is not shared, which say
more where other work takes cores away: with two trainers that is what a machine with cores to spare would wait for.
"""

import datasets
import problems
from machine import spread
from report import seconds, table
from solvers import NotAvailable, measured

TITLE = "Two trainers"
TOLERANCE = 1e-3
# a cache of a tenth of the rows
TENTH = 0.1


def mnist(**options):
    if not datasets.available("mnist"):
        return None
    problem = datasets.problem("mnist", "std")
    if "heads" in options:
        # which writes the file of classes
        datasets.classes("mnist", problem)
        options["labels"] = datasets.CLASS_FILE
    return problem, options


def cover(**options):
    return problems.cover_like(), options


# name, what makes the problem and its options, the share of the rows that the cache holds, and how many runs of the quick profile
CASES = [
    ("mnist, 8 against the rest", mnist, {}, None, 5, 1.5),
    ("581k x 54, 12 nonzero", cover, {}, None, 5, 1.5),
    ("mnist, ten classes", mnist, {"heads": 10}, None, 2, 1.5),
    ("mnist, 8 against the rest, a tenth in the cache", mnist, {}, TENTH, 2, 1.2),
    ("581k x 54, 12 nonzero, a tenth in the cache", cover, {}, TENTH, 3, 1.2),
    ("mnist, ten classes, a tenth in the cache", mnist, {"heads": 10}, TENTH, 1, 1.5),
]


def measure(run):
    found = []
    for name, make, options, share, quick, least in CASES:
        made = make(**options)
        if made is None:
            run.say(f"  {name}: skipped, no data set in the folder PGSVM_DATA")
            continue
        problem, options = made
        if share:
            options["cache"] = int(share * row_bytes(problem) * problem.rows)
        runs = {1: [], 2: []}
        try:
            for seed in range(quick if run.quick else 12 * quick):
                for trainers in runs:
                    said = measured(
                        problem, c=1, tolerance=TOLERANCE, trainers=trainers, seed=seed, passes=1000, **options
                    )
                    runs[trainers].append(said)
        except NotAvailable as missing:
            run.say(f"  not available ({missing})")
            return {"missing": str(missing), "cells": []}
        for trainers, all in runs.items():
            wall, cpu = (spread([said[key] for said in all]) for key in ["wall", "cpu"])
            gap, visits = (max(said[key] for said in all) for key in ["gap", "visits"])
            entry = {"wall": wall, "cpu": cpu, "gap": gap, "visits": visits}
            found.append({"problem": name, "trainers": trainers, "least": least, **entry})
            run.say(f"  {name}, {trainers}: {wall['median']:.3f} s, {cpu['median']:.3f} of them at work")
    return {"missing": None, "cells": found}


def row_bytes(problem):
    """About what a row takes in the cache: a head of four words, and a word for each number or two for each entry."""
    numbers = problem.features if problem.is_dense else 2 * problem.x.nnz / problem.rows
    return 4 * (4 + numbers)


def report(found):
    if found["missing"]:
        return f"Not available in this build: {found['missing']}.", [], []
    cells = found["cells"]
    rows = [
        [e["problem"], e["trainers"], seconds(e["wall"]), seconds(e["cpu"]), e["visits"], f"{e['gap']:.1e}"]
        for e in cells
    ]
    verdicts = []
    for one, two in zip(cells[::2], cells[1::2]):
        # a training without its certificate does not count
        holds = max(one["gap"], two["gap"]) <= TOLERANCE
        ratio = one["wall"]["median"] / two["wall"]["median"] if holds else 0.0
        verdicts.append((f"one trainer / two, {one['problem']}, wall time", ratio, one["least"], None))
    header = ["problem", "trainers", "wall s", "processor s of the first", "most visits", "largest gap certified"]
    return table(header, rows), verdicts, []
