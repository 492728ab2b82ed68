//! Sums over the rows of a head, and the best intercept from them.
//!
//! Knows margins, costs and dual variables as numbers. Must not know weights or rows.

pub(crate) mod intercept;
pub(crate) mod recounted;
pub(crate) mod tally;
pub(crate) mod terms;
