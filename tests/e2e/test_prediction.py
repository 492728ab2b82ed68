"""Prediction where models are changed by somebody else: by another session in the middle of a transaction, or on the
primary of a standby."""

import os
import shutil
import subprocess

import psycopg
import pytest

from harness.server import new_database, programs_of, wait_until
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


# What only reads, by its name: on a standby and in a transaction that may not write each answers as anywhere.
READS = {
    "svm_as_sql": ["SELECT svm_as_sql('m')", "SELECT svm_as_sql('many', 'b')"],
    "svm_auc": ["SELECT svm_auc(svm_decision('m', p), label) FROM points AS p"],
    "svm_classify": ["SELECT svm_classify('many', p), svm_classify('m', p, 0.7) FROM points AS p"],
    "svm_confusion": [
        "SELECT * FROM svm_confusion('m', 'points')",
        "SELECT * FROM svm_confusion('many', 'points', 'kind')",
    ],
    "svm_cross_validate": [
        "SELECT c, fold, accuracy FROM svm_cross_validate('points', 'label', c => '{1, 10}', folds => 3, features => '{x, y}')",
        "SELECT c, fold, accuracy FROM svm_cross_validate('points', 'label', folds => 2, features => '{x, y}', kernel => 'rbf')",
        # a standby has nothing of what an index keeps
        """SELECT c, fold, accuracy FROM svm_cross_validate('points', 'label', folds => 2, features => '{x, y}', options => '{"index": "kept"}')""",
    ],
    "svm_decision": [
        "SELECT svm_decision('m', p), svm_decision('many', p, 'b'), svm_decision('curved', p) FROM points AS p"
    ],
    "svm_evaluate": [
        "SELECT * FROM svm_evaluate('m', 'points')",
        "SELECT * FROM svm_evaluate('many', 'points', 'kind')",
        "SELECT * FROM svm_evaluate('texts', 'points')",
        "SELECT * FROM svm_evaluate('curved', 'points')",
    ],
    "svm_expand": ["SELECT svm_expand('texts', p) FROM points AS p LIMIT 3"],
    "svm_explain": ["SELECT svm_explain('m', p), svm_explain('texts', p) FROM points AS p LIMIT 3"],
    "svm_export": ["SELECT svm_export('m'), svm_export('m', 'pgsvm'), svm_export('curved', 'libsvm_model')"],
    "svm_export_rows": [
        "SELECT * FROM svm_export_rows('m', 'points')",
        "SELECT * FROM svm_export_rows('texts', 'points')",
    ],
    "svm_features": ["SELECT * FROM svm_features('m')", "SELECT * FROM svm_features('texts')"],
    "svm_interval": ["SELECT p.x, svm_interval('number', p), svm_interval('number', p, 0.5) FROM points AS p LIMIT 3"],
    "svm_log_loss": ["SELECT svm_log_loss(svm_probability('m', p), label) FROM points AS p"],
    "svm_margin": ["SELECT svm_margin('m', p, label) FROM points AS p"],
    "svm_metrics": ["SELECT svm_metrics(label, svm_predict('m', p, NULL::boolean)) FROM points AS p"],
    "svm_predict": [
        "SELECT svm_predict('numeric', p), svm_predict('many', p, NULL::text), svm_predict('m', p, NULL::boolean) FROM points AS p"
    ],
    "svm_predict_quantiles": ["SELECT svm_predict_quantiles('band', p) FROM points AS p LIMIT 3"],
    "svm_predict_query": ["SELECT * FROM svm_predict_query('m', 'SELECT * FROM points')"],
    "svm_predict_set": ["SELECT svm_predict_set('many', p) FROM points AS p LIMIT 3"],
    "svm_probability": ["SELECT svm_probability('m', p), svm_probability('m', p, true) FROM points AS p"],
    "svm_roc": ["SELECT * FROM svm_roc('m', 'points')"],
    "svm_roc_points": ["SELECT svm_roc_points(svm_decision('m', p), label) FROM points AS p"],
    "svm_select_features": [
        "SELECT (s).* FROM svm_select_features('points', 'label', '{x, y, noise}', folds => 3) AS s"
    ],
    "svm_split": ["SELECT svm_split(i, 0.3) FROM points"],
    "svm_suspects": [
        "SELECT * FROM svm_suspects('m', 'points', 10)",
        "SELECT * FROM svm_suspects('m', 'points', 10, folds => 3)",
        "SELECT * FROM svm_suspects('many', 'points', 10, folds => 3)",
        "SELECT * FROM svm_suspects('texts', 'points', 10, folds => 3)",
        "SELECT * FROM svm_suspects('keyed', 'points', 10, folds => 3)",
        "SELECT * FROM svm_suspects('curved', 'points', 10, folds => 3)",
    ],
    "svm_training_log": ["SELECT * FROM svm_training_log('m')"],
    "svm_weights": ["SELECT * FROM svm_weights('m')", "SELECT * FROM svm_weights('many')"],
    # views
    "svm_models": ["TABLE svm_models"],
    "svm_problems": ["TABLE svm_problems"],
    "svm_progress": ["TABLE svm_progress"],
    "svm_versions": ["TABLE svm_versions"],
}
# What changes something, and is refused where nothing can be written.
CHANGES = {
    "svm_create_function": "SELECT svm_create_function('m')",
    "svm_deploy": "SELECT svm_deploy('m', 1)",
    "svm_distribute_models": "SELECT svm_distribute_models()",
    "svm_drop": "SELECT svm_drop('m')",
    "svm_drop_index": "SELECT svm_drop_index('kept')",
    "svm_forget": "SELECT svm_forget('keyed', 'points')",
    "svm_forget_query": "SELECT svm_forget_query('keyed', 'SELECT i FROM points')",
    "svm_grant": "SELECT svm_grant('m', 'public')",
    "svm_import": "SELECT svm_import('n', svm_export('m', 'pgsvm'))",
    "svm_index": "SELECT svm_index('points', '{x, y}')",
    "svm_load_libsvm": "SELECT svm_load_libsvm('loaded', content => '1 1:1')",
    "svm_prune": "SELECT svm_prune('m')",
    "svm_refresh": "SELECT svm_refresh('keyed')",
    "svm_refresh_index": "SELECT svm_refresh_index('kept')",
    "svm_rename": "SELECT svm_rename('m', 'n')",
    "svm_repair": "SELECT svm_repair()",
    "svm_revoke": "SELECT svm_revoke('m', 'public')",
    "svm_train": "SELECT svm_train('points', 'label')",
    "svm_train_query": "SELECT svm_train_query('TABLE points', 'label', model => 'n')",
    "svm_update": "SELECT svm_update('keyed', 'points')",
    "svm_update_query": "SELECT svm_update_query('keyed', 'TABLE points')",
}
# What a reader finds in the catalog. A view of rows that no standby has is none of it.
NAMES = """
    SELECT DISTINCT coalesce(p.proname, c.relname) FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
    LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid AND p.pronamespace = e.extnamespace
    LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'v'
    WHERE e.extname = 'pgsvm' AND d.deptype = 'e' AND coalesce(p.proname, c.relname) <> 'svm_indexes'
"""


@pytest.fixture(scope="module")
def known(server, database):
    """The name of a database that has models of each kind."""
    name = new_database(server, "reads")
    with server.connect(name) as connection:
        connection.execute(
            """
            CREATE EXTENSION pgsvm;
            CREATE TABLE points AS
            SELECT i, sin(i) AS x, cos(3 * i) AS y, cos(5 * i) AS noise, sin(i) + cos(3 * i) > 0.4 * sin(7 * i) AS label,
                CASE WHEN sin(i) > 0.5 THEN 'a' WHEN cos(3 * i) > 0 THEN 'b' ELSE 'c' END AS kind,
                CASE WHEN sin(i) > 0 THEN 'up and ' ELSE 'down and ' END || 'word' || i % 7 || ' or word' || i % 5 AS body
            FROM generate_series(1, 300) AS i;
            SELECT svm_train('points', 'label', '{x, y}', 'm', probability => true, options => '{"duals": true}');
            SELECT svm_train('points', 'kind', '{x, y}', 'many', probability => true);
            SELECT svm_train_query('SELECT x, y, label::int AS label FROM points', 'label', model => 'numeric');
            SELECT svm_train('points', 'noise', '{x, y}', 'number', options => '{"intervals": true}');
            SELECT svm_train('points', 'noise', '{x, y}', 'band', options => '{"quantiles": [0.1, 0.9]}');
            SELECT svm_train('points', 'label', '{text(body)}', 'texts');
            SELECT svm_train('points', 'label', '{x, y}', 'keyed', key => 'i');
            SELECT svm_train('points', 'label', '{x, y}', 'curved', kernel => 'rbf');
            SELECT svm_index('points', '{x, y}', 'kept')
            """
        )
    return name


def answers(connection):
    """What each of READS answers; an error's text where one fails."""
    told = {}
    for query in (query for queries in READS.values() for query in queries):
        try:
            told[query] = connection.execute(query).fetchall()
        except psycopg.Error as error:
            told[query] = f"{error.sqlstate} {error.diag.message_primary}"
    return told


def test_every_function_is_one_that_reads_or_one_that_changes(server, known):
    with server.connect(known) as connection:
        names = {name for (name,) in connection.execute(NAMES)}
    assert set(READS) & set(CHANGES) == set()
    assert names == set(READS) | set(CHANGES)


@pytest.mark.parametrize("where", ["a standby", "a read-only transaction"])
def test_what_reads_answers_where_nothing_can_be_written(server, known, standby, where):
    with server.connect(known) as connection:
        expected = answers(connection)
        assert {query: told for query, told in expected.items() if isinstance(told, str)} == {}
        lsn = one(connection, "SELECT pg_current_wal_lsn()")
        if where == "a standby":
            reader = standby(known)
            arrived = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
            wait_until(lambda: one(reader, arrived, [lsn]), what="all of it on the standby")
        else:
            reader = connection
            reader.execute("SET default_transaction_read_only = on")
        for settings in (
            "",
            "SET pgsvm.min_parallel_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0",
        ):
            reader.execute(settings)
            told = answers(reader)
            assert {query: (told[query], expected[query]) for query in expected if told[query] != expected[query]} == {}
        for call in CHANGES.values():
            # without Citus the latter
            with pytest.raises((psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.FeatureNotSupported)) as refused:
                reader.execute(call)
            assert refused.value.diag.message_hint, call


def test_what_reads_takes_no_transactions_number(server, known):
    with server.connect(known, autocommit=False) as connection:
        for query in (query for queries in READS.values() for query in queries):
            connection.execute(query)
            assert one(connection, "SELECT pg_current_xact_id_if_assigned()") is None, query


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
