//! The threshold of StreamSVM as published: how informative a row must be to stay.

/// Epsilon before the first n picks (Algorithm 2).
const FIRST: f64 = 9.0;

/// What shrinks epsilon while the set is fuller than [`FULL`] (section 3).
pub(super) const BETA: f64 = 0.9;

pub(super) const FULL: f64 = 0.9;

pub(in crate::training) struct Threshold {
    pub(super) epsilon: f64,
    pub(super) picks: usize,
}

impl Threshold {
    pub(in crate::training) fn new() -> Self {
        Self {
            epsilon: FIRST,
            picks: 0,
        }
    }
}
