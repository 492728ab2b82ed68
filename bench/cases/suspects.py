"""Wrong labels found: `svm_suspects` in sample, out of fold and of a truncated loss, beside cleanlab.

A tenth of the labels is flipped at random, which human noise is not. Found is what each says is wrong, with nothing set: rows with a
negative margin of the hinge (in sample, and out of five folds), outliers of 'ramp' in sample and out of fold, and
`find_label_issues` of cleanlab on probabilities of scikit-learn's logistic regression out of five folds, its usual way. Precision is the
share of these that were flipped, recall the share of the flipped that are among them. Seconds are wall seconds, of ours training and
looking, of the peer fitting and finding.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import datasets
import server
from report import seconds, table

TITLE = "Wrong labels found"
SETS = ["a9a", "adult", "ijcnn1"]
ROWS = {"quick": 10_000, "full": 30_000}
FLIPPED, FOLDS = 0.1, 5
WAYS = {
    "hinge, in sample": ("hinge", "NULL"),
    f"hinge, {FOLDS} folds": ("hinge", str(FOLDS)),
    "ramp, in sample": ("ramp", "NULL"),
    f"ramp, {FOLDS} folds": ("ramp", str(FOLDS)),
}


def measure(run):
    connection, found = server.connect(), []
    names, missing = datasets.at_hand(run, SETS)
    for name in names:
        whole = datasets.problem(name, "std")
        random = np.random.default_rng(35)
        rows = random.permutation(whole.rows)[: ROWS["quick" if run.quick else "full"]]
        flipped = random.random(len(rows)) < FLIPPED
        x, y = whole.x[rows], np.where(flipped, -whole.y[rows], whole.y[rows])
        server.load_arrays(connection, "doubted", y, x)
        # in the order in which rows were loaded
        connection.execute("ALTER TABLE doubted ADD COLUMN id serial")
        for way, (loss, folds) in WAYS.items():
            found.append({"set": name, "way": way, **ours(connection, flipped, loss, folds)})
        found.append({"set": name, "way": f"cleanlab, {FOLDS} folds", **theirs(x, y, flipped)})
        for cell in found[-len(WAYS) - 1 :]:
            run.say(f"  {cell}")
    return {"cells": found, "missing": missing}


def ours(connection, flipped, loss, folds):
    started = time.perf_counter()
    connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name = 'doubting'")
    connection.execute("SELECT svm_train('doubted', 'label', '{x}', 'doubting', loss => %s)", [loss])
    suspects = f"SELECT (example->>'id')::int - 1 FROM svm_suspects('doubting', 'doubted', NULL, {folds})"
    numbers = [number for (number,) in connection.execute(suspects)]
    return {"seconds": time.perf_counter() - started, **judged(numbers, flipped)}


def theirs(x, y, flipped):
    started = time.perf_counter()
    labels = (y > 0).astype(int)
    chances = cross_val_predict(LogisticRegression(max_iter=1000), x, labels, cv=FOLDS, method="predict_proba")
    # a peer that the other cases do without
    from cleanlab.filter import find_label_issues

    issues = find_label_issues(labels, chances, n_jobs=1)
    return {"seconds": time.perf_counter() - started, **judged(np.flatnonzero(issues), flipped)}


def judged(numbers, flipped):
    right = int(flipped[np.asarray(numbers, int)].sum())
    return {
        "found": len(numbers),
        "precision": right / max(1, len(numbers)),
        "recall": right / max(1, int(flipped.sum())),
    }


def report(found):
    rows = [
        [
            cell["set"],
            cell["way"],
            f"{cell['found']}",
            f"{cell['precision']:.3f}",
            f"{cell['recall']:.3f}",
            seconds(cell["seconds"]),
        ]
        for cell in found["cells"]
    ]
    return table(["data", "by", "found", "precision", "recall", "s"], rows), [], []
