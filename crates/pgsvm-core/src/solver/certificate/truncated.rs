//! Truncated losses, min(L(m), 1 + s), in a head's certificate.
//!
//! The relaxation of Yen, Chang, Lin, Lin and Lin (KDD 2013, equation 5): with the outliers left out, each costing the constant
//! C c (1 + s), what is left is the convex problem over the other rows, IN. Visits put rows on their sides one by one, by the weights as
//! they are then, so that weights and sides come about together; a row that becomes an outlier takes its dual variable out of v.
//! A verifying pass draws the line anew at the weights that it verifies, and proves the gap of the convex problem over the rows
//! that are left then. So a head ends with weights that solve, within its tolerance, the problem over the very rows that are no
//! outliers at these weights; its primal and the outliers' constants are the truncated objective there.

use crate::base::memory::OutOfMemory;
use crate::solver::visit::outliers::{Line, Outliers, Sorted};
use crate::task::heads::HeadSpec;
use crate::task::problem::Problem;
use crate::task::report::Truncation;

/// Full passes, behind a beginning from nothing, whose visits put rows on their sides.
const OPEN_PASSES: u32 = 3;
/// The band at first, as a multiple of the tolerance's root: rows in it that are on the wrong side cost as the square of it.
const BAND: f64 = 8.0;
/// The share of the tolerance that they are let cost.
const EXCESS: f64 = 0.9;
/// But never more than this share of s.
const BAND_OF_S: f64 = 0.25;
/// Rounds in which there is none yet.
const FREE_ROUNDS: u32 = 4;
/// Where a head with a truncated loss stands; of others, that they are none.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Truncated {
    /// s, where the loss is truncated.
    s: Option<f64>,
    /// Rows whose loss is within this of 1 + s stay on the side on which they are, once rows have settled.
    band: f64,
    /// Times that rows have been sorted.
    rounds: u32,
    /// What the last verifying pass found.
    pub(in crate::solver) sorted: Sorted,
    /// Whether rows have been sorted since the last full pass.
    sorts: bool,
}

impl Truncated {
    pub(in crate::solver) fn of(problem: &Problem, spec: &HeadSpec) -> Self {
        let s = spec.truncation.or(problem.truncation());
        let band = BAND * problem.tolerance().sqrt();
        Self {
            s,
            band: band.min(BAND_OF_S * s.unwrap_or(0.0)),
            rounds: 0,
            sorted: Sorted::default(),
            sorts: false,
        }
    }

    /// Whether the loss is truncated.
    pub(in crate::solver) fn is(&self) -> bool {
        self.s.is_some()
    }

    /// Whether no row has been sorted yet.
    pub(in crate::solver) fn begins(&self) -> bool {
        self.is() && self.rounds == 0
    }

    /// Whether visits put rows on their sides, as long as weights are far from what they will be.
    pub(in crate::solver) fn opens(&self) -> bool {
        self.begins()
    }

    /// Whether rows are to be sorted behind so many full passes.
    pub(in crate::solver) fn wants_sorting(&self, full_passes: u32) -> bool {
        self.opens() && full_passes >= OPEN_PASSES
    }

    /// What the outliers cost together: a constant that the problem of a round has beside the rows that are left.
    pub(in crate::solver) fn constant(&self, c: f64) -> f64 {
        self.s.map_or(0.0, |s| c * (1.0 + s) * self.sorted.cost)
    }

    /// The outliers of a head that begins from nothing: none.
    pub(in crate::solver) fn outliers(&self, rows: usize) -> Result<Option<Outliers>, OutOfMemory> {
        let made = |_| Outliers::none(self.line(), rows);
        self.s.map(made).transpose()
    }

    /// The line between the sides.
    pub(in crate::solver) fn line(&self) -> Line {
        Line {
            most_loss: 1.0 + self.s.unwrap_or(0.0),
            band: match self.rounds < FREE_ROUNDS {
                true => 0.0,
                false => self.band,
            },
        }
    }

    /// Rows have been sorted, which is to be told of until the next full pass.
    pub(in crate::solver) fn take_sorted(&mut self) {
        if self.is() {
            self.rounds += 1;
            self.sorts = true;
        }
    }

    /// Whether rows on the wrong side cost no more than `most`.
    pub(in crate::solver) fn stays(&self, c: f64, most: f64) -> bool {
        c * self.sorted.excess <= most
    }

    /// Makes the band as wide as it may be for rows on the wrong side to cost no more than a share of `most`: they cost as its square.
    pub(in crate::solver) fn fit_band(&mut self, c: f64, most: f64) {
        let excess = c * self.sorted.excess;
        if self.is() && excess > 0.0 && self.rounds > FREE_ROUNDS {
            let times = (EXCESS * most / excess).sqrt().clamp(0.5, 2.0);
            self.band = (self.band * times).min(BAND_OF_S * self.s.unwrap_or(0.0));
        }
    }

    /// Whether rows have been sorted since the last full pass.
    pub(in crate::solver) fn has_sorted(&self) -> bool {
        self.sorts
    }

    /// Whether none of them changed sides.
    pub(in crate::solver) fn stood_still(&self) -> bool {
        self.sorts && self.sorted.moved == 0
    }

    /// A full pass begins.
    pub(in crate::solver) fn begin_full(&mut self) {
        self.sorts = false;
    }

    /// What it came to at weights of this primal.
    pub(in crate::solver) fn report(&self, primal: f64, c: f64) -> Option<Truncation> {
        self.s.map(|_| Truncation {
            objective: primal - c * self.sorted.excess,
            outliers: self.sorted.outliers,
        })
    }
}
