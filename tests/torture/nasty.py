"""Small problems that are hard on solvers, and what their objectives come to at given weights, in 64 bits."""

import math
import struct
from dataclasses import dataclass

# a truncated loss is at most 1 + s
SHAPES = {"hinge": 1, "squared_hinge": 2, "ramp": 1, "truncated_squared_hinge": 2}
TRUNCATIONS = {"ramp": 1.0, "truncated_squared_hinge": 1.25}


@dataclass(frozen=True)
class Problem:
    """Rows of numbers of 32 bits, with labels from 0 on and weights."""

    kind: str
    rows: list
    labels: list
    weights: list
    c: float
    max_passes: int

    @property
    def classes(self):
        return len(set(self.labels))


def narrow(value):
    """The nearest number of 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def sizes(chance, width):
    """How large columns are."""
    kind = chance.choice(["1", "1e15", "1e-15", "columns apart", "0 to 100"])
    if kind == "columns apart":
        return kind, [10 ** chance.uniform(-15, 15) for _ in range(width)]
    size = {"1": 1.0, "1e15": 1e15, "1e-15": 1e-15, "0 to 100": 100.0}[kind]
    return kind, [size] * width


def labels_of(chance, rows, classes):
    """Labels, and what they have to do with the rows."""
    kind = chance.choice(["by chance", "separable", "nearly separable"])
    planes = [[chance.gauss(0, 1) for _ in rows[0]] for _ in range(classes)]
    scores = [[sum(a * b for a, b in zip(plane, row)) for plane in planes] for row in rows]
    labels = [max(range(classes), key=score.__getitem__) for score in scores]
    if kind != "separable":
        flips = 1.0 if kind == "by chance" else 0.1
        labels = [chance.randrange(classes) if chance.random() < flips else label for label in labels]
    # every class has a row
    for label, place in zip(range(classes), chance.sample(range(len(rows)), classes)):
        labels[place] = label
    return kind, labels


def weights_of(chance, count):
    kind = chance.choice(["1", "0 to 1e6", "apart", "1e6 and 1"])
    draw = {
        "1": lambda: 1.0,
        "0 to 1e6": lambda: chance.choice([0.0, 1.0, chance.uniform(0, 1e6)]),
        "apart": lambda: 10 ** chance.uniform(-6, 6),
        "1e6 and 1": lambda: chance.choice([1.0, 1e6]),
    }[kind]
    return kind, [narrow(draw()) for _ in range(count)]


def draw(chance):
    """A problem."""
    count = chance.choice([2, 3, 5, 5, 12, 12, 12, 40, 40, 60, 60, 120])
    width = chance.choice([1, 2, 2, 3, 3, 4, 4, 10, 10, 30, 150])
    classes = min(count, chance.choice([2, 2, 2, 2, 2, 2, 2, 3, 3, 7, count if count <= 12 else 20]))
    rows = [[chance.gauss(0, 1) for _ in range(width)] for _ in range(count)]
    of_labels, labels = labels_of(chance, rows, classes)
    if chance.random() < 0.3:
        # whole numbers, which many rows share
        rows = [[float(round(value)) for value in row] for row in rows]
    if chance.random() < 0.3:
        constant = chance.randrange(width)
        for row in rows:
            row[constant] = 1.0
    twins = chance.random() < 0.3 and classes == 2
    if twins:
        rows, labels = rows + rows, labels + [1 - label for label in labels]
    of_sizes, size = sizes(chance, width)
    rows = [[narrow(value * by) for value, by in zip(row, size)] for row in rows]
    of_weights, weights = weights_of(chance, len(rows))
    for label in range(classes):
        # a class whose rows all have weight 0 is none
        own = [place for place, it in enumerate(labels) if it == label]
        if all(weights[place] == 0 for place in own):
            weights[own[0]] = 1.0
    c = 10.0 ** chance.choice([-6, -3, -1, 0, 0, 1, 3, 6])
    max_passes = chance.choice([30, 30, 30, 30, 200, 200, 1000])
    kind = (
        f"{len(rows)} rows of {width} of size {of_sizes}, {classes} classes {of_labels}, weights {of_weights}, "
        f"c {c:g}, {max_passes} passes"
    )
    return Problem(kind + (", twins of opposite labels" if twins else ""), rows, labels, weights, c, max_passes)


@dataclass
class Sums:
    """An objective at weights, and how far rounding may have moved what anybody else computed of it."""

    primal: float
    truncated: float
    rounding: float


def decision(weights, intercept, row):
    """The decision, and how far rounding may move it."""
    products = [w * x for w, x in zip(weights, row)] + [intercept]
    size = math.fsum(map(abs, products))
    return math.fsum(products), 1e-13 * size


def objective(problem, loss, machines, positives):
    """By head, of weights and intercept each, what it comes to: `positives` has the label of each head's positive rows."""
    power, most = SHAPES[loss], 1 + TRUNCATIONS.get(loss, math.inf)
    found = []
    for (weights, intercept), positive in zip(machines, positives):
        norm = 0.5 * math.fsum([w * w for w in weights] + [intercept * intercept])
        losses, truncated, rounding = [], [], []
        for row, label, cost in zip(problem.rows, problem.labels, problem.weights):
            if cost == 0:
                continue
            score, off = decision(weights, intercept, row)
            within = max(0.0, 1 - (score if label == positive else -score))
            value = within**power
            losses.append(cost * value)
            truncated.append(cost * min(value, most))
            rounding.append(cost * ((within + off) ** power - value))
        sums = [problem.c * math.fsum(values) for values in (losses, truncated, rounding)]
        found.append(Sums(norm + sums[0], norm + sums[1], sums[2]))
    return found


def together(problem, machines):
    """The objective of classes that are told apart together."""
    norm = 0.5 * math.fsum([w * w for weights, intercept in machines for w in [*weights, intercept]])
    losses, rounding = [], []
    for row, label, cost in zip(problem.rows, problem.labels, problem.weights):
        scores = [decision(weights, intercept, row) for weights, intercept in machines]
        own, off = scores[label]
        rivals = [1 + score - own for other, (score, _) in enumerate(scores) if other != label]
        losses.append(cost * max(0.0, *rivals))
        rounding.append(cost * (off + max(it for _, it in scores)))
    primal = norm + problem.c * math.fsum(losses)
    return Sums(primal, primal, problem.c * math.fsum(rounding))
