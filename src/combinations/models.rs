//! Kinds of models that a function or a format cannot say.

use super::combinations;

combinations! {
    kernel(model, what, name, training) {
        what: "svm_as_sql, \"warm_start\" from it",
        with: "a kernel machine",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" is a kernel machine, which has no weight for each feature: {what} is for linear models",
        reason: "They have a place for weights of features alone.",
        hint: "svm_predict('{name}', …) and svm_evaluate('{name}', …) work here; or train a linear model: {training}",
    }
    kernel_liblinear(model, libsvm, name) {
        what: "LIBLINEAR's format",
        with: "a kernel machine",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" is a kernel machine, which has no weight for each feature: LIBLINEAR's format is for linear models",
        reason: "The format has weights of features alone.",
        hint: "{libsvm}svm_export({name}, format => 'pgsvm') writes all of the model for another database.",
    }
    unit_rows_liblinear(model) {
        what: "LIBLINEAR's format",
        with: "\"normalize_rows\"",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" divides rows by their length, which LIBLINEAR's format cannot say",
        reason: "The format has weights alone.",
        hint: "format => 'pgsvm' carries it to another database, svm_as_sql writes it as an expression.",
    }
    classes_libsvm(model, classes) {
        what: "LIBSVM's format",
        with: "more than two classes",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "model \"{model}\" has {classes} classes, each against the rest, which LIBSVM's format cannot say",
        detail: "LIBSVM has a machine for each pair of classes.",
        hint: "format => 'pgsvm' carries it to another database; a model of one class against the rest can be exported: svm_train_query('SELECT *, label = ''a'' AS is_a FROM …', 'is_a')",
    }
}
