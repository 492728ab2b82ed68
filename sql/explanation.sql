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
