"""From released versions with models in them: by ALTER EXTENSION UPDATE, and by a dump restored where the current one is
installed."""

import itertools
import json
import pathlib
import subprocess

import psycopg
import pytest

from harness.server import ROOT, copy_database, new_database, programs_of
from harness.sessions import model, one, put_model

CURRENT = "0.3.0"
RELEASED = ["0.1.0", "0.2.0"]

# What 0.2.0 kept of a training, parents first.
TABLES_OF_0_2_0 = """svm_model svm_version svm_head svm_weight svm_dual svm_key svm_key_dual svm_key_leeway svm_key_scaling
    svm_key_metric svm_log svm_permission""".split()

ANSWERS = """
    SELECT i, svm_decision('linear', p), svm_decision('linear@1', p), svm_classify('three', p), svm_probability('three', p, 'a'),
        svm_decision('sparse', p), svm_decision('kept', p)
    FROM points AS p ORDER BY i
"""


@pytest.fixture(scope="module", autouse=True)
def roles(server):
    with server.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS upgrade_owner, upgrade_reader")
        connection.execute("CREATE ROLE upgrade_owner LOGIN; CREATE ROLE upgrade_reader LOGIN")


def put_points(connection):
    connection.execute(
        """
        CREATE TABLE points AS
        SELECT i, sin(i) AS x, cos(3 * i) AS y, ARRAY[1 + i % 3, 40000 + i % 5] AS idx, ARRAY[sin(i), 1]::real[] AS val,
            sin(i) > 0 AS label, (ARRAY['a', 'b', 'c'])[1 + (i % 3)] AS kind
        FROM generate_series(1, 300) AS i;
        GRANT SELECT ON points TO upgrade_owner, upgrade_reader;
        """
    )


@pytest.fixture(scope="module")
def trained(server, database, roles):
    """The module's database with models of every shape: what 0.2.0 stored of such trainings is among their rows."""
    with server.connect(database) as connection:
        put_points(connection)
        connection.execute(
            """
            SELECT svm_train('points', 'label', ARRAY['x'], 'linear', loss => 'hinge');
            SELECT svm_train('points', 'label', ARRAY['x', 'y'], 'linear', key => 'i', options => '{"duals": true}');
            SELECT svm_train('points', 'kind', ARRAY['x', 'y', 'idx'], 'three', probability => true);
            SELECT svm_train('points', 'label', ARRAY['sparse(idx, val)'], 'sparse');
            SELECT svm_grant('three', 'upgrade_reader');
            """
        )
    with server.connect(database, user="upgrade_owner") as connection:
        connection.execute("SELECT svm_train('points', 'label', ARRAY['y'], 'kept', key => 'i')")
    return database


def copy_rows(source, target):
    """Fills the tables of 0.2.0 with what it has columns for, under ids such as its sequences gave."""
    ids = {}
    numbers = {"svm_model": itertools.count(101), "svm_version": itertools.count(101)}
    for table in TABLES_OF_0_2_0:
        order = {"svm_model": "name", "svm_version": "trained_at"}.get(table, "1")
        for (row,) in source.execute(f"SELECT to_jsonb(it)::text FROM {table} AS it ORDER BY {order}").fetchall():
            row = json.loads(row)
            if table in numbers:
                ids[row["id"]] = next(numbers[table])
            for column in ("id", "model_id", "version_id"):
                if column in row:
                    row[column] = ids[row[column]]
            target.execute(
                f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s)", [json.dumps(row)]
            )
    target.execute("SELECT setval('svm_model_id_seq', 200), setval('svm_version_id_seq', 200)")


def made_by(server, version, name, trained):
    """A database with the extension as that version made it, and models in its tables."""
    new_database(server, name)
    with server.connect(name) as connection:
        connection.execute(f"CREATE EXTENSION pgsvm VERSION '{version}'")
        put_points(connection)
        put_model(connection, "m", [10])
        put_model(connection, "m", [20])
        put_model(connection, "wide", [1] * 20000)
        put_model(connection, "owned", [30], owner="upgrade_owner")
        if version != "0.1.0":
            with server.connect(trained) as source:
                copy_rows(source, connection)
    return name


@pytest.fixture(scope="module")
def arrived_databases(server, trained):
    """By version and way, the database where its models have arrived."""
    found = {}
    for version in RELEASED:
        place = found["updated", version] = made_by(server, version, f"updated_{version}", trained)
        with server.connect(place) as connection:
            connection.execute("ALTER EXTENSION pgsvm UPDATE")
        place = found["restored", version] = f"restored_{version}"
        copy_database(server, made_by(server, version, f"old_{version}", trained), place)
    return found


@pytest.fixture(params=itertools.product(["updated", "restored"], RELEASED), ids=" ".join)
def arrived(request, arrived_databases):
    """The database where models of a released version have arrived, by either way."""
    return arrived_databases[request.param]


@pytest.fixture(params=["updated", "restored"])
def arrived_from_0_2_0(request, arrived_databases):
    return arrived_databases[request.param, "0.2.0"]


@pytest.mark.parametrize("version", RELEASED[1:])
def test_trained_models_predict_until_the_update_and_after(server, trained, version):
    with server.connect(trained) as source:
        expected = source.execute(ANSWERS).fetchall()
    with server.connect(made_by(server, version, "predicting", trained)) as connection:
        assert connection.execute(ANSWERS).fetchall() == expected
        connection.execute("ALTER EXTENSION pgsvm UPDATE")
        assert connection.execute(ANSWERS).fetchall() == expected
        assert connection.execute("TABLE svm_problems").fetchall() == []


def test_trained_models_predict_the_same_and_follow_their_table(server, trained, arrived_from_0_2_0):
    with server.connect(trained) as source, server.connect(arrived_from_0_2_0) as connection:
        assert connection.execute(ANSWERS).fetchall() == source.execute(ANSWERS).fetchall()
        # origins of rows stay behind: the first refresh looks at all rows
        for table in set(TABLES_OF_0_2_0) - {"svm_key_leeway", "svm_key_scaling", "svm_key_metric"}:
            count = f"SELECT count(*) FROM {table}"
            by_hand = {"svm_model": 3, "svm_version": 4, "svm_weight": 4}.get(table, 0)
            assert one(connection, count) == one(source, count) + by_hand
        assert connection.execute("TABLE svm_problems").fetchall() == []
        with connection.transaction(force_rollback=True):
            connection.execute("UPDATE points SET x = -x WHERE i < 30; SELECT svm_refresh('linear')")
            assert (
                one(
                    connection,
                    "SELECT followed->'rows'->>'changed' FROM svm_versions WHERE name = 'linear' AND deployed",
                )
                == "29"
            )
            assert one(connection, "SELECT gap <= 1e-3 FROM svm_models WHERE name = 'linear'")
            connection.execute("SELECT svm_drop(name) FROM svm_models")
            for table in TABLES_OF_0_2_0:
                assert one(connection, f"SELECT count(*) FROM {table}") == 0
    with server.connect(arrived_from_0_2_0, user="upgrade_reader") as reader:
        assert reader.execute("SELECT name FROM svm_models").fetchall() == [("three",)]
        assert one(reader, "SELECT svm_classify('three', p) FROM points AS p WHERE i = 1") in ("a", "b", "c")


def test_what_0_2_0_had_lost_in_a_restore_is_told(server, trained):
    with server.connect(made_by(server, "0.2.0", "half", trained)) as connection:
        connection.execute("DELETE FROM svm_weight WHERE version_id > 100")
        connection.execute("ALTER EXTENSION pgsvm UPDATE")
        lost = "SELECT DISTINCT model FROM svm_problems WHERE table_name = 'svm_weight' ORDER BY 1"
        assert connection.execute(lost).fetchall() == [("kept",), ("linear",), ("sparse",), ("three",)]
        with pytest.raises(psycopg.errors.DataCorrupted, match="is not whole: it has no rows in svm_weight"):
            connection.execute("SELECT svm_decision('linear', p) FROM points AS p")


def test_models_predict_what_their_weights_say(server, arrived):
    with server.connect(arrived) as connection:
        assert one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'pgsvm'") == CURRENT
        decisions = "SELECT svm_decision('m', '{2}'::real[]), svm_decision('m@1', '{2}'::real[])"
        assert connection.execute(decisions).fetchone() == (40.5, 20.5)
        assert one(connection, "SELECT svm_decision('wide', array_fill(1::real, ARRAY[20000]))") == 20000.5
        assert model(connection, "m")["classes"] == 2
        assert model(connection, "m")["granted_to"] == []


@pytest.mark.parametrize("version", RELEASED)
def test_models_predict_before_the_update_and_in_the_same_session_after(server, trained, version):
    with server.connect(made_by(server, version, "predicting", trained)) as connection:
        assert one(connection, "SELECT svm_decision('m', '{2}'::real[])") == 40.5
        connection.execute("ALTER EXTENSION pgsvm UPDATE")
        assert one(connection, "SELECT svm_decision('m@1', '{2}'::real[])") == 20.5
        connection.execute(
            "SELECT svm_train_query('SELECT i % 3 AS kind, ARRAY[i % 3, i] AS x FROM generate_series(1, 99) AS i', 'kind', model => 'many')"
        )
        assert one(connection, "SELECT svm_classify('many', '{0, 50}'::real[])") == "0"


@pytest.mark.parametrize("version", RELEASED)
def test_before_the_update_a_training_says_what_to_do(server, trained, version):
    with server.connect(made_by(server, version, "not_updated", trained)) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as refused:
            connection.execute("SELECT svm_train_query('SELECT 1 AS x, 1 AS y', 'y', model => 'm')")
        assert refused.value.diag.message_hint == "ALTER EXTENSION pgsvm UPDATE"


def test_models_still_belong_to_their_owners_who_may_grant_them(server, arrived):
    question = "SELECT svm_decision('owned', '{1}'::real[])"
    with (
        server.connect(arrived, user="upgrade_owner") as owner,
        server.connect(arrived, user="upgrade_reader") as reader,
    ):
        assert owner.execute("SELECT name FROM svm_models WHERE name <> 'kept'").fetchall() == [("owned",)]
        with pytest.raises(psycopg.errors.UndefinedObject):
            reader.execute(question)
        owner.execute("SELECT svm_grant('owned', 'upgrade_reader')")
        assert one(owner, question) == one(reader, question) == 30.5
        owner.execute("SELECT svm_revoke('owned', 'upgrade_reader')")


def test_new_models_get_new_ids_and_old_ones_their_next_version(server, arrived):
    with server.connect(arrived) as connection:
        connection.execute("CREATE TABLE few AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i")
        for name, version in [("new", 1), ("m", 3)]:
            connection.execute("SELECT svm_train('few', 'y', model => %s)", [name])
            assert model(connection, name)["version"] == version
        connection.execute("DROP TABLE few; SELECT svm_drop('new'), svm_deploy('m', 2), svm_drop('m', 3)")


# What 0.2.0's manual had people write.
CALLS_OF_0_2_0 = [
    "svm_train('points', 'label', ARRAY['x'], 'called', 0.5, 'hinge', true, 'standard', 'skip', 1e-3, 100, 'stream', 1)",
    "svm_train('points', 'label', ARRAY['x'], 'called', 'NaN', probability => true, options => '{\"folds\": 3}')",
    "svm_train('points', 'label', model => 'called', c => NULL, options => '{\"costs\": [0.1, 1], \"fold_column\": \"kind\"}')",
    "svm_train_query('SELECT i, x, label FROM points', 'label', model => 'called', key => 'i')",
    "svm_refresh('called')",
    "svm_forget('called', 'leaving'), svm_update('called', 'leaving'::regclass)",
    "svm_forget_query('called', 'SELECT i FROM leaving'), svm_update_query('called', 'TABLE leaving')",
    "count(*) FROM svm_cross_validate('points', 'label', c => ARRAY[0.1, 1], folds => 3, features => ARRAY['x'])",
    "count(*) FROM svm_cross_validate('points', 'label', fold_column => 'kind', features => '{x}')",
    "count(*) FROM svm_cross_validate('points', 'label', '{0.1, 1}')",
    "count(*) FROM svm_cross_validate('points', 'label', '{0.1, 1}', 5)",
    "count(*) FROM svm_cross_validate('points', 'label', '{0.1, 1}', 5, 'kind')",
    "accuracy FROM svm_evaluate('called', 'points')",
    "count(*) FROM svm_confusion('called', 'points', 'label'), svm_roc('called', 'points'::regclass)",
    "svm_metrics(label, svm_classify('called', p)::boolean) FROM points AS p",
    "svm_metrics(kind, 'a') FROM points",
    "svm_drop('called')",
]


def test_calls_of_0_2_0_go_on_working(server, arrived_from_0_2_0):
    with server.connect(arrived_from_0_2_0) as connection:
        connection.execute("CREATE TABLE leaving AS SELECT * FROM points WHERE i < 20")
        for call in CALLS_OF_0_2_0:
            assert one(connection, f"SELECT {call}") is not None, call
        connection.execute("DROP TABLE leaving")


def test_views_over_functions_of_0_2_0_go_on_working_after_the_update_and_in_its_dumps(server, trained):
    with server.connect(made_by(server, "0.2.0", "viewed", trained)) as connection:
        connection.execute(
            """
            CREATE VIEW judged AS SELECT svm_metrics(label, svm_classify('linear', p)::boolean) FROM points AS p;
            CREATE VIEW stored AS SELECT loss FROM svm_version WHERE id = svm_version_id('linear');
            """
        )
        before = one(connection, "TABLE judged"), one(connection, "TABLE stored")
        connection.execute("ALTER EXTENSION pgsvm UPDATE")
        assert (one(connection, "TABLE judged"), one(connection, "TABLE stored")) == before
    copy_database(server, "viewed", "viewed_again")
    with server.connect("viewed_again") as connection:
        assert (one(connection, "TABLE judged"), one(connection, "TABLE stored")) == before


# What the catalogs say about the extension's members, a row for each fact, without oids.
FACTS = """
    WITH member AS (
        SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
        WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'pgsvm'
    ), relation AS (
        SELECT c.* FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
    ), function AS (
        SELECT p.* FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    ), granted (what, acl) AS (
        SELECT c.relname, c.relacl FROM relation c
        UNION ALL SELECT c.relname || '.' || a.attname, a.attacl FROM relation c JOIN pg_attribute a ON attrelid = c.oid
        UNION ALL SELECT p.oid::regprocedure::text, p.proacl FROM function p
        UNION ALL SELECT 'initially: ' || pg_describe_object(i.classoid, i.objoid, i.objsubid), i.initprivs
            FROM member m JOIN pg_init_privs i ON i.classoid = m.classid AND i.objoid = m.objid
    )
    SELECT 'member', pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name), '' FROM member
    UNION ALL SELECT 'relation', relname, format('%s %s %s %s', relkind, relrowsecurity,
        relforcerowsecurity, relreplident), reloptions::text FROM relation
    UNION ALL SELECT 'column', c.relname, format('%s %s %s %s %s', a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
        a.attnotnull, a.attstorage), pg_get_expr(d.adbin, d.adrelid)
        FROM relation c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    UNION ALL SELECT 'constraint', c.relname, n.conname, pg_get_constraintdef(n.oid)
        FROM relation c JOIN pg_constraint n ON n.conrelid = c.oid
    UNION ALL SELECT 'index', c.relname, '', pg_get_indexdef(i.indexrelid)
        FROM relation c JOIN pg_index i ON i.indrelid = c.oid
    UNION ALL SELECT 'policy', c.relname, format('%s %s %s %s', p.polname, p.polcmd, p.polpermissive, p.polroles),
        format('%s / %s', pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid))
        FROM relation c JOIN pg_policy p ON p.polrelid = c.oid
    UNION ALL SELECT 'trigger', c.relname, t.tgenabled::text, pg_get_triggerdef(t.oid)
        FROM relation c JOIN pg_trigger t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal
    UNION ALL SELECT 'view', relname, '', pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
    UNION ALL SELECT 'function', p.oid::regprocedure::text, '', pg_get_functiondef(p.oid) FROM function p
        WHERE p.prokind <> 'a'
    UNION ALL SELECT 'aggregate', p.oid::regprocedure::text, p.proparallel::text, (to_jsonb(a) - 'aggfnoid')::text
        FROM function p JOIN pg_aggregate a ON a.aggfnoid = p.oid
    UNION ALL SELECT 'right', what, format('%s to %s', privilege_type, grantee), '' FROM granted, aclexplode(acl)
    UNION ALL SELECT 'dumped', table_oid::regclass::text, condition, '' FROM pg_extension,
        unnest(extconfig, extcondition) AS configured (table_oid, condition) WHERE extname = 'pgsvm'
    ORDER BY 1, 2, 3, 4
"""


@pytest.mark.parametrize("version", RELEASED)
def test_an_updated_extension_is_the_same_as_a_new_one(server, arrived_databases, database, version):
    updated = arrived_databases["updated", version]
    with server.connect(updated) as one_way, server.connect(database) as other_way:
        old, new = (set(connection.execute(FACTS).fetchall()) for connection in (one_way, other_way))
    assert len(new) > 200
    assert sorted(old - new, key=str) == []
    assert sorted(new - old, key=str) == []


# An update in which a function and a view of ours change their form, as sql/upgrade/begin.sql says to write it.
NEXT = "0.3.0-next"
CHANGES = """
    SELECT @extschema@.svm_outdated('FUNCTION', 'svm_features(text)');
    SELECT @extschema@.svm_outdated('FUNCTION', 'svm_drop(text, integer)');
    SELECT @extschema@.svm_outdated('FUNCTION', 'svm_auc(double precision, boolean)');
    SELECT @extschema@.svm_outdated('FUNCTION', 'svm_internal.svm_auc_final(internal)');
    SELECT @extschema@.svm_outdated('VIEW', 'svm_progress');
"""
NEW_FORM = """
    CREATE FUNCTION svm_features(model text, more int DEFAULT 0) RETURNS int LANGUAGE sql RETURN 1;
    CREATE FUNCTION svm_drop(model text, version int, more int) RETURNS int LANGUAGE sql RETURN 1;
    CREATE FUNCTION svm_auc(text) RETURNS int LANGUAGE sql RETURN 1;
    CREATE VIEW svm_progress AS SELECT 1 AS one;
    GRANT SELECT ON svm_progress TO PUBLIC;
"""


@pytest.fixture
def next_version(server):
    """Makes version NEXT, which an ALTER EXTENSION UPDATE TO brings."""
    parts = ROOT / "sql" / "upgrade"
    script = "\n".join(
        [
            (parts / "begin.sql").read_text(),
            CHANGES,
            (parts / "drop.sql").read_text(),
            NEW_FORM,
            (parts / "end.sql").read_text(),
        ]
    )
    config = programs_of(server.version) / "pg_config"
    folder = subprocess.run([config, "--sharedir"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    file = pathlib.Path(folder) / "extension" / f"pgsvm--{CURRENT}--{NEXT}.sql"
    file.write_text(script)
    yield f"ALTER EXTENSION pgsvm UPDATE TO '{NEXT}'"
    file.unlink()


RIGHTS = """
    SELECT has_function_privilege(role, %s, 'EXECUTE WITH GRANT OPTION'), has_function_privilege(role, %s, 'EXECUTE')
    FROM unnest(ARRAY['upgrade_owner', 'upgrade_reader']) AS role ORDER BY role
"""


def check_rights(connection):
    """What test_what_changes_its_form_keeps_its_rights granted and revoked holds for what is there now."""

    def rights(function):
        return connection.execute(RIGHTS, [function, function]).fetchall()

    assert rights("svm_features(text, integer)") == [(True, True), (False, False)]
    assert rights("svm_drop(text)") == [(False, True), (False, True)]
    assert rights("svm_drop(text, integer, integer)") == [(False, False), (False, True)]
    assert rights("svm_auc(text)") == [(True, True), (False, True)]  # its owner is upgrade_owner
    view = "SELECT has_table_privilege(%s, 'svm_progress', 'SELECT')"
    assert (one(connection, view, ["upgrade_owner"]), one(connection, view, ["upgrade_reader"])) == (False, True)


def test_what_changes_its_form_keeps_its_rights(server, next_version):
    new_database(server, "changing")
    with server.connect("changing") as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(
            """
            REVOKE ALL ON FUNCTION svm_features(text) FROM PUBLIC;
            GRANT EXECUTE ON FUNCTION svm_features(text) TO upgrade_owner WITH GRANT OPTION;
            REVOKE ALL ON FUNCTION svm_drop(text, int) FROM PUBLIC;
            GRANT EXECUTE ON FUNCTION svm_drop(text, int) TO upgrade_reader;
            REVOKE ALL ON svm_progress FROM PUBLIC;
            GRANT SELECT ON svm_progress TO upgrade_reader;
            ALTER FUNCTION svm_auc(double precision, boolean) OWNER TO upgrade_owner;
            """
        )
        connection.execute(next_version)
        check_rights(connection)
        owner = "SELECT proowner::regrole::text FROM pg_proc WHERE oid = 'svm_auc(text)'::regprocedure"
        assert one(connection, owner) == "upgrade_owner"
        assert one(connection, "SELECT to_regclass('svm_outdated') IS NULL AND to_regproc('svm_outdated') IS NULL")
    # a dump has them: they are not taken for rights that come with the extension
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    dump = subprocess.run(
        [programs_of(server.version) / "pg_dump", *where, "changing"], check=True, stdout=subprocess.PIPE, text=True
    )
    granted = [line for line in dump.stdout.splitlines() if line.startswith(("GRANT", "REVOKE")) and "svm_" in line]
    assert granted == [
        "REVOKE ALL ON FUNCTION public.svm_drop(model text, version integer, more integer) FROM PUBLIC;",
        "GRANT ALL ON FUNCTION public.svm_drop(model text, version integer, more integer) TO upgrade_reader;",
        "REVOKE ALL ON FUNCTION public.svm_features(model text, more integer) FROM PUBLIC;",
        "GRANT ALL ON FUNCTION public.svm_features(model text, more integer) TO upgrade_owner WITH GRANT OPTION;",
        "REVOKE SELECT ON TABLE public.svm_progress FROM PUBLIC;",
        "GRANT SELECT ON TABLE public.svm_progress TO upgrade_reader;",
    ]


IN_THE_WAY = {
    "view public.mine": "CREATE VIEW mine AS SELECT * FROM svm_features('m')",
    "materialized view public.mine": "CREATE MATERIALIZED VIEW mine AS SELECT * FROM svm_progress WITH NO DATA",
    "function public.mine()": "CREATE FUNCTION mine() RETURNS int BEGIN ATOMIC SELECT count(svm_drop('m', 1)); END",
    "function public.mine(public.svm_progress)": "CREATE FUNCTION mine(svm_progress) RETURNS int LANGUAGE sql RETURN 1",
    "column progress of table public.mine": "CREATE TABLE mine (progress svm_progress[])",
    "default value for column x of table public.mine": "CREATE TABLE mine (x text DEFAULT svm_drop('m', 1))",
    "view public.mine, view public.other": "CREATE VIEW mine AS SELECT svm_auc(1, true); CREATE VIEW other AS TABLE svm_progress",
}


@pytest.mark.parametrize("named", IN_THE_WAY)
def test_what_stands_in_the_way_of_an_update_is_named(server, next_version, named):
    new_database(server, "blocked")
    with server.connect("blocked") as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(IN_THE_WAY[named])
        with pytest.raises(psycopg.errors.DependentObjectsStillExist) as refused:
            connection.execute(next_version)
        assert refused.value.diag.message_primary == f"cannot update extension pgsvm while {named} is there"
        assert "which the new version has in another form" in refused.value.diag.message_detail
        assert "make it again after ALTER EXTENSION pgsvm UPDATE" in refused.value.diag.message_hint
        assert one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'pgsvm'") == CURRENT
