//! A request and its source become a job, which leader and workers share, and the plan of its SELECT. Runs nothing, and does not
//! know who will.

pub mod bad_rows;
pub mod columns;
mod feature_hints;
pub mod job;
mod parts;
pub mod pieces;
pub mod prepare;
pub mod roles;
pub mod scans;
pub mod source_columns;
pub mod task;
pub mod watched;
