//! What a version knows of its rows, and which rows of a source it takes again. Does not know who runs the training.

pub mod admission;
pub mod followed;
pub mod following;
pub mod memory;
pub mod near;
pub mod remembered;
pub mod screening;
pub mod stored;
mod stored_rows;
mod stored_slacks;
pub mod unfinished;
