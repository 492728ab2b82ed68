"""Time against rows, 50 columns, C = 1, gap 1e-3, the cache as large as the rows: the slope of log time against log rows,
by least squares from 1e5 rows on."""

import numpy as np

import problems
import server
from machine import trainings
from report import Picture, seconds, table

TITLE = "Scaling with rows"
ROWS = {"quick": [10_000, 30_000, 100_000, 300_000, 1_000_000], "full": [10_000, 100_000, 1_000_000, 10_000_000]}
FEATURES = 50
SLOPE_FROM = 100_000


def measure(run):
    counts = ROWS["quick" if run.quick else "full"]
    times = {}
    with server.connect() as connection:
        problem = problems.noisy(max(counts), FEATURES)
        for rows in counts:
            server.load_arrays(connection, f"rows_{rows}", problem.y[:rows], problem.x[:rows])
        for repeat in range(3):
            for rows in counts:
                usage, _, _, model = server.train(
                    f"rows_{rows}", 1.0, cache=server.cache_for(rows, FEATURES), seed=repeat
                )
                times.setdefault(rows, []).append((usage, model))
                run.say(f"  {rows} rows: {usage.wall:.2f} s, gap {model['gap']:.1e}")
        for rows in counts:
            connection.execute(f"DROP TABLE rows_{rows}")
    return {
        "times": [
            {
                "rows": rows,
                **trainings(all),
            }
            for rows, all in times.items()
        ]
    }


def report(found):
    times = found["times"]
    rows = [[t["rows"], seconds(t["wall"]), seconds(t["cpu"]), f"{t['gap']:.1e}"] for t in times]
    large = [t for t in times if t["rows"] >= SLOPE_FROM]
    slope = np.polyfit(np.log([t["rows"] for t in large]), np.log([t["cpu"]["median"] for t in large]), 1)[0]
    last = times[-1]["rows"]
    smaller = "" if last >= max(ROWS["full"]) else f" (the target goes to {max(ROWS['full']):g})"
    name = f"slope of log processor time against log rows, {SLOPE_FROM:g} to {last:g}{smaller}"
    verdicts = [(name, slope, 1.1, 1.0, True)]
    drawing = Picture("rows", 1, "rows", "processor seconds")
    drawing.panel(TITLE, {"pgsvm": [(t["rows"], t["cpu"]["median"]) for t in times]})
    return table(["rows", "wall s", "processor s", "largest gap"], rows), verdicts, [drawing]
