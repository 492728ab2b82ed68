"""scikit-learn by its usual route: `scikit.py STARTED ESTIMATOR TOLERANCE C FILE MODEL` reads a text of numbers, label
first, fits (`LinearSVC()`: with its defaults) and writes the weights and the intercept; prints what starting took and the seconds of reading."""

import json
import sys
import time

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

called, estimator, tolerance, c, source, model = sys.argv[1:]
start = {"wall": time.time() - float(called), "cpu": time.process_time()}
started = time.perf_counter()
rows = np.loadtxt(source, dtype=np.float32)
y, x = rows[:, 0], rows[:, 1:]
parse = time.perf_counter() - started
if estimator == "LinearSVC()":
    fitted = LinearSVC().fit(x, y)
elif estimator == "LinearSVC":
    fitted = LinearSVC(C=float(c), loss="hinge", tol=float(tolerance), max_iter=1000).fit(x, y)
else:
    fitted = SGDClassifier(loss="hinge", alpha=1 / (float(c) * len(y)), tol=float(tolerance), max_iter=1000).fit(x, y)
np.append(fitted.coef_[0], fitted.intercept_[0]).astype(np.float64).tofile(model)
print(json.dumps({**start, "parse": parse}))
