"""Kernel machines, the solver alone: ours of low rank and exact beside LIBSVM, as scikit-learn's SVC runs it, and
scikit-learn-intelex where that is installed.

RBF on the sets of bench/kernel_sets.py with the gamma and C named there, hinge loss. Processor seconds of one thread, rows
already in each program's memory, ours to a relative gap of 1e-3 that is certified over all rows, theirs to tol 1e-3 with 200 MB of
kernel cache. Ours of low rank includes choosing landmarks and mapping rows, ours exact that too. Accuracy is that on the test rows.
Our intercept is a constant appended in feature space, LIBSVM's is left out of the norm: objectives differ by that, and
are not compared.
"""

import json
import os
import subprocess
import sys

import kernel_sets
from machine import ROOT
from report import seconds, table
from solvers import measure_program

TITLE = "Kernel machines"
SETS = ["svmguide1", "ijcnn1", "a9a", "cover_2v4", "mnist"]
QUICK_SETS = ["svmguide1", "ijcnn1", "a9a"]
RANKS = {"ijcnn1": [None, 894], "mnist": [None, 490]}
TOLERANCE = 1e-3
MEMORY = 1 << 30
# one core each, and the machine's own choice of OpenBLAS kernels
PEER_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
NOT_FOR_PEERS = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"]


def measure(run):
    wanted = QUICK_SETS if run.quick else SETS
    found = []
    for name in wanted:
        if not kernel_sets.available(name):
            run.say(f"  {name}: skipped, its files are not in the folder PGSVM_DATA")
            continue
        train, test = kernel_sets.sets(name)
        gamma, c = kernel_sets.KERNELS[name]
        low_rank = [ours(train, test, gamma, c, rank) for rank in RANKS.get(name, [None])]
        exact = ours(train, test, gamma, c, None, exact=MEMORY)
        peers = {kind: peer(kind, train, test, gamma, c) for kind in ("sklearn", "sklearnex")}
        found.append({"set": name, "gamma": gamma, "c": c, "low_rank": low_rank, "exact": exact, **peers})
        for row in rows(found[-1]):
            run.say("  " + " | ".join(row))
    return {"sets": found}


def ours(train, test, gamma, c, rank, **more):
    """What one training of ours took and came to."""
    options = {"kernel": "rbf", "gamma": gamma, "c": c, "loss": "hinge", "tolerance": TOLERANCE}
    options |= {"features": train.features, "test": test.folder, **({"rank": rank} if rank else {}), **more}
    command = [measure_program(), train.folder, *(f"{key}={value}" for key, value in options.items())]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    trained, mapped, last = json.loads(said[0]), json.loads(said[1]), json.loads(said[-1].replace("NaN", "null"))
    took = trained["load_cpu"] + trained["cpu"]
    if "exact_cpu" in last:
        return {"cpu": took + last["exact_cpu"], "gap": last["gap"], "landmarks": last["support"]} | accuracy(last)
    return {"cpu": took, "gap": trained["gap"], "landmarks": mapped["rank"]} | accuracy(mapped)


def accuracy(said):
    return {"accuracy": said["accuracy"]}


def peer(kind, train, test, gamma, c):
    """The same of scikit-learn's SVC or of scikit-learn-intelex's; None where it is not installed."""
    return peer_machine(kind, "SVC", (train.folder, test.folder), gamma=gamma, C=c)


def peer_machine(kind, machine, folders, **options):
    """A kernel machine of a peer on the rows of folders, in a process of its own; None where it is not installed."""
    program = ROOT / "bench" / "kernel_peer.py"
    command = [sys.executable, program, kind, machine, *folders, json.dumps(options)]
    child = subprocess.run(command, capture_output=True, text=True, env=peer_environment())
    if "ModuleNotFoundError" in child.stderr:
        return None
    child.check_returncode()
    return json.loads(child.stdout.splitlines()[-1])


def peer_environment():
    return {key: value for key, value in os.environ.items() if key not in NOT_FOR_PEERS} | PEER_ENVIRONMENT


HEAD = ["data", "method", "processor s", "landmarks", "accuracy", "LIBSVM / it", "intelex / it"]


def rows(cell):
    def ratio(peer, took):
        return f"{peer['cpu'] / took:.1f}" if peer else "-"

    label = f"{cell['set']}, gamma {cell['gamma']:g}, C {cell['c']:g}"
    lines = [(f"low rank {one['landmarks']}", one) for one in cell["low_rank"]]
    lines += [("exact", cell["exact"]), ("LIBSVM", cell["sklearn"]), ("intelex", cell["sklearnex"])]
    shown = []
    for method, one in lines:
        if one:
            ratios = [ratio(cell["sklearn"], one["cpu"]), ratio(cell["sklearnex"], one["cpu"])]
            shown.append([label, method, seconds(one["cpu"]), str(one["landmarks"]), f"{one['accuracy']:.4f}", *ratios])
    return shown


def report(found):
    verdicts = []
    for cell in found["sets"]:
        name, exact, libsvm = cell["set"], cell["exact"], cell["sklearn"]
        if name in ("mnist", "cover_2v4"):
            verdicts.append((f"exact, {name}: LIBSVM / ours", libsvm["cpu"] / exact["cpu"], 8.0, 20.0))
            near = [one for one in cell["low_rank"] if one["accuracy"] >= exact["accuracy"] - 0.005]
            if near:
                fastest = min(one["cpu"] for one in near)
                label = f"low rank within .5 points of exact, {name}: LIBSVM / ours"
                verdicts.append((label, libsvm["cpu"] / fastest, 30.0, 70.0))
        apart = abs(exact["accuracy"] - libsvm["accuracy"]) * 100
        verdicts.append((f"exact, {name}: points of accuracy away from LIBSVM's", apart, 0.1, None, True))
        if cell["sklearnex"]:
            verdicts.append(
                (f"exact, {name}: scikit-learn-intelex / ours", cell["sklearnex"]["cpu"] / exact["cpu"], 1.0, 2.0)
            )
        if name == "svmguide1":
            best = max(one["accuracy"] for one in cell["low_rank"])
            verdicts.append(("svmguide1, low rank with the square root of the rows: accuracy", best, 0.959, None))
    lines = [line for cell in found["sets"] for line in rows(cell)]
    return table(HEAD, lines), verdicts, []
