"""The extension in the hands of a database owner who is no superuser: he creates, uses, dumps, restores, updates and drops it, and gets
nothing of the superuser whose objects it is made of."""

import pathlib
import shlex
import subprocess

import psycopg
import pytest

from harness.server import new_database, programs_of
from harness.sessions import one, put_model

OWNER = "trusted_owner"
POINTS = """
    CREATE TABLE points AS SELECT i AS id, i AS x, i % 7 AS z, i > 20 AS y, (ARRAY['a', 'b', 'c'])[1 + i % 3] AS kind,
        CASE WHEN i > 20 THEN 'large' ELSE 'small' END || ' thing' AS words
    FROM generate_series(1, 40) AS i
"""
CALLS = [
    "svm_train('points', 'y', ARRAY['x', 'z'], 'm', probability => true, key => 'id', options => '{\"duals\": true}')",
    "svm_train('points', 'kind', ARRAY['x', 'z'], 'three')",
    "svm_train('points', 'y', ARRAY['text(words)'], 'words')",
    "svm_train('points', 'y', ARRAY['x', 'z'], 'rbf', kernel => 'rbf')",
    "svm_train('points', 'y', ARRAY['x', 'z'], 'scanned', solver => 'scan')",
    "svm_cross_validate('points', 'y', ARRAY['x', 'z'], c => '{0.1, 1}', folds => 2)",
    "svm_index('points', ARRAY['x', 'z'], 'kept')",
    "svm_train('points', 'y', ARRAY['x', 'z'], 'indexed', options => '{\"index\": \"kept\"}')",
    "svm_refresh('m')",
    "svm_evaluate('m', 'points')",
    "svm_confusion('three', 'points')",
    "svm_suspects('m', 'points', 3)",
    "svm_create_function('m', 'says')",
    "svm_export('m', 'pgsvm')",
    "svm_weights('m')",
    "svm_grant('m', 'public')",
    "svm_revoke('m', 'public')",
    "svm_deploy('m', 1)",
    "svm_rename('three', 'kinds')",
    "svm_drop('scanned')",
]
TABLES = "svm_model svm_permission svm_version svm_head svm_weight svm_dual svm_key svm_key_dual svm_log svm_source svm_landmark".split()


@pytest.fixture(scope="module", autouse=True)
def roles(server):
    with server.connect() as connection:
        connection.execute(f"DROP ROLE IF EXISTS {OWNER}, trusted_other")
        connection.execute(f"CREATE ROLE {OWNER} LOGIN; CREATE ROLE trusted_other LOGIN")


@pytest.fixture
def owned(server):
    """Makes databases of the owner's, with the extension unless told otherwise; gone after the test."""
    made = []

    def make(name="trusted", extension="CREATE EXTENSION pgsvm"):
        made.append(new_database(server, name, f"OWNER {OWNER}"))
        with server.connect(name, user=OWNER) as connection:
            connection.execute(extension)
        return name

    yield make
    with server.connect() as connection:
        for name in made:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def use(connection):
    connection.execute(POINTS)
    for call in CALLS:
        connection.execute(f"SELECT * FROM {call}").fetchall()


def test_an_owner_creates_uses_and_drops_it(server, owned):
    with server.connect(owned(), user=OWNER) as connection:
        use(connection)
        assert one(connection, "SELECT count(*) FROM points WHERE says(points) <> y") == 0
        assert one(connection, "SELECT count(*) FROM svm_problems") == 0
        # he owns the extension, and nothing that it is made of
        owner = "SELECT extowner::regrole::text FROM pg_extension WHERE extname = 'pgsvm'"
        assert one(connection, owner) == OWNER
        his = """
            SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
            JOIN pg_extension ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid AND extname = 'pgsvm'
            WHERE deptype = 'e' AND (classid, objid) IN (SELECT classid, objid FROM pg_shdepend WHERE pg_shdepend.deptype = 'o')
        """
        assert connection.execute(his).fetchall() == []
        connection.execute("DROP FUNCTION says; DROP EXTENSION pgsvm")
        assert one(connection, "SELECT to_regnamespace('svm_internal') IS NULL AND to_regproc('svm_train') IS NULL")


# what an owner's dump takes, and what his models say before and after
DUMP = ["pg_dump", "-Fc", "--enable-row-security", "--inserts", "--on-conflict-do-nothing"]
ANSWERS = "SELECT svm_decision('m', p), svm_classify('kinds', p), svm_decision('words', p), svm_decision('rbf', p) FROM points AS p"


def program(server, name, *arguments, check=True):
    where = ["-h", server.socket_directory, "-p", "5432", "-U", OWNER]
    command = [programs_of(server.version) / name, *where, *arguments]
    return subprocess.run(command, check=check, stderr=subprocess.PIPE, text=True)


def test_an_owner_dumps_and_restores_his_models(server, owned, tmp_path):
    source, target = owned("trusted"), owned("trusted_copy", "SELECT 1")
    archive = str(tmp_path / "archive")
    with server.connect(source, user=OWNER) as connection:
        use(connection)
        connection.execute("DROP FUNCTION says")
        before = connection.execute(ANSWERS).fetchall()
        counts = {table: one(connection, f"SELECT count(*) FROM {table}") for table in TABLES}
    with server.connect(source) as connection:
        # what is not his is not in his dump
        connection.execute("SELECT svm_train('points', 'y', ARRAY['x'], 'not_his')")
    refused = program(server, "pg_dump", "-Fc", "-f", archive, source, check=False)
    assert refused.returncode and "row-level security" in refused.stderr
    program(server, *DUMP, "-f", archive, source)
    restore = ["--enable-row-security", "-d", target, archive]
    program(server, "pg_restore", "-e", "--section=pre-data", *restore)
    program(server, "pg_restore", "-e", "--data-only", "--table=svm_model", *restore)
    program(server, "pg_restore", "-e", "--data-only", "--table=svm_version", *restore)
    program(server, "pg_restore", "-e", "--section=data", *restore)
    program(server, "pg_restore", "-e", "--section=post-data", *restore)
    with server.connect(target, user=OWNER) as connection:
        assert connection.execute(ANSWERS).fetchall() == before
        assert {table: one(connection, f"SELECT count(*) FROM {table}") for table in TABLES} == counts
        assert connection.execute("TABLE svm_problems").fetchall() == []
        connection.execute("SELECT svm_refresh('m')")
        assert one(connection, "SELECT count(*) FROM svm_models WHERE name = 'not_his'") == 0


def test_an_owner_mends_a_plain_restore_by_what_svm_problems_says(server, owned, tmp_path):
    source, target = owned("trusted"), owned("trusted_copy", "SELECT 1")
    archive = str(tmp_path / "archive")
    with server.connect(source, user=OWNER) as connection:
        use(connection)
        connection.execute("DROP FUNCTION says")
        before = connection.execute(ANSWERS).fetchall()
    program(server, *DUMP, "-f", archive, source)
    # all at once, in the archive's order: what belongs to a model comes before it, and is refused
    restored = program(server, "pg_restore", "--enable-row-security", "-d", target, archive, check=False)
    assert restored.returncode
    with server.connect(target, user=OWNER) as connection:
        remedies = connection.execute("SELECT DISTINCT remedy FROM svm_problems").fetchall()
        assert remedies
        for (remedy,) in remedies:
            name, *options = shlex.split(remedy.split(", or ")[0].replace("ARCHIVE", archive))
            program(server, name, *options)
        assert connection.execute("TABLE svm_problems").fetchall() == []
        assert connection.execute(ANSWERS).fetchall() == before


FORGED = {
    "a model of a superuser's": "INSERT INTO svm_model (id, name, owner, current_version) VALUES (1, 'forged', 'postgres', 1)",
    "a version of another's": "INSERT INTO svm_version (id, model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver,"
    " intercept_used, feature_count) VALUES (1, {model}, 99, '{{}}', 'y', 'boolean', '{{f,t}}', 'error', 'hinge', 'none', 'stream', true, 1)",
    "a source of another's": "INSERT INTO svm_source (version_id, query) VALUES ({version}, 'SELECT 1')",
    "weights of another's": "INSERT INTO svm_weight VALUES ({version}, 7, 0, NULL, '{{1}}')",
    "what belongs to nothing": "INSERT INTO svm_source (version_id, query) VALUES (12345, 'SELECT 1')",
    "a grant of another's": "INSERT INTO svm_permission (model_id, owner, grantee) VALUES ({model}, 'postgres', '"
    + OWNER
    + "')",
    "another owner": "UPDATE svm_model SET owner = 'postgres' WHERE name = 'mine'",
    "a trigger": "CREATE TRIGGER t BEFORE INSERT ON svm_model FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "a policy": "CREATE POLICY p ON svm_model USING (true)",
    "a default": "ALTER TABLE svm_model ALTER name SET DEFAULT 'x'",
    "a rule": "CREATE RULE r AS ON INSERT TO svm_model DO INSTEAD NOTHING",
    "a child": "CREATE TABLE child () INHERITS (svm_model)",
    "a function's body": "CREATE OR REPLACE FUNCTION svm_internal.svm_role_oid(role name) RETURNS oid LANGUAGE sql AS 'SELECT 10::oid'",
    "a member of the extension": "ALTER EXTENSION pgsvm DROP FUNCTION svm_internal.svm_is_taken(text)",
    "a function of his in the inner schema": "CREATE FUNCTION svm_internal.mine() RETURNS int LANGUAGE sql RETURN 1",
    "a trigger of the extension's on a table of his": "CREATE TABLE his (id bigint); CREATE TRIGGER t AFTER DELETE ON his"
    " FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_remove_children('id', 'svm_version')",
}


@pytest.mark.parametrize("what", FORGED)
def test_an_owner_changes_nothing_of_others_and_nothing_of_the_extension(server, owned, what):
    name = owned()
    with server.connect(name) as connection:
        version = put_model(connection, "not_his", [1])
        model = one(connection, "SELECT model_id FROM svm_version WHERE id = %s", [version])
    with server.connect(name, user=OWNER) as connection:
        put_model(connection, "mine", [1])
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType)):
            connection.execute(FORGED[what].format(version=version, model=model))


SPRINGS = """
    CREATE SCHEMA apart; CREATE TABLE apart.ran (role text); GRANT ALL ON SCHEMA apart TO PUBLIC; GRANT ALL ON apart.ran TO PUBLIC;
    CREATE FUNCTION apart.trap() RETURNS text LANGUAGE plpgsql AS $$BEGIN INSERT INTO apart.ran VALUES (current_user); RETURN ''; END$$
"""


def planted_twin(connection, schema):
    """Renames the extension's schema and puts traps under its names into one that is called as it was: each table a view, each function one
    that takes anything."""
    connection.execute(SPRINGS)
    views = connection.execute(
        "SELECT relname, array_agg(format('NULL::%%s AS %%I', atttypid::regtype, attname) ORDER BY attnum)"
        " FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped"
        " WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'v') GROUP BY relname",
        [schema],
    ).fetchall()
    functions = connection.execute(
        "SELECT DISTINCT proname, pg_get_function_identity_arguments(oid), pg_get_function_result(oid) FROM pg_proc"
        " WHERE pronamespace = %s::regnamespace AND prokind = 'f' AND proargmodes IS NULL"
        " AND pg_get_function_result(oid) IN ('text', 'bigint', 'boolean', 'double precision')",
        [schema],
    ).fetchall()
    connection.execute(
        f"ALTER SCHEMA {schema} RENAME TO renamed; CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO PUBLIC"
    )
    for name, columns in views:
        if name != "points":
            connection.execute(f"CREATE VIEW {schema}.{name} AS SELECT {', '.join(columns)} WHERE apart.trap() <> ''")
            connection.execute(f"GRANT ALL ON {schema}.{name} TO PUBLIC")
    for name, arguments, result in functions:
        if "svm_numbers" not in arguments:
            body = f"LANGUAGE sql AS $$SELECT apart.trap(); SELECT NULL::{result}$$"
            connection.execute(f"CREATE FUNCTION {schema}.{name}({arguments}) RETURNS {result} {body}")
    assert len(views) > 20 and len(functions) > 20


@pytest.mark.parametrize("creator", [OWNER, "postgres"])
def test_an_owner_who_renames_the_schema_puts_nothing_in_its_place(server, owned, creator):
    """What runs with a superuser's rights, and what a superuser calls, finds the tables that the extension has made."""
    name = owned("trusted", "CREATE SCHEMA ours")
    with server.connect(name, user=creator) as connection:
        connection.execute("CREATE EXTENSION pgsvm SCHEMA ours")
    with server.connect(name) as kept, server.connect(name, user=OWNER) as connection:
        # a session that has planned its statements before
        kept.execute(POINTS + "; GRANT SELECT ON points TO PUBLIC; SET search_path = ours, public")
        kept.execute("SELECT svm_train('points', 'y', ARRAY['x'], 'theirs')")
        kept.execute(
            "SELECT svm_create_function('theirs', 'public.says'); GRANT EXECUTE ON FUNCTION public.says TO PUBLIC"
        )
        connection.execute("SET search_path = ours, public; SELECT svm_train('points', 'y', ARRAY['x'], 'first')")
        planted_twin(connection, "ours")
        connection.execute("SET search_path = renamed, public")
        for call in [
            *(call for call in CALLS if "says" not in call),
            "svm_internal.svm_is_taken('x')",
            "svm_drop('first')",
            "svm_drop('m', 2)",
            "svm_drop_index('kept')",
            "public.says((SELECT p FROM points AS p LIMIT 1))",
        ]:
            connection.execute(f"SELECT * FROM {call}").fetchall()
            assert connection.execute("TABLE apart.ran").fetchall() == [], call
        kept.execute("SET search_path = renamed, public")
        for call in [
            "svm_train('points', 'y', ARRAY['x'], 'theirs')",
            "svm_train('points', 'y', ARRAY['x'], 'm', key => 'id')",
        ]:
            kept.execute(f"SELECT {call}")
        for call in ["svm_drop('theirs', 1)", "svm_grant('m', 'public')", "svm_refresh('m')", "svm_drop('m')"]:
            kept.execute(f"SELECT {call}")
            assert connection.execute("TABLE apart.ran").fetchall() == [], call
        kept.execute(
            "UPDATE svm_model SET owner = 'trusted_other'; TABLE svm_problems; TABLE svm_models; SELECT svm_repair(true)"
        )
        kept.execute("TRUNCATE svm_model")
        assert connection.execute("TABLE apart.ran").fetchall() == []
        # the traps do spring
        connection.execute("SELECT * FROM ours.svm_model")
        assert connection.execute("TABLE apart.ran").fetchall() == [(OWNER,)]


def test_only_the_current_version_is_trusted(server, owned):
    name = owned("trusted", "SELECT 1")
    with server.connect(name, user=OWNER) as connection:
        for version in ["0.1.0", "0.2.0"]:
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
                connection.execute(f"CREATE EXTENSION pgsvm VERSION '{version}'")
            assert refused.value.diag.message_hint == "Must be superuser to create this extension."
        connection.execute("CREATE SCHEMA svm_internal")
        with pytest.raises(psycopg.errors.DuplicateSchema):
            connection.execute("CREATE EXTENSION pgsvm")


@pytest.fixture
def old(server, owned):
    """The database of an owner to whom a superuser has left version 0.2.0."""
    name = owned("trusted", "SELECT 1")
    with server.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgsvm VERSION '0.2.0'")
        connection.execute(f"UPDATE pg_extension SET extowner = '{OWNER}'::regrole WHERE extname = 'pgsvm'")
    return name


def test_an_owner_updates_it(server, old):
    with server.connect(old, user=OWNER) as connection:
        put_model(connection, "m", [1, 2])
        connection.execute("ALTER EXTENSION pgsvm UPDATE")
        assert one(connection, "SELECT svm_decision('m', ARRAY[1, 1])") == 3.5
        use(connection)


def test_what_an_owner_has_added_is_no_part_of_an_update(server, old):
    with server.connect(old, user=OWNER) as connection:
        # an update would replace it, and leave it his
        connection.execute("CREATE FUNCTION svm_is_known(model text) RETURNS boolean LANGUAGE sql RETURN true")
        connection.execute("ALTER EXTENSION pgsvm ADD FUNCTION svm_is_known(text)")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as refused:
            connection.execute("ALTER EXTENSION pgsvm UPDATE")
        told = f'cannot update extension pgsvm while function public.svm_is_known(text) belongs to role "{OWNER}"'
        assert refused.value.diag.message_primary == told
        connection.execute("ALTER EXTENSION pgsvm DROP FUNCTION svm_is_known(text); ALTER EXTENSION pgsvm UPDATE")


@pytest.fixture
def vector(server):
    """The statements that make an extension called vector, an empty one where pgvector is not installed."""
    config = programs_of(server.version) / "pg_config"
    shown = subprocess.run([config, "--sharedir"], check=True, stdout=subprocess.PIPE, text=True).stdout
    folder = pathlib.Path(shown.strip()) / "extension"
    if (folder / "vector.control").exists():
        yield "CREATE SCHEMA real; CREATE EXTENSION vector SCHEMA real"
        return
    (folder / "vector.control").write_text("default_version = '0'\ntrusted = true\n")
    (folder / "vector--0.sql").write_text("")
    yield "CREATE EXTENSION vector"
    (folder / "vector.control").unlink()
    (folder / "vector--0.sql").unlink()


@pytest.mark.parametrize("name", ["vector", "halfvec", "sparsevec"])
@pytest.mark.parametrize("kind", ["ENUM ('a', 'b')", "(x int, y int)", "RANGE (SUBTYPE = int)"])
def test_a_type_that_an_owner_has_added_to_extension_vector_is_no_vector(server, owned, vector, name, kind):
    value = {"E": "'a'", "(": "(1, 2)", "R": "'[1,2)'"}[kind[0]]
    with server.connect(owned(), user=OWNER) as connection:
        connection.execute(f"CREATE SCHEMA mine; {vector}; CREATE TYPE mine.{name} AS {kind}")
        connection.execute(f"ALTER EXTENSION vector ADD TYPE mine.{name}")
        connection.execute(
            f"CREATE TABLE t AS SELECT {value}::mine.{name} AS v, i AS x, i > 20 AS y FROM generate_series(1, 40) AS i"
        )
        connection.execute("SELECT svm_train('t', 'y', ARRAY['x'], 'm')")
        for call in [
            "svm_train('t', 'y', ARRAY['v'])",
            "svm_train('t', 'y')",
            "svm_decision('m', (SELECT v FROM t LIMIT 1))",
        ]:
            try:
                connection.execute(f"SELECT {call}")
            except psycopg.Error as error:
                assert error.sqlstate not in ("XX000", "XX001", "57P02", "08006"), error
    assert not server.complaints()


CEILINGS = {
    "pgsvm.max_memory": "1TB",
    "pgsvm.max_features": "2147483647",
    "pgsvm.max_workers": "64",
    "pgsvm.max_trainers": "64",
}


def load(connection):
    """Has the session load the library."""
    with pytest.raises(psycopg.errors.UndefinedObject):
        connection.execute("SELECT svm_decision('none', '{1}'::real[])")


@pytest.mark.parametrize("setting", CEILINGS)
def test_only_a_superuser_raises_a_ceiling(server, owned, setting):
    name, value = owned(), CEILINGS[setting]
    show = f"SHOW {setting}"
    with server.connect(name) as connection:
        load(connection)
        before = one(connection, show)
    ways = [
        f"SET {setting} = '{value}'",
        f"SELECT set_config('{setting}', '{value}', false)",
        f"ALTER ROLE {OWNER} SET {setting} = '{value}'",
        f"ALTER DATABASE {name} SET {setting} = '{value}'",
        f"CREATE FUNCTION raising() RETURNS int LANGUAGE sql SET {setting} = '{value}' RETURN 1",
    ]
    for way in ways:
        with server.connect(name, user=OWNER) as connection:
            load(connection)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(way)
    for way in ways:
        # before the library is there PostgreSQL may take it, and drops it when the library comes
        for _session in range(2):
            with server.connect(name, user=OWNER) as connection:
                try:
                    connection.execute(way)
                except (psycopg.errors.InsufficientPrivilege, psycopg.errors.DuplicateFunction):
                    pass
                load(connection)
                assert one(connection, show) == before, way
    with server.connect(name, user=OWNER, options=f"-c {setting}={value}") as connection:
        load(connection)
        assert one(connection, show) == before
    # whom a superuser lets
    with server.connect(name) as connection:
        load(connection)
        connection.execute(f"GRANT SET ON PARAMETER {setting} TO {OWNER}")
    with server.connect(name, user=OWNER) as connection:
        connection.execute(f"SET {setting} = '{value}'")
        load(connection)
        assert one(connection, show) != before
    with server.connect(name) as connection:
        load(connection)
        connection.execute(f"REVOKE SET ON PARAMETER {setting} FROM {OWNER}")
