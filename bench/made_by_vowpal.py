"""Vowpal Wabbit beside ours where features are made while rows are read: pairs of words (`--ngram 2`), products (`--interactions xx`).

Each minimizes the L2-regularized hinge over the features that it makes; products are the same in both, weights of words are not: counts there, tf-idf in
rows of length 1 here. So each is timed until it is within NEAR of the least objective over its own features; the least of its own is found by our solver on the same
numbers as arrays (`least`). Its passes are tried from few to many; where no number of them gets there, the time of the most stands, and the ratio is at
least that. Times are of COPY, parsing and training; the start of Python is left out.
"""

import re

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import machine
import problems
import server
from machine import ROOT, median, run_python
from report import seconds, table
from solvers import ours

NEAR = 0.01
PASSES = {"quick": [1, 4, 16, 64], "full": [1, 2, 4, 8, 16, 32, 64, 128]}
FILES = machine.TARGET / "vowpal"


def words(run, connection, train):
    """Of the table texts_trained; `train`: (connection, arguments, table) -> usage."""
    labels, texts = zip(*connection.execute("SELECT label, body FROM texts_trained ORDER BY ctid").fetchall())
    plain = [" ".join(re.findall(r"\w\w+", text.lower())) for text in texts]
    counted = CountVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), lowercase=False)
    x = counted.fit_transform(plain).astype(np.float32).tocsr()
    y = np.where(np.array(labels) > 0, 1, -1)
    # nothing in what is left of a text means anything to the program
    select = r"""SELECT CASE WHEN label > 0 THEN '1' ELSE '-1' END || ' |w ' || regexp_replace(lower(body), '\W+', ' ', 'g') FROM texts_trained"""
    theirs = vowpal(run, connection, select, made("vowpal_words", x, y), ["--ngram", 2])
    arguments = f"'{{\"text(body, 2)\"}}', 'beside_vowpal', loss => 'hinge', tolerance => {NEAR}"
    cell = {"what": "words and pairs of words", **theirs, "ours": timed(connection, "texts_trained", arguments, train)}
    run.say(f"  {cell}")
    return cell


def products(run, connection, train):
    """Of the table products."""
    y, x = (np.array(it) for it in zip(*connection.execute("SELECT label, x FROM products ORDER BY ctid").fetchall()))
    named = " || ".join(f"' f{k}:' || x[{k + 1}]" for k in range(x.shape[1]))
    select = f"SELECT label || ' |x' || {named} FROM products"
    problem = made("vowpal_products", problems.with_products(x), y)
    theirs = vowpal(run, connection, select, problem, ["--interactions", "xx"])
    arguments = f"'{{\"polynomial(x, 2)\"}}', 'beside_vowpal', scale => 'none', loss => 'hinge', tolerance => {NEAR}"
    cell = {"what": "products of ten numbers", **theirs, "ours": timed(connection, "products", arguments, train)}
    run.say(f"  {cell}")
    return cell


def made(name, x, y):
    return problems.kept(f"{name}_{x.shape[0]}", lambda _: (x, y))


def timed(connection, name, arguments, train):
    runs = [train(connection, arguments, name) for _ in range(3)]
    gap = connection.execute("SELECT gap FROM svm_models WHERE name = 'beside_vowpal'").fetchone()[0]
    connection.execute("SELECT svm_drop('beside_vowpal')")
    return {"wall": median([one["wall"] for one in runs]), "cpu": median([one["cpu"] for one in runs]), "gap": gap}


def vowpal(run, connection, select, problem, makes):
    FILES.mkdir(parents=True, exist_ok=True)
    text, model, cache, said = (str(FILES / name) for name in ("rows.txt", "model", "cache", "said"))
    usual = ["--loss_function", "hinge", "--l2", 1 / problem.rows, "-b", 24, "--quiet", *makes]
    least = ours(problem, 1.0, 1e-4, loss="hinge")[4]["primal"]
    runs = []
    for passes in PASSES["quick" if run.quick else "full"]:
        (FILES / "cache").unlink(missing_ok=True)
        copied = server.copy_out(connection, select, text)
        options = ["-d", text, "-k", "--cache_file", cache, "--holdout_off", "--passes", passes]
        kept = ["-f", model, "--readable_model", f"{model}.txt"]
        used, _ = run_python(ROOT / "bench" / "vowpal.py", *usual, *options, *kept)
        run_python(ROOT / "bench" / "vowpal.py", "-t", "-i", model, "-d", text, "-r", said, "--quiet")
        scores = np.array([float(line.split()[0].split(":")[-1]) for line in open(said) if line.strip()])
        weights = [float(line.split(":")[1].split()[0]) for line in open(f"{model}.txt") if re.match(r"\d+:", line)]
        loss = np.maximum(0, 1 - problem.y * scores).sum()
        above = float((0.5 * np.square(weights).sum() + loss) / least - 1)
        runs.append({"passes": passes, "wall": copied.wall + used.wall, "cpu": copied.cpu + used.cpu, "above": above})
        if above <= NEAR:
            break
    return {"rows": problem.rows, "features": problem.features, "vowpal": runs}


def report(cells, verdicts):
    rows = []
    for cell in cells:
        last = cell["vowpal"][-1]
        arrived = last["above"] <= NEAR
        ratio = last["cpu"] / cell["ours"]["cpu"]
        rows.append(
            [
                f"{cell['what']}, {cell['rows']} rows, {cell['features']} features",
                seconds(cell["ours"]["wall"]),
                f"{cell['ours']['gap']:.1e}",
                f"{last['passes']}",
                seconds(last["wall"]),
                f"{last['above']:.1e}",
                f"{ratio:.1f}" if arrived else f"more than {ratio:.1f}",
            ]
        )
        verdicts.append(
            (f"{cell['what']}: Vowpal Wabbit to within {NEAR:g} / ours, processor time", ratio, 3, 10, False)
        )
    head = [
        "features",
        "ours, wall s",
        "gap",
        "passes of Vowpal Wabbit",
        "wall s",
        "above its least",
        "ratio of processor time",
    ]
    return table(head, rows)
