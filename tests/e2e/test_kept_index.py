"""Indexes where servers and transactions move under them: what is kept of rows is used where it is true, and nothing else."""

import psycopg
import pytest

from harness.server import Server, copy_database, new_database, wait_until
from harness.sessions import Running, listen, model, one

POINTS = """
    CREATE TABLE points AS
    SELECT i, sin(i)::numeric(12, 8) AS x, ARRAY[cos(3 * i), sin(7 * i)]::real[] AS v, sin(i) + cos(3 * i) > 0.1 * sin(7 * i) AS label,
        format('%s:%s %s:1', i % 7, cos(i)::real, 7 + i % 5) AS line, format('Word%s of %s, word%s', i % 11, i % 13, i % 17) AS body
    FROM generate_series(1, 2000) AS i
"""
MAKE = "SELECT svm_index('points', ARRAY['x', 'v', 'libsvm(line)', 'text(body)'], 'kept')"
TRAIN = """
    SELECT svm_train('points', 'label', ARRAY['x', 'v', 'libsvm(line)', 'text(body)'], %s, options => %s::jsonb || '{"inherit": false}')
"""


def by_index(connection):
    """Rows whose numbers came from the index, and warnings; the model must be the one that the table gives."""
    told = listen(connection)
    connection.execute("SET client_min_messages = notice")
    connection.execute(TRAIN, ["by_index", '{"index": "kept"}'])
    connection.execute("SET client_min_messages = warning")
    connection.execute(TRAIN, ["by_table", "{}"])
    found, expected = model(connection, "by_index"), model(connection, "by_table")
    for what in ("primal", "dual", "rows_used", "training_accuracy"):
        assert found[what] == expected[what]
    weights = "SELECT feature, weight FROM svm_weights(%s) ORDER BY feature"
    assert connection.execute(weights, ["by_index"]).fetchall() == connection.execute(weights, ["by_table"]).fetchall()
    connection.execute("SELECT svm_drop('by_index'), svm_drop('by_table')")
    (line,) = [it.text for it in told if it.severity == "NOTICE"]
    used = int(line.split(" by index kept")[0].split()[-1])
    return used, [it.text for it in told if it.severity == "WARNING"]


@pytest.fixture
def indexed(server):
    """A connection to a database with a table and its index."""
    with server.connect(new_database(server, "kept_index")) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(POINTS)
        connection.execute(MAKE)
        yield connection


def test_a_dump_has_the_name_and_no_rows(server, indexed):
    assert by_index(indexed) == (2000, [])
    copy_database(server, "kept_index", "kept_index_copy")
    with server.connect("kept_index_copy") as connection:
        listed = connection.execute("SELECT name, columns, rows FROM svm_indexes").fetchall()
        assert listed == [("kept", ["x", "v", "line", "body"], 0)]
        used, (warning,) = by_index(connection)
        assert used == 0 and warning.startswith("index kept does not know 2000 rows as they are now")
        connection.execute(MAKE)
        assert by_index(connection) == (2000, [])


def test_after_a_crash_it_knows_no_row(server):
    own = Server(server.version, "kept_index")
    try:
        with own.connect(new_database(own, "kept_index")) as connection:
            connection.execute("CREATE EXTENSION pgsvm")
            connection.execute(POINTS)
            connection.execute(MAKE)
        own.control("-m", "immediate", "stop")
        own.control("start")
        with own.connect("kept_index") as connection:
            used, (warning,) = by_index(connection)
            assert used == 0 and warning.startswith("index kept does not know 2000 rows")
            connection.execute(MAKE)
            assert by_index(connection) == (2000, [])
    finally:
        own.stop()


def test_a_table_that_is_rewritten_is_read(indexed):
    for rewrite in ("VACUUM FULL points", "CREATE INDEX i ON points (i); CLUSTER points USING i"):
        for statement in rewrite.split("; "):
            indexed.execute(statement)
        used, (warning,) = by_index(indexed)
        assert used == 0 and "2000 rows" in warning
        indexed.execute(MAKE)
        assert by_index(indexed) == (2000, [])


def test_rows_in_the_place_of_others_are_read(indexed):
    """VACUUM frees the places of rows that are gone, and others with other values come there."""
    indexed.execute("DELETE FROM points WHERE i % 2 = 0")
    indexed.execute("VACUUM points")
    indexed.execute(
        "INSERT INTO points SELECT i, -x, v, NOT label, '3:1', 'Another word' FROM points; UPDATE points SET i = -i WHERE i % 10 = 1"
    )
    places = "SELECT count(*) FROM points WHERE (ctid::text::point)[0] < 10"
    assert one(indexed, places) > 500
    assert one(indexed, "SELECT count(*) FROM points") == 2000
    used, _ = by_index(indexed)
    assert used == 800


OLDER = {
    "a transaction": "SELECT pg_current_xact_id()",
    "one of another database": "SELECT pg_current_xact_id()",
    "one with many parts": "SAVEPOINT s; INSERT INTO noise VALUES (1); "
    + "SAVEPOINT t; INSERT INTO noise VALUES (2); " * 100,
    "a prepared one": "INSERT INTO noise VALUES (1); PREPARE TRANSACTION 'older'",
    "a snapshot": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM noise",
}


@pytest.fixture(scope="module")
def busy(server):
    """A server with prepared transactions."""
    own = Server(server.version, "kept_index_busy")
    try:
        own.restart_with({"max_prepared_transactions": 2})
        yield own
        assert not own.complaints()
    finally:
        own.stop()


@pytest.mark.parametrize("older", OLDER)
def test_nobody_waits_for_older_transactions(busy, older):
    """Whoever has had a transaction open since before the table was made, all of it is indexed: rows of what is over."""
    with busy.connect(new_database(busy, "kept_index")) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute("CREATE TABLE noise (i int)")
        elsewhere = "postgres" if older == "one of another database" else "kept_index"
        with busy.connect(elsewhere, autocommit=False) as other:
            other.execute(OLDER[older])
            connection.execute(POINTS)
            connection.execute("ALTER TABLE points ALTER i SET NOT NULL; GRANT SELECT ON points TO PUBLIC")
            connection.execute(MAKE)
            assert by_index(connection) == (2000, [])
            connection.execute("INSERT INTO points SELECT i + 5000, x, v, label, line, body FROM points WHERE i <= 100")
            connection.execute("DELETE FROM points WHERE i <= 50")
            assert by_index(connection) == (1950, [])
            connection.execute("SELECT svm_refresh_index('kept')")
            assert by_index(connection) == (2050, [])
            if older == "a prepared one":
                connection.execute("ROLLBACK PREPARED 'older'")
            other.rollback()
        connection.execute("SELECT svm_refresh_index('kept')")
        assert by_index(connection) == (2050, [])


def test_rows_of_the_transaction_itself_are_read(server, indexed):
    """It may still empty the table and fill it again, in the same places."""
    told = listen(indexed)
    with server.connect("kept_index", autocommit=False) as other:
        told_other = listen(other)
        other.execute("SET client_min_messages = notice")
        other.execute("INSERT INTO points SELECT i + 5000, x, v, label, line, body FROM points WHERE i <= 100")
        other.execute("SELECT svm_refresh_index('kept')")
        assert told_other[-1].text.startswith("index kept: 0 rows added, 0 gone; 2000 rows")
        assert "Not kept: 100 rows that this transaction has written itself" in told_other[-1].text
        assert by_index(other)[0] == 2000
        # not even the table is known
        other.execute("SET client_min_messages = notice")
        other.execute("CREATE TEMP TABLE same AS TABLE points; TRUNCATE points; INSERT INTO points TABLE same")
        other.execute("SELECT svm_index('points', ARRAY['x', 'v', 'libsvm(line)', 'text(body)'], 'lately')")
        assert told_other[-1].text.startswith("index lately: 0 rows")
        assert "Not kept: 2100 rows that this transaction has written itself" in told_other[-1].text
        other.execute("TRUNCATE points; INSERT INTO points SELECT i, -x, v, NOT label, '3:1', 'Another word' FROM same")
        assert by_index(other)[0] == 0
    indexed.execute("SET client_min_messages = notice")
    indexed.execute("SELECT svm_refresh_index('lately')")
    assert told[-1].text.startswith("index lately: made again: 2100 rows")


def test_rows_that_are_gone_leave_it(indexed):
    indexed.execute("DELETE FROM points WHERE i % 3 = 0; UPDATE points SET body = 'Else' WHERE i % 100 = 1")
    told = listen(indexed)
    indexed.execute("SET client_min_messages = notice")
    indexed.execute(TRAIN, ["gone", '{"index": "kept"}'])
    indexed.execute(
        TRAIN.replace("svm_train('points'", "svm_train_query('SELECT * FROM points'"),
        ["gone_by_query", '{"index": "kept"}'],
    )
    table, query = (it.text for it in told if it.severity == "NOTICE")
    assert (
        "680 rows of the index not met. What is gone or has changed is still in it: svm_refresh_index('kept') takes it out."
        in table
    )
    assert "680 rows of the index not met." in query and "svm_refresh_index" not in query
    told.clear()
    indexed.execute("SELECT svm_refresh_index('kept')")
    assert told[0].text.startswith("index kept: 14 rows added, 680 gone; 1334 rows")
    assert by_index(indexed) == (1334, [])


def test_it_is_brought_up_to_date_after_a_restore(server, indexed):
    copy_database(server, "kept_index", "kept_index_again")
    with server.connect("kept_index_again") as connection:
        told = listen(connection)
        connection.execute("SET client_min_messages = notice")
        connection.execute("SELECT svm_refresh_index('kept')")
        assert told[0].text.startswith("index kept: made again: 2000 rows")
        connection.execute("DELETE FROM points WHERE i <= 30")
        connection.execute("SELECT svm_refresh_index('kept')")
        assert told[1].text.startswith("index kept: 0 rows added, 30 gone; 1970 rows")
        assert by_index(connection) == (1970, [])


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        ("SELECT 1", "index kept: 0 rows added, 1 gone; 2099 rows"),
        (MAKE, "index kept: 0 rows added, 0 gone; 2099 rows"),
        ("SELECT svm_drop_index('kept')", None),
    ],
)
def test_one_after_the_other_brings_it_up_to_date(server, indexed, meanwhile, expected):
    """Who comes second goes on from what the first has left, which may be another index of the name, or none."""
    refresh = "SELECT svm_refresh_index('kept')"
    waiting = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    indexed.execute("INSERT INTO points SELECT i + 5000, x, v, label, line, body FROM points WHERE i <= 100")
    with server.connect("kept_index") as first, server.connect("kept_index") as second:
        told = listen(second)
        second.execute("SET client_min_messages = notice")
        with first.transaction():
            first.execute(refresh)
            running = Running(second, refresh)
            wait_until(lambda: one(indexed, waiting, [running.pid]), what="the second")
            indexed.execute("DELETE FROM points WHERE i = 7")
            first.execute(meanwhile)
        if expected is None:
            assert isinstance(running.end(), psycopg.errors.UndefinedObject)
        else:
            assert running.end() == [("kept",)]
            assert told[0].text.startswith(expected), told[0].text
            assert by_index(indexed) == (2099, [])


def test_a_training_reads_what_was_there_when_it_began(server, indexed):
    """Chunks that are replaced while a training, or a transaction, goes on are what they were for it."""
    with server.connect("kept_index", autocommit=False) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        indexed.execute("DELETE FROM points WHERE i % 2 = 0")
        indexed.execute("VACUUM points")
        indexed.execute("SELECT svm_refresh_index('kept')")
        assert by_index(other) == (2000, [])
        with pytest.raises(psycopg.errors.SerializationFailure):
            other.execute("SELECT svm_refresh_index('kept')")
    assert by_index(indexed) == (1000, [])


def test_what_it_has_not_is_named(indexed):
    told = listen(indexed)
    for features in (["x", "text(body, 2)"], ["x", "ngrams(body, 2, 2)", "log(i)", "text(body)"]):
        train = """SELECT svm_train('points', 'label', %s, 'named', options => '{"index": "kept", "inherit": false}')"""
        indexed.execute(train, [features])
    first, second = (it.text for it in told if it.severity == "NOTICE")
    assert "2000 rows of it" in first and "from the table in all rows" not in first
    assert "from the table in all rows: ngrams(body, 2, 2), log(i)." in second


def test_what_is_rolled_back_is_not_kept(server, indexed):
    with pytest.raises(ZeroDivisionError), indexed.transaction():
        indexed.execute("UPDATE points SET x = -x")
        indexed.execute(MAKE)
        raise ZeroDivisionError
    assert by_index(indexed) == (2000, [])


def test_it_can_be_cancelled(server, indexed):
    indexed.execute("INSERT INTO points SELECT i, x, v, label, line, body FROM points, generate_series(1, 300)")
    with server.connect("kept_index") as other:
        running = Running(other, MAKE)
        working = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {running.pid} AND state = 'active'"
        wait_until(lambda: one(indexed, working) == 1, what="the index")
        indexed.execute("SELECT pg_cancel_backend(%s)", [running.pid])
        assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    assert one(indexed, "SELECT rows FROM svm_indexes") == 2000
