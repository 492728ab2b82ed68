//! The outcome of a training becomes rows of the extension's tables. Knows no processes.

pub mod chunks;
pub mod deployment;
pub mod heads;
pub mod predecessor;
pub mod provenance;
pub mod together;
pub mod training_log;
pub mod version_row;
pub mod versions;
