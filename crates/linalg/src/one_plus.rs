//! The Cholesky factor of I + M, with M a sum of products, scaled so that its diagonal is 1. Interior points solve their systems with it.

use crate::base::memory::{filled, OutOfMemory};
use crate::cholesky::Cholesky;
use crate::lower::Lower;
use crate::simd::Level;

/// A factorization under way, or done.
pub struct OnePlus {
    cholesky: Cholesky,
    scales: Vec<f64>,
}

impl OnePlus {
    /// Begins to factor I and this matrix.
    pub fn new(mut matrix: Lower) -> Result<Self, OutOfMemory> {
        let mut scales = filled(1.0, matrix.length())?;
        for (column, scale) in scales.iter_mut().enumerate() {
            *scale = (1.0 + matrix.get(column, column)).sqrt().recip();
        }
        matrix.scale(&scales, 1.0);
        for column in 0..scales.len() {
            matrix.set(column, column, 1.0);
        }
        Ok(Self {
            cholesky: Cholesky::new(matrix),
            scales,
        })
    }

    /// Factors on; true at the end.
    pub fn step(&mut self, level: Level) -> bool {
        if !self.cholesky.is_done() {
            self.cholesky.step(level);
        }
        self.cholesky.is_done()
    }

    /// x of (I + M) x = b in place of b, once it is factored.
    pub fn solve(&self, b: &mut [f64]) {
        for (value, scale) in b.iter_mut().zip(&self.scales) {
            *value *= scale;
        }
        self.cholesky.solve(b);
        for (value, scale) in b.iter_mut().zip(&self.scales) {
            *value *= scale;
        }
    }

    /// The matrix's memory back, whatever it holds.
    pub fn into_memory(self) -> Lower {
        self.cholesky.into_memory()
    }
}
