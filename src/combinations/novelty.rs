//! What a search for novelties does not go with.

use super::combinations;

combinations! {
    label(label) {
        what: "task => 'novelty'",
        with: "label",
        why: mathematics,
        message: "novelties are found without a label, and label \"{label}\" is given",
        reason: "Rows have no labels: which ones are strange is what is found.",
        hint: "Leave label out; exclude => '{{{label}}}' keeps the column out of the features, and svm_evaluate(…, label => '{label}') compares with it",
    }
    c() {
        what: "task => 'novelty'",
        with: "c",
        why: mathematics,
        message: "novelties are found by nu, which says what c is",
        reason: "c follows from the share of rows that are to be strange.",
        hint: "nu => 0.1 takes a tenth of the rows for strange; leave c out",
    }
    nu_chosen() {
        what: "task => 'novelty'",
        with: "nu => 'auto', a list of nu",
        why: mathematics,
        message: "nu is not chosen: without labels nothing says which one is the best",
        reason: "There is no label to be right about.",
        hint: "nu => 0.1 takes a tenth of the rows for strange; where a column says which rows are, svm_evaluate(…, label => 'column') compares models",
    }
    loss(loss) {
        what: "task => 'novelty'",
        with: "loss but 'hinge'",
        why: mathematics,
        message: "novelties are found with loss 'hinge', not '{loss}'",
        reason: "nu is the share of their bounds that dual variables come to, and others have none.",
        hint: "Leave loss out",
    }
    intercept() {
        what: "task => 'novelty'",
        with: "intercept",
        why: mathematics,
        message: "a machine of one class has no intercept: how far the rows are from the origin is what it finds",
        reason: "The distance from the origin is what is found.",
        hint: "Leave intercept out",
    }
    scale(scale) {
        what: "task => 'novelty'",
        with: "kernel => 'linear' and scale => 'standard' or 'minmax'",
        why: mathematics,
        message: "a linear machine of one class parts the rows from the origin, and scale '{scale}' moves the origin among them",
        reason: "Around their mean rows are on all sides of the origin, and no plane parts them from it.",
        hint: "scale => 'maxabs' or 'none'; or kernel => 'rbf'",
    }
    newton(method) {
        what: "task => 'novelty'",
        with: "solver => 'newton', \"inner\": \"newton\"",
        why: mathematics,
        message: "{method} minimizes smooth losses only, and novelties are found with the hinge",
        reason: "nu is the share of their bounds that dual variables come to, and those of smooth losses have none.",
        hint: "Leave solver out, and \"inner\" out of the options",
    }
    solver(solver) {
        what: "task => 'novelty'",
        with: "solver => 'interior_point'",
        why: not_yet,
        message: "solver '{solver}' does not find novelties yet",
        reason: "c is found between trainings, each of which goes on where the one before has ended, and interior points begin anew.",
        hint: "Leave solver out",
    }
    planes(solver) {
        what: "task => 'novelty'",
        with: "solver => 'ocas' or 'cutting_plane'",
        why: decision,
        message: "solver '{solver}' is kept as published, for classes",
        reason: "Planes alone seldom come to the tolerance that says which rows on the margin are outside. Solver 'scan' also holds rows.",
        hint: "solver => 'scan', or leave solver out",
    }
    published() {
        what: "task => 'novelty'",
        with: "\"policy\": \"paper\", \"inner\": \"pegasos\", \"machines\": \"average\"",
        why: decision,
        message: "this method is kept as published, for classes",
        reason: "These are published methods of classification.",
        hint: "Leave \"policy\", \"inner\" and \"machines\" out of the options",
    }
    class_weight() {
        what: "task => 'novelty'",
        with: "class_weight",
        why: mathematics,
        message: "novelties are found in rows of one class, which has nothing to be weighed against",
        reason: "There is one class.",
        hint: "weight => 'column' weighs rows",
    }
    probability() {
        what: "task => 'novelty'",
        with: "probability => true",
        why: mathematics,
        message: "without labels nothing says how probable it is that a row is strange",
        reason: "Probabilities are fitted to labels of rows held out.",
        hint: "svm_decision says how strange a row is: less than 0, and the less the stranger",
    }
    choosing() {
        what: "task => 'novelty'",
        with: "metric, folds, lists of c or gamma, \"intervals\", svm_cross_validate, svm_select_features",
        why: mathematics,
        message: "without labels nothing can be chosen by how good it is on rows held out",
        reason: "There is no label to be right about.",
        hint: "svm_train without metric, folds and lists, with one nu and one gamma",
    }
    truncation() {
        what: "task => 'novelty'",
        with: "\"truncation\"",
        why: mathematics,
        message: "losses of a machine of one class are not truncated: nu says how many rows are outliers",
        reason: "nu is the share of outliers.",
        hint: "nu => 0.1",
    }
    watch() {
        what: "task => 'novelty'",
        with: "\"watch\"",
        why: mathematics,
        message: "without labels nothing can be tested while it trains",
        reason: "There is no label to be right about.",
        hint: "Leave \"watch\" out of the options",
    }
    compared() {
        what: "task => 'novelty'",
        with: "\"deploy\": \"if_better\"",
        why: mathematics,
        message: "without labels no version of a model is better than another",
        reason: "There is no label to be right about.",
        hint: "Leave \"deploy\" out of the options; svm_evaluate(…, label => 'column') compares versions where a column says which rows are strange",
    }
    together(option) {
        what: "task => 'novelty'",
        with: "\"multiclass\" or \"classes_by\"",
        why: mathematics,
        message: "novelties are found in rows of one class",
        reason: "There is one class.",
        hint: "Leave \"{option}\" out of the options",
    }
    suspects(model) {
        what: "a model of novelties",
        with: "svm_suspects",
        why: mathematics,
        message: "model \"{model}\" has no label that could be wrong",
        reason: "There is no label.",
        hint: "The strangest rows: SELECT * FROM … AS q ORDER BY svm_decision('{model}', q) LIMIT 10",
    }
    evaluation(model) {
        what: "a model of novelties",
        with: "svm_evaluate, svm_confusion, svm_roc without label",
        why: mathematics,
        message: "model \"{model}\" was trained without a label",
        detail: "To say how good it is, a column must say which rows are strange.",
        reason: "There is no label to be right about.",
        hint: "label => 'column': of booleans true is novel; or texts 'novel' and 'usual'",
    }
}
