"""scikit-learn's side of the tour: its bundled data sets, and its LinearSVC on arrays or behind an export."""

import subprocess
import time
from dataclasses import dataclass

import numpy
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

# COPY's binary form: what stands in front of the rows and behind them
HEADER_BYTES, TRAILER_BYTES = 19, 2


@dataclass
class Split:
    """Rows to train on and rows to test on, with the names of the columns; labels are true or false."""

    names: list
    train: numpy.ndarray
    train_label: numpy.ndarray
    test: numpy.ndarray
    test_label: numpy.ndarray


def breast_cancer():
    data = load_breast_cancer()
    train, test, train_label, test_label = train_test_split(data.data, data.target == 1, random_state=0)
    return Split([name.replace(" ", "_") for name in data.feature_names], train, train_label, test, test_label)


def standardized(split):
    scaler = StandardScaler().fit(split.train)
    return Split(
        split.names, scaler.transform(split.train), split.train_label, scaler.transform(split.test), split.test_label
    )


def linear_svc(split, **arguments):
    """Objective over the rows trained on, accuracy on the others, and the seconds of fit() alone."""
    started = time.perf_counter()
    model = LinearSVC(**arguments).fit(split.train, split.train_label)
    seconds = time.perf_counter() - started
    return objective(model, split.train, split.train_label), model.score(split.test, split.test_label), seconds


def objective(model, x, label):
    """1/2 (|w|^2 + b^2) + C sum max(0, 1 - y (<w, x> + b))^2"""
    w, b = model.coef_[0], model.intercept_[0]
    losses = numpy.maximum(0, 1 - numpy.where(label, 1, -1) * (x @ w + b))
    return float(0.5 * (w @ w + b * b) + model.C * (losses @ losses))


def exported(relation, features, label):
    """The seconds of each step from a table to a model in Python, by name, and the objective that was reached. Rows go out
    by psql in COPY's binary form, which is quickly written and read; features are real, the label is boolean."""
    clock = [time.perf_counter()]
    copy = f"COPY (SELECT {', '.join(features)}, {label} FROM {relation}) TO STDOUT (FORMAT binary)"
    rows = subprocess.run(["psql", "-X", "-q", "-c", copy], stdout=subprocess.PIPE, check=True).stdout
    clock.append(time.perf_counter())
    fields = [("count", ">i2")]
    for name in features:
        fields += [(f"{name} size", ">i4"), (name, ">f4")]
    record = numpy.dtype([*fields, (f"{label} size", ">i4"), (label, "?")])
    taken = numpy.frombuffer(rows[HEADER_BYTES:-TRAILER_BYTES], record)
    x, y = numpy.column_stack([taken[name] for name in features]).astype(float), taken[label]
    clock.append(time.perf_counter())
    x = StandardScaler().fit_transform(x)
    clock.append(time.perf_counter())
    model = LinearSVC().fit(x, y)
    clock.append(time.perf_counter())
    steps = ["COPY out of the database", "make arrays of it", "standardize", "LinearSVC().fit"]
    return dict(zip(steps, (float(after - before) for before, after in zip(clock, clock[1:])))), objective(model, x, y)
