-- Rows that a follow-up passes over are those whose values cannot have changed: whatever changes what a row yields while it
-- stays where it is, or puts another row in its place, has it looked at.
\set SHOW_CONTEXT never
SET client_min_messages = error;
DELETE FROM svm_model;

-- Two clouds far from each other, and the same with those rows mirrored that lie farthest from the margin: the ones that are
-- not looked at, so that nothing else tells.
CREATE FUNCTION cloud(id int, mirrored boolean DEFAULT false, OUT label text, OUT a float8, OUT b float8) LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END,
        CASE WHEN mirrored AND id * 7919 % 1000 / 500 = id % 2 THEN -1 ELSE 1 END * ((id * 7919 % 1000) / 500.0 - 4.2 + 6.4 * (id % 2)), (id * 104729 % 1000) / 500.0
$$;
CREATE PROCEDURE fill(target text, mirrored boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %s (id, label, a, b) SELECT id, (cloud(id, %L)).* FROM generate_series(1, 600) AS id', target, mirrored);
END
$$;
-- Follows the model and says how many rows were passed over, and whether its certificate and accuracy are true: added up over
-- the rows of its source as they are now.
CREATE FUNCTION followed(model text, source text, OUT passed text, OUT holds boolean, OUT accuracy_holds boolean) LANGUAGE plpgsql AS $$
DECLARE
    added_up float8;
    share_right float8;
    version svm_versions%ROWTYPE;
BEGIN
    PERFORM svm_refresh(model, '{"deploy": true}');
    SELECT * INTO version FROM svm_versions WHERE name = model ORDER BY svm_versions.version DESC LIMIT 1;
    EXECUTE format('SELECT 0.5 * coalesce((SELECT sum(weight * weight) FROM svm_weights(%1$L)), 0) + sum(greatest(0, 1 - y * d) ^ (SELECT CASE loss WHEN ''hinge'' THEN 1 ELSE 2 END FROM svm_version WHERE id = svm_internal.svm_version_id(%1$L))),
        avg((CASE WHEN d >= 0 THEN 1 ELSE -1 END = y)::int)
        FROM (SELECT CASE label::text WHEN (SELECT label_values[2] FROM svm_version WHERE id = svm_internal.svm_version_id(%1$L)) THEN 1 ELSE -1 END AS y,
            svm_decision(%1$L, rows) AS d FROM (%2$s) AS rows) AS decided', model, source) INTO added_up, share_right;
    passed := CASE WHEN version.followed ->> 'passed_over' IS NULL THEN 'none'
        WHEN (version.followed ->> 'passed_over')::int > 0.3 * version.rows_used THEN 'most'
        ELSE (version.followed ->> 'passed_over') || ' of ' || version.rows_used END;
    -- the primal counts what the rounding of rows to 32 bits may change
    SELECT primal / added_up BETWEEN 1 - 1e-6 AND 1 + 1e-4, abs(training_accuracy - share_right) < 1e-9 FROM svm_models WHERE name = model
        INTO holds, accuracy_holds;
END
$$;

CREATE TABLE clouds (id bigint PRIMARY KEY, label text, a float8, b float8);
CALL fill('clouds', false);
SELECT svm_train('clouds', 'label', '{a, b}', 'm', loss => 'hinge', key => 'id', scale => 'none');
SELECT * FROM followed('m', 'TABLE clouds');

-- A table emptied in the transaction that made it or gave it a new file, and filled again by that transaction.
BEGIN;
CREATE TABLE young (LIKE clouds);
CALL fill('young', false);
SELECT svm_train('young', 'label', '{a, b}', 'young', loss => 'hinge', key => 'id', scale => 'none');
TRUNCATE young;
CALL fill('young', true);
SELECT * FROM followed('young', 'TABLE young');
COMMIT;
SELECT * FROM followed('young', 'TABLE young');
SELECT * FROM followed('young', 'TABLE young');
BEGIN;
SAVEPOINT s;
TRUNCATE young;
CALL fill('young', false);
SELECT svm_train('young', 'label', '{a, b}', 'young', loss => 'hinge', key => 'id', scale => 'none');
TRUNCATE young;
CALL fill('young', true);
SELECT * FROM followed('young', 'TABLE young');
RELEASE s;
COMMIT;
SELECT * FROM followed('young', 'TABLE young');
BEGIN;
TRUNCATE young;
CALL fill('young', false);
SELECT svm_train('young', 'label', '{a, b}', 'young', loss => 'hinge', key => 'id', scale => 'none');
TRUNCATE young;
CALL fill('young', true);
COMMIT;
SELECT * FROM followed('young', 'TABLE young');
-- rows frozen as they come
COPY clouds TO PROGRAM 'cat > origins.copy';
BEGIN;
TRUNCATE young;
COPY young FROM PROGRAM 'cat origins.copy' WITH (FREEZE);
SELECT svm_train('young', 'label', '{a, b}', 'young', loss => 'hinge', key => 'id', scale => 'none');
TRUNCATE young;
CALL fill('young', true);
COMMIT;
SELECT * FROM followed('young', 'TABLE young');
BEGIN;
TRUNCATE young;
COPY young FROM PROGRAM 'cat origins.copy; rm origins.copy' WITH (FREEZE);
COMMIT;
SELECT * FROM followed('young', 'TABLE young');
SELECT * FROM followed('young', 'TABLE young');
-- emptied as each transaction ends
CREATE TEMPORARY TABLE passing (LIKE clouds) ON COMMIT DELETE ROWS;
BEGIN;
CALL fill('passing', false);
SELECT svm_train('passing', 'label', '{a, b}', 'passing', key => 'id', scale => 'none');
COMMIT;
BEGIN;
CALL fill('passing', true);
SELECT * FROM followed('passing', 'TABLE passing');
COMMIT;
DROP TABLE passing;

-- The rows of a transaction that goes on are looked at; once it has ended they are not.
BEGIN;
UPDATE clouds SET b = b WHERE id <= 20;
SELECT * FROM followed('m', 'TABLE clouds');
COMMIT;
SELECT followed -> 'rows' AS rows FROM svm_versions WHERE name = 'm' ORDER BY version DESC LIMIT 1;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');

-- Freezing changes nothing; a new file, or any other row of the table in pg_class, has the rows looked at once.
VACUUM (FREEZE, ANALYZE) clouds;
SELECT * FROM followed('m', 'TABLE clouds');
CREATE INDEX ON clouds (a);
SELECT * FROM followed('m', 'TABLE clouds');
CLUSTER clouds USING clouds_a_idx;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');
GRANT SELECT ON clouds TO PUBLIC;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');
ALTER TABLE clouds ALTER b TYPE float4;
ALTER TABLE clouds ALTER b TYPE float8;
SELECT * FROM followed('m', 'TABLE clouds');

-- Collations: a view's and a column's, to one in which É has a lower case where the server knows one.
SELECT coalesce((SELECT quote_ident(collname) FROM pg_collation WHERE collname IN ('und-x-icu', 'pg_c_utf8') ORDER BY collname DESC LIMIT 1),
    '"POSIX"') AS other_collation \gset
CREATE TABLE words AS SELECT id, label, a AS b, CASE WHEN abs(a) > 3.2 THEN U&'\00C9' ELSE 'x' END COLLATE "C" AS word FROM clouds;
CREATE VIEW worded AS SELECT id, label, ascii(lower(word COLLATE "C")) AS a, b FROM words;
SELECT svm_train('worded', 'label', '{a, b}', 'view', key => 'id', scale => 'none');
SELECT passed = 'none' OR holds AS holds FROM followed('view', 'TABLE worded');
SELECT * FROM followed('view', 'TABLE worded');
\set ECHO none
CREATE OR REPLACE VIEW worded AS SELECT id, label, ascii(lower(word COLLATE :other_collation)) AS a, b FROM words;
\set ECHO all
SELECT * FROM followed('view', 'TABLE worded');
DROP VIEW worded;
SELECT svm_train_query('SELECT id, label, ascii(lower(word)) AS a, b FROM words', 'label', '{a, b}', 'words', key => 'id', scale => 'none');
SELECT * FROM followed('words', 'SELECT label, ascii(lower(word)) AS a, b FROM words');
\set ECHO none
ALTER TABLE words ALTER word TYPE text COLLATE :other_collation;
\set ECHO all
SELECT * FROM followed('words', 'SELECT label, ascii(lower(word)) AS a, b FROM words');
-- the plain column may change its collation: it is looked at once
CREATE TABLE texts AS SELECT id, label, '1:' || a || ' 2:' || b AS t FROM clouds;
SELECT svm_train('texts', 'label', '{libsvm(t)}', 'texts', key => 'id');
SELECT * FROM followed('texts', 'TABLE texts');
ALTER TABLE texts ALTER t TYPE text COLLATE "C";
SELECT * FROM followed('texts', 'TABLE texts');
SELECT * FROM followed('texts', 'TABLE texts');

-- Functions that are replaced, and what they call; those that become the plain column of a table as well.
CREATE FUNCTION inner_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
CREATE FUNCTION outer_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN inner_one(x); END';
CREATE FUNCTION first_of(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE VIEW made AS SELECT id, label, outer_one(a) AS a, b FROM clouds;
CREATE VIEW chosen AS SELECT id, label, first_of(a, b) AS a, b FROM clouds;
SELECT svm_train('made', 'label', '{a, b}', 'made', key => 'id', scale => 'none');
SELECT svm_train('chosen', 'label', '{a, b}', 'chosen', key => 'id', scale => 'none');
SELECT * FROM followed('made', 'TABLE made');
SELECT * FROM followed('chosen', 'TABLE chosen');
CREATE OR REPLACE FUNCTION inner_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN CASE WHEN abs(x) > 3.2 THEN -x ELSE x END; END';
CREATE OR REPLACE FUNCTION first_of(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT -y';
SELECT * FROM followed('made', 'TABLE made');
SELECT * FROM followed('chosen', 'TABLE chosen');
CREATE OR REPLACE FUNCTION first_of(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT y';
SELECT * FROM followed('chosen', 'TABLE chosen');
CREATE OR REPLACE FUNCTION first_of(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x';
SELECT * FROM followed('chosen', 'TABLE chosen');
DROP VIEW made, chosen;

-- Operators, casts, domains.
CREATE FUNCTION sum_of(x float8, y float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x + y; END';
CREATE OPERATOR <+> (LEFTARG = float8, RIGHTARG = float8, FUNCTION = sum_of);
CREATE TYPE pair AS (x float8, y float8);
CREATE FUNCTION first_of(pair) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1.x; END';
CREATE CAST (pair AS float8) WITH FUNCTION first_of(pair);
CREATE DOMAIN small AS float8 CHECK (VALUE < 100);
CREATE VIEW mixed AS SELECT id, label, a <+> 0 AS a, row(a, b)::pair::float8 AS b FROM clouds;
CREATE VIEW domains AS SELECT id, label, a::small AS a, b FROM clouds;
SELECT svm_train('mixed', 'label', '{a, b}', 'mixed', key => 'id', scale => 'none');
SELECT svm_train('domains', 'label', '{a, b}', 'domains', key => 'id', scale => 'none');
CREATE OR REPLACE FUNCTION sum_of(x float8, y float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN CASE WHEN abs(x) > 3.2 THEN -x ELSE x END + y; END';
CREATE OR REPLACE FUNCTION first_of(pair) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN -$1.x; END';
SELECT * FROM followed('mixed', 'TABLE mixed');
SELECT * FROM followed('domains', 'TABLE domains');
DROP VIEW mixed, domains;

-- Numbers of numbers are PostgreSQL's own: casts, that is. Everything that a setting has a part in is looked at.
CREATE TABLE numbers AS SELECT id, label, a::numeric AS a, (100 * b)::int AS b, '2020-01-01'::timestamptz + b * interval '1 s' AS at FROM clouds;
CREATE VIEW casts AS SELECT id, label, a::float4 AS a, (b::float8)::numeric AS b FROM numbers;
CREATE VIEW settings AS SELECT id, label, (a::float8::text)::float8 AS a, extract(day FROM at::date) AS b, at::text::timestamp AS at FROM numbers;
SELECT svm_train('casts', 'label', '{a, b}', 'casts', key => 'id', scale => 'none');
SELECT * FROM followed('casts', 'TABLE casts');
SELECT svm_train('settings', 'label', '{a, b}', 'settings', key => 'id', scale => 'none');
SET timezone = 'Pacific/Apia';
SET extra_float_digits = -14;
SELECT * FROM followed('settings', 'TABLE settings');
RESET timezone;
RESET extra_float_digits;
-- PostgreSQL's own function in other words
BEGIN;
CREATE OR REPLACE FUNCTION pg_catalog.float4(numeric) RETURNS float4 LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'numeric_float4';
SELECT * FROM followed('casts', 'TABLE casts');
ROLLBACK;
SELECT * FROM followed('casts', 'TABLE casts');
DROP VIEW casts, settings;

-- What stands for a column in rows from before it was added; columns that are generated.
ALTER TABLE clouds ADD c float8 DEFAULT 1;
SELECT svm_train('clouds', 'label', '{a, c}', 'added', key => 'id', scale => 'none');
SELECT * FROM followed('added', 'TABLE clouds');
UPDATE pg_attribute SET attmissingval = (SELECT attmissingval FROM pg_attribute WHERE attrelid = 'clouds'::regclass AND attname = 'c')
    WHERE attrelid = 'clouds'::regclass AND attname = 'c';
SELECT * FROM followed('added', 'TABLE clouds');
SELECT * FROM followed('added', 'TABLE clouds');
ALTER TABLE clouds ADD d float8 GENERATED ALWAYS AS (a + b) STORED;
SELECT svm_train('clouds', 'label', '{a, d}', 'generated', key => 'id', scale => 'none');
SELECT * FROM followed('generated', 'TABLE clouds');
ALTER TABLE clouds DROP d;
ALTER TABLE clouds ADD d float8 GENERATED ALWAYS AS (b - a) STORED;
SELECT * FROM followed('generated', 'TABLE clouds');
ALTER TABLE clouds DROP c, DROP d;

-- Inheritance, partitions, names that go from table to table.
CREATE TABLE child () INHERITS (clouds);
INSERT INTO child SELECT id + 1000, label, a, b FROM clouds WHERE id <= 300;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');
CREATE TABLE adopted (b float8, label text, a float8, id bigint NOT NULL);
INSERT INTO adopted SELECT a, label, b, id + 1000 FROM ONLY clouds WHERE id <= 300;
ALTER TABLE child NO INHERIT clouds;
ALTER TABLE adopted INHERIT clouds;
SELECT * FROM followed('m', 'TABLE clouds');
ALTER TABLE adopted NO INHERIT clouds;
CREATE TABLE other (LIKE clouds);
CALL fill('other', true);
SELECT svm_train('clouds', 'label', '{a, b}', 'm', loss => 'hinge', key => 'id', scale => 'none');
ALTER TABLE clouds RENAME TO former;
ALTER TABLE other RENAME TO clouds;
SELECT * FROM followed('m', 'TABLE clouds');
ALTER TABLE clouds RENAME TO other;
ALTER TABLE former RENAME TO clouds;
SELECT * FROM followed('m', 'TABLE clouds');

-- Catalogs, of which some rows change in place.
SELECT svm_train_query($$SELECT oid::int8 AS id, relkind = 'r' AS label, reltuples AS a FROM pg_class WHERE relkind IN ('r', 'i')$$,
    'label', '{a}', 'catalog', key => 'id', scale => 'none');
SELECT bool_and(encode(versions, 'hex') ~ '^0+$') AS without_origins FROM svm_key_leeway WHERE version_id = svm_internal.svm_version_id('catalog');

-- What is known of rows is about this cluster and this database: it is in no dump and no publication, and where it comes by
-- other ways nothing is believed.
SELECT c.relname, relpersistence, c.oid = ANY (extconfig) AS dumped FROM pg_class AS c, pg_extension
WHERE extname = 'pgsvm' AND relname IN ('svm_key_leeway', 'svm_key_scaling', 'svm_key_metric', 'svm_key') ORDER BY relname;
CREATE PUBLICATION models FOR TABLE svm_key_leeway;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM followed('m', 'TABLE clouds');
UPDATE svm_key_scaling SET dense = dense;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');
CREATE TEMPORARY TABLE moved AS SELECT * FROM svm_key_scaling;
DELETE FROM svm_key_scaling;
INSERT INTO svm_key_scaling SELECT * FROM moved;
SELECT * FROM followed('m', 'TABLE clouds');
-- a crash or a promotion empties all three
TRUNCATE svm_key_scaling, svm_key_metric, svm_key_leeway;
SELECT * FROM followed('m', 'TABLE clouds');
SELECT * FROM followed('m', 'TABLE clouds');

SELECT svm_drop(name) FROM svm_models ORDER BY name;
DROP TABLE clouds, child, adopted, other, young, words, texts, numbers, moved;
DROP OPERATOR <+> (float8, float8);
DROP TYPE pair CASCADE;
DROP DOMAIN small;
DROP PROCEDURE fill;
DROP FUNCTION cloud, followed, inner_one, outer_one, first_of(float8, float8), sum_of;
