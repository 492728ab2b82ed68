//! What rows come to at weights that are stored: see [`crate::solver::recount`].

use serde::{Deserialize, Serialize};

use crate::objective::rounded::Rounded;

/// Sums over some of the rows, for a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::solver) struct Recounted {
    /// Rows that take part, those on the right side, and those at a margin of exactly 0, the positive ones less the negative ones.
    pub(in crate::solver) rows: u64,
    pub(in crate::solver) correct: u64,
    pub(in crate::solver) ties: i64,
    /// Sum of c min(L, 1 + s), and rows with a larger loss.
    pub(in crate::solver) losses: f64,
    pub(in crate::solver) outliers: u64,
    /// Sum of what rows cost more on the side on which a round has them, times c; none where no round has put them anywhere.
    pub(in crate::solver) excess: Option<f64>,
    /// Where rows may be off by what they have been rounded to.
    pub(in crate::solver) rounded: Option<Rounded>,
}

impl Recounted {
    /// Adds a row of this cost and loss, which is truncated beyond `most`.
    #[inline(always)]
    pub(in crate::solver) fn take(&mut self, cost: f64, loss: f64, most: f64) {
        self.rows += 1;
        self.losses += cost * loss.min(most);
        self.outliers += u64::from(loss > most);
    }

    /// Adds what a row costs more on the side on which the round has it.
    #[inline(always)]
    pub(in crate::solver) fn exceed(&mut self, excess: f64) {
        *self.excess.get_or_insert_default() += excess;
    }

    /// Adds those over other rows.
    pub(in crate::solver) fn join(&mut self, more: &Self) {
        self.rows = self.rows.saturating_add(more.rows);
        self.correct = self.correct.saturating_add(more.correct);
        self.ties = self.ties.saturating_add(more.ties);
        self.losses += more.losses;
        self.excess = match (self.excess, more.excess) {
            (Some(own), Some(more)) => Some(own + more),
            (own, more) => own.or(more),
        };
        self.outliers = self.outliers.saturating_add(more.outliers);
        self.rounded = match (self.rounded, more.rounded) {
            (Some(own), Some(more)) => Some(own.join(&more)),
            (own, more) => own.or(more),
        };
    }
}
