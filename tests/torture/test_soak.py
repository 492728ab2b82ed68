"""Mixed work for as long as it is given: train, update, predict, drop, cancel, fail. Backends do not grow, nor do the
catalog and the model tables once vacuumed; no temporary file stays.
"""

import random
import time
from collections import Counter
from dataclasses import dataclass

import psycopg
import pytest

from harness.effort import SEED, record, seconds
from harness.memory import MB, private_bytes
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, one

# before that a session is still filling its caches, of models and of the catalog
TREND_SECONDS = 200
# models that live at a time, so many versions of each
MODELS, VERSIONS = 4, 3

MODEL_TABLES = (
    "(SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND deptype = 'e' AND refobjid ="
    " (SELECT oid FROM pg_extension WHERE extname = 'pgsvm'))"
)
RELATIONS = {
    "catalog": "relnamespace = 'pg_catalog'::regnamespace",
    "model tables": f"oid IN {MODEL_TABLES}",
}


@dataclass(frozen=True)
class Watched:
    """A quantity that may not grow by more than `limit` from the second quarter of the time to the last."""

    what: str
    unit: str
    limit: float
    look: callable


def relation_sizes(kind):
    """Megabytes with indexes and TOAST."""
    query = f"SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND {RELATIONS[kind]}"
    return lambda server, watcher, backend: one(watcher, query) / MB


def dead_rows(kind):
    query = (
        f"SELECT coalesce(sum(pg_stat_get_dead_tuples(oid)), 0) FROM pg_class WHERE relkind = 'r' AND {RELATIONS[kind]}"
    )
    return lambda server, watcher, backend: int(one(watcher, query))


WATCHED = [
    Watched("memory of the backend", "MB", 8, lambda server, watcher, backend: private_bytes(backend) / MB),
    Watched("catalog", "MB", 2, relation_sizes("catalog")),
    Watched("model tables", "MB", 2, relation_sizes("model tables")),
    Watched("dead rows of the catalog", "rows", 1000, dead_rows("catalog")),
    Watched("dead rows of the model tables", "rows", 1000, dead_rows("model tables")),
    Watched("temporary files", "files", 0.5, lambda server, watcher, backend: len(server.temporary_files())),
    Watched(
        "shared memory of trainings", "segments", 0.5, lambda server, watcher, backend: len(server.shared_memory())
    ),
    Watched("workers", "processes", 0.5, lambda server, watcher, backend: len(server.workers())),
]


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
            f"SELECT svm_train('points', 'label', ARRAY['x', 'y'], '{name}', loss => 'hinge', tolerance => 1e-30,"
            " max_passes => 1000000)"
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
    chance = random.Random(SEED)
    whole = seconds(quick=5)
    started, before = time.monotonic(), server.in_use()
    connection, watcher = connect(), connect()
    backend = connection.info.backend_pid
    done, ended, trace = Counter(), Counter(), []

    def look():
        trace.append((time.monotonic() - started, [each.look(server, watcher, backend) for each in WATCHED]))

    look()
    while time.monotonic() - started < whole:
        work = chance.choice(WORK)
        try:
            work(connection, chance, f"model_{chance.randrange(MODELS)}")
            done[work.__name__] += 1
        except EXPECTED as error:
            ended[error.sqlstate] += 1
        if sum(done.values()) % 25 == 24:
            vacuum(connection, chance, None)
            done["vacuum"] += 1
            assert not server.left_over(before)
            look()
    without_version = (
        "SELECT count(*) FROM svm_weight AS w WHERE NOT EXISTS (SELECT FROM svm_version AS v WHERE v.id = w.version_id)"
    )
    assert one(watcher, without_version) == 0
    files, spooled = watcher.execute(
        "SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    record(
        "soak",
        minutes=round(whole / 60, 1),
        statements=sum(done.values()),
        trained=done["train"],
        cancelled=ended["57014"],
        errors_as_expected=", ".join(f"{times} x {code}" for code, times in sorted(ended.items())),
        temporary_files_made=files,
        of_mb=round(spooled / MB),
    )
    # the first quarter fills caches; the second and the last are to be alike
    second = [row for at, row in trace if whole / 4 <= at < whole / 2]
    last = [row for at, row in trace if at >= 3 * whole / 4]
    if whole < TREND_SECONDS or not second or not last:
        return
    for place, watched in enumerate(WATCHED):
        early, late = (max(row[place] for row in rows) for rows in (second, last))
        record(
            "growth",
            what=watched.what,
            unit=watched.unit,
            at_the_start=round(trace[0][1][place], 1),
            second_quarter=round(early, 1),
            last_quarter=round(late, 1),
            at_the_end=round(trace[-1][1][place], 1),
            growth=round(late - early, 1),
            allowed=watched.limit,
        )
    grown = {
        watched.what: max(row[place] for row in last) - max(row[place] for row in second)
        for place, watched in enumerate(WATCHED)
    }
    assert all(grown[watched.what] <= watched.limit for watched in WATCHED), grown
