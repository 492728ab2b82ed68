//! The constants of a head in its visits.

use crate::task::loss::Loss;

#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Terms {
    pub(in crate::solver) c: f64,
    pub(in crate::solver) loss: Loss,
    /// Gradients beyond which a row at its bound is shrunk.
    pub(in crate::solver) shrink_above: f64,
    pub(in crate::solver) shrink_below: f64,
}
