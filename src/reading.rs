//! Rows come out of PostgreSQL, alone or with helpers, and become examples. Does not know the trainer.

mod constants;
pub mod helpers;
pub mod rows;
