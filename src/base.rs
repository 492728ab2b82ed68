//! Errors with SQLSTATE and hint, the settings `pgsvm.*`, texts of any length, and hashes of tables in memory. Knows nothing of models, rows or solvers.

pub mod errors;
pub mod json;
pub mod keyed_hash;
pub mod near;
pub mod settings;
pub mod text;
