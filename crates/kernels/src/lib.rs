//! Kernel machines of low rank: kernel functions k(x, z), landmarks, and the map phi with phi(x)' phi(z) = k(x, z) as nearly
//! as the landmarks allow. A linear machine trained on phi(x) is a kernel machine.
//!
//! Knows rows as dense and sparse values, and neither labels nor losses, nor where rows come from. Rows
//! have been scaled before they come here.
//!
//! | module | holds |
//! |---|---|
//! | [`kernel`] | what is asked ([`KernelSpec`]), checked, and the function that it becomes ([`Kernel`]) |
//! | [`rows`] | rows one after the other, dense, sparse or both |
//! | [`products`] | products of rows with landmarks: matrix products, and entry by entry what is sparse; kernel values in 32 bits |
//! | [`wide`] | kernel values in 64 bits |
//! | [`rounding`] | what 64 bits lose of sums of kernel values |
//! | [`pivots`] | landmarks by an incomplete Cholesky factorization of a sample, and its factor |
//! | [`centres`] | means of the sample as landmarks |
//! | [`low_rank`] | the map, for blocks of rows, and weights folded for predictions |
//! | [`expansion`] | predictions: sums of kernel values |
//!
//! # How a model is trained and used
//!
//! ```text
//! spec = KernelSpec::new(kind, gamma, degree, coef0)?           what the user types, checked
//! source = pgsvm_core::LowRankSource::new(source, spool, job)   in place of the source; see there
//! ... trained as ever, with Scale::None: the rows are phi(x) and dense
//! mapped = source.map(); scaling = source.report().scaling      the landmarks are scaled rows
//! weights = mapped.fold(trainer.weights(head).iter())           w' = L^-T w, as many as landmarks; the intercept stays
//! stored: kernel, the landmarks' rows, w' of each head, intercepts, mapped.left_out()
//!
//! expansion = Expansion::new(kernel, landmarks, weights, intercepts)?       once a session
//! expansion.decide(&rows, &mut room, &mut decisions)?           rows scaled as the landmarks were, one or many
//! ```

pub mod centres;
pub mod error;
pub mod expansion;
pub mod kernel;
pub mod low_rank;
pub mod pivots;
pub mod products;
pub mod rounding;
pub mod rows;
pub mod triangle;
pub mod wide;

pub(crate) use pgsvm_base as base;
pub(crate) use pgsvm_simd as simd;

pub use error::KernelError;
pub use expansion::Expansion;
pub use kernel::{Kernel, KernelKind, KernelSpec};
pub use low_rank::{LowRank, Span};
pub use pivots::{Choice, Factor, FactorView, Pivots};
pub use products::{Landmarks, Room};
pub use rounding::ValueRounding;
pub use rows::Rows;

#[cfg(test)]
mod tests;
