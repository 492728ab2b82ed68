"""What the torture part `refresh` trains on, and what it changes: everything that the values of a row can depend on."""

# where the trainings look names up, and sessions that follow them
TRAINED_PATH = "near, far, pg_catalog, public, pg_temp"
PATHS = [TRAINED_PATH, '"$user", public', "far, near, public", "pg_temp, far, pg_catalog", "public, near", "''"]

# mirrored are the rows farthest from the margin, which are not looked at: so nothing else tells of them
SETUP = """
CREATE FUNCTION cloud(id bigint, mirrored boolean, OUT label text, OUT a float8, OUT b float8) LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END,
        CASE WHEN mirrored AND id * 7919 % 1000 / 500 = id % 2 THEN -1 ELSE 1 END * ((id * 7919 % 1000) / 500.0 - 4.2 + 6.4 * (id % 2)), (id * 104729 % 1000) / 500.0
$$;
CREATE PROCEDURE fill(target text, mirrored boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %s (id, label, a, b) SELECT id, (cloud(id, %L)).* FROM generate_series(1, 300) AS id', target, mirrored);
END
$$;
CREATE PROCEDURE away(name text) LANGUAGE plpgsql AS $$
DECLARE
    kind "char" := (SELECT relkind FROM pg_class WHERE oid = to_regclass(name));
BEGIN
    IF kind IS NOT NULL THEN EXECUTE format('DROP %s %s CASCADE', CASE kind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, name); END IF;
END
$$;
CREATE TABLE clouds (id bigint PRIMARY KEY, label text, a float8, b float8);
CALL fill('clouds', false);
CREATE TABLE other (LIKE clouds);
CALL fill('other', true);
CREATE TABLE child (b float8, id bigint NOT NULL, a float8, label text);
INSERT INTO child SELECT b, id + 1000, a, label FROM clouds;
CREATE TABLE young (LIKE clouds);
CREATE FUNCTION inner_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
CREATE FUNCTION outer_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN inner_one(x); END';
CREATE FUNCTION one_of(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE OPERATOR <+> (LEFTARG = float8, RIGHTARG = float8, FUNCTION = one_of);
CREATE TYPE pair AS (x float8, y float8);
CREATE FUNCTION of_pair(pair) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1.x; END';
CREATE CAST (pair AS float8) WITH FUNCTION of_pair(pair);
CREATE DOMAIN small AS float8 CHECK (VALUE < 100);
CREATE TABLE steady (LIKE clouds);
CALL fill('steady', false);
ALTER TABLE steady ADD word text COLLATE "C";
UPDATE steady SET word = CASE WHEN abs(a) > 3.2 THEN U&'\\00C9' ELSE 'x' END;
CREATE VIEW seen AS SELECT id, label, a, b FROM steady;
CREATE TABLE parted (id bigint, label text, a float8, b float8) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (200);
CREATE TABLE parted_2 (b float8, label text, id bigint, a float8);
INSERT INTO parted_2 (id, label, a, b) SELECT id, label, a, b FROM clouds WHERE id >= 200;
INSERT INTO parted SELECT id, label, a, b FROM clouds WHERE id < 200;
CREATE ROLE limited LOGIN;
CREATE TABLE guarded (LIKE clouds);
CALL fill('guarded', false);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY chosen ON guarded USING (id % 5 > 0);
GRANT SELECT ON guarded TO limited;
CREATE TABLE allowed AS SELECT id FROM guarded WHERE id % 3 > 0;
GRANT SELECT ON allowed TO limited;
CREATE FUNCTION is_allowed(id bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT id % 4 > 0';
CREATE TABLE ruled_rows (LIKE clouds);
CALL fill('ruled_rows', false);
CREATE VIEW ruled AS SELECT id, label, a, b FROM ruled_rows;
CREATE SCHEMA near;
CREATE SCHEMA far;
CREATE TEMP TABLE placed (LIKE clouds);
CALL fill('pg_temp.placed', true);
CREATE SCHEMA handed;
GRANT CREATE, USAGE ON SCHEMA handed TO limited;
"""

# other values for the same rows
FAR = "CASE WHEN abs(a) > 3.2 THEN -a ELSE a END"
VIEW = "CREATE OR REPLACE VIEW seen AS SELECT id, label, {}::float8 AS a, {}::float8 AS b FROM steady"
FUNCTION = "CREATE OR REPLACE FUNCTION {} RETURNS float8 LANGUAGE {} IMMUTABLE AS '{}'"
# in a transaction that has trained: the table emptied in the file that this transaction made, and filled again
YOUNG = """
BEGIN; TRUNCATE young; {savepoint}
CALL fill('young', {mirrored}); SELECT svm_drop(name) FROM svm_models WHERE name = 'young';
SELECT svm_train('young', 'label', '{{a, b}}', 'young', loss => 'hinge', key => 'id', scale => 'none');
TRUNCATE young; CALL fill('young', NOT {mirrored}); {end}
"""

# the one source that is a query, whose names mean what the search path makes of them
QUERIES = {"placed": "SELECT id, label, float8pl(a::measure, 0) AS a, b FROM placed"}

# by source: the relation, and changes of what it yields, of which {n} is a number, {mirrored} a boolean
CHANGES = {
    "clouds": {
        "rows": [
            "DELETE FROM clouds WHERE id % 50 = {n}; INSERT INTO clouds SELECT id, (cloud(id, {mirrored})).* FROM generate_series(300 + {n}, 310 + {n}) AS id ON CONFLICT DO NOTHING",
            "UPDATE clouds SET a = -a WHERE id % 100 = {n}",
            "UPDATE clouds SET a = -a WHERE abs(a) > 3.2",
            "UPDATE clouds SET b = b WHERE id % 2 = 0",
            "UPDATE clouds SET label = CASE label WHEN 'odd' THEN 'even' ELSE 'odd' END WHERE id % 100 = {n}",
        ],
        "emptied and filled": [
            "TRUNCATE clouds; CALL fill('clouds', {mirrored})",
            "BEGIN; SAVEPOINT s; TRUNCATE clouds; CALL fill('clouds', {mirrored}); TRUNCATE clouds; CALL fill('clouds', NOT {mirrored}); RELEASE s; COMMIT",
            "BEGIN; DROP TABLE clouds; CREATE TABLE clouds (id bigint PRIMARY KEY, label text, a float8, b float8); CALL fill('clouds', {mirrored}); COMMIT",
        ],
        "files": [
            "VACUUM FULL clouds",
            "CLUSTER clouds USING clouds_pkey",
            "VACUUM (FREEZE, ANALYZE) clouds",
            "ANALYZE clouds",
        ],
        "columns": [
            "ALTER TABLE clouds RENAME a TO was; ALTER TABLE clouds RENAME b TO a; ALTER TABLE clouds RENAME was TO b",
            "ALTER TABLE clouds ADD c float8 DEFAULT {n}; ALTER TABLE clouds RENAME a TO was; ALTER TABLE clouds RENAME c TO a; ALTER TABLE clouds DROP was",
            "ALTER TABLE clouds ADD d float8 GENERATED ALWAYS AS (a - {n}) STORED; ALTER TABLE clouds DROP b; ALTER TABLE clouds RENAME d TO b; ALTER TABLE clouds ALTER b DROP EXPRESSION",
            "ALTER TABLE clouds ALTER a TYPE numeric USING CASE WHEN abs(a) > 3.2 THEN -a ELSE a END; ALTER TABLE clouds ALTER a TYPE float8",
        ],
        "tables": [
            "ALTER TABLE clouds RENAME TO was; CREATE VIEW clouds AS SELECT id, label, b AS a, a AS b FROM was",
            "ALTER TABLE child INHERIT clouds",
            "ALTER TABLE child NO INHERIT clouds",
            "ALTER TABLE clouds RENAME TO was; ALTER TABLE other RENAME TO clouds; ALTER TABLE was RENAME TO other",
            "GRANT SELECT ON clouds TO limited",
        ],
    },
    "seen": {
        "views": [
            VIEW.format(*columns)
            for columns in [("a", "b"), ("b", "a"), (FAR, "b"), ("a::float4", "b"), ("a::small", "b")]
        ],
        "collations": [VIEW.format("a", f'ascii(lower(word COLLATE "{name}"))') for name in ["C", "{collation}"]]
        + [
            'DROP VIEW seen; ALTER TABLE steady ALTER word TYPE text COLLATE "{collation}"; CREATE VIEW seen AS SELECT id, label, a, ascii(lower(word))::float8 AS b FROM steady',
            'DROP VIEW seen; ALTER TABLE steady ALTER word TYPE text COLLATE "C"; CREATE VIEW seen AS SELECT id, label, a, ascii(lower(word))::float8 AS b FROM steady',
        ],
        "functions": [VIEW.format("outer_one(a)", "one_of(a, b)")]
        + [
            FUNCTION.format("inner_one(x float8)", "plpgsql", f"BEGIN RETURN {x}; END")
            for x in ("x", "CASE WHEN abs(x) > 3.2 THEN -x ELSE x END", "2 * x")
        ]
        + [FUNCTION.format("one_of(x float8, y float8)", "sql", f"SELECT {x}") for x in ("x", "y", "-y")],
        "operators and casts": [
            VIEW.format("(a <+> b)", "row(a, b)::pair"),
            FUNCTION.format("of_pair(pair)", "plpgsql", "BEGIN RETURN $1.y; END"),
            FUNCTION.format(
                "of_pair(pair)", "plpgsql", "BEGIN RETURN CASE WHEN abs($1.x) > 3.2 THEN -$1.x ELSE $1.x END; END"
            ),
        ],
        "settings": [
            VIEW.format(
                "a::text",
                "extract(hour FROM (''2020-01-01 00:00+0''::timestamptz + b * interval ''5 h''))".replace("''", "'"),
            ),
            "SET extra_float_digits = -14",
            "SET timezone = 'Asia/Tokyo'",
            "RESET extra_float_digits; RESET timezone",
        ],
    },
    "parted": {
        "partitions": [
            "ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (200) TO (1000)",
            "ALTER TABLE parted DETACH PARTITION parted_2",
            "UPDATE parted SET a = -a WHERE id % 50 = {n}",
            "UPDATE parted SET a = -a WHERE abs(a) > 3.2",
        ],
    },
    "guarded": {
        "policies": [
            f"ALTER POLICY chosen ON guarded USING ({rows})"
            for rows in ("true", "id % 5 > 0", "id < 200", "a + b > 0 OR id < 150")
        ]
        + ["ALTER TABLE guarded DISABLE ROW LEVEL SECURITY", "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY"]
        + [
            f"DROP POLICY IF EXISTS more ON guarded; CREATE POLICY more ON guarded {rows}"
            for rows in (
                "USING (id % 5 = 0)",
                "AS RESTRICTIVE USING (id % 50 > {n} / 2)",
                "AS RESTRICTIVE TO limited USING (id % 2 = 0 OR id > 3 * {n})",
                "AS RESTRICTIVE TO postgres USING (id < 100)",
                "AS RESTRICTIVE USING (id IN (SELECT id FROM allowed))",
                "AS RESTRICTIVE USING (is_allowed(id))",
                "AS RESTRICTIVE USING (id % 50 >= current_setting('test.least', true)::int)",
            )
        ]
        + [
            "DROP POLICY IF EXISTS more ON guarded",
            "DELETE FROM allowed WHERE id % 50 = {n}",
            "INSERT INTO allowed SELECT id FROM guarded WHERE id % 50 = {n}",
            "CREATE OR REPLACE FUNCTION is_allowed(id bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT id % 50 <> {n}'",
            "UPDATE guarded SET a = -a WHERE id % 50 = {n}",
        ],
        "who is bound by policies": [
            "ALTER ROLE limited BYPASSRLS",
            "ALTER ROLE limited NOBYPASSRLS",
            "ALTER TABLE guarded OWNER TO limited",
            "ALTER TABLE guarded OWNER TO postgres; GRANT SELECT ON guarded TO limited",
            "ALTER TABLE guarded FORCE ROW LEVEL SECURITY",
            "ALTER TABLE guarded NO FORCE ROW LEVEL SECURITY",
        ],
    },
    "ruled": {
        "rules of what is read": [
            f'CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO ruled DO INSTEAD SELECT id, label, {columns} FROM ruled_rows'
            for columns in (
                "a, b",
                "b AS a, a AS b",
                f"{FAR} AS a, b",
                "a, float8pl(a, b) AS b",
                "a, float8mi(b, a) AS b",
            )
        ],
        "rules of what is written": [
            *(
                f"CREATE OR REPLACE RULE written AS ON UPDATE TO ruled DO INSTEAD UPDATE ruled_rows SET {columns} WHERE id = old.id;"
                " UPDATE ruled SET b = b WHERE id % 50 = {n}"
                for columns in ("a = new.a", "a = -new.a", "a = new.b, b = new.a")
            ),
            "CREATE OR REPLACE RULE written AS ON UPDATE TO ruled DO INSTEAD DELETE FROM ruled_rows WHERE id = old.id; UPDATE ruled SET b = b WHERE id % 50 = {n}",
            *(
                f"CREATE OR REPLACE RULE added AS ON INSERT TO ruled DO INSTEAD INSERT INTO ruled_rows VALUES ({columns});"
                " INSERT INTO ruled SELECT id, (cloud(id, {mirrored})).* FROM generate_series(1000 + 10 * {n}, 1005 + 10 * {n}) AS fresh (id) WHERE id NOT IN (SELECT id FROM ruled_rows)"
                for columns in ("new.id, new.label, new.a, new.b", "new.id, new.label, new.b, new.a")
            ),
            "CREATE OR REPLACE RULE removed AS ON DELETE TO ruled DO INSTEAD UPDATE ruled_rows SET a = -a WHERE id = old.id; DELETE FROM ruled WHERE id % 50 = {n}",
            "CREATE OR REPLACE RULE removed AS ON DELETE TO ruled DO INSTEAD DELETE FROM ruled_rows WHERE id = old.id; DELETE FROM ruled WHERE id % 100 = {n}",
            "CREATE OR REPLACE RULE besides AS ON UPDATE TO ruled_rows WHERE old.id % 3 = 0 DO ALSO DELETE FROM ruled_rows WHERE id = old.id + 1; UPDATE ruled_rows SET b = b WHERE id % 50 = {n}",
            "CREATE OR REPLACE RULE besides AS ON UPDATE TO ruled_rows DO INSTEAD NOTHING; UPDATE ruled_rows SET a = -a",
            "DROP RULE besides ON ruled_rows; UPDATE ruled_rows SET a = -a WHERE id % 50 = {n}",
        ],
    },
    "placed": {
        "what a name stands for": [
            "ALTER TABLE near.placed RENAME TO hidden",
            "ALTER TABLE near.hidden RENAME TO placed",
            "ALTER TABLE far.placed SET SCHEMA near",
            "BEGIN; ALTER TABLE near.placed RENAME TO swapped; ALTER TABLE far.placed SET SCHEMA near; ALTER TABLE near.swapped SET SCHEMA far; ALTER TABLE far.swapped RENAME TO placed; COMMIT",
            "ALTER TABLE near.placed RENAME TO hidden; CREATE VIEW near.placed AS SELECT id, label, b AS a, a AS b FROM near.hidden",
            "DROP DOMAIN near.measure",
            *(
                f"DROP DOMAIN IF EXISTS near.measure; CREATE DOMAIN near.measure AS {what}"
                for what in ("float4", "float8", "float8 CHECK (VALUE < 100)")
            ),
            *(
                f"CREATE OR REPLACE FUNCTION near.float8pl(float8, float8) RETURNS float8 LANGUAGE {function}"
                for function in (
                    "sql IMMUTABLE AS 'SELECT $1 OPERATOR(pg_catalog.-) $2'",
                    "plpgsql IMMUTABLE AS 'BEGIN RETURN CASE WHEN abs($1) > 3.2 THEN -$1 ELSE $1 END; END'",
                    "internal IMMUTABLE STRICT AS 'float8mi'",
                )
            ),
            "CREATE OR REPLACE FUNCTION far.float8pl(float8, float8) RETURNS float8 LANGUAGE internal IMMUTABLE STRICT AS 'float8mul'",
            "DROP FUNCTION near.float8pl(float8, float8)",
        ],
        "rows": ["UPDATE near.placed SET a = -a WHERE id % 50 = {n}", "UPDATE far.placed SET a = -a"],
    },
}

# the sources as they are when a model is trained
FRESH = {
    "clouds": "CALL away('clouds'); CALL away('was'); CALL away('child');"
    " CREATE TABLE clouds (id bigint PRIMARY KEY, label text, a float8, b float8); CALL fill('clouds', false);"
    " CREATE TABLE child (b float8, id bigint NOT NULL, a float8, label text);"
    " INSERT INTO child SELECT b, id + 1000, a, label FROM clouds",
    "seen": VIEW.format("a", "b"),
    "guarded": "TRUNCATE guarded; CALL fill('guarded', false)",
    "ruled": "TRUNCATE ruled_rows; CALL fill('ruled_rows', false)",
    "placed": "DROP SCHEMA near, far CASCADE; CREATE SCHEMA near; CREATE SCHEMA far;"
    " CREATE TABLE near.placed (LIKE clouds); CALL fill('near.placed', false);"
    " CREATE TABLE far.placed (LIKE clouds); CALL fill('far.placed', true);"
    " CREATE DOMAIN near.measure AS float8; CREATE DOMAIN far.measure AS float4",
}
