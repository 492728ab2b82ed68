//! v = sum a y x, recomputed in every full pass from the dual variables.
//!
//! Each visit rounds w to 32 bits. In v = w + kappa m (w - z) that error counts 1 + kappa m times. After many visits it would exceed the gap,
//! and kappa would be corrected by noise. A full pass meets every row, so it adds up v anew: a row's part when the row comes, and what later
//! visits in the same pass change about it. At the end w is computed from v.

use super::matrix::Matrix;
use crate::rows::row::Row;
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::Isa;

/// Of a word.
pub(super) const BITS: usize = u32::BITS as usize;

pub(super) struct ExactV {
    pub(super) v: Matrix,
    /// Rows that have come in this pass, a bit each; none where no row is visited twice in it.
    pub(super) come: Vec<u32>,
}

impl ExactV {
    /// Adds a row that comes in the full pass with these dual variables times signs.
    #[inline(always)]
    pub(super) fn add_row<K: Isa>(
        &mut self,
        row: &Row<'_>,
        intercept: f32,
        block: usize,
        held: &Lanes,
    ) {
        if let Some(word) = self.come.get_mut(row.ordinal() / BITS) {
            *word |= 1 << (row.ordinal() % BITS);
        }
        if *held != [0.0; LANES] {
            self.v.add::<K>(row, intercept, block, held, None);
        }
    }

    /// Adds a step by a row between, unless the row is still to come.
    #[inline(always)]
    pub(super) fn add_step<K: Isa>(
        &mut self,
        row: &Row<'_>,
        intercept: f32,
        block: usize,
        scales: &Lanes,
    ) {
        let word = self.come.get(row.ordinal() / BITS).copied().unwrap_or(0);
        if word >> (row.ordinal() % BITS) & 1 != 0 {
            self.v.add::<K>(row, intercept, block, scales, None);
        }
    }
}
