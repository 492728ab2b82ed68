//! Work counted in seconds of a usual processor. The count is the same on every machine, so what is stored does not depend on how busy a
//! machine was.

/// What a kernel value takes beside its product, in multiplications.
pub(super) const BESIDE: usize = 32;
/// And a step along a pair, in candidates.
const BESIDE_A_STEP: usize = 32;
/// Of a number of a row and one of a support vector, in 32 bits; of a candidate, for each step along a pair; and of a
/// multiplication of a factorization.
const OF_A_PRODUCT: f64 = 1e-10;
const OF_A_STEP: f64 = 3e-9;
const OF_A_FACTOR: f64 = 7e-11;
/// What kernel values in 64 bits take more.
const WIDE: f64 = 4.0;
/// Factorizations of the kernel matrix of all candidates, usually, together with those of the free ones.
const FACTORS: f64 = 25.0;

/// Kernel values in 32 bits, of rows of this width.
pub(super) fn values(count: usize, width: usize) -> f64 {
    OF_A_PRODUCT * count as f64 * (width + BESIDE) as f64
}

/// The same in 64 bits.
pub(super) fn wide_values(count: usize, width: usize) -> f64 {
    WIDE * values(count, width)
}

/// Steps along pairs of so many candidates.
pub(super) fn steps(steps: usize, candidates: usize) -> f64 {
    OF_A_STEP * steps as f64 * (candidates + BESIDE_A_STEP) as f64
}

/// What it takes to solve for all candidates at once, about.
pub(super) fn all_at_once(candidates: usize) -> f64 {
    OF_A_FACTOR * FACTORS / 3.0 * (candidates as f64).powi(3)
}
