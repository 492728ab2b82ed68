"""Memory of all our processes above cache, dual variables and weights: a table of 50 columns, a cache of 64 MB, two workers.

Private memory of backend and workers above what the backend had before, together with the shared memory made for the
training, looked at every few milliseconds; the largest sum counts.
"""

import problems
import server
from report import megabytes, seconds, table

TITLE = "Memory with a small cache"
ROWS = {"quick": 2_000_000, "full": 10_000_000}
FEATURES = 50
CACHE_BYTES = 64 << 20
LOADED_AT_ONCE = 1_000_000


def measure(run):
    rows = ROWS["quick" if run.quick else "full"]
    problem = problems.noisy(LOADED_AT_ONCE, FEATURES)
    with server.connect() as connection:
        server.create_array_table(connection, "large")
        for _ in range(rows // LOADED_AT_ONCE):
            server.append_arrays(connection, "large", problem.y, problem.x)
        server.settle(connection, "large")
        usage, _, _, model = server.train(
            "large", 0.01, cache=f"{CACHE_BYTES >> 10}kB", max_passes=6 if run.quick else 30
        )
        connection.execute("DROP TABLE large")
    run.say(f"  {rows} rows: {usage.wall:.1f} s, peak {megabytes(usage.peak_bytes)}")
    fields = ["passes", "gap", "stop_reason"]
    return {
        "rows": rows,
        "wall": usage.wall,
        "peak": usage.peak_bytes,
        "shared": usage.shared_bytes,
        "written": usage.written_bytes,
        "read": usage.read_bytes,
        **{name: model[name] for name in fields},
    }


def report(found):
    promised = CACHE_BYTES + 4 * found["rows"] + 8 * (FEATURES + 1)
    above = found["peak"] - promised
    row = [
        found["rows"],
        megabytes(found["peak"]),
        megabytes(found["shared"]),
        megabytes(promised),
        megabytes(above),
        seconds(found["wall"]),
        found["passes"],
        megabytes(found["written"]),
        megabytes(found["read"]),
        f"{found['gap']:.1e} ({found['stop_reason']})",
    ]
    header = [
        "rows",
        "peak",
        "of it shared",
        "cache + duals + weights",
        "above that",
        "wall s",
        "passes",
        "written",
        "read",
        "gap",
    ]
    smaller = "" if found["rows"] >= ROWS["full"] else f" (the target is at {ROWS['full']:g})"
    name = f"memory above cache, duals and weights, MB, {found['rows']:g} rows{smaller}"
    verdicts = [(name, above / (1 << 20), 64, None, True)]
    return table(header, [row]), verdicts, []
