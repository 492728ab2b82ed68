"""scikit-learn by its usual route: `scikit.py STARTED ESTIMATOR TOLERANCE C FILE MODEL` reads a text of numbers, label
first, fits (`LinearSVC()`: with its defaults) and writes the weights and the intercept; prints what starting took and the seconds of reading.
Estimators of numbers to predict are `LinearSVR` and `SGDRegressor`, each with `:LOSS:EPSILON` behind it; pandas reads their text."""

import json
import sys
import time

import numpy as np
import pandas
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC, LinearSVR

called, estimator, tolerance, c, source, model = sys.argv[1:]
start = {"wall": time.time() - float(called), "cpu": time.process_time()}
started = time.perf_counter()
estimator, *of_numbers = estimator.split(":")
if of_numbers:
    rows = pandas.read_csv(source, sep="\t", header=None).to_numpy()
else:
    rows = np.loadtxt(source, dtype=np.float32)
y, x = rows[:, 0], rows[:, 1:]
parse = time.perf_counter() - started
if estimator == "LinearSVR":
    fitted = LinearSVR(
        C=float(c), loss=of_numbers[0], epsilon=float(of_numbers[1]), tol=float(tolerance), max_iter=1000
    ).fit(x, y)
elif estimator == "SGDRegressor":
    fitted = SGDRegressor(
        alpha=1 / (float(c) * len(y)), loss=of_numbers[0], epsilon=float(of_numbers[1]), tol=float(tolerance)
    ).fit(x, y)
elif estimator == "LinearSVC()":
    fitted = LinearSVC().fit(x, y)
elif estimator == "LinearSVC":
    fitted = LinearSVC(C=float(c), loss="hinge", tol=float(tolerance), max_iter=1000).fit(x, y)
else:
    fitted = SGDClassifier(loss="hinge", alpha=1 / (float(c) * len(y)), tol=float(tolerance), max_iter=1000).fit(x, y)
np.append(np.ravel(fitted.coef_), np.ravel(fitted.intercept_)).astype(np.float64).tofile(model)
print(json.dumps({**start, "parse": parse}))
