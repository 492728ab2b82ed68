//! The proximal shift: its size, its centre, its metric.
//!
//! Knows vectors of weights and what was measured in a pass. Must not know the form of the loss.

pub(crate) mod dual_moments;
pub(crate) mod form;
pub(crate) mod iterate;
pub(crate) mod moments;
pub(crate) mod rule;
pub(crate) mod whole;
