//! How weights follow from what is kept of them.

use crate::solver::proximal::whole::WholeStep;

/// How weights follow from u.
#[derive(Clone, Copy)]
pub(in crate::solver) struct WeightMap<'a, T> {
    /// w = damp u for every feature, unless there are `columns`.
    pub(in crate::solver) damp: f64,
    pub(in crate::solver) columns: Option<Damping<'a, T>>,
    /// Where the metric is whole u is w itself, and damp 1.
    pub(in crate::solver) whole: Option<WholeStep<'a>>,
    /// Length of the rows' dense part.
    pub(in crate::solver) dense: usize,
    /// The constant feature: 1, or 0 for none.
    pub(in crate::solver) intercept: f64,
}

/// A factor for each column, and the inverse of its moment (see [`crate::solver::proximal::moments`]).
#[derive(Clone, Copy)]
pub(in crate::solver) struct Damping<'a, T> {
    pub(in crate::solver) damp: &'a [T],
    pub(in crate::solver) inverse: &'a [T],
}
