//! What coordinate descent knows of a head beside its ledger: how near it seems, when it is to be verified, and what a proof says.
//!
//! Knows sums and numbers. Must not know vectors or who owns them.

pub mod dual;
pub mod expected;
pub mod proof;
pub mod shrinking;
pub mod state;
pub mod truncated;
