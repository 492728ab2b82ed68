//! The proximal shift: its size, its centre, its metric.
//!
//! Knows vectors of weights and what was measured in a pass. Must not know the form of the loss.

pub mod dual_moments;
pub mod form;
pub mod iterate;
pub mod moments;
pub mod rule;
pub mod whole;
