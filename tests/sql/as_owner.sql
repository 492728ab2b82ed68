-- svm_refresh, svm_update and svm_forget read a model's source with its owner's rights, whoever calls, and what the call
-- names with the caller's.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.min_parallel_size = 0;
DELETE FROM svm_model;
CREATE ROLE regress_svm_owner;
CREATE ROLE regress_svm_member IN ROLE regress_svm_owner;
CREATE ROLE regress_svm_other;
CREATE ROLE regress_svm_bypass BYPASSRLS;
GRANT CREATE ON SCHEMA public TO regress_svm_owner, regress_svm_member, regress_svm_other;

-- who ran what, and how
CREATE TABLE witness (what text, who name, restricted boolean, path text);
GRANT INSERT ON witness TO PUBLIC;
CREATE FUNCTION saw(what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    restricted boolean := false;
BEGIN
    BEGIN
        EXECUTE 'CREATE TEMPORARY TABLE probe ()';
        DROP TABLE probe;
    EXCEPTION WHEN insufficient_privilege THEN
        restricted := true;
    END;
    INSERT INTO public.witness VALUES (what, current_user, restricted, current_setting('search_path'));
    IF restricted THEN
        PERFORM set_config('search_path', 'nowhere', false), set_config('work_mem', '64kB', false);
    END IF;
    RETURN true;
END $$;
CREATE FUNCTION witnesses() RETURNS SETOF witness LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM public.witness RETURNING *)
    SELECT DISTINCT * FROM gone ORDER BY 1, 2, 3, 4
$$;

CREATE SCHEMA AUTHORIZATION regress_svm_owner;
SET ROLE regress_svm_owner;
SET search_path = regress_svm_owner, public;
CREATE TABLE own AS SELECT i AS id, i AS x, i > 20 AS y FROM generate_series(1, 40) AS i;
CREATE VIEW own_view AS SELECT id, x, y FROM own WHERE saw('view of the source');
SELECT svm_train('own_view', 'y', ARRAY['x'], 'm', key => 'id');
SELECT svm_train_query('SELECT * FROM own WHERE saw(''query'')', 'y', ARRAY['x'], 'q', key => 'id');
RESET search_path;
RESET ROLE;
DELETE FROM witness;
-- what is stored: where names are looked up, and what they are
SELECT name, v.search_path, source_reads FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id ORDER BY name;

-- a superuser, a member and the owner: the same
SET work_mem = '5MB';
SET search_path = public;
SELECT svm_refresh('m'), svm_refresh('q');
SELECT * FROM witnesses();
SHOW search_path;
SHOW work_mem;
SET ROLE regress_svm_member;
SELECT svm_refresh('m'), svm_refresh('q');
RESET ROLE;
SELECT * FROM witnesses();
SET ROLE regress_svm_owner;
SELECT svm_refresh('m'), svm_refresh('q');
RESET ROLE;
SELECT * FROM witnesses();
SHOW search_path;
-- processes that fetch rows for it too: to anybody else the table has none
SET ROLE regress_svm_owner;
CREATE TABLE regress_svm_owner.wide AS
SELECT i AS id, i AS x, i > 2000 AS y, repeat('x', 1000) AS filler FROM generate_series(1, 4000) AS i;
ALTER TABLE regress_svm_owner.wide ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owners_only ON regress_svm_owner.wide USING (current_user = 'regress_svm_owner');
SELECT svm_train('regress_svm_owner.wide', 'y', ARRAY['x'], 'wide', key => 'id');
SET ROLE regress_svm_member;
SET pgsvm.helpers = 2;
SELECT svm_refresh('wide');
RESET ROLE;
SELECT svm_refresh('wide');
RESET pgsvm.helpers;
SELECT version, rows_used FROM svm_versions WHERE name = 'wide' ORDER BY version;
SELECT svm_drop('wide');

-- rows and keys that the call names: the caller's
CREATE TABLE given AS SELECT 100 + i AS id, i * 3 AS x, i > 7 AS y FROM generate_series(1, 14) AS i;
CREATE VIEW given_view AS SELECT * FROM given WHERE saw('rows given');
SELECT svm_update('m', 'given_view');
SELECT * FROM witnesses();
SELECT rows_used, followed FROM svm_versions WHERE name = 'm' AND deployed;
SELECT svm_update_query('q', 'SELECT * FROM given WHERE saw(''query given'')');
SELECT * FROM witnesses();
SET ROLE regress_svm_owner;
-- the owner may not read what a superuser may
SELECT svm_update('m', 'given_view');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_forget('m', 'given_view');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
-- nor a member what the owner may, but by the model
SET ROLE regress_svm_other;
SELECT svm_refresh('m');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE others (id int, x int, y boolean);
INSERT INTO others VALUES (201, 1, false);
RESET ROLE;
SET ROLE regress_svm_member;
SELECT svm_update('m', 'others');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SET search_path = public;
INSERT INTO regress_svm_owner.own SELECT * FROM given;
SELECT svm_refresh('m');
SELECT * FROM witnesses();
SELECT svm_forget_query('m', 'SELECT id FROM given WHERE id < 105 AND saw(''keys given'')');
SELECT * FROM witnesses();
SELECT rows_used, followed -> 'rows' AS rows FROM svm_versions WHERE name = 'm' AND deployed;
-- types of rows given are those of the source
SELECT svm_update_query('m', 'SELECT 300 AS id, 1::bigint AS x, true AS y');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_update_query('m', 'SELECT 300 AS id, 1 AS x, 1 AS y');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_update_query('m', 'SELECT ''300'' AS id, 1 AS x, true AS y');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_update_query('m', 'SELECT 300 AS id, true AS y');
\echo :LAST_ERROR_SQLSTATE
-- memory beyond its limit is a temporary file, which has a limit too
-- (its message is PostgreSQL's own, and differs from version to version)
SET temp_file_limit = '1MB';
\set VERBOSITY sqlstate
SELECT svm_update_query('m', 'SELECT 1000 + i AS id, i AS x, i > 7 AS y FROM generate_series(1, 300000) AS i');
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
RESET temp_file_limit;

-- a role with BYPASSRLS sees all models, and has no owner's source read
SET ROLE regress_svm_bypass;
SELECT svm_refresh('m');
\echo :LAST_ERROR_SQLSTATE
-- nor does it put a source into another's model: by itself, by a training, or by a model of its own that it gives away
\set mine 'SELECT i AS id, i AS x, i > 20 AS y FROM generate_series(1, 40) AS i'
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver,
        intercept_used, intercept, feature_count, options, key_column, key_type, source_query)
    SELECT model_id, 1000, features, label_column, label_type, label_values, nulls, loss, scale, solver,
        intercept_used, intercept, feature_count, options, key_column, key_type,
        'SELECT i AS id, i AS x, saw(''inserted'') AS y FROM generate_series(1, 40) AS i'
    FROM svm_version JOIN svm_model ON svm_model.id = model_id AND version = current_version WHERE name = 'm';
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver,
        intercept_used, intercept, feature_count, key_column, source_relation)
    VALUES (1, 1, '[]', 'y', 'boolean', '{f,t}', 'error', 'hinge', 'none', 'auto', true, 0, 1, 'id', 'public.nothing');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_source (version_id, query)
    SELECT id, 'SELECT i AS id, i AS x, saw(''inserted'') AS y FROM generate_series(1, 40) AS i'
    FROM svm_version WHERE id = svm_internal.svm_version_id('m');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_source (version_id, query) VALUES (1, 'SELECT saw(''inserted'')');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver,
        intercept_used, intercept, feature_count, key_column, key_type)
    SELECT model_id, 1000, features, label_column, label_type, label_values, nulls, loss, scale, solver,
        intercept_used, intercept, feature_count, key_column, key_type
    FROM svm_version WHERE id = svm_internal.svm_version_id('m');
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_source SET query = 'SELECT 1';
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query(:'mine', 'y', model => 'm', key => 'id');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query(:'mine', 'y', model => 'gift', key => 'id');
UPDATE svm_model SET owner = 'regress_svm_owner' WHERE name = 'gift';
\echo :LAST_ERROR_SQLSTATE
-- of one that it trained without a key the source is not read again
SELECT svm_drop('gift');
SELECT svm_train_query(:'mine', 'y', model => 'gift', features => '{x}');
UPDATE svm_model SET owner = 'regress_svm_owner' WHERE name = 'gift';
SELECT svm_train_query(:'mine', 'y', model => 'gift', features => '{x}');
SELECT name, owner FROM svm_models WHERE name = 'gift';
RESET ROLE;
SELECT svm_refresh('gift');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop('gift');
-- and what got in all the same is told: the version has not got so many
INSERT INTO svm_source (version_id, query) VALUES (svm_internal.svm_version_id('m'), 'SELECT i AS id, i AS x, saw(''inserted'') AS y FROM generate_series(1, 40) AS i');
SELECT svm_refresh('m');
\echo :LAST_ERROR_SQLSTATE
DELETE FROM svm_source WHERE version_id = svm_internal.svm_version_id('m');
SELECT * FROM witnesses();
DELETE FROM witness;

-- a table that was replaced, or is another role's now
ALTER TABLE regress_svm_owner.own RENAME TO own_before;
CREATE VIEW regress_svm_owner.own AS SELECT * FROM regress_svm_owner.own_before WHERE saw('replaced');
GRANT SELECT ON regress_svm_owner.own TO regress_svm_owner;
SELECT svm_refresh('q');
\echo :LAST_ERROR_SQLSTATE
DROP VIEW regress_svm_owner.own;
CREATE TABLE regress_svm_owner.own AS SELECT * FROM regress_svm_owner.own_before;
GRANT SELECT ON regress_svm_owner.own TO regress_svm_owner;
SELECT svm_refresh('q');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE regress_svm_owner.own OWNER TO regress_svm_owner;
SELECT svm_refresh('q');
-- a name that is found elsewhere now
DROP TABLE regress_svm_owner.own;
SET ROLE regress_svm_other;
CREATE TABLE public.own AS SELECT i AS id, i AS x, i > 20 AS y FROM generate_series(1, 40) AS i;
GRANT SELECT ON public.own TO regress_svm_owner;
RESET ROLE;
SELECT svm_refresh('q');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE public.own;
ALTER TABLE regress_svm_owner.own_before RENAME TO own;
-- nor is it taken from the caller's temporary ones
CREATE TEMPORARY VIEW own AS SELECT 1 AS id, 1 AS x, saw('temporary') AS y;
SELECT svm_refresh('q');
DROP VIEW pg_temp.own;
SELECT count(*) FROM witness WHERE what = 'temporary' OR what = 'replaced';

-- a version of 0.2.0 does not say where names are to be looked up: the owner's session does
UPDATE svm_version SET search_path = NULL, source_reads = NULL;
SELECT svm_refresh('q');
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_svm_owner;
SET search_path = regress_svm_owner, public;
SELECT svm_refresh('q');
RESET search_path;
RESET ROLE;
DELETE FROM witness;
SELECT svm_refresh('q');
SELECT * FROM witnesses();

-- a model whose owner is gone
CREATE ROLE regress_svm_gone;
UPDATE svm_model SET owner = 'regress_svm_gone' WHERE name = 'q';
DROP ROLE regress_svm_gone;
SELECT svm_refresh('q');
\echo :LAST_ERROR_SQLSTATE

SELECT svm_drop(name) FROM svm_model ORDER BY name;
DROP VIEW given_view;
DROP TABLE given;
DROP OWNED BY regress_svm_owner, regress_svm_member, regress_svm_other CASCADE;
DROP TABLE witness CASCADE;
DROP FUNCTION saw;
DROP ROLE regress_svm_member, regress_svm_owner, regress_svm_other, regress_svm_bypass;
