//! Primal, dual and gap of a head, and when it stops.
//!
//! Knows sums and numbers. Must not know vectors or who owns them.

pub(crate) mod bounds;
pub(crate) mod constant;
pub(crate) mod dual;
pub(crate) mod proof;
pub(crate) mod shrinking;
pub(crate) mod state;
pub(crate) mod stop;
pub(crate) mod truncated;
