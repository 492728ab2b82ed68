-- Where a version came from, tables of one name in different schemas, and old versions removed.
CREATE EXTENSION IF NOT EXISTS pgsvm;
SET client_min_messages = warning;
CREATE SCHEMA regress_svm_a;
CREATE SCHEMA regress_svm_b;
CREATE TABLE regress_svm_a.t AS SELECT i AS x, i > 10 AS y FROM generate_series(1, 20) AS i;
CREATE TABLE regress_svm_b.t AS SELECT -i AS x, i > 10 AS y FROM generate_series(1, 20) AS i;
SELECT svm_train('regress_svm_a.t', 'y');
SELECT svm_train('regress_svm_a.t', 'y');
-- not a version of the other table's model
SELECT svm_train('regress_svm_b.t', 'y');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('regress_svm_b.t', 'y', model => 'b''s');
-- a name that is given is never refused; then the default name is that of what came last
SELECT svm_train('regress_svm_b.t', 'y', model => 't_y');
SELECT svm_train('regress_svm_b.t', 'y');
SELECT svm_train('regress_svm_a.t', 'y');
SELECT svm_train_query('SELECT x, y FROM regress_svm_a.t', 'y', model => 't_y');
SELECT svm_train('regress_svm_a.t', 'y');
-- temporary tables are the same in every session
CREATE TEMPORARY TABLE passing AS TABLE regress_svm_a.t;
SELECT svm_train('passing', 'y');
SELECT svm_train('passing', 'y');
SELECT name, version, source, feature_columns, intercept, tolerance, max_passes, seed, options, trained_by = current_user AS by_me,
    server_version = current_setting('server_version') AS here, rows_used
FROM svm_versions ORDER BY name, version;
-- one without a source matches any
UPDATE svm_version SET source_relation = NULL WHERE id = svm_internal.svm_version_id('passing_y');
CREATE TABLE regress_svm_b.passing AS TABLE regress_svm_b.t;
SELECT svm_train('regress_svm_b.passing', 'y');
-- who may use a model sees from which table, not by which query
CREATE ROLE regress_svm_user;
SELECT svm_grant('t_y', 'regress_svm_user');
SET ROLE regress_svm_user;
SELECT version, source FROM svm_versions WHERE name = 't_y' ORDER BY version;
SELECT count(*) FROM svm_source;
SELECT svm_prune('t_y');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT count(*) FROM svm_source;
-- a query as dumps of 0.2.0 bring it: it is not left where others see it
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c, scale, solver,
        intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped, passes, dual, cache_bytes, workers,
        stop_reason, key_column, key_type, source_query)
    SELECT model_id, 6, features, label_column, label_type, label_values, nulls, loss, c, scale, solver,
        intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped, passes, dual, cache_bytes, workers,
        stop_reason, 'x', 'integer', 'SELECT 1 AS old'
    FROM svm_version WHERE id = svm_internal.svm_version_id('t_y');
SELECT version, source_query, query FROM svm_version JOIN svm_source ON version_id = id ORDER BY version;
SELECT version, source FROM svm_versions WHERE name = 't_y' AND version = 6;
SELECT svm_drop('t_y', 6);
SELECT count(*) FROM svm_source;
-- nothing of the text goes with a model
SELECT svm_export('t_y', format => 'pgsvm') LIKE '%FROM regress_svm_a%' AS with_query,
    svm_export('t_y@1', format => 'pgsvm') LIKE '%regress_svm_a%' AS with_relation;

-- Versions removed: the deployed one never
SELECT svm_deploy('t_y', 2);
SELECT svm_prune('t_y', keep => 2);
SELECT version, deployed FROM svm_versions WHERE name = 't_y' ORDER BY version;
SELECT svm_prune('t_y'), svm_prune('t_y', 1);
SELECT version, deployed FROM svm_versions WHERE name = 't_y' ORDER BY version;
SELECT svm_prune('t_y', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_prune('t_y', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_prune(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_prune('nothing');
\echo :LAST_ERROR_SQLSTATE
SHOW pgsvm.keep_versions;
SET pgsvm.keep_versions = -1;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.keep_versions = 2;
SELECT svm_train('regress_svm_a.t', 'y', model => 't_y', options => '{"deploy": false}') FROM generate_series(1, 3);
SELECT version, deployed FROM svm_versions WHERE name = 't_y' ORDER BY version;
SELECT svm_train('regress_svm_a.t', 'y', model => 't_y');
SELECT version, deployed FROM svm_versions WHERE name = 't_y' ORDER BY version;
RESET pgsvm.keep_versions;
SELECT model, table_name, problem FROM svm_problems;

SELECT svm_drop(name) FROM svm_models;
SELECT count(*) FROM svm_source;
DROP SCHEMA regress_svm_a, regress_svm_b CASCADE;
DROP ROLE regress_svm_user;
