-- Follow-ups that pass over rows: those that are as they were, and so far from the margin that they cannot lose anything.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DELETE FROM svm_model;

-- Two clouds, a few of whose points are on the wrong side.
CREATE FUNCTION cloud(id int, OUT label text, OUT x float4[]) LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END,
        ARRAY[(id % 1000 * 7919 % 1000) / 250.0 - 2 + 3.2 * (id % 2), (id % 1000 * 104729 % 1000) / 500.0 + id % 2, (id * 31 % 97) / 97.0]::float4[]
$$;
CREATE TABLE clouds (id int PRIMARY KEY, label text, x float4[], w float8 DEFAULT 1);
INSERT INTO clouds SELECT id, (cloud(id)).* FROM generate_series(1, 6000) AS id;

-- The primal of a model, added up here over all rows, must be the one that its certificate has.
CREATE FUNCTION certificate_covers_all_rows(model text, source text, OUT arrived boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    added_up float8;
BEGIN
    EXECUTE format('SELECT 0.5 * (SELECT sum(weight * weight) FROM svm_weights(%1$L))
        + sum(greatest(0, 1 - CASE label::text WHEN (SELECT label_values[2] FROM svm_version WHERE id = svm_internal.svm_version_id(%1$L)) THEN 1 ELSE -1 END
            * svm_decision(%1$L, x)) ^ CASE (SELECT loss FROM svm_models WHERE name = %1$L) WHEN ''hinge'' THEN 1 ELSE 2 END) FROM (%2$s) AS rows', model, source) INTO added_up;
    SELECT gap <= 1e-3, abs(primal - added_up) <= 1e-5 * primal FROM svm_models WHERE name = model INTO arrived, same;
END
$$;
-- How many rows the last version passed over, in words.
CREATE FUNCTION passed_over(model text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN passed IS NULL THEN 'none' WHEN passed > 0.3 * rows_used THEN 'most' ELSE passed || ' of ' || rows_used END
    FROM svm_versions, LATERAL (SELECT (followed ->> 'passed_over')::int) AS f (passed)
    WHERE name = model ORDER BY version DESC LIMIT 1
$$;
CREATE VIEW last_rows AS
SELECT DISTINCT ON (name) name, rows_used, followed -> 'rows' AS rows FROM svm_versions ORDER BY name, version DESC;

SELECT svm_train('clouds', 'label', '{x}', 'm', loss => 'hinge', key => 'id', scale => 'none');
SELECT * FROM certificate_covers_all_rows('m', 'SELECT * FROM clouds');
SELECT first_row, length(versions), length(leeways) FROM svm_key_leeway;
SELECT class, cardinality(centre), cardinality(spread), constant > 0 AS positive FROM svm_key_metric ORDER BY class;
SELECT dense, centre, factor, sparse_factor FROM svm_key_scaling;

-- As it is.
SELECT svm_refresh('m');
SELECT passed_over('m'), certificate_covers_all_rows('m', 'SELECT * FROM clouds');

-- A hundredth comes, goes, changes.
INSERT INTO clouds SELECT id, (cloud(id)).* FROM generate_series(6001, 6020) AS id;
DELETE FROM clouds WHERE id % 300 = 7;
UPDATE clouds SET x = (cloud(id + 2)).x WHERE id % 300 = 8;
UPDATE clouds SET label = 'odd' WHERE id % 3000 = 10;
SELECT svm_refresh('m');
SELECT passed_over('m'), certificate_covers_all_rows('m', 'SELECT * FROM clouds');
SELECT rows_used, rows FROM last_rows;
SELECT svm_train('clouds', 'label', '{x}', 'anew', loss => 'hinge', scale => 'none');
SELECT abs(m.primal - anew.primal) <= 1e-3 * anew.primal AS same_objective, m.rows_used = anew.rows_used AS same_rows,
    abs(m.training_accuracy - anew.training_accuracy) < 0.005 AS accuracy
FROM svm_models AS m, svm_models AS anew WHERE m.name = 'm' AND anew.name = 'anew';
SELECT svm_drop('anew');
-- what is stored of rows passed over is what was stored before
SELECT sum(rows) = max(rows_used) AS all_rows, sum(length(digests)) = 8 * max(rows_used) AS digests
FROM svm_key JOIN svm_version AS v ON v.id = version_id WHERE v.version = 3;

-- An update of nothing is a new version of a row, but no change.
UPDATE clouds SET w = 2 WHERE id % 100 = 3;
SELECT svm_refresh('m');
SELECT passed_over('m'), rows FROM last_rows;

-- Weights move far: the rows that they come close to are looked at again, or all of them.
INSERT INTO clouds SELECT id, label, ARRAY[x[1] + 0.8, x[2] - 0.4, x[3]] FROM (
    SELECT id, (cloud(id)).* FROM generate_series(7001, 7900) AS id) AS moved;
SELECT svm_refresh('m');
SELECT followed ? 'looked_at_again' OR NOT followed ? 'passed_over' AS looked_again FROM svm_versions
WHERE name = 'm' ORDER BY version DESC LIMIT 1;
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds');
-- so far that the training is done again
INSERT INTO clouds SELECT id, label, ARRAY[x[1] - 4, x[2] - 9, 5 * x[3]] FROM (
    SELECT id, (cloud(id)).* FROM generate_series(8001, 11000) AS id) AS moved;
SELECT svm_refresh('m');
SELECT passed_over('m'), certificate_covers_all_rows('m', 'SELECT * FROM clouds');
DELETE FROM clouds WHERE id > 6020;
SELECT svm_refresh('m');
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds');

-- Rows added and forgotten.
SELECT svm_refresh('m'), passed_over('m');
CREATE TABLE arrivals AS SELECT id, (cloud(id)).*, 1::float8 AS w FROM generate_series(6021, 6060) AS id;
SELECT svm_update('m', 'arrivals');
SELECT passed_over('m'), rows FROM last_rows;
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds UNION ALL SELECT * FROM arrivals');
INSERT INTO clouds SELECT * FROM arrivals;
SELECT svm_refresh('m');
SELECT passed_over('m'), rows FROM last_rows;
CREATE TABLE leavers AS SELECT id FROM clouds WHERE id % 50 = 0;
SELECT svm_forget('m', 'leavers');
SELECT rows FROM last_rows;
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds WHERE id % 50 <> 0');
SELECT svm_refresh('m');
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds');

-- Values that change where no row does: a column takes the name of another, a table is written anew, a label is renamed.
ALTER TABLE clouds ADD COLUMN other float4[] DEFAULT '{1,2,3}';
SELECT svm_refresh('m'), passed_over('m');
ALTER TABLE clouds RENAME x TO old;
ALTER TABLE clouds RENAME other TO x;
SELECT svm_refresh('m', '{"deploy": true}'), passed_over('m');
SELECT rows FROM last_rows;
ALTER TABLE clouds RENAME x TO other;
ALTER TABLE clouds RENAME old TO x;
ALTER TABLE clouds DROP other;
SELECT svm_refresh('m'), passed_over('m');
SELECT svm_refresh('m'), passed_over('m');
VACUUM FULL clouds;
SELECT svm_refresh('m'), passed_over('m');
SELECT rows FROM last_rows;
SELECT svm_refresh('m'), passed_over('m');
SELECT certificate_covers_all_rows('m', 'SELECT * FROM clouds');
CREATE TYPE parity AS ENUM ('even', 'odd');
CREATE TABLE by_enum AS SELECT id, label::parity, x FROM clouds;
SELECT svm_train('by_enum', 'label', '{x}', 'e', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_refresh('e'), passed_over('e');
ALTER TYPE parity RENAME VALUE 'even' TO 'uneven';
SELECT svm_refresh('e'), passed_over('e');
SELECT rows FROM last_rows WHERE name = 'e';
SELECT svm_drop('e');

-- A view that comes to mean something else; functions that are not PostgreSQL's own; a query of more than a table.
CREATE VIEW seen AS SELECT id, label, x, x AS y FROM clouds;
SELECT svm_train('seen', 'label', '{x}', 'v', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_refresh('v'), passed_over('v');
CREATE OR REPLACE VIEW seen AS SELECT id, CASE label WHEN 'even' THEN 'odd' ELSE 'even' END AS label, x, x AS y FROM clouds;
SELECT svm_refresh('v'), passed_over('v');
SELECT rows FROM last_rows WHERE name = 'v';
SELECT certificate_covers_all_rows('v', 'SELECT * FROM seen');
SELECT svm_refresh('v'), passed_over('v');
SELECT svm_drop('v');
CREATE FUNCTION shifted(x float4[]) RETURNS float4[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[x[1] + 1, x[2], x[3]]';
SELECT svm_train_query('SELECT id, label, shifted(x) AS x FROM clouds', 'label', '{x}', 'f', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_refresh('f'), passed_over('f');
SELECT svm_train_query('SELECT c.id, label, x FROM clouds AS c JOIN generate_series(1, 9000) AS n ON n = id', 'label', '{x}', 'j', loss => 'hinge',
    key => 'id', scale => 'none');
SELECT svm_refresh('j'), passed_over('j');
SELECT svm_train_query('SELECT id::text AS id, label, x FROM clouds WHERE id % 3 > 0', 'label', '{x}', 't', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_refresh('t'), passed_over('t');
SELECT svm_drop(name) FROM svm_models WHERE name <> 'm';

-- Partitions, some of which are new; several tables in one query.
CREATE TABLE parted (id bigint, label text, x float4[]) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2000);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (4000) TO (9000);
INSERT INTO parted SELECT id, label, x FROM clouds WHERE id < 2000 OR id >= 4000;
SELECT svm_train('parted', 'label', '{x}', 'p', loss => 'hinge', key => 'id', scale => 'none');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2000) TO (4000);
INSERT INTO parted SELECT id, label, x FROM clouds WHERE id >= 2000 AND id < 2040;
SELECT svm_refresh('p'), passed_over('p');
SELECT certificate_covers_all_rows('p', 'SELECT * FROM parted');

-- Numbers in columns of their own and sparse rows, squared losses, weights of rows, rows with NULL left out.
CREATE TABLE plain AS SELECT id, label, x[1] AS a, x[2]::numeric AS b, x[3] AS c, x, 1 + id % 3 AS w FROM clouds;
UPDATE plain SET a = NULL WHERE id % 700 = 0;
SELECT svm_train('plain', 'label', '{a, b, c}', 'columns', loss => 'squared_hinge', weight => 'w', nulls => 'skip', key => 'id',
    scale => 'none');
DELETE FROM plain WHERE id % 400 = 1;
SELECT svm_refresh('columns'), passed_over('columns');
SELECT rows_used, rows_skipped FROM svm_version WHERE id = svm_internal.svm_version_id('columns');
SELECT gap <= 1e-3 AS arrived FROM svm_models WHERE name = 'columns';
CREATE TABLE thin AS SELECT id, label, ARRAY[0, 1, 2 + id % 40] AS i, x AS v, '1:' || x[1] || ' 2:' || x[2] AS t FROM clouds;
SELECT svm_train('thin', 'label', '{"sparse(i, v)"}', 'thin', loss => 'hinge', key => 'id');
SELECT svm_train('thin', 'label', '{libsvm(t)}', 'text', loss => 'hinge', key => 'id');
DELETE FROM thin WHERE id % 400 = 1;
SELECT svm_refresh(name), passed_over(name), gap <= 1e-3 AS arrived FROM svm_models WHERE name IN ('thin', 'text') ORDER BY name;

-- Rows that helpers fetch.
BEGIN;
SET LOCAL pgsvm.helpers = 2;
SET LOCAL pgsvm.workers = 0;
SET LOCAL pgsvm.min_parallel_size = 0;
SELECT svm_train('thin', 'label', '{libsvm(t)}', 'text', loss => 'hinge', key => 'id');
COMMIT;
DELETE FROM thin WHERE id % 400 = 2;
SELECT svm_refresh('text'), passed_over('text');

-- Features that are scaled by what all rows are like: only where the scaling is to stay.
SELECT svm_train('clouds', 'label', '{x}', 'scaled', key => 'id');
SELECT dense, cardinality(centre), cardinality(factor) FROM svm_key_scaling JOIN svm_version AS v ON v.id = version_id
    JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'scaled';
DELETE FROM clouds WHERE id % 400 = 1;
SELECT svm_refresh('scaled', '{"deploy": false}'), passed_over('scaled');
SELECT svm_refresh('scaled', '{"keep_scaling": true}'), passed_over('scaled');
SELECT svm_train('clouds', 'label', '{x}', 'anew');
SELECT abs(m.primal - anew.primal) <= 1e-3 * anew.primal AS same_objective
FROM svm_models AS m, svm_models AS anew WHERE m.name = 'scaled' AND anew.name = 'anew';
SELECT svm_train('clouds', 'label', '{x}', 'largest', loss => 'hinge', key => 'id', scale => 'maxabs');
SELECT svm_refresh('largest', '{"keep_scaling": true}'), passed_over('largest');
SELECT svm_refresh('scaled', '{"keep_scaling": 1}');
SELECT svm_refresh('scaled', '{"keep": true}');

-- Rows that do not fit the cache, in the session and in workers; a follow-up may find room for those that it looks at.
CREATE TABLE many AS SELECT id, (cloud(id)).* FROM generate_series(1, 60000) AS id;
SET pgsvm.cache_size = '1MB';
SET pgsvm.min_parallel_size = 0;
SET pgsvm.helpers = 0;
SET pgsvm.workers = 0;
SELECT svm_train('many', 'label', '{x}', 'many', loss => 'hinge', key => 'id', scale => 'none');
DELETE FROM many WHERE id % 1000 = 1;
SELECT svm_refresh('many'), passed_over('many'), certificate_covers_all_rows('many', 'SELECT * FROM many');
SET pgsvm.workers = 1;
SELECT svm_train('many', 'label', '{x}', 'many', loss => 'hinge', key => 'id', scale => 'none');
DELETE FROM many WHERE id % 1000 = 2;
SELECT svm_refresh('many'), passed_over('many'), certificate_covers_all_rows('many', 'SELECT * FROM many');
SET pgsvm.workers = 2;
SELECT svm_train('many', 'label', '{x}', 'many', loss => 'hinge', key => 'id', scale => 'none');
SELECT sum(length(leeways)) AS leeways, sum(length(versions)) AS versions FROM svm_key_leeway WHERE version_id = svm_internal.svm_version_id('many');
DELETE FROM many WHERE id % 1000 = 3;
SELECT svm_refresh('many'), passed_over('many'), certificate_covers_all_rows('many', 'SELECT * FROM many');
SELECT svm_train('many', 'label', '{x}', 'many', loss => 'hinge', key => 'id', scale => 'none', solver => 'block');
SELECT count(*) AS leeways FROM svm_key_leeway WHERE version_id = svm_internal.svm_version_id('many');
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;
RESET pgsvm.helpers;
RESET pgsvm.workers;
SELECT svm_drop('many');

-- What has no leeways: several classes, a mean for NULL, balanced classes, categories, probabilities.
CREATE TABLE kinds AS SELECT id, label, x, CASE WHEN x[2] > 2 THEN 'third' ELSE label END AS three, label AS kind FROM clouds;
SELECT svm_train('kinds', 'three', '{x}', 'three', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_train('kinds', 'label', '{x}', 'mean', loss => 'hinge', nulls => 'mean', key => 'id', scale => 'none');
SELECT svm_train('kinds', 'label', '{x}', 'balanced', loss => 'hinge', class_weight => 'balanced', key => 'id', scale => 'none');
SELECT svm_train('kinds', 'label', '{x, three}', 'categories', loss => 'hinge', key => 'id', scale => 'none');
SELECT svm_train('kinds', 'label', '{x}', 'probabilities', loss => 'hinge', key => 'id', scale => 'none', probability => true);
SELECT m.name FROM svm_key_leeway JOIN svm_version AS v ON v.id = version_id JOIN svm_model AS m ON m.id = v.model_id
WHERE m.name IN ('three', 'mean', 'balanced', 'categories', 'probabilities');
SELECT svm_refresh(name), passed_over(name) FROM svm_models
WHERE name IN ('three', 'mean', 'balanced', 'categories', 'probabilities') ORDER BY name;
-- a class that comes
UPDATE kinds SET label = 'new' WHERE id % 500 = 2;
SELECT svm_train_query('SELECT id, label, x FROM kinds WHERE label <> ''new''', 'label', '{x}', 'two', loss => 'hinge', key => 'id', scale => 'none');
UPDATE svm_source SET query = 'SELECT id, label, x FROM kinds' WHERE version_id = svm_internal.svm_version_id('two');
SELECT svm_refresh('two'), passed_over('two');
SELECT label_values FROM svm_version WHERE id = svm_internal.svm_version_id('two');

-- Nonsense is an error.
BEGIN;
UPDATE svm_key_leeway SET versions = '\x00';
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_leeway SET first_row = 1 WHERE version_id = svm_internal.svm_version_id('m');
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_metric SET spread[1] = 0;
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_metric SET centre = '{NULL}';
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_scaling SET dense = 5, centre = '{1}';
SELECT svm_refresh('m');
ROLLBACK;
-- as of another time, or of two: nothing is passed over
BEGIN;
UPDATE svm_key_scaling SET as_of = as_of + 5000000000;
SELECT svm_refresh('m'), passed_over('m');
ROLLBACK;
BEGIN;
DELETE FROM svm_key_metric WHERE class = 'even';
SELECT svm_refresh('m'), passed_over('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_metric SET centre = '{0}', spread = '{1}';
SELECT svm_refresh('m');
ROLLBACK;

SELECT svm_drop(name) FROM svm_models ORDER BY name;
SELECT (SELECT count(*) FROM svm_key_leeway) AS leeways, (SELECT count(*) FROM svm_key_metric) AS metrics,
    (SELECT count(*) FROM svm_key_scaling) AS scalings;
DROP VIEW last_rows, seen;
DROP TABLE clouds, arrivals, leavers, by_enum, parted, plain, thin, kinds, many;
DROP FUNCTION cloud(int), certificate_covers_all_rows(text, text), passed_over(text), shifted(float4[]);
DROP TYPE parity;
