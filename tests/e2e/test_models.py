"""The life of a stored model: seen at once by other statements, lost with its transaction."""

import threading

import psycopg
import pytest


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
