"""The cache at 1 %, 10 % and 100 % of the encoded rows, C = 1, to a certified gap of 1e-3.

Written and read are bytes of files, through the page cache: a table that does not fit the cache is spooled once and read
from there in every further pass; pages of the table found in the server's buffers are not read.
"""

import problems
import server
from machine import trainings
from report import Picture, megabytes, seconds, table

TITLE = "Cache size"
ROWS = {"quick": 200_000, "full": 2_000_000}
FEATURES = 50
SHARES = [0.01, 0.1, 1.0]


def measure(run):
    problem = problems.noisy(ROWS["quick" if run.quick else "full"], FEATURES)
    times = {}
    with server.connect() as connection:
        server.load_arrays(connection, "cached", problem.y, problem.x)
        for repeat in range(3 if run.quick else 5):
            for share in SHARES:
                cache = server.cache_for(problem.rows, FEATURES, share)
                usage, _, _, model = server.train("cached", 1.0, cache=cache, seed=repeat)
                times.setdefault(share, []).append((usage, model))
                run.say(f"  cache {share:.0%}: {usage.wall:.2f} s, {model['passes']} passes, gap {model['gap']:.1e}")
    return {
        "rows": problem.rows,
        "times": [
            {
                "share": share,
                **trainings(all),
            }
            for share, all in times.items()
        ],
    }


def report(found):
    rows = [
        [
            f"{t['share']:.0%}",
            seconds(t["wall"]),
            seconds(t["cpu"]),
            f"{t['passes']:.0f}",
            megabytes(t["written"]),
            megabytes(t["read"]),
            f"{t['gap']:.1e}",
        ]
        for t in found["times"]
    ]
    text = table(["cache / data", "wall s", "processor s", "passes", "written", "read", "largest gap"], rows)
    drawing = Picture("cache", 1, "cache / data", "wall seconds")
    drawing.panel(TITLE, {"pgsvm": [(t["share"], t["wall"]["median"]) for t in found["times"]]})
    return f"{found['rows']} rows x {FEATURES}.\n\n" + text, [], [drawing]
