"""A table sorted by its label against the same rows shuffled, in memory and with a cache of a tenth, C = 1, gap 1e-3."""

import numpy as np

import problems
import server
from machine import trainings
from report import megabytes, seconds, table

TITLE = "Sorted and shuffled tables"
ROWS = {"quick": 300_000, "full": 1_000_000}


def measure(run):
    problem = problems.noisy(ROWS["quick" if run.quick else "full"], 50)
    order = np.argsort(problem.y, kind="stable")
    caches = {"all": 1.0, "a tenth": 0.1}
    times = {}
    with server.connect() as connection:
        server.load_arrays(connection, "shuffled", problem.y, problem.x)
        server.load_arrays(connection, "sorted", problem.y[order], problem.x[order])
        for repeat in range(3 if run.quick else 7):
            for cache, share in caches.items():
                for name in ["shuffled", "sorted"]:
                    size = server.cache_for(problem.rows, problem.features, share)
                    usage, _, _, model = server.train(name, 1.0, cache=size, seed=repeat)
                    times.setdefault((cache, name), []).append((usage, model))
                    run.say(f"  {name}, cache {cache}: {usage.wall:.2f} s, gap {model['gap']:.1e}")
    return {
        "rows": problem.rows,
        "times": [
            {
                "cache": cache,
                "table": name,
                **trainings(all),
            }
            for (cache, name), all in times.items()
        ],
    }


def report(found):
    rows = [
        [
            t["cache"],
            t["table"],
            seconds(t["wall"]),
            seconds(t["cpu"]),
            f"{t['passes']:.0f}",
            megabytes(t["read"]),
            f"{t['gap']:.1e}",
        ]
        for t in found["times"]
    ]
    verdicts = []
    for cache in ["all", "a tenth"]:
        cpu = {t["table"]: t["cpu"]["median"] for t in found["times"] if t["cache"] == cache}
        name = f"sorted / shuffled table, cache holds {cache}, processor time"
        verdicts.append((name, cpu["sorted"] / cpu["shuffled"], 1.5, 1.1, True))
    text = table(["cache holds", "table", "wall s", "processor s", "passes", "read", "largest gap"], rows)
    return f"{found['rows']} rows x 50.\n\n" + text, verdicts, []
