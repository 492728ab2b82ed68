"""OCAS and the cutting plane algorithm as published (`solver => 'ocas'`, `'cutting_plane'`), by scans over a table, beside libocas
(Debian's libocas-tools) on the same rows in its memory, and beside rows near the margin that are held (`'scan'`).

Hinge, an intercept in the norm, no scaling, to a relative gap of 1e-3 of each by its own bounds. Steps are planes made: libocas's
iterations, ours of 'ocas' half of the scans, as a step takes one along the line and one for the plane. Seconds of libocas
are those of its solver, without reading the file; ours those of the whole statement, which reads the table in every scan. C is ours and
libocas's; the paper's C is n times as large, as its risk is a mean.

Ten digits of mnist are told apart together ("multiclass": "crammer_singer"), beside libocas' msvmocas and LIBLINEAR's -s 4, without an intercept, as
msvmocas has none; LIBLINEAR's objective is that of its weights.
"""

import dataclasses
import re
import subprocess
import time

import numpy as np

import datasets
import server
from cases.scan import LONGEST, features, put, trained
from machine import TARGET
from report import seconds, table

TITLE = "Cutting planes"
SETS = [("a9a", "raw"), ("ijcnn1", "raw"), ("cover_2v4", "std")]
COSTS = [0.001, 0.01, 0.1, 1.0]
TOLERANCE = 1e-3
MULTICLASS = ("msvmocas",)
LIBOCAS = [("libocas OCAS", 1), ("libocas CPA", 0)]
# cutting planes without a line search take very many steps with a large C
MOST_OF_CPA = 0.1
# several classes told apart together: the first rows of a set, values divided by 256
DIGITS, DIGIT_ROWS = "mnist", 10_000
DIGIT_COSTS = [0.001, 0.01]
LINE = re.compile(r"^\s*(\d+): tim=[\d.]+, Q_P=([\d.]+), Q_D=([\d.-]+)", re.M)
TIME = re.compile(r"ocas_time\s*: ([\d.]+)")


def measure(run):
    found = []
    for name, form, problem in datasets.problems_at_hand(run, SETS):
        path = written(name, form, problem)
        with server.connect() as connection:
            put(connection, problem)
        for c in COSTS:
            cell = {"set": name, "form": form, "c": c, "ways": []}
            for what, method in LIBOCAS:
                if method == 1 or c <= MOST_OF_CPA:
                    cell["ways"].append({"what": what, **libocas(path, c, method)})
            for solver in ["ocas", "cutting_plane", "scan"]:
                if solver != "cutting_plane" or c <= MOST_OF_CPA:
                    cell["ways"].append(ours(problem, solver, c))
            run.say(f"  {cell}")
            found.append(cell)
    if datasets.available(DIGITS):
        found += digits(run)
    return found


def digits(run):
    """Ten classes told apart together."""
    whole = datasets.problem(DIGITS, "raw")
    labels = datasets.classes(DIGITS, whole)[:DIGIT_ROWS]
    x = (whole.x[:DIGIT_ROWS] / 256).astype(np.float32)
    problem = dataclasses.replace(whole, y=labels + 1, x=x)
    path = written("digits", "256", problem)
    with server.connect() as connection:
        put(connection, problem)
    found = []
    for c in DIGIT_COSTS:
        cell = {"set": DIGITS, "form": "/ 256", "c": c, "classes": int(labels.max()) + 1}
        peers = [libocas(path, c, 1, MULTICLASS), liblinear(path, problem, c)]
        names = ["msvmocas", "LIBLINEAR -s 4"]
        cell["ways"] = [{"what": what} | way for what, way in zip(names, peers)]
        more = {"intercept": False, "options": '{"multiclass": "crammer_singer"}'}
        cell["ways"].append(ours(problem, "ocas", c, **more))
        run.say(f"  {cell}")
        found.append(cell)
    return found


def liblinear(path, problem, c):
    model = path.with_suffix(".model")
    command = ["liblinear-train", "-q", "-s", "4", "-c", str(c), "-B", "-1", "-e", str(TOLERANCE), path, model]
    began = time.monotonic()
    subprocess.run(command, check=True)
    wall = time.monotonic() - began
    head, _, weights = model.read_text().partition("\nw\n")
    order = [int(label) for label in re.search("label (.*)", head)[1].split()]
    w = np.array([line.split() for line in weights.splitlines()], float)
    # features behind the last one that occurs have no weight
    scores = problem.x[:, : len(w)] @ w[:, np.argsort(order)]
    rows = np.arange(problem.rows)
    own = scores[rows, problem.y - 1]
    scores[rows, problem.y - 1] = -np.inf
    loss = np.maximum(0, 1 + scores.max(axis=1) - own).sum()
    return {"steps": None, "scans": None, "seconds": wall, "primal": 0.5 * (w * w).sum() + c * loss, "gap": None}


def written(name, form, problem):
    """The rows in the form of SVM-light."""
    path = TARGET / "data" / f"{name}_{form}.light"
    if path.exists():
        return path
    with open(path, "w") as file:
        for row in range(problem.rows):
            if problem.is_dense:
                entries = [(at + 1, value) for at, value in enumerate(problem.x[row]) if value != 0]
            else:
                part = slice(problem.x.indptr[row], problem.x.indptr[row + 1])
                entries = zip(problem.x.indices[part] + 1, problem.x.data[part])
            words = " ".join(f"{at}:{value:.9g}" for at, value in entries)
            file.write(f"{int(problem.y[row])} {words}\n")
    return path


def libocas(path, c, method, program=("svmocas", "-b", "1")):
    command = [
        *program,
        "-c",
        str(c),
        "-r",
        str(TOLERANCE),
        "-m",
        str(method),
        "-t",
        "120",
        path,
        "/dev/null",
    ]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    step, primal, dual = LINE.findall(said)[-1]
    primal, dual = float(primal), float(dual)
    return {
        "steps": int(step),
        "scans": None,
        "seconds": float(TIME.search(said)[1]),
        "primal": primal,
        "gap": 1 - dual / primal,
    }


def ours(problem, solver, c, **more):
    model = f"{solver}_{c:g}"
    more = {"scale": "none", "features": features(problem), "model": model} | more
    said = trained("real", solver, "hinge", c, "64MB", TOLERANCE, LONGEST, **more)
    scans = said["passes"]
    return {
        "what": f"'{solver}'",
        "steps": -(-scans // 2) if solver == "ocas" else scans,
        "scans": scans + 1,
        "seconds": said["wall"],
        "primal": said["primal"],
        "gap": said["gap"],
    }


def report(found):
    verdicts, rows, steps, times = [], [], [], []
    steps_together, times_together = [], []
    for cell in found:
        by = {way["what"]: way for way in cell["ways"]}
        is_together = "classes" in cell
        peer = by["msvmocas" if is_together else "libocas OCAS"]
        (steps_together if is_together else steps).append(peer["steps"] / max(by["'ocas'"]["steps"], 1))
        (times_together if is_together else times).append(peer["seconds"] / by["'ocas'"]["seconds"])
        for way in cell["ways"]:
            scans = "" if way["scans"] is None else str(way["scans"])
            ends = [f"{way['primal']:.6g}", "" if way["gap"] is None else f"{way['gap']:.1e}"]
            rows.append(
                [
                    cell["set"],
                    cell["form"],
                    f"{cell['c']:g}",
                    way["what"],
                    "" if way["steps"] is None else str(way["steps"]),
                    scans,
                    seconds(way["seconds"]),
                    *ends,
                ]
            )
    if steps:
        verdicts.append(("steps of libocas / ours, least", min(steps), 1, None))
        verdicts.append(("seconds of libocas / ours, least", min(times), 2, None))
    if steps_together:
        verdicts.append(("ten classes together: steps of msvmocas / ours, least", min(steps_together), 1, None))
        verdicts.append(("ten classes together: seconds of msvmocas / ours, least", min(times_together), 2, None))
    head = ["data", "form", "C", "solver", "steps", "scans", "s", "objective", "gap"]
    return table(head, rows), verdicts, []
