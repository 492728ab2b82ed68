//! Dense linear algebra of symmetric matrices in 64 bits: sums of products of rows, factors, systems of equations.
//!
//! Everything goes panel by panel ([`lower`]), so that a caller can stop between two of them. Knows neither rows nor
//! losses.

pub mod cholesky;
pub mod gram;
pub mod lower;
pub mod one_plus;

pub(crate) use pgsvm_base as base;
pub(crate) use pgsvm_simd as simd;
