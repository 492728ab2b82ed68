//! Rows come out of PostgreSQL, alone or with helpers, and become examples. Does not know the trainer.

mod bounds;
mod complaints;
mod constants;
pub mod helpers;
pub mod learned;
pub mod row_decoder;
pub mod rows;
pub mod vocabularies;
