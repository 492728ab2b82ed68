"""Whether a training arrives, whatever the loss, the scale of the columns, C and the size of the cache.

| part | measures |
|---|---|
| squared hinge | real data as they are and standardized, C = 0.01, 1, 100: seconds to a gap of 1e-3 beside the faster of LIBLINEAR's -s 1 and -s 2, and to 1e-6; one-hot rows and dense ones beside each of them |
| hinge | the same sets as they are, of several classes each against the rest: how many heads are certified |
| caches | .1 to all of the rows in the cache, both losses, C = 1 and 100, roles that take turns (as without workers) and two threads: certified, and passes against those of any smaller cache |
| streamed | squared hinge, a tenth of the rows in the cache: the dual cached loops, Newton's method and what 'auto' takes |
| 26 classes | generated letters, hinge: held-out accuracy beside LinearSVC's |
| a call | `svm_train` on 1,000 rows x 20 columns in a session, plan to stored model: wall seconds |

Processor seconds of one thread, rows already in each solver's memory, unless it says wall. A cell counts when its own
certificate is there within the cap on its seconds; LIBLINEAR's P is compared with the best lower bound that anybody found.
"""

import math
import time

import numpy as np

import cells
import datasets
import problems
import server
from cases import losses
from machine import median
from report import seconds, table
from solvers import Liblinear, measured, weights

TITLE = "Arrives"
TOLERANCE, FINE = 1e-3, 1e-6
SETS = ["a9a", "ijcnn1", "mnist", "kddcup99", "cover_2v4", "shuttle", "adult"]
QUICK_SETS = ["a9a", "ijcnn1", "shuttle"]
SECONDS = {"quick": 10.0, "full": 60.0}
CACHE_SETS, QUICK_CACHE_SETS = ["shuttle", "adult", "ijcnn1", "cover_2v4"], ["shuttle"]
SHARES = [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
CACHE_COSTS = [1.0, 100.0]
MAX_PASSES = 1000
LETTERS, LETTER_ROWS, LETTER_FEATURES = 26, 8_000, 16
LETTER_COSTS = [0.01, 1.0]
CALL_ROWS, CALL_COLUMNS, CALLS = 1000, 20, 50
# LIBLINEAR's cells shorter than this say nothing about who is faster
LEAST_SECONDS, FASTER = 0.01, 1.5


def measure(run):
    mode = "quick" if run.quick else "full"
    names, missing = datasets.at_hand(run, QUICK_SETS if run.quick else SETS)
    found = {"missing": missing, "seconds": SECONDS[mode]}
    found["squared"] = squared(run, mode, names)
    found["generated"] = generated(run, mode)
    found["hinge"] = hinge(run, mode, names)
    cached, _ = datasets.at_hand(run, QUICK_CACHE_SETS if run.quick else CACHE_SETS)
    found["caches"] = caches(run, mode, cached)
    found["streamed"] = streamed(run, mode, names)
    found["letters"] = letters(run)
    found["call"] = call(run)
    return found


def squared(run, mode, names):
    found = []
    for name, form, problem in datasets.in_each_form(names):
        peer = Liblinear(problem)
        for c in cells.COSTS:
            cell = against_both(problem, peer, c, mode)
            found.append({"set": name, "form": form, "c": c, **cell})
            run.say("  " + " | ".join(squared_row(found[-1])))
    return found


def against_both(problem, peer, c, mode):
    cell = losses.measure_cell(problem, peer, c, "squared_hinge", SECONDS[mode], newton="auto")
    fine, _ = cells.measure_ours(problem, c, [FINE], SECONDS[mode], "squared_hinge", newton="auto")
    return {**cell, "fine": cells.seconds_of({"ours": fine}, FINE)}


def squared_row(cell):
    shown = [cell["set"], cell["form"], f"{cell['c']:g}"]
    shown += [seconds(cell[key]) if cell[key] else "not reached" for key in ("ours", "fine")]
    for kind in ("dual", "primal"):
        took = losses.theirs(cell, kind)
        shown.append(seconds(took) if took else f"not in {seconds(cell['liblinear'][kind][-1]['cpu'])}")
    best = losses.fastest(cell)
    return [*shown, f"{best / cell['ours']:.1f}" if best and cell["ours"] else "-"]


def generated(run, mode):
    """The two shapes at which LIBLINEAR's two solvers are at their best, or at their worst."""
    share = 4 if run.quick else 1
    made = {
        "54 columns, 12 nonzero": (problems.cover_like(581_012 // share), [1.0, 100.0]),
        "500 columns, dense": (problems.unit_rows(100_000 // share), [1.0]),
    }
    found = []
    for name, (problem, costs) in made.items():
        peer = Liblinear(problem)
        for c in costs:
            cell = against_both(problem, peer, c, mode)
            found.append({"set": name, "form": f"{problem.rows} rows", "c": c, **cell})
            run.say("  " + " | ".join(squared_row(found[-1])))
    return found


def hinge(run, mode, names):
    found = []
    for name in names:
        problem = datasets.problem(name, "raw")
        options = {}
        if name in datasets.CLASS_WORD:
            classes = datasets.classes(name, problem)
            options = {"heads": int(classes.max()) + 1, "labels": datasets.CLASS_FILE}
        for c in cells.COSTS:
            for seed in range(1 if run.quick else 3):
                given = {"c": c, "tolerance": TOLERANCE, "passes": MAX_PASSES, "seconds": SECONDS[mode], "seed": seed}
                said = measured(problem, **given, **options)
                arrived = sum(gap <= TOLERANCE for gap in said["gaps"])
                cell = {"set": name, "c": c, "seed": seed, "heads": len(said["gaps"]), "arrived": arrived}
                found.append({**cell, "cpu": said["cpu"], "passes": said["passes"], "gap": max(said["gaps"])})
            run.say(f"  hinge, {name}, C = {c:g}: {arrived} of {len(said['gaps'])} heads in {said['cpu']:.2f} s")
    return found


def caches(run, mode, names):
    found = []
    for name, form, problem in datasets.in_each_form(names):
        # with the word that says where a row lies
        bytes_loaded = problem.rows * (4 + measured(problem, c=0.01, tolerance=0.5, passes=1)["row_bytes"])
        for loss in Liblinear.SOLVERS:
            for c in CACHE_COSTS:
                for threads in (1, 2):
                    line = [
                        measured(
                            problem,
                            c=c,
                            tolerance=TOLERANCE,
                            passes=MAX_PASSES,
                            loss=loss,
                            newton="auto",
                            threads=threads,
                            lockstep=int(threads == 1),
                            seconds=SECONDS[mode],
                            cache=int(share * bytes_loaded * 1.02) + 65_536,
                        )
                        for share in SHARES
                    ]
                    cell = {"set": name, "form": form, "loss": loss, "c": c, "threads": threads}
                    found.append({**cell, "passes": [s["passes"] for s in line], "gaps": [s["gap"] for s in line]})
                    run.say("  caches, " + " | ".join(cache_row(found[-1])))
    return found


def cache_row(cell):
    shown = [cell["set"], cell["form"], cell["loss"], f"{cell['c']:g}", str(cell["threads"])]
    runs = zip(cell["passes"], cell["gaps"])
    return shown + [f"{passes:.0f}" if gap <= TOLERANCE else f"{passes:.0f} ({gap:.1e})" for passes, gap in runs]


def streamed(run, mode, names):
    """Squared hinge with a tenth of the rows in the cache: the dual cached loops, Newton's method, and what 'auto' takes."""
    found = []
    for name, form, problem in datasets.in_each_form(names):
        bytes_loaded = problem.rows * (4 + measured(problem, c=0.01, tolerance=0.5, passes=1)["row_bytes"])
        for c in CACHE_COSTS:
            cell = {"set": name, "form": form, "c": c}
            for word in ("off", "on", "auto"):
                said = measured(
                    problem,
                    c=c,
                    tolerance=TOLERANCE,
                    passes=MAX_PASSES,
                    loss="squared_hinge",
                    newton=word,
                    lockstep=1,
                    seconds=SECONDS[mode],
                    cache=int(0.1 * bytes_loaded) + 65_536,
                )
                cell[word] = {key: said[key] for key in ("cpu", "passes", "gap")}
            found.append(cell)
            run.say("  streamed, " + " | ".join(streamed_row(cell)))
    return found


def streamed_row(cell):
    shown = [cell["set"], cell["form"], f"{cell['c']:g}"]
    for word in ("off", "on", "auto"):
        said = cell[word]
        took = seconds(said["cpu"]) if said["gap"] <= TOLERANCE else f"not in {seconds(said['cpu'])}"
        shown.append(f"{took}, {said['passes']}")
    return shown


def letters(run):
    """Letter-like rows: small whole numbers, classes that overlap, none of which a plane tells well from the rest."""
    from sklearn.svm import LinearSVC

    random = np.random.default_rng(26)
    centres = random.integers(2, 14, (LETTERS, 4, LETTER_FEATURES))
    classes = random.integers(0, LETTERS, LETTER_ROWS)
    x = centres[classes, random.integers(0, 4, LETTER_ROWS)] + 1.5 * random.standard_normal(
        (LETTER_ROWS, LETTER_FEATURES)
    )
    x = np.clip(np.round(x), 0, 15)
    trained = np.arange(LETTER_ROWS) < LETTER_ROWS * 3 // 4
    mean, deviation = x[trained].mean(axis=0), x[trained].std(axis=0)
    x = ((x - mean) / deviation).astype(np.float32)
    problem = problems.kept(f"letters_{LETTER_ROWS}", lambda _: (x[trained], np.where(classes[trained] == 0, 1, -1)))
    classes[trained].astype(np.int8).tofile(problem.folder / datasets.CLASS_FILE)
    found = []
    for c in LETTER_COSTS:
        said = measured(problem, c=c, tolerance=TOLERANCE, heads=LETTERS, labels=datasets.CLASS_FILE, seconds=20)
        w, b = weights(problem, LETTERS)
        mine = float(((x[~trained] @ w.T + b).argmax(axis=1) == classes[~trained]).mean())
        peer = LinearSVC(loss="hinge", C=c, random_state=0, max_iter=3_000).fit(x[trained], classes[trained])
        theirs = float(peer.score(x[~trained], classes[~trained]))
        found.append({"c": c, "ours": mine, "peer": theirs, "gap": max(said["gaps"])})
        run.say(f"  letters, C = {c:g}: ours {mine:.4f}, LinearSVC {theirs:.4f}")
    return found


def call(run):
    random = np.random.default_rng(1)
    x = random.standard_normal((CALL_ROWS, CALL_COLUMNS), dtype=np.float32)
    y = np.where(x[:, 0] + random.standard_normal(CALL_ROWS) > 0, 1, -1)
    walls = []
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error")
        server.load_columns(connection, "arrives", y, x)
        for _ in range(CALLS + 5):
            started = time.perf_counter()
            connection.execute("SELECT svm_train('arrives', 'label', model => 'arrives', seed => 1)")
            walls.append(time.perf_counter() - started)
        connection.execute("SELECT svm_drop('arrives'); DROP TABLE arrives")
    # the first calls load the library
    run.say(f"  a call: {1e3 * median(walls[5:]):.1f} ms")
    return median(walls[5:])


def report(found):
    parts, verdicts = [], []
    for part in (
        report_squared,
        report_generated,
        report_hinge,
        report_caches,
        report_streamed,
        report_letters,
        report_call,
    ):
        text, said = part(found)
        parts.append(text)
        verdicts += said
    note = f"Ours is stopped after {found['seconds']:g} s a cell."
    if found["missing"]:
        note += f" Left out: {', '.join(found['missing'])}."
    return "\n\n".join([note, *parts]), verdicts, []


SQUARED_HEAD = ["data", "form", "C", "ours, s, to 1e-3", "to 1e-6", "LIBLINEAR -s 1, s", "-s 2, s", "the faster / ours"]


def report_squared(found):
    rows = found["squared"]
    certified = [cell["ours"] is not None for cell in rows]
    both = [(losses.fastest(cell), cell["ours"]) for cell in rows]
    both = [(peer, mine) for peer, mine in both if peer and mine]
    slower = sum(mine > LEAST_SECONDS and mine > FASTER * peer for peer, mine in both)
    verdicts = [("squared hinge, real data: share of cells certified", np.mean(certified), 1.0, None)]
    if both:
        mean = math.exp(sum(math.log(peer / mine) for peer, mine in both) / len(both))
        name = "squared hinge, real data: LIBLINEAR's faster solver / ours, geometric mean"
        verdicts.append((name, mean, 2.5, 5.0))
        name = f"squared hinge, cells over 10 ms where LIBLINEAR is more than {FASTER} times faster"
        verdicts.append((name, slower, 0, None, True))
    return "### Squared hinge\n\n" + table(SQUARED_HEAD, [squared_row(cell) for cell in rows]), verdicts


def report_generated(found):
    verdicts = []
    for cell in found["generated"]:
        name = f"squared hinge, {cell['set']}, {cell['form']}, C = {cell['c']:g}"
        dual, primal = (losses.theirs(cell, kind) for kind in ("dual", "primal"))
        # a peer that was given up took at least as long as it had
        dual, primal = (
            took or cell["liblinear"][kind][-1]["cpu"] for took, kind in ((dual, "dual"), (primal, "primal"))
        )
        mine = cell["ours"] or math.inf
        if "dense" in cell["set"]:
            verdicts.append((f"{name}: LIBLINEAR's faster solver / ours", min(dual, primal) / mine, 6.0, 12.0))
        else:
            verdicts.append((f"{name}: LIBLINEAR -s 2 / ours", primal / mine, 2.0, 4.0))
            verdicts.append((f"{name}: LIBLINEAR -s 1 / ours", dual / mine, 15.0, 100.0))
    every = [cell for cell in found["generated"] + found["squared"] if cell["ours"] and cell["fine"]]
    if every:
        ratio = median([cell["fine"] / cell["ours"] for cell in every])
        verdicts.append(("squared hinge, seconds to 1e-6 / to 1e-3, median of all cells", ratio, 1.5, 1.2, True))
    text = "### Squared hinge, generated rows\n\n"
    return text + table(SQUARED_HEAD, [squared_row(cell) for cell in found["generated"]]), verdicts


def report_hinge(found):
    rows = [
        [c["set"], f"{c['c']:g}", c["seed"], f"{c['arrived']} of {c['heads']}", seconds(c["cpu"]), f"{c['passes']:.0f}"]
        + [f"{c['gap']:.1e}"]
        for c in found["hinge"]
    ]
    share = sum(c["arrived"] for c in found["hinge"]) / max(sum(c["heads"] for c in found["hinge"]), 1)
    header = ["data, as they are", "C", "seed", "heads certified", "processor s", "passes", "largest gap"]
    verdict = ("hinge, real data as they are, all classes: share of heads certified", share, 0.97, 1.0)
    return "### Hinge\n\n" + table(header, rows), [verdict]


def report_caches(found):
    lines = found["caches"]
    arrived = [gap <= TOLERANCE for line in lines for gap in line["gaps"]]
    worst = max((larger_over_smaller(line) for line in lines), default=1.0)
    header = ["data", "form", "loss", "C", "threads", *(f"passes, cache {share:g}" for share in SHARES)]
    verdicts = [
        ("caches of .1 to 1, share of trainings certified", np.mean(arrived or [1.0]), 0.97, 1.0),
        ("caches, passes over those of the best smaller cache, worst", worst, 1.5, 1.1, True),
    ]
    return "### Caches\n\n" + table(header, [cache_row(line) for line in lines]), verdicts


def larger_over_smaller(line):
    """The most passes that a cache took over those of the best smaller one that arrived."""
    worst, best = 1.0, math.inf
    for passes, gap in zip(line["passes"], line["gaps"]):
        if best < math.inf:
            worst = max(worst, passes / best if gap <= TOLERANCE else math.inf)
        if gap <= TOLERANCE:
            best = min(best, passes)
    return worst


def report_streamed(found):
    header = ["data", "form", "C", "dual cached loops, s, passes", "Newton's method", "what 'auto' takes"]
    text = "### Squared hinge, a tenth of the rows in the cache\n\n"
    return text + table(header, [streamed_row(cell) for cell in found["streamed"]]), []


def report_letters(found):
    rows = [[f"{e['c']:g}", f"{e['ours']:.4f}", f"{e['peer']:.4f}", f"{e['gap']:.1e}"] for e in found["letters"]]
    worst = min(e["ours"] - e["peer"] for e in found["letters"])
    header = ["C", "ours, held out", "LinearSVC (hinge), held out", "largest gap certified"]
    verdict = ("26 classes, hinge: held-out accuracy, ours - LinearSVC's, worst", worst, -0.005, 0.0)
    return "### 26 classes\n\n" + table(header, rows), [verdict]


def report_call(found):
    text = f"### A call\n\n`svm_train` on {CALL_ROWS} rows x {CALL_COLUMNS} columns: {seconds(found['call'])} s of wall time."
    name = f"svm_train on {CALL_ROWS} rows x {CALL_COLUMNS} columns, wall milliseconds"
    return text, [(name, 1e3 * found["call"], 5.0, 2.0, True)]
