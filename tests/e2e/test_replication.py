"""Models on another server by logical replication: predictions there follow what the publisher does, in sessions that
have been open all along."""

import threading

import psycopg
import pytest

from harness.server import Server, new_database, wait_until
from harness.sessions import Running, one, put_heads, put_model, put_weights

TABLES = (
    "svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_log, svm_source,"
    " svm_landmark"
)
DECISION = "SELECT svm_decision('m', '{1}'::real[])"


@pytest.fixture(scope="module")
def publisher(server):
    """Connection to a database on a server of its own, which publishes its models."""
    other = Server(server.version, "publisher")
    try:
        other.restart_with({"wal_level": "logical"})
        with other.connect(new_database(other, "models")) as connection:
            connection.execute("CREATE EXTENSION pgsvm")
            connection.execute(f"CREATE PUBLICATION models FOR TABLE {TABLES}")
            connection.execute("CREATE TABLE points AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i")
            connection.execute("CREATE ROLE replica_reader")
            put_model(connection, "m", [10])
            connection.execute("SELECT svm_grant('m', 'replica_reader')")
            connection.source = f"host={other.socket_directory} port=5432 dbname=models user=postgres"
            yield connection
        assert not other.complaints()
    finally:
        other.stop()


@pytest.fixture(scope="module")
def subscribed(server, database, publisher):
    """The module's database, when it has copied what there was."""
    with server.connect(database) as connection:
        connection.execute("DROP ROLE IF EXISTS replica_reader")
        connection.execute("CREATE ROLE replica_reader LOGIN")
        connection.execute(f"CREATE SUBSCRIPTION models CONNECTION '{publisher.source}' PUBLICATION models")
        copied = "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"
        try:
            wait_until(lambda: one(connection, copied), within_seconds=30, what="the first copy")
            yield database
        finally:
            connection.execute("DROP SUBSCRIPTION models")


@pytest.fixture
def session(subscribed, connect):
    """A session on the subscriber that has predicted before."""
    connection = connect()
    connection.execute("PREPARE decision AS " + DECISION)
    wait_until(lambda: answer(connection) == 10.5, what="the first version")
    return connection


def answer(connection):
    """What the prepared statement says; the error's text where it fails."""
    try:
        return one(connection, "EXECUTE decision")
    except psycopg.Error as error:
        return error.diag.message_primary


def await_answer(connection, expected):
    wait_until(lambda: answer(connection) == expected, what=f"the answer {expected}")


def test_an_open_session_follows_versions_deployments_names_and_the_end(publisher, session):
    with publisher.transaction():
        put_heads(publisher, put_model(publisher, "m", [20]), ["1"])
    await_answer(session, 20.5)
    publisher.execute("SELECT svm_deploy('m', 1)")
    await_answer(session, 10.5)
    publisher.execute("SELECT svm_rename('m', 'n')")
    await_answer(session, 'model "m" does not exist')
    assert one(session, "SELECT svm_decision('n', '{1}'::real[])") == 10.5
    publisher.execute("SELECT svm_rename('n', 'm')")
    await_answer(session, 10.5)
    heads = "SELECT count(*) FROM svm_head"
    assert one(session, heads) == 1
    publisher.execute("SELECT svm_drop('m', 2)")
    wait_until(lambda: one(session, heads) == 0, what="the version to go")
    assert one(session, "SELECT count(*) FROM svm_weight") == 1


def test_weights_that_come_after_their_version_are_not_missed(publisher, session):
    with publisher.transaction():
        version = put_model(publisher, "m", [70])
        publisher.execute("DELETE FROM svm_weight WHERE version_id = %s", [version])
    await_answer(session, 0.5)
    put_weights(publisher, version, 0, [70])
    await_answer(session, 70.5)
    publisher.execute("SELECT svm_deploy('m', 1), svm_drop('m', 2)")
    await_answer(session, 10.5)


def test_a_model_trained_there_is_used_here(publisher, session):
    publisher.execute("SELECT svm_train('points', 'y', model => 'curved', kernel => 'rbf')")
    publisher.execute("SELECT svm_train('points', 'y', model => 'trained', options => '{\"duals\": true}')")
    names = "SELECT count(*) FROM svm_models WHERE name = 'trained'"
    wait_until(lambda: one(session, names) == 1, what="the model")
    for question in [
        "SELECT svm_decision('curved', ARRAY[3])",
        "SELECT svm_decision('trained', ARRAY[3])",
        "SELECT svm_classify('trained', ARRAY[9])",
    ]:
        assert one(session, question) == one(publisher, question)
    assert one(session, "SELECT count(*) FROM svm_dual") == 1
    publisher.execute("SELECT svm_drop('trained'), svm_drop('curved')")
    wait_until(lambda: one(session, "SELECT count(*) FROM svm_dual") == 0, what="the model to go")
    assert one(session, names) == 0


def test_grants_arrive_and_go(publisher, session, connect):
    reader = connect(user="replica_reader")
    assert one(reader, DECISION) == 10.5
    grants = "SELECT count(*) FROM svm_permission"
    publisher.execute("SELECT svm_revoke('m', 'replica_reader')")
    wait_until(lambda: one(session, grants) == 0, what="the grant to go")
    with pytest.raises(psycopg.errors.UndefinedObject):
        one(reader, DECISION)
    publisher.execute("SELECT svm_grant('m', 'replica_reader')")
    wait_until(lambda: one(session, grants) == 1, what="the grant")
    assert one(reader, DECISION) == 10.5
    publisher.execute("UPDATE svm_model SET owner = 'replica_reader' WHERE name = 'm'")
    owned = "SELECT count(*) FROM svm_permission WHERE owner = 'replica_reader'"
    wait_until(lambda: one(session, owned) == 1, what="the owner")
    publisher.execute("UPDATE svm_model SET owner = 'postgres' WHERE name = 'm'")


@pytest.mark.parametrize("triggers", ["as made", "as pg_restore --disable-triggers leaves them"])
def test_a_function_in_progress_follows_too(publisher, session, connect, triggers):
    if triggers != "as made":
        for table in ("svm_model", "svm_version", "svm_permission", "svm_head", "svm_weight"):
            session.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL; ALTER TABLE {table} ENABLE TRIGGER ALL")
    session.execute(
        """
        CREATE OR REPLACE FUNCTION await_change() RETURNS float8 LANGUAGE plpgsql AS $$
        DECLARE
            decision float8;
        BEGIN
            LOOP
                decision := svm_decision('m', '{1}'::real[]);
                IF decision <> 10.5 THEN
                    RETURN decision;
                END IF;
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$"""
    )
    session.execute("SET statement_timeout = '20s'")
    watcher = connect()
    waiting = Running(session, "SELECT await_change()")
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    wait_until(lambda: one(watcher, sleeping), what="the function to loop")
    put_model(publisher, "m", [40])
    assert waiting.end() == [(40.5,)]
    publisher.execute("SELECT svm_deploy('m', 1), svm_drop('m', 2)")
    await_answer(session, 10.5)
    repaired = session.execute("SELECT svm_repair()").fetchall()
    assert len(repaired) == (0 if triggers == "as made" else 5)
    assert session.execute("TABLE svm_problems").fetchall() == []


# every head and every weight has a say in it
SPOKEN = """
SELECT array_agg(svm_decision('{}', probe, kind) ORDER BY kind, a, b)
FROM (SELECT sin(i) AS a, cos(i) AS b FROM generate_series(1, 5) AS i) AS probe, unnest(ARRAY['in', 'left', 'right']) AS kind
"""


def test_predictions_are_of_a_whole_version_while_the_publisher_refreshes(publisher, session, connect):
    publisher.execute(
        """
        CREATE TABLE crowd AS SELECT i AS id, 3 * sin(i) AS a, cos(3 * i) AS b,
            CASE WHEN sin(i) < -0.3 THEN 'left' WHEN sin(i) > 0.3 THEN 'right' ELSE 'in' END AS kind
        FROM generate_series(1, 300) AS i
        """
    )
    publisher.execute("SELECT svm_train('crowd', 'kind', '{a, b}', 'followed', key => 'id')")
    spoken = {tuple(one(publisher, SPOKEN.format("followed"))): 1}
    wait_until(
        lambda: one(session, "SELECT count(*) FROM svm_models WHERE name = 'followed'") == 1, what="the first version"
    )
    heard, ended = [], threading.Event()

    def listen_on(connection):
        while not ended.is_set():
            try:
                heard.append(tuple(one(connection, SPOKEN.format("followed"))))
            except psycopg.Error as error:
                heard.append(error.diag.message_primary)

    listeners = [threading.Thread(target=listen_on, args=(connection,)) for connection in (session, connect())]
    for listener in listeners:
        listener.start()
    try:
        for version in range(2, 22):
            publisher.execute("UPDATE crowd SET a = a + 0.2, b = b - 0.1 WHERE id %% 20 = %s", [version - 2])
            publisher.execute("SELECT svm_refresh('followed')")
            spoken[tuple(one(publisher, SPOKEN.format(f"followed@{version}")))] = version
        wait_until(lambda: spoken.get(heard[-1]) == version, what="the last version")
    finally:
        ended.set()
        for listener in listeners:
            listener.join()
    assert len(spoken) == version, "versions must be told apart"
    assert {answer for answer in heard if answer not in spoken} == set()
    assert len({spoken[answer] for answer in heard}) > 2
    assert session.execute("TABLE svm_problems").fetchall() == []
    publisher.execute("SELECT svm_drop('followed')")
    wait_until(lambda: one(session, "SELECT count(*) FROM svm_models") == 1, what="the model to go")


def worker_fails(connection):
    """How often applying changes has failed here."""
    return one(
        connection, "SELECT coalesce(sum(apply_error_count + sync_error_count), 0) FROM pg_stat_subscription_stats"
    )


def test_models_trained_here_live_beside_those_that_arrive(publisher, session):
    """Ids are random, so neither meets the other's; triggers remove what belongs to either and no more."""
    session.execute(
        "CREATE TABLE IF NOT EXISTS own_points AS SELECT i AS x, i > 7 AS y FROM generate_series(1, 10) AS i"
    )
    train = "SELECT svm_train_query('SELECT x, x AS k, y FROM {}', 'y', '{{x}}', '{}', key => 'k')"
    session.execute(train.format("own_points", "own"))
    publisher.execute(train.format("points", "theirs"))
    there = "SELECT count(*) FROM svm_models WHERE name = 'theirs'"
    wait_until(lambda: one(session, there) == 1, what="the model")
    wait_until(lambda: session.execute("TABLE svm_problems").fetchall() == [], what="all of it")
    before = one(session, "SELECT svm_decision('own', ARRAY[3])")
    publisher.execute(
        "UPDATE points SET y = NOT y WHERE x = 1; SELECT svm_refresh('theirs'); SELECT svm_drop('theirs')"
    )
    wait_until(lambda: one(session, there) == 0, what="the model to go")
    assert one(session, "SELECT svm_decision('own', ARRAY[3])") == before
    session.execute("SELECT svm_refresh('own')")
    session.execute("SELECT svm_drop('own')")
    for table in TABLES.split(", "):
        # one model is left, that of the fixture, which has neither key nor log
        assert one(session, f"SELECT count(*) FROM {table}") <= 1
    publisher.execute("UPDATE points SET y = NOT y WHERE x = 1")


def test_a_name_that_is_taken_here_holds_all_up_until_it_is_free(publisher, session):
    session.execute(
        "CREATE TABLE IF NOT EXISTS own_points AS SELECT i AS x, i > 7 AS y FROM generate_series(1, 10) AS i"
    )
    session.execute("SELECT svm_train('own_points', 'y', model => 'taken')")
    own = one(session, "SELECT svm_decision('taken', ARRAY[3])")
    failures = worker_fails(session)
    publisher.execute("SELECT svm_train('points', 'y', model => 'taken')")
    theirs = one(publisher, "SELECT svm_decision('taken', ARRAY[3])")
    wait_until(lambda: worker_fails(session) > failures, within_seconds=30, what="the conflict")
    # nothing of that transaction is there
    assert one(session, "SELECT svm_decision('taken', ARRAY[3])") == own != theirs
    assert session.execute("TABLE svm_problems").fetchall() == []
    session.execute("SELECT svm_rename('taken', 'mine')")
    wait_until(lambda: one(session, "SELECT count(*) FROM svm_models") == 3, within_seconds=30, what="the model")
    assert one(session, "SELECT svm_decision('taken', ARRAY[3])") == theirs
    assert one(session, "SELECT svm_decision('mine', ARRAY[3])") == own
    # one that is changed here and there: who is named on both goes on by the id
    session.execute("SELECT svm_rename('taken', 'renamed'); SELECT svm_drop('mine')")
    publisher.execute("SELECT svm_drop('taken')")
    wait_until(lambda: one(session, "SELECT count(*) FROM svm_models") == 1, what="the model to go")
    assert session.execute("TABLE svm_problems").fetchall() == []


def test_a_publication_of_all_tables_brings_models_too(server, publisher):
    """With it come indexes' names, and nothing of what they keep."""
    publisher.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    publisher.execute("SELECT svm_index('points', name => 'kept')")
    with server.connect(new_database(server, "everything")) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(
            "CREATE TABLE points (x int, y boolean); CREATE TABLE crowd (id int, a float8, b float8, kind text)"
        )
        source = publisher.source
        connection.execute(f"CREATE SUBSCRIPTION everything CONNECTION '{source}' PUBLICATION everything")
        copied = "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"
        try:
            wait_until(lambda: one(connection, copied), within_seconds=30, what="the first copy")
            assert one(connection, DECISION) == one(publisher, DECISION)
            assert connection.execute("SELECT name, rows FROM svm_indexes").fetchall() == [("kept", 0)]
            train = """SELECT svm_train('points', 'y', model => 'here', options => '{"index": "kept"}')"""
            connection.execute(train)
            connection.execute("SELECT svm_refresh_index('kept')")
            assert connection.execute("SELECT name, rows FROM svm_indexes").fetchall() == [("kept", 10)]
            # it is another one now, in whose way the publisher's next of that name comes
            failures = worker_fails(connection)
            publisher.execute("SELECT svm_index('points', name => 'kept')")
            wait_until(lambda: worker_fails(connection) > failures, within_seconds=30, what="the conflict")
            connection.execute("SELECT svm_drop_index('kept')")
            listed = "SELECT count(*) FROM svm_indexes"
            wait_until(lambda: one(connection, listed) == 1, within_seconds=30, what="the publisher's")
        finally:
            connection.execute("DROP SUBSCRIPTION everything")
            publisher.execute("DROP PUBLICATION everything; SELECT svm_drop_index('kept')")


def test_a_subscription_of_a_role_without_superuser_needs_rights_on_the_tables_and_bypassrls(server, publisher):
    """PostgreSQL applies no changes to tables whose policies bind the role that applies them."""
    with server.connect(new_database(server, "replicated")) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute("DROP ROLE IF EXISTS replicator; CREATE ROLE replicator SUPERUSER LOGIN")
        # from 16 on changes are applied as the owner of the tables, unless told otherwise, and passwords are asked for
        more = ", run_as_owner = true, password_required = false" if server.version >= 16 else ""
        subscribe = f"CREATE SUBSCRIPTION replicated CONNECTION '{publisher.source}' PUBLICATION models WITH (slot_name = replicated{more})"
        with server.connect("replicated", user="replicator") as theirs:
            theirs.execute(subscribe)
        copied = "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"
        try:
            wait_until(lambda: one(connection, copied), within_seconds=30, what="the first copy")
            connection.execute("ALTER ROLE replicator NOSUPERUSER")
            # for workers to notice
            connection.execute("ALTER SUBSCRIPTION replicated DISABLE")
            failures = worker_fails(connection)
            put_model(publisher, "later", [30])
            connection.execute("ALTER SUBSCRIPTION replicated ENABLE")
            wait_until(lambda: worker_fails(connection) > failures, within_seconds=30, what="the refusal")
            connection.execute(f"GRANT ALL ON {TABLES} TO replicator")
            failures = worker_fails(connection)
            wait_until(lambda: worker_fails(connection) > failures, within_seconds=30, what="the refusal by policies")
            told = 'user "replicator" cannot replicate into relation with row-level security enabled: "svm_model"'
            assert told in server.log_file.read_text()
            arrived = "SELECT count(*) FROM svm_models WHERE name = 'later'"
            assert one(connection, arrived) == 0
            connection.execute("ALTER ROLE replicator BYPASSRLS")
            wait_until(lambda: one(connection, arrived) == 1, within_seconds=30, what="the model")
            assert one(connection, "SELECT svm_decision('later', '{1}'::real[])") == 30.5
            publisher.execute("SELECT svm_drop('later')")
            wait_until(lambda: one(connection, arrived) == 0, within_seconds=30, what="its end")
        finally:
            connection.execute("ALTER ROLE replicator SUPERUSER")
            connection.execute("DROP SUBSCRIPTION replicated")
