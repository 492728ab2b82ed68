//! The map of low rank, phi(x) = L^-1 k(landmarks, x). For landmarks phi(x)' phi(z) = k(x, z); for other rows it is the kernel value of their
//! projections onto the span of the landmarks.
//!
//! ```text
//! phi(x)   = L^-1 k(x), k(x)_j = k(z_j, x), K of the landmarks z_j = L L'
//! w'phi(x) = (L^-T w)' k(x) = sum_j a_j k(z_j, x)     a = L^-T w: a prediction needs no L
//! ```
//!
//! A block of rows is two matrix products: with the landmarks, and of the kernel values with L^-1, whose rows are packed in
//! panels, each as wide as its last row is, since no entry of phi needs landmarks behind its own. L and its inverse are computed in 64 bits; values
//! and products of rows are 32, or of a [wide](LowRank::wide) map 64.

use std::borrow::Cow;

use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::error::KernelError;
use crate::expansion::Expansion;
use crate::kernel::Kernel;
use crate::pivots::{Factor, FactorView};
use crate::products::{Landmarks, Room};
use crate::rows::Rows;
use crate::simd::Level;
use crate::triangle::{self, Triangle};

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
    inverse: Inverse,
}

/// L^-1, for rows: in 32 bits, which make phi(x) off by as much more as its entries are larger than 1, or in 64.
#[derive(Debug)]
enum Inverse {
    Narrow(Triangle<f32>),
    Wide(Triangle<f64>),
}

impl LowRank {
    pub fn new(factor: Factor) -> Result<Self, KernelError> {
        let narrow =
            Triangle::inverse(&factor.lower, factor.landmarks.len(), |value| value as f32)?;
        Self::with(factor, Inverse::Narrow(narrow))
    }

    /// With phi(x) computed in 64 bits: right to the last of its 32, and as far from what is told of it as these say.
    pub fn wide(factor: Factor) -> Result<Self, KernelError> {
        let wide = Triangle::inverse(&factor.lower, factor.landmarks.len(), |value| value)?;
        Self::with(factor, Inverse::Wide(wide))
    }

    fn with(factor: Factor, inverse: Inverse) -> Result<Self, KernelError> {
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
        match &self.inverse {
            Inverse::Narrow(inverse) => self.map_narrowly(inverse, (rows, first), room, out),
            Inverse::Wide(inverse) => self.map_widely(inverse, (rows, first), room, out),
        }
    }

    fn map_narrowly(
        &self,
        inverse: &Triangle<f32>,
        (rows, first): (&Rows, usize),
        room: &mut Room,
        out: &mut [f32],
    ) -> Result<(), OutOfMemory> {
        let rank = self.rank();
        let values = room.of(ROWS * rank)?;
        for (part, out) in out.chunks_mut(ROWS * rank).enumerate() {
            let values = &mut values[..out.len()];
            self.landmarks.kernel_values(
                &self.kernel,
                self.level,
                rows,
                first + part * ROWS,
                values,
            );
            inverse.times(self.level, values, out);
        }
        Ok(())
    }

    fn map_widely(
        &self,
        inverse: &Triangle<f64>,
        (rows, first): (&Rows, usize),
        room: &mut Room,
        out: &mut [f32],
    ) -> Result<(), OutOfMemory> {
        let rank = self.rank();
        let (values, wide) = room.of_wide(2 * ROWS * rank)?.split_at_mut(ROWS * rank);
        for (part, out) in out.chunks_mut(ROWS * rank).enumerate() {
            let (values, wide) = (&mut values[..out.len()], &mut wide[..out.len()]);
            let rows = (rows, first + part * ROWS);
            self.landmarks
                .wide_values(&self.kernel, self.level, rows, values);
            inverse.times(self.level, values, wide);
            for (out, wide) in out.iter_mut().zip(wide) {
                *out = *wide as f32;
            }
        }
        Ok(())
    }

    /// What weights of phi(x) are as factors of kernel values: a = L^-T w.
    pub fn fold(&self, weights: impl Iterator<Item = f64>) -> Result<Vec<f64>, OutOfMemory> {
        let rank = self.rank();
        let mut folded = gathered(weights.take(rank))?;
        folded.room(rank - folded.len())?.resize(rank, 0.0);
        triangle::backward(&self.lower, &mut folded);
        Ok(folded)
    }

    /// By machine the weights of phi(x) whose decisions at the landmarks are its own, and its intercept behind them: its projection onto
    /// the landmarks' span. None where its rows are of another width.
    pub fn project(&self, machine: &Expansion) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        let rows = self.landmarks.rows();
        match machine.width() == rows.width() {
            true => machine.projected(rows, || self.lower.chunks_exact(self.rank().max(1))),
            false => Ok(Vec::new()),
        }
    }
}

/// L of the landmarks' K = L L', and a number that no eigenvalue of K is below.
pub struct Span<'a> {
    pub lower: Cow<'a, [f64]>,
    pub least_eigenvalue: f64,
}

impl LowRank {
    /// L, row after row.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The landmarks' span by this L, which is of kernel values in 64 bits; `off`: the norm of what K may be off by those.
    pub fn span(&self, off: f64) -> Result<Span<'_>, OutOfMemory> {
        let least_eigenvalue = match &self.inverse {
            Inverse::Narrow(inverse) => inverse.least_eigenvalue(&self.lower, off),
            Inverse::Wide(inverse) => inverse.least_eigenvalue(&self.lower, off),
        };
        Ok(Span {
            lower: Cow::Borrowed(&self.lower),
            least_eigenvalue: least_eigenvalue?,
        })
    }

    /// The same by L once more, of kernel values in 64 bits, where this one was made of others; None where they have none.
    pub fn span_anew(&self, off: f64) -> Result<Option<Span<'_>>, OutOfMemory> {
        let Some(lower) = self.lower_anew()? else {
            return Ok(None);
        };
        let inverse = Triangle::inverse(&lower, self.rank(), |value| value)?;
        Ok(Some(Span {
            least_eigenvalue: inverse.least_eigenvalue(&lower, off)?,
            lower: Cow::Owned(lower),
        }))
    }

    /// L of kernel values in 64 bits; None where they have none.
    fn lower_anew(&self) -> Result<Option<Vec<f64>>, OutOfMemory> {
        let mut lower = filled(0.0, self.rank() * self.rank())?;
        let rows = (self.landmarks.rows(), 0);
        self.landmarks
            .wide_values(&self.kernel, self.level, rows, &mut lower);
        Ok(triangle::factor(&mut lower, self.rank())?.then_some(lower))
    }
}
