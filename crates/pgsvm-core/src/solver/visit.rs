//! One step of coordinate descent at one row.
//!
//! Knows a head's vectors, a row and what is kept for each row. Must not know passes.

pub(crate) mod active;
pub(crate) mod ahead;
pub(crate) mod outliers;
pub(crate) mod per_row;
pub(crate) mod visitor;
