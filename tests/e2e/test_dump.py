"""pg_dump brings models over into another database, where they predict the same and are trained further."""

import subprocess

import pytest

from harness.server import programs_of
from harness.sessions import model, one, stored_rows


@pytest.fixture(scope="module", autouse=True)
def models(server, database):
    """Models of every shape: a dense one with two versions, a sparse one of several chunks, one with text labels."""
    with server.connect(database) as connection:
        connection.execute(
            """
            CREATE TYPE side AS ENUM ('left', 'right');
            CREATE TABLE points AS
            SELECT i AS id, sin(i) AS x, cos(3 * i)::numeric(8, 4) AS y, ARRAY[i % 5, i % 7]::real[] AS v,
                   ARRAY[1 + i % 3, 40000 + i % 2] AS idx, ARRAY[sin(i), 1]::real[] AS val,
                   CASE WHEN sin(i) > 0 THEN 'right' ELSE 'left' END::side AS side, sin(i) > 0 AS label
            FROM generate_series(1, 1000) AS i
            """
        )
        for _ in range(2):
            connection.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y', 'v'], 'dense')")
        connection.execute("SELECT svm_train('points', 'label', ARRAY['sparse(idx, val)'], 'sparse')")
        connection.execute(
            """SELECT svm_train('points', 'side', ARRAY['x', 'y'], 'text', options => '{"duals": true}')"""
        )
        connection.execute("DROP ROLE IF EXISTS keeper")
        connection.execute("CREATE ROLE keeper LOGIN")
        connection.execute("GRANT SELECT ON points TO keeper")
    with server.connect(database, user="keeper") as connection:
        connection.execute("SELECT svm_train('points', 'label', ARRAY['x'], 'kept')")


def copy(server, source, target, *options):
    """pg_dump of one database into a new one, every error fatal."""
    programs = programs_of(server.version)
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    dump = subprocess.run([programs / "pg_dump", *where, *options, source], check=True, stdout=subprocess.PIPE)
    with server.connect() as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {target}")
        connection.execute(f"CREATE DATABASE {target}")
    subprocess.run(
        [programs / "psql", *where, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target],
        input=dump.stdout,
        check=True,
        stdout=subprocess.DEVNULL,
    )


ANSWERS = """
    SELECT id, svm_decision('dense', p), svm_decision('dense@1', p), svm_decision('sparse', p),
           svm_classify('text', p), svm_decision('kept', p)
    FROM points AS p ORDER BY id
"""


@pytest.fixture(scope="module")
def restored(server, database):
    copy(server, database, "restored")
    return "restored"


def test_a_dump_brings_every_model_over(server, connect, restored):
    original = connect()
    with server.connect(restored) as copied:
        everything = "SELECT * FROM svm_models ORDER BY name"
        assert copied.execute(everything).fetchall() == original.execute(everything).fetchall()
        assert stored_rows(copied) == stored_rows(original) == (4, 5, stored_rows(original)[2])
        assert one(copied, "SELECT count(*) FROM svm_dual") == one(original, "SELECT count(*) FROM svm_dual") > 0


def test_restored_models_predict_the_same(server, connect, restored):
    with server.connect(restored) as copied:
        assert copied.execute(ANSWERS).fetchall() == connect().execute(ANSWERS).fetchall()


def test_restored_models_go_on_with_their_next_version_and_new_ones_get_new_ids(server, restored):
    with server.connect(restored) as copied:
        copied.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y', 'v'], 'dense')")
        assert model(copied, "dense")["version"] == 3
        copied.execute("SELECT svm_train('points', 'label', ARRAY['x'], 'new')")
        assert model(copied, "new")["version"] == 1
        assert one(copied, "SELECT sum((svm_predict('dense@3', p) = label::int)::int) FROM points p") >= 950


def test_restored_models_still_belong_to_their_owners(server, connect, restored):
    with server.connect(restored, user="keeper") as keeper:
        keepers = keeper.execute("SELECT name FROM svm_models").fetchall()
        assert keepers == [("kept",)]
        keeper.execute("SELECT svm_train('points', 'label', ARRAY['x'], 'kept')")
        assert model(keeper, "kept")["version"] == 2


def test_a_dump_without_the_data_of_models_restores_an_empty_extension(server, database):
    copy(server, database, "bare", "--schema-only")
    with server.connect("bare") as copied:
        assert stored_rows(copied) == (0, 0, 0)
