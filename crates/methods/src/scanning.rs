//! Passes over rows that others hold, perhaps several processes that each hold a part: what such a pass is to sum up, and the sums. Both
//! travel as messages.
//!
//! Knows what methods sum up of a row. Must not know who holds the rows, nor what follows from the sums.

mod pass;

pub use crate::solver::head_sums::{HeadFound, HeadScan};
pub use pass::{RowsHere, ScanPass, ScanSums};
