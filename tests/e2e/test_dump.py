"""pg_dump brings models over into another database, where they predict the same and are trained further."""

import psycopg
import pytest

from harness.server import copy_database
from harness.sessions import model, one, put_heads, put_model, put_weights, stored_rows


@pytest.fixture(scope="module", autouse=True)
def models(server, database):
    """Models of every shape: a dense one with two versions, a sparse one of several chunks, one with text labels, one of
    three classes with probabilities; granted to a role, and to one that will be gone when the dump is restored."""
    with server.connect(database) as connection:
        connection.execute(
            """
            CREATE TYPE side AS ENUM ('left', 'right');
            CREATE TABLE points AS
            SELECT i AS id, sin(i) AS x, cos(3 * i)::numeric(8, 4) AS y, ARRAY[i % 5, i % 7]::real[] AS v,
                   ARRAY[1 + i % 3, 40000 + i % 2] AS idx, ARRAY[sin(i), 1]::real[] AS val,
                   CASE WHEN sin(i) > 0 THEN 'right' ELSE 'left' END::side AS side, sin(i) > 0 AS label,
                   CASE WHEN sin(i) > 0 THEN 'Übermorgen "rechts"' ELSE 'later turns' END || i % 9 AS body
            FROM generate_series(1, 1000) AS i
            """
        )
        for _ in range(2):
            connection.execute("SELECT svm_train('points', 'label', ARRAY['x', 'y', 'v'], 'dense')")
        connection.execute("SELECT svm_train('points', 'label', ARRAY['sparse(idx, val)'], 'sparse')")
        connection.execute("SELECT svm_train('points', 'side', ARRAY['x', 'v'], 'curved', kernel => 'rbf')")
        connection.execute(
            "SELECT svm_train('points', 'side', ARRAY['sparse(idx, val)'], 'curved', kernel => 'polynomial', rank => 3)"
        )
        connection.execute(
            """SELECT svm_train('points', 'side', ARRAY['x', 'y'], 'text', key => 'id', options => '{"duals": true}')"""
        )
        connection.execute("SELECT svm_train_query('SELECT x, label FROM points', 'label', model => 'asked')")
        connection.execute(
            "SELECT svm_train('points', 'label', ARRAY['text(body)', 'text(body, english, 2)'], 'words')"
        )
        three = put_model(connection, "three", [1, 2, 3], labels=["a", "b", "c"])
        put_weights(connection, three, 1, [4, 5, 6])
        put_weights(connection, three, 2, [7, 8, 9])
        put_heads(connection, three, ["a", "b", "c"], slope=-1.5)
        connection.execute("DROP ROLE IF EXISTS keeper, passer_by")
        connection.execute("CREATE ROLE keeper LOGIN; CREATE ROLE passer_by")
        connection.execute("SELECT svm_grant('dense', 'keeper'), svm_grant('dense', 'passer_by')")
        connection.execute("GRANT SELECT ON points TO keeper")
    with server.connect(database, user="keeper") as connection:
        connection.execute("SELECT svm_train('points', 'label', ARRAY['x'], 'kept')")


TABLES = {
    "svm_model": "id",
    "svm_permission": "model_id, grantee",
    "svm_version": "id",
    "svm_head": "version_id, head",
    "svm_weight": "version_id, head, first_feature",
    "svm_dual": "version_id, head, first_row",
    "svm_key": "version_id, first_row",
    "svm_key_dual": "version_id, head, first_row",
    "svm_log": "version_id",
    "svm_source": "version_id",
    "svm_landmark": "version_id, landmark",
}

ANSWERS = """
    SELECT id, svm_decision('dense', p), svm_decision('dense@1', p), svm_decision('sparse', p),
           svm_classify('text', p), svm_decision('kept', p),
           svm_decision('curved@1', p), svm_decision('curved@2', p), svm_decision('words', p)
    FROM points AS p ORDER BY id
"""


@pytest.fixture(scope="module")
def restored(server, database):
    with server.connect(database) as connection:
        connection.execute("DROP ROLE passer_by")
    copy_database(server, database, "restored")
    return "restored"


def test_a_dump_brings_every_model_over(server, connect, restored):
    original = connect()
    with server.connect(restored) as copied:
        everything = "SELECT * FROM svm_models ORDER BY name"
        assert copied.execute(everything).fetchall() == original.execute(everything).fetchall()
        assert stored_rows(copied) == stored_rows(original) == (8, 10, stored_rows(original)[2])
        for table, key in TABLES.items():
            # a role's oid is found anew, by its name
            row = "SELECT model_id, owner, grantee" if table == "svm_permission" else "SELECT *"
            rows = f"{row} FROM {table} ORDER BY {key}"
            assert copied.execute(rows).fetchall() == original.execute(rows).fetchall() != []


def test_roles_are_found_again_by_their_names_and_one_made_later_is_nobodys_heir(server, database):
    with server.connect(database) as connection:
        connection.execute("DROP ROLE IF EXISTS early, late; CREATE ROLE early; CREATE ROLE late")
        connection.execute("SELECT svm_grant('dense', 'early'), svm_grant('dense', 'late')")
        connection.execute("DROP ROLE late")
    copy_database(server, database, "restored_roles")
    with server.connect("restored_roles") as connection:
        # made again while neither database knows of it
        connection.execute("CREATE ROLE late")
        granted = "SELECT has_any FROM (SELECT count(*) > 0 AS has_any FROM svm_models WHERE name = 'dense') AS it"
        for role, sees in (("early", True), ("late", False), ("keeper", True)):
            connection.execute(f"SET ROLE {role}")
            assert connection.execute(granted).fetchone() == (sees,), role
        connection.execute("SET ROLE keeper")
        assert connection.execute("SELECT svm_deploy('kept', 1)").fetchone() == ("kept",)
        connection.execute("RESET ROLE")
        # what is loaded is the name; the column with the oid is worked out
        names = "SELECT owner_oid = to_regrole(owner::text) FROM svm_model"
        assert {row for row in connection.execute(names)} == {(True,)}
    with server.connect(database) as connection:
        connection.execute(
            "SELECT svm_revoke('dense', 'early'), svm_revoke('dense', 'late'); DROP ROLE early; DROP ROLE late"
        )


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


def test_restored_models_still_belong_to_their_owners_and_are_granted_to_the_same_roles(server, connect, restored):
    with server.connect(restored, user="keeper") as keeper:
        keepers = keeper.execute("SELECT name, owner, granted_to FROM svm_models ORDER BY name").fetchall()
        assert keepers == [("dense", "postgres", ["keeper"]), ("kept", "keeper", [])]
        assert one(keeper, "SELECT svm_decision('dense', p) IS NOT NULL FROM points p LIMIT 1")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            keeper.execute("SELECT svm_drop('dense')")
        keeper.execute("SELECT svm_train('points', 'label', ARRAY['x'], 'kept')")
        assert model(keeper, "kept")["version"] == 2


def test_a_dump_without_the_data_of_models_restores_an_empty_extension(server, database):
    copy_database(server, database, "bare", "--schema-only")
    with server.connect("bare") as copied:
        assert stored_rows(copied) == (0, 0, 0)
