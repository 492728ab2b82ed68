//! Errors with SQLSTATE and hint, and the settings `pgsvm.*`. Knows nothing of models, rows or solvers.

pub mod errors;
pub mod settings;
