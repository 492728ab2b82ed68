//! The extension's own tables: whose a model is and who may do what with it; and what PostgreSQL's catalog says of other
//! tables' columns. Knows nothing of training.

pub mod children;
pub mod giveaways;
pub mod identifiers;
pub mod rights;
pub mod trained_by;
pub mod whole;

use crate::base::errors::{Code, Failure};
use pgrx::spi::SpiError;

/// A failure of SPI itself; errors of a statement are raised by PostgreSQL.
pub fn spi_failure(error: SpiError) -> Failure {
    Failure::new(
        Code::ERRCODE_INTERNAL_ERROR,
        format!("could not reach the table of models: {error}"),
    )
}
