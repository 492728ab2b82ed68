//! What visits add up.

use serde::{Deserialize, Serialize};

use crate::objective::evaluation::right_side;
use crate::objective::loss::{second_bend, LossFunction};
use crate::solver::sums::intercept::Breakpoints;

/// Losses at the weights of a full pass's start, and what else a full pass counts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Tally {
    /// Weighted losses at the weights of the pass's start.
    pub(in crate::solver) start_loss: f64,
    /// Rows on the right side there.
    pub(in crate::solver) correct: u64,
    /// Rows at a margin of exactly 0, the positive ones less the negative ones.
    pub(in crate::solver) ties: i64,
    /// What those cost, likewise.
    pub(in crate::solver) tied_cost: f64,
    pub(in crate::solver) rows: u64,
    /// Weighted losses at the weights of each visit.
    pub(in crate::solver) visit_loss: f64,
    /// Rows with a > 0.
    pub(in crate::solver) support: u64,
    /// Sum of a Q over some of them, and how many.
    pub(in crate::solver) aq: f64,
    pub(in crate::solver) aq_rows: u64,
}

impl Tally {
    pub(in crate::solver) const EMPTY: Tally = Tally {
        start_loss: 0.0,
        correct: 0,
        ties: 0,
        tied_cost: 0.0,
        rows: 0,
        visit_loss: 0.0,
        support: 0,
        aq: 0.0,
        aq_rows: 0,
    };

    /// Adds a row with label `y` and this score at the weights of the pass's start.
    #[inline(always)]
    pub(in crate::solver) fn add_at_start<L: LossFunction>(
        &mut self,
        loss: L,
        (y, cost, score): (f64, f64, f64),
        breakpoints: Option<&mut Breakpoints>,
    ) {
        let margin = y * score;
        self.start_loss += cost * loss.value(margin);
        self.count(y, cost, margin);
        if let Some(breakpoints) = breakpoints {
            breakpoints.add((y, cost, score), second_bend(loss));
        }
    }

    /// The same without its loss.
    #[inline(always)]
    pub(in crate::solver) fn count(&mut self, y: f64, cost: f64, margin: f64) {
        self.correct += u64::from(right_side(margin, y));
        if margin == 0.0 {
            self.ties += y.signum() as i64;
            self.tied_cost += y.signum() * cost;
        }
        self.rows += 1;
    }

    /// These and those of more rows.
    pub(in crate::solver) fn with(self, more: Tally) -> Tally {
        Tally {
            start_loss: self.start_loss + more.start_loss,
            correct: self.correct.saturating_add(more.correct),
            ties: self.ties.saturating_add(more.ties),
            tied_cost: self.tied_cost + more.tied_cost,
            rows: self.rows.saturating_add(more.rows),
            visit_loss: self.visit_loss + more.visit_loss,
            support: self.support.saturating_add(more.support),
            aq: self.aq + more.aq,
            aq_rows: self.aq_rows.saturating_add(more.aq_rows),
        }
    }
}

/// What visits change besides dual variables and weights.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    pub(in crate::solver) full: Tally,
    /// Largest and smallest projected gradient of the pass.
    pub(in crate::solver) high: f64,
    pub(in crate::solver) low: f64,
    /// Sum of a, of a y o with offsets o, and of diag a^2.
    pub(in crate::solver) alpha: f64,
    pub(in crate::solver) offsets: f64,
    pub(in crate::solver) diag: f64,
    pub(in crate::solver) visits: u64,
    pub(in crate::solver) updates: u64,
    /// Sum of c C L + a (m - 1) + 1/2 diag a^2 at the margin m and the a of each visit, which is what the rows visited
    /// leave of the subproblem's gap. In an active pass of all that it visits, in a full pass of those that were shrunk.
    pub(in crate::solver) open: f64,
}

impl Sums {
    pub(in crate::solver) const ZERO: Sums = Sums {
        full: Tally::EMPTY,
        high: f64::NEG_INFINITY,
        low: f64::INFINITY,
        alpha: 0.0,
        offsets: 0.0,
        diag: 0.0,
        visits: 0,
        updates: 0,
        open: 0.0,
    };

    /// These and those of more visits.
    pub(in crate::solver) fn with(self, more: Sums) -> Sums {
        Sums {
            full: self.full.with(more.full),
            high: self.high.max(more.high),
            low: self.low.min(more.low),
            alpha: self.alpha + more.alpha,
            offsets: self.offsets + more.offsets,
            diag: self.diag + more.diag,
            visits: self.visits + more.visits,
            updates: self.updates + more.updates,
            open: self.open + more.open,
        }
    }

    /// What dual variables count in the dual beside their squares.
    pub(in crate::solver) fn linear(&self) -> f64 {
        self.alpha - self.offsets
    }

    /// The range of projected gradients in the pass so far.
    pub(in crate::solver) fn violation(self) -> f64 {
        (self.high.max(0.0) - self.low.min(0.0)).max(0.0)
    }

    /// The largest magnitude of a projected gradient in the pass so far.
    pub(in crate::solver) fn largest_gradient(self) -> f64 {
        self.high.max(-self.low).max(0.0)
    }

    /// Forgets what is of one pass: the projected gradients, and what its rows left of the gap.
    pub(in crate::solver) fn forget_pass(&mut self) {
        self.open = 0.0;
        self.high = f64::NEG_INFINITY;
        self.low = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::losses::parabola::SQUARED_HINGE;

    /// Sums of some visits, of numbers that add up exactly.
    fn of(visits: std::ops::Range<u32>) -> Sums {
        visits.fold(Sums::ZERO, |mut sums, n| {
            let x = f64::from(n * 37 % 11) - 5.0;
            let (y, cost) = (if n % 2 == 0 { 1.0 } else { -1.0 }, f64::from(1 + n % 3));
            sums.full
                .add_at_start(SQUARED_HINGE, (y, cost, x / 4.0), None);
            sums.full.visit_loss += cost;
            sums.full.support += u64::from(n % 3 == 0);
            (sums.full.aq, sums.full.aq_rows) = (sums.full.aq + x, sums.full.aq_rows + 1);
            (sums.high, sums.low) = (sums.high.max(x), sums.low.min(x));
            (sums.alpha, sums.diag) = (sums.alpha + cost, sums.diag + cost * x);
            (sums.visits, sums.updates) = (sums.visits + 1, sums.updates + u64::from(n % 2));
            sums.open += x * x;
            sums
        })
    }

    #[test]
    fn sums_of_parts_are_those_of_the_whole() {
        let whole = format!("{:?}", of(0..100));
        for cut in [0, 1, 50, 99, 100] {
            let (first, second) = (of(0..cut), of(cut..100));
            assert_eq!(format!("{:?}", first.with(second)), whole);
            assert_eq!(format!("{:?}", second.with(first)), whole);
        }
    }
}
