//! What a regression does not go with.

use super::combinations;

combinations! {
    class_weight() {
        what: "task => 'regression'",
        with: "class_weight",
        why: mathematics,
        message: "a regression has no classes to weigh",
        reason: "Weights of classes belong to classes.",
        hint: "weight => 'column' weighs rows",
    }
    probability() {
        what: "task => 'regression'",
        with: "probability => true",
        why: mathematics,
        message: "a regression predicts a number, which has no probability",
        reason: "Probabilities are of classes.",
        hint: "Leave probability out; or task => 'classification', which takes each value for a class",
    }
    metric_of_classes(metric) {
        what: "task => 'regression'",
        with: "metric => 'accuracy', 'balanced_accuracy', 'f1', 'auc' or 'log_loss'",
        why: mathematics,
        message: "metric '{metric}' is of classes, and a regression predicts a number",
        reason: "These count rows by class.",
        hint: "metric => 'r2', or 'rmse' or 'mae'",
    }
    metric_of_quantiles() {
        what: "metric => 'pinball'",
        with: "loss => 'squared_epsilon_insensitive', 'epsilon_insensitive' or 'huber'",
        why: mathematics,
        message: "metric 'pinball' is of a quantile, and none is predicted",
        reason: "The pinball loss is one for each quantile.",
        hint: "loss => 'quantile'; or metric => 'mae', 'rmse' or 'r2'",
    }
    metric_of_numbers(metric) {
        what: "task => 'classification'",
        with: "metric => 'rmse', 'mae', 'r2' or 'pinball'",
        why: mathematics,
        message: "metric '{metric}' is of numbers, and classes are predicted",
        reason: "Classes have no distance from a prediction.",
        hint: "task => 'regression'; or metric => 'accuracy', 'balanced_accuracy', 'f1' or 'auc'",
    }
    intervals() {
        what: "task => 'classification'",
        with: "\"intervals\": true",
        why: mathematics,
        message: "intervals are around numbers, and classes are predicted",
        reason: "Classes have no distance from a prediction.",
        hint: "task => 'regression'; or probability => true, by which svm_predict_set says how sure a class is",
    }
    intervals_of_quantiles() {
        what: "loss => 'quantile'",
        with: "\"intervals\": true, svm_interval",
        why: decision,
        message: "quantiles say by themselves between which numbers labels lie",
        reason: "Two quantiles are an interval whose width differs from row to row.",
        hint: "svm_predict_quantiles has them: options => '{{\"quantiles\": [0.05, 0.95]}}'; or another loss",
    }
    newton(loss) {
        what: "solver => 'newton'",
        with: "loss => 'epsilon_insensitive' or 'quantile'",
        why: mathematics,
        message: "solver 'newton' minimizes smooth losses only, and loss '{loss}' is none",
        reason: "Newton's method needs a slope without jumps.",
        hint: "loss => 'squared_epsilon_insensitive', or solver => 'auto'",
    }
    planes(solver) {
        what: "solver => 'ocas' or 'cutting_plane'",
        with: "loss => 'squared_epsilon_insensitive'",
        why: decision,
        message: "solver '{solver}' minimizes straight losses only, and loss 'squared_epsilon_insensitive' is none",
        reason: "These are the published methods; for squares `'scan'` is Newton's method, which needs fewer scans.",
        hint: "loss => 'epsilon_insensitive', or solver => 'scan'",
    }
    huber(solver) {
        what: "loss => 'huber'",
        with: "solver => 'newton', 'scan', 'ocas' or 'cutting_plane', and \"inner\": \"newton\"",
        why: not_yet,
        message: "{solver} does not minimize loss 'huber' yet",
        reason: "Newton's method knows losses here that are squares however large they are, and planes know straight lines.",
        hint: "solver => 'auto'",
    }
    truncation() {
        what: "task => 'regression'",
        with: "\"truncation\"",
        why: not_yet,
        message: "the losses of a regression are not truncated yet",
        reason: "Nobody has measured which rows are outliers then.",
        hint: "Leave \"truncation\" out of the options",
    }
    together(option) {
        what: "task => 'regression'",
        with: "\"multiclass\" or \"classes_by\"",
        why: mathematics,
        message: "a regression has no classes to tell apart",
        reason: "There are no classes.",
        hint: "Leave \"{option}\" out of the options",
    }
    published() {
        what: "task => 'regression'",
        with: "\"policy\": \"paper\", \"inner\": \"pegasos\", \"machines\": \"average\"",
        why: decision,
        message: "this method is kept as published, for classes",
        reason: "These are published methods of classification.",
        hint: "solver => 'auto', or leave \"policy\", \"inner\" and \"machines\" out of the options",
    }
}
