//! What is accepted and changes nothing, as NOTICEs say.

use super::combinations;

combinations! {
    visit_by_scans(solver) {
        what: "\"expansion\": \"visit\"",
        with: "scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"expansion\" has no effect on solver '{solver}'",
        detail: "It keeps no rows: features of a string are made whenever its row is read.",
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
    interior_rank() {
        what: "rank, \"rank_exponent\" or \"trace_tolerance\"",
        with: "a linear machine of solver => 'interior_point' by scans",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "rank, \"rank_exponent\" and \"trace_tolerance\" have no effect on a linear machine of solver 'interior_point' by scans",
        detail: "It solves for the weights of all features, and factors no matrix of rows.",
    }
    exact(what) {
        what: "solver but 'auto', rank or \"landmarks\"",
        with: "an exact kernel machine",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "{what} has no effect on an exact kernel machine",
        detail: "It is about the machine of low rank that an exact one begins from. The exact one compares all rows, and is solved in one way.",
    }
    two_classes() {
        what: "\"multiclass\"",
        with: "two classes",
        why: no_effect,
        code: ERRCODE_SUCCESSFUL_COMPLETION,
        message: "\"multiclass\" has no effect on two classes",
        detail: "One decision tells them apart, however more classes would be.",
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
