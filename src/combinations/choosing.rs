//! What is chosen on rows held out, and probabilities.

use super::combinations;

combinations! {
    c_given() {
        what: "\"choose\": [\"c\"]",
        with: "one c",
        why: mathematics,
        message: "c is to be chosen, but is given",
        reason: "One says that c is chosen, the other what it is.",
        hint: "c => 'auto' has it chosen; or leave \"c\" out of \"choose\"",
    }
    gamma_given(list) {
        what: "\"choose\": [\"gamma\"], or \"gammas\"",
        with: "gamma",
        why: mathematics,
        message: "gamma is to be chosen, but is given",
        reason: "One says that gamma is chosen, the other what it is.",
        hint: "gamma => 'auto' has it chosen, {list} from a list; leave \"choose\" and \"gammas\" out of the options",
    }
    costs_without_choice(costs) {
        what: "\"costs\"",
        with: "c but 'auto'",
        why: mathematics,
        message: "\"costs\" are for c => 'auto', which chooses among them",
        reason: "Both say which values of c there are.",
        hint: "c => '{{{costs}}}' chooses among them; leave \"costs\" out of the options",
    }
    truncation_and_gamma() {
        what: "\"truncation\": \"auto\"",
        with: "several gammas",
        why: not_yet,
        message: "\"truncation\" and gamma are not chosen in one training",
        reason: "Each gamma maps the rows anew, and over mapped rows only values of c are compared.",
        hint: "Choose gamma first, or name a truncation: options => '{{\"truncation\": 1}}'",
    }
    epsilon_as_it_is() {
        what: "epsilon => 'auto'",
        with: "\"scale_label\": \"none\"",
        why: decision,
        message: "epsilon => 'auto' tries parts of the label's standard deviation, and the label is to stay as it is",
        reason: "Which widths are usual is said in standard deviations of the label.",
        hint: "A list in the label's unit: epsilon => '{{1, 2, 5}}'; or leave \"scale_label\" out of the options",
    }
    epsilons_of_others() {
        what: "a choice of epsilon",
        with: "a source whose rows may be others each time",
        why: mathematics,
        message: "the rows may be others each time that they are read, and each epsilon is compared on rows that are read anew",
        detail: "The source calls a volatile function, locks its rows, or changes something.",
        hint: "Store the rows first: CREATE TABLE … AS SELECT …; or name one: epsilon => 0.1",
    }
    metric_without_choice() {
        what: "metric",
        with: "one c, and nothing else to choose",
        why: mathematics,
        message: "metric says by what c is chosen, but c is given",
        reason: "There is nothing to choose.",
        hint: "c => 'auto' chooses c; or leave metric out",
    }
    folds_without_choice(given) {
        what: "folds, fold_column, fold_order or \"costs\"",
        with: "nothing to choose and no probabilities",
        why: mathematics,
        message: "{given} is given, but nothing is to be chosen and no probabilities are to be fitted",
        reason: "No row would be held out.",
        hint: "c => 'auto' chooses c, probability => true fits probabilities, svm_cross_validate() says how good models are on rows held out; or leave {given} out",
    }
    fold_column_and_order(column) {
        what: "fold_column",
        with: "fold_order",
        why: mathematics,
        message: "folds are the values of column \"{column}\", or go forward in the order of one, not both",
        reason: "Both say in which fold a row is.",
        hint: "Leave fold_column or fold_order out",
    }
    classes_by_without() {
        what: "\"classes_by\": \"probability\"",
        with: "no probabilities",
        why: mathematics,
        message: "\"classes_by\": \"probability\" needs probabilities, which are not fitted",
        reason: "There is nothing to compare classes by.",
        hint: "probability => true fits them; or leave \"classes_by\" out",
    }
    calibration_without() {
        what: "\"calibration\"",
        with: "no probabilities",
        why: mathematics,
        message: "\"calibration\" says how probabilities are fitted, which are not",
        reason: "There is nothing to fit.",
        hint: "probability => true fits them; or leave \"calibration\" out",
    }
    log_loss_without() {
        what: "\"metric\": \"log_loss\" of \"deploy\": \"if_better\"",
        with: "no probabilities",
        why: mathematics,
        message: "metric 'log_loss' is of models with probabilities",
        reason: "It is the loss of probabilities.",
        hint: "probability => true, or another \"metric\"",
    }
    deploy_needs() {
        what: "\"deploy\": \"if_better\"",
        with: "no \"relation\" or no \"metric\"",
        why: mathematics,
        message: "\"deploy\": \"if_better\" needs a relation with rows held out and a metric",
        reason: "Versions are compared on its rows, by the metric.",
        hint: "options => '{{\"deploy\": \"if_better\", \"relation\": \"held_out\", \"metric\": \"auc\"}}'; of numbers \"metric\": \"rmse\"",
    }
    deploy_without() {
        what: "\"relation\" and \"metric\"",
        with: "\"deploy\" but \"if_better\"",
        why: mathematics,
        message: "\"relation\" and \"metric\" are those of \"deploy\": \"if_better\"",
        reason: "No versions are compared.",
        hint: "options => '{{\"deploy\": \"if_better\", \"relation\": \"held_out\", \"metric\": \"auc\"}}'; of numbers \"metric\": \"rmse\"",
    }
}
