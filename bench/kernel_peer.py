"""`kernel_peer.py sklearn|sklearnex SVC|SVR|OneClassSVM TRAIN TEST OPTIONS`: a kernel machine of scikit-learn or scikit-learn-intelex on
the arrays of two folders, with the RBF kernel and what OPTIONS, a JSON object, says. Prints as JSON processor seconds of fitting and
support vectors; of SVC the accuracy on the test rows, of the others the objective that their dual variables come to."""

import importlib
import json
import pathlib
import sys
import time

import numpy as np

kind, machine_name, train, test, options = sys.argv[1:]
options = json.loads(options)
Machine = getattr(importlib.import_module(f"{kind}.svm"), machine_name)


def load(folder):
    folder = pathlib.Path(folder)
    shape = json.loads((folder / "shape.json").read_text())
    numbers = folder / "target.f64"
    labels = np.fromfile(numbers) if numbers.exists() else np.fromfile(folder / "label.i8", np.int8)
    return np.fromfile(folder / "dense.f32", np.float32).reshape(shape), labels


def accuracy():
    # decisions of a few thousand rows at a time, so that memory stays small
    rows, labels = load(test)
    right = sum(
        (machine.predict(rows[at : at + 4096]) == labels[at : at + 4096]).sum() for at in range(0, len(rows), 4096)
    )
    return float(right / len(labels))


def objective():
    """1/2 b'Kb of one class; of numbers what is maximized, t'b - epsilon |b| - 1/2 b'Kb, by blocks of kernel rows."""
    support, b = x[machine.support_].astype(np.float64), machine.dual_coef_[0]
    squares = (support * support).sum(axis=1)
    norm = 0.0
    for at in range(0, len(b), 1024):
        part = slice(at, at + 1024)
        away = squares[part, None] - 2 * support[part] @ support.T + squares
        norm += b[part] @ np.exp(-options["gamma"] * np.maximum(away, 0)) @ b
    if machine_name == "OneClassSVM":
        return float(norm / 2)
    return float(y[machine.support_] @ b - options["epsilon"] * np.abs(b).sum() - norm / 2)


x, y = load(train)
started = time.process_time()
machine = Machine(kernel="rbf", cache_size=200, **{"tol": 1e-3} | options).fit(x, y)
took = time.process_time() - started
said = {"cpu": took, "landmarks": int(len(machine.support_))}
said |= {"accuracy": accuracy()} if machine_name == "SVC" else {"objective": objective()}
print(json.dumps(said))
