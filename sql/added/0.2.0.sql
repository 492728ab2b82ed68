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
