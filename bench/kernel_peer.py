"""`kernel_peer.py sklearn|sklearnex TRAIN TEST GAMMA C`: SVC of scikit-learn or scikit-learn-intelex on the arrays of two folders;
prints processor seconds of fitting, support vectors and the accuracy on the test rows as JSON."""

import importlib
import json
import pathlib
import sys
import time

import numpy as np

kind, train, test, gamma, c = sys.argv[1:]
SVC = importlib.import_module(f"{kind}.svm").SVC


def load(folder):
    folder = pathlib.Path(folder)
    shape = json.loads((folder / "shape.json").read_text())
    return np.fromfile(folder / "dense.f32", np.float32).reshape(shape), np.fromfile(folder / "label.i8", np.int8)


x, y = load(train)
started = time.process_time()
machine = SVC(kernel="rbf", gamma=float(gamma), C=float(c), tol=1e-3, cache_size=200).fit(x, y)
took = time.process_time() - started
# decisions of a few thousand rows at a time, so that memory stays small
rows, labels = load(test)
right = sum((machine.predict(rows[at : at + 4096]) == labels[at : at + 4096]).sum() for at in range(0, len(rows), 4096))
print(json.dumps({"cpu": took, "landmarks": int(len(machine.support_)), "accuracy": float(right / len(labels))}))
