"""The life of a stored model: seen at once by other statements, lost with its transaction, kept by pg_dump, private."""

import subprocess
import threading

import psycopg
import pytest

from harness.server import programs_of


@pytest.fixture(scope="module")
def table(server, database):
    with server.connect(database) as connection:
        connection.execute("""
            CREATE TABLE points AS
            SELECT g AS id, sin(g) AS x, cos(3 * g) AS y, sin(g) + 0.2 * cos(3 * g) > 0 AS label
            FROM generate_series(1, 2000) g""")
    return "points"


TRAIN = "SELECT svm_train('points', 'label', ARRAY['x', 'y'], model => 'm')"
TRAIN_OPPOSITE = "SELECT svm_train_query('SELECT x, y, NOT label AS label FROM points', 'label', model => 'm')"
DECISION = "SELECT svm_decision('m', ARRAY[0.5, 0.1])"


def decision(connection):
    return connection.execute(DECISION).fetchone()[0]


def version(connection):
    return connection.execute("SELECT version FROM svm_models WHERE name = 'm'").fetchone()[0]


def test_a_retrained_model_is_seen_by_prepared_statements_of_other_sessions(connect, table):
    trainer, user = connect(), connect()
    trainer.execute(TRAIN)
    user.execute("PREPARE score AS " + DECISION)
    before = user.execute("EXECUTE score").fetchone()[0]
    trainer.execute(TRAIN_OPPOSITE)
    after = user.execute("EXECUTE score").fetchone()[0]
    assert before > 0 > after


def test_a_rolled_back_training_is_as_if_it_had_not_been(connect, table):
    connect().execute(TRAIN)
    connection = connect(autocommit=False)
    before, before_version = decision(connection), version(connection)
    connection.execute(TRAIN_OPPOSITE)
    assert decision(connection) < 0 < before
    connection.rollback()
    assert decision(connection) == before
    assert version(connection) == before_version
    connection.rollback()


def test_a_failed_training_leaves_the_previous_version_in_force(connect, table):
    connection = connect()
    connection.execute(TRAIN)
    before, before_version = decision(connection), version(connection)
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT svm_train_query('SELECT 1.0 AS x, 2.0 AS y, true AS label', 'label', model => 'm')")
    assert (decision(connection), version(connection)) == (before, before_version)


def test_trainings_of_one_name_at_once_become_versions_of_it(connect, table):
    connection = connect()
    connection.execute(TRAIN)
    first = version(connection)
    failures = []

    def train(session):
        try:
            session.execute(TRAIN)
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=train, args=(connect(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert version(connection) == first + 3


def test_a_dump_restores_models_that_predict_the_same(server, database, connect, table):
    connection = connect()
    connection.execute(TRAIN)
    before = decision(connection)
    programs = programs_of(server.version)
    client = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    dump = subprocess.run([programs / "pg_dump", *client, database], check=True, stdout=subprocess.PIPE).stdout
    with server.connect() as administrator:
        administrator.execute("DROP DATABASE IF EXISTS restored")
        administrator.execute("CREATE DATABASE restored")
    subprocess.run(
        [programs / "psql", *client, "-X", "-q", "-v", "ON_ERROR_STOP=1", "restored"],
        input=dump, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with server.connect("restored") as restored:
        assert decision(restored) == before
        # the sequences came along: a new training gets new numbers
        restored.execute(TRAIN)
        assert version(restored) > version(connection)


def test_a_role_neither_sees_nor_uses_the_models_of_another(server, connect, table):
    connection = connect()
    for role in ["alice", "bob"]:
        connection.execute(f"DROP ROLE IF EXISTS {role}")
        connection.execute(f"CREATE ROLE {role} LOGIN")
    connection.execute("GRANT SELECT ON points TO alice, bob")
    alice, bob = connect(user="alice"), connect(user="bob")
    alice.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y'], model => 'hers')")
    question = "SELECT svm_decision('hers', ARRAY[0.5, 0.1])"
    assert alice.execute(question).fetchone()[0] > 0
    assert bob.execute("SELECT count(*) FROM svm_models").fetchone()[0] == 0
    with pytest.raises(psycopg.Error, match="hers"):
        bob.execute(question)
    bob.execute("DELETE FROM svm_model")
    assert alice.execute("SELECT count(*) FROM svm_models WHERE name = 'hers'").fetchone()[0] == 1


def test_predictions_work_in_read_only_transactions_and_parallel_workers(connect, table):
    connection = connect()
    connection.execute(TRAIN)
    serial = connection.execute("SELECT sum(svm_decision('m', p)) FROM points p").fetchone()[0]
    connection.execute("""
        SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
        SET max_parallel_workers_per_gather = 2; SET default_transaction_read_only = on""")
    query = "SELECT sum(svm_decision('m', p)) FROM points p"
    plan = "\n".join(line for (line,) in connection.execute("EXPLAIN " + query).fetchall())
    assert "Parallel Seq Scan" in plan
    assert connection.execute(query).fetchone()[0] == pytest.approx(serial)
