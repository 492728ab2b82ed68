//! Rounds of a truncated loss, min(L, 1 + s): the weights at the end of a round say which rows are outliers in the next. So
//! each round solves a convex problem, and its planes stay lower bounds (docs/solver.md, section 17).
//!
//! A round begins at the weights u that say which rows are outliers. An outlier costs C c (1 + s) at any weights; that constant is a part of
//! the primal along each line, and of the dual beside what planes come to. So the primal is T(u) at u, and no less than T elsewhere. The first
//! pass of a round thus finds by how much the round before has overestimated T at its end.

use crate::solver::bundle::head::FoundByPass;
use crate::solver::certificate::truncated::SOLVED;

/// The part of the tolerance that rows may cost more on their side than on the other one.
const EXCESS_SHARE: f64 = 0.9;
/// Rounds over the sample at most; they end where fewer of its rows change sides than one in so many.
pub(super) const SAMPLE_ROUNDS: u32 = 20;
pub(super) const FEW: usize = 1000;
/// Rows of a sample for each column at least, for its weights to sort rows.
pub(super) const LEAST_A_COLUMN: usize = 500;

/// How the rounds go.
pub(super) struct Rounds {
    /// Those over the sample.
    pub(super) of_sample: u32,
    /// Whether weights have sorted rows.
    pub(super) have_sorted: bool,
    /// The primal where the round began; infinite before its first pass.
    begun: f64,
    /// The weights that sorted rows for the round before, where that has arrived, and what it has found.
    arrived: Option<(Vec<f64>, FoundByPass)>,
}

impl Rounds {
    pub(super) fn new() -> Self {
        Self {
            of_sample: 0,
            have_sorted: false,
            begun: f64::INFINITY,
            arrived: None,
        }
    }

    /// Whether the weights at hand, of this primal and dual, are to sort rows anew: the problem is solved well enough to have gained at least
    /// half of what could be gained.
    pub(super) fn is_over(&self, (primal, dual): (f64, f64)) -> bool {
        let gap = primal - dual;
        gap <= SOLVED * primal && gap <= self.begun - primal
    }

    /// Another round begins; of the one before, where it has arrived, what sorted its rows and what it has found.
    pub(super) fn begin(&mut self, arrived: Option<(Vec<f64>, FoundByPass)>) {
        self.begun = f64::INFINITY;
        self.arrived = arrived;
    }

    /// The first pass of a round has found this primal at the weights that sort rows. What the round before has arrived at, where its
    /// outliers cost no more than a share of `most` too much.
    pub(super) fn begun_at(&mut self, primal: f64, most: f64) -> Option<(Vec<f64>, FoundByPass)> {
        self.begun = primal;
        let arrived = self.arrived.take();
        arrived.filter(|(_, found)| found.primal - primal <= EXCESS_SHARE * most)
    }

    /// Whether the first pass of the round is still to come.
    pub(super) fn begins(&self) -> bool {
        self.begun == f64::INFINITY
    }
}
