"""What scikit-learn makes of adult and titanic: the values that tests/e2e/test_real_tables.py compares with.

Run by hand, with a Python that has scikit-learn: PGSVM_DATA=… python tests/reference/real_tables.py
Numbers are standardized, categories one-hot; titanic's missing numbers are the column's mean, missing words a category
of their own, as nulls => 'mean' has it. LIBLINEAR's intercept is regularized as ours is.
"""

import csv
import lzma
import os
import pathlib

import numpy
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

DATA = pathlib.Path(os.environ.get("PGSVM_DATA") or pathlib.Path(__file__).resolve().parents[3] / "shared" / "data")


def rows(name, header):
    with lzma.open(DATA / name, "rt", newline="") as lines:
        table = [row for row in csv.reader(lines) if row]
    return table[header:]


def number(text):
    return float(text) if text.strip() != "?" else numpy.nan


def arrange(table, numbers, words):
    """An array of objects: numbers as floats, NaN where missing, and words as they are."""
    return numpy.array(
        [[number(row[i]) for i in numbers] + [row[i] for i in words] for row in table],
        dtype=object,
    )


def report(name, train, train_labels, test, test_labels, numbers):
    words = train.shape[1] - numbers
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), slice(0, numbers)),
        (OneHotEncoder(handle_unknown="ignore"), slice(numbers, numbers + words)),
        sparse_threshold=0,
    )
    x, xt = prepare.fit_transform(train).astype(float), prepare.transform(test).astype(float)
    svm = LinearSVC(loss="hinge", C=1.0, tol=1e-5, max_iter=2_000_000, random_state=0).fit(x, train_labels)
    margins = numpy.where(train_labels, 1, -1) * svm.decision_function(x)
    primal = (svm.coef_**2).sum() / 2 + svm.intercept_[0] ** 2 / 2 + numpy.maximum(0, 1 - margins).sum()
    accuracy = (svm.predict(xt) == test_labels).mean()
    print(f"{name}: {x.shape[1]} features, primal {primal:.2f}, test accuracy {accuracy:.4f}")


def adult():
    numbers, words = [0, 2, 4, 10, 11, 12], [1, 3, 5, 6, 7, 8, 9, 13]
    train, test = rows("adult/adult.data.xz", 0), rows("adult/adult.test.xz", 0)

    def labels(table):
        return numpy.array([row[14].strip(" .") == ">50K" for row in table])

    report(
        "adult",
        arrange(train, numbers, words),
        labels(train),
        arrange(test, numbers, words),
        labels(test),
        len(numbers),
    )


def titanic():
    # pclass, age, sibsp, parch, fare; sex, embarked; for the test those whose name's length is a multiple of 4
    numbers, words = [0, 4, 5, 6, 8], [3, 10]
    table = rows("titanic/titanic_openML.csv.xz", 1)
    features = arrange(table, numbers, words)
    labels = numpy.array([row[1] == "1" for row in table])
    test = numpy.array([len(row[2]) % 4 == 0 for row in table])
    report("titanic", features[~test], labels[~test], features[test], labels[test], len(numbers))


adult()
titanic()
