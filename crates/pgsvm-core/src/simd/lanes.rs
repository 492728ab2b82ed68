//! A number for each of several heads, side by side.

/// Lanes of a block.
pub(crate) const LANES: usize = 8;

pub(crate) type Lanes = [f32; LANES];
