//! Dense linear algebra of symmetric matrices in 64 bits: sums of products of rows, factors, systems of equations.
//!
//! Everything goes panel by panel ([`lower`]), so that a caller can stop between two of them. Knows neither rows nor
//! losses.

pub(crate) mod cholesky;
pub(crate) mod gram;
pub(crate) mod lower;
pub(crate) mod one_plus;
