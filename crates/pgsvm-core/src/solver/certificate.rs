//! Primal, dual and gap of a head, and when it stops.
//!
//! Knows sums and numbers. Must not know vectors or who owns them.

pub(crate) mod dual;
pub(crate) mod proof;
pub(crate) mod state;
