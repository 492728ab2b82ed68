"""Truncated losses beside the figures of the paper (Yen, Chang, Lin, Lin, Lin: Indexed block coordinate descent, KDD 2013), with our data:
test error against seconds on a third of the rows held out, and support vectors by s.

Index is `solver => 'indexed'` with the truncated loss, of the primal 'newton'; plain is the convex loss by the same method ('stream', 'newton'); online is Pegasos
(`solver => 'block'`, `{"inner": "pegasos"}`). Their points are those of `svm_training_log` with `"watch"`, seconds from the call on, the reading of the table
included. Trunc is the batch method that the paper compares with: the relaxation with every round solved from nothing by LIBLINEAR over all rows that are no
outliers, begun at the solution on 10,000 random rows, ended behind the round in which it has taken 40 s, over arrays that are in memory already, whose making is left out; a point a round. s = 1 of the hinge, 1.25 of the squared
hinge, which the paper's 1 of both is not. Labels are as the sets have them. Where rows are limited the cache holds a tenth of them; Forest is
'indexed' by the paper's metric forest there, and Block is 'selective_block' with the ramp and with the hinge.
"""

import time

import numpy as np

import datasets
import problems
import server
from cases.scan import features
from report import Picture, seconds, table, thinned
from solvers import Liblinear, measured

TITLE = "Truncated losses as their paper shows them"
SETS = {
    "quick": [("a9a", "raw"), ("cover_2v4", "std")],
    "full": [("a9a", "raw"), ("cover_2v4", "std"), ("kddcup99", "std"), ("mnist", "std")],
}
# of figure 6, and its set
COSTS, OF_COSTS = [0.01, 0.1, 10.0, 100.0], {"quick": "a9a", "full": "kddcup99"}
BY_S = [0.25, 0.5, 1.0, 2.0, 3.0]
TOLERANCE = 1e-3
AMPLE = "1GB"
PASSES = 1000
ROUNDS, MOST_SECONDS, FIRST_ROWS = 25, 40, 10_000
PEGASOS = '{"inner": "pegasos", "inner_updates": "row", "watch": "held"}'
WATCH = '{"watch": "held"}'
FOREST = '{"watch": "held", "chunks_by": "forest"}'


HELD = """
    SELECT head.support_vectors FROM svm_model AS model JOIN svm_version AS version ON version.model_id = model.id
    JOIN svm_head AS head ON head.version_id = version.id WHERE model.name = 'figure'"""


def way(loss, solver, options=WATCH, passes=PASSES):
    return {"loss": loss, "solver": solver, "options": options, "passes": passes}


# by figure, then by name; LIBLINEAR's solver of the batch method
FIGURES = {
    "L1 dual": {
        "Index": way("ramp", "indexed"),
        "plain": way("hinge", "stream"),
        "online": way("hinge", "block", PEGASOS, 20),
        "Trunc": ("hinge", 3, 1.0),
    },
    "L2 dual": {
        "Index": way("truncated_squared_hinge", "indexed"),
        "plain": way("squared_hinge", "stream"),
        "online": way("squared_hinge", "block", PEGASOS, 20),
        "Trunc": ("squared_hinge", 1, 1.25),
    },
    "L2 primal": {
        "Index": way("truncated_squared_hinge", "newton"),
        "plain": way("squared_hinge", "newton"),
        "online": way("squared_hinge", "block", PEGASOS, 20),
        "Trunc": ("squared_hinge", 2, 1.25),
    },
}
LIMITED = {
    "Index L1 dual": way("ramp", "indexed"),
    "Index L2 dual": way("truncated_squared_hinge", "indexed"),
    "Index L2 primal": way("truncated_squared_hinge", "newton"),
    "online L1": way("hinge", "block", PEGASOS, 20),
    "Forest L1 dual": way("ramp", "indexed", FOREST),
    "Block truncated": way("ramp", "selective_block"),
    "Block plain": way("hinge", "selective_block"),
}


def measure(run):
    mode = "quick" if run.quick else "full"
    found = {"lines": [], "limited": [], "costs": [], "by_s": []}
    for name, form, problem in datasets.problems_at_hand(run, SETS[mode]):
        data = Data(name, form, problem)
        batch = {}
        for figure, ways in FIGURES.items():
            for which, how in ways.items():
                points = data.curve(how, 1.0, AMPLE)
                batch[figure, which] = points
                found["lines"].append({"set": name, "figure": figure, "way": which, "points": points})
                run.say(f"  {name}, {figure}, {which}: {points[-1]}")
        for which, how in LIMITED.items():
            points = data.curve(how, 1.0, data.tenth())
            found["limited"].append({"set": name, "way": which, "points": points})
            run.say(f"  {name}, a tenth in the cache, {which}: {points[-1]}")
        if name == OF_COSTS[mode]:
            for c in COSTS:
                for which, how in FIGURES["L1 dual"].items():
                    points = data.curve(how, c, AMPLE)
                    found["costs"].append({"set": name, "c": c, "way": which, "points": points})
                    run.say(f"  {name}, C = {c:g}, {which}: {points[-1]}")
        for s in [None, *BY_S]:
            found["by_s"].append({"set": name, "s": s, **data.support(s)})
            run.say(f"  {found['by_s'][-1]}")
    return found


class Data:
    """A set with a third of its rows held out, as tables and as arrays."""

    def __init__(self, name, form, problem):
        held = np.random.default_rng(13).random(problem.rows) < 1 / 3
        self.trained = problems.kept(f"{name}_{form}_two_thirds", lambda _: (problem.x[~held], problem.y[~held]))
        self.held = problem.x[held], problem.y[held]
        self.features = features(problem)
        self.connection = server.connect()
        self.connection.execute("SET client_min_messages = error")
        put = server.load_arrays if problem.is_dense else server.load_sparse
        put(self.connection, "trained", self.trained.y, self.trained.x)
        put(self.connection, "held", self.held[1], self.held[0])
        self.liblinear = Liblinear(self.trained)

    def tenth(self):
        rows = self.trained.rows * measured(self.trained, passes=1)["row_bytes"]
        return f"{max(int(rows) // 10 >> 10, 64)}kB"

    def curve(self, how, c, cache):
        """(seconds, test error) on the way of a training."""
        if isinstance(how, tuple):
            return self.batch(how, c)
        self.train(how, c, cache)
        log = "SELECT seconds, test_error FROM svm_training_log('figure') WHERE test_error IS NOT NULL ORDER BY seconds"
        return [[float(x) for x in row] for row in self.connection.execute(log).fetchall()]

    def train(self, how, c, cache):
        self.connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name = 'figure'")
        self.connection.execute(f"SET pgsvm.cache_size = '{cache}'")
        self.connection.execute(
            """SELECT svm_train('trained', 'label', %s, 'figure', c => %s, tolerance => %s, loss => %s, scale => 'none',
                                solver => %s, max_passes => %s, options => %s)""",
            [self.features, c, TOLERANCE, how["loss"], how["solver"], how["passes"], how["options"]],
        )

    def batch(self, how, c):
        """The relaxation, every round from nothing over all rows that are in."""
        loss, solver, s = how
        points, spent = [], 0.0
        first = np.random.default_rng(14).permutation(self.trained.rows)[:FIRST_ROWS]
        inside, w = np.zeros(self.trained.rows, bool), None
        inside[first] = True
        for _ in range(ROUNDS):
            began = time.perf_counter()
            if w is not None:
                lost = np.maximum(0, 1 - self.trained.y * (self.trained.x @ w[0] + w[1]))
                now = (lost if loss == "hinge" else lost * lost) <= 1 + s
                if (now == inside).all():
                    break
                inside = now
            self.liblinear.pick(inside)
            _, *w, _, _ = self.liblinear.train(c, 0.01, seed=1, solver=solver)
            spent += time.perf_counter() - began
            points.append([spent, float(np.mean(np.where(self.held[0] @ w[0] + w[1] > 0, 1, -1) != self.held[1]))])
            if spent > MOST_SECONDS:
                break
        self.liblinear.pick(np.ones(self.trained.rows, bool))
        return points

    def support(self, s):
        """Test error and the share of support vectors by s; None: not truncated."""
        told = WATCH if s is None else f'{{"watch": "held", "truncation": {s}}}'
        self.train(way("hinge" if s is None else "ramp", "stream", told), 1.0, AMPLE)
        log = "SELECT test_error FROM svm_training_log('figure') WHERE test_error IS NOT NULL ORDER BY seconds DESC LIMIT 1"
        held = self.connection.execute(HELD).fetchone()[0]
        return {"error": float(self.connection.execute(log).fetchone()[0]), "support": held / self.trained.rows}


def report(found):
    sets = list(dict.fromkeys(one["set"] for one in found["lines"]))
    pictures, parts = [], []
    for number, figure in enumerate(FIGURES, start=2):
        own = [one for one in found["lines"] if one["figure"] == figure]
        pictures.append(errors(f"indexed_fig{number}", own, sets))
        parts.append(f"Figure {number}, {figure}:\n\n{ends(own)}")
    pictures.append(errors("indexed_fig5", found["limited"], sets))
    parts.append(f"Figure 5, a tenth of the rows in the cache:\n\n{ends(found['limited'])}")
    if found["costs"]:
        costs = [{**one, "set": f"C = {one['c']:g}"} for one in found["costs"]]
        pictures.append(errors("indexed_fig6", costs, list(dict.fromkeys(one["set"] for one in costs))))
        parts.append(f"Figure 6, L1 dual on {found['costs'][0]['set']} by C:\n\n{ends(costs)}")
    pictures.append(support(found["by_s"], sets))
    parts.append(f"Figure 7, test error and share of support vectors by s, L1 dual:\n\n{by_s(found['by_s'])}")
    return "\n\n".join(parts), [beside_batch(found["lines"], sets)], pictures


def beside_batch(lines, sets):
    took = {(one["set"], one["way"]): one["points"][-1][0] for one in lines if one["figure"] == "L1 dual"}
    ratios = [took[name, "Trunc"] / took[name, "Index"] for name in sets]
    return (
        "truncated batch, seconds / 'indexed' with the reading of the table, L1 dual, least of the sets",
        min(ratios),
        20,
        None,
        False,
    )


def errors(name, lines, panels):
    picture = Picture(name, len(panels), "seconds", "test error")
    for panel in panels:
        curves = {}
        for one in lines:
            points = [(max(x, 1e-3), max(y, 1e-5)) for x, y in one["points"]]
            if one["set"] == panel and points:
                curves[one["way"]] = thinned(points)
        picture.panel(panel, curves)
    return picture


def ends(lines):
    rows = []
    for one in lines:
        least = min(y for _, y in one["points"])
        last = one["points"][-1][1]
        near = next(x for x, y in one["points"] if y <= last + 0.001)
        rows.append(
            [one["set"], one["way"], seconds(near), seconds(one["points"][-1][0]), f"{last:.4f}", f"{least:.4f}"]
        )
    head = [
        "data",
        "way",
        "s to within .001 of its last error",
        "s in all",
        "test error in the end",
        "least on the way",
    ]
    return table(head, rows)


def support(cells, sets):
    picture = Picture("indexed_fig7", len(sets), "share of support vectors", "test error")
    for name in sets:
        own = [one for one in cells if one["set"] == name]
        groups = {
            "ramp, by s": [(one["support"], one["error"]) for one in own if one["s"] is not None],
            "hinge": [(one["support"], one["error"]) for one in own if one["s"] is None],
        }
        picture.panel(name, groups)
    return picture


def by_s(cells):
    rows = []
    for name in dict.fromkeys(one["set"] for one in cells):
        own = [one for one in cells if one["set"] == name]
        for what in ("error", "support"):
            rows.append([name, what, *(f"{one[what]:.4f}" for one in own)])
    given = ["hinge" if one["s"] is None else f"s = {one['s']:g}" for one in cells if one["set"] == cells[0]["set"]]
    return table(["data", "share", *given], rows)
