//! Truncated losses, min(L(m), 1 + s), in a head's certificate.
//!
//! The relaxation of Yen, Chang, Lin, Lin and Lin (KDD 2013, equation 5): with the outliers left out, each costing the constant
//! C c (1 + s), what is left is the convex problem over the other rows, which is solved as ever. A verifying pass draws the line
//! anew at the weights that it verifies, takes the dual variables of rows that have become outliers out of v, and proves the gap
//! of the convex problem over the rows that are left then. So a head ends with weights that solve, within its tolerance, the
//! problem over the very rows that are no outliers at these weights; its primal and the outliers' constants are the truncated
//! objective there.

use crate::base::memory::OutOfMemory;
use crate::solver::visit::outliers::{Outliers, Sorted};
use crate::task::loss::Loss;
use crate::task::problem::Problem;
use crate::task::report::Truncation;

/// The band, as a multiple of the tolerance's root: rows in it that are on the wrong side cost as the square of it.
const BAND: f64 = 4.0;
/// But never more than this share of s.
const BAND_OF_S: f64 = 0.25;
/// Rounds in which there is none yet.
const FREE_ROUNDS: u32 = 4;

/// Where a head with a truncated loss stands; of others, that they are none.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Truncated {
    /// s, where the loss is truncated.
    s: Option<f64>,
    /// The loss that is.
    loss: Loss,
    /// Of the rows that are drawn to begin with.
    seed: u64,
    /// Rows whose loss is within this of 1 + s stay on the side on which they are, once rows have settled.
    band: f64,
    /// Times that rows have been sorted.
    rounds: u32,
    /// What the last verifying pass found.
    pub(in crate::solver) sorted: Sorted,
    /// Whether rows changed sides in it.
    moved: bool,
}

impl Truncated {
    pub(in crate::solver) fn of(problem: &Problem) -> Self {
        let s = problem.truncation();
        let band = BAND * problem.tolerance().sqrt();
        Self {
            s,
            loss: problem.loss(),
            seed: problem.seed(),
            band: band.min(BAND_OF_S * s.unwrap_or(0.0)),
            rounds: 0,
            sorted: Sorted::default(),
            moved: false,
        }
    }

    /// Whether the loss is truncated.
    pub(in crate::solver) fn is(&self) -> bool {
        self.s.is_some()
    }

    /// The loss that a head begins with, by which the rows drawn are solved: where many labels are wrong the hinge may come to
    /// weights of next to nothing, and the squared hinge keeps the direction.
    pub(in crate::solver) fn first_loss(&self) -> Loss {
        match self.is() {
            true => Loss::SquaredHinge,
            false => self.loss,
        }
    }

    /// Whether no row has been sorted yet.
    pub(in crate::solver) fn begins(&self) -> bool {
        self.is() && self.rounds == 0
    }

    /// The loss from when rows have been sorted.
    pub(in crate::solver) fn loss(&self) -> Loss {
        self.loss
    }

    /// The outliers of a head that begins from nothing.
    pub(in crate::solver) fn outliers(&self, rows: usize) -> Result<Option<Outliers>, OutOfMemory> {
        let made = |s| Outliers::all_but_drawn(1.0 + s, rows, self.seed);
        self.s.map(made).transpose()
    }

    /// Weights have come from elsewhere: they sort rows as any others.
    pub(in crate::solver) fn begin_elsewhere(&mut self) {
        self.rounds = self.rounds.max(1);
    }

    /// The loss beyond which rows are outliers, and the band. At first those on the wrong side are, since it is not known how
    /// long the weights should be.
    pub(in crate::solver) fn line(&self) -> (f64, f64) {
        let most = 1.0 + self.s.unwrap_or(0.0);
        match self.rounds {
            0 => (self.loss.value(0.0), 0.0),
            rounds if rounds < FREE_ROUNDS => (most, 0.0),
            _ => (most, self.band),
        }
    }

    /// Rows have been sorted. Whether some have changed sides, with which a round begins.
    pub(in crate::solver) fn take_moved(&mut self) -> bool {
        self.rounds += 1;
        self.moved = self.sorted.moved > 0;
        self.moved
    }

    /// Whether rows on the wrong side cost no more than `most`; else the band becomes smaller.
    pub(in crate::solver) fn stays(&mut self, c: f64, most: f64) -> bool {
        if self.rounds <= 1 {
            // by their signs alone
            return !self.is();
        }
        let stays = c * self.sorted.excess <= most;
        if !stays {
            self.band *= 0.5;
        }
        stays
    }

    /// Whether a round has begun, since when there was no full pass.
    pub(in crate::solver) fn begins_round(&self) -> bool {
        self.moved
    }

    /// A full pass begins.
    pub(in crate::solver) fn begin_full(&mut self) {
        self.moved = false;
    }

    /// What it came to at weights of this primal.
    pub(in crate::solver) fn report(&self, primal: f64, c: f64) -> Option<Truncation> {
        self.s.map(|s| Truncation {
            objective: primal + c * ((1.0 + s) * self.sorted.cost - self.sorted.excess),
            outliers: self.sorted.outliers,
        })
    }
}
