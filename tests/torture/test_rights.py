"""A malicious owner's objects of every kind, reached through stored models by every function, called by a member of the
owner's role and by a superuser: nothing of it runs but with the owner's own rights. What a caller names himself runs as in
any SELECT.

Whatever runs a trap as anybody but its owner leaves a mark in a sequence, which no rollback takes back.
"""

import psycopg
import pytest

from harness.effort import record
from harness.server import new_database

OWNER = """
    CREATE SCHEMA evil AUTHORIZATION mallory;
    CREATE SEQUENCE marks;
    GRANT ALL ON SEQUENCE marks TO PUBLIC;
    CREATE TABLE victims AS SELECT i AS id, i AS x, i % 7 AS z, i > 20 AS y, i AS n, 'w' || (i > 20)::text AS t
        FROM generate_series(1, 40) AS i;
    GRANT SELECT ON victims TO PUBLIC;
    SET ROLE mallory;
    SET search_path = evil, public;
    CREATE FUNCTION sprung() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF current_user <> 'mallory' THEN
            PERFORM nextval('public.marks');
        END IF;
        RETURN true;
    END $$;
    CREATE FUNCTION of_bool(boolean) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT evil.sprung()';
    CREATE FUNCTION of_int(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT evil.sprung()';
    CREATE DOMAIN checked_int AS int CHECK (sprung());
    CREATE DOMAIN checked_bool AS boolean CHECK (sprung());
    CREATE DOMAIN checked_text AS text CHECK (sprung());
    CREATE TYPE mood AS ENUM ('false', 'true');
    CREATE FUNCTION to_mood(boolean) RETURNS mood LANGUAGE sql AS $$SELECT evil.sprung(); SELECT 'true'::evil.mood$$;
    CREATE FUNCTION to_mood(int) RETURNS mood LANGUAGE sql AS $$SELECT evil.sprung(); SELECT 'true'::evil.mood$$;
    CREATE FUNCTION to_mood(text) RETURNS mood LANGUAGE sql AS $$SELECT evil.sprung(); SELECT 'true'::evil.mood$$;
    CREATE FUNCTION of_mood(mood) RETURNS text LANGUAGE sql AS $$SELECT evil.sprung(); SELECT 'true'::text$$;
    CREATE CAST (boolean AS mood) WITH FUNCTION to_mood(boolean) AS IMPLICIT;
    CREATE CAST (int AS mood) WITH FUNCTION to_mood(int) AS IMPLICIT;
    CREATE CAST (text AS mood) WITH FUNCTION to_mood(text) AS IMPLICIT;
    CREATE CAST (mood AS text) WITH FUNCTION of_mood(mood) AS IMPLICIT;
    CREATE FUNCTION same(mood, mood) RETURNS boolean LANGUAGE sql AS 'SELECT evil.sprung()';
    CREATE OPERATOR = (FUNCTION = same, LEFTARG = mood, RIGHTARG = mood);
    CREATE TYPE pair AS (a checked_int, b checked_text);
    CREATE FUNCTION difference(int, int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
        'SELECT CASE WHEN evil.sprung() THEN 1.0::float8 END';
    CREATE TYPE span AS RANGE (SUBTYPE = int, SUBTYPE_DIFF = difference);
    CREATE COLLATION odd FROM "C";
    CREATE TEXT SEARCH CONFIGURATION words (COPY = simple);
    CREATE FUNCTION cardinality(text[]) RETURNS int LANGUAGE sql AS 'SELECT CASE WHEN evil.sprung() THEN 2 END';
    CREATE FUNCTION label(public.victims) RETURNS boolean LANGUAGE sql AS 'SELECT evil.sprung()';
    CREATE TABLE source AS SELECT id, x, z, y, t FROM public.victims;
    CREATE INDEX ON source (of_int(x)) WHERE of_bool(y);
    ALTER TABLE source ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY trap ON source USING (sprung());
    CREATE FUNCTION on_change() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM evil.sprung(); RETURN NEW; END$$;
    CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON source FOR EACH ROW EXECUTE FUNCTION on_change();
    CREATE VIEW shown WITH (security_invoker = true) AS SELECT * FROM source WHERE sprung();
    CREATE VIEW bait AS SELECT * FROM public.victims WHERE sprung();
    GRANT USAGE ON SCHEMA evil TO PUBLIC;
    GRANT SELECT ON bait TO PUBLIC;
"""

TRAINED = {
    "table with a policy": "svm_train('evil.source', 'y', ARRAY['x', 'z'], {name}, key => 'id', probability => true)",
    "view": "svm_train('evil.shown', 'y', ARRAY['x', 'z'], {name}, key => 'id', probability => true)",
    "query": "svm_train_query('SELECT *, sprung() FROM source WHERE sprung()', 'y', ARRAY['x', 'z'], {name}, key => 'id')",
    "query with casts and search": "svm_train_query('SELECT id, x, z, y FROM source WHERE to_tsvector(''evil.words'', t) IS NOT NULL"
    " AND (t COLLATE odd) > '''' AND y::mood IS NOT NULL', 'y', ARRAY['x', 'z'], {name}, key => 'id')",
}

# what may stand in a stored version: column -> values
FORGED = {
    "label_type": [
        "evil.checked_int",
        "evil.checked_bool",
        "evil.checked_text",
        "evil.mood",
        "evil.mood[]",
        "evil.pair",
        "evil.span",
        "boolean, evil.sprung()",
        "int); SELECT evil.sprung(); --",
        "regclass",
        "evil.sprung",
    ],
    "label_column": ["label", "sprung", 'y"; SELECT evil.sprung(); --', "evil.sprung()", "tableoid"],
    "key_column": ["label", 'id" , evil.sprung() --'],
    "weight_column": ["label", "evil.sprung()"],
    "source_relation": ["evil.shown", "evil.bait", "evil.sprung()", "(SELECT evil.sprung())", "evil.source, evil.bait"],
    "source_query": ["SELECT id, x, z, y FROM evil.bait", "SELECT evil.sprung() AS y, 1 AS x, 1 AS z, 1 AS id"],
    "query": ["SELECT id, x, z, y FROM evil.bait", "SELECT evil.sprung() AS y, 1 AS x, 1 AS z, 1 AS id"],
    "search_path": ["evil", "evil, public, pg_catalog", "pg_temp, evil", "evil; SELECT evil.sprung()"],
    "loss": ["evil.sprung()"],
    "class_weight": ['{"true": 2, "evil.sprung()": 1}'],
    "options": ['{"fold_column": "label"}', '{"warm_start": "view"}', '{"evil": "evil.sprung()"}'],
    "features": [
        '{"parts": [{"kind": "column", "name": "label", "type": "evil.checked_int"}, {"kind": "column", "name": "z", "type": "int"}]}',
        '{"parts": [{"kind": "array", "name": "evil.sprung()", "type": "evil.mood[]", "length": 2}]}',
        '{"parts": [{"kind": "column", "name": "x\\" + evil.sprung() --", "type": "evil.span"}, {"kind": "column", "name": "z", "type": "evil.checked_int"}]}',
    ],
}

VICTIM = "(SELECT v FROM victims AS v LIMIT 1)"
CALLS = [
    f"svm_decision('{{m}}', {VICTIM})",
    f"svm_predict('{{m}}', {VICTIM})",
    f"svm_predict('{{m}}', {VICTIM}, NULL::boolean)",
    f"svm_predict('{{m}}', {VICTIM}, NULL::text)",
    f"svm_classify('{{m}}', {VICTIM})",
    f"svm_margin('{{m}}', {VICTIM}, true)",
    f"svm_probability('{{m}}', {VICTIM})",
    f"svm_probability('{{m}}', {VICTIM}, 'true')",
    f"svm_predict_set('{{m}}', {VICTIM})",
    f"svm_interval('{{m}}', {VICTIM})",
    f"svm_explain('{{m}}', {VICTIM})",
    "svm_evaluate('{m}', 'victims')",
    "svm_evaluate('{m}', 'victims', 'n')",
    "svm_evaluate('{m}', 'victims', 't')",
    "svm_confusion('{m}', 'victims')",
    "svm_roc('{m}', 'victims')",
    "svm_suspects('{m}', 'victims')",
    "svm_weights('{m}')",
    "svm_features('{m}')",
    "svm_training_log('{m}')",
    "svm_export('{m}')",
    "svm_as_sql('{m}')",
    "svm_create_function('{m}', 'public.made')",
    "svm_refresh('{m}')",
    "svm_update_query('{m}', 'SELECT id + 100 AS id, x, z, y FROM victims')",
    "svm_forget_query('{m}', 'SELECT 1 AS id')",
    "svm_train('victims', 'y', ARRAY['x', 'z'], 'begun', options => '{{\"warm_start\": \"{m}\"}}')",
    "svm_deploy('{m}', 1)",
    "svm_grant('{m}', 'public')",
    "svm_rename('{m}', 'renamed')",
    "svm_drop('{m}')",
]


@pytest.fixture(scope="module")
def database(server):
    with server.connect() as connection:
        connection.execute("DROP DATABASE IF EXISTS torture_rights")
        connection.execute(
            "DROP ROLE IF EXISTS member, mallory; CREATE ROLE mallory; CREATE ROLE member LOGIN IN ROLE mallory"
        )
    # who owns the database, its schema public and the extension
    new_database(server, "torture_rights", "OWNER mallory")
    with server.connect("torture_rights") as connection:
        connection.execute("SET ROLE mallory; CREATE EXTENSION pgsvm; RESET ROLE")
        connection.execute(OWNER)
        for name, call in TRAINED.items():
            connection.execute("SELECT " + call.format(name=f"'{name}'"))
        connection.execute("RESET ROLE; RESET search_path")
    return "torture_rights"


def marks(connection):
    return connection.execute("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.marks").fetchone()[0]


def forge(connection, name, column, value):
    """Has the version of the model say something else; a query stands in a table of its own."""
    if column == "query":
        connection.execute(
            "INSERT INTO svm_source (version_id, query) VALUES (svm_internal.svm_version_id(%s), %s)"
            " ON CONFLICT (version_id) DO UPDATE SET query = excluded.query",
            [name, value],
        )
        connection.execute(
            "UPDATE svm_version SET stored_rows = stored_rows || '{\"svm_source\": 1}' WHERE id = svm_internal.svm_version_id(%s)",
            [name],
        )
    else:
        connection.execute(
            f"UPDATE svm_version SET {column} = %s WHERE id = svm_internal.svm_version_id(%s)", [value, name]
        )


def call_all(server, database, user, name, change=None):
    """Calls everything about a model, each rolled back; whatever went wrong is an error like any other. How many there were
    and how many were refused."""
    refused = 0
    with server.connect(database) as watching, server.connect(database, user=user, autocommit=False) as connection:
        for call in CALLS:
            before = marks(watching)
            try:
                if change:
                    connection.execute("RESET ROLE")
                    column, value = change
                    forge(connection, name, column, value)
                    if column in ("query", "source_query"):
                        connection.execute(
                            "UPDATE svm_version SET source_relation = NULL WHERE id = svm_internal.svm_version_id(%s)",
                            [name],
                        )
                    connection.execute("SET ROLE member" if user == "member" else "SELECT 1")
                connection.execute("SET LOCAL statement_timeout = '20s'")
                connection.execute("SELECT * FROM " + call.format(m=name))
                if "svm_create_function" in call:
                    connection.execute(f"SELECT public.made({VICTIM})")
            except psycopg.Error as error:
                assert "nextval" not in str(error), (user, name, change, call)
                refused += 1
            finally:
                connection.rollback()
            assert marks(watching) == before, (user, name, change, call)
    return len(CALLS), refused


def test_traps_spring_when_they_are_touched(server, database):
    """What a caller names himself runs as in any SELECT, and through these functions too."""
    touched = [
        "SELECT 1::evil.checked_int",
        "SELECT true::evil.mood",
        "SELECT count(*) FROM evil.bait",
        "SELECT count(*) FROM evil.shown",
        "SELECT evil.cardinality('{a}')",
        "SELECT svm_evaluate('view', 'evil.bait')",
        "SELECT svm_train('evil.bait', 'y', ARRAY['x', 'z'], 'own')",
        "SELECT svm_predict('view', v, NULL::evil.checked_bool) FROM victims AS v LIMIT 1",
        "SELECT svm_update_query('query', 'SELECT id + 100 AS id, x, z, y FROM evil.bait')",
    ]
    with server.connect(database) as connection:
        for statement in touched:
            before = marks(connection)
            connection.execute(statement)
            assert marks(connection) > before, statement
        connection.execute("SELECT svm_drop('own'), svm_deploy('query', 1)")


@pytest.mark.parametrize("user", ["member", "postgres"])
def test_models_trained_on_traps(server, database, user):
    calls = [call_all(server, database, user, name) for name in TRAINED]
    record(
        "rights",
        what=f"models of a malicious owner's {len(TRAINED)} sources",
        caller="a member" if user == "member" else "a superuser",
        calls=sum(made for made, _ in calls),
        refused=sum(refused for _, refused in calls),
        ran=0,
    )


def test_stored_versions_that_name_traps(server, database):
    made = refused = 0
    for column, values in FORGED.items():
        for value in values:
            calls = call_all(server, database, "postgres", "table with a policy", (column, value))
            made, refused = made + calls[0], refused + calls[1]
    forged = sum(len(values) for values in FORGED.values())
    record(
        "rights",
        what=f"{forged} stored versions that name traps",
        caller="a superuser",
        calls=made,
        refused=refused,
        ran=0,
    )


# what a role that no policy binds tries with a model that is another's: everything that would have its owner read a source
PLANTING = [
    "INSERT INTO svm_source (version_id, query) VALUES (svm_internal.svm_version_id('victims'), 'SELECT * FROM evil.bait')",
    "INSERT INTO svm_source (version_id, query) VALUES (1, 'SELECT * FROM evil.bait')",
    "UPDATE svm_source SET query = 'SELECT * FROM evil.bait'",
    "UPDATE svm_version SET source_relation = 'evil.bait'",
    "UPDATE svm_version SET source_query = 'SELECT * FROM evil.bait'",
    "INSERT INTO svm_version ({columns}, version, source_query) SELECT {columns}, 1000, 'SELECT * FROM evil.bait' {from_version}",
    "INSERT INTO svm_version ({columns}, version, source_relation) SELECT {columns}, 1000, 'evil.bait' {from_version}",
    "INSERT INTO svm_version ({columns}, version) SELECT {columns}, 1000 {from_version}",
    "WITH planted AS (INSERT INTO svm_version ({columns}, version) SELECT {columns}, 1000 {from_version} RETURNING id)"
    " INSERT INTO svm_source (version_id, query) SELECT id, 'SELECT * FROM evil.bait' FROM planted",
    "SELECT svm_train('evil.bait', 'y', ARRAY['x', 'z'], 'victims', key => 'id')",
    "SELECT svm_train_query('SELECT * FROM evil.bait', 'y', ARRAY['x', 'z'], 'victims', key => 'id')",
    "SELECT svm_train_query('SELECT * FROM evil.source', 'y', ARRAY['x', 'z'], 'gift', key => 'id');"
    " UPDATE svm_model SET owner = 'postgres' WHERE name = 'gift'",
]
COLUMNS = (
    "model_id, features, label_column, label_type, label_values, nulls, loss, scale, solver, intercept_used, intercept,"
    " feature_count, options, key_column, key_type, stored_rows, c, tolerance, seed, rows_used, rows_skipped, passes, cache_bytes, workers,"
    " dual, stop_reason"
)


def test_nothing_is_planted_in_a_model_of_another_role(server, database):
    """Refused each by itself; and what is let in, versions without a key, nobody reads again."""
    with server.connect(database) as connection:
        connection.execute(
            "SELECT svm_train('victims', 'y', ARRAY['x', 'z'], 'victims', key => 'id');"
            " DROP ROLE IF EXISTS planter; CREATE ROLE planter LOGIN BYPASSRLS; GRANT SELECT ON evil.source TO planter"
        )
        try:
            with server.connect(database, user="planter", autocommit=False) as planter:
                for plant in PLANTING:
                    from_version = "FROM svm_version WHERE id = svm_internal.svm_version_id('victims')"
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        planter.execute(plant.format(columns=COLUMNS, from_version=from_version))
                    planter.rollback()
                # without a key
                planter.execute("SELECT svm_train_query('SELECT * FROM evil.source', 'y', ARRAY['x', 'z'], 'victims')")
                planter.execute(
                    PLANTING[5].format(columns=COLUMNS.replace(", key_column", ""), from_version=from_version)
                )
                planter.commit()
            seen = marks(connection)
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
                connection.execute("SELECT svm_refresh('victims')")
            connection.execute("SELECT svm_deploy('victims', 1000)")
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
                connection.execute("SELECT svm_refresh('victims')")
            connection.execute("SELECT svm_deploy('victims', 1), svm_refresh('victims')")
            assert marks(connection) == seen
        finally:
            connection.execute("SELECT svm_drop('victims'); DROP OWNED BY planter; DROP ROLE planter")
    record(
        "rights",
        what=f"{len(PLANTING)} ways to plant a source",
        caller="a role with BYPASSRLS",
        calls=len(PLANTING),
        refused=len(PLANTING),
        ran=0,
    )
