"""One trainer and two, the solver alone: wall seconds to a certified gap of 1e-3, C = 1, in turns."""

import datasets
import problems
from machine import spread
from report import seconds, table
from solvers import NotAvailable, measured

TITLE = "Two trainers"
TOLERANCE = 1e-3
CASES = {
    "mnist, 8 against the rest": lambda: datasets.problem("mnist", "std") if datasets.available("mnist") else None,
    "581k x 54, 12 nonzero": problems.cover_like,
}


def measure(run):
    found = []
    for name, make in CASES.items():
        problem = make()
        if problem is None:
            run.say(f"  {name}: skipped, no data set in the folder PGSVM_DATA")
            continue
        runs = {1: [], 2: []}
        try:
            for seed in range(5 if run.quick else 60):
                for trainers in runs:
                    said = measured(problem, c=1, tolerance=TOLERANCE, trainers=trainers, seed=seed)
                    runs[trainers].append(said)
        except NotAvailable as missing:
            run.say(f"  not available ({missing})")
            return {"missing": str(missing), "cells": []}
        for trainers, all in runs.items():
            wall = spread([said["wall"] for said in all])
            found.append({"problem": name, "trainers": trainers, "wall": wall, "gap": max(said["gap"] for said in all)})
            run.say(f"  {name}, {trainers}: {wall['median']:.3f} s")
    return {"missing": None, "cells": found}


def report(found):
    if found["missing"]:
        return f"Not available in this build: {found['missing']}.", [], []
    rows = [[e["problem"], e["trainers"], seconds(e["wall"]), f"{e['gap']:.1e}"] for e in found["cells"]]
    verdicts = []
    for one, two in zip(found["cells"][::2], found["cells"][1::2]):
        # a training without its certificate does not count
        holds = max(one["gap"], two["gap"]) <= TOLERANCE
        ratio = one["wall"]["median"] / two["wall"]["median"] if holds else 0.0
        verdicts.append((f"one trainer / two, {one['problem']}, wall time", ratio, 1.5, None))
    return table(["problem", "trainers", "wall s", "largest gap certified"], rows), verdicts, []
