"""CREATE EXTENSION into a schema where somebody has planted functions, operators and types with the names that the
extension's SQL uses, so that they would match its calls at least as well as what is meant."""

import pathlib
import re

import pytest

from harness.server import new_database

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPERATORS = ["=", "<>", "<", ">", "<=", ">=", "||", "~~", "~", "+", "-", "*", "->", "@>"]
TYPES = ["text", "name", "bigint", "int", "smallint", "boolean", "oid", "real", "double precision", "jsonb", "interval"]
TAKES = [
    *TYPES,
    *(f"{name}[]" for name in TYPES),
    "bytea",
    "timestamptz",
    "points",
    "name, text",
    "oid, text",
    "oid, name",
    "text, text",
    "text, points",
    "text, points, text",
    "text, points, boolean",
    "text[], text",
    "text, int",
    "text, points, int",
    "double precision, boolean",
    "text, text, text",
]


def names_of(*folders):
    """Whatever looks like a function's or a type's name in the extension's SQL and in that of its library."""
    texts = [path.read_text() for folder, form in folders for path in sorted((ROOT / folder).rglob(form))]
    return sorted({name for text in texts for name in re.findall(r"\b[a-z_][a-z_0-9]{2,50}(?=\()", text)})


def plant(connection, names):
    """Plants what springs when it is used; what PostgreSQL does not let be made is left out."""
    connection.execute(
        """
        CREATE SCHEMA IF NOT EXISTS planted; CREATE SCHEMA apart; CREATE SEQUENCE apart.sprung;
        CREATE TABLE planted.points AS SELECT i AS id, i AS x, i > 20 AS y FROM generate_series(1, 40) AS i;
        CREATE ROLE planter;
        GRANT ALL ON SCHEMA planted, apart TO planter; GRANT ALL ON SEQUENCE apart.sprung TO PUBLIC;
        SET ROLE planter; SET search_path = planted, apart
        """
    )
    connection.execute(
        """
        CREATE FUNCTION apart.make(statements text[]) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            statement text;
            made bigint := 0;
        BEGIN
            FOREACH statement IN ARRAY statements LOOP
                BEGIN
                    EXECUTE statement;
                    made := made + 1;
                EXCEPTION WHEN OTHERS THEN
                    NULL;
                END;
            END LOOP;
            RETURN made;
        END $$
        """
    )
    body = "LANGUAGE sql AS $f$ SELECT pg_catalog.nextval('apart.sprung'); SELECT NULL::{gives} $f$"
    statements = []
    for name in names:
        for takes in TAKES:
            gives = "boolean" if name.startswith("pg_has") else "text"
            statements.append(f"CREATE FUNCTION planted.{name}({takes}) RETURNS {gives} {body.format(gives=gives)}")
    for left in TYPES:
        for right in TYPES:
            function = f"apart.of_two({left}, {right})"
            statements.append(f"CREATE FUNCTION {function} RETURNS boolean {body.format(gives='boolean')}")
            for sign in OPERATORS:
                arguments = f"FUNCTION = apart.of_two, LEFTARG = {left}, RIGHTARG = {right}"
                statements.append(f"CREATE OPERATOR planted.{sign} ({arguments})")
    for name in ["text", "name", "int8", "int4", "bool", "oid", "float8", "jsonb", "bytea", "timestamptz", "regclass"]:
        check = "CHECK (pg_catalog.nextval('apart.sprung') < 0)"
        statements.append(f"CREATE DOMAIN planted.{name} AS pg_catalog.text {check}")
    made = connection.execute("SELECT apart.make(%s)", [statements]).fetchone()[0]
    connection.execute("RESET ROLE; RESET search_path")
    return made


@pytest.fixture(scope="module", params=["made", "updated"])
def planted(server, request):
    """A database in whose schema of the extension all is planted before the extension is made, or updated from 0.2.0."""
    new_database(server, "planted")
    with server.connect("planted") as connection:
        connection.execute("DROP ROLE IF EXISTS planter")
        names = names_of(("sql", "*.sql"), ("src", "*.rs"))
        called = re.compile(
            "svm_(row_.*|label_metrics|metrics|auc|log_loss|roc_points|classify|decision|margin|probability"
            "|weights_unordered|version_id|is_taken|role_.*|new_id|has_rights_of)"
        )
        ours = {name for name in names if name.startswith("svm_")}
        assert {"cardinality", "unnest", "abs", "svm_classify", "svm_metrics", "pg_has_role"} <= set(names)
        if request.param == "updated":
            connection.execute("CREATE SCHEMA planted; CREATE EXTENSION pgsvm SCHEMA planted VERSION '0.2.0'")
        assert plant(connection, [name for name in names if name not in ours]) > 1000
        made = "CREATE EXTENSION pgsvm SCHEMA planted" if request.param == "made" else "ALTER EXTENSION pgsvm UPDATE"
        connection.execute(made)
        assert not sprung(connection)
        # names of ours that its SQL calls in turn: they come now, what has the same arguments cannot have been there before
        connection.execute("SET ROLE planter; SET search_path = planted, apart")
        body = "RETURNS text LANGUAGE sql AS $f$ SELECT pg_catalog.nextval('apart.sprung'); SELECT NULL::text $f$"
        statements = [
            f"CREATE FUNCTION planted.{name}({takes}) {body}"
            for name in ours
            if called.fullmatch(name)
            for takes in TAKES
        ]
        assert connection.execute("SELECT apart.make(%s)", [statements]).fetchone()[0] > 300
    yield "planted"
    with server.connect() as connection:
        connection.execute("DROP DATABASE planted WITH (FORCE)")
        connection.execute("DROP ROLE planter")


def sprung(connection):
    return connection.execute("SELECT is_called FROM apart.sprung").fetchone()[0]


def test_nothing_of_the_extension_depends_on_what_was_planted(server, planted):
    with server.connect(planted) as connection:
        uses = connection.execute(
            """
            WITH planted AS (
                SELECT 'pg_proc'::regclass AS class, oid FROM pg_proc WHERE proowner = 'planter'::regrole
                UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator WHERE oprowner = 'planter'::regrole
                UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typowner = 'planter'::regrole
            )
            SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, 0)
            FROM pg_depend AS d JOIN planted AS p ON (d.refclassid, d.refobjid) = (p.class, p.oid)
            WHERE (d.classid, d.objid) NOT IN (SELECT class, oid FROM planted) AND d.objid NOT IN (
                SELECT c.oid FROM pg_constraint AS c JOIN planted AS p ON p.oid = c.contypid
            )
            """
        ).fetchall()
        assert uses == []


CALLS = """
    svm_train('planted.points', 'y', ARRAY['x'], 'm', probability => true, key => 'id', options => '{"duals": true}')
    svm_train_query('SELECT x, y::text FROM planted.points', 'y', model => 'words')
    svm_cross_validate('planted.points', 'y', features => ARRAY['x'], c => '{1}', folds => 2)
    svm_refresh('m')
    svm_forget_query('m', 'SELECT 40 AS id')
    svm_update_query('m', 'SELECT 41 AS id, 41 AS x, true AS y')
    svm_evaluate('m', 'planted.points'::pg_catalog.regclass)
    svm_evaluate('words', 'planted.points'::pg_catalog.regclass)
    svm_confusion('m', 'planted.points'::pg_catalog.regclass)
    svm_roc('m', 'planted.points'::pg_catalog.regclass)
    svm_suspects('m', 'planted.points'::pg_catalog.regclass, 5)
    svm_weights_unordered('m'::pg_catalog.text)
    svm_deploy('m', 1)
    svm_grant('m', 'public')
    svm_revoke('m', 'public')
    svm_rename('words', 'texts')
    svm_drop('texts')
"""


def test_whatever_is_called_nothing_planted_runs(server, planted):
    with server.connect(planted) as connection:
        for call in (line.strip() for line in CALLS.strip().splitlines()):
            name, _, rest = call.partition("(")
            # by its oid's own name, whatever was planted beside it: the call is the caller's business
            schema = "svm_internal" if name == "svm_weights_unordered" else "planted"
            connection.execute(f"SELECT * FROM {schema}.{name}({rest}")
            assert not sprung(connection), call
        for query in ["TABLE planted.svm_models", "TABLE planted.svm_versions", "TABLE planted.svm_progress"]:
            connection.execute(query)
            assert not sprung(connection), query
        # roles without rights of their own go through the policies
        connection.execute("GRANT USAGE ON SCHEMA planted TO PUBLIC; SET ROLE planter")
        connection.execute("SELECT * FROM planted.svm_models")
        connection.execute("RESET ROLE")
        assert not sprung(connection)
        # the traps do spring
        connection.execute("SELECT planted.cardinality('{a}'::pg_catalog.text[])")
        assert sprung(connection)


HELD = {
    "int_array": ("integer[]", "ARRAY[x, 1]"),
    "double_array": ("double precision[]", "ARRAY[x, 1]::double precision[]"),
    "libsvm": ("text", "'1:' || x"),
    "word": ("varchar", "('1:' || x)::varchar"),
    "jsonb_document": ("jsonb", "jsonb_build_object('x', x, 'y', y)"),
    "json_document": ("json", "json_build_object('x', x, 'y', y)"),
}


@pytest.mark.parametrize("column", HELD)
def test_features_in_one_column_reach_nothing_planted(server, planted, column):
    """Overloads for the column's own type would match a call with it better than what takes any type."""
    kind, value = HELD[column]
    called = ["decision", "classify", "class", "probability"]
    names = [f"svm_{row}{name}" for name in called for row in ["", "row_"]]
    body = "LANGUAGE sql AS $f$ SELECT pg_catalog.nextval('apart.sprung'); SELECT NULL::{gives} $f$"
    statements = [
        f"CREATE FUNCTION planted.{name}({takes}) RETURNS {gives} {body.format(gives=gives)}"
        for name in names
        for takes in [
            f"text, {kind}",
            f"text, {kind}, text",
            "text, record",
            "text, record, text",
            "text, planted.held",
        ]
        for gives in ["text" if "class" in name else "float8"]
    ]
    with server.connect(planted) as connection:
        connection.execute(
            f"""
            DROP TABLE IF EXISTS planted.held CASCADE;
            CREATE TABLE planted.held AS
                SELECT {value} AS features, x > 20 AS y, x % 3 AS of_three
                FROM (SELECT i AS x, i > 20 AS y FROM generate_series(1, 60) AS i) AS of;
            ALTER SEQUENCE apart.sprung RESTART; SET ROLE planter; SET search_path = planted, apart
            """
        )
        made = connection.execute("SELECT apart.make(%s)", [statements]).fetchone()[0]
        assert made >= 8
        connection.execute("RESET ROLE; RESET search_path")
        source = "planted.held"
        if column.endswith("document"):
            source = "planted.of_documents"
            connection.execute(
                f"""
                DROP TABLE IF EXISTS {source};
                CREATE TABLE {source} AS SELECT i AS x, i > 20 AS y, i % 3 AS of_three FROM generate_series(1, 60) AS i
                """
            )
        features = {"libsvm": "libsvm(features)", "word": "libsvm(features)"}.get(column, "features")
        features = "ARRAY['x']" if column.endswith("document") else f"ARRAY['{features}']"
        for label in ["y", "of_three"]:
            options = f"'{source}', '{label}', {features}, '{column}_{label}', probability => true"
            connection.execute(f"SELECT planted.svm_train({options})")
            held = f"'{column}_{label}', 'planted.held', label => '{label}'"
            for call in ["svm_evaluate", "svm_confusion", "svm_roc"]:
                if call == "svm_roc" and label == "of_three":
                    continue
                rows = connection.execute(f"SELECT * FROM planted.{call}({held}, features => 'features')").fetchall()
                assert rows and not sprung(connection), call
                if call == "svm_evaluate":
                    assert rows[0][0] == 60, rows
        # the trap does spring
        connection.execute(
            f"SELECT planted.svm_decision('{column}_y'::pg_catalog.text, features) FROM planted.held LIMIT 1"
        )
        assert sprung(connection) or kind in ("text", "varchar")
