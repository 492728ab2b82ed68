//! Beginning from a model, following its rows, watching a training, rows out of fold.

use super::combinations;

combinations! {
    follow_without_key(model, how) {
        what: "svm_update and svm_forget",
        with: "a model without a key",
        why: decision,
        code: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message: "model \"{model}\" was trained without a key",
        detail: "Only by a key can a model know which rows it was trained on.",
        hint: "{how}",
    }
    warm_start_chooses_c(model) {
        what: "\"warm_start\"",
        with: "a choice of c",
        why: not_yet,
        message: "a training that chooses c cannot begin from model \"{model}\"",
        reason: "The start would have to be adapted to the rows of each fold and to each c.",
        hint: "Choose c first, without \"warm_start\", or name one: c => 1",
    }
    warm_start_chooses_truncation(model) {
        what: "\"warm_start\"",
        with: "\"truncation\": \"auto\"",
        why: not_yet,
        message: "a training that chooses \"truncation\" cannot begin from model \"{model}\"",
        reason: "As with a choice of c.",
        hint: "Choose it first, without \"warm_start\", or name one: options => '{{\"truncation\": 1}}'",
    }
    warm_start_chooses_epsilon(model) {
        what: "\"warm_start\"",
        with: "a choice of epsilon",
        why: not_yet,
        message: "a training that chooses epsilon cannot begin from model \"{model}\"",
        reason: "As with a choice of c.",
        hint: "Choose epsilon first, without \"warm_start\", or name one: epsilon => 0.1",
    }
    warm_start_gammas(model) {
        what: "\"warm_start\"",
        with: "a choice of gamma",
        why: not_yet,
        message: "a training that chooses gamma cannot begin from model \"{model}\"",
        reason: "As with a choice of c.",
        hint: "Choose gamma first, without \"warm_start\", or name one: gamma => 1",
    }
    warm_start_kernel(model, kernel) {
        what: "\"warm_start\"",
        with: "a model of another kernel",
        why: decision,
        message: "model \"{model}\" has another kernel than the training",
        reason: "Decisions by another kernel are no good start. Another gamma is accepted.",
        hint: "A training can begin from a model with the same kernel: {kernel}",
    }
    warm_start_task(model) {
        what: "\"warm_start\"",
        with: "a model of another task",
        why: mathematics,
        message: "model \"{model}\" was trained for another task, and cannot be begun from",
        reason: "What tells classes apart is no beginning of what predicts a number.",
        hint: "Leave \"warm_start\" out of the options, or name a model of the same task",
    }
    warm_start_ocas(model) {
        what: "\"warm_start\"",
        with: "a regression by `solver => 'ocas'`",
        why: not_yet,
        message: "planes of numbers do not begin from model \"{model}\" yet",
        reason: "Planes between good weights and those of the first of them say little of both sides of a number. A refresh begins from nothing.",
        hint: "solver => 'scan', 'cutting_plane' or 'stream', or leave \"warm_start\" out of the options",
    }
    warm_start_pegasos(model) {
        what: "\"warm_start\"",
        with: "\"inner\": \"pegasos\"",
        why: mathematics,
        message: "Pegasos cannot begin from model \"{model}\"",
        detail: "The lengths of its steps are right for a start at weights of 0 only.",
        hint: "Leave \"warm_start\" or \"inner\" out of the options",
    }
    watch_held_out(instead) {
        what: "\"watch\"",
        with: "a choice of c, gamma, epsilon or \"truncation\", probabilities, svm_cross_validate",
        why: decision,
        message: "\"watch\" tests weights on the way, those of one training, and here machines on folds are trained too",
        reason: "A watch follows the weights of one training; a choice trains many models.",
        hint: "{instead}",
    }
    together_suspects() {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "svm_suspects with folds",
        why: not_yet,
        message: "rows are not held out of models whose classes are told apart together",
        reason: "Scans hold no rows out.",
        hint: "Leave folds out, or train one machine a class: \"multiclass\": \"one_vs_rest\"",
    }
    distributed_suspects(source, relation) {
        what: "svm_suspects with folds",
        with: "a distributed table of Citus",
        why: not_yet,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "svm_suspects() with folds does not read {source}, which Citus has distributed",
        reason: "Rows are matched by their number among all rows, which no node knows.",
        hint: "Without folds it does; or of a copy here: CREATE TABLE copied AS SELECT * FROM {relation}",
    }
}
