//! What training by scans does not take: whatever asks for something to be kept of each row.

use crate::base::errors::Failure;
use crate::request::words::invalid;
use crate::request::Request;
use pgsvm_core::Leader;

/// Refuses what a scan does not keep.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.terms.leader != Leader::Scans {
        return Ok(());
    }
    let (plan, terms) = (&request.plan, &request.terms);
    let refused = |what: &str| {
        let solver = terms.solver();
        Err(invalid(format!(
            "solver '{solver}' keeps nothing of a row, and {what}"
        ))
        .hint("solver => 'stream'"))
    };
    if request.key.is_some() {
        return refused("a key wants its dual variable");
    }
    if terms.keep_duals {
        return refused("\"duals\" wants its dual variable");
    }
    if request.warm_start.is_some() {
        return refused("\"warm_start\" begins from dual variables");
    }
    if plan.holds_out() {
        return refused("rows held out, to choose c or to fit probabilities, want their decisions");
    }
    if request.kernel.is_some() {
        return refused("a kernel machine compares rows with each other");
    }
    Ok(())
}
