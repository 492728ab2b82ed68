"""The papers' figures from svm_training_log: every solver's way to the optimum, in seconds, with the cache at a tenth of
the rows, the temporary file as it is and held to a disk's speed (pgsvm.spool_rate).

Figures and the table beside the papers' are in [docs/solver-comparison.md](../docs/solver-comparison.md), which this
case writes.
"""

import json
import math

import numpy as np

import datasets
import problems
import server
from machine import ROOT
from report import Picture, seconds, table, thinned

TITLE = "Solvers as their papers show them"
DOCUMENT = ROOT / "docs" / "solver-comparison.md"
FIGURES = ROOT / "docs" / "figures"
SHARE = 0.1
# megabytes a second of the slow device
RATE = 40
# relative differences to the optimum that count as arrived
DUAL_DIFFERENCE = 1e-3
PRIMAL_DIFFERENCE = 1e-2
TOLERANCE = {"quick": 1e-4, "full": 1e-5}
PASSES = {"quick": 8, "full": 30}
# StreamSVM's paper: its own solver, ours and the two it compares with
STREAM = {
    "pgsvm": {},
    "StreamSVM as published": {"options": {"policy": "paper"}},
    "SBM": {"solver": "selective_block"},
    "BM": {"solver": "block"},
}
# BM's paper: BLOCK-L-N, BLOCK-L-D, BLOCK-P-B and BLOCK-P-I
BLOCK = {
    **{f"BLOCK-L-{n}": {"solver": "block", "options": {"inner_rounds": n}} for n in (1, 10, 20)},
    "BLOCK-L-D": {"solver": "block", "options": {"inner_rounds": "converged"}},
    "BLOCK-P-B": {"solver": "block", "options": {"inner": "pegasos", "inner_updates": "block"}},
    "BLOCK-P-I": {"solver": "block", "options": {"inner": "pegasos"}},
}
ORDERS = {
    "raw": ("sequential", "sequential"),
    "perm": ("sequential", "random"),
    "random split": ("random", "sequential"),
    "random split, perm": ("random", "random"),
}
COSTS = {"quick": [0.01, 1.0], "full": [0.0001, 0.01, 1.0, 100.0]}
SHARES = {"quick": [0.05, 0.8], "full": [0.02, 0.05, 0.2, 0.5, 0.8]}
BLOCKS = {"quick": [5, 80], "full": [5, 40, 400]}
# the appendix of StreamSVM's paper: every C, and the gap beside the objective
APPENDIX = {"quick": [("a9a", "raw")], "full": [("a9a", "raw"), ("kddcup99", "std"), ("mnist", "std")]}
APPENDIX_COSTS = {"quick": [1e-4, 1.0, 1e3], "full": [10.0**power for power in range(-4, 4)]}
GAP = 1e-2


class Data:
    """A problem in a table."""

    def __init__(self, connection, name, problem):
        self.name = f"{name}, {problem.rows} rows"
        self.table, self.problem = problem.name.replace(".", "_"), problem
        if problem.is_dense:
            server.load_arrays(connection, self.table, problem.y, problem.x)
            self.arguments, self.bytes = {}, problem.rows * (4 * problem.features + 16)
        else:
            server.load_sparse(connection, self.table, problem.y, problem.x)
            self.arguments = {"features": ["sparse(idx, val)"]}
            self.bytes = 8 * problem.x.nnz + 24 * problem.rows


def measure(run):
    mode = "quick" if run.quick else "full"
    with server.connect() as connection:
        data = [Data(connection, name, make()) for name, make in made(mode)]
        first = data[0]
        order = np.argsort(first.problem.y, kind="stable")
        mixed = first.problem
        # a problem of its own only to be loaded; the rows are the same
        grouped = problems.Problem(f"{mixed.name}_sorted", mixed.y[order], mixed.x[order])
        grouped = Data(connection, "sorted by class", grouped)
    trainings = Trainings(run, mode)
    found = {"mode": mode, "data": [one.name for one in data], "figures": {}}
    figures = found["figures"]
    figures["costs"] = [trainings.panel(first, STREAM, c, RATE, f"C = {c:g}, {on(first, RATE)}") for c in COSTS[mode]]
    figures["sets"] = [trainings.panel(one, STREAM, 1.0, rate, on(one, rate)) for one in data for rate in (0, RATE)]
    figures["shares"] = [
        trainings.panel(one, {f"cache {share:g}": {"share": share} for share in SHARES[mode]}, 1.0, RATE, on(one, RATE))
        for one in data
    ]
    figures["inner"] = [trainings.panel(one, BLOCK, 1.0, rate, on(one, rate)) for one in data for rate in (0, RATE)]
    split = {
        name: {"solver": "block", "options": {"inner_rounds": "converged", "split": split, "block_order": block_order}}
        for name, (split, block_order) in ORDERS.items()
    }
    figures["orders"] = [trainings.panel(grouped, split, 1.0, RATE, on(grouped, RATE))]
    sizes = {
        f"{count} blocks": {"solver": "block", "options": {"inner_rounds": "converged", "blocks": count}, "share": 0.3}
        for count in BLOCKS[mode]
    }
    figures["blocks"] = [trainings.panel(one, sizes, 1.0, RATE, on(one, RATE)) for one in data]
    packed = {
        word: {"solver": "block", "options": {"inner_rounds": "converged", "compression": word}}
        for word in ("on", "off", "auto")
    }
    figures["compression"] = [trainings.panel(one, packed, 1.0, RATE, on(one, RATE)) for one in data]
    found["appendix"] = appendix(run, trainings, mode)
    return found


def appendix(run, trainings, mode):
    """Panels by data set, one for each C; a set that is not there has none."""
    panels = {}
    for name, form in APPENDIX[mode]:
        if not datasets.available(name):
            run.say(f"  {name}: skipped, no {datasets.FILES[name]} in the folder PGSVM_DATA")
            continue
        with server.connect() as connection:
            data = Data(connection, name, datasets.problem(name, form))
        panels[name] = [trainings.panel(data, STREAM, c, 0, f"C = {c:g}, {data.name}") for c in APPENDIX_COSTS[mode]]
    return panels


def made(mode):
    quick = mode == "quick"
    yield "dense unit rows", lambda: problems.unit_rows(10_000 if quick else 40_000, 200)
    yield "54 columns, 12 nonzero", lambda: problems.cover_like(40_000 if quick else 200_000)
    if not quick:
        yield "text, 1M columns", lambda: problems.text_like(75_000)
        if datasets.available("a9a"):
            yield "a9a", lambda: datasets.problem("a9a", "raw")


def on(data, rate):
    return f"{data.name}, {f'{rate} MB/s' if rate else 'no limit'}"


class Trainings:
    """Trains once for each set of arguments, whatever figures show it."""

    def __init__(self, run, mode):
        self.run, self.mode, self.known = run, mode, {}

    def panel(self, data, lines, c, rate, title):
        """What every line of a panel was, with the best bounds that any training of this problem found."""
        logs = {name: self.log(data, c, rate, **how) for name, how in lines.items()}
        reference = self.log(data, c, 0, share=2.0, tolerance=1e-6, passes=200)
        every = [log for (table, cost, *_), log in self.known.items() if (table, cost) == (data.table, c)]
        bounds = [bound(log) for log in [reference, *every]]
        self.run.say(f"  {title}: {', '.join(logs)}")
        return {
            "title": title,
            "logs": logs,
            "dual": max(dual for dual, _ in bounds),
            "primal": min(primal for _, primal in bounds),
        }

    def log(self, data, c, rate, solver="stream", options=None, share=SHARE, tolerance=None, passes=None):
        key = data.table, c, rate, solver, json.dumps(options or {}), share, tolerance
        if key not in self.known:
            self.known[key] = train(
                data,
                c,
                tolerance or TOLERANCE[self.mode],
                share=share,
                rate=rate,
                solver=solver,
                loss="hinge",
                options=json.dumps(options or {}),
                max_passes=passes or PASSES[self.mode],
            )
        return self.known[key]


def train(data, c, tolerance, *, share, rate, **arguments):
    """The rows of svm_training_log, as lists by column."""
    cache = f"{max(int(share * data.bytes) >> 10, 64)}kB"
    settings = [f"pgsvm.spool_rate = '{rate}MB'"]
    server.train(data.table, c, tolerance, cache=cache, settings=settings, **data.arguments, **arguments)
    with server.connect() as connection:
        cursor = connection.execute("SELECT * FROM svm_training_log('bench')")
        names = [column.name for column in cursor.description]
        return dict(zip(names, map(list, zip(*cursor.fetchall()))))


def bound(log):
    """The largest dual and the smallest primal of a log."""
    duals = [value for value in log["dual"] if value is not None]
    primals = [value for value in log["primal"] if value is not None]
    return max(duals), min(primals, default=math.inf)


def dual_curve(log, best):
    """(seconds, relative difference of the dual to the best one known), as in StreamSVM's figures."""
    pairs = zip(log["seconds"], log["dual"])
    return [(time, (best - dual) / best) for time, dual in pairs if dual is not None and 0 < dual <= best]


def primal_curve(log, best):
    """(seconds, relative difference of the primal to the best one known), as in BM's figures. The primal that a pass
    finds out is that of the weights it began with."""
    ends = [at for at, event in enumerate(log["event"]) if event in ("load", "pass", "verify")]
    pairs = [(log["seconds"][before], log["primal"][at]) for before, at in zip(ends, ends[1:])]
    return [(time, (primal - best) / best) for time, primal in pairs if primal is not None and primal >= best]


def gap_curve(log, _):
    """(seconds, relative duality gap): the smallest that is known."""
    return [(time, gap) for time, gap in zip(log["seconds"], log["gap"]) if gap is not None]


# of each kind of curve: its bound, the difference that is asked for, and what it shows
KINDS = {
    dual_curve: ("dual", DUAL_DIFFERENCE, "relative dual difference"),
    primal_curve: ("primal", PRIMAL_DIFFERENCE, "relative primal difference"),
    gap_curve: ("dual", GAP, "relative duality gap"),
}


def reached(panel, curve):
    """For each line of a panel, seconds to the difference asked for; None: never."""
    best, asked, _ = KINDS[curve]
    times = {}
    for name, log in panel["logs"].items():
        points = curve(log, panel[best])
        times[name] = next((time for time, difference in points if difference <= asked), None)
    return times


def report(found):
    FIGURES.mkdir(parents=True, exist_ok=True)
    figures = found["figures"]
    shown = [
        ("costs", "streamsvm-fig2", "StreamSVM, Figure 2: values of C", dual_curve),
        ("sets", "streamsvm-fig3", "StreamSVM, Figure 3: data sets, C = 1", dual_curve),
        ("shares", "streamsvm-fig4", "StreamSVM, Figure 4: the cache as a share of the rows, C = 1", dual_curve),
        ("inner", "bm-fig2", "BM, Figure 2: how a block is solved", primal_curve),
        ("orders", "bm-fig3", "BM, Figure 3: a table sorted by class", primal_curve),
        ("blocks", "bm-fig4", "BM, Figure 4: number of blocks", primal_curve),
    ]
    parts = []
    for key, file, title, curve in shown:
        draw(file, figures[key], curve)
        parts.append(f"## {title}\n\n![{title}](figures/{file}.svg)\n\n{arrivals(figures[key], curve)}\n")
    for name, panels in found["appendix"].items():
        for kind, curve, what in [("objective", dual_curve, "objective"), ("gap", gap_curve, "duality gap")]:
            file = f"streamsvm-appendix-{kind}-{name}"
            draw(file, panels, curve)
            title = f"StreamSVM, appendix: {what} against time, {name}"
            parts.append(f"## {title}\n\n![{title}](figures/{file}.svg)\n\n{arrivals(panels, curve)}\n")
    parts.append(f"## The objective that each solver ended with\n\n{objectives(figures['sets'])}\n")
    text = head(found) + "\n" + beside(figures) + "\n\n" + "\n".join(parts)
    DOCUMENT.write_text(text)
    body = f"{beside(figures)}\n\nFigures and times: [solver-comparison.md](../docs/solver-comparison.md)."
    return body, [], []


def head(found):
    quick = "\nThis is the quick run, with a part of the rows.\n" if found["mode"] == "quick" else ""
    return f"""# The solvers as their papers show them

`make bench CASE=solvers` writes this page. Every number comes from `svm_training_log`. [solver.md](solver.md), sections 5 and 8,
says how each solver works.

- The cache holds a tenth of the rows, unless a figure varies it.
- A speed in a title is the speed to which the temporary file was held (`pgsvm.spool_rate`).
- Seconds are wall seconds from the call. They include the reading of the table.
- The papers had other data and machines. So compare which solver arrives first, and by how much.

Data: {"; ".join(found["data"])}.
{quick}
StreamSVM: Matsushima, Vishwanathan, Smola, KDD 2012; its figures show (D* - D) / D*. BM: Yu, Hsieh, Chang, Lin, KDD 2010;
its figures show |P - P*| / P*. D* and P* are the best found by any training here.

OCAS, CPA and Pegasos as the paper of OCAS shows them are in [results.md](../bench/results.md#cutting-planes-as-their-paper-shows-them).

Truncated losses beside the figures of Indexed Block Coordinate Descent (Yen, Chang, Lin, Lin, Lin, KDD 2013), test error against time, are in
[results.md](../bench/results.md#truncated-losses-as-their-paper-shows-them), and StreamSVM's figure of features expanded on the fly is
[there](../bench/results.md#features-made-while-rows-are-read) too.

## Beside the papers
"""


def draw(file, panels, curve):
    best, asked, shown = KINDS[curve]
    drawing = Picture(file, len(panels), "wall seconds", shown, gaps=True, asked=asked)
    for panel in panels:
        curves = {name: curve(log, panel[best]) for name, log in panel["logs"].items()}
        drawing.panel(panel["title"], {name: thinned(points) for name, points in curves.items() if points})
    drawing.save(FIGURES)


def arrivals(panels, curve):
    """A line for each panel: seconds of each solver to the difference asked for."""
    names = list(panels[0]["logs"])
    rows = []
    for panel in panels:
        times = reached(panel, curve)
        cells = [
            seconds(times[name]) if times[name] else f"not in {seconds(panel['logs'][name]['seconds'][-1])}"
            for name in names
        ]
        rows.append([panel["title"], *cells])
    return table([f"seconds to {KINDS[curve][1]:g}", *names], rows)


def objectives(panels):
    """How far above the best one known, relatively, the last primal of each solver was."""
    names = list(panels[0]["logs"])
    rows = []
    for panel in panels:
        best = panel["primal"]
        rows.append([panel["title"], *(f"{(bound(panel['logs'][name])[1] - best) / best:.1e}" for name in names)])
    return table(["(P - P*) / P*", *names], rows)


def beside(figures):
    """What the papers report, and the same question asked here."""
    compared = measured_once(figures)
    rows = [
        [
            "StreamSVM, 2 and 3",
            "faster than SBM and BM in almost all cases; no faster than SBM on kddb",
            wins(compared, "StreamSVM as published"),
        ],
        ["", "(not in the paper)", wins(compared, "pgsvm")],
        [
            "StreamSVM, 4",
            "the smallest cache is slowest; beyond a quarter of the largest no great gain",
            ratios(figures["shares"], dual_curve),
        ],
        ["BM, 2", "BLOCK-L is faster than BLOCK-P; BLOCK-P-B very slow", ratios(figures["inner"], primal_curve)],
        [
            "BM, 3",
            "without the random split very slow; a random order of blocks slightly faster",
            differences(figures["orders"]),
        ],
        ["BM, 4", "40 blocks faster than 400 or 1000", ratios(figures["blocks"], primal_curve)],
        [
            "BM, 7.6",
            "10 iterations take 3230 s compressed, 4660 s not: 1.44 times as long",
            lasted(figures["compression"]),
        ],
    ]
    return table(["figure", "the paper reports", "here"], rows)


def measured_once(figures):
    """The panels of Figures 2 and 3, which share one measurement."""
    logs = [panel["logs"] for panel in figures["costs"]]
    return figures["costs"] + [panel for panel in figures["sets"] if panel["logs"] not in logs]


def wins(panels, solver):
    """How often a solver arrives before SBM and before BM."""
    said = []
    for other in ("SBM", "BM"):
        times = [reached(panel, dual_curve) for panel in panels]
        before = sum((t[solver] or math.inf) < (t[other] or math.inf) for t in times)
        said.append(f"before {other} in {before} of {len(times)}")
    return f"{solver}: {'; '.join(said)}"


def ratios(panels, curve):
    """Geometric means over the panels of seconds against the fastest line's; a line that did not arrive says so."""
    times = [reached(panel, curve) for panel in panels]
    said = []
    for name in panels[0]["logs"]:
        both = [t[name] / min(filter(None, t.values())) for t in times if t[name]]
        missing = len(times) - len(both)
        mean = f"{math.exp(sum(map(math.log, both)) / len(both)):.2f}" if both else "-"
        said.append(f"{name} {mean}" + (f" (not reached in {missing} of {len(times)})" if missing else ""))
    return "seconds against the fastest: " + ", ".join(said)


def differences(panels):
    """The last difference of each line."""
    said = []
    for panel in panels:
        for name, log in panel["logs"].items():
            curve = primal_curve(log, panel["primal"])
            said.append(
                f"{name} {curve[-1][1]:.1e} after {max(log['pass'])} passes" if curve else f"{name} at the optimum"
            )
    return "; ".join(said)


def lasted(panels):
    """Seconds a pass behind loading, uncompressed against compressed."""
    said = []
    for panel in panels:
        paces = {}
        for word, log in panel["logs"].items():
            paces[word] = (log["seconds"][-1] - log["seconds"][0]) / max(log["pass"][-1], 1)
        said.append(
            f"{panel['title']}: {paces['off'] / paces['on']:.2f} times as long a pass, by measurement {paces['off'] / paces['auto']:.2f}"
        )
    return "; ".join(said)
