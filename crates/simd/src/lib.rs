//! The inner loops over one row, compiled once plainly and once for the processor's vector unit.
//!
//! Each loop is written over fixed arrays of lanes, from which the compiler makes vector code; [`Level::run`]
//! picks at run time the build for AVX2 with fused multiply-add where the processor has it, in which dense rows are gone
//! through by the loops of [`dense`] (with the vectors of [`avx2`], or where rows are long and the processor has them of
//! [`avx512`]) and some sparse ones by those of [`gather`]. NEON is part of every aarch64 target. Lanes are summed in a fixed
//! order, so a level gives the same bits every time.
//!
//! Knows slices of numbers, and pairs of a number and where it stands. Must not know rows' headers, losses or heads.

macro_rules! fuse {
    ($isa:ty, $a:expr, $b:expr, $c:expr) => {
        if <$isa>::FUSED {
            $a.mul_add($b, $c)
        } else {
            $a * $b + $c
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod dense;
pub mod eight;
pub mod entries;
pub mod float;
#[cfg(any(test, feature = "forced"))]
pub mod forced;
#[cfg(target_arch = "x86_64")]
mod gather;
pub mod lanes;
mod level;
pub mod panels;
pub mod products;
pub mod real;
pub mod request;
pub mod tile;

pub use level::{Isa, Level, Work};
pub use products::{Beside, Deferred, DenseStep, Products};
pub use real::Real;
pub use request::Next;

#[cfg(test)]
mod tests;
