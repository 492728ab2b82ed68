-- The tables of 0.2.0 as they are now; sql/upgrade/ brings those that are there into this form, sql/added/ holds what
-- later versions added.
-- No table refers to another by a foreign key: pg_restore fills an extension's tables in any order, several at once, and
-- the constraints are there before the rows. Triggers (sql/added/0.3.0.sql) remove what belongs to a removed row.

-- The role of this name now, NULL where there is none. Declared immutable, so that the tables can keep what it returned when
-- a row was written or loaded: it is not asked again.
CREATE FUNCTION svm_internal.svm_role_oid(role name) RETURNS oid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT pg_catalog.to_regrole(pg_catalog.quote_ident($1))::pg_catalog.oid';
COMMENT ON FUNCTION svm_internal.svm_role_oid(name) IS 'part of svm_model and svm_permission';

CREATE TABLE svm_model (
    id bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- by name, so that a dump restores where the role is missing; then only superusers see the model
    owner name NOT NULL DEFAULT CURRENT_USER,
    current_version int NOT NULL,
    -- Whose it is: a role keeps its models when it is renamed, and one made later under an old name inherits none. No dump
    -- and no publication takes it along. A trigger BEFORE UPDATE for each row would have it worked out from the name again.
    owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED
);

-- One training, or a model that came from another program: then what nobody knows of its training is NULL.
-- Never changed once written.
CREATE TABLE svm_version (
    id bigint PRIMARY KEY,
    model_id bigint NOT NULL,
    version int NOT NULL CHECK (version > 0),
    trained_at timestamptz NOT NULL DEFAULT now(),
    features jsonb NOT NULL,
    label_column text NOT NULL,
    label_type text NOT NULL,
    -- as the label type prints them, ascending: of two the second is the positive one; of a regression its two sides, 'below' and 'above'
    label_values text[] NOT NULL CHECK (pg_catalog.cardinality(label_values) >= 2),
    nulls text NOT NULL CHECK (nulls IN ('error', 'skip', 'zero', 'mean')),
    loss text NOT NULL,
    c float8,
    scale text NOT NULL,
    solver text NOT NULL,
    intercept_used boolean NOT NULL,
    tolerance float8,
    seed int,
    -- of head 0, for raw rows: what scaling does is folded into intercept and weights
    intercept float8 NOT NULL,
    feature_count bigint NOT NULL,
    rows_used bigint,
    rows_skipped bigint,
    passes int,
    -- primal and dual summed over the heads, the largest gap
    primal float8,
    dual float8,
    gap float8,
    training_accuracy float8,
    seconds float8,
    cache_bytes bigint,
    workers int,
    stop_reason text,
    options jsonb NOT NULL DEFAULT '{}',
    -- by label, or the word for balanced classes, as src/request.rs has them; NULL where every class counts the same
    class_weight jsonb,
    weight_column text,
    -- what svm_cross_validate returns, where C was chosen
    validation jsonb,
    -- the relation that its rows came from; of a query the text stands in svm_source, where 0.2.0 wrote it here
    source_relation text,
    source_query text,
    -- of a version with a key: the column whose type is 'integer' or 'text'
    key_column text,
    key_type text CHECK (key_type IN ('integer', 'text')),
    -- as given; NULL where the limit was pgsvm's
    max_passes int,
    -- the version that the training began from, and how its rows compared
    followed jsonb,
    -- how many rows it has in each of the tables below, by which one that is not whole is known; NULL where nobody counted
    stored_rows jsonb,
    -- of a version with a key: the schemas in which its source's names were looked up
    search_path text,
    -- and the relations that the source names: {"relation", "kind", "owner"}
    source_reads jsonb,
    -- of two classes, on the rows it was trained on
    training_auc float8,
    -- who trained it, by name, and on which version of PostgreSQL
    trained_by name,
    server_version text,
    -- the settings that somebody gave, which the next version takes over; NULL of versions of 0.2.0
    given jsonb,
    -- the standard deviation of the decisions on the rows it was trained on, of several heads the largest
    decision_deviation float8,
    -- s, where losses are min(L, 1 + s)
    truncation float8,
    -- the solver that ran, where 'auto' chose
    solver_used text,
    -- 'probability' where that is to say which of more than two classes it is; NULL: the decision
    classes_by text,
    -- 'regression' where weights are for a number, in the units of the label; 'novelty' where rows had no label; NULL: for classes
    task text,
    -- of a regression: what the label was less and divided by while it was trained, and how far from it a prediction loses nothing in
    -- these units; then on the rows it was trained on the root of the mean square of what predictions are off, and the share of the
    -- label's variance that they explain
    label_centre float8,
    label_deviation float8,
    epsilon float8,
    training_rmse float8,
    training_r2 float8,
    -- of novelties: the share of rows that are to be strange, and the share of those it was trained on that are
    nu float8,
    training_novel float8,
    -- and the quantiles that its heads predict, ascending; NULL where it predicts the label itself
    quantiles float8[],
    -- and how far predictions of rows held out were off, in the label's units: of how many rows, and sizes ascending, all of up to 1000,
    -- of more those that crates/objective/src/conformal.rs keeps; NULL where none were held out
    interval_rows bigint,
    interval_residuals float8[],
    UNIQUE (model_id, version)
);

-- Weights for raw rows, in chunks of at most 16384 features. Ids are the dense features' in order,
-- then the number of dense features plus the sparse id. A chunk of zeros is left out.
CREATE TABLE svm_weight (
    version_id bigint NOT NULL,
    head int NOT NULL,
    first_feature bigint NOT NULL CHECK (first_feature >= 0),
    -- offsets from first_feature of the weights, ascending; NULL where the weights follow each other
    features int[],
    weights float8[] NOT NULL,
    PRIMARY KEY (version_id, head, first_feature)
);
ALTER TABLE svm_weight
    ALTER features SET STORAGE EXTERNAL,
    ALTER weights SET STORAGE EXTERNAL;

-- Dual variables, when asked for by options => '{"duals": true}', in chunks of at most 16384 rows, so that
-- anybody can recompute a certificate. Rows count from 0 in the order in which the source gave them; a row that
-- is absent has 0.
CREATE TABLE svm_dual (
    version_id bigint NOT NULL,
    head int NOT NULL,
    first_row bigint NOT NULL CHECK (first_row >= 0),
    -- offsets from first_row, ascending
    rows int[] NOT NULL,
    duals real[] NOT NULL,
    PRIMARY KEY (version_id, head, first_row)
);

-- Backends keep the models they use; any change to a model, by whatever means, tells them.
CREATE FUNCTION svm_internal.svm_model_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'svm_model_changed_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_model_changed() FROM PUBLIC;

CREATE TRIGGER svm_model_changed AFTER INSERT OR UPDATE OR DELETE ON svm_model
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_changed();
CREATE TRIGGER svm_version_changed AFTER INSERT OR UPDATE OR DELETE ON svm_version
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_changed();
-- also where logical replication applies the change
ALTER TABLE svm_model ENABLE ALWAYS TRIGGER svm_model_changed;
ALTER TABLE svm_version ENABLE ALWAYS TRIGGER svm_version_changed;

SELECT pg_catalog.pg_extension_config_dump('svm_model', '');
SELECT pg_catalog.pg_extension_config_dump('svm_version', '');
SELECT pg_catalog.pg_extension_config_dump('svm_weight', '');
SELECT pg_catalog.pg_extension_config_dump('svm_dual', '');

-- One binary problem of a version: of two classes the only one, of more each class against the rest, by its place in
-- label_values. Versions stored before this table was there have no row; theirs is what svm_version says.
CREATE TABLE svm_head (
    version_id bigint NOT NULL,
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
    -- of Pegasos: how many updates its dual variables come from, those of the versions that it continues included
    updates bigint,
    -- of a truncated loss: its objective, and the rows beyond; in primal and dual those cost a constant
    truncated_primal float8,
    outliers bigint,
    PRIMARY KEY (version_id, head)
);

-- Which rows a version with a key was trained on, in chunks of at most 16384 rows, so that the model can follow them.
-- What the bytes are stands in src/keys/chunks.rs; a text or uuid is not kept, only a hash of it.
CREATE TABLE svm_key (
    version_id bigint NOT NULL,
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
    version_id bigint NOT NULL,
    head int NOT NULL CHECK (head >= 0),
    first_row bigint NOT NULL CHECK (first_row >= 0),
    -- two bits a row, the first row lowest: 0 is 0, 1 and 2 are common[1] and common[2], 3 the next of duals
    states bytea NOT NULL,
    -- the values that most rows share: those at their bound
    common real[] NOT NULL,
    duals real[] NOT NULL,
    PRIMARY KEY (version_id, head, first_row)
);

-- What happened when in a training: arrays of equal length, an entry for each pass, sweep of the cache or block. Versions
-- stored before this table was there have no row.
CREATE TABLE svm_log (
    version_id bigint PRIMARY KEY,
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
    evictions bigint[] NOT NULL,
    -- NULL of versions of 0.2.0
    projected_gradient float8[],
    -- on the rows of the relation that was watched; NULL where none was
    test_error float8[],
    test_auc float8[]
);

-- A role other than the owner that may see a model and predict with it.
CREATE TABLE svm_permission (
    model_id bigint NOT NULL,
    -- the model's owner again, so that a policy knows whose row it is without a look at the model
    owner name NOT NULL,
    -- by name, as the owner is; 'public' stands for every role
    grantee name NOT NULL CHECK (grantee <> ''),
    -- as in svm_model
    owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED,
    grantee_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(grantee)) STORED,
    PRIMARY KEY (model_id, grantee)
);
CREATE TRIGGER svm_permission_changed AFTER INSERT OR UPDATE OR DELETE ON svm_permission
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_changed();
ALTER TABLE svm_permission ENABLE ALWAYS TRIGGER svm_permission_changed;

-- Weights come with their version, but where the first copy of logical replication takes table by table: there backends
-- read again what they keep.
CREATE FUNCTION svm_internal.svm_weight_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'svm_weight_changed_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_weight_changed() FROM PUBLIC;

CREATE TRIGGER svm_head_changed AFTER INSERT OR UPDATE OR DELETE ON svm_head
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_weight_changed();
CREATE TRIGGER svm_weight_changed AFTER INSERT OR UPDATE OR DELETE ON svm_weight
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_weight_changed();
ALTER TABLE svm_head ENABLE REPLICA TRIGGER svm_head_changed;
ALTER TABLE svm_weight ENABLE REPLICA TRIGGER svm_weight_changed;

SELECT pg_catalog.pg_extension_config_dump('svm_head', '');
SELECT pg_catalog.pg_extension_config_dump('svm_permission', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key', '');
SELECT pg_catalog.pg_extension_config_dump('svm_key_dual', '');
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
