//! The best machine that a pass in 64 bits has seen. A head ends with it.

use crate::base::memory::{copied, OutOfMemory};
use crate::objective::loss::Loss;
use crate::objective::report::HeadReport;

/// A machine, as far as a head needs it to make it again.
pub(super) struct Known {
    /// What is minimized: the primal, of truncated losses with every row at its loss.
    pub(super) value: f64,
    /// Whether a pass has proved it to be within the tolerance.
    pub(super) is_proved: bool,
    gap: f64,
    /// By row.
    pub(super) duals: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) out: Option<Vec<bool>>,
}

impl Known {
    /// A machine that no pass has seen.
    pub(super) fn of(value: f64, duals: Vec<f64>, intercept: f64, out: Option<Vec<bool>>) -> Self {
        Self {
            value,
            is_proved: false,
            gap: 1.0,
            duals,
            intercept,
            out,
        }
    }

    /// Whether it is no worse than a value; one that is proved, no worse by more than the tolerance.
    pub(super) fn is_within(&self, value: f64, tolerance: f64) -> bool {
        let known = match self.is_proved {
            true => (1.0 - tolerance) * self.value,
            false => self.value,
        };
        known <= value
    }

    /// Takes a machine down where it is better than what is known; whether it is. One that is proved is preferred to one that is not as long as it
    /// is no worse than by the tolerance.
    pub(super) fn keep(
        best: &mut Option<Self>,
        report: &HeadReport,
        (is_proved, tolerance): (bool, f64),
        (duals, intercept, out): (&[f64], f64, Option<&[bool]>),
    ) -> Result<bool, OutOfMemory> {
        let (value, gap) = (value_of(report), report.certificate.gap);
        let is_better = best.as_ref().is_none_or(|best| {
            let within = 1.0 - tolerance;
            match (is_proved, best.is_proved) {
                (true, false) => within * value <= best.value,
                (false, true) => value < within * best.value,
                _ => (value, gap) < (best.value, best.gap),
            }
        });
        if is_better {
            *best = Some(Self {
                value,
                is_proved,
                gap,
                duals: copied(duals)?,
                intercept,
                out: out.map(copied).transpose()?,
            });
        }
        Ok(is_better)
    }
}

/// What is minimized at the machine that a report is about; infinite where it is no number.
pub(super) fn value_of(report: &HeadReport) -> f64 {
    let primal = report.certificate.primal;
    let value = report.truncated.map_or(primal, |it| it.objective);
    match value.is_nan() {
        true => f64::INFINITY,
        false => value,
    }
}

/// The best intercept where weights are 0, and what is minimized there: of rows of these weights, negative ones first. `most`: what a row loses at
/// most.
pub(super) fn without_weights(
    loss: Loss,
    [negative, positive]: [f64; 2],
    (is_free, most): (bool, f64),
) -> (f64, f64) {
    let value = |b: f64| {
        let of = |margin: f64| loss.value(margin).min(most);
        negative * of(-b) + positive * of(b)
    };
    // a constant that all rows of one side have right, and the least of the loss itself
    let convex = match loss.curvature() > 0.0 && negative + positive > 0.0 {
        true => (positive - negative) / (positive + negative),
        false => 0.0,
    };
    let all = [0.0, convex, 1.0, -1.0];
    let all = all.iter().take(if is_free { 4 } else { 1 });
    all.fold((0.0, f64::INFINITY), |best, b| match value(*b) {
        value if value < best.1 => (*b, value),
        _ => best,
    })
}
