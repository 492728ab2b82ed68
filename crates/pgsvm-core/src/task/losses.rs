//! The losses, a file of formulas each.

#[cfg(test)]
pub(crate) mod half_squared_hinge;
pub(crate) mod hinge;
pub(crate) mod squared_hinge;
