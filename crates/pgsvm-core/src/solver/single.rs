//! One head by itself: its vectors, its passes, its verification, and Pegasos.
//!
//! Knows weights and rows of one head. Must not know the order in which rows come.

pub(crate) mod by_newton;
pub(crate) mod descent;
pub(crate) mod head;
pub(crate) mod heads;
pub(crate) mod pegasos;
pub(crate) mod query;
pub(crate) mod skippable;
pub(crate) mod verify;
