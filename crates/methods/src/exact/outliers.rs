//! Rows beyond the truncation of a loss, min(L, 1 + s): each costs 1 + s times its weight and has no
//! influence on the weights.
//!
//! With the outliers fixed, the problem is a constant and a convex problem over the other rows. It is solved in rounds: when a pass in 64 bits finds that problem
//! solved, each row becomes an outlier or ceases to be one by its loss there. The next round begins at the dual variables that are left. The first
//! sides are those of the machine of low rank. Yen, Chang, Lin, Lin, Lin, KDD 2013, (5).

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory};
use crate::objective::loss::Loss;
use crate::objective::report::Truncation;

/// The part of the tolerance that rows may cost more on their side than on the other one.
const EXCESS_SHARE: f64 = 0.9;

pub(super) struct Outliers {
    /// 1 + s
    most: f64,
    /// By row whether it is one.
    out: Vec<bool>,
    /// Of the pass under way: what outliers cost, what rows cost more than they would on the other side, and losses above 1 + s.
    cost: f64,
    excess: f64,
    count: u64,
}

impl Outliers {
    /// None where the loss of this head is not truncated. By row its side and what was decided.
    pub(super) fn of(
        (loss, s): (Loss, Option<f64>),
        (sides, decisions): (&[i8], &[f32]),
    ) -> Result<Option<Self>, OutOfMemory> {
        let Some(s) = s else {
            return Ok(None);
        };
        let mut this = Self {
            most: 1.0 + s,
            out: gathered(sides.iter().map(|_| false))?,
            cost: 0.0,
            excess: 0.0,
            count: 0,
        };
        this.sort(loss, sides, decisions);
        Ok(Some(this))
    }

    /// Puts each row on the side that its decision says.
    pub(super) fn sort(&mut self, loss: Loss, sides: &[i8], decisions: &[f32]) {
        let rows = sides.iter().zip(decisions);
        for (out, (side, decision)) in self.out.iter_mut().zip(rows) {
            let margin = f64::from(*side) * f64::from(*decision);
            *out = *side != 0 && loss.value(margin) > self.most;
        }
        interrupts::worked(sides.len());
    }

    /// What a row loses at most.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// By row whether it is one.
    pub(super) fn out(&self) -> &[bool] {
        &self.out
    }

    /// Has these be outliers, of all rows.
    pub(super) fn set(&mut self, out: Vec<bool>) {
        self.out = out;
    }

    /// No row is one.
    pub(super) fn clear(&mut self) {
        self.out.fill(false);
    }

    pub(super) fn has(&self, row: usize) -> bool {
        self.out[row]
    }

    pub(super) fn begin_pass(&mut self) {
        (self.cost, self.excess, self.count) = (0.0, 0.0, 0);
    }

    /// Counts a row of this weight and loss; whether it is an outlier.
    pub(super) fn look(&mut self, row: usize, weight: f64, loss: f64) -> bool {
        let (is, over) = (self.out[row], weight * (loss - self.most));
        self.count += u64::from(over > 0.0);
        self.excess += if is { -over } else { over }.max(0.0);
        if is {
            self.cost += weight * self.most;
        }
        is
    }

    /// What they cost, as the last pass found.
    pub(super) fn cost(&self) -> f64 {
        self.cost
    }

    /// A dual, and the primal at weights of 0 where each row loses so much, of the other rows alone.
    pub(super) fn taken_out(&self, dual: f64, (nothing, loss): (f64, f64)) -> [f64; 2] {
        [dual - self.cost, nothing - self.cost * loss / self.most]
    }

    /// What the pass says where the primal is this.
    pub(super) fn report(&self, primal: f64) -> Truncation {
        Truncation {
            objective: primal - self.excess,
            outliers: self.count,
        }
    }
}

/// Whether rows are on the sides that their losses say, within this tolerance of the primal.
pub(super) fn are_sorted(primal: f64, truncated: Option<&Truncation>, tolerance: f64) -> bool {
    truncated.is_none_or(|it| primal - it.objective <= EXCESS_SHARE * tolerance * primal)
}
