//! StreamSVM as published (Matsushima, Vishwanathan, Smola, KDD 2012, Algorithms 1 and 2), for comparison.
//!
//! Every row read enters the working set and, when that is full, replaces random members; the trainer picks members at
//! random. A member at a bound is evicted when its gradient is beyond epsilon (below), which is the largest projected
//! gradient of the last n picks (equation 9), times 0.9 at each pick while the set is more than 90 % full. Rows are
//! measured on arrival for the certificate. What stops it is that, or the paper's M+ - M- test (equation 10): then a pass is
//! a scan of the reader, and the T updates made meanwhile are the picks. How many these are for each row that arrives is
//! given, or left to time, as the paper's two threads leave it. No proximal shift.

use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::{Isa, Real, Work};
use crate::solver::driver::TakesRows;
use crate::solver::Solver;
use crate::training::schedule::streaming::Streaming;
use crate::training::schedule::threshold::Threshold;
use crate::training::schedule::threshold::{BETA, FULL};

/// Picks before the ring is looked at again.
const PICKS: usize = 64;

impl<T: Real> Streaming<T> {
    /// Visits a few random members; gives back the values visited.
    pub(in crate::training) fn pick_some(&mut self) -> usize {
        let mut values = 0;
        for _ in 0..PICKS {
            let Some((page, slot)) = self.set.pick(&mut self.random) else {
                break;
            };
            if self.set.fill() > FULL {
                self.threshold.epsilon *= BETA;
            }
            let Some(row) = VisitedPage::as_stored(self.set.read(page)).live(slot) else {
                continue;
            };
            values += row.values();
            let pick = Pick {
                solver: &mut self.passes.solver,
                row,
                margin: self.threshold.epsilon,
            };
            if !self.level.run(pick) {
                self.set.evict(page, slot);
            }
            self.count_pick();
        }
        self.pay(PICKS as f64);
        values
    }

    /// Counts a pick; the threshold follows every so many of them as there are rows.
    fn count_pick(&mut self) {
        self.threshold.picks += 1;
        if self.threshold.picks >= self.facts.rows {
            self.threshold = Threshold {
                epsilon: self.passes.solver.largest_gradient(),
                picks: 0,
            };
            self.note_sweep();
            self.passes.solver.begin_active();
        }
    }
}

struct Pick<'a, T> {
    solver: &'a mut Solver<T>,
    row: Row<'a>,
    margin: f64,
}

impl<T: Real> Work for Pick<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Isa>(self) -> bool {
        let mut heads = self.solver.whole();
        heads.visit_active::<K>(&self.row, self.margin)
    }
}
