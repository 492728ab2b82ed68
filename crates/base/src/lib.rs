//! The ground floor: memory, bits, random numbers.
//!
//! Knows bytes and words, and what the processor and the operating system want. Must not know rows, or what a number
//! means.

pub mod bits;
pub mod huge_pages;
pub mod interrupts;
pub mod memory;
pub mod message;
pub mod prefetch;
pub mod random;
pub mod step;
pub mod thinned;
pub mod words;
pub mod zeros;
