//! The outcome of a training becomes rows of the extension's tables. Knows no processes.

pub mod deployment;
pub mod predecessor;
pub mod provenance;
pub mod training_log;
pub mod versions;
