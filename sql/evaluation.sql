-- Evaluation: how good predictions are, in one scan

CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_add(internal, actual anycompatible, predicted anycompatible) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_add(
    internal, actual anycompatible, predicted anycompatible, positive anycompatible
) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_final(internal, actual anycompatible, predicted anycompatible)
RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_metrics_final(
    internal, actual anycompatible, predicted anycompatible, positive anycompatible
) RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
COMMENT ON FUNCTION svm_internal.svm_metrics_add(internal, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_add(internal, anycompatible, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_combine IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_serialize IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_deserialize IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_final(internal, anycompatible, anycompatible) IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_metrics_final(internal, anycompatible, anycompatible, anycompatible) IS 'part of svm_metrics';

CREATE OR REPLACE AGGREGATE svm_metrics(actual anycompatible, predicted anycompatible) (
    SFUNC = svm_internal.svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(
    actual anycompatible, predicted anycompatible, positive anycompatible
) (
    SFUNC = svm_internal.svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_metrics(anycompatible, anycompatible) IS
    'accuracy and its kin; precision, recall and f1 of the larger of two classes, of more the mean over the classes';
COMMENT ON AGGREGATE svm_metrics(anycompatible, anycompatible, anycompatible) IS
    'accuracy and its kin; precision, recall and f1 of the class named';

-- The same of labels that are text: what svm_evaluate calls, which no aggregate of anybody's can match better.
-- A label of any type beside the text that svm_classify makes of it, and a text beside a boolean.
CREATE OR REPLACE FUNCTION svm_internal.svm_mixed_metrics_add(internal, actual "any", predicted "any") RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_mixed_metrics_add(internal, actual "any", predicted "any", positive "any") RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_mixed_metrics_final(internal, actual "any", predicted "any") RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_mixed_metrics_final(internal, actual "any", predicted "any", positive "any")
RETURNS svm_metric_values
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_metrics_final_wrapper';
COMMENT ON FUNCTION svm_internal.svm_mixed_metrics_add(internal, "any", "any") IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_mixed_metrics_add(internal, "any", "any", "any") IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_mixed_metrics_final(internal, "any", "any") IS 'part of svm_metrics';
COMMENT ON FUNCTION svm_internal.svm_mixed_metrics_final(internal, "any", "any", "any") IS 'part of svm_metrics';
CREATE OR REPLACE AGGREGATE svm_metrics(actual anyelement, predicted text) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(actual anyelement, predicted text, positive anyelement) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(actual text, predicted boolean) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(actual text, predicted boolean, positive boolean) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
-- what a text and a literal are, which would be a boolean else
CREATE OR REPLACE AGGREGATE svm_metrics(actual text, predicted text) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_metrics(actual text, predicted text, positive text) (
    SFUNC = svm_internal.svm_mixed_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_mixed_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_metrics(text, text) IS
    'accuracy, balanced accuracy, precision, recall and F1, of classes as texts';
COMMENT ON AGGREGATE svm_metrics(text, text, text) IS
    'accuracy, balanced accuracy, precision, recall and F1, of classes as texts';
COMMENT ON AGGREGATE svm_metrics(anyelement, text) IS
    'accuracy, balanced accuracy, precision, recall and F1, of a class and the text of one';
COMMENT ON AGGREGATE svm_metrics(anyelement, text, anyelement) IS
    'accuracy, balanced accuracy, precision, recall and F1, of a class and the text of one';
COMMENT ON AGGREGATE svm_metrics(text, boolean) IS
    'accuracy, balanced accuracy, precision, recall and F1, of a class and the text of one';
COMMENT ON AGGREGATE svm_metrics(text, boolean, boolean) IS
    'accuracy, balanced accuracy, precision, recall and F1, of a class and the text of one';
CREATE OR REPLACE AGGREGATE svm_internal.svm_label_metrics(actual text, predicted text) (
    SFUNC = svm_internal.svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
CREATE OR REPLACE AGGREGATE svm_internal.svm_label_metrics(actual text, predicted text, positive text) (
    SFUNC = svm_internal.svm_metrics_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = svm_internal.svm_metrics_final,
    FINALFUNC_EXTRA,
    COMBINEFUNC = svm_internal.svm_metrics_combine,
    SERIALFUNC = svm_internal.svm_metrics_serialize,
    DESERIALFUNC = svm_internal.svm_metrics_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_internal.svm_label_metrics(text, text) IS 'part of svm_evaluate';
COMMENT ON AGGREGATE svm_internal.svm_label_metrics(text, text, text) IS 'part of svm_evaluate';

CREATE OR REPLACE FUNCTION svm_internal.svm_ranking_add(internal, decision float8, positive boolean) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_ranking_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_ranking_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_ranking_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_ranking_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_auc_final(internal) RETURNS float8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_auc_final_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_roc_points_final(internal) RETURNS svm_roc_point[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_roc_points_final_wrapper';
COMMENT ON FUNCTION svm_internal.svm_ranking_add IS 'part of svm_auc and svm_roc_points';
COMMENT ON FUNCTION svm_internal.svm_ranking_combine IS 'part of svm_auc, svm_roc_points and svm_median';
COMMENT ON FUNCTION svm_internal.svm_ranking_serialize IS 'part of svm_auc, svm_roc_points and svm_median';
COMMENT ON FUNCTION svm_internal.svm_ranking_deserialize IS 'part of svm_auc, svm_roc_points and svm_median';
COMMENT ON FUNCTION svm_internal.svm_auc_final IS 'part of svm_auc';
COMMENT ON FUNCTION svm_internal.svm_roc_points_final IS 'part of svm_roc_points';

CREATE OR REPLACE AGGREGATE svm_auc(decision float8, positive boolean) (
    SFUNC = svm_internal.svm_ranking_add,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = svm_internal.svm_auc_final,
    COMBINEFUNC = svm_internal.svm_ranking_combine,
    SERIALFUNC = svm_internal.svm_ranking_serialize,
    DESERIALFUNC = svm_internal.svm_ranking_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_auc(float8, boolean) IS
    'the area under the ROC curve: how often a positive row has the larger decision than a negative one';
CREATE OR REPLACE AGGREGATE svm_roc_points(decision float8, positive boolean) (
    SFUNC = svm_internal.svm_ranking_add,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = svm_internal.svm_roc_points_final,
    COMBINEFUNC = svm_internal.svm_ranking_combine,
    SERIALFUNC = svm_internal.svm_ranking_serialize,
    DESERIALFUNC = svm_internal.svm_ranking_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_roc_points(float8, boolean) IS 'the ROC curve as at most 1000 points, from (0, 0) to (1, 1)';

-- the median of numbers, exact as long as there are no more than 262,144 different ones
CREATE OR REPLACE FUNCTION svm_internal.svm_median_add(internal, value float8) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_median_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_median_final(internal) RETURNS float8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_median_final_wrapper';
COMMENT ON FUNCTION svm_internal.svm_median_add IS 'part of svm_median';
COMMENT ON FUNCTION svm_internal.svm_median_final IS 'part of svm_median';
CREATE OR REPLACE AGGREGATE svm_internal.svm_median(value float8) (
    SFUNC = svm_internal.svm_median_add,
    STYPE = internal,
    SSPACE = 65536,
    FINALFUNC = svm_internal.svm_median_final,
    COMBINEFUNC = svm_internal.svm_ranking_combine,
    SERIALFUNC = svm_internal.svm_ranking_serialize,
    DESERIALFUNC = svm_internal.svm_ranking_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_internal.svm_median(float8) IS 'part of svm_evaluate and svm_suspects';

CREATE OR REPLACE FUNCTION svm_internal.svm_log_loss_add(internal, probability float8, positive boolean) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_log_loss_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_log_loss_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_log_loss_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_deserialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_log_loss_final(internal) RETURNS float8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_log_loss_final_wrapper';
COMMENT ON FUNCTION svm_internal.svm_log_loss_add IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_internal.svm_log_loss_combine IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_internal.svm_log_loss_serialize IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_internal.svm_log_loss_deserialize IS 'part of svm_log_loss';
COMMENT ON FUNCTION svm_internal.svm_log_loss_final IS 'part of svm_log_loss';

CREATE OR REPLACE AGGREGATE svm_log_loss(probability float8, positive boolean) (
    SFUNC = svm_internal.svm_log_loss_add,
    STYPE = internal,
    SSPACE = 64,
    FINALFUNC = svm_internal.svm_log_loss_final,
    COMBINEFUNC = svm_internal.svm_log_loss_combine,
    SERIALFUNC = svm_internal.svm_log_loss_serialize,
    DESERIALFUNC = svm_internal.svm_log_loss_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_log_loss(float8, boolean) IS 'the mean of -ln(probability given to what was)';

CREATE OR REPLACE FUNCTION svm_evaluate(
    model text, relation regclass, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    rows bigint,
    accuracy float8,
    balanced_accuracy float8,
    "precision" float8,
    recall float8,
    f1 float8,
    auc float8,
    log_loss float8,
    rows_left_out bigint,
    -- of all words of texts, the share that the model's vocabularies do not have
    unseen_words float8,
    -- rows with a category, and with a label, that training has not seen
    unseen_categories bigint,
    unseen_labels bigint,
    -- of a regression, in the units of the label; the others are of classes
    rmse float8,
    mae float8,
    r2 float8,
    -- of quantiles: the mean of their losses
    pinball float8,
    -- of a regression: half of the errors are no larger
    median_absolute_error float8
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'svm_evaluate_wrapper';
COMMENT ON FUNCTION svm_evaluate(text, regclass, text, text) IS
    'how well a model predicts the labels of a relation, in one scan';
CREATE OR REPLACE FUNCTION svm_evaluate(
    model text, source text, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    rows bigint,
    accuracy float8,
    balanced_accuracy float8,
    "precision" float8,
    recall float8,
    f1 float8,
    auc float8,
    log_loss float8,
    rows_left_out bigint,
    unseen_words float8,
    unseen_categories bigint,
    unseen_labels bigint,
    -- of a regression, in the units of the label; the others are of classes
    rmse float8,
    mae float8,
    r2 float8,
    -- of quantiles: the mean of their losses
    pinball float8,
    -- of a regression: half of the errors are no larger
    median_absolute_error float8
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'svm_evaluate_wrapper';
COMMENT ON FUNCTION svm_evaluate(text, text, text, text) IS
    'how well a model predicts the labels of a relation, in one scan; of a relation, by its name, or of a query';

CREATE OR REPLACE FUNCTION svm_confusion(
    model text, relation regclass, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    actual text,
    predicted text,
    rows bigint
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 4 AS 'MODULE_PATHNAME', 'svm_confusion_wrapper';
COMMENT ON FUNCTION svm_confusion(text, regclass, text, text) IS
    'how many rows of each class a model predicts as which';
CREATE OR REPLACE FUNCTION svm_confusion(
    model text, source text, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    actual text,
    predicted text,
    rows bigint
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 4 AS 'MODULE_PATHNAME', 'svm_confusion_wrapper';
COMMENT ON FUNCTION svm_confusion(text, text, text, text) IS
    'how many rows of each class a model predicts as which; of a relation, by its name, or of a query';

CREATE OR REPLACE FUNCTION svm_roc(
    model text, relation regclass, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    threshold float8,
    false_positive_rate float8,
    true_positive_rate float8
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 1000 AS 'MODULE_PATHNAME', 'svm_roc_wrapper';
COMMENT ON FUNCTION svm_roc(text, regclass, text, text) IS
    'the ROC curve of a model of two classes: what taking rows from a decision on as positive would get right';
CREATE OR REPLACE FUNCTION svm_roc(
    model text, source text, label text DEFAULT NULL, features text DEFAULT NULL
)
RETURNS TABLE (
    threshold float8,
    false_positive_rate float8,
    true_positive_rate float8
)
    LANGUAGE c STABLE PARALLEL UNSAFE ROWS 1000 AS 'MODULE_PATHNAME', 'svm_roc_wrapper';
COMMENT ON FUNCTION svm_roc(text, text, text, text) IS
    'the ROC curve of a model of two classes: what taking rows from a decision on as positive would get right; of a relation, by its name, or of a query';
