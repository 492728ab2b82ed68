//! Newton's method on the primal of smooth losses such as the squared hinge. It solves a head alone, or before coordinate descent goes on.
//!
//! Knows the weights of a head and what a pass over rows sums up for it. Must not know in which order rows come, nor other
//! heads.

pub mod choice;
mod conjugate;
pub mod given;
pub mod head;
mod line;
mod local;
mod near;
pub mod pace;
pub mod pass;
mod step;
pub mod sums;
pub mod value;
