//! Rows are summed up where they are: `svm_internal.svm_scan`, an aggregate that PostgreSQL's own plans run, in parallel where they
//! can, and on other servers where they are shipped there. Reads no table of the extension and is immutable: all that it needs
//! comes in its first argument.
//!
//! Knows how rows become examples. Must not know who asks, nor what follows from the sums.

mod functions;
pub mod order;
pub mod rows_state;
pub mod state;
pub mod statement;
mod worker;
