"""Reading a table into the cache with helpers and without: seconds until the last row is there (`svm_training_log`), of a
training in the session itself whose cache holds all rows. In turns.

The session's own processor seconds, for the same part, are what it cannot hand over: with processors to spare for the
helpers, reading takes about as long as that. On a machine with two, three processes share them.
"""

import numpy as np

import machine
import server
from machine import spread
from report import seconds, table

TITLE = "Reading with helpers"
CACHE = "1GB"
HELPERS = [0, 1, 2]
ARRAY_ROWS, ARRAY_LENGTH = 40_000, 1536
MIXED = """
        CREATE TABLE reading AS
        SELECT CASE WHEN hashint4(i) % 10 > 3 THEN 'yes' ELSE 'no' END AS label, hashint4(i + 1) / 2e9 AS a, i % 7 AS b,
               'kind ' || i % 5 AS c, 'place ' || i % 40 AS d, (hashint4(i + 2) / 1e6)::numeric(12, 3) AS e,
               repeat('z', i % 60) AS f, timestamptz '2026-01-01 00:00+00' + i * interval '1 minute' AS g
        FROM generate_series(1, 600000) AS i"""
PARTITIONED = """;
        ALTER TABLE reading RENAME TO reading_base;
        CREATE TABLE reading (LIKE reading_base) PARTITION BY LIST (b);
        CREATE TABLE reading_0 PARTITION OF reading FOR VALUES IN (0, 1);
        CREATE TABLE reading_1 PARTITION OF reading FOR VALUES IN (2, 3);
        CREATE TABLE reading_2 PARTITION OF reading FOR VALUES IN (4, 5, 6);
        INSERT INTO reading SELECT * FROM reading_base;
        DROP TABLE reading_base"""
MADE = {
    "text, numeric, time: 8 columns": MIXED,
    "the same in 3 partitions": MIXED + PARTITIONED,
    "view of 6 expressions, with a filter": """
        CREATE TABLE reading_base AS
        SELECT hashint4(-i) > 0 AS label, 1 + hashint4(i) / 2.2e9::float8 AS a, 1 + hashint4(i + 1) / 2.2e9::float8 AS b,
               hashint4(i + 2) / 2e9::float8 AS c, hashint4(i + 3) / 2e9::float8 AS d, hashint4(i + 4) / 2e9::float8 AS e
        FROM generate_series(1, 800000) AS i;
        CREATE VIEW reading AS
        SELECT label, ln(a) AS a, sqrt(b) AS b, c * d AS c, greatest(c, d, e) AS d, c + d + e AS e, power(a, b) AS f
        FROM reading_base WHERE e < 0.9""",
}
ARRAYS = f"float4[{ARRAY_LENGTH}], out of line"


def measure(run):
    found = []
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute(f"SET pgsvm.cache_size = '{CACHE}'")
        for kind in [ARRAYS, *MADE]:
            size = load(connection, kind)
            runs = {helpers: [] for helpers in HELPERS}
            for repeat in range(4 if run.quick else 12):
                for helpers in HELPERS:
                    said = train(connection, helpers)
                    # the first finds its memory
                    if repeat > 0:
                        runs[helpers].append(said)
            run.say(f"  {kind}: " + ", ".join(f"{h}: {spread(wall(r))['median']:.3f} s" for h, r in runs.items()))
            for helpers, all in runs.items():
                times = {"wall": spread(wall(all)), "own": spread([own for _, own, _ in all])}
                found.append({"kind": kind, "bytes": size, "helpers": helpers, **times})
                assert all[-1][2] == helpers, f"{all[-1][2]} helpers, not {helpers}"
    return {"cells": found}


def wall(runs):
    return [wall for wall, _, _ in runs]


def load(connection, kind):
    """Makes the source and gives back its bytes on disk."""
    connection.execute("DROP TABLE IF EXISTS reading_base CASCADE; DROP TABLE IF EXISTS reading")
    if kind == ARRAYS:
        random = np.random.default_rng(5)
        x = random.standard_normal((ARRAY_ROWS, ARRAY_LENGTH), dtype=np.float32)
        y = np.where(x[:, 0] - x[:, 1] + random.standard_normal(ARRAY_ROWS) > 0, 1, -1)
        server.load_arrays(connection, "reading", y, x)
        stored = "reading"
    else:
        connection.execute(MADE[kind])
        stored = "reading_base" if "VIEW" in MADE[kind] else "reading"
        server.settle(connection, stored)
    of_parts = "SELECT sum(pg_table_size(relid)) FROM pg_partition_tree(%(of)s)"
    size = f"SELECT coalesce(({of_parts}), pg_table_size(%(of)s))::bigint"
    return connection.execute(size, {"of": stored}).fetchone()[0]


def train(connection, helpers):
    """Seconds until the last row was read, the session's own processor seconds until the end of it all less those of the
    passes behind, and the helpers there were."""
    connection.execute(f"SET pgsvm.helpers = {helpers}")
    told = []

    def listen(diagnostic):
        told.append(diagnostic.message_primary)

    connection.add_notice_handler(listen)
    backend = connection.info.backend_pid
    before = machine.processor_seconds(backend)
    connection.execute("SET client_min_messages = notice")
    connection.execute(
        "SELECT svm_train('reading', 'label', loss => 'hinge', max_passes => 1, tolerance => 0.9, model => 'bench')"
    )
    connection.execute("SET client_min_messages = error")
    used = machine.processor_seconds(backend) - before
    connection.remove_notice_handler(listen)
    read, ended = connection.execute("SELECT min(seconds), max(seconds) FROM svm_training_log('bench')").fetchone()
    said = next((text for text in told if " helper" in text), ", 0 helpers")
    connection.execute("SELECT svm_drop('bench')")
    return read, used - (ended - read), int(said.split(" helper")[0].split()[-1])


def report(found):
    rows, alone = [], {}
    for cell in found["cells"]:
        first = alone.setdefault(cell["kind"], cell)
        ratio = first["wall"]["median"] / cell["wall"]["median"]
        named = f"{cell['kind']}, {cell['bytes'] / 1e6:.0f} MB"
        own = f"{first['own']['median'] / cell['own']['median']:.2f}"
        times = [seconds(cell["wall"]), f"{ratio:.2f}", seconds(cell["own"]), own]
        rows.append([named, cell["helpers"], *times])
    header = [
        "table",
        "helpers",
        "reading, s",
        "alone / with helpers",
        "session's own processor s",
        "alone / with helpers",
    ]
    return table(header, rows), [], []
