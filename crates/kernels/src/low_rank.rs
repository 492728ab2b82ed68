//! The map of low rank: phi(x) = L^-1 k(landmarks, x), so that phi(x)' phi(z) = k(x, z) for landmarks, and for other rows
//! what their projections onto the landmarks' span make of it.
//!
//! ```text
//! phi(x)   = L^-1 k(x), k(x)_j = k(z_j, x), K of the landmarks z_j = L L'
//! w'phi(x) = (L^-T w)' k(x) = sum_j a_j k(z_j, x)     a = L^-T w: a prediction needs no L
//! ```
//!
//! A block of rows is two matrix products: with the landmarks, and of the kernel values with L^-1, whose columns are taken a
//! panel at a time, since no entry of phi needs landmarks behind its own. L and its inverse are computed in 64 bits, values
//! and products are 32.

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::pivots::{Factor, FactorView};
use crate::products::{products_into, Landmarks, Room, View};
use crate::rows::Rows;
use crate::simd::Level;

/// Entries of phi that are computed together.
const PANEL: usize = 128;
/// Rows that are mapped together, so that their kernel values stay in the second cache.
const ROWS: usize = 256;

#[derive(Debug)]
pub struct LowRank {
    kernel: Kernel,
    level: Level,
    landmarks: Landmarks,
    pivots: Vec<usize>,
    left_out: f64,
    /// L, row after row.
    lower: Vec<f64>,
    /// L^-1 likewise, for rows.
    inverse: Vec<f32>,
}

impl LowRank {
    pub fn new(factor: Factor) -> Result<Self, KernelError> {
        let rank = factor.landmarks.len();
        let wide = inverse(&factor.lower, rank)?;
        let mut inverse: Vec<f32> = Vec::new();
        inverse.room(wide.len())?;
        for row in wide.chunks(rank.max(1)) {
            inverse.extend(row.iter().map(|value| *value as f32));
            interrupts::worked(rank);
        }
        Ok(Self {
            kernel: factor.kernel,
            level: Level::best(),
            landmarks: Landmarks::new(factor.landmarks)?,
            pivots: factor.pivots,
            left_out: factor.left_out,
            lower: factor.lower,
            inverse,
        })
    }

    /// What it was made of, to be handed to another process.
    pub fn into_factor(self) -> Factor {
        Factor {
            kernel: self.kernel,
            landmarks: self.landmarks.into_rows(),
            lower: self.lower,
            pivots: self.pivots,
            left_out: self.left_out,
        }
    }

    /// The same, which stays.
    pub fn factor(&self) -> FactorView<'_> {
        FactorView {
            kernel: &self.kernel,
            landmarks: self.landmarks.rows(),
            lower: &self.lower,
            pivots: &self.pivots,
            left_out: self.left_out,
        }
    }

    /// Its landmarks alone: all that predictions need beside folded weights.
    pub fn into_landmarks(self) -> Rows {
        self.landmarks.into_rows()
    }

    /// Bytes of a map of this rank, besides its landmarks, with what making it takes.
    pub fn bytes(rank: usize) -> usize {
        let square = rank.saturating_mul(rank);
        square.saturating_mul(20)
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Landmarks, which are as many as phi(x) has entries.
    pub fn rank(&self) -> usize {
        self.landmarks.len()
    }

    pub fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// Where each landmark stood in the sample that it was chosen of.
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
    }

    /// The part of the sample's trace that the map leaves out.
    pub fn left_out(&self) -> f64 {
        self.left_out
    }

    /// Says how much of the trace it leaves out over other rows than the sample that the landmarks were chosen of, of which they
    /// are a part.
    pub fn found_left_out(&mut self, left_out: f64) {
        self.left_out = left_out;
    }

    /// phi of some rows, from `first` on, as many as `out` holds.
    pub fn map(
        &self,
        rows: &Rows,
        first: usize,
        room: &mut Room,
        out: &mut [f32],
    ) -> Result<(), OutOfMemory> {
        let rank = self.rank();
        let values = room.of(ROWS * rank)?;
        for (part, out) in out.chunks_mut(ROWS * rank).enumerate() {
            let (first, count) = (first + part * ROWS, out.len() / rank);
            let values = &mut values[..count * rank];
            self.landmarks
                .kernel_values(&self.kernel, self.level, rows, first, values);
            for from in (0..rank).step_by(PANEL) {
                let panel = PANEL.min(rank - from);
                let columns = from + panel;
                let known = View {
                    numbers: values,
                    stride: rank,
                    rows: count,
                    columns,
                };
                let inverse = View {
                    numbers: &self.inverse[from * rank..],
                    stride: rank,
                    rows: panel,
                    columns,
                };
                products_into(known, inverse, &mut out[from..], rank);
                // vectors take several at a time
                interrupts::worked(count * panel * columns / 8);
            }
        }
        Ok(())
    }

    /// What weights of phi(x) are as factors of kernel values: a = L^-T w, from the last to the first.
    pub fn fold(&self, weights: impl Iterator<Item = f64>) -> Result<Vec<f64>, OutOfMemory> {
        let rank = self.rank();
        let mut folded = gathered(weights.take(rank))?;
        folded.room(rank - folded.len())?.resize(rank, 0.0);
        for row in (0..rank).rev() {
            let factors = &self.lower[row * rank..][..rank];
            let (before, own) = folded.split_at_mut(row);
            own[0] /= factors[row];
            for (before, factor) in before.iter_mut().zip(factors) {
                *before -= factor * own[0];
            }
            interrupts::worked(row);
        }
        Ok(folded)
    }
}

/// The inverse of a lower triangular matrix.
fn inverse(lower: &[f64], rank: usize) -> Result<Vec<f64>, OutOfMemory> {
    let mut inverse = filled(0.0f64, lower.len())?;
    for row in 0..rank {
        let (before, own) = inverse.split_at_mut(row * rank);
        let own = &mut own[..rank];
        let factors = &lower[row * rank..(row + 1) * rank];
        own[row] = 1.0;
        for (known, factor) in before.chunks_exact(rank).zip(factors) {
            for (own, known) in own.iter_mut().zip(&known[..row]) {
                *own -= factor * known;
            }
            interrupts::worked(row);
        }
        let scale = 1.0 / factors[row];
        own.iter_mut().for_each(|value| *value *= scale);
    }
    Ok(inverse)
}
