//! A head by itself while Newton's method solves it.

use crate::base::memory::{copied, OutOfMemory};
use crate::base::zeros::zeros;
use crate::objective::minimized::Intercept;
use crate::simd::Real;
use crate::solver::certificate::dual::BALANCED;
use crate::solver::newton::given::found;
use crate::solver::newton::head::{Given, Newton, MOST_PASSES};
use crate::solver::newton::pace::Costs;
use crate::solver::single::head::Head;

impl<T: Real> Head<T> {
    /// Newton's method for it, from where it is to begin.
    pub(in crate::solver) fn newton(&self, costs: Costs) -> Result<Newton, OutOfMemory> {
        Newton::new(self.given(self.iterate.kind_of_intercept())?, costs)
    }

    /// What solves a block of its rows to this tolerance. All of the weights is fixed, until it is known what the block has of
    /// them.
    pub(in crate::solver) fn newton_of_block(
        &self,
        costs: Costs,
        tolerance: f64,
    ) -> Result<Newton, OutOfMemory> {
        // a free intercept is pulled towards its centre as one in the norm is towards 0, and the block has a part of the weight
        let given = self.given(Intercept::in_norm(self.iterate.intercept() > 0.0))?;
        let given = Given {
            fixed: copied(&given.w)?,
            tolerance,
            max_passes: MOST_PASSES,
            // a verifying pass says which rows are outliers, and the block has none of them
            objective: given.objective.truncated(None),
            ..given
        };
        Newton::new(given, costs)
    }

    fn given(&self, intercept: Intercept) -> Result<Given, OutOfMemory> {
        let mut w = zeros(self.iterate.len())?;
        for (w, own) in w.iter_mut().zip(self.iterate.weights()) {
            *w = own;
        }
        let ledger = &self.state.ledger;
        let objective = ledger.objective(copied(&self.signs)?, intercept);
        Ok(Given::of(ledger, objective, w))
    }

    /// A pass over all rows has ended: its weights and dual variables are taken where they are the best pair so far. With
    /// `arrived` the head has ended.
    pub(in crate::solver) fn take_from(&mut self, newton: &Newton, arrived: bool) {
        if newton.is_beside() {
            return;
        }
        if !newton.is_free() {
            self.state.ledger.take_nothing(|| newton.at_zero());
        }
        let (pair, rows) = found(newton);
        let ends = (newton.is_at_best(), arrived);
        if self.state.take_pair(pair, rows, ends) {
            for (own, w) in self.best_w.iter_mut().zip(newton.best()) {
                *own = T::of(*w);
            }
            self.state.ledger.outliers.take(newton.outliers());
            self.keep_best_duals(BALANCED);
            settle(&mut self.best_duals, newton.value().multiples);
        }
        if !self.state.runs() {
            self.end_with_best_duals();
        }
    }

    /// It has ended, with the best dual variables that passes have found.
    fn end_with_best_duals(&mut self) {
        self.exchange_duals(BALANCED);
        self.end();
    }

    /// Multiplies the dual variables of the negative rows and of the positive ones. While Newton's method solves it they have the signs of
    /// their rows.
    pub(in crate::solver) fn settle_duals(&mut self, multiples: [f64; 2]) {
        settle(&mut self.alpha, multiples);
    }

    /// Newton's method does not get on: coordinate descent begins, from the smallest primal found.
    pub(in crate::solver) fn leave(&mut self, newton: &Newton) {
        self.settle_duals(newton.value().multiples);
        self.iterate.stand_at(newton.best());
        self.state.begin_elsewhere(true);
    }
}

/// Multiplies dual variables that have the signs of their rows, those of the negative rows and those of the positive ones.
fn settle(duals: &mut [f32], multiples: [f64; 2]) {
    for dual in duals {
        let by = multiples[usize::from(*dual > 0.0)];
        *dual = (f64::from(dual.abs()) * by).min(f64::from(f32::MAX)) as f32;
    }
}
