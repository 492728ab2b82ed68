"""Real data sets as arrays: found in the folder PGSVM_DATA (default: shared/data beside the checkout), each in two forms.

`raw`: the columns as they are, text columns as one indicator a value. `std`: dense columns moved to mean 0 and scaled to
deviation 1 over the training rows, columns that never change left out; for text (reuters) scaled only, which keeps it
sparse. Both are made once and kept beside the generated problems.
"""

import lzma
import os
import pathlib

import numpy as np
from scipy import sparse

import problems
from machine import ROOT

FORMS = ["raw", "std"]
CLASS_FILE = "class.i8"


class Missing(Exception):
    """The folder of data sets lacks a file."""


def problem(name, form):
    return problems.kept(f"{name}_{form}", lambda _: _made(name, form))


def classes(name, problem):
    """The class of each row of a set with several, from 0; kept in the problem's folder as CLASS_FILE."""
    path = problem.folder / CLASS_FILE
    if not path.exists():
        with lzma.open(folder() / FILES[name], "rt") as lines:
            words = [line.split()[CLASS_WORD[name]] for line in lines]
        # numbered through from 0 in their order
        np.unique(np.array(words, int), return_inverse=True)[1].astype(np.int8).tofile(path)
    return np.fromfile(path, np.int8)


def available(name):
    return (folder() / FILES[name]).exists()


def at_hand(run, names):
    """Those of the sets whose files are there, and those that are missing, which is said."""
    missing = [name for name in names if not available(name)]
    for name in missing:
        run.say(f"  {name}: skipped, no {FILES[name]} in the folder PGSVM_DATA")
    return [name for name in names if name not in missing], missing


def problems_at_hand(run, sets):
    """(name, form, problem) of those whose files are there, made when it is its turn; `sets`: names and forms, whatever is behind them."""
    names, _ = at_hand(run, [name for name, *_ in sets])
    return ((name, form, problem(name, form)) for name, form, *_ in sets if name in names)


def in_each_form(names):
    """(name, form, problem), made when it is its turn."""
    return ((name, form, problem(name, form)) for name in names for form in FORMS)


def folder():
    return pathlib.Path(os.environ.get("PGSVM_DATA") or ROOT.parent / "shared" / "data")


def _made(name, form):
    if not available(name):
        raise Missing(f"no {FILES[name]} in the folder of data sets: PGSVM_DATA names it")
    x, y = READERS[name]()
    if form == "raw":
        return x.astype(np.float32), y
    if name in SCALED_ONLY:
        return _scaled(x), y
    dense = x.toarray() if sparse.issparse(x) else x
    deviation = dense.std(axis=0)
    varies = deviation > 0
    return ((dense - dense.mean(axis=0)) / np.where(varies, deviation, 1.0))[:, varies].astype(np.float32), y


def _scaled(x):
    """Columns divided by their deviation."""
    rows = x.shape[0]
    mean = np.asarray(x.sum(axis=0)).ravel() / rows
    square = np.asarray(x.multiply(x).sum(axis=0)).ravel() / rows
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    scaled = x.copy()
    scaled.data /= np.where(deviation > 0, deviation, 1.0)[x.indices]
    return scaled.astype(np.float32)


def _libsvm(name, positive):
    """A LIBSVM file as CSR; the label `positive` against all others."""
    offset, index, value, label = [0], [], [], []
    with lzma.open(folder() / FILES[name], "rt") as lines:
        for line in lines:
            first, *pairs = line.split()
            label.append(1 if float(first) == positive else -1)
            for pair in pairs:
                key, _, number = pair.partition(":")
                index.append(int(key) - 1)
                value.append(float(number))
            offset.append(len(index))
    x = sparse.csr_array((np.array(value), np.array(index), np.array(offset)), (len(label), max(index) + 1))
    x.eliminate_zeros()
    return x, np.array(label)


def _cover():
    rows = np.loadtxt(lzma.open(folder() / FILES["cover_2v4"], "rt"), delimiter=",", skiprows=1)
    return rows[:, :-1], np.where(rows[:, -1] > 0, 1, -1)


def _kddcup():
    """38 numbers and one indicator for each value of the three text columns; normal traffic against attacks."""
    with lzma.open(folder() / FILES["kddcup99"], "rt") as lines:
        fields = np.array([line.rstrip().split(",") for line in lines])
    text = [1, 2, 3]
    parts = [sparse.csr_array(np.delete(fields[:, :-1], text, axis=1).astype(np.float64))]
    for column in text:
        values, place = np.unique(fields[:, column], return_inverse=True)
        ones = np.ones(len(fields))
        parts.append(sparse.csr_array((ones, (np.arange(len(fields)), place)), (len(fields), len(values))))
    return sparse.csr_array(sparse.hstack(parts, format="csr")), np.where(fields[:, -1] == "normal.", 1, -1)


def _shuttle():
    """Nine numbers; class 1, most rows, against the others."""
    rows = np.loadtxt(lzma.open(folder() / FILES["shuttle"], "rt"))
    return rows[:, :-1], np.where(rows[:, -1] == 1, 1, -1)


def _adult():
    """Six numbers and one indicator for each value of the eight text columns; incomes above 50,000 against the others."""
    with lzma.open(folder() / FILES["adult"], "rt") as lines:
        fields = np.array([[word.strip() for word in line.split(",")] for line in lines if line.strip()])
    parts = []
    for column in range(fields.shape[1] - 1):
        if column in ADULT_NUMBERS:
            parts.append(sparse.csr_array(fields[:, [column]].astype(np.float64)))
            continue
        values, place = np.unique(fields[:, column], return_inverse=True)
        ones = np.ones(len(fields))
        parts.append(sparse.csr_array((ones, (np.arange(len(fields)), place)), (len(fields), len(values))))
    return sparse.csr_array(sparse.hstack(parts, format="csr")), np.where(fields[:, -1] == ">50K", 1, -1)


ADULT_NUMBERS = [0, 2, 4, 10, 11, 12]
# of the sets with several classes: which word of a line is the class
CLASS_WORD = {"mnist": 0, "shuttle": -1}
FILES = {
    "a9a": "a9a/a9a.xz",
    "ijcnn1": "ijcnn1/ijcnn1.trn.xz",
    "mnist": "mnist/mnist.train.libsvm.xz",
    "kddcup99": "kddcup99/kddcup.data_10_percent.xz",
    "reuters_moneyfx": "reuters_moneyfx/reuters.trn.xz",
    "cover_2v4": "cover_2v4/cover_2v4.csv.xz",
    "shuttle": "shuttle/shuttle.trn.xz",
    "adult": "adult/adult.data.xz",
}
READERS = {
    "a9a": lambda: _libsvm("a9a", 1),
    "ijcnn1": lambda: _libsvm("ijcnn1", 1),
    # the digit 8, the hardest to tell from the rest
    "mnist": lambda: _libsvm("mnist", 8),
    "kddcup99": _kddcup,
    "reuters_moneyfx": lambda: _libsvm("reuters_moneyfx", 1),
    "cover_2v4": _cover,
    "shuttle": _shuttle,
    "adult": _adult,
}
SCALED_ONLY = ["reuters_moneyfx"]
