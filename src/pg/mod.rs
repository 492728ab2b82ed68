//! Everything of PostgreSQL's C interface that training and prediction touch, in small wrappers.
//! Imports nothing of the rest of the extension.

pub mod array;
pub mod compat;
pub mod executor;
pub mod memory;
pub mod numeric;
pub mod parallel;
pub mod query;
pub mod queue;
pub mod tempfile;
pub mod types;
pub mod varlena;
pub mod wait;

/// Lets PostgreSQL act on cancel, termination and worker messages; raises the ERROR if so.
/// Every loop of ours calls it at least every few milliseconds.
#[inline]
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}
