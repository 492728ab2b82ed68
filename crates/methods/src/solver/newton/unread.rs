//! Rows that a pass of Newton's method need not look at, and what its sums are to have of them.
//!
//! A row without a loss at the weights of a pass, or an outlier, adds to none of its sums but counts. It is looked at elsewhere too
//! where a step has led to a larger primal: then rows within the margin at the best weights are in the Hessian. On the way from the best
//! weights to the last ones a row that has no loss at either end has none, and one that is an outlier at the best ones is left out.
//! Products are of rows with dual variables alone.

use crate::objective::loss::NO_LOSS_FROM;
use crate::solver::newton::head::{Newton, Next};
use crate::solver::visit::outliers::Sorted;

impl Newton {
    /// Weights at which a pass of this kind takes the margins of rows, and others at which it looks at those that had no dual variables
    /// in the pass before.
    pub fn looks_at(&self, pass: Next) -> (Option<&[f64]>, [Option<&[f64]>; 2]) {
        let (w, best) = (Some(&self.w[..]), Some(&self.best[..]));
        match pass {
            Next::Pass => {
                let again = self.looks_back() && self.rises > 0;
                (w, [best.filter(|_| again), None])
            }
            Next::Line => (None, [w, best]),
            _ => (None, [None, None]),
        }
    }

    /// The margins from where a row has no loss, and up to where it is an outlier.
    pub fn kinks(&self) -> [Option<f64>; 2] {
        let out = NO_LOSS_FROM - self.objective.most_within;
        [Some(NO_LOSS_FROM), out.is_finite().then_some(out)]
    }

    /// The constant behind a row's features.
    pub fn constant(&self) -> f64 {
        self.objective.intercept
    }

    /// The pass has left out so many rows, so many of them on the right side, and these outliers among them.
    pub(in crate::solver) fn add_unseen(&mut self, (rows, correct): (u64, u64), sorted: Sorted) {
        self.unseen += rows;
        self.sums.tally.rows += rows;
        self.sums.tally.correct += correct;
        // what they cost is a constant, whatever their sign
        let [side, _] = &mut self.sums.sides;
        side.outliers += sorted.outliers;
        side.outside += sorted.cost;
    }

    /// Rows that the last pass has left out.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }
}
