//! v = sum a y x recomputed in full passes, in place of the one that visits update.

use super::exact_v::{ExactV, BITS};
use super::matrix::Matrix;
use super::JointHeads;
use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::simd::lanes::LANES;
use crate::solver::weights::WIDE_FEATURES;

impl JointHeads {
    /// Recomputes v in the full pass that begins. `undisturbed`: every row is visited once, and none between.
    pub(super) fn begin_recomputing(&mut self, undisturbed: bool) -> Result<(), OutOfMemory> {
        // with more features a row touches few of them, and each is rounded seldom
        if self.facts.features > WIDE_FEATURES {
            return Ok(());
        }
        let lanes = self.blocks.len() * LANES;
        self.exact_v = Some(ExactV {
            v: Matrix::new(self.facts.features, self.facts.dense, lanes)?,
            come: match undisturbed {
                true => Vec::new(),
                false => zeros(self.facts.rows.div_ceil(BITS))?,
            },
        });
        Ok(())
    }

    /// Sets w to that of the v recomputed.
    pub(super) fn end_recomputing(&mut self) {
        let Some(ExactV { mut v, .. }) = self.exact_v.take() else {
            return;
        };
        let moment = self.metric.as_ref().map(|metric| &metric.moment);
        let given: [&[f64]; 1] = [&self.kappa];
        let sums = &mut self.sums;
        v.sweep(&mut self.z, moment, given, sums, |[kappa], m, _, v, z| {
            for k in 0..LANES {
                let pull = kappa[k] * f64::from(m[k]);
                v[k] = ((f64::from(v[k]) + pull * f64::from(z[k])) / (1.0 + pull)) as f32;
            }
        });
        self.w = v;
    }
}
