"""Trainings by scans: nothing is left behind however they end, they see what the caller may see, and rows as they were when the
training began."""

import time

import psycopg
import pytest

from harness.server import wait_until
from harness.sessions import configure, model, one, stored_rows

PARALLEL = {
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "min_parallel_table_scan_size": "0",
    "max_parallel_workers_per_gather": "2",
}
# each row takes some tens of microseconds, so that a scan lasts
SLOW = "SELECT slowly(a) AS a, b, y FROM points"
TRAIN = f"SELECT svm_train_query('{SLOW}', 'y', model => 'slow', solver => 'scan', loss => '%s', tolerance => 1e-12)"


@pytest.fixture(scope="module")
def points(server, database):
    with server.connect(database) as connection:
        connection.execute("""
            CREATE TABLE points AS
            SELECT i AS id, (hashint8extended(i, 1) & 1023) / 1024.0::float8 AS a, (hashint8extended(i, 2) & 1023) / 1024.0::float8 AS b,
                   (hashint8extended(i, 1) & 1023) + (hashint8extended(i, 2) & 1023) + (hashint8extended(i, 3) & 511) > 1280 AS y
            FROM generate_series(1, 60000) AS i;
            ANALYZE points;
            CREATE FUNCTION slowly(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
            DECLARE sum float8 := 0;
            BEGIN
                FOR i IN 1..300 LOOP sum := sum + i; END LOOP;
                RETURN x + 0 * sum;
            END $$""")
    return database


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_scan_ends_within_a_second_and_leaves_nothing(server, points, connect, run, loss, how):
    connection, watcher = connect(), connect()
    # the sample of so small a cache says little, so that there are scans to be ended
    configure(connection, {**PARALLEL, "pgsvm.cache_size": "64kB"})
    before, rows_before = server.in_use(), stored_rows(watcher)
    running = run(connection, TRAIN % loss)
    shown = "SELECT count(*) FROM svm_progress WHERE leader_pid = %s AND pass >= 1"
    wait_until(lambda: running.over or one(watcher, shown, [running.pid]), within_seconds=60, what="a first scan")
    assert not running.over, running.end()
    wait_until(server.workers, what="workers of the scan")
    asked = time.monotonic()
    watcher.execute(f"SELECT {how}(%s)", [running.pid])
    assert running.seconds_until_end(since=asked) < 1.0
    ended = psycopg.errors.QueryCanceled if how == "pg_cancel_backend" else psycopg.OperationalError
    assert isinstance(running.end(), ended)
    assert not server.left_over(before, within_seconds=1.0)
    assert stored_rows(watcher) == rows_before


def test_rows_are_those_of_the_beginning(points, connect, run):
    connection, other = connect(), connect()
    configure(connection, {**PARALLEL, "pgsvm.cache_size": "64kB"})
    running = run(connection, TRAIN % "squared_hinge")
    shown = "SELECT count(*) FROM svm_progress WHERE leader_pid = %s AND pass >= 1"
    wait_until(lambda: running.over or one(other, shown, [running.pid]), within_seconds=60, what="a first scan")
    other.execute("INSERT INTO points SELECT 0, 0.5, 0.5, true FROM generate_series(1, 1000)")
    assert running.end(within_seconds=120) == [("slow",)]
    other.execute("DELETE FROM points WHERE id = 0")
    assert model(other, "slow")["rows_used"] == 60000


def test_no_file_is_written_and_the_cache_bounds_what_is_held(server, points, connect):
    connection = connect()
    configure(connection, {"pgsvm.cache_size": "1MB", "temp_file_limit": "0"})
    for loss in ["squared_hinge", "hinge"]:
        connection.execute(f"SELECT svm_train('points', 'y', '{{a, b}}', 'held', solver => 'scan', loss => '{loss}')")
        assert model(connection, "held")["gap"] <= 1e-3
        held = one(connection, "SELECT max(cache_rows) FROM svm_training_log('held')")
        # a row of two features takes 32 bytes
        assert held * 32 <= 1 << 20


def test_a_scan_reads_with_the_rights_of_the_caller(points, connect):
    connection = connect()
    connection.execute("""
        DROP ROLE IF EXISTS scanner; CREATE ROLE scanner; GRANT CREATE ON SCHEMA public TO scanner;
        CREATE TABLE shared AS TABLE points; ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
        CREATE POLICY half ON shared USING (id <= 20000)""")
    connection.execute("SET ROLE scanner")
    training = "SELECT svm_train('shared', 'y', '{a, b}', 'seen', solver => 'scan')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(training)
    connection.execute("RESET ROLE; GRANT SELECT ON shared TO scanner; SET ROLE scanner")
    for settings in [{}, PARALLEL]:
        configure(connection, settings)
        connection.execute(training)
        assert model(connection, "seen")["rows_used"] == 20000


def test_rows_near_the_margin_that_are_too_many_are_streamed(points, connect):
    """Labels by chance on 300 columns: what is near the margin is nearly all, and its problem takes longer than passes over all."""
    connection = connect()
    said = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_detail or ""))
    connection.execute("""
        CREATE TABLE chance AS
        SELECT hashint8extended(i, 0) % 2 = 0 AS y, ARRAY(SELECT (hashint8extended(i, c) & 255)::float4 / 255 FROM generate_series(1, 300) AS c) AS x
        FROM generate_series(1, 6000) AS i;
        ANALYZE chance""")
    ask = "SELECT svm_train('chance', 'y', '{x}', '%s', solver => '%s', loss => 'hinge', c => 10)"
    connection.execute(ask % ("over", "scan"))
    told = "".join(said)
    assert "Went over from solver 'scan'" in told and "solver stream" in told, said
    connection.execute(ask % ("kept", "stream"))
    over, kept = (model(connection, name) for name in ["over", "kept"])
    assert over["solver"] == "stream"
    assert over["gap"] <= 1e-3 and abs(over["primal"] / kept["primal"] - 1) <= 1e-3
    connection.execute("DROP TABLE chance")
