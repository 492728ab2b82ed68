//! Sources whose rows are made of another source's: what stands between a table's rows and those that are trained on.
//!
//! Knows readers and what they leave in a cache. Must not know heads, or schedules.

pub mod low_rank;
pub mod stored;
