//! Passes over rows that somebody else holds, perhaps several who each hold a part of them: what such a pass is to sum up, and the
//! sums, as values that travel.
//!
//! Knows what methods sum up of a row. Must not know who holds the rows, nor what follows from the sums.

mod head;
mod pass;

pub(crate) use head::{HeadFound, HeadScan};
pub(crate) use pass::KeptRows;
pub use pass::{ScanPass, ScanSums};
