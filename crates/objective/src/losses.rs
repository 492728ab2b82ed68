//! The losses, a file of formulas for each form.

pub mod hinge;
pub mod parabola;
