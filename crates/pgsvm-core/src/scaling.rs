//! The learned scaling of features, x' = (x - centre) * factor, and how it folds into weights.
//!
//! The reader learns it in pass 1 and applies it to every row; whoever stores the model folds it
//! into the weights so that a prediction takes raw rows.

use std::collections::TryReserveError;

use serde::{Deserialize, Serialize};

use crate::bits::Bits;
use crate::row;
use crate::trainer::Weights;

/// How features are scaled before training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// As they are.
    None,
    /// Dense features to mean 0 and standard deviation 1 (over n, not n - 1); sparse ones as they are.
    Standard,
    /// Every feature divided by its largest magnitude; nothing is centred.
    MaxAbs,
}

/// x' = (x - centre) * factor for each dense feature, x' = x * factor for each sparse one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Scaling {
    /// Centre of each dense feature; empty means all 0.
    pub centre: Vec<f64>,
    /// Factor of each dense feature, 0 for a constant one; empty means all 1.
    pub factor: Vec<f64>,
    /// Factor of each sparse feature; empty means all 1.
    pub sparse_factor: Vec<f32>,
    /// Length of the dense part.
    pub dense: usize,
}

impl Scaling {
    /// Factor of a feature, dense or sparse.
    pub fn factor_of(&self, feature: usize) -> f64 {
        match feature.checked_sub(self.dense) {
            None => self.factor.get(feature).copied().unwrap_or(1.0),
            Some(sparse) => f64::from(self.sparse_factor.get(sparse).copied().unwrap_or(1.0)),
        }
    }

    /// Centre of a feature; sparse features are never centred.
    pub fn centre_of(&self, feature: usize) -> f64 {
        match feature < self.dense {
            true => self.centre.get(feature).copied().unwrap_or(0.0),
            false => 0.0,
        }
    }

    /// Weights and intercept for raw rows out of `weights` trained on scaled rows:
    /// <w', x> + b' = <w, x'> + b. Features in order of their ids.
    pub fn fold<'a>(&'a self, weights: &'a Weights<'a>) -> (impl Iterator<Item = f64> + 'a, f64) {
        let dense = self.dense.min(weights.len());
        let shift: f64 = (0..dense).map(|j| weights.get(j) * self.factor_of(j) * self.centre_of(j)).sum();
        ((0..weights.len()).map(move |j| weights.get(j) * self.factor_of(j)), weights.intercept() - shift)
    }
}

/// What pass 1 learns about the features.
#[derive(Debug)]
pub(crate) struct Learner {
    scale: Scale,
    rows: u64,
    /// Dense columns, kept only as far as the scaling needs them: mean, sum of squared deviations (Welford),
    /// largest magnitude.
    mean: Vec<f64>,
    deviation: Vec<f64>,
    largest: Vec<f64>,
    /// Sparse features: largest magnitude and sum of squares.
    sparse_largest: Vec<f32>,
    sparse_squares: Vec<f32>,
    /// Sum of squares of all values that are not scaled.
    plain_squares: f64,
    seen: Bits,
    dense_seen: Bits,
    /// Largest sparse id + 1.
    sparse: usize,
}

impl Learner {
    pub(crate) fn new(scale: Scale) -> Self {
        Self {
            scale,
            rows: 0,
            mean: Vec::new(),
            deviation: Vec::new(),
            largest: Vec::new(),
            sparse_largest: Vec::new(),
            sparse_squares: Vec::new(),
            plain_squares: 0.0,
            seen: Bits::default(),
            dense_seen: Bits::default(),
            sparse: 0,
        }
    }

    /// Prepares for rows with this many dense values.
    pub(crate) fn set_dense(&mut self, dense: usize) -> Result<(), TryReserveError> {
        if self.scale == Scale::None {
            return self.dense_seen.grow(dense);
        }
        for column in [&mut self.mean, &mut self.deviation, &mut self.largest] {
            column.try_reserve_exact(dense)?;
            column.resize(dense, 0.0);
        }
        Ok(())
    }

    /// Learns from one row.
    pub(crate) fn learn(
        &mut self,
        dense: &[f64],
        index: &[u32],
        value: &[f32],
    ) -> Result<(), TryReserveError> {
        self.rows += 1;
        match self.scale {
            Scale::None => {
                for (j, x) in dense.iter().enumerate() {
                    self.plain_squares += x * x;
                    if *x != 0.0 {
                        self.dense_seen.set(j, true);
                    }
                }
            }
            Scale::Standard | Scale::MaxAbs => {
                let share = 1.0 / self.rows as f64;
                let columns = self
                    .mean
                    .iter_mut()
                    .zip(&mut self.deviation)
                    .zip(&mut self.largest);
                for (((mean, deviation), largest), x) in columns.zip(dense) {
                    let before = x - *mean;
                    *mean += before * share;
                    *deviation += before * (x - *mean);
                    *largest = largest.max(x.abs());
                }
            }
        }
        let Some(&last) = index.last() else {
            return Ok(());
        };
        let end = last as usize + 1;
        if end > self.sparse {
            self.sparse = end;
            self.seen.grow(end)?;
            if self.scale == Scale::MaxAbs {
                for column in [&mut self.sparse_largest, &mut self.sparse_squares] {
                    column.try_reserve(end - column.len())?;
                    column.resize(end, 0.0);
                }
            }
        }
        for (&j, &x) in index.iter().zip(value) {
            if x != 0.0 {
                self.seen.set(j as usize, true);
            }
            if self.scale == Scale::MaxAbs {
                let j = j as usize;
                self.sparse_largest[j] = self.sparse_largest[j].max(x.abs());
                self.sparse_squares[j] += x * x;
            } else {
                self.plain_squares += f64::from(x) * f64::from(x);
            }
        }
        Ok(())
    }

    /// Length of the sparse part: its largest id + 1.
    pub(crate) fn sparse(&self) -> usize {
        self.sparse
    }

    /// The scaling learned so far, the number of features that occur after it, and the mean of Q.
    pub(crate) fn finish(&self, dense: usize) -> Result<(Scaling, usize, f64), TryReserveError> {
        let n = self.rows.max(1) as f64;
        let mut scaling = Scaling {
            dense,
            ..Scaling::default()
        };
        let mut squares = self.plain_squares;
        let mut occurring = self.seen.ones() + self.dense_seen.ones();
        if self.scale != Scale::None {
            scaling.factor.try_reserve_exact(dense)?;
            for ((mean, deviation), largest) in
                self.mean.iter().zip(&self.deviation).zip(&self.largest)
            {
                let (divisor, second_moment) = match self.scale {
                    Scale::Standard => ((deviation / n).sqrt(), *deviation),
                    _ => (*largest, deviation + n * mean * mean),
                };
                let factor = if divisor > 0.0 && divisor.is_finite() {
                    1.0 / divisor
                } else {
                    0.0
                };
                let factor = if factor.is_finite() { factor } else { 0.0 };
                occurring += usize::from(factor != 0.0);
                squares += if factor == 0.0 {
                    0.0
                } else {
                    second_moment / divisor / divisor
                };
                scaling.factor.push(factor);
            }
        }
        if self.scale == Scale::Standard {
            scaling.centre.try_reserve_exact(dense)?;
            scaling.centre.extend_from_slice(&self.mean);
        }
        if self.scale == Scale::MaxAbs {
            scaling.sparse_factor.try_reserve_exact(self.sparse)?;
            for (&largest, &sum) in self.sparse_largest.iter().zip(&self.sparse_squares) {
                let factor = if largest > 0.0 && (1.0 / largest).is_finite() {
                    1.0 / largest
                } else {
                    1.0
                };
                squares += f64::from(sum) * f64::from(factor) * f64::from(factor);
                scaling.sparse_factor.push(factor);
            }
        }
        let mean_q = squares / n;
        Ok((
            scaling,
            occurring.max(1),
            if mean_q.is_finite() {
                mean_q
            } else {
                f64::from(f32::MAX)
            },
        ))
    }
}

/// A [`Scaling`] made ready for rows whose dense values are kept relative to a provisional centre.
#[derive(Debug, Default)]
pub(crate) struct Applier {
    shift: Vec<f64>,
    factor: Vec<f64>,
    sparse_factor: Vec<f32>,
    dense: usize,
}

impl Applier {
    /// `provisional`: what was subtracted from the dense values already; empty means nothing.
    pub(crate) fn new(scaling: &Scaling, provisional: &[f64]) -> Result<Self, TryReserveError> {
        let mut applier = Self {
            dense: scaling.dense,
            ..Self::default()
        };
        applier.shift.try_reserve_exact(scaling.factor.len())?;
        applier.factor.try_reserve_exact(scaling.factor.len())?;
        applier
            .sparse_factor
            .try_reserve_exact(scaling.sparse_factor.len())?;
        for j in 0..scaling.factor.len() {
            let centre = scaling.centre.get(j).copied().unwrap_or(0.0);
            applier
                .shift
                .push(centre - provisional.get(j).copied().unwrap_or(0.0));
        }
        applier.factor.extend_from_slice(&scaling.factor);
        applier
            .sparse_factor
            .extend_from_slice(&scaling.sparse_factor);
        Ok(applier)
    }

    /// Scales a row in place and sets its Q.
    pub(crate) fn apply(&self, words: &mut [u32]) {
        let (q, dense, sparse) = row::parts_mut(words, self.dense);
        let mut squares = [0.0f64; 4];
        if self.factor.is_empty() {
            for (k, bits) in dense.iter().enumerate() {
                let x = f64::from(f32::from_bits(*bits));
                squares[k % 4] += x * x;
            }
        } else {
            for (k, ((bits, shift), factor)) in dense
                .iter_mut()
                .zip(&self.shift)
                .zip(&self.factor)
                .enumerate()
            {
                let x = ((f64::from(f32::from_bits(*bits)) - shift) * factor) as f32;
                *bits = x.to_bits();
                squares[k % 4] += f64::from(x) * f64::from(x);
            }
        }
        for [index, bits] in sparse {
            let mut x = f32::from_bits(*bits);
            if !self.sparse_factor.is_empty() {
                x *= self.sparse_factor[*index as usize - self.dense];
                *bits = x.to_bits();
            }
            squares[0] += f64::from(x) * f64::from(x);
        }
        *q = ((squares.iter().sum::<f64>()) as f32).to_bits();
    }
}
