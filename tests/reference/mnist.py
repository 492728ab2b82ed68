"""Test accuracy of LIBLINEAR's one-vs-rest on the first 12,000 rows of mnist, by C: what tests/e2e/test_classes.py holds
against. Run by hand: python tests/reference/mnist.py FOLDER, the folder of data sets; needs scikit-learn."""

import lzma
import pathlib
import sys

import numpy
from sklearn.svm import LinearSVC

ROWS, PIXELS = 12_000, 784


def load(path, rows):
    examples, labels = numpy.zeros((rows, PIXELS)), numpy.zeros(rows)
    with lzma.open(path, "rt") as lines:
        for row, line in zip(range(rows), lines, strict=False):
            label, *pairs = line.split()
            labels[row] = float(label)
            for index, value in (pair.split(":") for pair in pairs):
                examples[row, int(index) - 1] = float(value)
    return examples, labels


folder = pathlib.Path(sys.argv[1]) / "mnist"
train, labels = load(folder / "mnist.train.libsvm.xz", ROWS)
test, truth = load(folder / "mnist.t10k.libsvm.xz", 10_000)
largest = numpy.where(train.max(0) > 0, train.max(0), 1)
for c in (0.001, 0.01, 0.1, 1):
    model = LinearSVC(loss="hinge", C=c, tol=1e-4, max_iter=3000, random_state=0).fit(train / largest, labels)
    print(c, (model.predict(test / largest) == truth).mean(), flush=True)
