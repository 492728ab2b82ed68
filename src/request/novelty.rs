//! What a search for novelties does not go with. Pure.

use crate::base::errors::Failure;
use crate::combinations::{novelty, refuse};
use crate::request::deploy::Deploy;
use crate::request::{Request, ScaleWord};
use pgsvm_core::{Inner, Scale};

/// Refuses what a machine of one class cannot have, or has not yet.
pub fn check(request: &Request) -> Result<(), Failure> {
    let (plan, terms) = (&request.plan, &request.terms);
    if plan.nu.is_none() {
        return Ok(());
    }
    refuse(&[
        // what selects features holds rows out by itself
        (request.call.holds_out, novelty::choosing),
        (plan.probability, novelty::probability),
        (plan.intervals, novelty::choosing),
        (!request.class_weight.is_equal(), novelty::class_weight),
        (
            matches!(request.deploy, Deploy::IfBetter { .. }),
            novelty::compared,
        ),
        (request.watch.is_some(), novelty::watch),
        (terms.is_published(), novelty::published),
    ])?;
    if terms.solver().inner() == Some(Inner::Newton) {
        return Err(novelty::newton("\"inner\": \"newton\""));
    }
    match (&request.kernel, request.scale) {
        (None, ScaleWord::Fixed(Scale::Standard)) => Err(novelty::scale("standard")),
        (None, ScaleWord::Fixed(Scale::MinMax)) => Err(novelty::scale("minmax")),
        _ => Ok(()),
    }
}
