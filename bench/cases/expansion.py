"""Features that are made while rows are read. Texts: `svm_train(table, label, '{text(body)}')` beside COPY, scikit-learn's
TfidfVectorizer and LinearSVC, both with their defaults. Products: `polynomial(x, 2)` beside the products stored in the table. Strings:
`weighted_degree(dna, 8)` with its runs stored and made when a row is visited, as StreamSVM's paper has them.

Generated documents have a vocabulary by Zipf's law, of which the two classes take a part in another order; real ones are
docstrings of numpy and scipy, told apart. A fifth of the documents is held out. The peer's start, imports among it, is left
out of its time. Pass 1 is a training of one pass, as a whole: two passes over the text and one over the rows.
"""

import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys

import numpy as np

import datasets
import machine
import made_by_vowpal
import problems
import server
from machine import ServerWatch, median
from report import Picture, seconds, table, thinned

TITLE = "Features made while rows are read"
DOCUMENTS = {"quick": 40_000, "full": 200_000}
ROWS = {"quick": 200_000, "full": 1_000_000}
STRINGS = {"quick": 20_000, "full": 100_000}
# of the paper's figure; with their runs stored a device of 40 MB/s would read a million of them for five minutes a pass
FIGURE_STRINGS = {"quick": 50_000, "full": 1_000_000}
HASHED, BITS = [("reuters_moneyfx", "raw"), ("a9a", "raw")], [6, 8, 10, 12, 14, 18]
LETTERS, DEGREE, DISK = 200, 8, "40MB"
# of the runs of a string, number and value
RUN_BYTES = 8 * (DEGREE * LETTERS - DEGREE * (DEGREE - 1) // 2)
WORDS, LONGEST = 100_000, 120


def measure(run):
    mode = "quick" if run.quick else "full"
    found = {"texts": [], "products": None}
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error; SET pgsvm.cache_size = '256MB'")
        for name, make in {"Zipf": zipf, "docstrings": docstrings}.items():
            texts, labels = make(DOCUMENTS[mode])
            found["texts"].append({"set": name, **texts_of(connection, texts, labels, 3 if run.quick else 5)})
            run.say(f"  {name}: {found['texts'][-1]}")
            if name == "Zipf":
                found["vowpal"] = [made_by_vowpal.words(run, connection, trained)]
        found["products"] = []
        for name, (y, x) in numbers(run, ROWS[mode]).items():
            found["products"].append({"set": name, **products(connection, y, x, 3 if run.quick else 5)})
            run.say(f"  products: {found['products'][-1]}")
            if name == "generated":
                found["vowpal"].append(made_by_vowpal.products(run, connection, trained))
        found["bits"] = [
            hashed(connection, name, problem) for name, _, problem in datasets.problems_at_hand(run, HASHED)
        ]
        run.say(f"  hashed: {found['bits']}")
        found["strings"] = strings(connection, STRINGS[mode], 1 if run.quick else 3)
        run.say(f"  strings: {found['strings']}")
        found["figure"] = figure(connection, FIGURE_STRINGS[mode])
        run.say(f"  figure: {found['figure']['log'][-1]}, {found['figure']['peak']} bytes")
        connection.execute("DROP TABLE IF EXISTS texts_trained, texts_held, products, squares, strings, few_strings")
    return found


def zipf(count):
    """Documents of 20 words to LONGEST, a tenth of them by another order of the words in the second class."""
    random = np.random.default_rng(1)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = np.array(["".join(random.choice(letters, size=random.integers(2, 10))) for _ in range(WORDS)])
    share = 1 / np.arange(1, WORDS + 1) ** 1.05
    share /= share.sum()
    shares = [share, 0.9 * share + 0.1 * np.roll(share, 300)]
    labels = random.integers(0, 2, size=count)
    lengths = random.integers(20, LONGEST, size=count)
    drawn = [random.choice(WORDS, size=int(lengths.sum()), p=share) for share in shares]
    ends = np.cumsum(lengths)
    return [
        " ".join(words[drawn[label][end - length : end]]).capitalize() + "."
        for label, length, end in zip(labels, lengths, ends)
    ], labels


def docstrings(count):
    """What functions and classes of numpy and scipy say of themselves."""
    texts, labels = [], []
    for label, package in enumerate(["numpy", "scipy"]):
        known = set()
        root = importlib.import_module(package)
        for module in sorted(
            pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda _: None), key=lambda it: it.name
        ):
            if any(part in module.name for part in ("test", "_build", "conftest", "setup", "f2py", "distutils")):
                continue
            try:
                members = vars(importlib.import_module(module.name))
            except Exception:
                continue
            for _, member in sorted(members.items()):
                text = inspect.getdoc(member) if callable(member) else None
                # names of the packages would give them away
                if text and len(text) > 100 and text not in known and len(known) < count:
                    known.add(text)
                    texts.append(text.replace("\0", " ").replace(package, ""))
                    labels.append(label)
    return texts, np.array(labels)


def texts_of(connection, texts, labels, repeats):
    held = np.random.default_rng(2).random(len(texts)) < 0.2
    for name, rows in [("trained", ~held), ("held", held)]:
        connection.execute(f"DROP TABLE IF EXISTS texts_{name}; CREATE TABLE texts_{name} (label int2, body text)")
        with connection.cursor().copy(f"COPY texts_{name} FROM STDIN") as copy:
            for at in np.flatnonzero(rows):
                copy.write_row([int(labels[at]), texts[at]])
        connection.execute(f"VACUUM ANALYZE texts_{name}")
    folder = machine.TARGET / "texts"
    paths = [str(folder / f"{name}.tsv") for name in ("trained", "held")]
    server.copy_out(connection, "SELECT label, body FROM texts_held", paths[1])
    ours, one_pass, configured, theirs = [], [], [], []
    for _ in range(repeats):
        ours.append(trained(connection, "'{text(body)}'"))
        one_pass.append(trained(connection, "'{text(body)}', model => 'one_pass', max_passes => 1"))
        configured.append(trained(connection, "'{\"text(body, english)\"}', model => 'configured', max_passes => 1"))
        copied = server.copy_out(connection, "SELECT label, body FROM texts_trained", paths[0])
        script = os.path.join(os.path.dirname(__file__), "..", "tfidf.py")
        peer = json.loads(subprocess.run([sys.executable, script, *paths, "1"], check=True, capture_output=True).stdout)
        steps = peer["steps"]
        total = {kind: sum(steps[step][kind] for step in ("read", "rows", "fit")) for kind in ("wall", "cpu")}
        theirs.append(
            {"wall": copied.wall + total["wall"], "cpu": copied.cpu + total["cpu"], "rows": steps["rows"]["cpu"]}
        )
    accuracy = connection.execute("SELECT accuracy FROM svm_evaluate('texts_trained_label', 'texts_held')").fetchone()[
        0
    ]
    words = connection.execute("SELECT features FROM svm_features('texts_trained_label')").fetchone()[0]
    assert words == peer["features"]
    connection.execute("SELECT svm_drop(name) FROM unnest('{texts_trained_label,one_pass,configured}'::text[]) AS name")
    return {
        "documents": int((~held).sum()),
        "megabytes": peer["megabytes"],
        "words": words,
        "ours": {kind: median([one[kind] for one in ours]) for kind in ("wall", "cpu")},
        "one_pass": median([one["cpu"] for one in one_pass]),
        "configured": median([one["cpu"] for one in configured]),
        "theirs": {kind: median([one[kind] for one in theirs]) for kind in ("wall", "cpu", "rows")},
        "accuracy": {"ours": accuracy, "theirs": peer["accuracy"]},
    }


def trained(connection, arguments, name="texts_trained"):
    with ServerWatch(connection) as watch:
        connection.execute(f"SELECT svm_train('{name}', 'label', {arguments})")
    return {"wall": watch.usage.wall, "cpu": watch.usage.cpu}


def numbers(run, rows):
    """Ten numbers, of which squares and products tell the classes apart; the six of adult, to deviations of 1."""
    random = np.random.default_rng(3)
    x = random.standard_normal((rows, 10)).astype(np.float32)
    score = x[:, 0] * x[:, 1] - x[:, 2] ** 2 + x[:, 3] + 1 + random.standard_normal(rows)
    found = {"generated": (np.where(score > 0, 1, -1), x)}
    for name, _, adult in datasets.problems_at_hand(run, [("adult", "std")]):
        varied = [column for column in range(adult.x.shape[1]) if len(np.unique(adult.x[:, column])) > 2]
        found[name] = adult.y, np.ascontiguousarray(adult.x[:, varied])
    return found


def products(connection, y, x, repeats):
    server.load_arrays(connection, "products", y, x)
    server.load_arrays(connection, "squares", y, problems.with_products(x))
    times = {"made": [], "stored": []}
    for _ in range(repeats):
        times["made"].append(trained(connection, "'{\"polynomial(x, 2)\"}', model => 'made'", "products"))
        times["stored"].append(trained(connection, "'{x}', model => 'stored'", "squares"))
    auc = dict(
        connection.execute("SELECT name, training_auc FROM svm_models WHERE name IN ('made', 'stored')").fetchall()
    )
    connection.execute("SELECT svm_drop(name) FROM unnest('{made,stored}'::text[]) AS name")
    cpu = {name: median([one["cpu"] for one in all]) for name, all in times.items()}
    return {"rows": len(y), "columns": x.shape[1], "cpu": cpu, "auc": auc}


def hashed(connection, name, problem):
    """Sparse rows by the number of hashed features: accuracy on a fifth held out and seconds; 0 bits: as they are."""
    held = np.random.default_rng(5).random(problem.rows) < 0.2
    for table_name, rows in [("sparse_trained", ~held), ("sparse_held", held)]:
        server.load_sparse(connection, table_name, problem.y[rows], problem.x[rows])
    found = []
    for bits in [0, *BITS]:
        entry = f"hash(sparse(idx, val), {bits})" if bits else "sparse(idx, val)"
        used = trained(connection, f"'{{\"{entry}\"}}', 'hashed', scale => 'none'", "sparse_trained")
        accuracy = connection.execute("SELECT accuracy FROM svm_evaluate('hashed', 'sparse_held')").fetchone()[0]
        found.append({"bits": bits, "wall": used["wall"], "accuracy": accuracy})
        connection.execute("SELECT svm_drop('hashed')")
    connection.execute("DROP TABLE sparse_trained, sparse_held")
    return {"set": name, "features": problem.features, "cells": found}


def put_strings(connection, rows):
    """Letters by chance, with a word that says the class in 3 of 1,000."""
    random = np.random.default_rng(4)
    connection.execute("DROP TABLE IF EXISTS strings; CREATE TABLE strings (label int2, dna text)")
    with connection.cursor().copy("COPY strings FROM STDIN") as copy:
        for _ in range(rows):
            letters = bytearray(random.choice(np.frombuffer(b"ACGT", dtype=np.uint8), LETTERS).tobytes())
            splice = random.random() < 0.003
            if splice:
                letters[95:103] = b"CAGGTAAG"
            copy.write_row([int(splice), letters.decode()])
    connection.execute("VACUUM ANALYZE strings")


def strings(connection, rows, repeats):
    """`weighted_degree` stored and made at the visit."""
    put_strings(connection, rows)
    # enough that visits, and not what a pass does with 17 million weights, take the time
    few = min(rows, 20_000)
    connection.execute(
        f"DROP TABLE IF EXISTS few_strings; CREATE TABLE few_strings AS SELECT * FROM strings LIMIT {few}"
    )
    connection.execute("VACUUM ANALYZE few_strings")
    cells = {}
    for how in ("stored", "visit"):
        features, options = f"'{{\"weighted_degree(dna, {DEGREE})\"}}'", f'options => \'{{"expansion": "{how}"}}\''
        connection.execute(f"SET pgsvm.cache_size = '{max(1, rows * RUN_BYTES // 10 >> 10)}kB'")
        connection.execute(f"SET pgsvm.spool_rate = '{DISK}'")
        held = [
            trained(connection, f"{features}, 'held', tolerance => 1e-3, {options}", "strings") for _ in range(repeats)
        ]
        connection.execute(f"SET pgsvm.cache_size = '{2 * few * RUN_BYTES // 1024 + 8192}kB'; RESET pgsvm.spool_rate")
        rates = []
        for _ in range(3 * repeats):
            trained(connection, f"{features}, 'few', tolerance => 1e-12, max_passes => 20, {options}", "few_strings")
            log = "SELECT max(visits)::float8, max(seconds) - min(seconds) FILTER (WHERE visits > 0) FROM svm_training_log('few')"
            visits, taken = connection.execute(log).fetchone()
            rates.append(visits / taken)
        cells[how] = {
            "seconds": median([one["wall"] for one in held]),
            "visits": median(rates),
            "row_bytes": row_bytes(
                connection, f"SELECT svm_train('few_strings', 'label', {features}, 'few', {options})", few
            ),
            "primal": connection.execute("SELECT primal FROM svm_models WHERE name = 'held'").fetchone()[0],
        }
    connection.execute(
        "SELECT svm_drop(name) FROM unnest('{held,few}'::text[]) AS name; SET pgsvm.cache_size = '256MB'"
    )
    return {"rows": rows, "few": few, **cells}


def figure(connection, rows):
    """The log of a training of the strings at the visit, in a cache of less than a tenth of the runs."""
    put_strings(connection, rows)
    features, options = f"'{{\"weighted_degree(dna, {DEGREE})\"}}'", 'options => \'{"expansion": "visit"}\''
    connection.execute(f"SET pgsvm.cache_size = '{rows * RUN_BYTES // 11 >> 10}kB'; SET pgsvm.spool_rate = '{DISK}'")
    training = f"svm_train('strings', 'label', {features}, 'figure', tolerance => 1e-5, max_passes => 200, {options})"
    with ServerWatch(connection) as watch:
        connection.execute(f"SELECT {training}")
    log = "SELECT seconds, primal, dual FROM svm_training_log('figure') WHERE dual > 0 ORDER BY seconds"
    found = [[float(value) for value in row] for row in connection.execute(log).fetchall()]
    features = connection.execute("SELECT features FROM svm_models WHERE name = 'figure'").fetchone()[0]
    connection.execute("SELECT svm_drop('figure'); RESET pgsvm.spool_rate; SET pgsvm.cache_size = '256MB'")
    used = watch.usage
    return {"rows": rows, "features": features, "peak": used.peak_bytes, "shared": used.shared_bytes, "log": found}


def row_bytes(connection, training, rows):
    """What a row takes in the cache, by the NOTICE of a training."""
    told = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_detail or ""))
    connection.execute("SET client_min_messages = notice")
    connection.execute(training)
    connection.execute("SET client_min_messages = error")
    size, unit = re.search(r"([\d.]+) (B|kB|MB|GB) of the", " ".join(told)).groups()
    return float(size) * 1024 ** ["B", "kB", "MB", "GB"].index(unit) / rows


def report(found):
    rows, verdicts = [], []
    for cell in found["texts"]:
        ours, theirs, name = cell["ours"], cell["theirs"], cell["set"]
        megabytes = cell["megabytes"]
        ratio, rate = theirs["cpu"] / ours["cpu"], theirs["rows"] / cell["one_pass"]
        behind = 100 * abs(cell["accuracy"]["theirs"] - cell["accuracy"]["ours"])
        rows.append(
            [
                f"{name}, {cell['documents']} of {megabytes:.0f} MB, {cell['words']} words",
                seconds(ours["wall"]),
                seconds(theirs["wall"]),
                f"{ratio:.1f}",
                f"{megabytes / cell['one_pass']:.0f}",
                f"{megabytes / cell['configured']:.0f}",
                f"{megabytes / theirs['rows']:.0f}",
                f"{cell['accuracy']['ours']:.4f}",
                f"{cell['accuracy']['theirs']:.4f}",
            ]
        )
        verdicts += [
            (f"texts, {name}: COPY, TfidfVectorizer and LinearSVC / ours, processor time", ratio, 5, 15, False),
            (f"texts, {name}: accuracy held out, points apart", behind, 0.5, None, True),
            (f"texts, {name}: pass 1, MB a second / TfidfVectorizer's", rate, 5, 15, False),
            (
                f"texts, {name}: pass 1 with a configuration, MB a second / TfidfVectorizer's",
                theirs["rows"] / cell["configured"],
                0.7,
                0.9,
                False,
            ),
        ]
    text = ""
    for made in found["products"]:
        apart = abs(made["auc"]["made"] - made["auc"]["stored"])
        if made["set"] == "generated":
            ratio = made["cpu"]["made"] / made["cpu"]["stored"]
            verdicts.append(("polynomial(x, 2) / stored products, processor time", ratio, 1.2, 0.8, True))
        verdicts.append((f"polynomial(x, 2), {made['set']}: AUC apart from stored products", apart, 0.005, None, True))
        text += f"\n\n`polynomial(x, 2)` of {made['columns']} numbers, {made['set']}, {made['rows']} rows: {made['cpu']['made']:.2f} s, "
        text += f"stored products {made['cpu']['stored']:.2f} s; AUC {made['auc']['made']:.4f} and {made['auc']['stored']:.4f}."
    header = [
        "documents",
        "ours, wall s",
        "theirs",
        "ratio of processor time",
        "pass 1, MB/s",
        "with 'english'",
        "theirs",
        "accuracy",
        "theirs",
    ]
    kept = found["strings"]
    stored, visit = kept["stored"], kept["visit"]
    verdicts += [
        (
            "weighted degree, stored / at the visit, seconds from a slow disk",
            stored["seconds"] / visit["seconds"],
            3,
            8,
            False,
        ),
        (
            "the same in the cache, visits a second at the visit / stored",
            visit["visits"] / stored["visits"],
            0.7,
            1.2,
            False,
        ),
        ("the same, bytes a row stored / short", stored["row_bytes"] / visit["row_bytes"], 10, 30, False),
    ]
    text += f"\n\n`weighted_degree(dna, {DEGREE})` of {LETTERS} letters, {kept['rows']} rows, the cache a tenth of the runs, {DISK} a second: "
    text += f"{stored['seconds']:.1f} s stored, {visit['seconds']:.1f} s made at the visit, objectives {stored['primal']:.6g} and {visit['primal']:.6g}. "
    text += f"In the cache, {kept['few']} rows: {stored['visits']:.0f} and {visit['visits']:.0f} visits a second, "
    text += f"{stored['row_bytes']:.0f} and {visit['row_bytes']:.0f} bytes a row."
    text += "\n\n" + made_by_vowpal.report(found["vowpal"], verdicts)
    text += "\n\n" + as_published(found["figure"])
    text += "".join("\n\n" + by_bits(cell) for cell in found["bits"])
    return table(header, rows) + text, verdicts, [published(found["figure"])]


def by_bits(cell):
    rows = [
        [f"{one['bits']} bits" if one["bits"] else "as they are", seconds(one["wall"]), f"{one['accuracy']:.4f}"]
        for one in cell["cells"]
    ]
    text = f"`hash(sparse(idx, val), bits)` of {cell['set']}, {cell['features']} features:"
    return f"{text}\n\n{table(['features', 's', 'accuracy held out'], rows)}"


def published(found):
    """StreamSVM's figure of features that are expanded on the fly: how far the dual is from its best, and the gap, by time."""
    best = max(dual for _, _, dual in found["log"])
    picture = Picture("expansion_streamsvm", 1, "seconds", "relative difference")
    lines = {
        "dual, of its best": [(at, 1 - dual / best) for at, _, dual in found["log"] if dual < best],
        "gap": [(at, 1 - dual / primal) for at, primal, dual in found["log"] if dual < primal],
    }
    title = f"{found['rows']} strings of {LETTERS} letters"
    picture.panel(title, {name: thinned(points) for name, points in lines.items()})
    return picture


def as_published(found):
    at, primal, dual = found["log"][-1]
    text = f"StreamSVM's figure of expansion (bottom of its Figure 3): {found['rows']} strings, {found['features']} features, positives 3 in 1,000, "
    text += f"a cache below a tenth of the runs: a gap of {1 - dual / primal:.1e} in {seconds(at)} s. The server took {found['peak'] / 1e6:.0f} MB, "
    text += f"{found['shared'] / 1e6:.0f} MB of it shared with the reader, the rest for the most part weights of the features and what their visits sum. "
    text += "The paper reports a gap of about .47 in less than 75 hours for 50 million strings of a genome; features as in COFFIN (Sonnenburg and Franc, ICML 2010)."
    return text
