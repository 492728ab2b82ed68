-- From 0.2.0.

-- What nobody calls by name; what was made of these functions, aggregates, policies and triggers, goes on with them.
ALTER FUNCTION svm_model_changed() SET SCHEMA svm_internal;
ALTER FUNCTION svm_weight_changed() SET SCHEMA svm_internal;
ALTER FUNCTION svm_has_rights_of(name) SET SCHEMA svm_internal;
-- it told every role whose a model is
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_model_owner(text)');
ALTER FUNCTION svm_weights_unordered(text) SET SCHEMA svm_internal;
ALTER FUNCTION svm_version_id(text) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_add(internal, anycompatible, anycompatible) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_add(internal, anycompatible, anycompatible, anycompatible) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_combine(internal, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_serialize(internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_deserialize(bytea, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_final(internal, anycompatible, anycompatible) SET SCHEMA svm_internal;
ALTER FUNCTION svm_metrics_final(internal, anycompatible, anycompatible, anycompatible) SET SCHEMA svm_internal;
ALTER FUNCTION svm_ranking_add(internal, float8, boolean) SET SCHEMA svm_internal;
ALTER FUNCTION svm_ranking_combine(internal, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_ranking_serialize(internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_ranking_deserialize(bytea, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_auc_final(internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_roc_points_final(internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_log_loss_add(internal, float8, boolean) SET SCHEMA svm_internal;
ALTER FUNCTION svm_log_loss_combine(internal, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_log_loss_serialize(internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_log_loss_deserialize(bytea, internal) SET SCHEMA svm_internal;
ALTER FUNCTION svm_log_loss_final(internal) SET SCHEMA svm_internal;

-- Tables refer to each other by random ids alone.
ALTER TABLE svm_permission DROP CONSTRAINT svm_permission_model_id_owner_fkey;
ALTER TABLE svm_version DROP CONSTRAINT svm_version_model_id_fkey;
ALTER TABLE svm_head DROP CONSTRAINT svm_head_version_id_fkey;
ALTER TABLE svm_weight DROP CONSTRAINT svm_weight_version_id_fkey;
ALTER TABLE svm_dual DROP CONSTRAINT svm_dual_version_id_fkey;
ALTER TABLE svm_key DROP CONSTRAINT svm_key_version_id_fkey;
ALTER TABLE svm_key_dual DROP CONSTRAINT svm_key_dual_version_id_fkey;
ALTER TABLE svm_log DROP CONSTRAINT svm_log_version_id_fkey;
ALTER TABLE svm_model DROP CONSTRAINT svm_model_id_owner_key;

-- pg_dump is to forget them before they go
ALTER EXTENSION pgsvm DROP SEQUENCE svm_model_id_seq;
ALTER EXTENSION pgsvm DROP SEQUENCE svm_version_id_seq;
ALTER TABLE svm_model ALTER id DROP IDENTITY;
ALTER TABLE svm_version ALTER id DROP IDENTITY;

ALTER TABLE svm_version ADD stored_rows jsonb;
-- what foreign keys kept together is whole; one that was restored in part has no weights
UPDATE svm_version AS version SET stored_rows = pg_catalog.jsonb_build_object(
    'svm_head', (SELECT pg_catalog.count(*) FROM svm_head WHERE version_id OPERATOR(pg_catalog.=) version.id),
    'svm_weight', (SELECT pg_catalog.count(*) FROM svm_weight WHERE version_id OPERATOR(pg_catalog.=) version.id),
    'svm_dual', (SELECT pg_catalog.count(*) FROM svm_dual WHERE version_id OPERATOR(pg_catalog.=) version.id),
    'svm_key', (SELECT pg_catalog.count(*) FROM svm_key WHERE version_id OPERATOR(pg_catalog.=) version.id),
    'svm_key_dual', (SELECT pg_catalog.count(*) FROM svm_key_dual WHERE version_id OPERATOR(pg_catalog.=) version.id),
    'svm_log', (SELECT pg_catalog.count(*) FROM svm_log WHERE version_id OPERATOR(pg_catalog.=) version.id)
)
WHERE EXISTS (SELECT FROM svm_weight WHERE version_id OPERATOR(pg_catalog.=) version.id);

-- What follow-ups know of the rows as they lie in this cluster is kept elsewhere from now on (sql/added/0.3.0.sql), and what
-- 0.2.0 knew is of no use any more. A table that leaves the extension is no longer dumped with it.
ALTER EXTENSION pgsvm DROP TABLE svm_key_leeway;
ALTER EXTENSION pgsvm DROP TABLE svm_key_scaling;
ALTER EXTENSION pgsvm DROP TABLE svm_key_metric;
DROP TABLE svm_key_leeway, svm_key_scaling, svm_key_metric;
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_create_function(text, text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_features(text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_evaluate(text, regclass, text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_confusion(text, regclass, text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_roc(text, regclass, text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_weights(text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_training_log(text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_suspects(text, regclass, int)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_internal.svm_weights_unordered(text)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_explain(text, anyelement, int, anycompatible)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_explain(text, text, int, anycompatible)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_train(regclass, text, text[], text, float8, text, boolean, text, text, float8, int, text, int, text, text, boolean, text, jsonb)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_train_query(text, text, text[], text, float8, text, boolean, text, text, float8, int, text, int, text, text, boolean, text, jsonb)');
SELECT @extschema@.svm_outdated('FUNCTION', 'svm_cross_validate(regclass, text, float8[], int, text, text[], text, boolean, text, text, float8, int, text, int, text, text, jsonb)');

-- roles are known by oid
CREATE FUNCTION svm_internal.svm_role_oid(role name) RETURNS oid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT pg_catalog.to_regrole(pg_catalog.quote_ident($1))::pg_catalog.oid';
COMMENT ON FUNCTION svm_internal.svm_role_oid(name) IS 'part of svm_model and svm_permission';
ALTER TABLE svm_model ADD COLUMN owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED;
ALTER TABLE svm_permission
    ADD COLUMN owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED,
    ADD COLUMN grantee_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(grantee)) STORED;

-- models that follow their table read it with their owner's rights
ALTER TABLE svm_version ADD COLUMN search_path text, ADD COLUMN source_reads jsonb,
    ADD COLUMN training_auc float8;

-- versions say where they came from
ALTER TABLE svm_version ADD COLUMN trained_by name, ADD COLUMN server_version text;

-- and what was given, and how far apart decisions are
ALTER TABLE svm_version ADD COLUMN given jsonb, ADD COLUMN decision_deviation float8, ADD COLUMN truncation float8,
    ADD COLUMN solver_used text, ADD COLUMN classes_by text, ADD COLUMN task text, ADD COLUMN label_centre float8,
    ADD COLUMN label_deviation float8, ADD COLUMN epsilon float8, ADD COLUMN training_rmse float8, ADD COLUMN training_r2 float8,
    ADD COLUMN nu float8, ADD COLUMN training_novel float8, ADD COLUMN quantiles float8[],
    ADD COLUMN interval_rows bigint, ADD COLUMN interval_residuals float8[];

-- what Pegasos is carried on with, and what StreamSVM stops by
ALTER TABLE svm_head ADD COLUMN updates bigint, ADD COLUMN truncated_primal float8, ADD COLUMN outliers bigint;
ALTER TABLE svm_log ADD COLUMN projected_gradient float8[], ADD COLUMN test_error float8[], ADD COLUMN test_auc float8[];
