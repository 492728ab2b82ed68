//! What a pass of Newton's method has found, as a ledger takes it.

use crate::solver::ledger::bounds::Primal;
use crate::solver::newton::head::Newton;
use crate::solver::newton::value::Value;

/// The primal and the dual that a pass over all rows has found; its support vectors, and rows known without a look.
pub(in crate::solver) fn found(newton: &Newton) -> ((Primal, f64), (u64, u64)) {
    let Value { primal, dual, .. } = newton.value();
    let tally = newton.tally();
    let pair = (Primal::of(primal, &tally, None), dual);
    (pair, (tally.support, newton.unseen()))
}
