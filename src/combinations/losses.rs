//! Losses, intercepts and classes that a solver does not minimize.

use super::combinations;

combinations! {
    newton_hinge() {
        what: "solver => 'newton'",
        with: "loss => 'hinge' or 'ramp'",
        why: mathematics,
        message: "solver 'newton' minimizes smooth losses only, the squared hinge and that truncated",
        reason: "Newton's method needs a slope without jumps, which the hinge has not.",
        hint: "loss => 'squared_hinge', or 'truncated_squared_hinge' where labels are wrong",
    }
    inner_newton_hinge(instead) {
        what: "\"inner\": \"newton\"",
        with: "loss => 'hinge' or 'ramp'",
        why: mathematics,
        message: "Newton's method minimizes smooth losses only, the squared hinge and that truncated",
        reason: "Newton's method needs a slope without jumps, which the hinge has not.",
        hint: "loss => '{instead}'",
    }
    planes_squared_hinge(solver) {
        what: "solver => 'ocas' or 'cutting_plane'",
        with: "loss => 'squared_hinge' or 'truncated_squared_hinge'",
        why: decision,
        message: "solver '{solver}' minimizes the hinge loss only",
        reason: "These are the published methods; for the squared hinge `'scan'` is Newton's method, which needs fewer scans.",
        hint: "loss => 'hinge', or solver => 'scan'",
    }
    distance_of_classes(loss) {
        what: "task => 'classification'",
        with: "loss => 'epsilon_insensitive', 'squared_epsilon_insensitive', 'huber' or 'quantile'",
        why: mathematics,
        message: "loss '{loss}' is one of a regression",
        reason: "These losses are of the distance from a number, and classes are none.",
        hint: "task => 'regression', or leave loss out",
    }
    epsilon_of_classes(given) {
        what: "task => 'classification'",
        with: "epsilon, \"scale_label\" or \"quantiles\"",
        why: mathematics,
        message: "{given} is for a regression",
        reason: "Classes have no distance from a prediction.",
        hint: "task => 'regression', or leave {given} out",
    }
    nu_of_labels() {
        what: "task => 'classification' or 'regression'",
        with: "nu",
        why: mathematics,
        message: "nu is for finding novelties, in rows without a label",
        reason: "nu is the share of rows without labels that are strange.",
        hint: "Leave nu out; or task => 'novelty', and leave label out",
    }
    epsilon_of_quantiles() {
        what: "loss => 'quantile'",
        with: "epsilon",
        why: mathematics,
        message: "loss 'quantile' has no epsilon",
        reason: "Rows within it would be on no side of a quantile.",
        hint: "Leave epsilon out; or loss => 'epsilon_insensitive'",
    }
    huber_of_nothing() {
        what: "loss => 'huber'",
        with: "epsilon => 0",
        why: mathematics,
        message: "loss 'huber' is straight from epsilon on, which must be above 0",
        reason: "Nothing would be left of its squares, nor of its lines.",
        hint: "epsilon => 0.1; or loss => 'epsilon_insensitive', which is the absolute error then",
    }
    quantiles_without(loss) {
        what: "\"quantiles\"",
        with: "a loss that is not 'quantile'",
        why: mathematics,
        message: "\"quantiles\" are for loss 'quantile', not '{loss}'",
        reason: "Other losses count alike on both sides.",
        hint: "loss => 'quantile', or leave \"quantiles\" out of the options",
    }
    margin_of_numbers(loss) {
        what: "task => 'regression'",
        with: "loss => 'hinge', 'squared_hinge', 'ramp' or 'truncated_squared_hinge'",
        why: mathematics,
        message: "loss '{loss}' is one of classes",
        reason: "These losses are of the margin of a class, and a number has none.",
        hint: "loss => 'squared_epsilon_insensitive', 'epsilon_insensitive', 'huber' or 'quantile', or leave loss out",
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
        detail: "A truncated loss is not convex: the mean of the weights of several parts may be worse than those of each part.",
        hint: "Leave \"machines\" out of the options: by scans all rows find it together",
    }
    truncated_interior_point(loss) {
        what: "solver => 'interior_point' by scans",
        with: "a truncated loss",
        why: not_yet,
        message: "by scans solver 'interior_point' does not minimize loss '{loss}'",
        detail: "Outliers change from round to round, and by scans it solves one convex problem.",
        hint: "Leave \"machines\": \"scans\" out of the options",
    }
    truncated_paper(loss, solvers) {
        what: "\"policy\": \"paper\"",
        with: "a truncated loss",
        why: decision,
        message: "solver 'stream' with policy \"paper\" as published does not minimize loss '{loss}'",
        detail: "Outliers change from round to round, and it solves one convex problem.",
        hint: "solver => 'auto', 'stream', 'indexed', {solvers}'block' or 'selective_block'",
    }
    truncated_pegasos(loss) {
        what: "\"inner\": \"pegasos\"",
        with: "a truncated loss",
        why: mathematics,
        message: "Pegasos does not minimize loss '{loss}'",
        detail: "Outliers are found at the solution of a convex problem, and its steps never solve one.",
        hint: "Leave \"inner\" out of the options",
    }
    truncated_projected_gradient(loss) {
        what: "\"stop\": \"projected_gradient\"",
        with: "a truncated loss",
        why: mathematics,
        message: "with loss '{loss}' the projected gradient says nothing of the rounds to come",
        reason: "The rule is about the convex problem of one round, not about the whole training.",
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
        with: "planes alone: solver => 'ocas' or 'cutting_plane', and \"multiclass\": \"crammer_singer\"",
        why: not_yet,
        message: "solver '{solver}' knows no free intercept",
        reason: "With planes alone the gap stays large, since only whole planes can be balanced. Solver 'scan' also holds rows.",
        hint: "solver => 'scan' or 'stream', with one machine a class",
    }
    free_intercept_pegasos() {
        what: "\"intercept\": \"free\"",
        with: "\"inner\": \"pegasos\"",
        why: mathematics,
        message: "Pegasos knows no free intercept",
        detail: "Its step lengths follow from the norm, and a free intercept is not in the norm.",
        hint: "Leave \"inner\" or \"intercept\" out of the options",
    }
    free_intercept_gradient() {
        what: "\"intercept\": \"free\"",
        with: "\"stop\": \"projected_gradient\"",
        why: mathematics,
        message: "with a free intercept the projected gradient does not say how far the optimum is",
        reason: "The rule ignores that the signed dual variables must sum to 0.",
        hint: "Leave \"stop\" or \"intercept\" out of the options",
    }
    together_by_planes(solver) {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "every solver but 'ocas', which 'auto' and 'scan' then are, and 'cutting_plane'",
        why: not_yet,
        message: "solver '{solver}' has no option \"multiclass\"",
        reason: "All classes by one problem are solved by planes. Coordinate descent would have to change all dual variables of a row at once.",
        hint: "solver => 'ocas' or 'cutting_plane'; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
    together_squared_hinge() {
        what: "\"multiclass\": \"crammer_singer\"",
        with: "loss => 'squared_hinge', 'ramp' or 'truncated_squared_hinge'",
        why: not_yet,
        message: "classes that are told apart together have the hinge loss",
        reason: "Planes minimize the hinge. For a smooth loss Newton's method would need second derivatives across all classes.",
        hint: "loss => 'hinge'; or options => '{{\"multiclass\": \"one_vs_rest\"}}'",
    }
}
