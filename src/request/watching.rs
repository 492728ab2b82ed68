//! What the option "watch" does not go with. Pure.

use crate::base::errors::Failure;
use crate::combinations::following;
use crate::request::Request;
use pgsvm_core::Purpose;

/// Refuses trainings whose weights on the way are not those of one linear model.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.watch.is_none() {
        return Ok(());
    }
    if request.kernel.is_some() || request.terms.by_interior_points() {
        return Err(following::watch_kernel());
    }
    if request.rows.unit_rows {
        return Err(following::watch_unit_rows());
    }
    if request.plan.holds_out() || request.plan.purpose == Purpose::Validate {
        return Err(following::watch_held_out());
    }
    Ok(())
}
