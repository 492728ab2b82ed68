"""C from 0.01 to 100 on one table, everything in memory, to a certified gap of 1e-3."""

import problems
import server
from machine import trainings
from report import Picture, seconds, table

TITLE = "Cost parameter"
ROWS = {"quick": 100_000, "full": 1_000_000}
COSTS = [0.01, 0.1, 1.0, 10.0, 100.0]


def measure(run):
    problem = problems.noisy(ROWS["quick" if run.quick else "full"], 50)
    times = {}
    with server.connect() as connection:
        server.load_arrays(connection, "costs", problem.y, problem.x)
        for repeat in range(3 if run.quick else 5):
            for c in COSTS:
                usage, _, _, model = server.train(
                    "costs", c, cache=server.cache_for(problem.rows, problem.features), seed=repeat
                )
                times.setdefault(c, []).append((usage, model))
                run.say(f"  C = {c:g}: {usage.wall:.2f} s, gap {model['gap']:.1e}")
    return {
        "rows": problem.rows,
        "times": [
            {
                "c": c,
                **trainings(all),
            }
            for c, all in times.items()
        ],
    }


def report(found):
    rows = [
        [f"{t['c']:g}", seconds(t["wall"]), seconds(t["cpu"]), f"{t['passes']:.0f}", f"{t['gap']:.1e}"]
        for t in found["times"]
    ]
    drawing = Picture("cost", 1, "C", "processor seconds")
    drawing.panel(TITLE, {"pgsvm": [(t["c"], t["cpu"]["median"]) for t in found["times"]]})
    text = table(["C", "wall s", "processor s", "passes", "largest gap"], rows)
    return f"{found['rows']} rows x 50.\n\n" + text, [], [drawing]
