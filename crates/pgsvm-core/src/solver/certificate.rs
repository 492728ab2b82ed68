//! What coordinate descent knows of a head beside its ledger: how near it seems, when it is to be verified, and what a proof says.
//!
//! Knows sums and numbers. Must not know vectors or who owns them.

pub(crate) mod dual;
pub(crate) mod expected;
pub(crate) mod proof;
pub(crate) mod shrinking;
pub(crate) mod state;
pub(crate) mod truncated;
