"""PSVM's machines as processes: what they find is what threads find, each holds its part, and whichever is ended ends all."""

import re

import psycopg
import pytest

from harness.phases import family
from harness.server import wait_until
from harness.sessions import configure, one

NOISE = """
    CREATE TABLE noise AS
    SELECT i AS id, ARRAY(SELECT hashint8extended(i, k) / 1e19 FROM generate_series(1, 10) AS k) AS v, i % 3 AS class,
        hashint8extended(i, 1) / 1e19 + hashint8extended(i, 2) / 2e19 > hashint8extended(i, 0) / 4e19 AS y,
        CASE WHEN i % 7 > 0 THEN format('1:%s 9:%s', i % 11, i % 5) END AS entries
    FROM generate_series(1, 20000) AS i
"""
TERMS = "kernel => 'rbf', solver => 'interior_point'"


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    with server.connect(database) as connection:
        connection.execute(NOISE)


def with_machines(connection, machines, **settings):
    configure(connection, {"pgsvm.machines": str(machines), "pgsvm.cache_size": "1GB"} | settings)


def trained(connection, call):
    """The model of a training: intercepts, weights and landmarks as stored, and the DETAIL of what is said."""
    notices = []
    connection.add_notice_handler(lambda it: notices.append(it.message_detail or ""))
    model = one(connection, f"SELECT {call}")
    stored = connection.execute(
        """
        SELECT v.primal, v.dual, v.gap, v.passes,
            (SELECT array_agg(w ORDER BY w::text) FROM svm_weight AS w WHERE w.version_id = v.id),
            (SELECT array_agg(h ORDER BY h.head) FROM svm_head AS h WHERE h.version_id = v.id),
            (SELECT array_agg(d ORDER BY d::text) FROM svm_dual AS d WHERE d.version_id = v.id),
            (SELECT array_agg(l ORDER BY l::text) FROM svm_landmark AS l WHERE l.version_id = v.id)
        FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = %s ORDER BY v.version DESC LIMIT 1
        """,
        [model],
    ).fetchone()
    # rows of tables begin with their version's id
    return [re.sub(r"\(\d+,", "(", str(it)) for it in stored], "\n".join(notices)


CALLS = {
    "two classes": f"svm_train('noise', 'y', ARRAY['v'], 'm', {TERMS}, rank => 60)",
    "three classes": f"svm_train('noise', 'class', ARRAY['v'], 'm', {TERMS}, rank => 30)",
    "sparse rows with NULLs": f"svm_train('noise', 'y', ARRAY['libsvm(entries)'], 'm', {TERMS}, rank => 20, nulls => 'skip')",
    "duals": f"""svm_train('noise', 'y', ARRAY['v'], 'm', {TERMS}, rank => 40, options => '{{"duals": true}}')""",
    "a query": f"svm_train_query('SELECT v, y FROM noise WHERE id < 5000', 'y', model => 'm', {TERMS})",
}


@pytest.mark.parametrize("what", CALLS)
def test_processes_find_bit_for_bit_what_threads_find(connect, what):
    connection = connect()
    with_machines(connection, 0)
    connection.execute("SET pgsvm.trainers = 3")
    threads, _ = trained(connection, CALLS[what])
    with_machines(connection, 3)
    processes, detail = trained(connection, CALLS[what])
    assert "3 machines" in detail
    assert processes == threads


@pytest.mark.parametrize("machines", [0, 3])
def test_a_factor_beyond_the_cache_is_spooled(server, connect, machines):
    """It is the same bit for bit; without processes the session is the only machine, as threads have no temporary files."""
    call = f"svm_train('noise', 'y', ARRAY['v'], 'm', {TERMS}, rank => 200)"
    connection = connect()
    with_machines(connection, max(machines, 1))
    expected, _ = trained(connection, call)
    with_machines(connection, machines, **{"pgsvm.cache_size": "13MB", "log_temp_files": "0"})
    connection.execute("SET pgsvm.trainers = 2")
    found, detail = trained(connection, call)
    assert f"{max(machines, 1)} machine" in detail
    assert found == expected
    with_machines(connection, machines, **{"pgsvm.cache_size": "3MB"})
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="the machines' rows do not fit"):
        connection.execute(f"SELECT {call}")
    with_machines(connection, machines, **{"pgsvm.cache_size": "13MB", "temp_file_limit": "4MB"})
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="temp_file_limit"):
        connection.execute(f"SELECT {call}")


def test_each_machine_holds_its_part(connect):
    connection = connect()
    held = {}
    for machines in [2, 4]:
        with_machines(connection, machines)
        _, detail = trained(connection, CALLS["two classes"])
        found = re.search(r"(\d+) machines, ([\d.]+) MB at most on each: ", detail)
        assert int(found[1]) == machines
        held[machines] = float(found[2])
    assert 0.4 < held[4] / held[2] < 0.7


def test_a_server_without_workers_has_fewer_machines(connect):
    connection = connect()
    for workers, machines in [(1, "2 machines, "), (0, "1 machine, ")]:
        with_machines(connection, 4, max_parallel_workers=str(workers))
        _, detail = trained(connection, CALLS["two classes"])
        assert machines in detail
    with_machines(connection, 2, max_parallel_workers="8")
    options = """options => '{"machines": 3}'"""
    _, detail = trained(connection, f"svm_train('noise', 'y', ARRAY['v'], 'm', {TERMS}, rank => 10, {options})")
    assert "3 machines, " in detail


def test_what_goes_wrong_in_a_worker_is_the_error(connect):
    connection = connect()
    connection.execute("CREATE TABLE far AS SELECT v, y FROM noise")
    # the second machine's row: k(x, x) is no finite number, while products with others are
    connection.execute("UPDATE far SET v = array_fill(3e3::float8, ARRAY[10]) WHERE ctid = '(0,2)'")
    with_machines(connection, 2)
    terms = "kernel => 'polynomial', gamma => 1, degree => 9, coef0 => 1, scale => 'none', rank => 10, solver => 'interior_point'"
    with pytest.raises(psycopg.errors.NumericValueOutOfRange, match="finite"):
        connection.execute(f"SELECT svm_train('far', 'y', ARRAY['v'], 'm', {terms})")
    assert one(connection, "SELECT count(*) FROM pg_stat_activity WHERE leader_pid = pg_backend_pid()") == 0


LONG = f"SELECT svm_train('noise', 'id', ARRAY['v'], 'm', {TERMS}, rank => 400, c => 100, tolerance => 1e-9)"


@pytest.mark.parametrize("phase", ["factoring", "interior point"])
@pytest.mark.parametrize("how", ["cancel", "terminate", "terminate a worker", "statement timeout"])
def test_whichever_process_ends_ends_all(server, connect, run, phase, how):
    connection, watcher = connect(), connect()
    connection.execute("CREATE TABLE IF NOT EXISTS many AS SELECT v, id % 200 AS id FROM noise")
    with_machines(connection, 3)
    before = server.in_use()
    if how == "statement timeout":
        connection.execute(f"SET statement_timeout = {1500 if phase == 'factoring' else 6000}")
    rank = 1500 if phase == "factoring" else 60
    running = run(connection, LONG.replace("'noise'", "'many'").replace("400", str(rank)))
    shown = "SELECT role FROM svm_progress WHERE leader_pid = %s AND phase = %s ORDER BY role"

    def all_there():
        roles = [role for (role,) in watcher.execute(shown, [running.pid, phase])]
        return running.over or roles == ["leader", "machine", "machine"]

    wait_until(all_there, within_seconds=60, what=phase)
    if how == "statement timeout":
        assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    else:
        assert not running.over, running.end()
        worker = next(pid for pid in family(watcher, running.pid) if pid != running.pid)
        pid = worker if how == "terminate a worker" else running.pid
        function = "pg_cancel_backend" if how == "cancel" else "pg_terminate_backend"
        watcher.execute(f"SELECT {function}(%s)", [pid])
        error = running.end(5)
        expected = {"cancel": psycopg.errors.QueryCanceled, "terminate": psycopg.OperationalError}
        assert isinstance(error, expected.get(how, psycopg.errors.AdminShutdown)), error
    assert not server.left_over(before, within_seconds=2)
