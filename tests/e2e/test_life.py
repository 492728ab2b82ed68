"""svm_deploy, svm_rename and svm_drop while others train and change the same model, and among a thousand models."""

import psycopg
import pytest

from harness.server import wait_until
from harness.sessions import one, put_model

DECISION = "SELECT svm_decision('m', '{1}'::real[])"
TRAIN = "SELECT svm_train_query('SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i', 'y', model => 'm')"


@pytest.fixture(autouse=True)
def two_versions(connect):
    """Model m with version 2 in force."""
    connection = connect()
    connection.execute("DELETE FROM svm_model")
    put_model(connection, "m", [10])
    put_model(connection, "m", [20])


def versions(connection):
    return connection.execute("SELECT name, version, deployed FROM svm_versions ORDER BY name, version").fetchall()


def wait_for_lock(watcher, running):
    waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: running.over or one(watcher, waits, [running.pid]), what="waiting for the other session")
    assert not running.over


def in_turn(connect, run, first, second, commit=True):
    """Runs `second` in another session while `first` is not committed; returns how `second` ended."""
    session, watcher = connect(autocommit=False), connect()
    session.execute(first)
    waiting = run(connect(), second)
    wait_for_lock(watcher, waiting)
    if commit:
        session.commit()
    else:
        session.rollback()
    return waiting.end()


def test_a_deployment_waits_for_a_training_and_has_the_last_word(connect, run):
    assert in_turn(connect, run, TRAIN, "SELECT svm_deploy('m', 1)") == [("m",)]
    assert versions(connect()) == [("m", 1, True), ("m", 2, False), ("m", 3, False)]


def test_a_training_waits_for_a_deployment_and_becomes_the_next_version(connect, run):
    assert in_turn(connect, run, "SELECT svm_deploy('m', 1)", TRAIN) == [("m",)]
    assert versions(connect()) == [("m", 1, False), ("m", 2, False), ("m", 3, True)]


def test_a_version_that_another_session_deploys_meanwhile_is_not_dropped(connect, run):
    refused = in_turn(connect, run, "SELECT svm_deploy('m', 1)", "SELECT svm_drop('m', 1)")
    assert isinstance(refused, psycopg.errors.ObjectInUse)
    assert versions(connect()) == [("m", 1, True), ("m", 2, False)]


def test_a_version_that_another_session_drops_meanwhile_is_not_deployed(connect, run):
    refused = in_turn(connect, run, "SELECT svm_drop('m', 1)", "SELECT svm_deploy('m', 1)")
    assert isinstance(refused, psycopg.errors.UndefinedObject)
    assert versions(connect()) == [("m", 2, True)]


@pytest.mark.parametrize(
    "call", ["svm_deploy('m', 1)", "svm_rename('m', 'o')", "svm_drop('m')", "svm_grant('m', 'public')"]
)
def test_a_model_that_is_renamed_or_dropped_meanwhile_does_not_exist(connect, run, call):
    for change in ["SELECT svm_rename('m', 'n')", "SELECT svm_drop('n')"]:
        name = change.split("'")[1]
        refused = in_turn(connect, run, change, f"SELECT {call}".replace("'m'", f"'{name}'"))
        assert isinstance(refused, psycopg.errors.UndefinedObject)
    assert versions(connect()) == []


def test_what_is_rolled_back_was_never_there(connect, run):
    assert in_turn(connect, run, "SELECT svm_drop('m')", "SELECT svm_deploy('m', 1)", commit=False) == [("m",)]
    assert versions(connect()) == [("m", 1, True), ("m", 2, False)]


def test_of_two_models_renamed_to_one_name_one_gets_it(connect, run):
    put_model(connect(), "n", [30])
    refused = in_turn(connect, run, "SELECT svm_rename('m', 'wanted')", "SELECT svm_rename('n', 'wanted')")
    assert isinstance(refused, psycopg.errors.UniqueViolation)
    assert [name for name, _, _ in versions(connect())] == ["n", "wanted", "wanted"]


def test_in_repeatable_read_a_change_of_a_changed_model_is_a_serialization_failure(connect):
    session = connect(autocommit=False)
    session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    one(session, DECISION)
    connect().execute("SELECT svm_deploy('m', 1)")
    with pytest.raises(psycopg.errors.SerializationFailure):
        session.execute("SELECT svm_drop('m', 1)")


def test_an_open_session_predicts_with_what_is_deployed(connect):
    session, administrator = connect(), connect()
    session.execute("PREPARE decision AS " + DECISION)
    for version, decision in [(1, 10.5), (2, 20.5), (1, 10.5)]:
        administrator.execute("SELECT svm_deploy('m', %s)", [version])
        assert one(session, "EXECUTE decision") == decision


def test_a_grantee_finds_a_model_among_a_thousand_by_indexes(connect):
    administrator = connect()
    administrator.execute(
        """
        DROP ROLE IF EXISTS life_reader;
        CREATE ROLE life_reader;
        INSERT INTO svm_model (name, owner, current_version) SELECT 'm' || i, 'nobody', 1 FROM generate_series(1, 1000) AS i;
        INSERT INTO svm_permission SELECT id, owner, 'life_reader' FROM svm_model;
        INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
            scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
        SELECT m.id, 1, features, label_column, label_type, label_values, nulls, loss, c, scale, solver, intercept_used,
            tolerance, seed, intercept, feature_count, rows_used, rows_skipped
        FROM svm_model AS m, (SELECT * FROM svm_version LIMIT 1) AS v WHERE m.name <> 'm'
        """
    )
    for table in ["svm_model", "svm_permission", "svm_version"]:
        administrator.execute(f"ANALYZE {table}")
    session = connect()
    session.execute("SET ROLE life_reader")
    query = "EXPLAIN SELECT version, features FROM svm_models WHERE name = 'm500'"
    plan = "\n".join(line for (line,) in session.execute(query))
    assert "Index" in plan and "Seq Scan" not in plan, plan
    # the rights of the role are asked for in place, not by a call of a function in SQL
    assert "svm_has_rights_of" not in plan, plan
    assert one(session, "SELECT count(*) FROM svm_models") == 1001
    administrator.execute("DELETE FROM svm_model")
    administrator.execute("DROP ROLE life_reader")
