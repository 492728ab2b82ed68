-- From 0.1.0: many classes, weights of classes and rows, choice of C, probabilities.

ALTER TABLE svm_version
    DROP CONSTRAINT svm_version_label_values_check,
    ADD CONSTRAINT svm_version_label_values_check CHECK (pg_catalog.cardinality(label_values) >= 2),
    DROP CONSTRAINT svm_version_nulls_check,
    ADD CONSTRAINT svm_version_nulls_check CHECK (nulls IN ('error', 'skip', 'zero', 'mean')),
    ADD class_weight jsonb,
    ADD weight_column text,
    ADD validation jsonb;

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

ALTER TABLE svm_head ENABLE ROW LEVEL SECURITY;
CREATE POLICY svm_head_owner ON svm_head USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON svm_head TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('svm_head', '');
