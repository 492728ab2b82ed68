"""Prediction over a whole table, float4[54]: `SELECT sum(svm_decision(m, x))` beside `SELECT sum(x[1])`.

Both read the same pages and take the same array apart; the second does the least that SQL can do with it. In turns, once
in one process and once with the server's parallel plans.
"""

import numpy as np

import server
from machine import ServerWatch, spread
from report import seconds, table

TITLE = "Prediction at scan speed"
ROWS = {"quick": 1_000_000, "full": 4_000_000}
FEATURES = 54
QUERIES = {"svm_decision": "SELECT sum(svm_decision('scan', x)) FROM scan", "x[1]": "SELECT sum(x[1]) FROM scan"}


def measure(run):
    rows = ROWS["quick" if run.quick else "full"]
    random = np.random.default_rng(3)
    x = random.standard_normal((rows, FEATURES), dtype=np.float32)
    y = np.where(x[:, 0] - x[:, 1] + random.standard_normal(rows) > 0, 1, -1)
    times = {}
    with server.connect() as connection:
        server.load_arrays(connection, "scan", y, x)
        server.train("scan", 0.01, cache=server.cache_for(rows, FEATURES), model="scan")
        for workers in [0, 2]:
            connection.execute(f"SET max_parallel_workers_per_gather = {workers}")
            for repeat in range(6 if run.quick else 15):
                for name, query in QUERIES.items():
                    with ServerWatch(connection) as watch:
                        connection.execute(query)
                    # the first reads the model
                    if repeat > 0:
                        times.setdefault((name, workers), []).append((watch.usage.wall, watch.usage.cpu))
    found = [
        {"query": name, "workers": workers, "wall": spread([t[0] for t in all]), "cpu": spread([t[1] for t in all])}
        for (name, workers), all in times.items()
    ]
    return {"rows": rows, "times": found}


def report(found):
    times = {(t["query"], t["workers"]): t for t in found["times"]}
    rows, verdicts = [], []
    for workers in [0, 2]:
        ours, plain = times["svm_decision", workers], times["x[1]", workers]
        ratio = ours["wall"]["median"] / plain["wall"]["median"]
        cpu = ours["cpu"]["median"] / plain["cpu"]["median"]
        name = "one process" if workers == 0 else f"{workers} parallel workers"
        rows.append([name, seconds(ours["wall"]), seconds(plain["wall"]), f"{ratio:.2f}", f"{cpu:.2f}"])
        verdicts.append((f"prediction, sum(svm_decision) / sum(x[1]), {name}", ratio, 1.3, None, True))
    header = ["plan", "sum(svm_decision), wall s", "sum(x[1]), wall s", "ratio", "ratio of processor time"]
    return f"{found['rows']} rows.\n\n" + table(header, rows), verdicts, []
