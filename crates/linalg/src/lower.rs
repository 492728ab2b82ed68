//! The lower triangle of a symmetric matrix, in panels.
//!
//! A panel is [`PANEL`] rows of the triangle, up to the square on the diagonal, and lies column by column: the [`PANEL`]
//! numbers of a column side by side. So the square of one panel's rows and another's columns is a run of numbers, and what the
//! columns before a square are needs no copy to be multiplied ([`crate::simd::tile`]). Rows behind the last one are there as
//! far as their panel goes.

use serde::{Deserialize, Serialize};

use crate::base::interrupts;
use crate::base::memory::{list, OutOfMemory};
use crate::base::zeros::zeros;
use crate::simd::tile::PANEL;

/// Numbers of a square.
pub(super) const SQUARE: usize = PANEL * PANEL;

#[derive(Serialize, Deserialize)]
pub struct Lower {
    #[serde(deserialize_with = "list")]
    values: Vec<f64>,
    length: usize,
}

/// Numbers that are read at a time, where each is looked at once.
const RUN: usize = 1 << 16;

/// Where a panel begins.
pub(super) fn start(panel: usize) -> usize {
    SQUARE * (panel * (panel + 1) / 2)
}

impl Lower {
    /// Of no rows.
    pub const NONE: Self = Self {
        values: Vec::new(),
        length: 0,
    };

    /// All zero, of so many rows.
    pub fn new(length: usize) -> Result<Self, OutOfMemory> {
        let values = zeros(start(length.div_ceil(PANEL)))?;
        Ok(Self { values, length })
    }

    /// Whether it has the numbers of its rows; one that came as bytes may not.
    pub fn is_sound(&self) -> bool {
        self.length <= self.values.len() && self.values.len() == Self::numbers(self.length)
    }

    /// Numbers that it holds for so many rows.
    pub fn numbers(length: usize) -> usize {
        start(length.div_ceil(PANEL))
    }

    /// Its rows.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Has the numbers of another one of as many rows.
    pub fn copy_from(&mut self, other: &Self) {
        let runs = self.values.chunks_mut(RUN).zip(other.values.chunks(RUN));
        for (own, other) in runs {
            own.copy_from_slice(other);
            interrupts::worked(RUN);
        }
    }

    /// The product of the whole symmetric matrix and x, in `product`.
    pub fn times(&self, x: &[f64], product: &mut [f64]) {
        product.fill(0.0);
        for (row, x_row) in x.iter().enumerate() {
            let mut sum = 0.0;
            for (column, x_column) in x[..row].iter().enumerate() {
                let value = self.get(row, column);
                sum += value * x_column;
                product[column] += value * x_row;
            }
            product[row] += sum + self.get(row, row) * x_row;
            interrupts::worked(2 * row);
        }
    }

    /// Adds another one of as many rows.
    pub fn add(&mut self, other: &Self) {
        let runs = self.values.chunks_mut(RUN).zip(other.values.chunks(RUN));
        for (own, more) in runs {
            for (own, more) in own.iter_mut().zip(more) {
                *own += more;
            }
            interrupts::worked(RUN);
        }
    }

    pub fn panels(&self) -> usize {
        self.length.div_ceil(PANEL)
    }

    pub fn clear(&mut self) {
        for run in self.values.chunks_mut(RUN) {
            run.fill(0.0);
            interrupts::worked(RUN);
        }
    }

    /// A row of the triangle: its number in column `j` stands at `j` times [`PANEL`].
    #[inline(always)]
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[start(row / PANEL) + row % PANEL..]
    }

    #[inline(always)]
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.values[start(row / PANEL) + column * PANEL + row % PANEL]
    }

    #[inline(always)]
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[start(row / PANEL) + column * PANEL + row % PANEL] = value;
    }

    /// All its numbers, those of panels behind the last row too, in an order that is the same for every matrix of so many rows.
    pub fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Multiplies the number in row i and column j by the factors of both.
    pub fn scale(&mut self, factors: &[f64], times: f64) {
        for panel in 0..self.panels() {
            let first = panel * PANEL;
            let of_rows = &factors[first..self.length.min(first + PANEL)];
            let columns = self.values[start(panel)..start(panel + 1)].chunks_exact_mut(PANEL);
            for (column, factor) in columns.zip(factors) {
                let factor = times * factor;
                for (value, own) in column.iter_mut().zip(of_rows) {
                    *value *= factor * own;
                }
            }
            interrupts::worked(SQUARE * (panel + 1));
        }
    }

    /// The panel, by columns, and those before it.
    pub(super) fn panel_mut(&mut self, panel: usize) -> (&mut [[f64; PANEL]], Before<'_>) {
        let (before, rest) = self.values.split_at_mut(start(panel));
        let own = &mut rest[..SQUARE * (panel + 1)];
        (own.as_chunks_mut().0, Before(before))
    }

    /// The panel, by columns.
    pub(super) fn panel(&self, panel: usize) -> &[[f64; PANEL]] {
        let own = &self.values[start(panel)..start(panel + 1)];
        own.as_chunks().0
    }
}

/// The panels before one.
pub(super) struct Before<'a>(&'a [f64]);

impl Before<'_> {
    pub(super) fn panel(&self, panel: usize) -> &[[f64; PANEL]] {
        self.0[start(panel)..start(panel + 1)].as_chunks().0
    }
}
