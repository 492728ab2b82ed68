//! Options of solvers, and of forms as they were published.

use super::combinations;

combinations! {
    of_another_solver(solver, option, solvers) {
        what: "an option of some solvers",
        with: "another solver",
        why: decision,
        message: "solver '{solver}' has no option \"{option}\"",
        reason: "It says how that solver goes about its work.",
        hint: "solver => {solvers}",
    }
    forest_newton() {
        what: "\"chunks_by\": \"forest\"",
        with: "\"inner\": \"newton\"",
        why: decision,
        message: "Newton's method asks no metric forest",
        detail: "Each of its passes needs all rows that may matter at its weights, and a forest delivers a part of them.",
        hint: "Leave \"chunks_by\" or \"inner\" out of the options",
    }
    without_forest(name) {
        what: "\"tree_size\", \"tree_width\", \"query_size\", \"query_end\" or \"shrink_above\"",
        with: "no \"chunks_by\": \"forest\"",
        why: mathematics,
        message: "\"{name}\" is that of a metric forest",
        reason: "There is no forest.",
        hint: "options => '{{\"chunks_by\": \"forest\"}}'",
    }
    picks_without_paper() {
        what: "\"picks\"",
        with: "no \"policy\": \"paper\"",
        why: decision,
        message: "\"picks\" are those of policy \"paper\"",
        reason: "Elsewhere every row of the cache is visited in turn.",
        hint: "options => '{{\"policy\": \"paper\", \"picks\": 2}}'",
    }
    svmperf_without_planes() {
        what: "\"stop\": \"svmperf\"",
        with: "anything but solver => 'scan', 'ocas' or 'cutting_plane' with loss => 'hinge'",
        why: decision,
        message: "\"svmperf\" is where cutting planes of the hinge end",
        reason: "It is there to compare with SVMperf.",
        hint: "solver => 'ocas', loss => 'hinge'",
    }
    projected_gradient_pegasos() {
        what: "\"stop\": \"projected_gradient\"",
        with: "\"inner\": \"pegasos\"",
        why: mathematics,
        message: "Pegasos has no projected gradient to stop by",
        reason: "It has no dual variables.",
        hint: "Leave \"stop\" or \"inner\" out of the options",
    }
    projected_gradient_newton() {
        what: "\"stop\": \"projected_gradient\"",
        with: "\"inner\": \"newton\"",
        why: mathematics,
        message: "Newton's method has no projected gradient to stop by",
        reason: "It works on the weights, not on dual variables.",
        hint: "Leave \"stop\" or \"inner\" out of the options",
    }
    projected_gradient_shift() {
        what: "\"stop\": \"projected_gradient\"",
        with: "\"proximal\": \"on\"",
        why: mathematics,
        message: "with a proximal shift the projected gradient says nothing of the problem that was asked for",
        reason: "With the shift, projected gradients are those of another problem.",
        hint: "Leave \"stop\" or \"proximal\" out of the options",
    }
    projected_gradient_solver(solver) {
        what: "\"stop\": \"projected_gradient\"",
        with: "anything but a published form: \"policy\": \"paper\", solver => 'block' or 'selective_block'",
        why: decision,
        message: "solver '{solver}' stops by the gap alone",
        reason: "The gap says how good the weights are; the other rule is there to compare with figures that were published.",
        hint: "options => '{{\"policy\": \"paper\", \"stop\": \"projected_gradient\"}}', or solver => 'block' or 'selective_block'",
    }
    inner_updates_without_pegasos() {
        what: "\"inner_updates\"",
        with: "no \"inner\": \"pegasos\"",
        why: mathematics,
        message: "\"inner_updates\" are those of Pegasos",
        reason: "The others update a dual variable at a time, or all weights at once.",
        hint: "options => '{{\"inner\": \"pegasos\", \"inner_updates\": \"row\"}}'",
    }
    inner_newton_rounds() {
        what: "\"inner\": \"newton\"",
        with: "\"inner_rounds\", or \"proximal\": \"on\"",
        why: mathematics,
        message: "Newton's method goes over a block until it is solved, and has no proximal shift",
        reason: "It has no rounds over dual variables, and no shift.",
        hint: "Leave \"inner_rounds\" and \"proximal\" out of the options",
    }
    inner_pegasos_rounds() {
        what: "\"inner\": \"pegasos\"",
        with: "\"inner_rounds\", or \"proximal\": \"on\"",
        why: mathematics,
        message: "Pegasos goes over a block once, and has no proximal shift",
        reason: "It uses each row when it arrives, once a pass.",
        hint: "Leave \"inner_rounds\" and \"proximal\" out of the options",
    }
    pegasos_solver(solver) {
        what: "\"inner\": \"pegasos\"",
        with: "solver => 'selective_block' or 'indexed'",
        why: mathematics,
        message: "solver '{solver}' has no inner solver \"pegasos\"",
        reason: "It uses each row when it arrives, once a pass; these solvers visit kept rows again.",
        hint: "solver => 'block'",
    }
}
