"""Objective and test accuracy of LIBLINEAR on standardized columns with an intercept that is a constant feature: what
the first statements of tests/e2e/test_datasets.py are held against. Run by hand: python tests/reference/datasets.py
FOLDER, the folder of data sets; needs scikit-learn."""

import lzma
import pathlib
import sys

import numpy
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

folder = pathlib.Path(sys.argv[1])


def a9a(name):
    with lzma.open(folder / "a9a" / name) as file:
        features, labels = load_svmlight_file(file, n_features=123)
    return features.toarray(), numpy.where(labels > 0, 1, -1)


def shuttle(name):
    with lzma.open(folder / "shuttle" / name, "rt") as file:
        rows = numpy.loadtxt(file)
    return rows[:, :-1], numpy.where(rows[:, -1] == 1, 1, -1)


def reference(training, test):
    (features, labels), (unseen, truth) = training, test
    scaler = StandardScaler().fit(features)
    features, unseen = scaler.transform(features), scaler.transform(unseen)
    svm = LinearSVC(loss="squared_hinge", dual=False, C=1, tol=1e-7).fit(features, labels)
    losses = numpy.maximum(0, 1 - labels * svm.decision_function(features)) ** 2
    objective = ((svm.coef_**2).sum() + (svm.intercept_**2).sum()) / 2 + losses.sum()
    return objective, (svm.predict(unseen) == truth).mean()


for name, load, files in [
    ("a9a", a9a, ("a9a.xz", "a9a.t.xz")),
    ("shuttle", shuttle, ("shuttle.trn.xz", "shuttle.tst.xz")),
]:
    print(name, *reference(*map(load, files)), flush=True)
