"""OCAS and the cutting plane algorithm as published (`solver => 'ocas'`, `'cutting_plane'`), by scans over a table, beside libocas
(Debian's libocas-tools) on the same rows in its memory, and beside rows near the margin that are held (`'scan'`).

Hinge, an intercept in the norm, no scaling, to a relative gap of 1e-3 of each by its own bounds. Steps are planes made: libocas's
iterations, ours of 'ocas' half of the scans, as a step takes one along the line and one for the plane. Seconds of libocas
are those of its solver, without reading the file; ours those of the whole statement, which reads the table in every scan. C is ours and
libocas's; the paper's C is n times as large, as its risk is a mean.
"""

import re
import subprocess

import datasets
import server
from cases.scan import LONGEST, features, put, trained
from machine import TARGET
from report import seconds, table

TITLE = "Cutting planes"
SETS = [("a9a", "raw"), ("ijcnn1", "raw"), ("cover_2v4", "std")]
COSTS = [0.001, 0.01, 0.1, 1.0]
TOLERANCE = 1e-3
LIBOCAS = [("libocas OCAS", 1), ("libocas CPA", 0)]
# cutting planes without a line search take very many steps with a large C
MOST_OF_CPA = 0.1
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
    return found


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


def libocas(path, c, method):
    command = [
        "svmocas",
        "-c",
        str(c),
        "-b",
        "1",
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


def ours(problem, solver, c):
    model = f"{solver}_{c:g}"
    said = trained(
        "real", solver, "hinge", c, "64MB", TOLERANCE, LONGEST, scale="none", features=features(problem), model=model
    )
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
    for cell in found:
        by = {way["what"]: way for way in cell["ways"]}
        steps.append(by["libocas OCAS"]["steps"] / max(by["'ocas'"]["steps"], 1))
        times.append(by["libocas OCAS"]["seconds"] / by["'ocas'"]["seconds"])
        for way in cell["ways"]:
            scans = "" if way["scans"] is None else str(way["scans"])
            ends = [f"{way['primal']:.6g}", f"{way['gap']:.1e}"]
            rows.append(
                [
                    cell["set"],
                    cell["form"],
                    f"{cell['c']:g}",
                    way["what"],
                    str(way["steps"]),
                    scans,
                    seconds(way["seconds"]),
                    *ends,
                ]
            )
    if found:
        verdicts.append(("steps of libocas / ours, least", min(steps), 1, None))
        verdicts.append(("seconds of libocas / ours, least", min(times), 2, None))
    head = ["data", "form", "C", "solver", "steps", "scans", "s", "objective", "gap"]
    return table(head, rows), verdicts, []
