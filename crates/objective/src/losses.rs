//! The losses, a file of formulas each.

#[cfg(any(test, feature = "planted"))]
pub mod half_squared_hinge;
pub mod hinge;
pub mod squared_hinge;
