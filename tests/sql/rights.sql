-- Who may do what with a model: its owner, a role it was granted to, a stranger who tries everything, a superuser.
\set SHOW_CONTEXT never
DELETE FROM svm_model;
CREATE FUNCTION put(name text, weight float8) RETURNS text LANGUAGE sql AS $$
    INSERT INTO svm_model AS m (name, current_version) VALUES (put.name, 1)
    ON CONFLICT ON CONSTRAINT svm_model_name_key DO UPDATE SET current_version = m.current_version + 1;
    INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c, scale,
        solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    SELECT id, current_version, '{"parts": [{"kind": "array", "name": "x", "type": "real[]", "length": 1}]}', 'y', 'integer',
        '{-1,1}', 'error', 'hinge', 1, 'none', 'stream', true, 1e-3, 0, 0.5, 1, 10, 2
    FROM svm_model m WHERE m.name = put.name;
    INSERT INTO svm_head (version_id, head, class, intercept) SELECT v.id, 0, '1', 0.5
    FROM svm_model m JOIN svm_version v ON model_id = m.id AND version = current_version WHERE m.name = put.name;
    INSERT INTO svm_dual SELECT v.id, 0, 0, '{0}', '{1}'
    FROM svm_model m JOIN svm_version v ON model_id = m.id AND version = current_version WHERE m.name = put.name;
    INSERT INTO svm_weight SELECT v.id, 0, 0, NULL, ARRAY[weight]
    FROM svm_model m JOIN svm_version v ON model_id = m.id AND version = current_version WHERE m.name = put.name
    RETURNING put.name;
$$;
CREATE ROLE regress_svm_team;
CREATE ROLE regress_svm_owner IN ROLE regress_svm_team;
CREATE ROLE regress_svm_reader;
CREATE ROLE regress_svm_member IN ROLE regress_svm_reader;
CREATE ROLE regress_svm_outsider IN ROLE regress_svm_reader NOINHERIT;
CREATE ROLE regress_svm_stranger;
CREATE TABLE points AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i;
GRANT SELECT ON points TO PUBLIC;
CREATE SCHEMA regress_svm_strangers AUTHORIZATION regress_svm_stranger;
-- what a role sees of the models in the six tables and two views
CREATE FUNCTION sees() RETURNS text LANGUAGE sql AS $$
    SELECT format('%s: models %s, versions %s, heads %s, weights %s, duals %s, grants %s, svm_models %s, svm_versions %s',
        current_user, (SELECT count(*) FROM svm_model), (SELECT count(*) FROM svm_version), (SELECT count(*) FROM svm_head),
        (SELECT count(*) FROM svm_weight), (SELECT count(*) FROM svm_dual), (SELECT count(*) FROM svm_permission),
        (SELECT count(*) FROM svm_models), (SELECT count(*) FROM svm_versions))
$$;
SELECT put('superuser''s', 1);

SET ROLE regress_svm_owner;
SELECT put('m', 10), put('m', 20), put('n', 30);
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]);
-- nobody else, at first
SET ROLE regress_svm_reader;
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]);
\echo :LAST_ERROR_SQLSTATE

-- a grant: to the role, and to members who inherit its rights
SET ROLE regress_svm_owner;
SELECT svm_grant('m', 'regress_svm_reader'), svm_grant('m', 'regress_svm_reader');
SELECT name, granted_to FROM svm_models ORDER BY name;
SELECT sees();
SET ROLE regress_svm_reader;
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]), svm_decision('m@1', '{1}'::real[]), svm_predict('m', '{1}'::real[]), svm_classify('m', '{1}'::real[]);
SELECT name, version, owner, granted_to FROM svm_models;
SELECT name, version, deployed FROM svm_versions ORDER BY version;
SELECT svm_decision('n', '{1}'::real[]);
SET ROLE regress_svm_member;
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]);
SET ROLE regress_svm_outsider;
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]);
SET ROLE regress_svm_stranger;
SELECT sees();
SELECT svm_decision('m', '{1}'::real[]);

-- who may read may not change: by functions
SET ROLE regress_svm_reader;
SELECT svm_deploy('m', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('m', 'mine');
SELECT svm_drop('m');
SELECT svm_drop('m', 1);
SELECT svm_grant('m', 'regress_svm_stranger');
SELECT svm_revoke('m', 'regress_svm_reader');
SELECT svm_train('points', 'y', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT put('mine', 1);
SELECT svm_rename('mine', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_rename('mine', 'n');
SELECT svm_drop('mine');
-- and by statements
UPDATE svm_model SET current_version = 1 WHERE name = 'm' RETURNING name;
UPDATE svm_model SET owner = current_user RETURNING name;
DELETE FROM svm_model RETURNING name;
DELETE FROM svm_version RETURNING version;
DELETE FROM svm_permission RETURNING grantee;
SELECT name FROM svm_model FOR UPDATE;
INSERT INTO svm_model (name, current_version) VALUES ('m', 1) ON CONFLICT (name) DO UPDATE SET owner = current_user;
INSERT INTO svm_version SELECT (v).* FROM (SELECT v FROM svm_version AS v) AS s;
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c, scale, solver,
    intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
SELECT model_id, 3, features, label_column, label_type, label_values, nulls, loss, c, scale, solver, intercept_used,
    tolerance, seed, intercept, feature_count, rows_used, rows_skipped FROM svm_version LIMIT 1;
INSERT INTO svm_head (version_id, head, class, intercept) SELECT version_id, 1, class, 7 FROM svm_head;
INSERT INTO svm_weight SELECT version_id, 0, 1, NULL, '{7}' FROM svm_weight;
INSERT INTO svm_dual SELECT id, 0, 1, '{0}', '{7}' FROM svm_version;
INSERT INTO svm_permission SELECT id, owner, 'regress_svm_stranger' FROM svm_model;
INSERT INTO svm_permission SELECT id, current_user, 'regress_svm_stranger' FROM svm_model;

-- a stranger tries the same, and knows the ids
RESET ROLE;
SELECT m.id AS model_id, v.id AS version_id FROM svm_model m JOIN svm_version v ON model_id = m.id AND v.version = 1
WHERE name = 'm' \gset
SET ROLE regress_svm_stranger;
SELECT svm_deploy('m', 1);
SELECT svm_rename('m', 'mine');
SELECT svm_drop('m');
SELECT svm_grant('m', 'regress_svm_stranger');
SELECT svm_revoke('m', 'regress_svm_reader');
SELECT svm_train('points', 'y', model => 'm');
SELECT svm_deploy('M', 1);
UPDATE svm_model SET owner = current_user RETURNING name;
DELETE FROM svm_model RETURNING name;
DELETE FROM svm_version RETURNING version;
DELETE FROM svm_permission RETURNING grantee;
INSERT INTO svm_head (version_id, head, class, intercept) VALUES (:version_id, 1, 'x', 7);
INSERT INTO svm_weight VALUES (:version_id, 0, 1, NULL, '{7}');
INSERT INTO svm_dual VALUES (:version_id, 0, 1, '{0}', '{7}');
INSERT INTO svm_permission VALUES (:model_id, 'regress_svm_owner', 'regress_svm_stranger');
\set VERBOSITY terse
INSERT INTO svm_permission VALUES (:model_id, 'regress_svm_stranger', 'regress_svm_stranger');
\set VERBOSITY default
INSERT INTO svm_model (name, owner, current_version) VALUES ('false flag', 'regress_svm_owner', 1);
SELECT put('mine', 1);
UPDATE svm_model SET owner = 'regress_svm_owner' WHERE name = 'mine';
-- ids, and what a training wrote, are not for anybody to choose or change
UPDATE svm_model SET id = 1000000 WHERE name = 'mine';
UPDATE svm_version SET intercept = 0;
UPDATE svm_head SET intercept = 0;
UPDATE svm_weight SET weights = '{0}';
UPDATE svm_dual SET duals = '{0}';
UPDATE svm_permission SET grantee = 'regress_svm_stranger';
DELETE FROM svm_weight;
DELETE FROM svm_head;
INSERT INTO svm_model (id, name, current_version) VALUES (1000000, 'reserved', 1);
SELECT nextval('svm_model_id_seq');
-- all the other columns are an owner's to fill in, those that a later version of the extension adds among them
SELECT attrelid::regclass, attname FROM pg_attribute
WHERE attrelid IN ('svm_model'::regclass, 'svm_version'::regclass) AND attnum > 0 AND NOT has_column_privilege(attrelid, attnum, 'INSERT');
TRUNCATE svm_model CASCADE;
-- nothing can be hung on the tables
CREATE FUNCTION regress_svm_strangers.spy() RETURNS trigger LANGUAGE c AS '$libdir/pgsvm', 'svm_model_changed_wrapper';
CREATE TRIGGER spy AFTER INSERT ON svm_model FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_changed();
CREATE TABLE regress_svm_strangers.referring (id bigint REFERENCES svm_model);
ALTER TABLE svm_model DISABLE ROW LEVEL SECURITY;
CREATE POLICY open ON svm_weight USING (true);
CREATE RULE spy AS ON INSERT TO svm_model DO ALSO SELECT 1;
SELECT svm_internal.svm_model_changed();
-- a leaking function sees no rows but its caller's
CREATE FUNCTION regress_svm_strangers.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
    RAISE NOTICE 'leaked %', $1;
    RETURN true;
END $$;
SELECT name FROM svm_model WHERE regress_svm_strangers.leak(name);
SELECT name FROM svm_models WHERE regress_svm_strangers.leak(name);
SELECT weights FROM svm_weight WHERE regress_svm_strangers.leak(weights::text);
SELECT grantee FROM svm_permission WHERE regress_svm_strangers.leak(grantee);
SELECT name FROM svm_versions WHERE regress_svm_strangers.leak(label_column) AND name <> 'mine';
-- a function of a superuser's answers for whomever it lets call it
RESET ROLE;
CREATE FUNCTION superusers_decision(model text) RETURNS float8 LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS
    $$ SELECT svm_decision(model, '{1}'::real[]) $$;
SET ROLE regress_svm_stranger;
SELECT superusers_decision('m');
SELECT svm_drop('mine');

-- everybody
SET ROLE regress_svm_owner;
SELECT svm_grant('n', 'public');
SELECT name, granted_to FROM svm_models ORDER BY name;
SET ROLE regress_svm_stranger;
SELECT sees();
SELECT svm_decision('n', '{1}'::real[]);
SELECT name, granted_to FROM svm_models;
SELECT svm_drop('n');
SET ROLE regress_svm_outsider;
SELECT svm_decision('n', '{1}'::real[]);

-- revoked, and gone at the next statement, in a transaction and at a call site that PL/pgSQL keeps
RESET ROLE;
CREATE FUNCTION asked_again() RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    decision float8 := svm_decision('m', '{1}'::real[]);
BEGIN
    RETURN decision;
END $$;
BEGIN;
SET LOCAL ROLE regress_svm_reader;
PREPARE asked AS SELECT svm_decision('m', '{1}'::real[]);
EXECUTE asked;
SELECT asked_again();
SET LOCAL ROLE regress_svm_owner;
SELECT svm_revoke('m', 'regress_svm_reader');
SET LOCAL ROLE regress_svm_reader;
SAVEPOINT before;
EXECUTE asked;
ROLLBACK TO before;
SELECT asked_again();
ROLLBACK TO before;
SELECT sees();
COMMIT;
SET ROLE regress_svm_owner;
SELECT svm_revoke('m', 'regress_svm_reader');
SELECT svm_revoke('n', 'public');
SELECT sees();

-- all that reads a model, with every kind of it
SET client_min_messages = warning;
SELECT svm_train_query('SELECT x, x % 2 AS odd, CASE WHEN x < 4 THEN ''low'' WHEN x < 8 THEN ''middle'' ELSE ''high'' END AS y
    FROM points, generate_series(1, 10)', 'y', ARRAY['x', 'odd'], 'three', c => 10, probability => true);
RESET client_min_messages;
SELECT svm_grant('three', 'regress_svm_reader');
SET ROLE regress_svm_reader;
SELECT svm_classify('three', ARRAY[2, 0]), svm_decision('three', ARRAY[2, 0], 'low') > 0 AS low,
    svm_probability('three', ARRAY[2, 0], 'low') > 0.3 AS probably;
SELECT name, classes, probabilities FROM svm_models;
SELECT count(*) FROM svm_weights('three');
SELECT column_name FROM svm_features('three');
SET ROLE regress_svm_stranger;
SELECT svm_probability('three', ARRAY[2, 0], 'low');
SELECT count(*) FROM svm_weights('three');
SELECT count(*) FROM svm_features('three');
SET ROLE regress_svm_owner;
SELECT svm_drop('three');

-- arguments
SELECT svm_grant('m', 'nobody at all');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_grant('m', '');
SELECT svm_grant('m', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_revoke('m', NULL);
SELECT svm_grant('nothing', 'public');
SELECT svm_revoke('nothing', 'public');
SELECT svm_grant(NULL, 'public');

-- another owner: a role whose rights the old one has; grants go with the model
SELECT svm_grant('m', 'regress_svm_reader');
UPDATE svm_model SET owner = 'regress_svm_stranger' WHERE name = 'm';
UPDATE svm_model SET owner = 'regress_svm_team' WHERE name = 'm';
SELECT owner, granted_to FROM svm_models WHERE name = 'm';
SET ROLE regress_svm_team;
SELECT sees();
SELECT svm_deploy('m', 1);
SET ROLE regress_svm_reader;
SELECT svm_decision('m', '{1}'::real[]);
SET ROLE regress_svm_owner;
SELECT svm_deploy('m', 2), svm_revoke('m', 'regress_svm_reader');

-- a role that is gone: nobody is it, nobody is disturbed, and a superuser puts things right
SELECT svm_grant('m', 'regress_svm_member'), svm_grant('m', 'regress_svm_outsider');
RESET ROLE;
DROP ROLE regress_svm_member;
UPDATE svm_model SET owner = 'regress_svm_member' WHERE name = 'n';
SET ROLE regress_svm_owner;
SELECT sees();
SELECT name, granted_to FROM svm_models;
SELECT svm_deploy('n', 1);
SET ROLE regress_svm_outsider;
SELECT svm_decision('m', '{1}'::real[]);
RESET ROLE;
SELECT name, owner, granted_to FROM svm_models ORDER BY name;
SELECT name, owner FROM svm_models WHERE to_regrole(quote_ident(owner)) IS NULL;
SELECT owner, grantee FROM svm_permission WHERE grantee <> 'public' AND to_regrole(quote_ident(grantee)) IS NULL;
SELECT svm_revoke('m', 'regress_svm_member'), svm_deploy('n', 1), svm_deploy('m', 1), svm_rename('n', 'o'), svm_drop('o');
-- a role of the same name has nothing of what its predecessor had, until it is given
SET ROLE regress_svm_owner;
SELECT svm_grant('m', 'regress_svm_outsider');
RESET ROLE;
DROP ROLE regress_svm_outsider;
CREATE ROLE regress_svm_outsider;
SET ROLE regress_svm_outsider;
SELECT svm_decision('m', '{1}'::real[]);
SET ROLE regress_svm_owner;
SELECT svm_grant('m', 'regress_svm_outsider');
SET ROLE regress_svm_outsider;
SELECT svm_decision('m', '{1}'::real[]);
RESET ROLE;
-- a role that is renamed keeps what it has, the one that takes its name has nothing of it
ALTER ROLE regress_svm_outsider RENAME TO regress_svm_renamed;
CREATE ROLE regress_svm_outsider;
SET ROLE regress_svm_outsider;
SELECT svm_decision('m', '{1}'::real[]);
SET ROLE regress_svm_renamed;
SELECT svm_decision('m', '{1}'::real[]);
SELECT granted_to FROM svm_models WHERE name = 'm';
SET ROLE regress_svm_owner;
SELECT svm_grant('m', 'regress_svm_outsider');
SELECT granted_to FROM svm_models WHERE name = 'm';
SELECT svm_revoke('m', 'regress_svm_renamed');
SELECT granted_to FROM svm_models WHERE name = 'm';
RESET ROLE;
ALTER ROLE regress_svm_renamed RENAME TO regress_svm_other;
-- owners alike, and the name is written down when the model is changed next
SET ROLE regress_svm_other;
SELECT put('p', 10);
RESET ROLE;
ALTER ROLE regress_svm_other RENAME TO regress_svm_renamed;
CREATE ROLE regress_svm_other;
SELECT svm_internal.svm_role_name(owner_oid, owner), owner FROM svm_model WHERE name = 'p';
SET ROLE regress_svm_other;
SELECT svm_decision('p', '{1}'::real[]);
SELECT svm_drop('p');
\echo :LAST_ERROR_SQLSTATE
SELECT put('p', 10);
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_svm_renamed;
SELECT svm_deploy('p', 1);
SELECT name, owner FROM svm_model;
SELECT svm_grant('p', 'regress_svm_other');
RESET ROLE;
-- a model of a role that is gone is nobody's, until it is given away
DROP ROLE regress_svm_renamed;
CREATE ROLE regress_svm_renamed;
SET ROLE regress_svm_renamed;
SELECT name, owner FROM svm_model;
SELECT svm_drop('p');
RESET ROLE;
SELECT name, owner FROM svm_models WHERE name = 'p';
UPDATE svm_model SET owner = 'regress_svm_renamed' WHERE name = 'p';
SET ROLE regress_svm_renamed;
SELECT name, owner, granted_to FROM svm_models;
SELECT svm_drop('p');
RESET ROLE;
DROP ROLE regress_svm_renamed, regress_svm_other;
-- as a role with BYPASSRLS sees and changes all
ALTER ROLE regress_svm_stranger BYPASSRLS;
SET ROLE regress_svm_stranger;
SELECT sees();
SELECT svm_deploy('m', 2);
RESET ROLE;

SELECT svm_drop(name) FROM svm_models ORDER BY name;
SELECT sees();
DROP OWNED BY regress_svm_stranger;
DROP TABLE points;
DROP FUNCTION put, sees, asked_again, superusers_decision;
DROP ROLE regress_svm_team, regress_svm_owner, regress_svm_reader, regress_svm_outsider, regress_svm_stranger;
