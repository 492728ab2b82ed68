\echo Use "ALTER EXTENSION pgsvm UPDATE" to load this file. \quit

-- From 0.1.0: many classes, weights of classes and rows, choice of C, probabilities, models that follow their table.

ALTER TABLE svm_version
    DROP CONSTRAINT svm_version_label_values_check,
    ADD CONSTRAINT svm_version_label_values_check CHECK (pg_catalog.cardinality(label_values) >= 2),
    DROP CONSTRAINT svm_version_nulls_check,
    ADD CONSTRAINT svm_version_nulls_check CHECK (nulls IN ('error', 'skip', 'zero', 'mean')),
    ALTER c DROP NOT NULL,
    ALTER tolerance DROP NOT NULL,
    ALTER seed DROP NOT NULL,
    ALTER rows_used DROP NOT NULL,
    ALTER rows_skipped DROP NOT NULL,
    ADD class_weight jsonb,
    ADD weight_column text,
    ADD validation jsonb,
    ADD source_relation text,
    ADD source_query text,
    ADD key_column text,
    ADD key_type text CHECK (key_type IN ('integer', 'text')),
    ADD max_passes int,
    ADD followed jsonb;

-- for svm_permission to refer to
ALTER TABLE svm_model ADD UNIQUE (id, owner);

-- the policies of 0.2.0 have other names
DROP POLICY svm_version_owner ON svm_version;
DROP POLICY svm_weight_owner ON svm_weight;

-- these have more arguments now
DROP FUNCTION svm_train(regclass, text, text[], text, float8, text, boolean, text, text, float8, int, text, int, jsonb);
DROP FUNCTION svm_train_query(text, text, text[], text, float8, text, boolean, text, text, float8, int, text, int, jsonb);
-- What 0.2.0 added: part of a new installation and of the update from 0.1.0 alike.

-- One binary problem of a version: of two classes the only one, of more each class against the rest, by its place in
-- label_values. Versions stored before this table was there have no row; theirs is what svm_version says.
CREATE TABLE svm_head (
    version_id bigint NOT NULL REFERENCES svm_version ON DELETE CASCADE,
    head int NOT NULL CHECK (head >= 0),
    -- the positive label
    class text NOT NULL,
    -- for raw rows
    intercept float8 NOT NULL,
    primal float8,
    dual float8,
    gap float8,
    training_accuracy float8,
    support_vectors bigint,
    stop_reason text,
    -- probability of the positive label = 1 / (1 + exp(slope * decision + offset)); NULL without probabilities
    sigmoid_slope float8,
    sigmoid_offset float8,
    PRIMARY KEY (version_id, head)
);

-- Which rows a version with a key was trained on, in chunks of at most 16384 rows, so that the model can follow them.
-- What the bytes are stands in src/follow/chunks.rs; a text or uuid is not kept, only a hash of it.
CREATE TABLE svm_key (
    version_id bigint NOT NULL REFERENCES svm_version ON DELETE CASCADE,
    first_row bigint NOT NULL CHECK (first_row >= 0),
    rows int NOT NULL CHECK (rows > 0),
    keys bytea NOT NULL,
    -- 64 bits a row, of its label, weight and features
    digests bytea NOT NULL,
    PRIMARY KEY (version_id, first_row)
);
-- hashes do not compress, and to compress keys takes longer than to store them
ALTER TABLE svm_key ALTER COLUMN digests SET STORAGE EXTERNAL, ALTER COLUMN keys SET STORAGE EXTERNAL;

-- The dual variables of the same rows and chunks. A chunk of zeros is left out.
CREATE TABLE svm_key_dual (
    version_id bigint NOT NULL REFERENCES svm_version ON DELETE CASCADE,
    head int NOT NULL CHECK (head >= 0),
    first_row bigint NOT NULL CHECK (first_row >= 0),
    -- two bits a row, the first row lowest: 0 is 0, 1 and 2 are common[1] and common[2], 3 the next of duals
    states bytea NOT NULL,
    -- the values that most rows share: those at their bound
    common real[] NOT NULL,
    duals real[] NOT NULL,
    PRIMARY KEY (version_id, head, first_row)
);

-- How far the weights may move before a row whose dual variable is 0 can lose anything, of versions whose rows need not all
-- be looked at when they follow their table; in the chunks of svm_key. What the numbers are stands in
-- crates/pgsvm-core/src/leeway.rs and src/pg/origin.rs.
CREATE TABLE svm_key_leeway (
    version_id bigint NOT NULL REFERENCES svm_version ON DELETE CASCADE,
    first_row bigint NOT NULL CHECK (first_row >= 0),
    -- 64 bits a row, of where it lies, who inserted it and its label; 0 where that says nothing of the row's values
    versions bytea NOT NULL,
    -- a byte a row: 0 for none, else sixteenths of octaves
    leeways bytea NOT NULL,
    PRIMARY KEY (version_id, first_row)
);
ALTER TABLE svm_key_leeway ALTER COLUMN versions SET STORAGE EXTERNAL, ALTER COLUMN leeways SET STORAGE EXTERNAL;

-- The scaling of the rows in which leeways are measured: (value - centre) * factor of a dense feature, value * factor of a
-- sparse one; empty arrays where nothing is scaled.
CREATE TABLE svm_key_scaling (
    version_id bigint PRIMARY KEY REFERENCES svm_version ON DELETE CASCADE,
    -- the next transaction when the version was stored
    as_of bigint NOT NULL,
    -- dense features
    dense int NOT NULL CHECK (dense >= 0),
    centre float8[] NOT NULL,
    factor float8[] NOT NULL,
    sparse_factor real[] NOT NULL
);

-- The metrics that they are measured in, for scaled rows.
CREATE TABLE svm_key_metric (
    version_id bigint NOT NULL REFERENCES svm_version ON DELETE CASCADE,
    -- the label of the rows
    class text NOT NULL,
    -- by feature
    centre real[] NOT NULL,
    spread real[] NOT NULL,
    constant real NOT NULL,
    PRIMARY KEY (version_id, class)
);

-- What happened when in a training: arrays of equal length, an entry for each pass, sweep of the cache or block. Versions
-- stored before this table was there have no row.
CREATE TABLE svm_log (
    version_id bigint PRIMARY KEY REFERENCES svm_version ON DELETE CASCADE,
    event text[] NOT NULL,
    seconds float8[] NOT NULL,
    pass int[] NOT NULL,
    block int[] NOT NULL,
    heads int[] NOT NULL,
    rows_read bigint[] NOT NULL,
    visits bigint[] NOT NULL,
    updates bigint[] NOT NULL,
    dual float8[] NOT NULL,
    primal float8[] NOT NULL,
    gap float8[] NOT NULL,
    cache_rows bigint[] NOT NULL,
    evictions bigint[] NOT NULL
);

-- A role other than the owner that may see a model and predict with it.
CREATE TABLE svm_permission (
    model_id bigint NOT NULL,
    -- the model's owner again, so that a policy knows whose row it is without a look at the model
    owner name NOT NULL,
    -- by name, as the owner is; 'public' stands for every role
    grantee name NOT NULL CHECK (grantee <> ''),
    PRIMARY KEY (model_id, grantee),
    FOREIGN KEY (model_id, owner) REFERENCES svm_model (id, owner) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TRIGGER svm_permission_changed AFTER INSERT OR UPDATE OR DELETE ON svm_permission
    FOR EACH ROW EXECUTE FUNCTION svm_model_changed();
ALTER TABLE svm_permission ENABLE ALWAYS TRIGGER svm_permission_changed;

-- Weights come with their version, but where the first copy of logical replication takes table by table: there backends
-- read again what they keep.
CREATE FUNCTION svm_weight_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'svm_weight_changed_wrapper';
REVOKE ALL ON FUNCTION svm_weight_changed() FROM PUBLIC;

CREATE TRIGGER svm_head_changed AFTER INSERT OR UPDATE OR DELETE ON svm_head
    FOR EACH ROW EXECUTE FUNCTION svm_weight_changed();
CREATE TRIGGER svm_weight_changed AFTER INSERT OR UPDATE OR DELETE ON svm_weight
    FOR EACH ROW EXECUTE FUNCTION svm_weight_changed();
ALTER TABLE svm_head ENABLE REPLICA TRIGGER svm_head_changed;
ALTER TABLE svm_weight ENABLE REPLICA TRIGGER svm_weight_changed;

SELECT pg_catalog.pg_extension_config_dump('svm_head', '');
SELECT pg_catalog.pg_extension_config_dump('svm_permission', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key_dual', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key_leeway', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key_scaling', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key_metric', '');
SELECT pg_catalog.pg_extension_config_dump('svm_log', '');

-- What svm_metrics returns, and an element of what svm_roc_points returns.
CREATE TYPE svm_metric_values AS (
    rows bigint,
    accuracy float8,
    balanced_accuracy float8,
    "precision" float8,
    recall float8,
    f1 float8
);
CREATE TYPE svm_roc_point AS (
    threshold float8,
    false_positive_rate float8,
    true_positive_rate float8
);
-- Rights: who may see, use and change which model
-- The owner does everything; whom the owner lets (svm_permission) sees the model and predicts with it. What a training
-- wrote is never changed, so nobody may UPDATE it, and ids are the sequences' to choose.

CREATE OR REPLACE FUNCTION svm_has_rights_of(role name) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    -- false for a role that is gone; without a subselect, so that it is inlined into the policies
    RETURN coalesce(pg_catalog.pg_has_role(pg_catalog.to_regrole(pg_catalog.quote_ident(role)), 'USAGE'), false);
COMMENT ON FUNCTION svm_has_rights_of(name) IS
    'whether the current user is the role, inherits its rights as a member, or is a superuser';

ALTER TABLE svm_model ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_permission ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_weight ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_dual ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_dual ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_leeway ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_scaling ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_metric ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_log ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS svm_model_owner ON svm_model;
CREATE POLICY svm_model_owner ON svm_model USING (svm_has_rights_of(owner));
DROP POLICY IF EXISTS svm_model_reader ON svm_model;
CREATE POLICY svm_model_reader ON svm_model FOR SELECT USING (
    EXISTS (SELECT FROM svm_permission AS permission WHERE permission.model_id = id)
);

-- These look at no other table: what svm_model's policy asks must not ask svm_model.
DROP POLICY IF EXISTS svm_permission_owner ON svm_permission;
CREATE POLICY svm_permission_owner ON svm_permission USING (svm_has_rights_of(owner));
DROP POLICY IF EXISTS svm_permission_grantee ON svm_permission;
CREATE POLICY svm_permission_grantee ON svm_permission FOR SELECT USING (
    grantee = 'public' OR svm_has_rights_of(grantee)
);

DROP POLICY IF EXISTS svm_version_reader ON svm_version;
CREATE POLICY svm_version_reader ON svm_version FOR SELECT USING (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id)
);
DROP POLICY IF EXISTS svm_version_writer ON svm_version;
CREATE POLICY svm_version_writer ON svm_version FOR INSERT WITH CHECK (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id AND svm_has_rights_of(model.owner))
);
DROP POLICY IF EXISTS svm_version_remover ON svm_version;
CREATE POLICY svm_version_remover ON svm_version FOR DELETE USING (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id AND svm_has_rights_of(model.owner))
);

DROP POLICY IF EXISTS svm_head_reader ON svm_head;
CREATE POLICY svm_head_reader ON svm_head FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_head_writer ON svm_head;
CREATE POLICY svm_head_writer ON svm_head FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);

DROP POLICY IF EXISTS svm_weight_reader ON svm_weight;
CREATE POLICY svm_weight_reader ON svm_weight FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_weight_writer ON svm_weight;
CREATE POLICY svm_weight_writer ON svm_weight FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);

DROP POLICY IF EXISTS svm_log_reader ON svm_log;
CREATE POLICY svm_log_reader ON svm_log FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_log_writer ON svm_log;
CREATE POLICY svm_log_writer ON svm_log FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);

-- Dual variables say which rows were trained on, and no prediction wants them: they are the owner's alone.
DROP POLICY IF EXISTS svm_dual_owner ON svm_dual;
CREATE POLICY svm_dual_owner ON svm_dual USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);

DROP POLICY IF EXISTS svm_key_owner ON svm_key;
CREATE POLICY svm_key_owner ON svm_key USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);
DROP POLICY IF EXISTS svm_key_dual_owner ON svm_key_dual;
CREATE POLICY svm_key_dual_owner ON svm_key_dual USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);
DROP POLICY IF EXISTS svm_key_leeway_owner ON svm_key_leeway;
CREATE POLICY svm_key_leeway_owner ON svm_key_leeway USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);
DROP POLICY IF EXISTS svm_key_scaling_owner ON svm_key_scaling;
CREATE POLICY svm_key_scaling_owner ON svm_key_scaling USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);
DROP POLICY IF EXISTS svm_key_metric_owner ON svm_key_metric;
CREATE POLICY svm_key_metric_owner ON svm_key_metric USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND svm_has_rights_of(model.owner)
    )
);

REVOKE ALL ON svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling, svm_key_metric,
    svm_log FROM PUBLIC;
GRANT SELECT ON svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling,
    svm_key_metric, svm_log TO PUBLIC;
-- with their rows go, by cascade, those that refer to them
GRANT DELETE ON svm_model, svm_permission, svm_version TO PUBLIC;
GRANT INSERT (name, owner, current_version), UPDATE (name, owner, current_version) ON svm_model TO PUBLIC;
GRANT INSERT ON svm_permission, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling, svm_key_metric, svm_log TO PUBLIC;
GRANT INSERT (
    model_id, version, trained_at, features, label_column, label_type, label_values, nulls, loss, c, scale, solver,
    intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped, passes, primal, dual, gap,
    training_accuracy, seconds, cache_bytes, workers, stop_reason, options, class_weight, weight_column, validation,
    source_relation, source_query, key_column, key_type, max_passes, followed
) ON svm_version TO PUBLIC;
-- Models: what a role sees of them, and their life
-- Views and functions run with the caller's rights, so the policies of sql/rights.sql decide.

CREATE OR REPLACE VIEW svm_versions WITH (security_invoker = true) AS
SELECT
    model.name,
    version.version,
    version.version = model.current_version AS deployed,
    version.rows_used,
    version.rows_skipped,
    version.feature_count AS features,
    version.label_column,
    version.label_type,
    version.label_values,
    version.nulls,
    version.loss,
    version.c,
    version.scale,
    version.solver,
    version.class_weight,
    version.weight_column,
    version.passes,
    version.primal,
    version.dual,
    version.gap,
    version.training_accuracy,
    version.seconds,
    version.cache_bytes,
    version.workers,
    version.stop_reason,
    version.trained_at,
    EXISTS (
        SELECT FROM svm_head AS head WHERE head.version_id = version.id AND head.sigmoid_slope IS NOT NULL
    ) AS probabilities,
    model.owner,
    -- to the owner all of them, to another role its own
    ARRAY(
        SELECT permission.grantee FROM svm_permission AS permission
        WHERE permission.model_id = model.id ORDER BY permission.grantee
    ) AS granted_to,
    version.key_column,
    coalesce(version.source_relation, version.source_query) AS source,
    version.followed
FROM svm_model AS model
JOIN svm_version AS version ON version.model_id = model.id;
COMMENT ON VIEW svm_versions IS 'every version of the models that the current user may use';
GRANT SELECT ON svm_versions TO PUBLIC;

CREATE OR REPLACE VIEW svm_models WITH (security_invoker = true) AS
SELECT
    name,
    version,
    rows_used,
    features,
    loss,
    c,
    solver,
    passes,
    primal,
    dual,
    gap,
    training_accuracy,
    seconds,
    cache_bytes,
    workers,
    stop_reason,
    trained_at,
    owner,
    pg_catalog.cardinality(label_values) AS classes,
    probabilities,
    granted_to
FROM svm_versions
WHERE deployed;
COMMENT ON VIEW svm_models IS 'the current version of each model that the current user may use';
GRANT SELECT ON svm_models TO PUBLIC;

-- Whose model a name is, also when the caller may not see it: names are unique in a database.
CREATE OR REPLACE FUNCTION svm_model_owner(model text) RETURNS name
    LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'SELECT owner FROM @extschema@.svm_model WHERE name = $1';
COMMENT ON FUNCTION svm_model_owner(text) IS 'the role that owns the model of this name, NULL when there is none';

CREATE OR REPLACE FUNCTION svm_deploy(model text, version int) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_deploy_wrapper';
COMMENT ON FUNCTION svm_deploy(text, int) IS
    'makes a stored version the current one, which the model''s name stands for, and returns the name';

CREATE OR REPLACE FUNCTION svm_rename(model text, new_name text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_rename_wrapper';
COMMENT ON FUNCTION svm_rename(text, text) IS 'gives a model another name and returns that';

CREATE OR REPLACE FUNCTION svm_drop(model text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_drop_wrapper';
COMMENT ON FUNCTION svm_drop(text) IS 'removes a model with all its versions and grants, and returns its name';

CREATE OR REPLACE FUNCTION svm_drop(model text, version int) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_drop_version_wrapper';
COMMENT ON FUNCTION svm_drop(text, int) IS
    'removes a version other than the current one, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_grant(model text, role text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_grant_wrapper';
COMMENT ON FUNCTION svm_grant(text, text) IS
    'lets a role, or ''public'', see a model and predict with it, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_revoke(model text, role text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_revoke_wrapper';
COMMENT ON FUNCTION svm_revoke(text, text) IS 'takes back what svm_grant gave, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_version_id(model text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_version_id_wrapper';
COMMENT ON FUNCTION svm_version_id(text) IS
    'the id in svm_version of a model''s current version, or of the version that name@3 stands for';

CREATE OR REPLACE FUNCTION svm_training_log(model text) RETURNS TABLE (
    step int,
    -- load, pass, verify, active or block
    event text,
    seconds float8,
    pass int,
    block int,
    heads int,
    rows_read bigint,
    visits bigint,
    updates bigint,
    dual float8,
    primal float8,
    gap float8,
    cache_rows bigint,
    evictions bigint
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT entry.*
    FROM svm_log AS log, LATERAL (
        SELECT ordinality::int, event, seconds, pass, block, heads, rows_read, visits, updates, dual, primal, gap,
            cache_rows, evictions
        FROM unnest(log.event, log.seconds, log.pass, log.block, log.heads, log.rows_read, log.visits, log.updates,
            log.dual, log.primal, log.gap, log.cache_rows, log.evictions) WITH ORDINALITY
            AS entry (event, seconds, pass, block, heads, rows_read, visits, updates, dual, primal, gap, cache_rows,
                evictions, ordinality)
    ) AS entry
    WHERE log.version_id = svm_version_id(svm_training_log.model)
    ORDER BY entry.ordinality;
END;
COMMENT ON FUNCTION svm_training_log(text) IS
    'what happened when in the training of a version: a row for each pass, sweep of the cache or block';
-- Training

CREATE OR REPLACE FUNCTION svm_train(
    relation regclass,
    label text,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c float8 DEFAULT 1.0,
    loss text DEFAULT 'hinge',
    intercept boolean DEFAULT true,
    scale text DEFAULT 'auto',
    nulls text DEFAULT 'error',
    tolerance float8 DEFAULT 1e-3,
    max_passes int DEFAULT NULL,
    solver text DEFAULT 'stream',
    seed int DEFAULT 0,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    probability boolean DEFAULT false,
    key text DEFAULT NULL,
    options jsonb DEFAULT '{}'
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_wrapper';
COMMENT ON FUNCTION svm_train IS
    'trains a support vector machine on a relation, stores it as a new version of the model and returns its name';

CREATE OR REPLACE FUNCTION svm_train_query(
    query text,
    label text,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c float8 DEFAULT 1.0,
    loss text DEFAULT 'hinge',
    intercept boolean DEFAULT true,
    scale text DEFAULT 'auto',
    nulls text DEFAULT 'error',
    tolerance float8 DEFAULT 1e-3,
    max_passes int DEFAULT NULL,
    solver text DEFAULT 'stream',
    seed int DEFAULT 0,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    probability boolean DEFAULT false,
    key text DEFAULT NULL,
    options jsonb DEFAULT '{}'
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_query_wrapper';
COMMENT ON FUNCTION svm_train_query IS
    'trains a support vector machine on the rows of a SELECT, stores it as a new version of the model and returns its name';

-- How good each C is on rows that were held out: all folds and all C trained in the same passes over the rows.
CREATE OR REPLACE FUNCTION svm_cross_validate(
    relation regclass,
    label text,
    c float8[] DEFAULT NULL,
    folds int DEFAULT 5,
    fold_column text DEFAULT NULL,
    features text[] DEFAULT NULL,
    loss text DEFAULT 'hinge',
    intercept boolean DEFAULT true,
    scale text DEFAULT 'auto',
    nulls text DEFAULT 'error',
    tolerance float8 DEFAULT 1e-3,
    max_passes int DEFAULT NULL,
    solver text DEFAULT 'stream',
    seed int DEFAULT 0,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    options jsonb DEFAULT '{}'
) RETURNS TABLE (c float8, fold text, rows bigint, accuracy float8, auc float8, objective float8, best boolean)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_cross_validate_wrapper';
COMMENT ON FUNCTION svm_cross_validate IS
    'accuracy, area under the curve and objective of each C on each fold, trained on the other folds; best marks the C of the highest accuracy';

-- Models that follow their table: those trained with a key.

CREATE OR REPLACE FUNCTION svm_refresh(model text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_refresh_wrapper';
COMMENT ON FUNCTION svm_refresh(text, jsonb) IS
    'trains a model with a key on its source as that is now, from what it knows, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_update(model text, relation regclass, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_update_wrapper';
COMMENT ON FUNCTION svm_update(text, regclass, jsonb) IS
    'adds the rows of a relation to those a model with a key was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_update_query(model text, query text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_update_wrapper';
COMMENT ON FUNCTION svm_update_query(text, text, jsonb) IS
    'adds the rows of a SELECT to those a model with a key was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_forget(model text, relation regclass, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_forget_wrapper';
COMMENT ON FUNCTION svm_forget(text, regclass, jsonb) IS
    'removes the rows with the keys in a relation from those a model was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_forget_query(model text, query text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_forget_wrapper';
COMMENT ON FUNCTION svm_forget_query(text, text, jsonb) IS
    'removes the rows with the keys in a SELECT from those a model was trained on, as a new version, and returns its name';

-- One row for each process of a training that has run for a quarter of a second.
CREATE OR REPLACE VIEW svm_progress AS
SELECT
    activity.pid,
    coalesce(activity.leader_pid, activity.pid) AS leader_pid,
    activity.datname,
    activity.usename,
    pg_catalog.substring(activity.application_name, '^pgsvm (\w+):') AS role,
    CASE WHEN activity.application_name LIKE '%: loading%' THEN 'loading' ELSE 'training' END AS phase,
    pg_catalog.substring(activity.application_name, '(\d+) rows')::bigint AS rows_loaded,
    pg_catalog.substring(activity.application_name, 'pass (\d+)')::int AS pass,
    pg_catalog.substring(activity.application_name, '(\d+)%')::int AS percent_of_pass,
    pg_catalog.substring(activity.application_name, 'gap ([-+0-9.e]+)')::float8 AS gap,
    pg_catalog.substring(activity.application_name, '(\d+) s left')::bigint AS seconds_left,
    pg_catalog.clock_timestamp() - leader.query_start AS running_for,
    leader.query
FROM pg_catalog.pg_stat_activity AS activity
-- a worker shows neither the statement nor its start
LEFT JOIN pg_catalog.pg_stat_activity AS leader ON leader.pid = coalesce(activity.leader_pid, activity.pid)
WHERE activity.application_name LIKE 'pgsvm %:%';
GRANT SELECT ON svm_progress TO PUBLIC;
-- Prediction
-- features: a row, an array of numbers, or a text in LIBSVM notation.

CREATE OR REPLACE FUNCTION svm_decision(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
CREATE OR REPLACE FUNCTION svm_decision(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
COMMENT ON FUNCTION svm_decision(text, anyelement) IS
    'weights times features plus intercept: positive on the side of the positive label';
COMMENT ON FUNCTION svm_decision(text, text) IS
    'weights times features plus intercept: positive on the side of the positive label';

CREATE OR REPLACE FUNCTION svm_predict(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
CREATE OR REPLACE FUNCTION svm_predict(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
COMMENT ON FUNCTION svm_predict(text, anyelement) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';
COMMENT ON FUNCTION svm_predict(text, text) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';

CREATE OR REPLACE FUNCTION svm_classify(model text, features anyelement) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
CREATE OR REPLACE FUNCTION svm_classify(model text, features text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
COMMENT ON FUNCTION svm_classify(text, anyelement) IS 'the predicted label as text';
COMMENT ON FUNCTION svm_classify(text, text) IS 'the predicted label as text';

CREATE OR REPLACE FUNCTION svm_decision(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_for_wrapper';
CREATE OR REPLACE FUNCTION svm_decision(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_for_wrapper';
COMMENT ON FUNCTION svm_decision(text, anyelement, anycompatible) IS
    'how far the model speaks for a class: of two classes the second has the decision, the first its negative';
COMMENT ON FUNCTION svm_decision(text, text, anycompatible) IS
    'how far the model speaks for a class: of two classes the second has the decision, the first its negative';

CREATE OR REPLACE FUNCTION svm_predict(model text, features anyelement, type anycompatible) RETURNS anycompatible
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_as_wrapper';
CREATE OR REPLACE FUNCTION svm_predict(model text, features text, type anycompatible) RETURNS anycompatible
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_as_wrapper';
COMMENT ON FUNCTION svm_predict(text, anyelement, anycompatible) IS
    'the predicted label as a value of the type of the third argument: svm_predict(model, features, NULL::boolean)';
COMMENT ON FUNCTION svm_predict(text, text, anycompatible) IS
    'the predicted label as a value of the type of the third argument: svm_predict(model, features, NULL::boolean)';

CREATE OR REPLACE FUNCTION svm_margin(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_margin_wrapper';
CREATE OR REPLACE FUNCTION svm_margin(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_margin_wrapper';
COMMENT ON FUNCTION svm_margin(text, anyelement, anycompatible) IS
    'the decision for a class, of more than two less the largest one of another: negative where the model predicts another class';
COMMENT ON FUNCTION svm_margin(text, text, anycompatible) IS
    'the decision for a class, of more than two less the largest one of another: negative where the model predicts another class';

CREATE OR REPLACE FUNCTION svm_probability(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_probability_wrapper';
CREATE OR REPLACE FUNCTION svm_probability(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_probability_wrapper';
COMMENT ON FUNCTION svm_probability(text, anyelement) IS
    'the probability of the positive label, of a model of two classes with probabilities';
COMMENT ON FUNCTION svm_probability(text, text) IS
    'the probability of the positive label, of a model of two classes with probabilities';

CREATE OR REPLACE FUNCTION svm_probability(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_probability_for_wrapper';
CREATE OR REPLACE FUNCTION svm_probability(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_probability_for_wrapper';
COMMENT ON FUNCTION svm_probability(text, anyelement, anycompatible) IS
    'the probability of a class, of a model with probabilities';
COMMENT ON FUNCTION svm_probability(text, text, anycompatible) IS
    'the probability of a class, of a model with probabilities';

CREATE OR REPLACE FUNCTION svm_predict_set(
    model text, features anyelement, top_n int DEFAULT NULL,
    OUT rank int, OUT class text, OUT decision float8, OUT probability float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 10 AS 'MODULE_PATHNAME', 'svm_predict_set_wrapper';
COMMENT ON FUNCTION svm_predict_set(text, anyelement, int) IS
    'the classes of the model, those with the largest decisions first';

CREATE OR REPLACE FUNCTION svm_predict_set(
    model text, features text, top_n int DEFAULT NULL,
    OUT rank int, OUT class text, OUT decision float8, OUT probability float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 10 AS 'MODULE_PATHNAME', 'svm_predict_set_wrapper';
COMMENT ON FUNCTION svm_predict_set(text, text, int) IS
    'the classes of the model, those with the largest decisions first';

CREATE OR REPLACE FUNCTION svm_create_function(model text, name text DEFAULT NULL) RETURNS regprocedure
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_create_function_wrapper';
COMMENT ON FUNCTION svm_create_function(text, text) IS
    'creates a function that predicts with this model, for roles that are granted EXECUTE on it';
-- Evaluation: how good predictions are, in one scan

CREATE OR REPLACE FUNCTION svm_metrics_add(internal, actual anycompatible, predicted anycompatible) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_add(
    internal, actual anycompatible, predicted anycompatible, positive anycompatible
) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_final(internal, actual anycompatible, predicted anycompatible)
RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
CREATE OR REPLACE FUNCTION svm_metrics_final(
    internal, actual anycompatible, predicted anycompatible, positive anycompatible
) RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
COMMENT ON FUNCTION svm_metrics_add(internal, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_add(internal, anycompatible, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_combine IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_serialize IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_deserialize IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_final(internal, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_metrics_final(internal, anycompatible, anycompatible, anycompatible) IS 'part of svm_metrics';

CREATE OR REPLACE AGGREGATE svm_metrics(actual anycompatible, predicted anycompatible) (
    SFUNC = svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_metrics_combine,
    SERIALFUNC = svm_metrics_serialize,
    DESERIALFUNC = svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(
    actual anycompatible, predicted anycompatible, positive anycompatible
) (
    SFUNC = svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_metrics_combine,
    SERIALFUNC = svm_metrics_serialize,
    DESERIALFUNC = svm_metrics_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_metrics(anycompatible, anycompatible) IS
    'accuracy and its kin; precision, recall and f1 of the larger of two classes, of more the mean over the classes';
COMMENT ON AGGREGATE svm_metrics(anycompatible, anycompatible, anycompatible) IS
    'accuracy and its kin; precision, recall and f1 of the class named';

CREATE OR REPLACE FUNCTION svm_ranking_add(internal, decision float8, positive boolean) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_add_wrapper';
CREATE OR REPLACE FUNCTION svm_ranking_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_ranking_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_ranking_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_auc_final(internal) RETURNS float8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_auc_final_wrapper';
CREATE OR REPLACE FUNCTION svm_roc_points_final(internal) RETURNS svm_roc_point[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_roc_points_final_wrapper';
COMMENT ON FUNCTION svm_ranking_add IS 'part of svm_auc and svm_roc_points';
COMMENT ON FUNCTION svm_ranking_combine IS 'part of svm_auc and svm_roc_points';
COMMENT ON FUNCTION svm_ranking_serialize IS 'part of svm_auc and svm_roc_points';
COMMENT ON FUNCTION svm_ranking_deserialize IS 'part of svm_auc and svm_roc_points';
COMMENT ON FUNCTION svm_auc_final IS 'part of svm_auc';
COMMENT ON FUNCTION svm_roc_points_final IS 'part of svm_roc_points';

CREATE OR REPLACE AGGREGATE svm_auc(decision float8, positive boolean) (
    SFUNC = svm_ranking_add,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = svm_auc_final,
    COMBINEFUNC = svm_ranking_combine,
    SERIALFUNC = svm_ranking_serialize,
    DESERIALFUNC = svm_ranking_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_auc(float8, boolean) IS
    'the area under the ROC curve: how often a positive row has the larger decision than a negative one';
CREATE OR REPLACE AGGREGATE svm_roc_points(decision float8, positive boolean) (
    SFUNC = svm_ranking_add,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = svm_roc_points_final,
    COMBINEFUNC = svm_ranking_combine,
    SERIALFUNC = svm_ranking_serialize,
    DESERIALFUNC = svm_ranking_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_roc_points(float8, boolean) IS 'the ROC curve as at most 1000 points, from (0, 0) to (1, 1)';

CREATE OR REPLACE FUNCTION svm_log_loss_add(internal, probability float8, positive boolean) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_add_wrapper';
CREATE OR REPLACE FUNCTION svm_log_loss_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_log_loss_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_log_loss_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_log_loss_final(internal) RETURNS float8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_final_wrapper';
COMMENT ON FUNCTION svm_log_loss_add IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_log_loss_combine IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_log_loss_serialize IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_log_loss_deserialize IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_log_loss_final IS 'part of svm_log_loss';

CREATE OR REPLACE AGGREGATE svm_log_loss(probability float8, positive boolean) (
    SFUNC = svm_log_loss_add,
    STYPE = internal,
    SSPACE = 64,
    FINALFUNC = svm_log_loss_final,
    COMBINEFUNC = svm_log_loss_combine,
    SERIALFUNC = svm_log_loss_serialize,
    DESERIALFUNC = svm_log_loss_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_log_loss(float8, boolean) IS 'the mean of -ln(probability given to what was)';

CREATE OR REPLACE FUNCTION svm_evaluate(model text, relation regclass, label text DEFAULT NULL)
RETURNS TABLE (
    rows bigint,
    accuracy float8,
    balanced_accuracy float8,
    "precision" float8,
    recall float8,
    f1 float8,
    auc float8,
    log_loss float8
)
    LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1 AS 'MODULE_PATHNAME', 'svm_evaluate_wrapper';
COMMENT ON FUNCTION svm_evaluate IS 'how well a model predicts the labels of a relation, in one scan';

CREATE OR REPLACE FUNCTION svm_confusion(model text, relation regclass, label text DEFAULT NULL)
RETURNS TABLE (
    actual text,
    predicted text,
    rows bigint
)
    LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 4 AS 'MODULE_PATHNAME', 'svm_confusion_wrapper';
COMMENT ON FUNCTION svm_confusion IS 'how many rows of each class a model predicts as which';

CREATE OR REPLACE FUNCTION svm_roc(model text, relation regclass, label text DEFAULT NULL)
RETURNS TABLE (
    threshold float8,
    false_positive_rate float8,
    true_positive_rate float8
)
    LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1000 AS 'MODULE_PATHNAME', 'svm_roc_wrapper';
COMMENT ON FUNCTION svm_roc IS
    'the ROC curve of a model of two classes: what taking rows from a decision on as positive would get right';
-- Explanation: what a model has learned, and why it decides as it does

CREATE OR REPLACE FUNCTION svm_features(model text) RETURNS TABLE (
    "position" int,
    column_name text,
    type text,
    -- number, time, category, hashed category, array, sparse or libsvm
    treatment text,
    -- NULL where the largest number in the data tells
    features bigint,
    -- in order of first appearance; NULL where there are none
    categories text[],
    -- NULLs met in training
    nulls bigint,
    -- what stands for NULL
    mean float8
)
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_features_wrapper';
COMMENT ON FUNCTION svm_features IS 'what was decided for each column that a model reads';

CREATE OR REPLACE FUNCTION svm_explain(
    model text, features anyelement, top_n int DEFAULT 10, class anycompatible DEFAULT NULL::text,
    OUT class text, OUT feature text, OUT value float8, OUT weight float8, OUT contribution float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 12 AS 'MODULE_PATHNAME', 'svm_explain_wrapper';
COMMENT ON FUNCTION svm_explain(text, anyelement, int, anycompatible) IS
    'what the features of a row add to the decision, the largest contributions first; they sum to the decision';

CREATE OR REPLACE FUNCTION svm_explain(
    model text, features text, top_n int DEFAULT 10, class anycompatible DEFAULT NULL::text,
    OUT class text, OUT feature text, OUT value float8, OUT weight float8, OUT contribution float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 12 AS 'MODULE_PATHNAME', 'svm_explain_wrapper';
COMMENT ON FUNCTION svm_explain(text, text, int, anycompatible) IS
    'what the features of a row add to the decision, the largest contributions first; they sum to the decision';

CREATE OR REPLACE FUNCTION svm_weights_unordered(
    model text, OUT head int, OUT class text, OUT feature text, OUT weight float8
) RETURNS SETOF record
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_weights_unordered_wrapper';
COMMENT ON FUNCTION svm_weights_unordered(text) IS 'what svm_weights returns, in any order and without sorting';

CREATE OR REPLACE FUNCTION svm_weights(model text) RETURNS TABLE (class text, feature text, weight float8)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT learned.class, learned.feature, learned.weight
    FROM svm_weights_unordered(svm_weights.model) AS learned
    ORDER BY learned.head, abs(learned.weight) DESC, learned.feature;
END;
COMMENT ON FUNCTION svm_weights(text) IS
    'the weights of a model that are not zero by class and feature, the largest first, the intercept among them';

CREATE OR REPLACE FUNCTION svm_suspects(
    model text, relation regclass, n int DEFAULT 20,
    OUT example jsonb, OUT label text, OUT predicted text, OUT margin float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 20 AS 'MODULE_PATHNAME', 'svm_suspects_wrapper';
COMMENT ON FUNCTION svm_suspects(text, regclass, int) IS
    'the rows of a relation whose labels the model doubts, the most doubtful first';

CREATE OR REPLACE FUNCTION svm_as_sql(model text, class anycompatible DEFAULT NULL::text) RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_as_sql_wrapper';
COMMENT ON FUNCTION svm_as_sql(text, anycompatible) IS
    'the decision of a model as an SQL expression over its columns, for any database';
-- Exchange: models and data from and to other programs

CREATE OR REPLACE FUNCTION svm_export(model text, format text DEFAULT 'libsvm') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_export_wrapper';
COMMENT ON FUNCTION svm_export IS 'a model as text in the format of LIBLINEAR, which its predict reads';

CREATE OR REPLACE FUNCTION svm_import(
    name text,
    content text,
    features text DEFAULT 'sparse',
    classes jsonb DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_import_wrapper';
COMMENT ON FUNCTION svm_import IS
    'stores a model that LIBLINEAR has trained, given as text, as a new version of the model and returns its name';

CREATE OR REPLACE FUNCTION svm_load_libsvm(
    relation text,
    path text DEFAULT NULL,
    content text DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_load_libsvm_wrapper';
COMMENT ON FUNCTION svm_load_libsvm IS
    'makes a table (label, idx, val) out of a LIBSVM file of the server or a text and returns the number of its rows';
