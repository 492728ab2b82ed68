//! Who is visited when: an order of rows and visits for each kind of training.
//!
//! Knows the cache's sides and the solver's passes. Must not know plans, stages or what is reported.

pub(crate) mod block;
pub(crate) mod grades;
pub(crate) mod paper;
pub(crate) mod pass;
pub(crate) mod pegasos;
pub(crate) mod resident;
pub(crate) mod selective;
pub(crate) mod streaming;
pub(crate) mod working_set;
