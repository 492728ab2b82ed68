//! The extension's own tables: whose a model is and who may do what with it. Knows nothing of training.

pub mod children;
pub mod rights;
pub mod whole;
