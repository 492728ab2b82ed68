//! Newton's method on the primal of smooth losses, as the squared hinge is, by itself or before coordinate descent.
//!
//! Knows the weights of a head and what a pass over rows sums up for it. Must not know in which order rows come, nor other
//! heads.

pub(crate) mod choice;
mod conjugate;
pub(crate) mod given;
pub(crate) mod head;
mod line;
mod local;
mod near;
pub(crate) mod pace;
pub(crate) mod pass;
mod step;
pub(crate) mod sums;
mod unread;
pub(crate) mod value;
