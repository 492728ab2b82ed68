"""Databases of other encodings than UTF-8: text that is UTF-8 byte for byte is kept as it is, any other is refused, so that no
two values are taken for one.
"""

import psycopg
import pytest

from harness.server import new_database
from harness.sessions import one


@pytest.fixture(params=["SQL_ASCII", "WIN1251"])
def other(server, request):
    """A connection to a database of that encoding."""
    options = f"ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    name = new_database(server, f"encoding_{request.param.lower()}", options)
    with server.connect(name, client_encoding="utf8") as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        yield connection


def fill(connection, values):
    """Makes t, whose columns kind and class hold these values, bytes in the database's encoding, in turn."""
    connection.execute("CREATE TABLE t (x real, kind text, class text)")
    rows = [(i, values[i % len(values)], values[i % len(values)]) for i in range(40)]
    to_text = "convert_from(%s, getdatabaseencoding())"
    connection.cursor().executemany(f"INSERT INTO t VALUES (%s, {to_text}, {to_text})", rows)


def test_ascii_is_the_same_in_every_encoding(other):
    fill(other, [b"red", b"green", b"blue"])
    one(other, "SELECT svm_train_query('SELECT x, kind, class FROM t', 'class', model => 'm')")
    assert one(other, "SELECT count(*) FROM t WHERE svm_classify('m', t) = class") == 40


@pytest.mark.parametrize(("features", "label"), [("kind", "x > 20"), ("x", "class")])
def test_text_that_is_no_utf8_is_refused(other, features, label):
    # two values of WIN1251, neither of them UTF-8
    fill(other, [b"\xcf\xf0\xe8\xe2\xe5\xf2", b"\xcf\xf0\xe8\xe2\xe5\xf1"])
    with pytest.raises(psycopg.errors.CharacterNotInRepertoire) as refused:
        other.execute(f"SELECT svm_train_query('SELECT {features}, {label} AS y FROM t', 'y', model => 'm')")
    assert "\\xcf\\xf0" in refused.value.diag.message_primary
    assert "use a database of that encoding" in refused.value.diag.message_hint


def test_folds_that_are_no_utf8_are_refused(other):
    fill(other, [b"\xcf\xf0", b"\xcf\xf1"])
    with pytest.raises(psycopg.errors.CharacterNotInRepertoire):
        other.execute(
            "SELECT * FROM svm_cross_validate('t', 'class', features => ARRAY['x'], options => '{\"fold_column\": \"kind\"}')"
        )


def test_text_without_an_encoding_that_is_utf8_is_kept(other):
    # "ж" and "й" in UTF-8; in WIN1251 the same bytes are two letters each
    fill(other, [b"\xd0\xb6", b"\xd0\xb9"])
    one(other, "SELECT svm_train_query('SELECT kind, class FROM t', 'class', model => 'm')")
    assert one(other, "SELECT count(*) FROM t WHERE svm_classify('m', t) = class") == 40
