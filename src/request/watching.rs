//! What `"watch"` does not go with. Pure.

use crate::base::errors::Failure;
use crate::request::words::invalid;
use crate::request::Request;
use pgsvm_core::Purpose;

/// Refuses trainings whose weights on the way are not those of one linear model.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.watch.is_none() {
        return Ok(());
    }
    let (what, hint) = if request.kernel.is_some() || request.terms.interior_point {
        (
            "of linear models alone, and not of solver 'interior_point'",
            "Leave \"watch\" out of the options",
        )
    } else if request.unit_rows {
        (
            "not those of rows of unit length",
            "Leave \"watch\" or \"normalize_rows\" out of the options",
        )
    } else if request.plan.holds_out() || request.plan.purpose == Purpose::Validate {
        (
            "those of one training, and here machines on folds are trained too",
            "Choose c first, and name it: c => 1",
        )
    } else {
        return Ok(());
    };
    Err(invalid(format!("\"watch\" tests weights on the way, {what}")).hint(hint))
}
