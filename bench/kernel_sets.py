"""Real data sets as kernel machines take them: training and test rows, scaled, with the kernel and the C of the literature.

| set | rows | scaled | kernel |
|---|---|---|---|
| mnist | 60,000 and 10,000, the digit 8 against the rest | pixels / 255 | gamma .02, C 10 |
| ijcnn1 | 49,990 and 91,701 | as published | gamma 2, C 32 |
| cover_2v4 | 70 % and 30 %, drawn | to [-1, 1] | gamma 4, C 10 |
| a9a | 32,561 and 16,281 | as published, 0 and 1 | gamma .05, C 1 |
| svmguide1 | 3,089 and 4,000 | to [-1, 1] by the training rows | gamma 8, C 32 |

PSVM's case (`cases/psvm.py`) chooses gamma and C by itself, and takes two more:

| set | rows | scaled |
|---|---|---|
| mushrooms | 7,500 and 624, drawn, as the paper has it | as published, 0 and 1 |
| news20 | nine tenths and a tenth of 15,935, drawn; classes 1 to 10 against 11 to 20, sparse | rows to length 1 |
"""

import lzma

import numpy as np
from scipy import sparse

import datasets
import problems

KERNELS = {
    "mnist": (0.02, 10.0),
    "ijcnn1": (2.0, 32.0),
    "cover_2v4": (4.0, 10.0),
    "a9a": (0.05, 1.0),
    "svmguide1": (8.0, 32.0),
}
FILES = {
    "mnist": ("mnist/mnist.train.libsvm.xz", "mnist/mnist.t10k.libsvm.xz", 784, 8),
    "ijcnn1": ("ijcnn1/ijcnn1.trn.xz", "ijcnn1/ijcnn1.tst.xz", 22, 1),
    "a9a": ("a9a/a9a.xz", "a9a/a9a.t.xz", 123, 1),
    "svmguide1": ("svmguide1/svmguide1.xz", "svmguide1/svmguide1.t.xz", 4, 1),
}


DRAWN = {"mushrooms": "mushrooms/mushrooms.xz", "news20": "news20_multiclass/news20.xz"}


def available(name):
    if name in DRAWN:
        return (datasets.folder() / DRAWN[name]).exists()
    if name == "cover_2v4":
        return datasets.available(name)
    return all((datasets.folder() / file).exists() for file in FILES[name][:2])


def sets(name):
    """(training, test) rows as problems with dense rows."""
    kept = [problems.kept(f"kernel_{name}_{part}", lambda _, at=at: _made(name)[at]) for at, part in enumerate(PARTS)]
    return tuple(kept)


PARTS = ["train", "test"]


def held_out(name):
    """The training rows again, in two parts: three quarters to train on, the others to choose gamma and C by."""
    train, _ = sets(name)
    order = np.random.default_rng(1).permutation(train.rows)
    cut = train.rows * 3 // 4
    places = [order[:cut], order[cut:]]
    return [
        problems.kept(f"kernel_{name}_{part}", lambda _, own=own: (train.x[own], train.y[own]))
        for part, own in zip(["fit", "held_out"], places, strict=True)
    ]


def part(name, rows):
    """So many of the training rows, drawn."""
    train, _ = sets(name)
    if rows >= train.rows:
        return train
    own = np.random.default_rng(2).permutation(train.rows)[:rows]
    return problems.kept(f"kernel_{name}_drawn_{rows}", lambda _: (train.x[own], train.y[own]))


def _mushrooms():
    x, y = _libsvm(DRAWN["mushrooms"], 112, 1)
    order = np.random.default_rng(0).permutation(len(y))
    return [(x[own], y[own]) for own in (order[:7500], order[7500:])]


def _news20():
    """Sparse rows of length 1, and on which side their class is."""
    ids, starts, indices, values = [], [0], [], []
    with lzma.open(datasets.folder() / DRAWN["news20"], "rt") as lines:
        for line in lines:
            first, *pairs = line.split()
            ids.append(int(first))
            row = np.array([float(pair.partition(":")[2]) for pair in pairs])
            indices += [int(pair.partition(":")[0]) - 1 for pair in pairs]
            values += list(row / (np.linalg.norm(row) or 1.0))
            starts.append(len(indices))
    x = sparse.csr_matrix((np.array(values, np.float32), indices, starts), dtype=np.float32)
    y = np.where(np.array(ids) <= 10, 1, -1)
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) * 9 // 10
    return [(x[own], y[own]) for own in (order[:cut], order[cut:])]


def _made(name):
    if name == "mushrooms":
        return [(x.astype(np.float32), y) for x, y in _mushrooms()]
    if name == "news20":
        return _news20()
    if name == "cover_2v4":
        x, y = datasets.READERS[name]()
        order = np.random.default_rng(0).permutation(len(y))
        cut = len(y) * 7 // 10
        parts = [(x[order[:cut]], y[order[:cut]]), (x[order[cut:]], y[order[cut:]])]
    else:
        *files, width, positive = FILES[name]
        parts = [_libsvm(file, width, positive) for file in files]
    scale = {"mnist": _by_255, "cover_2v4": _to_range, "svmguide1": _to_range}.get(name, _as_it_is)
    scaled = scale(parts[0][0])
    return [(scaled(x).astype(np.float32), y) for x, y in parts]


def digits():
    """The digit of each training row of mnist."""
    return _libsvm(FILES["mnist"][0], 784, None)[1]


def _as_it_is(_):
    return lambda x: x


def _by_255(_):
    return lambda x: x / 255


def _to_range(train):
    least, most = train.min(axis=0), train.max(axis=0)
    span = np.where(most > least, most - least, 1)
    return lambda x: 2 * (x - least) / span - 1


def _libsvm(file, width, positive):
    """Dense rows, and whether the label is `positive`; the labels themselves where that is None."""
    rows, labels = [], []
    with lzma.open(datasets.folder() / file, "rt") as lines:
        for line in lines:
            first, *pairs = line.split()
            row = np.zeros(width, np.float32)
            for pair in pairs:
                index, _, value = pair.partition(":")
                row[int(index) - 1] = float(value)
            rows.append(row)
            labels.append(float(first))
    labels = np.array(labels)
    return np.stack(rows), labels if positive is None else np.where(labels == positive, 1, -1)
