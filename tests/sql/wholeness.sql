-- What is not whole is told as that, never used, and can be repaired.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DELETE FROM svm_model;
CREATE TABLE points AS SELECT i AS id, i AS x, i > 5 AS y, 'c' || i % 3 AS kind FROM generate_series(1, 10) AS i;
SELECT svm_train('points', 'y', ARRAY['x'], 'm', key => 'id', options => '{"duals": true}');
SELECT svm_train('points', 'kind', ARRAY['x'], 'kinds');
SELECT svm_import('imported', E'solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n0.5\n');
SELECT name, stored_rows FROM svm_version JOIN svm_model ON svm_model.id = model_id ORDER BY name;
SELECT bool_and(id > 1000000) FROM (SELECT id FROM svm_model UNION ALL SELECT id FROM svm_version) AS ids;
TABLE svm_problems;

-- rows that are missing, and rows too many
BEGIN;
DELETE FROM svm_weight;
SELECT svm_decision('m', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
DELETE FROM svm_head WHERE head = 2;
SELECT model, version, table_name, problem FROM svm_problems;
SELECT svm_classify('kinds', ARRAY[1]);
ROLLBACK;
BEGIN;
DELETE FROM svm_key;
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
DELETE FROM svm_key_dual;
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
INSERT INTO svm_weight SELECT version_id, head, 16384, features, weights FROM svm_weight WHERE version_id = svm_internal.svm_version_id('m');
UPDATE svm_version SET feature_count = 20000 WHERE id = svm_internal.svm_version_id('m');
SELECT svm_decision('m', ARRAY[1]);
ROLLBACK;
BEGIN;
DELETE FROM svm_key_dual; DELETE FROM svm_dual; DELETE FROM svm_log WHERE version_id = svm_internal.svm_version_id('m'); DELETE FROM svm_weight; DELETE FROM svm_head;
SELECT * FROM svm_problems ORDER BY model, table_name;
ROLLBACK;
-- what is said of them makes no sense
BEGIN;
UPDATE svm_version SET stored_rows = '[1]';
SELECT svm_decision('m', ARRAY[1]);
ROLLBACK;
BEGIN;
UPDATE svm_version SET stored_rows = '{"svm_head": "many", "svm_weight": -1}';
SELECT svm_decision('m', ARRAY[1]);
ROLLBACK;
-- a version of which nobody counted the rows, as dumps of 0.2.0 bring them
BEGIN;
UPDATE svm_version SET stored_rows = NULL;
SELECT svm_classify('kinds', ARRAY[1]) IS NOT NULL;
DELETE FROM svm_weight;
SELECT model, table_name, problem, remedy FROM svm_problems ORDER BY model;
SAVEPOINT one;
SELECT svm_decision('m', ARRAY[1]);
ROLLBACK TO one;
SELECT svm_decision('imported', '1:1'::text);
ROLLBACK;

-- what goes with a model and a version, also with a role that may not remove weights itself
SELECT count(*) FROM svm_weight;
SELECT svm_train('points', 'y', ARRAY['x'], 'm', key => 'id'), svm_drop('m', 1), svm_drop('kinds');
SELECT (SELECT count(*) FROM svm_version), (SELECT count(*) FROM svm_head), (SELECT count(*) FROM svm_weight), (SELECT count(*) FROM svm_dual),
    (SELECT count(*) FROM svm_key), (SELECT count(*) FROM svm_key_dual), (SELECT count(*) FROM svm_log);
BEGIN;
TRUNCATE svm_version;
SELECT (SELECT count(*) FROM svm_model), (SELECT count(*) FROM svm_head), (SELECT count(*) FROM svm_weight), (SELECT count(*) FROM svm_log);
SELECT model, version, table_name, problem FROM svm_problems ORDER BY model;
SAVEPOINT one;
SELECT svm_decision('m', ARRAY[1]);
ROLLBACK TO one;
SELECT svm_decision('m@2', ARRAY[1]);
ROLLBACK TO one;
SELECT svm_decision('m@1', ARRAY[1]);
ROLLBACK;
BEGIN;
TRUNCATE svm_model;
SELECT (SELECT count(*) FROM svm_version), (SELECT count(*) FROM svm_head), (SELECT count(*) FROM svm_weight), (SELECT count(*) FROM svm_log);
ROLLBACK;

-- rows that belong to nothing
BEGIN;
SELECT svm_grant('m', 'public');
SET LOCAL session_replication_role = replica;
DELETE FROM svm_model WHERE name = 'm';
DELETE FROM svm_version WHERE model_id IN (SELECT id FROM svm_model WHERE name = 'imported');
SET LOCAL session_replication_role = origin;
SELECT * FROM svm_problems ORDER BY table_name, version;
SELECT svm_repair();
SELECT svm_repair(remove_orphans => true);
SELECT model, table_name, problem FROM svm_problems;
SELECT svm_drop('imported');
TABLE svm_problems;
ROLLBACK;

-- triggers as pg_restore --disable-triggers leaves them
ALTER TABLE svm_model DISABLE TRIGGER ALL;
ALTER TABLE svm_model ENABLE TRIGGER ALL;
ALTER TABLE svm_weight DISABLE TRIGGER ALL;
ALTER TABLE svm_version DISABLE TRIGGER svm_version_children;
SELECT table_name, problem, remedy FROM svm_problems ORDER BY problem;
SELECT svm_deploy('m', 2);
-- once a session
SELECT svm_deploy('m', 2);
SELECT svm_repair();
TABLE svm_problems;
SELECT svm_repair(NULL);

-- a publication that lists some of the tables
SET client_min_messages = error;
CREATE PUBLICATION regress_svm_some FOR TABLE svm_model, svm_version, svm_permission, svm_head, svm_dual, svm_log, svm_key;
CREATE PUBLICATION regress_svm_all FOR ALL TABLES;
CREATE PUBLICATION regress_svm_other FOR TABLE points;
SET client_min_messages = warning;
SELECT table_name, problem, remedy FROM svm_problems WHERE table_name IN ('svm_model', 'svm_weight', 'svm_key_dual') ORDER BY table_name;
DROP PUBLICATION regress_svm_some, regress_svm_all, regress_svm_other;

-- a role of no rights
CREATE ROLE regress_svm_nobody;
SET ROLE regress_svm_nobody;
TABLE svm_problems;
SELECT svm_repair(true);
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_permission SELECT 1, current_user, current_user;
RESET ROLE;
DROP ROLE regress_svm_nobody;
BEGIN READ ONLY;
SELECT svm_repair();
ROLLBACK;
DROP TABLE points;
DELETE FROM svm_model;

-- owners that are gone: PostgreSQL lets a role go that has rows, whatever REASSIGN OWNED did
CREATE ROLE regress_svm_leaves;
CREATE ROLE regress_svm_grantee;
CREATE ROLE regress_svm_stays;
CREATE TABLE theirs AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i;
GRANT SELECT ON theirs TO regress_svm_leaves, regress_svm_stays;
SET ROLE regress_svm_leaves;
SELECT svm_train('theirs', 'y', ARRAY['x'], 'theirs'), svm_index('theirs', '{x}', 'their_index');
SELECT svm_grant('theirs', 'regress_svm_grantee');
RESET ROLE;
SELECT count(*) FROM svm_problems;
REASSIGN OWNED BY regress_svm_leaves TO regress_svm_stays;
DROP OWNED BY regress_svm_leaves, regress_svm_grantee;
DROP ROLE regress_svm_leaves, regress_svm_grantee;
SELECT model, table_name, problem, regexp_replace(remedy, 'id = \d+', 'id = …') AS remedy FROM svm_problems ORDER BY table_name;
SET ROLE regress_svm_stays;
SELECT count(*) FROM svm_problems;
SELECT svm_train('theirs', 'y', ARRAY['x'], 'theirs');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
-- what the remedies say
UPDATE svm_model SET owner = 'regress_svm_stays' WHERE name = 'theirs';
UPDATE svm_index SET owner = 'regress_svm_stays' WHERE name = 'their_index';
DELETE FROM svm_permission WHERE grantee = 'regress_svm_grantee';
SELECT count(*) FROM svm_problems;
SET ROLE regress_svm_stays;
SELECT svm_classify('theirs', ARRAY[7]), svm_train('theirs', 'y', ARRAY['x'], 'theirs', options => '{"index": "their_index"}');
SELECT svm_drop('theirs'), svm_drop_index('their_index');
RESET ROLE;
DROP TABLE theirs;
DROP ROLE regress_svm_stays;
