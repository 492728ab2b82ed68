//! The extension's own tables: whose a model is and who may do what with it; and what PostgreSQL's catalog says of other
//! tables' columns. Knows nothing of training.

pub mod children;
pub mod identifiers;
pub mod rights;
pub mod whole;
