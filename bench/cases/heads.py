"""Ten classes of mnist (standardized, with intercept), each against the rest: all in one training, in ten trainings one
after the other, and in ten of LIBLINEAR. The solver alone, processor seconds of one thread until the last class is within
a gap of 1e-3; LIBLINEAR's gaps are against the lower bounds that ours found.
"""

import dataclasses

import numpy as np

import cells
import datasets
import problems
from machine import spread
from report import seconds, table
from solvers import Liblinear, duals, measured, weights

TITLE = "Many heads at once"
SET, FORM, CLASSES = "mnist", "std", 10
TOLERANCE = 1e-3
COSTS = [0.01, 1.0]
SECONDS = {"quick": 20.0, "full": 120.0}
# LIBLINEAR is far from arriving at C = 1, class by class
PEER_COST = 0.01
EPSILONS = {"quick": [], "full": [1, 0.3, 0.1, 0.03, 0.01]}


def measure(run):
    if not datasets.available(SET):
        run.say(f"  skipped, no {datasets.FILES[SET]} in the folder PGSVM_DATA")
        return None
    mode = "quick" if run.quick else "full"
    problem = datasets.problem(SET, FORM)
    labels = datasets.classes(SET, problem)
    found = []
    for c in COSTS:
        together, apart = [], []
        for seed in range(1 if run.quick else 3):
            settings = {"c": c, "tolerance": TOLERANCE, "seconds": SECONDS[mode], "seed": seed, "passes": 100_000}
            together.append(at_once(problem, labels, settings))
            apart.append(one_by_one(problem, labels, settings))
            run.say(f"  C={c:g}: at once {together[-1]['cpu']:.2f} s, apart {apart[-1]['cpu']:.2f} s")
        cell = {"c": c, "together": ended(together), "apart": ended(apart), "liblinear": []}
        if c == PEER_COST:
            bounds = [max(one["bounds"][k] for one in together + apart) for k in range(CLASSES)]
            cell["liblinear"] = peer(run, problem, labels, c, bounds, EPSILONS[mode])
        found.append(cell)
    return {"rows": problem.rows, "features": problem.features, "cells": found}


def at_once(problem, labels, settings):
    said = measured(problem, heads=CLASSES, labels=datasets.CLASS_FILE, **settings)
    w, b = weights(problem, CLASSES)
    gaps, bounds = [], []
    for k, a in enumerate(duals(problem, CLASSES)):
        gap, bound = judged(against_the_rest(problem, labels, k), settings["c"], w[k], b[k], a)
        gaps.append(gap)
        bounds.append(bound)
    return {"cpu": said["cpu"], "certified": max(said["gaps"]), "gap": max(gaps), "bounds": bounds}


def one_by_one(problem, labels, settings):
    """The same example on the same folder, with one class against the rest each time."""
    cpu, certified, gaps, bounds = 0.0, [], [], []
    for k in range(CLASSES):
        name = f"class_{k}.i8"
        single = against_the_rest(problem, labels, k)
        single.y.tofile(problem.folder / name)
        said = measured(problem, labels=name, **settings)
        w, b = weights(problem)
        gap, bound = judged(single, settings["c"], w[0], b[0], duals(problem)[0])
        cpu += said["cpu"]
        certified.append(said["gap"])
        gaps.append(gap)
        bounds.append(bound)
    return {"cpu": cpu, "certified": max(certified), "gap": max(gaps), "bounds": bounds}


def against_the_rest(problem, labels, k):
    return dataclasses.replace(problem, y=np.where(labels == k, 1, -1).astype(np.int8))


def judged(problem, c, w, b, alpha):
    """(gap, dual objective), both recomputed."""
    primal, bound = problems.primal(problem, c, w, b), problems.dual(problem, c, alpha)
    return (primal - bound) / primal, bound


def peer(run, problem, labels, c, bounds, epsilons):
    """LIBLINEAR's seconds over all classes and the largest gap, for each stopping tolerance."""
    trained = Liblinear(problem)
    rungs = []
    for epsilon in epsilons:
        cpu, gaps = 0.0, []
        for k in range(CLASSES):
            single = against_the_rest(problem, labels, k)
            trained.relabel(single.y)
            usage, w, b, _, _ = trained.train(c, epsilon)
            primal = problems.primal(single, c, w, b)
            cpu += usage.cpu
            gaps.append((primal - bounds[k]) / primal)
        rungs.append({"epsilon": epsilon, "cpu": cpu, "gap": max(gaps)})
        run.say(f"  C={c:g}: LIBLINEAR -e {epsilon}: {cpu:.1f} s, largest gap {max(gaps):.1e}")
        if max(gaps) <= TOLERANCE:
            break
    return rungs


def ended(runs):
    """Processor seconds (a spread), the largest gap certified and the largest recomputed."""
    largest = {key: max(run[key] for run in runs) for key in ["certified", "gap"]}
    return {"cpu": spread([run["cpu"] for run in runs]), **largest}


def report(found):
    if found is None:
        return "No data set found: the environment variable PGSVM_DATA names their folder.", [], []
    rows, verdicts = [], []
    for cell in found["cells"]:
        c, together, apart = f"{cell['c']:g}", cell["together"], cell["apart"]
        for name, entry in [("pgsvm, ten at once", together), ("pgsvm, ten trainings", apart)]:
            rows.append([c, name, seconds(entry["cpu"]), f"{entry['certified']:.1e}", f"{entry['gap']:.1e}"])
        for rung in cell["liblinear"]:
            rows.append([c, f"LIBLINEAR -e {rung['epsilon']}", seconds(rung["cpu"]), "", f"{rung['gap']:.1e}"])
        ratio = apart["cpu"]["median"] / together["cpu"]["median"] if together["certified"] <= TOLERANCE else 0.0
        verdicts.append((f"mnist, ten classes, C = {c}: ten trainings / one", ratio, 2.4, None))
        theirs = cells.interpolated(TOLERANCE, [(rung["cpu"], rung["gap"]) for rung in cell["liblinear"]])
        if theirs and ratio:
            rows[-1][-1] += f" ({theirs / together['cpu']['median']:.1f} times ours to 1e-3)"
    header = ["C", "system", "processor s", "largest gap certified", "largest gap"]
    text = (
        f"{found['rows']} rows x {found['features']}. LIBLINEAR is left out at C = 1: it is not near after minutes.\n\n"
    )
    return text + table(header, rows), verdicts, []
