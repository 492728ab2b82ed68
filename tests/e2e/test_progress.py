"""A second connection sees where a long training is, and nothing of it before and after."""

import datetime

import pytest

from harness.server import wait_until
from harness.sessions import NO_WORKER, ONE_WORKER, TWO_WORKERS, configure, one

# processes that show themselves while they train out of core
ROLES = {
    "two_workers": (TWO_WORKERS, {"reader", "trainer"}),
    "one_worker": (ONE_WORKER, {"reader", "trainer"}),
    "no_worker": (NO_WORKER, {"leader"}),
}

TRAIN = "SELECT svm_train('{}', 'label', model => 'm', tolerance => 1e-15, max_passes => 1000000)"


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    columns = ", ".join(f"hashint4(i + {k}) / 2e9" for k in range(1, 21))
    with server.connect(database) as connection:
        connection.execute(
            f"CREATE UNLOGGED TABLE noisy AS SELECT hashint4(-i) & 1 AS label, ARRAY[{columns}]::real[] AS features"
            " FROM generate_series(1, 200000) AS i"
        )
        connection.execute("CREATE VIEW endless AS SELECT label, features FROM noisy, generate_series(1, 1000)")


def progress(watcher, running):
    names = ["role", "phase", "rows_loaded", "pass", "percent_of_pass", "gap", "usename", "running_for", "query"]
    rows = watcher.execute(f"SELECT {', '.join(names)} FROM svm_progress WHERE leader_pid = %s", [running.pid])
    return [dict(zip(names, row)) for row in rows]


@pytest.fixture
def train(connect, run):
    """Starts a training in a session that has a name of its own."""

    def start(statement, settings):
        connection = connect(application_name="bookkeeping")
        configure(connection, settings | {"pgsvm.cache_size": "2MB"})
        return run(connection, statement)

    return start


@pytest.mark.parametrize("processes", ROLES)
def test_each_role_shows_pass_and_gap_while_it_trains(connect, train, processes):
    settings, roles = ROLES[processes]
    watcher = connect()
    assert one(watcher, "SELECT count(*) FROM svm_progress") == 0
    running = train(TRAIN.format("noisy"), settings)

    def every_role_tells_its_gap():
        told = [row for row in progress(watcher, running) if row["phase"] == "training" and row["gap"] is not None]
        return told if {row["role"] for row in told} == roles else None

    rows = wait_until(every_role_tells_its_gap, within_seconds=20, what="pass and gap of every role")
    for row in rows:
        assert row["pass"] >= 1
        assert 0 <= row["percent_of_pass"] <= 100
        assert row["gap"] > 0
        assert row["rows_loaded"] is None
        assert row["usename"] == "postgres"
        assert row["query"] == running.statement
        assert row["running_for"] > datetime.timedelta(0)

    pass_before = max(row["pass"] for row in rows)
    wait_until(lambda: max(row["pass"] or 0 for row in progress(watcher, running)) > pass_before, what="the next pass")

    running.connection.cancel_safe()
    running.end()
    assert progress(watcher, running) == []


def test_choosing_c_tells_its_stage_heads_and_folds(connect, train):
    watcher = connect()
    running = train(TRAIN.format("noisy").replace("tolerance", "c => NULL, tolerance"), NO_WORKER)
    names = "stage, heads, heads_running, folds"

    def told():
        rows = watcher.execute(f"SELECT {names} FROM svm_progress WHERE leader_pid = %s", [running.pid]).fetchall()
        return rows[0] if rows and rows[0][0] else None

    stage, heads, heads_running, folds = wait_until(told, within_seconds=20, what="the stage")
    assert stage == "choosing c"
    # the usual values of C by five folds
    assert (folds, heads) == (5, 25)
    assert 0 < heads_running <= heads


def test_loading_counts_the_rows(connect, train):
    watcher = connect()
    # scans would be taken of so large a table
    running = train(TRAIN.format("endless").replace("model", "solver => 'stream', model"), TWO_WORKERS)

    def rows_loaded():
        return max(
            (row["rows_loaded"] or 0 for row in progress(watcher, running) if row["phase"] == "loading"), default=0
        )

    first = wait_until(rows_loaded, what="rows loaded")
    wait_until(lambda: rows_loaded() > first, what="more rows loaded")


@pytest.mark.parametrize("processes", ROLES)
def test_the_session_has_its_own_name_back(connect, train, processes):
    watcher = connect()
    shown = "SELECT application_name FROM pg_stat_activity WHERE pid = %s"
    # long enough to be shown: many passes over rows that nothing explains
    running = train(TRAIN.format("noisy").replace("1000000", "30"), ROLES[processes][0])
    wait_until(lambda: progress(watcher, running) or running.over, what="progress")
    running.end(60)
    assert one(watcher, shown, [running.pid]) == "bookkeeping"
    assert one(running.connection, "SHOW application_name") == "bookkeeping"
    assert progress(watcher, running) == []


def test_a_training_that_fails_gives_the_name_back_too(connect, train):
    watcher = connect()
    running = train(TRAIN.format("noisy"), NO_WORKER)
    wait_until(lambda: progress(watcher, running), what="progress")
    watcher.execute("SELECT pg_cancel_backend(%s)", [running.pid])
    running.end()
    assert one(watcher, "SELECT application_name FROM pg_stat_activity WHERE pid = %s", [running.pid]) == "bookkeeping"


def test_a_model_name_with_odd_characters_does_not_disturb_the_view(connect, train):
    watcher = connect()
    running = train(TRAIN.format("noisy").replace("'m'", "'a: pass 9 (é%%)'"), TWO_WORKERS)
    wait_until(lambda: progress(watcher, running), what="progress")
    assert {row["role"] for row in progress(watcher, running)} <= {"reader", "trainer"}


@pytest.mark.parametrize(
    "name",
    [
        "pgsvm x: gap ----",
        "pgsvm t p1 2% g----",
        "pgsvm l f12/9",
        "pgsvm l f12 R1234567890",
        "pgsvm t p1 2% f1/1/0 g9.9e999",
        "pgsvm t p99999999999 2% f1/1/0",
        "pgsvm t p1 99999999999% f1/1/0",
        "pgsvm t p1 2% x1/1/0",
        "pgsvm t p1 2% f1/1234567/0",
        "pgsvm t p1 2% g1.0e-3",
        "pgsvm l n12345678901234567890",
        "pgsvm t p1 2% f1/1/0 g1.0e-3 e12345678901234567890",
        "pgsvm r n1\nn2",
        "pgsvm reader: loading, 12345678901234567890 rows",
        "pgsvm t p1 2% f1/1/0 g1.0e-3 e1 ",
    ],
)
def test_a_session_of_any_name_is_no_training(connect, name):
    """And nobody's view of the trainings is an error."""
    named = connect(application_name=name)
    named.execute("SELECT 1")
    assert connect().execute("SELECT * FROM svm_progress").fetchall() == []


def test_what_a_session_calls_itself_is_read_as_a_number_at_most(connect):
    """The largest of what is taken for a training's."""
    for name in [
        "pgsvm l n999999999999999999",
        "pgsvm t p999999999 999% c999999/999999/999999 g9.9e-9 e999999",
        "pgsvm r p1 2% f1/1/0 g9.9e99",
    ]:
        assert len(name) <= 63
        named = connect(application_name=name)
        named.execute("SELECT 1")
    rows = connect().execute("SELECT role, phase, rows_loaded, pass, gap, seconds_left FROM svm_progress").fetchall()
    assert sorted(row[0] for row in rows) == ["leader", "reader", "trainer"]


def test_another_role_sees_no_more_than_pg_stat_activity_shows_it(connect, train):
    connect().execute("CREATE ROLE onlooker LOGIN")
    watcher, onlooker = connect(), connect(user="onlooker")
    running = train(TRAIN.format("noisy"), TWO_WORKERS)
    wait_until(lambda: progress(watcher, running), what="progress")
    visible = "SELECT count(*) FROM {} WHERE application_name LIKE 'pgsvm%%' AND pid <> pg_backend_pid()"
    seen = one(onlooker, "SELECT count(*) FROM svm_progress")
    assert seen <= one(onlooker, visible.format("pg_stat_activity"))


def test_kernel_machines_tell_how_far_they_are_before_rows_are_trained_on(connect, train):
    """Every phase shows itself, and its count moves; comparing gammas says which is under way."""
    watcher = connect()
    options = '{"gammas": [0.1, 0.2], "folds": 2, "method": "low_rank"}'
    terms = f"kernel => 'rbf', rank => 250, c => 0.001, max_passes => 1, options => '{options}'"
    # some hundred rows take a while, so that loading is to be seen on any machine
    slow = "(abs(features[1]) > 0.0005 OR pg_sleep(0.004) IS NOT NULL)"
    query = f"SELECT label, features FROM noisy, generate_series(1, 8) WHERE {slow}"
    running = train(f"SELECT svm_train_query('{query}', 'label', model => 'k', {terms})", NO_WORKER)
    seen, gammas = {}, set()

    def all_phases():
        names = "phase, coalesce(rows_loaded, landmarks), gamma_tried, gammas"
        told = watcher.execute(f"SELECT {names} FROM svm_progress WHERE leader_pid = %s", [running.pid])
        for phase, count, gamma, of in told:
            seen.setdefault(phase, set()).add(count)
            gammas.add((gamma, of))
        counted = all(len(seen.get(phase, ())) > 1 for phase in ["loading", "mapping"])
        return counted and "training" in seen and {(1, 2), (2, 2)} <= gammas

    wait_until(all_phases, within_seconds=120, what="the phases of two gammas")
    running.connection.cancel_safe()
    running.end()
    assert seen.keys() <= {"loading", "sampling", "choosing landmarks", "mapping", "training"}
    assert progress(watcher, running) == []


def test_the_exact_method_tells_how_far_it_is(connect, run):
    watcher = connect()
    connection = connect()
    configure(connection, NO_WORKER | {"pgsvm.cache_size": "1GB"})
    terms = "kernel => 'rbf', rank => 20, c => 0.001, options => '{\"method\": \"exact\"}'"
    running = run(connection, f"SELECT svm_train('noisy', 'label', model => 'k', {terms})")
    seen = set()

    def moves():
        query = "SELECT pass, working_sets, heads, heads_running, folds FROM svm_progress WHERE leader_pid = %s AND phase = %s"
        seen.update(watcher.execute(query, [running.pid, "solving exactly"]).fetchall())
        return len({sets for _, sets, *_ in seen}) > 2

    wait_until(moves, within_seconds=60, what="working sets of the exact method")
    running.connection.cancel_safe()
    running.end()
    assert {shown[2:] for shown in seen} == {(1, 1, 0)}


def test_interior_points_tell_how_far_they_are(connect, run):
    """Columns of the factor up to the rank, then steps with their surrogate gap."""
    watcher = connect()
    connection = connect()
    configure(connection, NO_WORKER | {"pgsvm.cache_size": "1GB"})
    terms = "kernel => 'rbf', rank => 150, c => 100, tolerance => 1e-12, solver => 'interior_point'"
    running = run(connection, f"SELECT svm_train('noisy', 'label', model => 'k', {terms})")
    columns, steps = set(), set()

    def moves():
        names = "phase, landmarks, rank, pass, percent_of_pass, heads, heads_running, stage, gap > 0"
        told = watcher.execute(f"SELECT {names} FROM svm_progress WHERE leader_pid = %s", [running.pid])
        for phase, *shown in told:
            {"factoring": columns, "interior point": steps}.get(phase, set()).add(tuple(shown))
        return len(columns) > 2 and len(steps) > 2

    wait_until(moves, within_seconds=120, what="columns and steps")
    running.connection.cancel_safe()
    running.end()
    assert all(0 <= made <= 150 for made, *_ in columns)
    assert {shown[1:] for shown in columns} == {(150, None, None, None, None, None, None)}
    assert {shown[3:7] for shown in steps} == {(None, 1, 1, "final")}
    assert all(shown[:2] == (None, None) for shown in steps)
