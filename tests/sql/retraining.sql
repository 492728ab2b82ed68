-- Training again under a name: settings that are not given are those of the deployed version, and a worse version is not deployed.
\set SHOW_CONTEXT never
\set VERBOSITY terse
CREATE SCHEMA retraining;
SET search_path = retraining, public;
SET client_min_messages = warning;
-- what the newest version was given
CREATE FUNCTION given(model text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT v.given FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = $1 ORDER BY v.version DESC LIMIT 1
$$;
CREATE VIEW versions AS
SELECT name, version, deployed, feature_columns, nulls, loss, c, class_weight, weight_column, probabilities, key_column, options FROM svm_versions;
CREATE TABLE points AS
SELECT id, CASE WHEN id % 50 > 0 THEN x END AS x, y, z, 1 + id % 2 AS times, 1.5 * y + 1.2 * z > 1.35 AS label
FROM (SELECT id, id * 7919 % 1000 / 1000.0 AS x, id * 104729 % 997 / 997.0 AS y, id * 7927 % 991 / 991.0 AS z FROM generate_series(1, 400) AS id) AS drawn;

-- all of it, once given, goes on; also through a version that gave none of it
SELECT svm_train('points', 'label', '{x,y}', 'm', c => 0.5, loss => 'hinge', nulls => 'zero', weight => 'times', class_weight => 'balanced',
    probability => true, key => 'id', options => '{"folds": 3, "hash_bits": 10, "deploy": true, "compression": "off"}');
SELECT given('m');
SELECT svm_train('points', 'label', model => 'm');
SELECT svm_train('points', 'label', model => 'm', c => 1, options => '{"hash_bits": 12}');
SELECT * FROM versions ORDER BY version;
SELECT given('m');
\set VERBOSITY default
-- what cannot be taken over is told, with where it comes from
CREATE FUNCTION told(training text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE detail text;
BEGIN
    EXECUTE 'SELECT ' || training;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN NEXT SQLSTATE || ': ' || SQLERRM;
    RETURN NEXT detail;
END $$;
ALTER TABLE points RENAME y TO why;
SELECT told($$svm_train('points', 'label', model => 'm')$$);
SELECT told($$svm_train('points', 'label', model => 'm', c => -1)$$);
ALTER TABLE points RENAME why TO y;
-- by itself, and with another label, source or name nothing is taken over
SELECT svm_train('points', 'label', model => 'm', nulls => 'skip', options => '{"inherit": false}');
SELECT given('m');
SELECT svm_train('points', 'times', '{y}', model => 'm', options => '{"deploy": true}');
SELECT given('m');
CREATE TABLE others AS SELECT y, z, label FROM points;
SELECT svm_train('others', 'label', model => 'm', options => '{"deploy": true}');
SELECT given('m');
SELECT svm_train_query('SELECT y, z, label FROM others', 'label', model => 'm', c => 2, options => '{"deploy": true}');
SELECT given('m');
SELECT svm_train_query('SELECT y, z, label FROM others', 'label', model => 'm', loss => 'hinge', options => '{"deploy": true}');
SELECT given('m');
SELECT svm_train_query('SELECT y, z, label FROM others -- of another text', 'label', model => 'm', options => '{"deploy": true}');
SELECT given('m');
SELECT svm_train('others', 'label', '{z}', options => '{"inherit": true}');
SELECT svm_train('others', 'label');
SELECT name, version, feature_columns FROM versions WHERE name = 'others_label';
-- so does what weights are measured by: a gamma is one of scaled columns, or of others
SELECT svm_train('others', 'label', model => 'plain', scale => 'none', intercept => false);
SELECT svm_train('others', 'label', model => 'plain');
SELECT given('plain');
SELECT svm_train('others', 'label', model => 'plain', scale => 'standard', intercept => true);
SELECT given('plain');
-- of the deployed version, not of the newest
SELECT svm_train('others', 'label', '{y}', options => '{"deploy": false}');
SELECT svm_train('others', 'label');
SELECT svm_deploy('others_label', 3);
SELECT svm_train('others', 'label', options => '{"deploy": true}');
SELECT version, deployed, feature_columns FROM versions WHERE name = 'others_label' ORDER BY version;
-- C that was to be chosen is chosen again; what belongs to choosing goes when C is given
SELECT svm_train('others', 'label', model => 'choosing', c => NULL, options => '{"costs": [0.1, 1], "folds": 2}');
SELECT svm_train('others', 'label', model => 'choosing');
SELECT given('choosing');
SELECT svm_train('others', 'label', model => 'choosing', c => 3);
SELECT given('choosing');
SELECT svm_train('others', 'label', model => 'choosing', c => 'NaN');
SELECT version, c, options FROM versions WHERE name = 'choosing' ORDER BY version;
-- columns that are excluded now are no more of the features given then, and features given now end an exclusion
SELECT svm_train('points', 'label', '{z,y}', 'columns');
SELECT svm_train('points', 'label', model => 'columns', exclude => '{y}');
SELECT svm_train('points', 'label', '{z,y}', 'columns');
SELECT version, feature_columns FROM versions WHERE name = 'columns' ORDER BY version;
SELECT given('columns');
-- follow-ups hand on what was given, and take what they always took
SELECT svm_train('points', 'label', '{z,y}', 'following', key => 'id', c => NULL, options => '{"costs": [0.5, 1]}');
SELECT svm_refresh('following');
SELECT given('following');
SELECT svm_train('points', 'label', model => 'following');
SELECT given('following');
-- versions of 0.2.0 recorded nothing: of them the loss counts, and what is no default
SELECT svm_train('points', 'label', '{y,z}', 'old', c => 1, key => 'id', nulls => 'skip', class_weight => '{"true": 2}');
UPDATE svm_version SET given = NULL, source_relation = NULL, loss = 'hinge' WHERE id = svm_internal.svm_version_id('old');
SELECT svm_train('points', 'label', model => 'old');
SELECT given('old');
SELECT svm_train('others', 'label', model => 'plain');
UPDATE svm_version SET given = NULL WHERE id = svm_internal.svm_version_id('plain');
SELECT svm_train('others', 'label', model => 'plain');
SELECT given('plain');
-- imported ones neither
SELECT svm_import('came', svm_export('old', format => 'pgsvm'));
SELECT svm_train('others', 'label', model => 'came', options => '{"deploy": true}');
SELECT given('came');
-- what is forged is a training's arguments like any other
UPDATE svm_version SET given = '{"c": "a", "features": [1, null], "nulls": 7, "options": [1], "key": {}, "probability": "x"}' WHERE id = svm_internal.svm_version_id('plain');
SELECT told($$svm_train('others', 'label', model => 'plain')$$);
UPDATE svm_version SET given = '["c"]' WHERE id = svm_internal.svm_version_id('plain');
SELECT svm_train('others', 'label', model => 'plain');
SELECT given('plain');
SELECT svm_train('others', 'label', options => '{"inherit": "perhaps"}');
\echo :LAST_ERROR_SQLSTATE

-- A worse version is stored and not deployed, and that is told.
SELECT svm_train('others', 'label', '{y}', 'good', tolerance => 0.01);
SELECT svm_train('others', 'label', model => 'good', max_passes => 1, tolerance => 1e-9);
SELECT svm_train('others', 'label', model => 'good', c => 1e-9);
SELECT svm_train_query('SELECT x AS y, label FROM points WHERE x IS NOT NULL', 'label', model => 'good');
SELECT version, deployed FROM versions WHERE name = 'good' ORDER BY version;
SELECT svm_deploy('good', 2);
-- over one that missed its tolerance too, or by more; and whoever says so deploys any
SELECT svm_train('others', 'label', model => 'good', max_passes => 1, tolerance => 1e-9);
SELECT svm_train('others', 'label', model => 'good', c => 1e-9, options => '{"deploy": true}');
SELECT svm_train('others', 'label', model => 'good', c => 1e-10);
SELECT svm_train('others', 'label', model => 'good', c => 1);
SELECT version, deployed FROM versions WHERE name = 'good' ORDER BY version;
-- follow-ups too
CREATE TABLE moving AS SELECT i AS id, i AS x, i > 50 AS label FROM generate_series(1, 100) AS i;
SELECT svm_train('moving', 'label', '{x}', 'moving', key => 'id');
UPDATE moving SET label = id % 2 = 0;
SELECT svm_refresh('moving');
SELECT svm_refresh('moving', '{"deploy": true}');
SELECT version, deployed FROM versions WHERE name = 'moving' ORDER BY version;

-- If it is better on rows held out.
CREATE TABLE held_out AS SELECT * FROM others WHERE y > 0.2;
SELECT svm_train('others', 'label', '{z}', 'compared');
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "held_out", "metric": "auc"}');
SELECT svm_train('others', 'label', '{z}', 'compared', options => '{"deploy": "if_better", "relation": "held_out", "metric": "accuracy"}');
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "retraining.held_out", "metric": "f1"}');
SELECT svm_train('others', 'label', '{y,z}', 'compared', probability => true, options => '{"deploy": "if_better", "relation": "held_out", "metric": "log_loss"}');
SELECT version, deployed, options FROM versions WHERE name = 'compared' ORDER BY version;
-- the first is deployed in any case
SELECT svm_train('others', 'label', '{y}', 'first', options => '{"deploy": "if_better", "relation": "held_out", "metric": "accuracy"}');
-- also of follow-ups
SELECT svm_train('moving', 'label', '{x}', 'following too', key => 'id', solver => 'stream');
CREATE TABLE later AS SELECT id, x, id > 50 AS label FROM moving;
UPDATE moving SET label = id > 50;
SELECT svm_refresh('following too', '{"deploy": "if_better", "relation": "later", "metric": "balanced_accuracy"}');
SELECT version, deployed, options FROM versions WHERE name = 'following too' ORDER BY version;
-- told before the training begins
SELECT svm_refresh('following too', '{"deploy": "if_better", "relation": "nowhere", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh('following too', '{"metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "held_out"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": true, "relation": "held_out"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "held_out", "metric": "speed"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "perhaps"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', probability => false, options => '{"deploy": "if_better", "relation": "held_out", "metric": "log_loss"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "nowhere", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'new', options => '{"deploy": "if_better", "relation": "nowhere", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "a.b.c.d", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('others', 'label', '{y}', 'compared', options => '{"deploy": "if_better", "relation": "moving", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE

-- a metric by which C was chosen chooses it again, unless C is given
SELECT svm_train('others', 'label', '{y}', 'by metric', metric => 'auc', options => '{"folds": 3, "deploy": true}');
SELECT svm_train('others', 'label', model => 'by metric', options => '{"deploy": true}');
SELECT given('by metric');
SELECT v.version, v.validation IS NOT NULL AS chosen FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'by metric' ORDER BY 1;
SELECT svm_train('others', 'label', model => 'by metric', c => 1, options => '{"deploy": true}');
SELECT given('by metric');
SELECT svm_train('others', 'label', model => 'by metric', options => '{"deploy": true}');
SELECT given('by metric');
-- with the rights of who trains
CREATE ROLE regress_svm_owner;
GRANT CREATE ON SCHEMA retraining TO regress_svm_owner;
GRANT USAGE ON SCHEMA retraining TO regress_svm_owner;
GRANT SELECT ON others TO regress_svm_owner;
SET ROLE regress_svm_owner;
SELECT svm_train('others', 'label', '{y}', 'own');
SELECT svm_train('others', 'label', '{z}', 'own', options => '{"deploy": "if_better", "relation": "held_out", "metric": "auc"}');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT model, table_name, problem FROM svm_problems;
SELECT count(svm_drop(name)) > 0 AS dropped FROM svm_models;
DROP SCHEMA retraining CASCADE;
DROP ROLE regress_svm_owner;
