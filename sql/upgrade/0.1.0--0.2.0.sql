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
