//! The processes of a training, the roles they play, and what comes out. Knows neither the SQL face nor the tables.

mod any_reader;
mod by_scans;
pub mod entrance;
mod epsilons;
mod failures;
pub mod fit;
mod grid;
mod leader;
mod machines;
pub mod outcome;
mod processes;
mod progress;
mod recheck;
mod roles;
mod spool;
pub mod strings;
pub mod validation;
pub mod watch;
pub mod weights;
mod worker;

pub use recheck::Covers;
