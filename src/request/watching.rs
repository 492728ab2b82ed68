//! What the option "watch" does not go with. Pure.

use crate::base::errors::Failure;
use crate::combinations::following;
use crate::request::Request;
use pgsvm_core::Purpose;

/// Refuses trainings whose weights on the way are not those of one model.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.watch.is_none() {
        return Ok(());
    }
    if request.plan.holds_out() || request.plan.purpose == Purpose::Validate {
        return Err(following::watch_held_out());
    }
    Ok(())
}
