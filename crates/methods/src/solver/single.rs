//! One head by itself: its vectors, its passes, its verification, and Pegasos.
//!
//! Knows weights and rows of one head. Must not know the order in which rows come.

pub mod by_newton;
pub mod descent;
pub mod head;
pub mod heads;
pub mod pegasos;
pub mod query;
pub mod skippable;
pub mod verify;
