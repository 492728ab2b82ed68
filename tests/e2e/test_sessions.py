"""Trainings and predictions of several sessions and roles at once, in every kind of transaction."""

import threading

import psycopg
import pytest

from harness.server import wait_until
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, model, one

PROCESSES = {"two_workers": TWO_WORKERS, "no_worker": NO_WORKER}

FORCE_PARALLEL = {
    "parallel_setup_cost": 0,
    "parallel_tuple_cost": 0,
    "min_parallel_table_scan_size": 0,
    "max_parallel_workers_per_gather": 2,
}


@pytest.fixture(scope="module", autouse=True)
def points(server, database):
    """points (id, x, y, owner, label): 20,000 rows, of which alice has every fourth, bob the others."""
    with server.connect(database) as connection:
        connection.execute(
            """
            CREATE TABLE points AS
            SELECT i AS id, sin(i) AS x, cos(3 * i) AS y, CASE WHEN i % 4 = 0 THEN 'alice' ELSE 'bob' END AS owner,
                   sin(i) + 0.2 * cos(3 * i) > 0 AS label
            FROM generate_series(1, 20000) AS i
            """
        )
        connection.execute("ALTER TABLE points SET (parallel_workers = 2)")
        connection.execute("ANALYZE points")
        for role in ["alice", "bob", "carol"]:
            connection.execute(f"DROP ROLE IF EXISTS {role}")
            connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO alice, bob")
    yield
    with server.connect(database) as connection:
        connection.execute("DROP OWNED BY alice, bob, carol")
        connection.execute("DROP ROLE alice, bob, carol")


def train(connection, name, query="SELECT x, y, label FROM points"):
    return one(connection, "SELECT svm_train_query(%s, 'label', model => %s)", [query, name])


OPPOSITE = "SELECT x, y, NOT label AS label FROM points"


def versions(connection, name):
    rows = connection.execute(
        "SELECT v.version FROM svm_model m JOIN svm_version v ON v.model_id = m.id WHERE m.name = %s ORDER BY 1", [name]
    )
    return [version for (version,) in rows]


def wait_for_lock(watcher, running):
    waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: running.over or one(watcher, waits, [running.pid]), what="waiting for the other training")


def test_two_trainings_of_one_name_at_once_become_versions_1_and_2(connect):
    first, second = connect(), connect()
    start = threading.Barrier(2)
    ends = []

    def run(connection):
        configure(connection, TWO_WORKERS)
        start.wait()
        ends.append(train(connection, "twice"))

    threads = [threading.Thread(target=run, args=(connection,)) for connection in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ["twice", "twice"]
    assert versions(first, "twice") == [1, 2]
    assert model(first, "twice")["version"] == 2


def test_a_training_that_waits_for_another_of_its_name_becomes_the_next_version(connect, run):
    first, second, watcher = connect(autocommit=False), connect(), connect()
    train(first, "queued")
    waiting = run(second, "SELECT svm_train_query('SELECT x, y, label FROM points', 'label', model => 'queued')")
    wait_for_lock(watcher, waiting)
    first.commit()
    assert waiting.end() == [("queued",)]
    assert versions(watcher, "queued") == [1, 2]


def test_a_training_that_waits_for_one_that_is_rolled_back_becomes_version_1(connect, run):
    first, second, watcher = connect(autocommit=False), connect(), connect()
    train(first, "abandoned")
    waiting = run(second, "SELECT svm_train_query('SELECT x, y, label FROM points', 'label', model => 'abandoned')")
    wait_for_lock(watcher, waiting)
    first.rollback()
    assert waiting.end() == [("abandoned",)]
    assert versions(watcher, "abandoned") == [1]


def test_two_trainings_of_one_name_at_once_in_repeatable_read_end_in_a_serialization_failure(connect, run):
    first, second, watcher = connect(autocommit=False), connect(autocommit=False), connect()
    train(watcher, "contended")
    second.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    one(second, "SELECT 1")
    train(first, "contended")
    waiting = run(second, "SELECT svm_train_query('SELECT x, y, label FROM points', 'label', model => 'contended')")
    wait_for_lock(watcher, waiting)
    first.commit()
    assert isinstance(waiting.end(), psycopg.errors.SerializationFailure)
    second.rollback()
    assert versions(watcher, "contended") == [1, 2]


@pytest.fixture
def scoring(connect):
    """A session with a query, a prepared statement and two functions that ask model `changing`; what they say."""
    session = connect()
    train(connect(), "changing")
    question = "svm_decision('changing', ARRAY[0.5, 0.1])"
    session.execute(f"PREPARE prepared AS SELECT {question}")
    session.execute("SET plan_cache_mode = force_generic_plan")
    session.execute(f"CREATE OR REPLACE FUNCTION in_sql() RETURNS float8 LANGUAGE sql AS $$ SELECT {question} $$")
    session.execute(
        f"CREATE OR REPLACE FUNCTION in_plpgsql() RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN {question}; END $$"
    )

    def ask():
        statements = [f"SELECT {question}", "EXECUTE prepared", "SELECT in_sql()", "SELECT in_plpgsql()"]
        return [one(session, statement) > 0 for statement in statements]

    ask.session = session
    return ask


def test_a_retrained_model_is_seen_by_the_next_statement_of_another_session(connect, scoring):
    assert scoring() == [True] * 4
    train(connect(), "changing", OPPOSITE)
    assert scoring() == [False] * 4


def test_a_retrained_model_is_seen_by_the_next_statement_of_an_open_transaction(connect, scoring):
    with scoring.session.transaction():
        assert scoring() == [True] * 4
        train(connect(), "changing", OPPOSITE)
        assert scoring() == [False] * 4


def test_a_repeatable_read_transaction_goes_on_with_the_model_it_saw(connect, scoring):
    scoring.session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with scoring.session.transaction():
        assert scoring() == [True] * 4
        train(connect(), "changing", OPPOSITE)
        assert scoring() == [True] * 4
    assert scoring() == [False] * 4


def test_a_model_retrained_in_the_same_transaction_is_seen_there_and_gone_with_it(connect, scoring):
    assert scoring() == [True] * 4
    with scoring.session.transaction(force_rollback=True):
        train(scoring.session, "changing", OPPOSITE)
        assert scoring() == [False] * 4
    assert scoring() == [True] * 4


def test_one_plpgsql_expression_sees_the_model_change_between_two_runs_of_a_loop(connection):
    train(connection, "looped")
    connection.execute(
        """
        CREATE FUNCTION signs() RETURNS int[] LANGUAGE plpgsql AS $$
        DECLARE found int[] := '{}';
        BEGIN
            FOR i IN 1..2 LOOP
                found := found || sign(svm_decision('looped', ARRAY[0.5, 0.1]))::int;
                PERFORM svm_train_query('SELECT x, y, NOT label AS label FROM points', 'label', model => 'looped');
            END LOOP;
            RETURN found;
        END $$
        """
    )
    assert one(connection, "SELECT signs()") == [1, -1]


def test_a_deleted_model_is_gone_at_the_next_statement(connect, scoring):
    scoring()
    connect().execute("DELETE FROM svm_model WHERE name = 'changing'")
    with pytest.raises(psycopg.Error, match="changing"):
        scoring()


def test_parallel_workers_predict_what_the_backend_predicts(connection):
    train(connection, "spread_out")
    predict = (
        "SELECT id, svm_decision('spread_out', p) AS decision, svm_classify('spread_out', p) AS class FROM points p"
    )
    connection.execute(f"CREATE TEMP TABLE serial AS {predict}")
    configure(connection, FORCE_PARALLEL)
    plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN VERBOSE {predict}"))
    assert "Gather" in plan and plan.index("svm_decision", plan.index("Parallel Seq Scan")), plan
    connection.execute(f"CREATE TABLE parallel AS {predict}")
    assert one(connection, "SELECT count(*) FROM parallel") == 20000
    assert connection.execute("SELECT * FROM serial EXCEPT SELECT * FROM parallel").fetchall() == []


def test_parallel_workers_see_a_model_of_their_own_transaction(connect):
    connection = connect(autocommit=False)
    configure(connection, FORCE_PARALLEL)
    train(connection, "uncommitted")
    assert one(connection, "SELECT count(*) FROM points p WHERE svm_predict('uncommitted', p) = label::int") > 19000
    connection.rollback()


@pytest.fixture
def protected(connect):
    """points with row-level security: each role sees its own rows."""
    administrator = connect()
    administrator.execute("GRANT SELECT ON points TO alice, bob")
    administrator.execute("CREATE POLICY own ON points FOR SELECT USING (owner = CURRENT_USER)")
    administrator.execute("ALTER TABLE points ENABLE ROW LEVEL SECURITY")
    yield
    administrator.execute("ALTER TABLE points DISABLE ROW LEVEL SECURITY")
    administrator.execute("DROP POLICY own ON points")
    administrator.execute("REVOKE ALL ON points FROM alice, bob")


@pytest.mark.parametrize("processes", PROCESSES)
def test_a_role_trains_on_the_rows_that_its_policy_shows(connect, protected, processes):
    for role, rows in [("alice", 5000), ("bob", 15000)]:
        session = connect(user=role)
        configure(session, PROCESSES[processes])
        name = f"{role}_{processes}"
        session.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y'], %s)", [name])
        trained = model(session, name)
        assert trained["rows_used"] == rows
        assert trained["workers"] == (2 if processes == "two_workers" else 0)


@pytest.mark.parametrize("processes", PROCESSES)
def test_set_role_and_security_definer_decide_whose_rows_are_read(connect, protected, processes):
    session = connect()
    configure(session, PROCESSES[processes])
    session.execute("SET ROLE alice")
    assert train(session, f"as_alice_{processes}") and model(session, f"as_alice_{processes}")["rows_used"] == 5000
    session.execute(
        """
        CREATE OR REPLACE FUNCTION train_as_alice(name text) RETURNS text LANGUAGE sql SECURITY DEFINER AS
        $$ SELECT svm_train('points', 'label', ARRAY['x', 'y'], name) $$
        """
    )
    bob = connect(user="bob")
    configure(bob, PROCESSES[processes])
    name = f"defined_{processes}"
    bob.execute("SELECT train_as_alice(%s)", [name])
    assert model(bob, name) is None
    assert model(session, name)["rows_used"] == 5000


@pytest.mark.parametrize("processes", PROCESSES)
def test_without_select_permission_is_denied(connect, processes):
    session = connect(user="carol")
    configure(session, PROCESSES[processes])
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table points"):
        session.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y'], 'm')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table points"):
        train(session, "m")


@pytest.mark.parametrize("processes", PROCESSES)
def test_select_on_the_columns_in_use_is_enough(connect, processes):
    connect().execute("GRANT SELECT (x, y, label) ON points TO carol")
    session = connect(user="carol")
    configure(session, PROCESSES[processes])
    name = f"columns_{processes}"
    session.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y'], %s)", [name])
    assert model(session, name)["rows_used"] == 20000
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y', 'id'], 'm')")
    connect().execute("REVOKE SELECT (x, y, label) ON points FROM carol")


def test_the_models_of_another_role_are_invisible_and_safe(connect, protected):
    alice, bob = connect(user="alice"), connect(user="bob")
    train(alice, "private")
    assert model(bob, "private") is None
    for table in ["svm_model", "svm_version", "svm_weight"]:
        assert one(alice, f"SELECT count(*) FROM {table}") > 0
    assert one(bob, "SELECT count(*) FROM svm_models WHERE owner <> 'bob'") == 0
    with pytest.raises(psycopg.Error, match="private"):
        one(bob, "SELECT svm_decision('private', ARRAY[0.5, 0.1])")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        train(bob, "private")
    bob.execute("DELETE FROM svm_model WHERE name = 'private'")
    assert versions(alice, "private") == [1]


def test_a_backend_that_changes_its_role_forgets_the_models_of_the_old_one(connect, protected):
    train(connect(user="alice"), "hers")
    session = connect()
    session.execute("SET ROLE alice")
    question = "SELECT svm_decision('hers', ARRAY[0.5, 0.1])"
    session.execute(f"PREPARE question AS {question}")
    assert one(session, question) > 0
    assert one(session, "EXECUTE question") > 0
    session.execute("SET ROLE bob")
    for statement in [question, "EXECUTE question"]:
        with pytest.raises(psycopg.Error, match="hers"):
            one(session, statement)


def test_a_member_of_the_owner_role_uses_its_models(connect, protected):
    administrator = connect()
    train(connect(user="alice"), "shared")
    administrator.execute("GRANT alice TO carol")
    carol = connect(user="carol")
    assert one(carol, "SELECT svm_decision('shared', ARRAY[0.5, 0.1])") > 0
    administrator.execute("REVOKE alice FROM carol")
    with pytest.raises(psycopg.Error, match="shared"):
        one(carol, "SELECT svm_decision('shared', ARRAY[0.5, 0.1])")


@pytest.mark.parametrize("slots", [0, 1])
def test_too_few_parallel_workers_train_with_those_there_are(connection, slots):
    configure(connection, TWO_WORKERS | {"max_parallel_workers": slots})
    train(connection, f"slots_{slots}")
    trained = model(connection, f"slots_{slots}")
    assert trained["workers"] == slots
    assert trained["rows_used"] == 20000
    assert 0 <= trained["gap"] <= 1e-3


def test_a_server_out_of_worker_processes_trains_in_the_backend(server, connect, run):
    hog, session = connect(), connect()
    hog.execute("CREATE TABLE busy AS SELECT i, repeat('x', 500) AS filler FROM generate_series(1, 5000) AS i")
    hog.execute("ALTER TABLE busy SET (parallel_workers = 100)")
    configure(hog, FORCE_PARALLEL | {"max_parallel_workers_per_gather": 100, "max_parallel_workers": 100})
    before = server.in_use()
    running = run(hog, "SELECT count(*) FROM busy WHERE pg_sleep(0.05) IS NULL")
    try:
        # one slot is the logical replication launcher's
        slots = int(one(session, "SHOW max_worker_processes")) - 1
        wait_until(lambda: running.over or len(server.workers() - before.workers) >= slots, what="every slot taken")
        configure(session, TWO_WORKERS)
        train(session, "crowded")
    finally:
        hog.cancel_safe()
        running.end()
    assert model(session, "crowded")["workers"] == 0
    assert model(session, "crowded")["gap"] <= 1e-3


def test_twelve_trainings_at_once_share_the_worker_processes(server, connect, run):
    before = server.in_use()
    sessions = [connect() for _ in range(12)]
    for session in sessions:
        configure(session, TWO_WORKERS | {"pgsvm.cache_size": "256kB"})
    trainings = [
        run(session, "SELECT svm_train('points', 'label', ARRAY['x', 'y'], %s)", [f"together_{number}"])
        for number, session in enumerate(sessions)
    ]
    assert [training.end(60) for training in trainings] == [[(f"together_{number}",)] for number in range(12)]
    primals = [
        primal
        for (primal,) in sessions[0].execute(
            "SELECT primal FROM svm_models WHERE name LIKE 'together%' AND gap BETWEEN 0 AND 1e-3"
        )
    ]
    assert len(primals) == 12
    assert max(primals) == pytest.approx(min(primals), rel=1e-3)
    assert not server.left_over(before)


@pytest.mark.parametrize("processes", PROCESSES)
@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_a_training_reads_the_snapshot_of_its_transaction(connect, level, processes):
    writer, session = connect(), connect(autocommit=False)
    configure(session, PROCESSES[processes])
    session.commit()
    table = f"growing_{level}_{processes}".lower()
    writer.execute(f"CREATE TABLE {table} AS SELECT x, y, label FROM points LIMIT 1000")
    session.isolation_level = psycopg.IsolationLevel[level]
    one(session, f"SELECT count(*) FROM {table}")
    writer.execute(f"INSERT INTO {table} SELECT x, y, label FROM points LIMIT 500")
    session.execute("SELECT svm_train(%s, 'label', model => %s)", [table, table])
    assert model(session, table)["rows_used"] == 1000
    session.commit()
    assert model(writer, table)["rows_used"] == 1000


@pytest.mark.parametrize("processes", PROCESSES)
def test_rows_written_earlier_in_the_transaction_are_read(connect, processes):
    session = connect(autocommit=False)
    configure(session, PROCESSES[processes])
    session.execute("CREATE TABLE own AS SELECT x, y, label FROM points")
    session.execute("SAVEPOINT later")
    session.execute("INSERT INTO own SELECT x, y, label FROM points LIMIT 500")
    session.execute("SELECT svm_train('own', 'label')")
    assert model(session, "own_label")["rows_used"] == 20500
    session.execute("ROLLBACK TO later")
    session.execute("SELECT svm_train('own', 'label')")
    assert model(session, "own_label")["rows_used"] == 20000
    session.rollback()


@pytest.mark.parametrize("processes", PROCESSES)
def test_a_block_that_catches_the_error_of_a_training_may_train_again(server, connection, processes):
    configure(connection, PROCESSES[processes])
    before = server.in_use()
    connection.execute(
        """
        CREATE OR REPLACE FUNCTION try_again(name text) RETURNS text[] LANGUAGE plpgsql AS $$
        DECLARE errors text[] := '{}';
        BEGIN
            FOR attempt IN 1..3 LOOP
                BEGIN
                    PERFORM svm_train_query(
                        'SELECT x / (id - 15000) AS x, y, label FROM points', 'label', model => name);
                EXCEPTION WHEN division_by_zero THEN
                    errors := errors || SQLSTATE;
                END;
            END LOOP;
            RETURN errors || svm_train('points', 'label', ARRAY['x', 'y'], name);
        END $$
        """
    )
    name = f"again_{processes}"
    assert one(connection, "SELECT try_again(%s)", [name]) == ["22012"] * 3 + [name]
    assert model(connection, name)["workers"] == (2 if processes == "two_workers" else 0)
    assert versions(connection, name) == [1]
    assert not server.left_over(before)


def test_a_savepoint_that_is_rolled_back_takes_its_model_along(connect):
    session = connect(autocommit=False)
    configure(session, TWO_WORKERS)
    train(session, "kept")
    session.execute("SAVEPOINT before")
    train(session, "kept", OPPOSITE)
    train(session, "dropped")
    question = "SELECT svm_decision('kept', ARRAY[0.5, 0.1])"
    assert one(session, question) < 0
    session.execute("ROLLBACK TO before")
    assert one(session, question) > 0
    assert versions(session, "kept") == [1]
    with pytest.raises(psycopg.Error, match="dropped"):
        one(session, "SELECT svm_decision('dropped', ARRAY[0.5, 0.1])")
    session.execute("ROLLBACK TO before")
    train(session, "dropped")
    session.commit()
    assert versions(session, "kept") == [1]
    assert versions(session, "dropped") == [1]


def test_a_training_inside_a_function_of_a_query_over_other_rows_works(connection):
    configure(connection, TWO_WORKERS)
    rows = connection.execute(
        """
        SELECT owner, svm_train_query(
            format('SELECT x, y, label FROM points WHERE owner = %L', owner), 'label', model => 'of_' || owner)
        FROM (SELECT DISTINCT owner FROM points) AS owners ORDER BY owner
        """
    ).fetchall()
    assert rows == [("alice", "of_alice"), ("bob", "of_bob")]
    assert [model(connection, name)["rows_used"] for _, name in rows] == [5000, 15000]
