//! Passes over rows that others hold, perhaps several processes that each hold a part: what such a pass is to sum up, and the sums. Both
//! travel as messages.
//!
//! Knows what methods sum up of a row. Must not know who holds the rows, nor what follows from the sums.

mod head;
mod pass;

pub use head::{HeadFound, HeadScan};
pub use pass::KeptRows;
pub use pass::{ScanPass, ScanSums};
