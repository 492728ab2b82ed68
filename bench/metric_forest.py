"""How many rows a metric forest leaves unread by its bound (Yen, Chang, Chen, Lin, KDD 2013, section 4.1), at given weights.

Rows are dealt into random blocks, and each is split K ways by the nearest of K rows drawn from it, until a leaf has few enough. A leaf
knows the mean direction of its rows, the widest angle from it, and their shortest and longest. From these follows between
what any of its margins lies; it is left unread where none can be below 1 but of an outlier. Rows count with their labels' signs: the
paper's angle, in the degree-2 embedding, does not tell w from -w, and so leaves no leaf unread that this one does not.
"""

import numpy as np
from scipy import sparse

BLOCK = 10_000
WIDTH = 10


def unread(problem, w, b, s, leaf, most=60_000):
    """Shares of rows: those that matter (margin below 1, no outlier), those in a leaf with one of them, and those in leaves that the bound leaves unread."""
    random = np.random.default_rng(2013)
    x, y = drawn_rows(problem, random.permutation(problem.rows)[:most])
    x *= y[:, None]
    w = np.append(w, b)
    margin = x @ w
    matters = (margin < 1) & (margin > -s)
    norm = np.linalg.norm(x, axis=1)
    direction = x / np.maximum(norm, np.finfo(np.float32).tiny)[:, None]
    near, left = 0, 0
    for first in range(0, len(x), BLOCK):
        block = np.arange(first, min(first + BLOCK, len(x)))
        for rows in leaves(direction, block, leaf, random):
            near += len(rows) * matters[rows].any()
            left += len(rows) * is_unread(direction[rows], norm[rows], w, s)
    return {"matter": float(matters.mean()), "near": float(near / len(x)), "unread": float(left / len(x))}


def found(problem, w, b, s, leaf, read=2_000, most=20_000):
    """Shares of rows that matter among the first `read` rows of the leaves that are nearest to the hyperplane: by the boundary between pivots, the
    farthest on the way to a leaf, as published; by the leaf's own pivot; and in any order."""
    random = np.random.default_rng(2013)
    x, y = drawn_rows(problem, random.permutation(problem.rows)[:most])
    w = np.append(w, b)
    margin = y * (x @ w)
    matters = (margin < 1) & (margin > -s)
    direction = x / np.maximum(np.linalg.norm(x, axis=1), np.finfo(np.float32).tiny)[:, None]
    near = (direction @ (w / np.linalg.norm(w))) ** 2
    ranked = []
    for first in range(0, len(x), BLOCK):
        block = np.arange(first, min(first + BLOCK, len(x)))
        ranked += list(ranked_leaves(direction, near, block, leaf, random))
    return {
        "boundary": share(matters, sorted(ranked, key=lambda it: it[1]), read),
        "pivot": share(matters, sorted(ranked, key=lambda it: it[2]), read),
        "any": float(matters.mean()),
    }


def ranked_leaves(direction, near, rows, most, random, boundary=0.0, pivot=0.0):
    """The leaves of a tree over these rows, each with its boundary and the nearness of its pivot."""
    if len(rows) <= most:
        yield rows, boundary, pivot
        return
    pivots = random.choice(rows, WIDTH, replace=False)
    nearest = np.argmax((direction[rows] @ direction[pivots].T) ** 2, axis=1)
    if len(np.unique(nearest)) == 1:
        yield rows, boundary, pivot
        return
    query = pivots[np.argmin(near[pivots])]
    for k, own in enumerate(pivots):
        apart = np.sqrt(max(2 - 2 * float(direction[own] @ direction[query]) ** 2, 1e-7))
        farther = max(boundary, (near[own] - near[query]) / apart)
        part = rows[nearest == k]
        if len(part):
            yield from ranked_leaves(direction, near, part, most, random, farther, near[own])


def share(matters, ranked, read):
    rows = np.concatenate([rows for rows, _, _ in ranked])[:read]
    return float(matters[rows].mean())


def drawn_rows(problem, drawn):
    """Rows with the constant feature behind, and their labels' signs."""
    x = problem.x[drawn]
    x = np.asarray(x.todense() if sparse.issparse(x) else x, np.float32)
    return np.hstack([x, np.ones((len(x), 1), np.float32)]), problem.y[drawn].astype(np.float32)


def leaves(direction, rows, most, random):
    """The leaves of a tree over these rows."""
    if len(rows) <= most:
        return [rows]
    pivots = direction[random.choice(rows, WIDTH, replace=False)]
    nearest = np.argmax(direction[rows] @ pivots.T, axis=1)
    parts = [rows[nearest == k] for k in range(WIDTH)]
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts
    return [leaf for part in parts for leaf in leaves(direction, part, most, random)]


def is_unread(direction, norm, w, s):
    centre, length = direction.mean(axis=0), np.linalg.norm(w)
    size = np.linalg.norm(centre)
    if size == 0:
        return False
    widest = angles(direction @ (centre / size)).max()
    angle = angles(centre @ w / (size * length))
    least, most = np.cos(min(angle + widest, np.pi)), np.cos(max(angle - widest, 0))
    least *= length * (norm.min() if least > 0 else norm.max())
    most *= length * (norm.max() if most > 0 else norm.min())
    return least >= 1 or most <= -s


def angles(cosine):
    return np.arccos(np.clip(cosine, -1, 1))
