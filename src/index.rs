//! Indexes: what a table's rows were decoded to, kept from one training to the next: numbers, and lists of any length. Each row is
//! known by where it lies and who inserted it (`pg::origin`), so what is kept of it is what it holds, or is not used. Knows nothing
//! of labels, models and trainings.

pub mod chunks;
mod directory;
pub mod kept;
pub mod lists;
mod open;
mod packed;
pub mod renewal;
pub mod stored;
mod tuples;
