//! v = sum a y x, summed anew in every full pass from the dual variables.
//!
//! Each visit rounds w to 32 bits, and in v = w + kappa m (w - z) that counts 1 + kappa m times: after many visits v and the
//! dual would be known to less than the gap, and kappa be corrected by what is not there. A full pass meets every row, so it
//! can add up v besides: a row's part when it comes, and what later visits in the same pass change about it. At the end w is
//! set to what v says.

use super::matrix::Matrix;
use super::Bank;
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::Kernel;
use crate::training::{TrainError, WIDE_FEATURES};

/// Of a word.
const BITS: usize = u32::BITS as usize;

pub(super) struct Anew {
    v: Matrix,
    /// Rows that have come in this pass, a bit each; none where no row is visited twice in it.
    come: Vec<u32>,
}

impl Anew {
    /// Adds a row that comes in the full pass with these dual variables times signs.
    #[inline(always)]
    pub(super) fn add_row<K: Kernel>(
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
    pub(super) fn add_step<K: Kernel>(
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

impl Bank {
    /// Sums v anew in the full pass that begins. `undisturbed`: every row is visited once, and none between.
    pub(super) fn begin_anew(&mut self, undisturbed: bool) -> Result<(), TrainError> {
        // with more features a row touches few of them, and each is rounded seldom
        if self.facts.features > WIDE_FEATURES {
            return Ok(());
        }
        let lanes = self.blocks.len() * LANES;
        self.anew = Some(Anew {
            v: Matrix::new(self.facts.features, self.facts.dense, lanes)?,
            come: match undisturbed {
                true => Vec::new(),
                false => zeros(self.facts.rows.div_ceil(BITS))?,
            },
        });
        Ok(())
    }

    /// Sets w to that of the v summed.
    pub(super) fn end_anew(&mut self) {
        let Some(Anew { mut v, .. }) = self.anew.take() else {
            return;
        };
        let moment = self.metric.as_ref().map(|metric| &metric.moment);
        let given: [&[f64]; 1] = [&self.kappa];
        v.sweep(&mut self.z, moment, given, |[kappa], m, [], v, z| {
            for k in 0..LANES {
                let pull = kappa[k] * f64::from(m[k]);
                v[k] = ((f64::from(v[k]) + pull * f64::from(z[k])) / (1.0 + pull)) as f32;
            }
        });
        self.w = v;
    }
}
