"""What reads bytes that somebody else wrote, under real inputs with bytes changed: LIBSVM text, arrays, imported models, and
what is stored of models. The loop runs inside the server; each case is rolled back. Text that is no UTF-8 is refused by
PostgreSQL.
"""

import time
from collections import Counter

import pytest

from harness.effort import LONG, SEED, record, seconds
from harness.server import new_database

# A slow decoder may have had fewer when its share of the time is up.
CASES = 250_000 if LONG else 200
BATCH = 2000 if LONG else 200

LIBLINEAR = [
    b"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 3\nbias -1\nw\n0.5 \n-1 \n1e-3 \n",
    b"solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\nnr_feature 2\nbias 1\nw\n0.5 1 2\n-1 0 0\n1 1 1\n",
]
LIBSVM = [
    b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1 \n-1 2:3 \n",
    b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 3\ntotal_sv 4\nrho 0.25 -0.5 0.1\nlabel 5 -1 2\nprobA -1 -2 -3\n"
    b"probB 0.5 0 -0.25\nnr_sv 2 1 1\nSV\n1 0.5 1:1 2:2 \n0.5 0 3:1 \n-1.5 2 1:-1 \n-0.5 -2 2:2 \n",
    b"svm_type nu_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0.5 -1\nlabel 1 2 3\nnr_sv 1 1 1\nSV\n1 2 1:1 \n"
    b"-1 1 2:1 \n-2 -1 1:-1 2:-1 \n",
]
FILES = [b"+1 1:0.5 3:-2\n-1 2:1\n# no more\n+1 1:1 4:7e-3\n", b"1 1:1\r\n0 7:123456789012345678\n\n"]
ROWS = [b"1:0.5 3:-2 17:1e-3", b"+3:.5\t4:0 9:-1e30", b"1:1 2:2 3:3 4:4 5:5", b"4294967295:1"]
ARRAYS = [b"{1,2.5}", b"{-1e-3,NULL}", b"{{1,2},{3,4}}", b"[0:1]={1,2}", b"{1e38,NaN}", b"{}", b"{1,2,3,4,5,6,7,8,9}"]

USE = "decision := svm_decision('libsvm', '1:1 2:2 3:3'); PERFORM count(*) FROM svm_weights('libsvm')"
BY_INDEX = """PERFORM svm_train('rows', 'good', ARRAY['features'], 'by index', options => '{"index": "index"}')"""
RENEWED = "DELETE FROM rows WHERE id = 7; PERFORM svm_refresh_index('index')"
READ_AGAIN = "UPDATE svm_version SET options = options WHERE id = svm_internal.svm_version_id('libsvm');"

TEXT = "changed := convert_from(bytes, 'UTF8'); "
# name -> (real inputs, or a query of them; what is done with changed ones)
DECODERS = {
    "LIBSVM rows": (ROWS, TEXT + "decision := svm_decision('libsvm', changed)"),
    "arrays of real": (ARRAYS, TEXT + "decision := svm_decision('numbers', changed::real[])"),
    "arrays of float8": (ARRAYS, TEXT + "decision := svm_decision('numbers', changed::float8[])"),
    "arrays of numeric": (ARRAYS, TEXT + "decision := svm_decision('numbers', changed::numeric[])"),
    "LIBSVM files": (FILES, TEXT + "PERFORM svm_load_libsvm('loaded', content => changed)"),
    "models of LIBLINEAR": (
        LIBLINEAR,
        TEXT + "PERFORM svm_import('taken', changed); decision := svm_decision('taken', '1:1')",
    ),
    "models of LIBSVM": (
        LIBSVM,
        TEXT + "PERFORM svm_import('taken', changed); PERFORM svm_export('taken', 'libsvm_model');"
        " decision := svm_margin('taken', '1:1', svm_classify('taken', '1:1'))",
    ),
    "stored features": (
        "SELECT features::text::bytea FROM svm_version WHERE id = svm_internal.svm_version_id('libsvm')",
        f"{TEXT} UPDATE svm_version SET features = changed::jsonb WHERE id = svm_internal.svm_version_id('libsvm'); {USE}",
    ),
    "stored weights": (
        "SELECT weights::text::bytea FROM svm_weight WHERE version_id = svm_internal.svm_version_id('libsvm')",
        f"{TEXT} UPDATE svm_weight SET weights = changed::float8[] WHERE version_id = svm_internal.svm_version_id('libsvm');"
        f" {READ_AGAIN} {USE}",
    ),
    "stored keys": ("SELECT keys FROM svm_key", "UPDATE svm_key SET keys = bytes; PERFORM svm_refresh('followed')"),
    "stored digests": (
        "SELECT digests FROM svm_key",
        "UPDATE svm_key SET digests = bytes; PERFORM svm_refresh('followed')",
    ),
    "stored dual variables": (
        "SELECT states FROM svm_key_dual",
        "UPDATE svm_key_dual SET states = bytes; PERFORM svm_refresh('followed')",
    ),
    "stored row versions": (
        "SELECT versions FROM svm_key_leeway",
        "UPDATE svm_key_leeway SET versions = bytes; PERFORM svm_refresh('passing')",
    ),
    "stored leeways": (
        "SELECT leeways FROM svm_key_leeway",
        "UPDATE svm_key_leeway SET leeways = bytes; PERFORM svm_refresh('passing')",
    ),
    "stored numbers of an index": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 0",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 0; {BY_INDEX}",
    ),
    "stored lists of an index": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 1",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 1; {BY_INDEX.replace('features', 'libsvm(t)')}",
    ),
    "stored words of an index": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 2",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 2; {BY_INDEX.replace('features', 'text(t)')}",
    ),
    "stored rows of an index": (
        "SELECT tuples FROM svm_index_chunk WHERE part = 0",
        f"UPDATE svm_index_chunk SET tuples = bytes WHERE part = 0; {BY_INDEX}",
    ),
    "stored lengths of an index": (
        "SELECT lengths::text::bytea FROM svm_index",
        f"{TEXT} UPDATE svm_index SET lengths = changed::int[]; {BY_INDEX}",
    ),
    "stored columns of an index": (
        "SELECT columns::text::bytea FROM svm_index",
        f"{TEXT} UPDATE svm_index SET columns = changed::text[]; {BY_INDEX}",
    ),
    "stored tables of an index": (
        "SELECT tables FROM svm_index",
        f"UPDATE svm_index SET tables = bytes; {BY_INDEX}",
    ),
    "numbers of an index that is brought up to date": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 0",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 0; {RENEWED}",
    ),
    "lists of an index that is brought up to date": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 1",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 1; {RENEWED}",
    ),
    "words of an index that is brought up to date": (
        "SELECT numbers FROM svm_index_chunk WHERE part = 2",
        f"UPDATE svm_index_chunk SET numbers = bytes WHERE part = 2; {RENEWED}",
    ),
    "rows of an index that is brought up to date": (
        "SELECT tuples FROM svm_index_chunk WHERE part = 0",
        f"UPDATE svm_index_chunk SET tuples = bytes WHERE part = 0; {RENEWED}",
    ),
}

SETTING = [
    """
    CREATE TABLE rows AS SELECT i AS id, ARRAY[sin(i), cos(i)]::real[] AS features, i % 7 || ':1 9:' || i AS t, sin(i) > 0.3 AS good
    FROM generate_series(1, 40) AS i
    """,
    "SELECT svm_train('rows', 'good', ARRAY['features'], 'numbers')",
    "SELECT svm_train('rows', 'good', ARRAY['libsvm(t)'], 'libsvm')",
    "SELECT svm_train('rows', 'good', ARRAY['features'], 'followed', nulls => 'zero', key => 'id')",
    "SELECT svm_index('rows', ARRAY['features', 'libsvm(t)', 'text(t)'], 'index')",
    "SELECT svm_train('rows', 'good', ARRAY['features'], 'passing', c => 1000, scale => 'none', key => 'id')",
    "CREATE TABLE outcome (state text, told text, bytes bytea)",
    # a byte changed, an end cut off, something put in, some left out, a piece repeated
    """
    CREATE FUNCTION change(b bytea) RETURNS bytea LANGUAGE plpgsql AS $$
    DECLARE
        at int := floor(random() * (length(b) + 1));
        few int := 1 + floor(random() * 12);
        tokens bytea[] := ARRAY['-', '+', ':', ' ', E'\\n', ',', '{', '}', '.', 'e', 'nan', 'inf', '1e999', '1e-999', '99999999999',
            '4294967296', '-0', 'NULL', '0x1', '"', '[', '\\xc3', '\\xff', '\\x80'];
    BEGIN
        CASE floor(random() * 6)::int
            WHEN 0 THEN
                IF at < length(b) THEN b := set_byte(b, at, 1 + floor(random() * 255)::int); END IF;
            WHEN 1 THEN b := substring(b, 1, at);
            WHEN 2 THEN b := substring(b, 1, at) || tokens[1 + floor(random() * cardinality(tokens))] || substring(b, at + 1);
            WHEN 3 THEN b := substring(b, 1, at) || substring(b, at + 1 + few);
            WHEN 4 THEN b := substring(b, 1, at) || substring(b, at + 1, few) || substring(b, at + 1);
            ELSE b := substring(b, 1, at) || decode(repeat('31', few), 'hex') || substring(b, at + 1);
        END CASE;
        RETURN b;
    END $$
    """,
]
HAMMER = """
    DO $do$
    DECLARE
        originals bytea[] := ARRAY(SELECT original FROM originals);
        bytes bytea;
        changed text;
        decision float8;
    BEGIN
        FOR number IN 1 .. {batch} LOOP
            bytes := originals[1 + floor(random() * cardinality(originals))];
            FOR time IN 0 .. floor(random() * 3) LOOP bytes := change(bytes); END LOOP;
            BEGIN
                decision := 0;
                {work};
                IF decision IS NULL OR decision - decision = 0 THEN RAISE SQLSTATE 'TAKEN'; END IF;
                RAISE SQLSTATE 'WR0NG' USING MESSAGE = decision;
            EXCEPTION WHEN OTHERS THEN
                INSERT INTO outcome VALUES (SQLSTATE, SQLERRM, bytes);
            END;
        END LOOP;
    END $do$
"""
WRONG = "(state LIKE 'XX%' AND state <> 'XX001') OR state = 'WR0NG'"


@pytest.fixture(scope="module")
def changing(server):
    """A connection to a database with models and rows to change."""
    with server.connect(new_database(server, "decoders")) as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute("CREATE EXTENSION pgsvm")
        for statement in SETTING:
            connection.execute(statement)
        connection.execute("SELECT setseed(1.0 / (1 + %s))", [SEED])
        yield connection


@pytest.mark.parametrize("what", DECODERS)
def test_changed_bytes_are_read_or_refused(changing, what):
    inputs, work = DECODERS[what]
    changing.execute("DROP TABLE IF EXISTS originals")
    changing.execute("CREATE TABLE originals (original bytea)")
    if isinstance(inputs, str):
        changing.execute(f"INSERT INTO originals {inputs}")
    else:
        changing.cursor().executemany("INSERT INTO originals VALUES (%s)", [(each,) for each in inputs])
    deadline = time.monotonic() + seconds(quick=20, share=1 / len(DECODERS))
    cases, states = 0, Counter()
    while cases < CASES and time.monotonic() < deadline:
        changing.execute("TRUNCATE outcome")
        changing.execute(HAMMER.format(batch=BATCH, work=work))
        states.update(dict(changing.execute("SELECT state, count(*) FROM outcome GROUP BY state").fetchall()))
        wrong = changing.execute(f"SELECT state, told, bytes FROM outcome WHERE {WRONG} LIMIT 5").fetchall()
        assert not wrong, wrong
        cases += BATCH
    taken = states.pop("TAKEN", 0)
    record(
        "decoders",
        what=what,
        cases=cases,
        taken=taken,
        refused=", ".join(f"{count} x {state}" for state, count in states.most_common()),
    )
    assert taken and states, "some are to be taken and some refused"
