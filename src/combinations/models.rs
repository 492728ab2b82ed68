//! Kinds of models of which a function or a format cannot say something.

use super::combinations;

combinations! {
    kernel_liblinear(model, libsvm, name) {
        what: "LIBLINEAR's format",
        with: "a kernel machine",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" is a kernel machine, which has no weight for each feature: LIBLINEAR's format is for linear models",
        reason: "The format holds weights of features only.",
        hint: "{libsvm}svm_export({name}, format => 'pgsvm') writes all of the model for another database.",
    }
    unit_rows_liblinear(model) {
        what: "LIBLINEAR's format",
        with: "\"normalize_rows\"",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" divides rows by their length, which LIBLINEAR's format cannot say",
        reason: "The format holds weights only.",
        hint: "format => 'pgsvm' carries it to another database, svm_as_sql writes it as an expression.",
    }
    classes_libsvm(model, classes, training) {
        what: "LIBSVM's format",
        with: "more than two classes, each against the rest",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" has {classes} classes and no machine for each pair of them, as LIBSVM's format has",
        reason: "LIBSVM has a machine for each pair of classes.",
        hint: "Train one that has: {training}; or format => 'pgsvm' carries the model to another database",
    }
    unwritten_features(features, model, because, name) {
        what: "svm_as_sql",
        with: "features of several values, hashed categories, texts, sparse features",
        why: not_yet,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "features {features} of model \"{model}\" cannot be written as an SQL expression",
        detail: "{because}",
        reason: "SQL has no short form for them, nor a hash function that all databases have.",
        hint: "Their weights: SELECT * FROM svm_weights('{name}').",
    }
    large_machine(model, landmarks, features, most, columns, name) {
        what: "svm_as_sql",
        with: "a kernel machine of more than 200000 numbers, or 1600 features",
        why: decision,
        code: ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        message: "model \"{model}\" has {landmarks} landmarks of {features} features, too many for an SQL expression",
        detail: "Landmarks and factors may be up to {most} numbers, in up to {columns} columns.",
        reason: "A server takes 1.5 kB and some microseconds for each number of an expression, each time that it plans it.",
        hint: "A function that holds the model: SELECT svm_create_function('{name}', immutable => true); or train it with a smaller rank",
    }
    many_columns(model, columns, most, feature) {
        what: "svm_create_function(…, immutable => true)",
        with: "more columns than a function has arguments, if they are not all numbers",
        why: decision,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" reads {columns} columns, too many for the arguments of a function",
        detail: "More than {most} come as one array of numbers, and \"{feature}\" is no number.",
        reason: "More columns come as one array of numbers.",
        hint: "An expression of any number of columns: SELECT svm_as_sql(…).",
    }
    no_classes(model, name) {
        what: "a regression",
        with: "svm_classify, svm_probability, svm_margin, svm_predict_set, svm_confusion, svm_roc, a decision for a class",
        why: mathematics,
        message: "model \"{model}\" predicts a number, not a class",
        reason: "A regression has no classes.",
        hint: "svm_predict('{name}', …) is the number, svm_interval('{name}', …) says how sure it is, svm_evaluate('{name}', …) how good the model is",
    }
    interval_classes(model, name) {
        what: "svm_interval",
        with: "a model of classes",
        why: mathematics,
        message: "model \"{model}\" predicts a class, and an interval is around a number",
        reason: "Classes have no distance from a prediction.",
        hint: "How sure it is of each class: svm_predict_set('{name}', …); of the larger of two: svm_probability('{name}', …)",
    }
    interval(model, training) {
        what: "svm_interval",
        with: "a regression without rows held out",
        why: mathematics,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" does not know how far its predictions are off",
        reason: "How far they are off is told by rows that were held out.",
        hint: "Train it again with intervals: {training}.",
    }
    no_quantiles(model, name) {
        what: "svm_predict_quantiles",
        with: "a model whose loss is not 'quantile'",
        why: mathematics,
        message: "model \"{model}\" does not predict quantiles",
        reason: "Other losses predict no quantile.",
        hint: "svm_predict('{name}', …); or a model trained with loss => 'quantile'",
    }
    quantiles_in_files(model) {
        what: "a model of loss 'quantile'",
        with: "svm_export in the formats of LIBLINEAR and LIBSVM",
        why: mathematics,
        message: "model \"{model}\" predicts a quantile, which LIBLINEAR and LIBSVM do not know",
        reason: "They have no solver for this loss.",
        hint: "format => 'pgsvm' writes all of the model for another database",
    }
    function_classes(model, classes, noun) {
        what: "svm_create_function(…, kind => 'decision' or 'probability')",
        with: "more than two classes",
        why: decision,
        message: "model \"{model}\" has {classes} classes, and a {noun} for each",
        reason: "A function returns one number, and there is one for each class.",
        hint: "kind => 'class' is for any number of classes",
    }
    function_probability(model, training) {
        what: "svm_create_function(…, kind => 'probability')",
        with: "a model without probabilities",
        why: mathematics,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" has no probabilities",
        reason: "Probabilities are fitted by the training.",
        hint: "kind => 'decision' needs none; or train again with them: {training}",
    }
    probability(model, training) {
        what: "svm_probability",
        with: "a model without probabilities",
        why: mathematics,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" has no probabilities",
        reason: "Probabilities are fitted by the training.",
        hint: "Train it again with them: {training}.",
    }
    threshold_probability(model, training, name) {
        what: "a threshold for svm_classify",
        with: "a model without probabilities",
        why: mathematics,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" has no probabilities",
        reason: "A threshold is compared with a probability.",
        hint: "Train it again with them: {training}. Or compare the decision, which is 0 between the classes: svm_decision('{name}', …) >= -0.5.",
    }
    threshold_classes(model, classes, name, class, threshold) {
        what: "a threshold for svm_classify",
        with: "more than two classes",
        why: mathematics,
        message: "model \"{model}\" has {classes} classes, a threshold is for two",
        reason: "With more classes a threshold does not say which class is predicted below it.",
        hint: "For one of them: svm_probability('{name}', …, '{class}') >= {threshold}.",
    }
    roc_classes(model, classes, schema, name, label, class) {
        what: "svm_roc",
        with: "more than two classes",
        why: mathematics,
        code: ERRCODE_WRONG_OBJECT_TYPE,
        message: "model \"{model}\" has {classes} classes, a ROC curve is of two",
        reason: "It is about one class against another.",
        hint: "For one class against the rest: SELECT unnest({schema}.svm_roc_points(svm_decision({name}, t, {class}), {label} = {class})) FROM … AS t.",
    }
    baseline_mean(model) {
        what: "svm_explain(…, baseline => 'mean')",
        with: "more than 4096 features, \"normalize_rows\", a model of 0.2.0",
        why: decision,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" does not know the means of its features",
        detail: "Models of this version with up to 4096 features know them, except with \"normalize_rows\".",
        hint: "Take baseline => 'zero'; a model trained before means were kept can be trained again",
    }
    scaled_rows(model) {
        what: "svm_export_rows(…, scaled => true)",
        with: "a linear model of scale => 'maxabs' or 'minmax', or of 0.2.0",
        why: not_yet,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" does not keep how its rows were scaled",
        reason: "Linear models keep means and standard deviations; other scalings are folded into the weights. Kernel machines keep every scaling.",
        hint: "scaled => false writes the values as they come; scale => 'none' has a training take them so.",
    }
    imported(model, name) {
        what: "svm_refresh, svm_update, svm_forget, \"warm_start\", svm_suspects with folds",
        with: "an imported model",
        why: mathematics,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" was imported and cannot follow a table",
        reason: "Nothing is known of the rows that it was trained on.",
        hint: "Train one on a table whose rows have a key: SELECT svm_train('…', '…', model => {name}, key => '…')",
    }
}
