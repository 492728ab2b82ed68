//! Losses, intercepts and classes that a solver does not minimize.

use super::combinations;

combinations! {
    newton_hinge() {
        what: "solver => 'newton'",
        with: "loss => 'hinge' or 'ramp'",
        why: mathematics,
        message: "solver 'newton' minimizes the squared hinge loss only",
        reason: "Newton's method needs a slope without jumps, which the hinge has not.",
        hint: "loss => 'squared_hinge'",
    }
    inner_newton_hinge(instead) {
        what: "\"inner\": \"newton\"",
        with: "loss => 'hinge' or 'ramp'",
        why: mathematics,
        message: "Newton's method minimizes the squared hinge loss only",
        reason: "Newton's method needs a slope without jumps, which the hinge has not.",
        hint: "loss => '{instead}'",
    }
    interior_squared_hinge() {
        what: "solver => 'interior_point'",
        with: "loss => 'squared_hinge' or 'truncated_squared_hinge'",
        why: not_yet,
        message: "solver 'interior_point' minimizes the hinge loss only",
        reason: "PSVM solves the hinge's dual, whose variables have two bounds; the squared hinge's have one.",
        hint: "loss => 'hinge'",
    }
    planes_squared_hinge(solver) {
        what: "solver => 'ocas' or 'cutting_plane'",
        with: "loss => 'squared_hinge' or 'truncated_squared_hinge'",
        why: decision,
        message: "solver '{solver}' minimizes the hinge loss only",
        reason: "These are the published methods; by scans the squared hinge has Newton's method, which needs fewer of them.",
        hint: "loss => 'hinge', or solver => 'scan'",
    }
    truncation_without() {
        what: "\"truncation\"",
        with: "loss => 'squared_hinge' or 'hinge'",
        why: mathematics,
        message: "\"truncation\" is that of a truncated loss",
        reason: "These losses are not truncated.",
        hint: "loss => 'ramp' or 'truncated_squared_hinge', or leave \"truncation\" out of the options",
    }
    truncated_average(loss) {
        what: "\"machines\": \"average\"",
        with: "a truncated loss",
        why: mathematics,
        message: "averages do not minimize loss '{loss}'",
        detail: "It is not convex: the mean of what parts of the rows find may be worse than each of them.",
        hint: "Leave \"machines\" out of the options: by scans all rows find it together",
    }
    truncated_interior_point(loss) {
        what: "solver => 'interior_point'",
        with: "loss => 'ramp'",
        why: not_yet,
        message: "solver 'interior_point' does not minimize loss '{loss}'",
        detail: "Which rows are outliers changes from round to round, and it solves one convex problem.",
        hint: "solver => 'auto', 'stream', 'indexed', 'block' or 'selective_block'",
    }
    truncated_paper(loss, solvers) {
        what: "\"policy\": \"paper\"",
        with: "a truncated loss",
        why: decision,
        message: "solver 'stream' with policy \"paper\" as published does not minimize loss '{loss}'",
        detail: "Which rows are outliers changes from round to round, and it solves one convex problem.",
        hint: "solver => 'auto', 'stream', 'indexed', {solvers}'block' or 'selective_block'",
    }
    truncated_pegasos(loss) {
        what: "\"inner\": \"pegasos\"",
        with: "a truncated loss",
        why: mathematics,
        message: "Pegasos does not minimize loss '{loss}'",
        detail: "Which rows are outliers follows from a convex problem that is solved, and it is far from that at any row.",
        hint: "Leave \"inner\" out of the options",
    }
    truncated_projected_gradient(loss) {
        what: "\"stop\": \"projected_gradient\"",
        with: "a truncated loss",
        why: mathematics,
        message: "with loss '{loss}' the projected gradient says nothing of the rounds to come",
        reason: "It belongs to the convex problem of one round.",
        hint: "Leave \"stop\" out of the options",
    }
    free_intercept_none() {
        what: "\"intercept\": \"free\"",
        with: "intercept => false",
        why: mathematics,
        message: "there is no intercept that could be free",
        reason: "One says that there is an intercept, the other that there is none.",
        hint: "intercept => true, or leave \"intercept\" out of the options",
    }
    free_intercept_planes(solver) {
        what: "\"intercept\": \"free\"",
        with: "planes of the hinge: solver => 'ocas', 'cutting_plane', or 'scan' with loss => 'hinge' or 'ramp'",
        why: not_yet,
        message: "solver '{solver}' knows no free intercept where it minimizes the hinge loss",
        reason: "The last system of planes would have a row more, for the sum of the dual variables.",
        hint: "solver => 'stream'; or loss => 'squared_hinge', solver => 'scan'",
    }
    free_intercept_pegasos() {
        what: "\"intercept\": \"free\"",
        with: "\"inner\": \"pegasos\"",
        why: mathematics,
        message: "Pegasos knows no free intercept",
        detail: "Its steps grow short as the norm asks, and a free intercept is in no norm.",
        hint: "Leave \"inner\" or \"intercept\" out of the options",
    }
    free_intercept_gradient() {
        what: "\"intercept\": \"free\"",
        with: "\"stop\": \"projected_gradient\"",
        why: mathematics,
        message: "with a free intercept the projected gradient does not say how far the optimum is",
        reason: "It says nothing of the sum of the signed dual variables, which has to be 0.",
        hint: "Leave \"stop\" or \"intercept\" out of the options",
    }
    interior_regularized_intercept() {
        what: "\"intercept\": \"regularized\"",
        with: "solver => 'interior_point'",
        why: not_yet,
        message: "solver 'interior_point' leaves the intercept out of the norm",
        reason: "PSVM's dual has the equation that a free intercept brings; without it each step would be one solution shorter.",
        hint: "Leave \"intercept\" out of the options",
    }
    together_by_planes(solver) {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "every solver but 'ocas', which 'auto' and 'scan' then are, and 'cutting_plane'",
        why: not_yet,
        message: "solver '{solver}' has no option \"multiclass\"",
        reason: "Classes together are written for planes; coordinate descent for them would change all dual variables of a row at once.",
        hint: "solver => 'ocas' or 'cutting_plane'; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
    together_squared_hinge() {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "loss => 'squared_hinge', 'ramp' or 'truncated_squared_hinge'",
        why: not_yet,
        message: "classes that are told apart together have the hinge loss",
        reason: "Planes minimize it; of a smooth loss Newton's method would need the second derivatives of all classes.",
        hint: "loss => 'hinge'; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
}
