-- The life of a model: versions, svm_deploy, svm_rename, svm_drop, and what the views show.
\set SHOW_CONTEXT never
DELETE FROM svm_model;
CREATE FUNCTION put(name text, weight float8, labels text[] DEFAULT '{-1,1}') RETURNS text LANGUAGE sql AS $$
    INSERT INTO svm_model AS m (name, current_version) VALUES (put.name, 1)
    ON CONFLICT ON CONSTRAINT svm_model_name_key DO UPDATE SET current_version = m.current_version + 1;
    INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c, scale,
        solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    SELECT id, current_version, '{"parts": [{"kind": "array", "name": "x", "type": "real[]", "length": 1}]}', 'y', 'integer',
        labels, 'error', 'hinge', 1, 'none', 'stream', true, 1e-3, 0, 0.5, 1, 10, 2
    FROM svm_model m WHERE m.name = put.name;
    INSERT INTO svm_weight SELECT v.id, 0, 0, NULL, ARRAY[weight]
    FROM svm_model m JOIN svm_version v ON model_id = m.id AND version = current_version WHERE m.name = put.name
    RETURNING put.name;
$$;
SELECT put('m', 10), put('m', 20), put('m', 30), put('other', 1), put('it''s', 1);
-- of three classes, with probabilities, as heads say
SELECT put('three', 5, '{a,b,c}');
INSERT INTO svm_head (version_id, head, class, intercept, sigmoid_slope, sigmoid_offset)
SELECT id, head, ('{a,b,c}'::text[])[head + 1], 0, -1, 0
FROM svm_version, generate_series(0, 2) AS head WHERE cardinality(label_values) = 3;
SELECT name, version, deployed, rows_used, rows_skipped, features, label_column, label_type, label_values, nulls,
    scale, class_weight, weight_column, probabilities, granted_to FROM svm_versions ORDER BY name, version;
SELECT name, version, classes, probabilities, granted_to FROM svm_models ORDER BY name;
PREPARE asked AS SELECT svm_decision('m', '{1}'::real[]);
EXECUTE asked;

-- another version comes into force: for prepared statements too, and for the next training's number it is nothing
SELECT svm_deploy('m', 1);
EXECUTE asked;
SELECT svm_deploy('m', 1), svm_deploy(model => 'm', version => 2);
EXECUTE asked;
SELECT version, deployed FROM svm_versions WHERE name = 'm' ORDER BY 1;
BEGIN;
SELECT svm_deploy('m', 3);
EXECUTE asked;
ROLLBACK;
EXECUTE asked;
SELECT svm_deploy('m', 7);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_deploy('it''s', 7);
SELECT svm_deploy('nothing', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_deploy('m@1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_deploy(NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_deploy('m', NULL);
\echo :LAST_ERROR_SQLSTATE

-- a name
SELECT svm_rename('m', 'M 2');
SELECT svm_decision('M 2', '{1}'::real[]), svm_decision('M 2@1', '{1}'::real[]);
EXECUTE asked;
SELECT svm_rename('M 2', 'm'), svm_rename('m', 'm');
EXECUTE asked;
SELECT svm_decision('m', '{1,2}'::real[]);
SELECT svm_rename('m', 'n');
-- messages say the name that it has now
SELECT svm_decision('n', '{1,2}'::real[]);
SELECT svm_rename('n', 'm');
SELECT svm_rename('m', 'other');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('m', 'a@1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('m', '');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('m', repeat('x', 64));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('m', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('nothing', 'something');
\echo :LAST_ERROR_SQLSTATE

-- a version goes, but not the current one; a model goes with all it has
SELECT svm_drop('m', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop('m', 9);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop('m', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop('m', 1);
SELECT version, deployed FROM svm_versions WHERE name = 'm' ORDER BY 1;
SELECT svm_decision('m@1', '{1}'::real[]);
SELECT svm_drop('m');
EXECUTE asked;
SELECT svm_drop('m');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop(name) FROM svm_models WHERE name = 'three';
SELECT (SELECT count(*) FROM svm_model) AS models, (SELECT count(*) FROM svm_version) AS versions,
    (SELECT count(*) FROM svm_head) AS heads, (SELECT count(*) FROM svm_weight) AS weights;

-- trained models do the same
CREATE TABLE points AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i;
SET client_min_messages = warning;
SELECT svm_train('points', 'y', model => 'trained'), svm_train('points', 'y', model => 'trained', c => 10);
SELECT svm_deploy('trained', 1);
SELECT svm_train('points', 'y', model => 'trained');
RESET client_min_messages;
SELECT version, deployed, c FROM svm_versions WHERE name = 'trained' ORDER BY 1;

-- nothing changes in a read-only transaction
BEGIN READ ONLY;
SELECT svm_deploy('other', 1);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_rename('other', 'another');
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_drop('other');
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_drop('other', 1);
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_grant('other', 'public');
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_revoke('other', 'public');
ROLLBACK;

-- whatever the search path, and with operators of the caller's in front of PostgreSQL's
CREATE SCHEMA traps;
CREATE FUNCTION traps.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION traps.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION traps.never(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR traps.= (LEFTARG = text, RIGHTARG = text, FUNCTION = traps.never);
CREATE OPERATOR traps.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = traps.never);
CREATE OPERATOR traps.= (LEFTARG = int, RIGHTARG = int, FUNCTION = traps.never);
CREATE TABLE traps.svm_model (id bigint, name text, owner name, current_version int);
SET search_path = traps, pg_catalog, public;
SELECT svm_rename('other', 'elsewhere'), svm_deploy('elsewhere', 1), svm_grant('elsewhere', 'public'),
    svm_revoke('elsewhere', 'public'), svm_drop('elsewhere');
RESET search_path;

DROP SCHEMA traps CASCADE;
DROP TABLE points;
DROP FUNCTION put;
SELECT svm_drop(name) FROM svm_models ORDER BY name;

-- Models are copied to the nodes of Citus, where that is.
\set ON_ERROR_STOP off
SELECT svm_distribute_models();
\echo :LAST_ERROR_SQLSTATE
