//! A request and its columns become a job, which leader and workers share. Runs nothing.

pub mod job;
pub mod pieces;
