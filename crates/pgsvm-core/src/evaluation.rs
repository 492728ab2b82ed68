//! How good decisions are, and probabilities from them: plain functions of numbers.
//!
//! A decision is <w, x> + b of a head; rows count alike, whatever their costs.

use std::collections::TryReserveError;

use serde::{Deserialize, Serialize};

/// The class that the decisions of a classifier's heads say. One head: class 1 from 0 up, else class 0. Several, one a
/// class: the class of the largest decision, the first of equals.
pub fn predicted_class(decisions: &[f32]) -> usize {
    if let [decision] = decisions {
        return usize::from(*decision >= 0.0);
    }
    let mut best = 0;
    for (class, decision) in decisions.iter().enumerate() {
        if *decision > decisions[best] {
            best = class;
        }
    }
    best
}

/// The area under the ROC curve: the share of pairs of a positive and a negative row in which the positive one has the
/// greater decision, ties counting half (the Mann-Whitney U statistic over the number of pairs). None where there is no
/// pair. Takes eight bytes a row.
pub fn auc(
    decisions: impl ExactSizeIterator<Item = (f32, bool)>,
) -> Result<Option<f64>, TryReserveError> {
    let mut keys = Vec::new();
    keys.try_reserve_exact(decisions.len())?;
    keys.extend(
        decisions.map(|(decision, positive)| order_key(decision) << 1 | u64::from(positive)),
    );
    keys.sort_unstable();
    let (mut won, mut positives, mut negatives) = (0.0, 0u64, 0u64);
    for tied in keys.chunk_by(|a, b| a >> 1 == b >> 1) {
        let positive = tied.iter().filter(|key| *key & 1 == 1).count() as u64;
        let negative = tied.len() as u64 - positive;
        won += positive as f64 * (negatives as f64 + 0.5 * negative as f64);
        positives += positive;
        negatives += negative;
    }
    let pairs = positives as f64 * negatives as f64;
    Ok((pairs > 0.0).then(|| won / pairs))
}

/// A number that is ordered as decisions are.
fn order_key(decision: f32) -> u64 {
    // 0 and -0 are equal decisions
    let bits = (decision + 0.0).to_bits();
    let negative = bits >> 31 == 1;
    u64::from(if negative { !bits } else { bits | 1 << 31 })
}

/// Platt's sigmoid: P(positive | decision d) = 1 / (1 + exp(a d + b)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// Slope; negative where larger decisions are likelier positive.
    pub a: f64,
    /// Offset.
    pub b: f64,
}

impl Sigmoid {
    /// The probability at a decision.
    pub fn probability(&self, decision: f64) -> f64 {
        let z = self.a * decision + self.b;
        // exp of a large number must not be reached
        if z >= 0.0 {
            let e = (-z).exp();
            e / (1.0 + e)
        } else {
            1.0 / (1.0 + z.exp())
        }
    }

    /// The sigmoid of maximum likelihood for these decisions and whether each row is positive, see [`SigmoidFit`].
    pub fn fit(rows: impl Iterator<Item = (f64, bool)> + Clone) -> Self {
        let mut fit = SigmoidFit::new(rows.clone());
        while !fit.step(rows.clone()) {}
        fit.sigmoid
    }
}

/// The fit of a sigmoid by Newton's method with backtracking: Lin, Lin, Weng, "A note on Platt's probabilistic outputs
/// for support vector machines" (Machine Learning 68, 2007), Algorithm 1.
///
/// Minimizes the cross entropy of the probabilities against the targets (N+ + 1) / (N+ + 2) for the N+ positive rows and
/// 1 / (N- + 2) for the N- others. Each step goes over the rows a few times.
pub(crate) struct SigmoidFit {
    pub(crate) sigmoid: Sigmoid,
    /// Targets of negative and positive rows.
    targets: [f64; 2],
    /// Cross entropy at the sigmoid.
    value: f64,
    steps: u32,
}

impl SigmoidFit {
    /// Steps after which the fit ends where it is.
    const MOST_STEPS: u32 = 100;
    /// It ends when both derivatives are smaller than this for so many rows together.
    const EPSILON: f64 = 1e-5;
    /// The shortest step tried.
    const LEAST_STEP: f64 = 1e-10;
    /// Added to the diagonal of the Hessian.
    const RIDGE: f64 = 1e-12;
    /// Share of the decrease that the gradient promises with which a step is content.
    const SUFFICIENT: f64 = 1e-4;

    pub(crate) fn new(rows: impl Iterator<Item = (f64, bool)> + Clone) -> Self {
        let (mut positives, mut negatives) = (0.0, 0.0);
        for (_, positive) in rows.clone() {
            if positive {
                positives += 1.0;
            } else {
                negatives += 1.0;
            }
        }
        let mut this = Self {
            sigmoid: Sigmoid {
                a: 0.0,
                b: f64::ln((negatives + 1.0) / (positives + 1.0)),
            },
            targets: [
                1.0 / (negatives + 2.0),
                (positives + 1.0) / (positives + 2.0),
            ],
            value: 0.0,
            steps: 0,
        };
        this.value = this.cross_entropy(this.sigmoid, rows);
        this
    }

    fn cross_entropy(&self, at: Sigmoid, rows: impl Iterator<Item = (f64, bool)>) -> f64 {
        let mut sum = 0.0;
        for (decision, positive) in rows {
            let (z, target) = (at.a * decision + at.b, self.targets[usize::from(positive)]);
            sum += if z >= 0.0 {
                target * z + (-z).exp().ln_1p()
            } else {
                (target - 1.0) * z + z.exp().ln_1p()
            };
        }
        sum
    }

    /// A Newton step; true when the fit has ended.
    pub(crate) fn step(&mut self, rows: impl Iterator<Item = (f64, bool)> + Clone) -> bool {
        self.steps += 1;
        let Sigmoid { a, b } = self.sigmoid;
        let (mut aa, mut bb, mut ab) = (Self::RIDGE, Self::RIDGE, 0.0);
        let (mut slope_a, mut slope_b) = (0.0, 0.0);
        for (decision, positive) in rows.clone() {
            let p = self.sigmoid.probability(decision);
            let curvature = p * (1.0 - p);
            aa += decision * decision * curvature;
            bb += curvature;
            ab += decision * curvature;
            let off = self.targets[usize::from(positive)] - p;
            slope_a += decision * off;
            slope_b += off;
        }
        if slope_a.abs() < Self::EPSILON && slope_b.abs() < Self::EPSILON {
            return true;
        }
        let determinant = aa * bb - ab * ab;
        let step_a = -(bb * slope_a - ab * slope_b) / determinant;
        let step_b = -(aa * slope_b - ab * slope_a) / determinant;
        let promised = slope_a * step_a + slope_b * step_b;
        let mut length = 1.0;
        while length >= Self::LEAST_STEP {
            let to = Sigmoid {
                a: a + length * step_a,
                b: b + length * step_b,
            };
            let value = self.cross_entropy(to, rows.clone());
            if value < self.value + Self::SUFFICIENT * length * promised {
                (self.sigmoid, self.value) = (to, value);
                return self.steps >= Self::MOST_STEPS;
            }
            length /= 2.0;
        }
        true
    }
}
