//! What Newton's method takes from the ledger of a head at its beginning, and what each of its passes reports to the ledger.

use crate::objective::minimized::Objective;
use crate::solver::ledger::bounds::Primal;
use crate::solver::ledger::Ledger;
use crate::solver::newton::head::{Given, Newton};
use crate::solver::newton::value::Value;

impl Given {
    /// A head of this ledger that begins at weights w, over all of its rows.
    pub(in crate::solver) fn of(ledger: &Ledger, objective: Objective, w: Vec<f64>) -> Self {
        Self {
            objective,
            tolerance: ledger.tolerance(),
            max_passes: ledger.max_passes(),
            w,
            fixed: Vec::new(),
        }
    }
}

/// The primal and the dual that a pass over all rows has found; its support vectors, and rows known without a look.
pub(in crate::solver) fn found(newton: &Newton) -> ((Primal, f64), (u64, u64)) {
    let Value { primal, dual, .. } = newton.value();
    let tally = newton.tally();
    let pair = (Primal::of(primal, &tally, None), dual);
    (pair, (tally.support, newton.unseen()))
}
