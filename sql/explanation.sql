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
    mean float8,
    -- words, or values, with features of their own
    vocabulary bigint,
    -- of the distinct values that training met and hashed, the share whose feature is that of another one
    collisions float8
)
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_features_wrapper';
COMMENT ON FUNCTION svm_features IS 'what was decided for each column that a model reads';

CREATE OR REPLACE FUNCTION svm_explain(
    model text, features anyelement, top_n int DEFAULT 10, class anycompatible DEFAULT NULL::text,
    baseline text DEFAULT 'zero',
    OUT class text, OUT feature text, OUT value float8, OUT weight float8, OUT contribution float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 12 AS 'MODULE_PATHNAME', 'svm_explain_wrapper';
COMMENT ON FUNCTION svm_explain(text, anyelement, int, anycompatible, text) IS
    'what the features of a row add to the decision, the largest contributions first; they sum to the decision';

CREATE OR REPLACE FUNCTION svm_explain(
    model text, features text, top_n int DEFAULT 10, class anycompatible DEFAULT NULL::text,
    baseline text DEFAULT 'zero',
    OUT class text, OUT feature text, OUT value float8, OUT weight float8, OUT contribution float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 12 AS 'MODULE_PATHNAME', 'svm_explain_wrapper';
COMMENT ON FUNCTION svm_explain(text, text, int, anycompatible, text) IS
    'what the features of a row add to the decision, the largest contributions first; they sum to the decision';

CREATE OR REPLACE FUNCTION svm_expand(
    model text, features anyelement, OUT "position" bigint, OUT feature text, OUT value float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 100 AS 'MODULE_PATHNAME', 'svm_expand_wrapper';
COMMENT ON FUNCTION svm_expand(text, anyelement) IS
    'the features that a model makes of a row and that are not 0, with their positions, from 1';

CREATE OR REPLACE FUNCTION svm_expand(
    model text, features text, OUT "position" bigint, OUT feature text, OUT value float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE ROWS 100 AS 'MODULE_PATHNAME', 'svm_expand_wrapper';
COMMENT ON FUNCTION svm_expand(text, text) IS
    'the features that a model makes of a row and that are not 0, with their positions, from 1';

CREATE OR REPLACE FUNCTION svm_internal.svm_weights_unordered(
    model text, OUT head int, OUT class text, OUT feature text, OUT weight float8, OUT standardized float8,
    OUT importance float8, OUT index bigint, OUT "position" bigint
) RETURNS SETOF record
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_weights_unordered_wrapper';
COMMENT ON FUNCTION svm_internal.svm_weights_unordered(text) IS 'what svm_weights returns, in any order and without sorting';

CREATE OR REPLACE FUNCTION svm_weights(model text) RETURNS TABLE (
    class text,
    feature text,
    weight float8,
    -- times the feature's standard deviation in the rows trained on; NULL where that is not known
    standardized float8,
    -- share in the standardized weights of the class, by amount
    importance float8,
    -- of an array's element, or sparse
    index bigint
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT learned.class, learned.feature, learned.weight, learned.standardized, learned.importance, learned.index
    FROM svm_internal.svm_weights_unordered(svm_weights.model) AS learned
    ORDER BY learned.head, learned.importance DESC NULLS LAST, pg_catalog.abs(learned.weight) DESC, learned."position";
END;
COMMENT ON FUNCTION svm_weights(text) IS
    'the weights of a model that are not zero by class and feature, the most important first, the intercept among them';

CREATE OR REPLACE FUNCTION svm_suspects(
    model text, relation regclass, n int DEFAULT 20, folds int DEFAULT NULL,
    OUT example jsonb, OUT label text, OUT predicted text, OUT margin float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'svm_suspects_wrapper';
COMMENT ON FUNCTION svm_suspects(text, regclass, int, int) IS
    'the rows of a relation whose labels the model doubts, the most doubtful first; with folds, machines that have not seen a row judge it';
CREATE OR REPLACE FUNCTION svm_suspects(
    model text, source text, n int DEFAULT 20, folds int DEFAULT NULL,
    OUT example jsonb, OUT label text, OUT predicted text, OUT margin float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'svm_suspects_wrapper';
COMMENT ON FUNCTION svm_suspects(text, text, int, int) IS
    'the rows of a relation, by its name, or of a query whose labels the model doubts, the most doubtful first; with folds, machines that have not seen a row judge it';

CREATE OR REPLACE FUNCTION svm_as_sql(model text, class anycompatible DEFAULT NULL::text) RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_as_sql_wrapper';
COMMENT ON FUNCTION svm_as_sql(text, anycompatible) IS
    'the decision of a model as an SQL expression over its columns, for any database';
