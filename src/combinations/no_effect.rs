//! What is accepted and changes nothing, as NOTICEs say.

use super::combinations;

combinations! {
    visit_by_scans(solver) {
        what: "\"expansion\": \"visit\"",
        with: "scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"expansion\" has no effect on solver '{solver}'",
        detail: "Scans keep no rows, so features of a string are made each time anyway.",
    }
    visit() {
        what: "\"expansion\": \"visit\"",
        with: "features but weighted_degree and spectrum, kernels, keys, blocks, \"normalize_rows\", a scale but 'none' and 'standard'",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"expansion\" has no effect: features are stored with their rows",
        detail: "Only weighted_degree(column, d) and spectrum(column, k) are made when a row is visited, and only of rows that are visited one by one, as they came: not with kernels, keys, blocks, \"normalize_rows\" or a scale other than 'none' and 'standard'.",
    }
    index_by_scans(solver) {
        what: "\"index\"",
        with: "scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"index\" has no effect on solver '{solver}'",
        detail: "Each scan makes the features of the rows that it reads; an index can be read by one process only.",
    }
    shift(what) {
        what: "\"proximal\": \"on\"",
        with: "solver => 'newton', 'scan', 'ocas', 'cutting_plane', 'interior_point', \"policy\": \"paper\", \"inner\": \"newton\"",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"proximal\" has no effect on {what}",
        detail: "Only coordinate descent takes a proximal shift, and not in StreamSVM's published form.",
    }
    compression(solver) {
        what: "\"compression\": \"on\"",
        with: "scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"compression\" has no effect on solver '{solver}'",
        detail: "It is about the copy of rows that do not fit the cache, and scans make none.",
    }
    resident_compression() {
        what: "\"compression\": \"on\"",
        with: "rows that fit the cache",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"compression\" has no effect: all rows fit the cache",
        detail: "It is about the copy of rows that do not.",
    }
    without_words(option) {
        what: "\"min_df\", \"max_df\", \"max_words\", \"sublinear\"",
        with: "no feature that is words or characters of a text",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"{option}\" has no effect: no feature is made of the words or characters of a text",
        detail: "Words come from text(column), or from a text column whose values are mostly long and occur once. Other text columns are categories or numbers.",
    }
    without_categories(option) {
        what: "\"max_categories\", \"hash_bits\"",
        with: "no feature that is a category",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"{option}\" has no effect: no feature is a category",
        detail: "Numbers are categories only as category(column).",
    }
    interior_rank() {
        what: "rank, \"rank_exponent\" or \"trace_tolerance\"",
        with: "a linear machine of solver => 'interior_point' by scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "rank, \"rank_exponent\" and \"trace_tolerance\" have no effect on a linear machine of solver 'interior_point' by scans",
        detail: "It solves for the weights of all features, without a factor.",
    }
    exact(what) {
        what: "solver but 'auto', rank or \"landmarks\"",
        with: "an exact kernel machine",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "{what} has no effect on an exact kernel machine",
        detail: "It is about the machine of low rank that an exact one begins from. The exact one compares all rows, and is solved in one way.",
    }
    exact_but_loss(solver, loss) {
        what: "a solver, where no loss is given",
        with: "an exact kernel machine, but for the loss that goes with the solver",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "solver '{solver}' has no effect on an exact kernel machine but for its loss, {loss}",
        detail: "An exact machine compares all rows, and is solved in one way. The loss follows from the solver where none is given.",
    }
    keep_scaling(model) {
        what: "\"keep_scaling\"",
        with: "svm_refresh of a model without a key",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"keep_scaling\" has no effect on model \"{model}\", which has no key",
        detail: "A kept scaling lets a refresh skip rows, and it needs a key to find them.",
    }
    two_classes() {
        what: "\"multiclass\"",
        with: "two classes",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"multiclass\" has no effect on two classes",
        detail: "Two classes have one decision.",
    }
    trainers(trainers, what) {
        what: "pgsvm.trainers",
        with: "\"inner\": \"pegasos\"; \"policy\": \"paper\", solver => 'block', 'selective_block' or 'indexed' where rows do not fit the cache",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "pgsvm.trainers = {trainers} has no effect: {what} trains with one",
        detail: "It goes over rows one after another.",
    }
}
