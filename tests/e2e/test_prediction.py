"""Prediction where models are changed by somebody else: by another session in the middle of a transaction, or on the
primary of a standby."""

import os
import shutil
import subprocess

import psycopg
import pytest

from harness.server import programs_of, wait_until
from harness.sessions import Running, one

DECISION = "SELECT svm_decision('m', ARRAY[1])"


def train(connection, label):
    """Trains model m on two examples with that label; DECISION then has the sign of the label at x = 1."""
    query = f"SELECT x, {label} AS label FROM (VALUES (-1.0), (1.0)) AS v (x)"
    one(connection, "SELECT svm_train_query(%s, 'label', model => 'm')", [query])


def test_a_function_in_progress_sees_a_model_that_another_session_trains(connect):
    trainer, user = connect(), connect()
    train(trainer, "x")
    # one call site in one transaction, and nothing that would make the session look for invalidations
    trainer.execute(
        """
        CREATE FUNCTION await_negative() RETURNS float8 LANGUAGE plpgsql AS $$
        DECLARE
            decision float8;
        BEGIN
            LOOP
                decision := svm_decision('m', ARRAY[1]);
                IF decision < 0 THEN
                    RETURN decision;
                END IF;
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$"""
    )
    user.execute("SET statement_timeout = '20s'")
    waiting = Running(user, "SELECT await_negative()")
    wait_until(
        lambda: one(trainer, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"),
        what="the function to loop",
    )
    train(trainer, "-x")
    assert waiting.end()[0][0] < 0


@pytest.fixture(scope="module")
def standby(server):
    """Opens connections to a hot standby of the session's server, made from a base backup."""
    programs = programs_of(server.version)
    data = server.data_directory.parent / "standby"
    shutil.rmtree(data, ignore_errors=True)
    connection_options = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    subprocess.run(
        [programs / "pg_basebackup", *connection_options, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"],
        check=True,
    )
    owner = server.data_directory.stat()
    for path in [data, *data.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    log = data.parent / "standby.log"
    subprocess.run(
        [programs / "pg_ctl", "-D", data, "-l", log, "-o", "-p 5433", "-w", "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    opened = []

    def connect(database, user="postgres"):
        opened.append(
            psycopg.connect(host=server.socket_directory, port=5433, dbname=database, user=user, autocommit=True)
        )
        return opened[-1]

    try:
        yield connect
    finally:
        for connection in opened:
            connection.close()
        subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(data, ignore_errors=True)


def test_a_standby_predicts_and_sees_new_versions(database, connect, standby):
    primary = connect()
    train(primary, "x")
    reader = standby(database)

    def sign():
        return one(reader, "SELECT sign(svm_decision('m', ARRAY[1]))::int")

    wait_until(lambda: one(reader, "SELECT count(*) FROM svm_models") == 1, what="the model to reach the standby")
    wait_until(lambda: sign() == 1, what="the first version")
    reader.execute("PREPARE score AS " + DECISION)
    assert one(reader, "EXECUTE score") > 0
    train(primary, "-x")
    wait_until(lambda: one(reader, "EXECUTE score") < 0, what="the new version")


def test_a_standby_explains(database, connect, standby):
    primary = connect()
    primary.execute("DROP TABLE IF EXISTS doubtful")
    primary.execute("CREATE TABLE doubtful AS SELECT x::int, x AS label FROM (VALUES (-1.0), (1.0)) AS v (x)")
    train(primary, "x")
    primary.execute("UPDATE doubtful SET label = 1 WHERE x < 0")
    reader = standby(database)
    relations = "SELECT count(*) FROM pg_class WHERE relname = 'doubtful'"
    wait_until(
        lambda: one(reader, relations) == 1 and one(reader, "SELECT max(label) FROM doubtful WHERE x < 0") == 1,
        what="the table",
    )
    for query in [
        "SELECT count(*) FROM svm_weights('m')",
        "SELECT sum(contribution) FROM svm_explain('m', ARRAY[1])",
        "SELECT sum(margin) FROM svm_suspects('m', 'doubtful')",
        "SELECT svm_as_sql('m')",
        "SELECT decision FROM svm_predict_set('m', ARRAY[1], 1)",
        "SELECT svm_predict('m', ARRAY[1], NULL::numeric)",
    ]:
        assert one(reader, query) == one(primary, query) is not None


def test_a_standby_says_where_to_train_and_deploy(database, connect, standby):
    train(connect(), "x")
    reader = standby(database)
    writing = ["svm_train_query('SELECT 1 AS x, 1 AS label', 'label', model => 'm')", "svm_deploy('m', 1)"]
    for call in [*writing, "svm_create_function('m')"]:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as refused:
            reader.execute(f"SELECT {call}")
        assert "in a read-only transaction" in refused.value.diag.message_primary
        assert "call it on the primary" in refused.value.diag.message_hint


def test_a_standby_shows_a_role_what_it_is_granted_on_the_primary(database, connect, standby):
    primary = connect()
    primary.execute("DROP ROLE IF EXISTS standby_reader")
    primary.execute("CREATE ROLE standby_reader LOGIN")
    train(primary, "x")
    watcher = standby(database)
    roles = "SELECT count(*) FROM pg_roles WHERE rolname = 'standby_reader'"
    wait_until(lambda: one(watcher, roles) == 1, what="the role")
    reader = standby(database, user="standby_reader")
    names = "SELECT count(*) FROM svm_models"
    assert one(reader, names) == 0
    primary.execute("SELECT svm_grant('m', 'standby_reader')")
    wait_until(lambda: one(reader, names) == 1, what="the grant")
    assert one(reader, DECISION) == one(primary, DECISION)
    primary.execute("SELECT svm_revoke('m', 'standby_reader')")
    wait_until(lambda: one(reader, names) == 0, what="the grant to go")
    with pytest.raises(psycopg.errors.UndefinedObject):
        one(reader, DECISION)
