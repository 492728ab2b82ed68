//! Indexes: the numbers and lists that a table's rows were decoded to, kept from one training to the next. A row is known by where it lies
//! and which transaction inserted it (`pg::origin`). So what is kept of a row is what the row holds, or it is not used. Knows nothing of
//! labels, models and trainings.

pub mod chunks;
mod directory;
pub mod kept;
pub mod lists;
mod open;
mod packed;
pub mod renewal;
pub mod stored;
mod tuples;
