//! One step of coordinate descent at one row.
//!
//! Knows a head's vectors, a row and what is kept for each row. Must not know passes.

pub mod active;
pub mod ahead;
pub mod outliers;
pub mod per_row;
pub mod visitor;
