//! What a bundle knows of the problem of a head: rows that are held, and planes of the others.

use crate::objective::loss::NO_LOSS_FROM;
use crate::rows::row::{Row, QUAD};
use crate::solver::bundle::planes::Planes;
use crate::solver::fixed_weights::product;

/// Rows that are gone over at a time, between two looks at how much that was.
pub(super) const ROWS: usize = 256;

/// Rows that are held, with their dual variables, and planes of the others.
pub(super) struct Known {
    pub(super) dense: usize,
    pub(super) intercept: f64,
    pub(super) words: Vec<u32>,
    pub(super) rows: Vec<Held>,
    pub(super) planes: Planes,
    /// The weights found.
    pub(super) w: Vec<f64>,
}

/// A row that is held.
pub(super) struct Held {
    pub(super) at: u32,
    pub(super) y: f64,
    pub(super) bound: f64,
    pub(super) square: f64,
    pub(super) a: f64,
    /// y <w, x> from which on it loses nothing: 1, less y times its offset.
    pub(super) breakpoint: f64,
}

/// [`Held::breakpoint`] of a row on this side.
#[inline(always)]
pub(super) fn breakpoint(row: &Row<'_>, y: f64) -> f64 {
    NO_LOSS_FROM - y * row.offset()
}

impl Held {
    /// The row itself, among these words.
    #[inline(always)]
    pub(super) fn row<'a>(&self, words: &'a [u32], dense: usize) -> Row<'a> {
        Row::new(&words[self.at as usize * QUAD..], dense)
    }
}

/// How far a solution is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solved {
    pub(super) dual: f64,
    /// Of the known problem, at the weights found.
    pub(super) primal: f64,
    pub(super) support: u64,
    /// Whether that is enough, or as far as it gets.
    pub(super) ended: bool,
}

impl Known {
    /// A weight, a free intercept's beside its centre.
    #[inline(always)]
    pub(super) fn own(&self, place: usize) -> f64 {
        match place + 1 == self.w.len() {
            true => self.w[place] - self.planes.centre,
            false => self.w[place],
        }
    }

    /// What the centre takes from a product of the weights and these.
    pub(super) fn shift(&self, v: &[f64]) -> f64 {
        self.planes.centre * v.last().copied().unwrap_or(0.0)
    }

    /// |w|^2, a free intercept's beside its centre.
    pub(super) fn square(&self) -> f64 {
        let centre = self.planes.centre;
        let last = self.w.last().copied().unwrap_or(0.0);
        product(&self.w, &self.w) - centre * (2.0 * last - centre)
    }

    /// Weights beside the centre become weights.
    pub(super) fn shift_back(&mut self) {
        if let Some(last) = self.w.last_mut() {
            *last += self.planes.centre;
        }
    }

    /// The centre moves to the intercept.
    pub(super) fn move_centre(&mut self) {
        self.planes.centre = self.w.last().copied().unwrap_or(0.0);
    }
}
