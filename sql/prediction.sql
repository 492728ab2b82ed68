-- Prediction
-- COST: a prediction from a row of eight columns was measured to take 0.55 us, an integer addition 0.010 us (a million rows,
-- sums of svm_decision('m', t) and of i + 1 + 1 + …, less the same without); from an array of eight numbers it is cheaper than
-- fetching the array.

-- features: a row, an array of numbers, or a text in LIBSVM notation.

CREATE OR REPLACE FUNCTION svm_decision(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
CREATE OR REPLACE FUNCTION svm_decision(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
COMMENT ON FUNCTION svm_decision(text, anyelement) IS
    'weights times features plus intercept: positive on the side of the positive label';
COMMENT ON FUNCTION svm_decision(text, text) IS
    'weights times features plus intercept: positive on the side of the positive label';

CREATE OR REPLACE FUNCTION svm_predict(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
CREATE OR REPLACE FUNCTION svm_predict(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
COMMENT ON FUNCTION svm_predict(text, anyelement) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';
COMMENT ON FUNCTION svm_predict(text, text) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';

CREATE OR REPLACE FUNCTION svm_predict_quantiles(model text, features anyelement) RETURNS float8[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_quantiles_wrapper';
CREATE OR REPLACE FUNCTION svm_predict_quantiles(model text, features text) RETURNS float8[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_quantiles_wrapper';
COMMENT ON FUNCTION svm_predict_quantiles(text, anyelement) IS 'the quantiles of the label that a model of loss ''quantile'' predicts, ascending';
COMMENT ON FUNCTION svm_predict_quantiles(text, text) IS 'the quantiles of the label that a model of loss ''quantile'' predicts, ascending';

CREATE OR REPLACE FUNCTION svm_classify(model text, features anyelement) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
CREATE OR REPLACE FUNCTION svm_classify(model text, features text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
COMMENT ON FUNCTION svm_classify(text, anyelement) IS 'the predicted label as text';
COMMENT ON FUNCTION svm_classify(text, text) IS 'the predicted label as text';

CREATE OR REPLACE FUNCTION svm_classify(model text, features anyelement, threshold float8) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_by_threshold_wrapper';
CREATE OR REPLACE FUNCTION svm_classify(model text, features text, threshold float8) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_by_threshold_wrapper';
COMMENT ON FUNCTION svm_classify(text, anyelement, float8) IS
    'the larger of two labels where its probability is at least the threshold, else the smaller one';
COMMENT ON FUNCTION svm_classify(text, text, float8) IS
    'the larger of two labels where its probability is at least the threshold, else the smaller one';

CREATE OR REPLACE FUNCTION svm_decision(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_for_wrapper';
CREATE OR REPLACE FUNCTION svm_decision(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_for_wrapper';
COMMENT ON FUNCTION svm_decision(text, anyelement, anycompatible) IS
    'how far the model speaks for a class: of two classes the second has the decision, the first its negative';
COMMENT ON FUNCTION svm_decision(text, text, anycompatible) IS
    'how far the model speaks for a class: of two classes the second has the decision, the first its negative';

CREATE OR REPLACE FUNCTION svm_predict(model text, features anyelement, type anycompatible) RETURNS anycompatible
    LANGUAGE c STABLE PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_as_wrapper';
CREATE OR REPLACE FUNCTION svm_predict(model text, features text, type anycompatible) RETURNS anycompatible
    LANGUAGE c STABLE PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_as_wrapper';
COMMENT ON FUNCTION svm_predict(text, anyelement, anycompatible) IS
    'the predicted label as a value of the type of the third argument: svm_predict(model, features, NULL::boolean)';
COMMENT ON FUNCTION svm_predict(text, text, anycompatible) IS
    'the predicted label as a value of the type of the third argument: svm_predict(model, features, NULL::boolean)';

CREATE OR REPLACE FUNCTION svm_margin(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_margin_wrapper';
CREATE OR REPLACE FUNCTION svm_margin(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_margin_wrapper';
COMMENT ON FUNCTION svm_margin(text, anyelement, anycompatible) IS
    'the decision for a class, of more than two less the largest one of another: negative where the model predicts another class';
COMMENT ON FUNCTION svm_margin(text, text, anycompatible) IS
    'the decision for a class, of more than two less the largest one of another: negative where the model predicts another class';

CREATE OR REPLACE FUNCTION svm_probability(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_probability_wrapper';
CREATE OR REPLACE FUNCTION svm_probability(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_probability_wrapper';
COMMENT ON FUNCTION svm_probability(text, anyelement) IS
    'the probability of the positive label, of a model of two classes with probabilities';
COMMENT ON FUNCTION svm_probability(text, text) IS
    'the probability of the positive label, of a model of two classes with probabilities';

CREATE OR REPLACE FUNCTION svm_probability(model text, features anyelement, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_probability_for_wrapper';
CREATE OR REPLACE FUNCTION svm_probability(model text, features text, class anycompatible) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_probability_for_wrapper';
COMMENT ON FUNCTION svm_probability(text, anyelement, anycompatible) IS
    'the probability of a class, of a model with probabilities';
COMMENT ON FUNCTION svm_probability(text, text, anycompatible) IS
    'the probability of a class, of a model with probabilities';

-- What svm_evaluate and its kin call for the rows of a subquery, which are records: no function of anybody's can match such
-- a call better.
CREATE OR REPLACE FUNCTION svm_internal.svm_row_class(model text, features record) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_decision(model text, features record) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_quantiles(model text, features record) RETURNS float8[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_quantiles_wrapper';
COMMENT ON FUNCTION svm_internal.svm_row_quantiles(text, record) IS 'part of svm_evaluate';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_answers(model text, features record) RETURNS float8[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_answers_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_margin(model text, features record, class text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_margin_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_unseen(model text, features record) RETURNS bigint[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_row_unseen_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_row_libsvm(model text, features record, scaled boolean) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_row_libsvm_wrapper';
COMMENT ON FUNCTION svm_internal.svm_row_libsvm(text, record, boolean) IS 'part of svm_export_rows';
COMMENT ON FUNCTION svm_internal.svm_row_unseen(text, record) IS 'part of svm_evaluate';
COMMENT ON FUNCTION svm_internal.svm_row_class(text, record) IS 'part of svm_evaluate';
COMMENT ON FUNCTION svm_internal.svm_row_decision(text, record) IS 'part of svm_evaluate';
COMMENT ON FUNCTION svm_internal.svm_row_answers(text, record) IS 'part of svm_evaluate';
COMMENT ON FUNCTION svm_internal.svm_row_margin(text, record, text) IS 'part of svm_suspects';

-- What functions made by svm_create_function call with their owner's rights: nobody but superusers creates functions in this schema, or
-- renames it.
CREATE OR REPLACE FUNCTION svm_internal.svm_decision(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_classify(model text, features anyelement) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_predict(model text, features anyelement, type anycompatible) RETURNS anycompatible
    LANGUAGE c STABLE PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_predict_as_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_probability(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_probability_wrapper';
COMMENT ON FUNCTION svm_internal.svm_decision(text, anyelement) IS 'part of functions that svm_create_function made';
COMMENT ON FUNCTION svm_internal.svm_classify(text, anyelement) IS 'part of functions that svm_create_function made';
COMMENT ON FUNCTION svm_internal.svm_predict(text, anyelement, anycompatible) IS 'part of functions that svm_create_function made';
COMMENT ON FUNCTION svm_internal.svm_probability(text, anyelement) IS 'part of functions that svm_create_function made';

CREATE OR REPLACE FUNCTION svm_predict_query(model text, query text, key text DEFAULT NULL)
    RETURNS TABLE (row_number bigint, row_key text, label text, decision float8, probability float8)
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'svm_predict_query_wrapper';
COMMENT ON FUNCTION svm_predict_query(text, text, text) IS
    'the answers of a model for the rows of a SELECT or of the relation named, which are read in batches; row_key is the column key of it, as text';

CREATE OR REPLACE FUNCTION svm_predict_set(
    model text, features anyelement, top_n int DEFAULT NULL,
    OUT rank int, OUT class text, OUT decision float8, OUT probability float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 50 ROWS 10 AS 'MODULE_PATHNAME', 'svm_predict_set_wrapper';
COMMENT ON FUNCTION svm_predict_set(text, anyelement, int) IS
    'the classes of the model, the one predicted first: by decisions, or by probabilities where classes_by in svm_versions says so';

CREATE OR REPLACE FUNCTION svm_predict_set(
    model text, features text, top_n int DEFAULT NULL,
    OUT rank int, OUT class text, OUT decision float8, OUT probability float8
) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 50 ROWS 10 AS 'MODULE_PATHNAME', 'svm_predict_set_wrapper';
COMMENT ON FUNCTION svm_predict_set(text, text, int) IS
    'the classes of the model, the one predicted first: by decisions, or by probabilities where classes_by in svm_versions says so';

CREATE OR REPLACE FUNCTION svm_interval(
    model text, features anyelement, coverage float8 DEFAULT 0.9, OUT lower float8, OUT upper float8
) RETURNS record
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_interval_wrapper';
CREATE OR REPLACE FUNCTION svm_interval(
    model text, features text, coverage float8 DEFAULT 0.9, OUT lower float8, OUT upper float8
) RETURNS record
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'svm_interval_wrapper';
COMMENT ON FUNCTION svm_interval(text, anyelement, float8) IS
    'of a regression, between which numbers the label lies with this probability';
COMMENT ON FUNCTION svm_interval(text, text, float8) IS
    'of a regression, between which numbers the label lies with this probability';

CREATE OR REPLACE FUNCTION svm_create_function(
    model text,
    name text DEFAULT NULL,
    kind text DEFAULT 'class',
    immutable boolean DEFAULT false
) RETURNS regprocedure
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_create_function_wrapper';
COMMENT ON FUNCTION svm_create_function(text, text, text, boolean) IS
    'creates a function that predicts with this model, for roles that are granted EXECUTE on it, or immutable, for indexes';

-- The language of functions that hold a model, which svm_create_function makes.
CREATE OR REPLACE FUNCTION svm_internal.svm_language_call() RETURNS language_handler
    LANGUAGE c AS 'MODULE_PATHNAME', 'svm_language_call_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_language_check(function oid) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'svm_language_check_wrapper';
COMMENT ON FUNCTION svm_internal.svm_language_call() IS 'part of the language pgsvm';
COMMENT ON FUNCTION svm_internal.svm_language_check(oid) IS 'part of the language pgsvm';
CREATE OR REPLACE TRUSTED LANGUAGE pgsvm
    HANDLER svm_internal.svm_language_call VALIDATOR svm_internal.svm_language_check;
COMMENT ON LANGUAGE pgsvm IS 'functions that hold a model, as svm_create_function(…, immutable => true) makes them';
