"""Tables whose partitions are on other servers of PostgreSQL, by postgres_fdw: seconds, and what of them is computation.

Rows as in the case of scans, as many on each server, and the same ones there; the session's own server has none. All of them are on this machine, so
several of them share its cores. Beside the seconds of a training stand those of the slowest server's part alone: a training of that
server's rows in a session of its own, without parallel workers, by as many scans (its seconds a scan times the scans of the training
over all of them). What is left is exchange and waiting, for the other servers and for the session's own computing.

The kernel machines have RANK landmarks; PSVM is that of the same landmarks, by the same statements, with servers for machines.
"""

import sys

import cases.scan as scans
import machine
import server
from machine import Stopwatch, median
from report import seconds, table

sys.path.insert(0, str(machine.ROOT / "tests"))

TITLE = "Servers"
ROWS = {"quick": 120_000, "full": 3_000_000}
SERVERS = [1, 2, 3, 4]
RUNS = 3
RANK = 100
TOLERANCE = 1e-3
KERNEL = f"kernel => 'rbf', gamma => 0.01, rank => {RANK}"
WAYS = [
    ("scan, squared hinge", "solver => 'scan', loss => 'squared_hinge'"),
    ("scan, hinge", "solver => 'scan', loss => 'hinge'"),
    ("scan, squared hinge, rbf", f"solver => 'scan', loss => 'squared_hinge', {KERNEL}"),
    ("PSVM, rbf", f"""solver => 'interior_point', loss => 'hinge', {KERNEL}, options => '{{"machines": "scans"}}'"""),
]


def measure(run):
    from harness.server import Server, new_database

    rows = ROWS["quick" if run.quick else "full"]
    found = {"rows": rows, "trainings": []}
    others = []
    with server.connect() as connection:
        version = connection.info.server_version // 10000
    try:
        for place in range(max(SERVERS)):
            other = Server(version, f"part{place}")
            others.append(other)
            with other.connect(new_database(other, "rows")) as connection:
                connection.execute("CREATE EXTENSION pgsvm")
        for count in SERVERS:
            deal(others[:count], rows)
            with server.connect() as connection:
                spread(connection, others[:count])
                for name, how in WAYS:
                    said = trained(connection, others[:count], how)
                    run.say(f"  {count} servers, {name}: {said}")
                    found["trainings"].append({"servers": count, "way": name, **said})
    finally:
        for other in others:
            other.stop()
    return found


def deal(others, rows):
    """Each has its part of the rows."""
    for other in others:
        with other.connect("rows") as connection:
            scans.load(connection, rows // len(others))


def spread(connection, others):
    connection.execute("DROP EXTENSION IF EXISTS postgres_fdw CASCADE; CREATE EXTENSION postgres_fdw")
    connection.execute(
        "DROP TABLE IF EXISTS spread; CREATE TABLE spread (label int2, x float4[], place int) PARTITION BY LIST (place)"
    )
    for place, other in enumerate(others):
        where = f"host '{other.socket_directory}', port '5432', dbname 'rows', extensions 'pgsvm', async_capable 'true'"
        connection.execute(f"CREATE SERVER bench{place} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({where})")
        connection.execute(f"CREATE USER MAPPING FOR CURRENT_USER SERVER bench{place} OPTIONS (user 'postgres')")
        connection.execute(
            f"CREATE FOREIGN TABLE there{place} PARTITION OF spread FOR VALUES IN ({place}) SERVER bench{place} OPTIONS (table_name 'scanned')"
        )


def trained(connection, others, how):
    runs = [one(connection, "spread", how) for _ in range(RUNS)]
    wall, taken = median([it[0] for it in runs]), runs[0][1]
    parts = []
    for other in others:
        with other.connect("rows") as alone:
            alone.execute("SET max_parallel_workers_per_gather = 0")
            runs = [one(alone, "scanned", how) for _ in range(RUNS)]
            parts.append(median([seconds * taken / passes for seconds, passes in runs]))
    return {"wall": wall, "scans": taken, "slowest": max(parts)}


def one(connection, name, how):
    """Seconds, and scans with the first one, of a training."""
    with Stopwatch() as watch:
        connection.execute(
            f"SELECT svm_train('{name}', 'label', '{{x}}', 'm', scale => 'none', tolerance => {TOLERANCE}, {how})"
        )
    (passes,) = connection.execute("SELECT passes + 1 FROM svm_models WHERE name = 'm'").fetchone()
    return watch.usage.wall, passes


def report(found):
    verdicts = []
    for it in found["trainings"]:
        if it["servers"] == 3 and "rbf" not in it["way"]:
            ratio = it["wall"] / it["slowest"]
            verdicts.append((f"3 servers, {it['way']}: seconds / slowest part alone", ratio, 2, 1.3, True))
    head = [
        "servers",
        "training",
        "scans",
        "wall s",
        "slowest part alone s",
        "exchange and waiting s",
        "wall / slowest",
    ]
    lines = [
        [
            str(it["servers"]),
            it["way"],
            str(it["scans"]),
            seconds(it["wall"]),
            seconds(it["slowest"]),
            seconds(max(it["wall"] - it["slowest"], 0)),
            f"{it['wall'] / it['slowest']:.2f}",
        ]
        for it in found["trainings"]
    ]
    return f"{found['rows']} rows in all, 50 columns:\n\n{table(head, lines)}", verdicts, []
