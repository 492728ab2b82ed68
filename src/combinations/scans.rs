//! What training by scans does not keep: scans hold no rows.

use super::combinations;

combinations! {
    gammas(solver) {
        what: "solver => 'scan'",
        with: "svm_cross_validate of several gammas",
        why: not_yet,
        message: "solver '{solver}' keeps nothing of a row, and several gammas are cross-validated on rows that are mapped anew for each",
        reason: "Each gamma could have scans of its own. svm_train compares gammas on a sample.",
        hint: "solver => 'stream'",
    }
    epsilons_and_gammas(solver) {
        what: "solver => 'scan'",
        with: "a choice of epsilon among several gammas",
        why: not_yet,
        message: "solver '{solver}' chooses gamma on a sample and epsilon on all rows, and not both",
        reason: "Each gamma could have scans of its own.",
        hint: "Choose gamma first, and name it: gamma => 0.5; or solver => 'stream'",
    }
    exact(solver) {
        what: "solver => 'scan'",
        with: "\"method\": \"exact\"",
        why: mathematics,
        message: "solver '{solver}' keeps nothing of a row, and an exact kernel machine compares rows with each other",
        reason: "An exact machine compares rows with each other, and a scan sees one row at a time.",
        hint: "solver => 'stream'",
    }
    together_held_out() {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "a choice of c, probabilities",
        why: not_yet,
        message: "classes that are told apart together are not compared on rows held out",
        reason: "The sample on which c is chosen is trained one class against the rest.",
        hint: "c => 1, and leave probability out; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
    together_key() {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "key, \"duals\"",
        why: not_yet,
        message: "classes that are told apart together keep no dual variables",
        reason: "There a row has a dual variable for each class; follow-ups need one for each head.",
        hint: "Leave key and \"duals\" out; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
    machines_count() {
        what: "solver => 'scan'",
        with: "\"machines\" as a number, or \"scans\"",
        why: mathematics,
        message: "solver 'scan' has as many machines as there are servers and workers with rows",
        reason: "PostgreSQL's plan says which processes sum up.",
        hint: "Leave \"machines\" out of the options, or options => '{{\"machines\": \"average\"}}' for the average of what each finds alone",
    }
    rows_that_change(solver) {
        what: "solver => 'scan', 'ocas', 'cutting_plane', or 'interior_point' by scans",
        with: "a source whose rows may be others each time",
        why: mathematics,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "solver '{solver}' reads its rows again and again, and these may be others each time",
        detail: "The source calls a volatile function, locks its rows, or changes something.",
        hint: "Store the rows first: CREATE TABLE … AS SELECT …; or take solver => 'stream', which reads them once",
    }
    part_beyond_cache(kilobytes) {
        what: "\"machines\": \"average\"",
        with: "a part of the rows that does not fit the cache",
        why: decision,
        code: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        message: "a part of the rows does not fit the {kilobytes} kB of pgsvm.cache_size",
        detail: "For an average each process holds its rows while it trains on them.",
        hint: "SET pgsvm.cache_size to more; or leave \"machines\" out of the options, as scans keep no rows",
    }
}
