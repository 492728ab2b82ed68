"""However and whenever a training is ended, it is back within a second and leaves nothing: no worker, shared memory,
temporary file or row of a model; the server goes on, and the version before stays in force.
"""

import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import psycopg
import pytest

from harness.phases import MANY_HEADS, PHASES, family, in_phase, make_tables
from harness.server import wait_until
from harness.sessions import (
    HELPERS,
    NO_WORKER,
    ONE_WORKER,
    TWO_TRAINERS,
    TWO_WORKERS,
    configure,
    model,
    one,
    stored_rows,
)

BACK_WITHIN_SECONDS = 1.0

PROCESSES = {"two_workers": TWO_WORKERS, "one_worker": ONE_WORKER, "no_worker": NO_WORKER}
WITH_HELPERS = ("loading_with_helpers", "helpers", HELPERS)
WAYS = [*((phase, name, settings) for phase in PHASES for name, settings in PROCESSES.items()), WITH_HELPERS]


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    with server.connect(database) as connection:
        make_tables(connection)


@pytest.fixture
def nothing_left(server, connect):
    """Call it after the end of a training: fails when the training left anything or a process of the server died."""
    watcher = connect()
    before, rows_before = server.in_use(), stored_rows(watcher)

    def check():
        assert not server.left_over(before, within_seconds=BACK_WITHIN_SECONDS)
        assert stored_rows(watcher) == rows_before
        assert one(watcher, "SELECT count(*) FROM svm_progress") == 0
        assert not server.complaints()

    return check


def start(server, connect, run, phase, settings):
    """Starts a training and returns it once it is in `phase`."""
    statement, phase_settings = PHASES[phase]
    connection, watcher = connect(), connect()
    configure(connection, settings | phase_settings)
    running = run(connection, statement)
    wait_until(lambda: running.over or in_phase(server, watcher, running.pid, phase), what=f"the phase {phase}")
    assert not running.over, running.end()
    return running, watcher


@pytest.mark.parametrize(("phase", "processes", "settings"), WAYS)
def test_a_cancel_is_back_within_a_second(server, connect, run, nothing_left, phase, processes, settings):
    running, watcher = start(server, connect, run, phase, settings)
    if processes != "no_worker" and phase != "storing":
        assert server.shared_memory(), "what must not stay is to be seen before"
    asked = time.monotonic()
    watcher.execute("SELECT pg_cancel_backend(%s)", [running.pid])
    assert running.seconds_until_end(since=asked) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    nothing_left()
    assert one(running.connection, "SELECT current_setting('application_name')") == one(
        watcher, "SELECT application_name FROM pg_stat_activity WHERE pid = %s", [running.pid]
    )


@pytest.mark.parametrize("after_seconds", [0.3, 1.5, 4])
@pytest.mark.parametrize("what", MANY_HEADS)
def test_a_cancel_of_very_many_heads_is_back_within_a_second(connect, run, nothing_left, what, after_seconds):
    statement, settings = MANY_HEADS[what]
    connection = connect()
    configure(connection, settings)
    running = run(connection, statement)
    time.sleep(after_seconds)
    asked = time.monotonic()
    connection.cancel_safe()
    assert running.seconds_until_end(since=asked, within_seconds=60) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    nothing_left()


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
@pytest.mark.parametrize(("phase", "rank"), [("loading", 100), ("factoring", 1000), ("interior point", 100)])
def test_the_machines_of_psvm_end_with_their_training(server, connect, run, nothing_left, how, phase, rank):
    """A hundred classes are a hundred interior points, one after the other: none of the phases is over soon."""
    connection, watcher = connect(), connect()
    watcher.execute(NOISE)
    configure(connection, {"pgsvm.cache_size": "1GB"})
    options = """'{"machines": 3}'"""
    source = "slow_noise" if phase == "loading" else "noise"
    terms = f"kernel => 'rbf', rank => {rank}, c => 100, tolerance => 1e-9, solver => 'interior_point', options => {options}"
    running = run(connection, f"SELECT svm_train('{source}', 'y', ARRAY['v'], {terms})")
    shown = "SELECT count(*) > 0 FROM svm_progress WHERE leader_pid = %s AND phase = %s"
    wait_until(lambda: running.over or one(watcher, shown, [running.pid, phase]), within_seconds=60, what=phase)
    assert not running.over, running.end()
    asked = time.monotonic()
    watcher.execute(f"SELECT {how}(%s)", [running.pid])
    assert running.seconds_until_end(since=asked) < 0.5 * BACK_WITHIN_SECONDS
    ended = psycopg.errors.QueryCanceled if how == "pg_cancel_backend" else psycopg.OperationalError
    assert isinstance(running.end(), ended)
    nothing_left()


NOISE = """
    CREATE TABLE IF NOT EXISTS noise AS
    SELECT ARRAY(SELECT hashint8extended(i, k) / 1e19 FROM generate_series(1, 20) AS k) AS v, i % 100 AS y
    FROM generate_series(1, 60000) AS i;
    CREATE OR REPLACE VIEW slow_noise AS SELECT v, y FROM noise WHERE y > 0 OR pg_sleep(0.01) IS NOT NULL
"""


@pytest.mark.parametrize("after_seconds", [0.3, 1.5, 4, 8])
@pytest.mark.parametrize("cache", ["4MB", "1GB"])
def test_a_cancel_of_a_grid_over_gamma_is_back_within_a_second(connect, run, nothing_left, cache, after_seconds):
    """While rows are read, a sample is taken, landmarks are chosen, rows are mapped, heads are trained, or solved exactly."""
    connection = connect()
    configure(connection, NO_WORKER | {"pgsvm.cache_size": cache})
    options = '{"choose": ["c", "gamma"], "method": "exact"}'
    terms = f"kernel => 'rbf', rank => 100, options => '{options}'"
    running = run(connection, f"SELECT svm_train('noisy', 'label', '{{features}}', model => 'm', {terms})")
    time.sleep(after_seconds)
    asked = time.monotonic()
    connection.cancel_safe()
    assert running.seconds_until_end(since=asked, within_seconds=60) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    nothing_left()


@pytest.mark.parametrize("processes", PROCESSES)
@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_two_trainers_end_like_one(server, connect, run, nothing_left, how, processes):
    settings = PROCESSES[processes] | TWO_TRAINERS
    running, watcher = start(server, connect, run, "training_in_memory", settings)
    pids = family(watcher, running.pid)
    wait_until(lambda: any(threads(pid) > 1 for pid in pids), what="a second trainer")
    asked = time.monotonic()
    watcher.execute(f"SELECT {how}(%s)", [running.pid])
    assert running.seconds_until_end(since=asked) < BACK_WITHIN_SECONDS
    ended = psycopg.errors.QueryCanceled if how == "pg_cancel_backend" else psycopg.OperationalError
    assert isinstance(running.end(), ended)
    nothing_left()
    assert all(threads(pid) <= 1 for pid in pids)


def threads(pid):
    """Threads of a process; 0 when it is gone."""
    try:
        return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


@pytest.mark.parametrize("phase", PHASES)
def test_terminating_the_backend_leaves_nothing(server, connect, run, nothing_left, phase):
    running, watcher = start(server, connect, run, phase, TWO_WORKERS)
    asked = time.monotonic()
    watcher.execute("SELECT pg_terminate_backend(%s)", [running.pid])
    assert running.seconds_until_end(since=asked) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.OperationalError)
    nothing_left()


@pytest.mark.parametrize("phase", ["loading", "loading_with_helpers", "training_in_memory", "training_out_of_core"])
def test_terminating_a_worker_ends_the_training_with_its_error(server, connect, run, nothing_left, phase):
    running, watcher = start(server, connect, run, phase, TWO_WORKERS)
    worker = next(pid for pid in family(watcher, running.pid) if pid != running.pid)
    ends_with(worker, running, watcher, nothing_left)


def test_terminating_a_helper_ends_the_training_with_its_error(server, connect, run, nothing_left):
    running, watcher = start(server, connect, run, "loading_with_helpers", HELPERS)
    wait_until(lambda: len(family(watcher, running.pid)) == 3, what="two helpers")
    helper = max(family(watcher, running.pid))
    assert helper != running.pid
    ends_with(helper, running, watcher, nothing_left)


def ends_with(worker, running, watcher, nothing_left):
    """Terminates one of a training's workers, whose error is the training's; the session goes on."""
    asked = time.monotonic()
    watcher.execute("SELECT pg_terminate_backend(%s)", [worker])
    assert running.seconds_until_end(since=asked) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.errors.AdminShutdown)
    nothing_left()
    assert one(running.connection, "SELECT 1") == 1


@pytest.mark.parametrize("phase", ["loading", "training_in_memory", "training_out_of_core", "storing"])
def test_statement_timeout_ends_a_training_on_time(connect, nothing_left, phase):
    connection = connect()
    statement, settings = PHASES[phase]
    configure(connection, TWO_WORKERS | settings | {"statement_timeout": "700ms"})
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        connection.execute(statement)
    assert time.monotonic() - started < 0.7 + BACK_WITHIN_SECONDS
    nothing_left()


def test_a_client_that_is_killed_ends_its_training(server, database, connect, nothing_left):
    """With client_connection_check_interval; without it a server does not look while it works."""
    statement, settings = PHASES["training_out_of_core"]
    program = textwrap.dedent(
        """
        import psycopg, sys
        conninfo, statement, *settings = sys.argv[1:]
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for setting in settings:
                connection.execute("SELECT set_config(%s, %s, false)", setting.split("="))
            connection.execute(statement)
        """
    )
    settings = TWO_WORKERS | settings | {"client_connection_check_interval": "100ms"}
    conninfo = f"host={server.socket_directory} port=5432 user=postgres dbname={database}"
    client = subprocess.Popen(
        [sys.executable, "-c", program, conninfo, statement, *(f"{name}={value}" for name, value in settings.items())]
    )
    try:
        watcher = connect()
        wait_until(lambda: one(watcher, "SELECT count(*) FROM svm_progress WHERE phase = 'training'"), what="training")
        asked = time.monotonic()
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
    backends = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT svm_train%' AND state = 'active'"
    wait_until(lambda: one(watcher, backends) == 0, what="the end of the training")
    assert time.monotonic() - asked < BACK_WITHIN_SECONDS
    nothing_left()


def test_a_cancel_while_another_session_holds_the_table_of_models_leaves_nothing(connect, run, nothing_left):
    blocker, connection = connect(autocommit=False), connect()
    configure(connection, TWO_WORKERS)
    blocker.execute("LOCK TABLE svm_model IN SHARE ROW EXCLUSIVE MODE")
    running = run(connection, "SELECT svm_train('spread', 'label', ARRAY['sparse(idx, val)'], model => 'm')")
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'svm_model'::regclass"
    wait_until(lambda: blocker.execute(waiting).fetchone(), what="waiting for the table of models")
    asked = time.monotonic()
    connection.cancel_safe()
    assert running.seconds_until_end(since=asked) < BACK_WITHIN_SECONDS
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    blocker.rollback()
    nothing_left()


def test_everything_is_given_back_before_the_transaction_is_rolled_back(server, connect, run, nothing_left):
    statement, settings = PHASES["training_out_of_core"]
    connection, watcher = connect(autocommit=False), connect()
    configure(connection, TWO_WORKERS | settings)
    running = run(connection, statement)
    wait_until(lambda: in_phase(server, watcher, running.pid, "training_out_of_core"), what="training")
    watcher.execute("SELECT pg_cancel_backend(%s)", [running.pid])
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    nothing_left()
    connection.rollback()


def test_a_function_may_catch_the_cancel_and_train_again(server, connect, run):
    connection, watcher = connect(), connect()
    before = server.in_use()
    configure(connection, TWO_WORKERS | {"pgsvm.cache_size": "4MB"})
    connection.execute(
        """
        CREATE FUNCTION stubborn() RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
            RETURN svm_train('noisy', 'label', model => 'first', tolerance => 1e-15, max_passes => 1000000);
        EXCEPTION WHEN query_canceled THEN
            RETURN svm_train('noisy', 'label', model => 'second', tolerance => 0.9);
        END $$
        """
    )
    running = run(connection, "SELECT stubborn()")
    wait_until(lambda: in_phase(server, watcher, running.pid, "training_out_of_core"), what="training")
    watcher.execute("SELECT pg_cancel_backend(%s)", [running.pid])
    assert running.end() == [("second",)]
    assert not server.left_over(before)
    assert model(watcher, "first") is None
    assert model(watcher, "second")["workers"] == 2


def test_the_version_before_a_cancelled_training_stays_in_force(server, connect, nothing_left):
    connection = connect()
    decision = "SELECT svm_decision('before', t) FROM spread AS t LIMIT 1"
    expected = one(connection, decision)
    configure(connection, {"test.dawdle": "on", "statement_timeout": "500ms"})
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(
            "SELECT svm_train('spread', 'label', ARRAY['sparse(idx, val)'], model => 'before', c => 0.01)"
        )
    nothing_left()
    assert model(connection, "before")["version"] == 1
    assert one(connection, decision) == expected
