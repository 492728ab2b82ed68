"""The generated problems, and the one function that says what a model is worth.

Each problem is made once from a fixed seed and kept in target/bench/data/NAME as plain arrays, which every system
reads or is loaded from. Values are 32-bit throughout, so that all solve the same problem.
"""

import json
import shutil
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from machine import TARGET

# 8 MB of a chunk as 64-bit numbers at 500 columns: within the processor cache, which halves the time
ROWS_PER_CHUNK = 2_000


@dataclass(frozen=True)
class Problem:
    name: str
    # -1 and 1, or numbers to predict
    y: np.ndarray
    # float32, dense or CSR
    x: object
    # of numbers, by how much a prediction may be off without a loss
    epsilon: float | None = None

    @property
    def folder(self):
        return TARGET / "data" / self.name

    @property
    def rows(self):
        return self.x.shape[0]

    @property
    def features(self):
        return self.x.shape[1]

    @cached_property
    def is_dense(self):
        return isinstance(self.x, np.ndarray)

    def chunks(self):
        for first in range(0, self.rows, ROWS_PER_CHUNK):
            rows = slice(first, first + ROWS_PER_CHUNK)
            yield rows, self.x[rows].astype(np.float64), self.y[rows].astype(np.float64)


def with_products(x):
    """These columns, their squares and the products of each two."""
    columns = x.shape[1]
    pairs = [(i, j) for i in range(columns) for j in range(i, columns)]
    return np.column_stack([x, *(x[:, i] * x[:, j] for i, j in pairs)]).astype(np.float32)


def primal(problem, c, w, b, squared=False):
    """P(w, b) = 1/2 (|w|^2 + b^2) + C sum max(0, 1 - y (<w, x> + b)) in 64-bit arithmetic, the losses squared where asked
    for: every system's objective. Of numbers the loss is max(0, |<w, x> + b - y| - epsilon)."""

    def loss_of(score, y):
        if problem.epsilon is None:
            return np.maximum(0.0, 1.0 - y * score)
        return np.maximum(0.0, np.abs(score - y) - problem.epsilon)

    losses = (loss_of(x @ w + b, y) for _, x, y in problem.chunks())
    loss = sum((part @ part if squared else part.sum()) for part in losses)
    return 0.5 * (w @ w + b * b) + c * loss


def dual(problem, c, alpha, squared=False):
    """D(alpha), a lower bound of the least objective for any alpha in [0, C], or any alpha >= 0 where losses are squared;
    alpha is clipped to that. Of numbers each row has two, of predictions that are too high and too low."""
    alpha = np.clip(alpha.astype(np.float64), 0.0, np.inf if squared else c)
    if problem.epsilon is None:
        pull, linear = alpha * problem.y, alpha.sum()
    else:
        pull = alpha[1::2] - alpha[::2]
        linear = pull @ problem.y - problem.epsilon * alpha.sum()
    v, b = np.zeros(problem.features), pull.sum()
    for rows, x, _ in problem.chunks():
        v += x.T @ pull[rows]
    return linear - 0.5 * (v @ v + b * b) - (alpha @ alpha / (4 * c) if squared else 0.0)


def unit_rows(rows=100_000, features=500):
    """Dense rows of length 1, a linear rule, labels that it explains up to noise (like PASCAL's epsilon)."""
    return kept(f"unit_{rows}x{features}", _unit_rows, rows, features)


def _unit_rows(random, rows, features):
    rule = random.standard_normal(features)
    x = random.standard_normal((rows, features), dtype=np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    score = x @ rule.astype(np.float32)
    y = np.where(score + 0.5 * random.standard_normal(rows) > 0, 1, -1)
    return x, y


def noisy(rows=200_000, features=100):
    """Dense independent columns of unit variance, half of them without effect, a fifth of the labels noise."""
    return kept(f"noisy_{rows}x{features}", _noisy, rows, features)


def _noisy(random, rows, features):
    rule = random.standard_normal(features) * (np.arange(features) % 2)
    x = random.standard_normal((rows, features), dtype=np.float32)
    score = x @ rule.astype(np.float32) / np.linalg.norm(rule)
    y = np.where(score + 0.7 * random.standard_normal(rows) > 0, 1, -1)
    return x, y


def cover_like(rows=581_012):
    """Ten numbers in 0..1 and two one-hot groups of 4 and 40, 54 columns and 12 entries a row, a rule that is not
    linear (like covertype)."""
    return kept(f"cover_{rows}x54", _cover_like, rows)


def _cover_like(random, rows):
    group = random.choice(40, rows, p=np.arange(40, 0, -1) / np.arange(41).sum())
    area = (group // 10 + random.integers(0, 2, rows)) % 4
    numbers = np.clip(0.5 + 0.15 * random.standard_normal((rows, 10)) + 0.01 * (group[:, None] - 20), 0.0, 1.0)
    rule = random.standard_normal(10)
    score = (numbers - 0.5) @ rule + 2 * (numbers[:, 0] - 0.5) * (numbers[:, 1] - 0.4) + 0.02 * (group % 7 - 3)
    y = np.where(score + 0.3 * random.standard_normal(rows) > 0, 1, -1)
    index = np.empty((rows, 12), np.int64)
    index[:, :10], index[:, 10], index[:, 11] = np.arange(10), 10 + area, 14 + group
    value = np.ones((rows, 12), np.float32)
    value[:, :10] = np.maximum(numbers, 1e-6)
    return sparse.csr_array((value.ravel(), index.ravel(), np.arange(0, 12 * rows + 1, 12)), (rows, 54)), y


def text_like(rows=300_000, features=1_000_000, draws=70):
    """Documents: word ids by Zipf's law, inverse document frequencies, rows of length 1."""
    return kept(f"text_{rows}x{features}", _text_like, rows, features, draws)


def _text_like(random, rows, features, draws):
    rule = random.standard_normal(features)
    word = np.minimum(np.exp(random.random((rows, draws)) * np.log(features)).astype(np.int64) - 1, features - 1)
    word.sort(axis=1)
    first = np.ones(word.shape, bool)
    first[:, 1:] = word[:, 1:] != word[:, :-1]
    offset = np.concatenate([[0], first.sum(axis=1).cumsum()])
    index = word[first]
    frequency = np.bincount(index, minlength=features)
    value = np.log((1.0 + rows) / (1.0 + frequency[index])).astype(np.float32)
    x = sparse.csr_array((value, index, offset), (rows, features))
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    x.data /= np.repeat(length, np.diff(offset)).astype(np.float32)
    y = np.where(x @ rule + 0.3 * random.standard_normal(rows) > 0, 1, -1)
    return x, y


def with_numbers(problem, numbers, epsilon):
    """The rows of a problem with these numbers to predict, which are kept beside them."""
    numbers.astype(np.float64).tofile(problem.folder / "target.f64")
    return Problem(problem.name, numbers.astype(np.float64), problem.x, epsilon)


def kept(name, make, *arguments):
    """The problem that `make(random, *arguments)` gives as (x, y), made once and read from its folder later."""
    folder = TARGET / "data" / name
    if not (folder / "shape.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        x, y = make(np.random.default_rng(1), *arguments)
        y.astype(np.int8).tofile(folder / "label.i8")
        if isinstance(x, np.ndarray):
            x.tofile(folder / "dense.f32")
        else:
            x.indptr.astype(np.int64).tofile(folder / "offset.i64")
            x.indices.astype(np.uint32).tofile(folder / "index.u32")
            x.data.astype(np.float32).tofile(folder / "value.f32")
        (folder / "shape.json").write_text(json.dumps(x.shape))
    shape = json.loads((folder / "shape.json").read_text())
    y = np.fromfile(folder / "label.i8", np.int8)
    if (folder / "dense.f32").exists():
        return Problem(name, y, np.fromfile(folder / "dense.f32", np.float32).reshape(shape))
    offset = np.fromfile(folder / "offset.i64", np.int64)
    index = np.fromfile(folder / "index.u32", np.uint32).astype(np.int32)
    value = np.fromfile(folder / "value.f32", np.float32)
    return Problem(name, y, sparse.csr_array((value, index, offset), shape))
