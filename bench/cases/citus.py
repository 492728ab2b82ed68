"""Trainings on distributed tables of Citus beside the same rows in a table of one server. All servers are on this machine, so seconds say
little of machines apart; scans and bytes say what they would say there.

Rows as in the case of scans: normal ones of 50 columns that go together, as an array of float4. They are spread by an id, and by their
label, so that no shard has rows of both classes. Scans to a gap of 1e-3, C 1, columns as they come, the first scan counted, which learns
what rows are like; a cache of a fortieth of the rows. Bytes are those that went through the loopback interface while a
training ran, headers included. The objective is computed again in SQL, from the stored weights and over the table of one server.

The servers are started from the tree that the environment variable PGSVM_CITUS names, which holds Citus and this extension.
"""

import math
import os
import sys

import cases.scan as scans
import machine
from machine import Stopwatch
from report import seconds, table

sys.path.insert(0, str(machine.ROOT / "tests"))

TITLE = "Citus"
ROWS = {"quick": 1_000_000, "full": 10_000_000}
NODES = [2, 4]
ROW_BYTES = 4 * scans.FEATURES + 32
TOLERANCE = 1e-3
TABLES = [("scanned", "one server"), ("spread", "spread"), ("by_label", "one label a shard")]


def measure(run):
    if not os.environ.get("PGSVM_CITUS"):
        run.say("  skipped, PGSVM_CITUS names no server tree with Citus")
        return None
    from harness.citus import Cluster

    rows = ROWS["quick" if run.quick else "full"]
    cache = f"{max(rows * ROW_BYTES // scans.PART >> 20, 1)}MB"
    found = {"rows": rows, "cache": cache, "trainings": []}
    for nodes in NODES:
        cluster = Cluster(nodes, shards=2 * nodes)
        try:
            with cluster.coordinator.connect() as connection:
                load(connection, rows)
                found["table"] = connection.execute("SELECT pg_table_size('scanned')").fetchone()[0]
                for name, where in TABLES:
                    for loss in ["squared_hinge", "hinge"]:
                        said = trained(connection, name, loss, cache)
                        run.say(f"  {nodes} nodes, {where}, {loss}: {said}")
                        found["trainings"].append({"nodes": nodes, "where": where, "loss": loss, **said})
        finally:
            cluster.stop()
    return found


def load(connection, rows):
    scans.load(connection, rows)
    for name, column in [("spread", "id"), ("by_label", "label")]:
        connection.execute(f"CREATE TABLE {name} (id bigint, label int2, x float4[])")
        connection.execute(f"SELECT create_distributed_table('{name}', '{column}')")
        connection.execute(f"INSERT INTO {name} SELECT row_number() OVER (), label, x FROM scanned")
        connection.execute(f"VACUUM ANALYZE {name}")


def trained(connection, name, loss, cache):
    connection.execute(f"SET pgsvm.cache_size = '{cache}'")
    more = f"solver => 'scan', loss => '{loss}', scale => 'none', tolerance => {TOLERANCE}"
    before = loopback_bytes()
    with Stopwatch() as watch:
        connection.execute(f"SELECT svm_train('{name}', 'label', '{{x}}', 'm', {more})")
    wall, sent = watch.usage.wall, loopback_bytes() - before
    scans_taken, gap, primal = connection.execute(
        "SELECT passes + 1, gap, primal FROM svm_models WHERE name = 'm'"
    ).fetchone()
    return {
        "wall": wall,
        "scans": scans_taken,
        "gap": gap,
        "primal": primal,
        "again": objective(connection, loss),
        "sent": sent,
    }


def objective(connection, loss):
    """The model's objective, from its weights, the intercept's among them, and all rows."""
    power = 2 if loss == "squared_hinge" else 1
    (found,) = connection.execute(f"""
        SELECT (SELECT sum(weight ^ 2) FROM svm_weights('m')) / 2
            + (SELECT sum(greatest(0, 1 - label * svm_decision('m', x)) ^ {power}) FROM scanned)
    """).fetchone()
    return found


def loopback_bytes():
    with open("/proc/net/dev") as counters:
        line = next(line for line in counters if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def report(found):
    verdicts = []
    for nodes in NODES:
        of = {(it["where"], it["loss"]): it for it in found["trainings"] if it["nodes"] == nodes}
        for loss in ["squared_hinge", "hinge"]:
            one = of["one server", loss]["scans"]
            for where, most, aim in [("spread", 1, 0), ("one label a shard", 2, 0)]:
                more = float(of[where, loss]["scans"] - one)
                verdicts.append((f"{nodes} nodes, {where}, {loss}: scans beyond one server's", more, most, aim, True))
    away = [it for it in found["trainings"] if it["where"] != "one server"]
    share = max(it["sent"] for it in away) / found["table"]
    verdicts.append(("bytes between nodes / bytes of the table, the most", share, 0.2, 0.05, True))
    apart = max(abs(it["again"] / it["primal"] - 1) for it in found["trainings"])
    verdicts.append(("the objective computed in SQL beside the certificate's, relative", apart, 1e-6, None, True))
    head = ["nodes", "rows", "loss", "scans", "gap", "primal", "wall s", "sent MB", "of the table"]
    lines = [
        [
            str(it["nodes"]),
            it["where"],
            it["loss"],
            str(it["scans"]),
            f"{it['gap']:.1e}",
            f"{it['primal']:.6g}" if math.isfinite(it["primal"]) else "",
            seconds(it["wall"]),
            f"{it['sent'] / 2**20:.1f}",
            f"{it['sent'] / found['table']:.3f}",
        ]
        for it in found["trainings"]
    ]
    size = found["table"] / 2**20
    return f"{found['rows']} rows, {size:.0f} MB, a cache of {found['cache']}:\n\n{table(head, lines)}", verdicts, []
