"""A training that is cancelled, terminated or timed out, in every phase: back within a second, nothing stays behind."""

import contextlib
import threading
import time

import psycopg
import pytest

from harness.server import wait_until

SECONDS_TO_RETURN = 1.0


@pytest.fixture(scope="module")
def large(server, database):
    """A table that a training with a small cache works on for minutes: labels are noise, the tolerance out of reach."""
    with server.connect(database) as connection:
        connection.execute("SELECT setseed(0.25)")
        connection.execute("""
            CREATE TABLE large AS
            SELECT random() < 0.5 AS label, ARRAY(SELECT random()::float4 FROM generate_series(1, 20) WHERE g > 0) AS x
            FROM generate_series(1, 150000) g""")
        # rows that come late, so that the reading phase can be met
        connection.execute("""
            CREATE VIEW slow AS SELECT label, x FROM large WHERE pg_sleep(0.0001) IS NOT NULL""")
    return "large"


SETTINGS = "SET pgsvm.cache_size = '2MB'; SET pgsvm.workers = {workers}; SET pgsvm.min_parallel_size = 0"
TRAINING = "SELECT svm_train('{table}', 'label', model => 'never', c => 100, tolerance => 1e-9, max_passes => 1000000)"
SHORT_TRAINING = "SELECT svm_train('large', 'label', model => 'never', tolerance => 0.5, max_passes => 1)"


@contextlib.contextmanager
def running(connection, statement):
    """Runs a statement in a thread; yields a function that waits for its end and returns (seconds waited, error)."""
    outcome = []

    def execute():
        try:
            connection.execute(statement)
            outcome.append(None)
        except psycopg.Error as error:
            outcome.append(error)

    thread = threading.Thread(target=execute)
    thread.start()

    def finished():
        started = time.monotonic()
        thread.join(timeout=30)
        assert outcome, "the statement is still running"
        return time.monotonic() - started, outcome[0]

    try:
        yield finished
    finally:
        if thread.is_alive() and not connection.closed:
            connection.cancel_safe()
        thread.join(timeout=30)


def phase_is_reached(server, phase):
    with server.connect() as watcher:
        wait_until(
            lambda: watcher.execute("SELECT 1 FROM pg_stat_activity WHERE application_name ~ %s", (phase,)).fetchone(),
            within_seconds=60,
            what=f"a process showing {phase}",
        )


def models(connect):
    return connect().execute("SELECT count(*) FROM svm_version").fetchone()[0]


LOADING, PASSING = "^pgsvm .*: loading", "^pgsvm .*: pass"


@pytest.mark.parametrize("workers", [2, 1, 0])
@pytest.mark.parametrize("table, phase", [("slow", LOADING), ("large", PASSING)], ids=["reading", "training"])
def test_cancel_is_back_within_a_second_and_leaves_nothing(server, connect, large, workers, table, phase):
    connection = connect()
    connection.execute(SETTINGS.format(workers=workers))
    before = server.in_use()
    with running(connection, TRAINING.format(table=table)) as finished:
        phase_is_reached(server, phase)
        if workers:
            assert len(server.workers() - before.workers) == workers
        connection.cancel_safe()
        seconds, error = finished()
    assert isinstance(error, psycopg.errors.QueryCanceled), error
    assert seconds < SECONDS_TO_RETURN
    assert not server.left_over(before)
    assert models(connect) == 0
    assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not server.complaints()


def test_cancel_while_the_model_is_stored_leaves_no_row(server, connect, large):
    blocker = connect(autocommit=False)
    blocker.execute("LOCK TABLE svm_model IN SHARE ROW EXCLUSIVE MODE")
    connection = connect()
    connection.execute(SETTINGS.format(workers=2))
    before = server.in_use()
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'svm_model'::regclass"
    with running(connection, SHORT_TRAINING) as finished:
        wait_until(lambda: blocker.execute(waiting).fetchone(), within_seconds=60, what="waiting for the model table")
        connection.cancel_safe()
        seconds, error = finished()
    blocker.rollback()
    assert isinstance(error, psycopg.errors.QueryCanceled), error
    assert seconds < SECONDS_TO_RETURN
    assert not server.left_over(before)
    assert models(connect) == 0


def test_a_terminated_backend_takes_its_workers_along(server, connect, large):
    connection = connect()
    connection.execute(SETTINGS.format(workers=2))
    before = server.in_use()
    with running(connection, TRAINING.format(table="large")) as finished:
        phase_is_reached(server, PASSING)
        connect().execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        seconds, error = finished()
    assert isinstance(error, psycopg.OperationalError), error
    assert seconds < SECONDS_TO_RETURN
    assert not server.left_over(before)
    assert not server.complaints()


def test_a_terminated_worker_ends_the_training_with_an_error(server, connect, large):
    connection = connect()
    connection.execute(SETTINGS.format(workers=2))
    before = server.in_use()
    with running(connection, TRAINING.format(table="large")) as finished:
        phase_is_reached(server, PASSING)
        worker = next(iter(server.workers() - before.workers))
        connect().execute("SELECT pg_terminate_backend(%s)", (worker,))
        seconds, error = finished()
    assert isinstance(error, psycopg.Error), error
    assert seconds < SECONDS_TO_RETURN
    assert not server.left_over(before)
    assert models(connect) == 0
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_statement_timeout_ends_a_training(server, connect, large):
    connection = connect()
    connection.execute(SETTINGS.format(workers=2))
    connection.execute("SET statement_timeout = '700ms'")
    before = server.in_use()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(TRAINING.format(table="large"))
    assert not server.left_over(before)
    assert models(connect) == 0


def test_a_training_that_ends_leaves_its_model_and_nothing_else(server, connect, large):
    connection = connect()
    connection.execute(SETTINGS.format(workers=2))
    before = server.in_use()
    connection.execute(SHORT_TRAINING)
    assert not server.left_over(before)
    assert models(connect) == 1
