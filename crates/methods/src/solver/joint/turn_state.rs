//! A head whose turn it is.

use crate::solver::proximal::iterate::{Iterate, Norms};
use crate::solver::visit::per_row::Shrunk;

pub(super) struct Turn {
    pub(super) lane: usize,
    pub(super) iterate: Iterate<f32>,
    /// Dual variables by row; without meaning for rows that were shrunk when the turn began.
    pub(super) alpha: Vec<f32>,
    pub(super) shrunk: Shrunk,
    /// The head's, by group.
    pub(super) signs: Vec<i8>,
    /// Norms of all lanes when the turn began: those of the others stay.
    pub(super) norms: Vec<Norms>,
}
