//! What the option "watch" does not go with. Pure.

use crate::base::errors::Failure;
use crate::combinations::following;
use crate::request::kernel::KernelTerms;
use crate::request::Request;
use pgsvm_core::Purpose;

/// Refuses trainings whose weights on the way are not those of one model.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.watch.is_none() {
        return Ok(());
    }
    let is_grid = request.kernel.as_ref().is_some_and(KernelTerms::is_grid);
    let plan = &request.plan;
    let instead = if plan.purpose == Purpose::Validate {
        "Leave \"watch\" out of the options: nothing is stored that could be watched"
    } else if is_grid {
        "Choose gamma first, and name it: gamma => 0.5"
    } else if !plan.truncations.is_empty() {
        "Choose the truncation first, and name it: \"truncation\": 1"
    } else if !request.epsilons.is_empty() {
        "Choose epsilon first, and name it: epsilon => 0.1"
    } else if plan.probability {
        "Leave probability out; a training behind this one may have it"
    } else if plan.holds_out() {
        "Choose c first, and name it: c => 1"
    } else {
        return Ok(());
    };
    Err(following::watch_held_out(instead))
}
