//! Sums over the rows of a head, and the best intercept from them.
//!
//! Knows margins, costs and dual variables as numbers. Must not know weights or rows.

pub mod intercept;
pub mod recounted;
pub mod tally;
pub mod terms;
