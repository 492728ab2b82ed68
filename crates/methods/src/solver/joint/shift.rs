//! The proximal shift of many heads: its centre and metric.

use super::matrix::Matrix;
use super::JointHeads;
use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::simd::lanes::LANES;
use crate::solver::certificate::state::{HeadState, Shift};
use crate::solver::proximal::moments::ShiftMetric;

/// With a shift up to this many times the tolerance squared, w in 32 bits leaves v = w + kappa m (w - z) enough digits
/// between two full passes. Found by trial, with tolerances from 1e-3 to 2e-6.
const MOST_KAPPA: f64 = 1e10;

/// The metric M of the shift (see [`crate::solver::proximal::iterate`]).
pub(super) struct InMetric {
    /// m, a row of equal lanes for each feature.
    pub(super) moment: Matrix,
    /// 1 / (1 + kappa m)
    pub(super) damp: Matrix,
    /// 1 / m by feature, the intercept last.
    pub(super) inverse: Vec<f32>,
}

pub(super) fn most_kappa(state: &HeadState) -> f64 {
    MOST_KAPPA * state.tolerance() * state.tolerance()
}

impl JointHeads {
    /// Whether the weights keep digits enough in this metric.
    pub(in crate::solver) fn suits_metric(&self, metric: &ShiftMetric) -> bool {
        let most = metric.moment.iter().copied().fold(0.0, f32::max);
        let mut running = self.running_states();
        running.all(|state| state.kappa_in(metric) * f64::from(most) <= most_kappa(state))
    }

    /// Corrects kappa and moves the centres after a full pass; `metric` when columns have just been found to call for it.
    pub(in crate::solver) fn move_centres(
        &mut self,
        metric: Option<&ShiftMetric>,
    ) -> Result<(), OutOfMemory> {
        if let Some(metric) = metric {
            let lanes = self.blocks.len() * LANES;
            let (features, dense) = (self.facts.features, self.facts.dense);
            let mut moment = Matrix::new(features, dense, lanes)?;
            moment.fill(&metric.moment);
            let mut inverse = zeros(metric.moment.len())?;
            for (inverse, moment) in inverse.iter_mut().zip(&metric.moment) {
                *inverse = 1.0 / moment;
            }
            self.metric = Some(InMetric {
                moment,
                damp: Matrix::new(features, dense, lanes)?,
                inverse,
            });
        }
        self.shift_each(metric.is_some(), |state| state.advance(metric));
        Ok(())
    }

    /// Moves the centres as the states say: z := w, keeping v. `first_in_metric`: until now there was no metric.
    pub(super) fn shift_each(
        &mut self,
        first_in_metric: bool,
        mut decide: impl FnMut(&mut HeadState) -> Shift,
    ) {
        let [from, to] = &mut self.chosen;
        from[..self.kappa.len()].copy_from_slice(&self.kappa);
        // kappa from now on; below 0 where the centre stays
        to.fill(-1.0);
        for lane in 0..self.head_of.len() {
            let Some(head) = self.running_at(lane) else {
                continue;
            };
            if let Shift::Move(kappa) | Shift::MoveInMetric(kappa) = decide(&mut self.states[head])
            {
                self.chosen[1][lane] = kappa;
                self.kappa[lane] = kappa;
            }
        }
        let [from, to] = &self.chosen;
        if to.iter().any(|to| *to >= 0.0) {
            let moment = self.metric.as_ref().map(|metric| &metric.moment);
            let (given, sums): ([&[f64]; 2], _) = ([from, to], &mut self.sums);
            self.w.sweep(
                &mut self.z,
                moment,
                given,
                sums,
                |[from, to], m, _, w, z| {
                    for k in 0..LANES {
                        let (old_w, old_z) = (f64::from(w[k]), f64::from(z[k]));
                        let m = f64::from(m[k]);
                        let old_m = if first_in_metric { 1.0 } else { m };
                        let v = old_w + from[k] * old_m * (old_w - old_z);
                        let new_w = ((v + to[k] * m * old_w) / (1.0 + to[k] * m)) as f32;
                        let moves = to[k] >= 0.0;
                        z[k] = if moves { w[k] } else { z[k] };
                        w[k] = if moves { new_w } else { w[k] };
                    }
                },
            );
        }
        self.set_damp();
        self.arm();
    }

    /// In a metric: 1 / (1 + kappa m).
    pub(super) fn set_damp(&mut self) {
        if let Some(metric) = &mut self.metric {
            let given: [&[f64]; 1] = [&self.kappa];
            metric.damp.sweep(
                &mut metric.moment,
                None,
                given,
                &mut self.sums,
                |[kappa], _, _, damp, m| {
                    for k in 0..LANES {
                        damp[k] = (1.0 / (1.0 + kappa[k] * f64::from(m[k]))) as f32;
                    }
                },
            );
        }
    }
}
