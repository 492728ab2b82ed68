//! The ground floor: memory, bits, random numbers.
//!
//! Knows bytes and words, and what the processor and the operating system want. Must not know rows, or what a number
//! means.

pub(crate) mod bits;
pub(crate) mod huge_pages;
pub(crate) mod interrupts;
pub mod memory;
pub(crate) mod prefetch;
pub(crate) mod random;
pub(crate) mod step;
pub(crate) mod words;
pub(crate) mod zeros;
