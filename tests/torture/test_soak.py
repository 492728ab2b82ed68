"""Mixed work for as long as it is given: train, update, predict, drop, cancel, fail. Backends do not grow, nor do the
catalog and the model tables once vacuumed; no temporary file stays.
"""

import random
import time
from collections import Counter

import psycopg
import pytest

from harness.effort import record, soak_seconds
from harness.memory import MB, private_bytes
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, one

GROWTH_BYTES = 8 * MB
BLOAT_BYTES = 2 * MB
# before that a session is still filling its caches, of models and of the catalog
TREND_SECONDS = 200
# models that live at a time, so many versions of each
MODELS, VERSIONS = 4, 3

TABLES = "('svm_model', 'svm_version', 'svm_head', 'svm_weight', 'svm_permission')"
SIZE = f"""
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relkind = 'r' AND (relnamespace = 'pg_catalog'::regnamespace OR relname IN {TABLES})
"""


@pytest.fixture(scope="module", autouse=True)
def tables(database, server):
    with server.connect(database) as connection:
        connection.execute(
            """
            CREATE TABLE points AS
            SELECT i AS id, sin(i)::real AS x, cos(3 * i)::real AS y, 'kind ' || i % 7 AS kind,
                   sin(i) + 0.2 * cos(3 * i) > 0 AS label, ARRAY[1 + i % 1000, 2000 + i % 3] AS idx, ARRAY[1, 2]::real[] AS val
            FROM generate_series(1, 20000) AS i;
            ANALYZE points;
            """
        )


def train(connection, chance, name):
    configure(
        connection, chance.choice([TWO_WORKERS, NO_WORKER]) | {"pgsvm.cache_size": chance.choice(["256kB", "8MB"])}
    )
    columns, label = chance.choice(
        [("ARRAY['x', 'y']", "label"), ("ARRAY['x', 'kind']", "label"), ("ARRAY['sparse(idx, val)']", "kind")]
    )
    extra = chance.choice(["", ", probability => true", ", c => NULL", ", class_weight => 'balanced'"])
    connection.execute(
        f"SELECT svm_train('points', '{label}', {columns}, '{name}', tolerance => 0.1, max_passes => 5{extra})"
    )


def update(connection, chance, name):
    versions = connection.execute("SELECT version FROM svm_versions WHERE name = %s", [name]).fetchall()
    connection.execute("SELECT svm_deploy(%s, %s)", [name, chance.choice(versions or [(1,)])[0]])
    old = "SELECT version FROM svm_versions WHERE name = %s AND NOT deployed ORDER BY version DESC OFFSET %s"
    for (version,) in connection.execute(old, [name, VERSIONS - 1]).fetchall():
        connection.execute("SELECT svm_drop(%s, %s)", [name, version])


def predict(connection, chance, name):
    function = chance.choice(
        ["svm_classify({}, p)", "svm_decision({}, p, svm_classify({}, p))", "svm_predict_set({}, p)"]
    )
    connection.execute(
        f"SELECT count(s) FROM (SELECT {function} AS s FROM points AS p) AS s".replace("{}", f"'{name}'")
    )


def evaluate(connection, chance, name):
    connection.execute(
        chance.choice(
            [
                f"SELECT * FROM svm_evaluate('{name}', 'points')",
                f"SELECT * FROM svm_suspects('{name}', 'points')",
                f"SELECT count(*) FROM svm_weights('{name}')",
                f"SELECT svm_export('{name}')",
                f"SELECT count(e) FROM points AS p, svm_explain('{name}', p) AS e",
            ]
        )
    )


def drop(connection, chance, name):
    connection.execute("SELECT svm_drop(%s)", [name])


def cancel(connection, chance, name):
    configure(connection, {"statement_timeout": chance.choice(["5ms", "50ms", "200ms"])})
    try:
        connection.execute(
            f"SELECT svm_train('points', 'label', ARRAY['x', 'y'], '{name}', tolerance => 1e-30, max_passes => 1000000)"
        )
    finally:
        configure(connection, {"statement_timeout": "0"})


def fail(connection, chance, name):
    connection.execute(
        f"SELECT svm_train_query('SELECT x / (id - 15000) AS x, label FROM points', 'label', model => '{name}')"
    )


def vacuum(connection, chance, name):
    """As autovacuum does in the end; the server's own sleeps in tests."""
    connection.execute("VACUUM")


WORK = [train] * 4 + [update] * 2 + [predict] * 4 + [evaluate] * 3 + [drop, cancel, cancel, fail]
EXPECTED = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.QueryCanceled,
    psycopg.errors.DivisionByZero,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.ObjectNotInPrerequisiteState,
)


def test_mixed_work_leaves_no_trace(server, connect):
    chance = random.Random(0)
    whole = soak_seconds(quick=5, share=0.16)
    started, before = time.monotonic(), server.in_use()
    connection, watcher = connect(), connect()
    done, ended, trace = Counter(), Counter(), []
    while (elapsed := time.monotonic() - started) < whole:
        work = chance.choice(WORK)
        try:
            work(connection, chance, f"model_{chance.randrange(MODELS)}")
            done[work.__name__] += 1
        except EXPECTED as error:
            ended[error.sqlstate] += 1
        if sum(done.values()) % 25 == 24:
            vacuum(connection, chance, None)
            trace.append((elapsed, private_bytes(connection.info.backend_pid), one(watcher, SIZE)))
            assert not server.left_over(before)
    assert (
        one(
            watcher,
            "SELECT count(*) FROM svm_weight AS w LEFT JOIN svm_version AS v ON v.id = w.version_id WHERE v.id IS NULL",
        )
        == 0
    )
    record(
        "soak",
        minutes=round(whole / 60, 1),
        statements=sum(done.values()),
        errors_as_expected=", ".join(f"{times} x {code}" for code, times in sorted(ended.items())),
    )
    # the first quarter fills caches; the second and the last are to be alike
    second = [row for row in trace if whole / 4 <= row[0] < whole / 2]
    last = [row for row in trace if row[0] >= 3 * whole / 4]
    if whole < TREND_SECONDS or not second or not last:
        return
    grown = {}
    for place, (what, limit) in enumerate([("backend", GROWTH_BYTES), ("catalog and models", BLOAT_BYTES)], start=1):
        early, late = (max(row[place] for row in rows) for rows in (second, last))
        grown[what] = (late - early, limit)
        record("growth", what=what, second_quarter_mb=round(early / MB, 1), last_quarter_mb=round(late / MB, 1))
    assert all(growth < limit for growth, limit in grown.values()), grown
