//! Kernel machines, and solver 'interior_point'.

use super::combinations;

combinations! {
    of_kernels(name, kernel) {
        what: "a linear model",
        with: "gamma, degree, coef0, rank, \"gammas\", \"method\", \"landmarks\", a choice of gamma",
        why: mathematics,
        message: "{name} is given, but the model is to be linear",
        reason: "They are parameters of kernels.",
        hint: "kernel => {kernel}, or leave it out",
    }
    of_another_kernel(has, name, kernel) {
        what: "a kernel",
        with: "a parameter that it has not: degree but with 'polynomial', coef0 with 'rbf'",
        why: mathematics,
        message: "kernel '{has}' has no {name}",
        reason: "The kernel function does not have it.",
        hint: "kernel => {kernel}, or leave it out",
    }
    interior_option(name) {
        what: "solver => 'interior_point'",
        with: "\"method\" or \"landmarks\"",
        why: decision,
        message: "solver 'interior_point' has no option \"{name}\"",
        detail: "It chooses its landmarks among all rows, by the factorization that it solves with.",
        hint: "Leave \"{name}\" out of the options",
    }
    interior_rank_twice() {
        what: "rank",
        with: "\"rank_exponent\"",
        why: mathematics,
        message: "rank and \"rank_exponent\" both say how many columns there are to be",
        reason: "Both say how many columns the factor has.",
        hint: "Give one of them",
    }
    pairs_linear() {
        what: "\"multiclass\": \"one_vs_one\"",
        with: "a linear model",
        why: not_yet,
        message: "classes of linear models are told apart one against the rest",
        reason: "Following a table, explaining and exporting linear models need one row of weights for each class.",
        hint: "Leave \"multiclass\" out of the options, or kernel => 'rbf'",
    }
    pairs_by_rows(solver) {
        what: "\"multiclass\": \"one_vs_one\"",
        with: "solver => 'scan', 'ocas', 'cutting_plane' and 'interior_point'",
        why: not_yet,
        message: "solver '{solver}' tells classes apart one against the rest",
        reason: "They sum up all rows for every head, and a pair has the rows of its two classes only.",
        hint: "Leave \"multiclass\" or solver out",
    }
    interior_average() {
        what: "solver => 'interior_point'",
        with: "\"machines\": \"average\"",
        why: mathematics,
        message: "solver 'interior_point' averages nothing: its machines find one solution together",
        reason: "Its machines solve one system together; there is nothing to average.",
        hint: "options => '{{\"machines\": 2}}'",
    }
    interior_beyond_cache(kilobytes, needed) {
        what: "solver => 'interior_point'",
        with: "rows that do not fit the cache",
        why: decision,
        code: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        message: "the machines' rows do not fit the {kilobytes} kB of pgsvm.cache_size",
        detail: "Solver 'interior_point' holds all rows and 156 bytes more for each on its machines together; the factor goes to temporary files where it has no room.",
        hint: "SET pgsvm.cache_size = '{needed}MB', or a smaller rank, or options => '{{\"rank_exponent\": 0.4}}'",
    }
    exact_beyond_cache(kilobytes, needed) {
        what: "\"method\": \"exact\"",
        with: "rows near the margin that do not fit the cache",
        why: not_yet,
        code: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        message: "rows near the margin do not fit a cache of {kilobytes} kB",
        detail: "The exact method holds them in half of the cache, at least a megabyte, with kernel values of some of them and all others.",
        hint: "SET pgsvm.cache_size = '{needed}MB', or options => '{{\"method\": \"low_rank\"}}'",
    }
}
