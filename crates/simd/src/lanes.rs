//! A number for each of several heads, side by side.

/// Lanes of a block.
pub const LANES: usize = 8;

pub type Lanes = [f32; LANES];
