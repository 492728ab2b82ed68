//! The learned scaling of features, x' = (x - centre) * factor, and how it folds into weights.
//!
//! The reader learns it in pass 1 and applies it to every row; the code that stores the model folds it
//! into the weights so that a prediction takes raw rows.

mod applier;
mod learner;
mod precision;
mod spread;
mod target;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory, Room};

pub use applier::Applier;
pub use learner::ScaleLearner;
pub use spread::Spread;
pub use target::{TargetJob, TargetScale, TargetSums};

/// How features are scaled before training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// As they are.
    None,
    /// Dense features to mean 0 and standard deviation 1 (over n, not n - 1); sparse ones as they are.
    Standard,
    /// Every feature divided by its largest magnitude; nothing is centred.
    MaxAbs,
    /// Dense features to 0 for their least value and 1 for their largest; sparse ones as [`Scale::MaxAbs`] does.
    MinMax,
}

/// x' = (x - centre) * factor for each dense feature, x' = x * factor for each sparse one.
#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Scaling {
    /// Centre of each dense feature; empty means all 0.
    #[serde(deserialize_with = "list")]
    pub centre: Vec<f64>,
    /// Factor of each dense feature, 0 for a constant one; empty means all 1.
    #[serde(deserialize_with = "list")]
    pub factor: Vec<f64>,
    /// Factor of each sparse feature; empty means all 1.
    #[serde(deserialize_with = "list")]
    pub sparse_factor: Vec<f32>,
    /// Length of the dense part.
    pub dense: usize,
}

impl Scaling {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            centre: copied(&self.centre)?,
            factor: copied(&self.factor)?,
            sparse_factor: copied(&self.sparse_factor)?,
            dense: self.dense,
        })
    }

    /// Of features that are left as they are.
    pub fn none(dense: usize) -> Self {
        Self {
            dense,
            ..Self::default()
        }
    }

    /// Scales a row, and divides it by its length where it has one.
    pub fn scale_to_unit(&self, dense: &mut [f64], index: &[u32], value: &mut [f32]) {
        let mut squares = 0.0;
        for (j, x) in dense.iter_mut().enumerate() {
            *x = self.scaled(j, *x);
            squares += *x * *x;
        }
        for (index, x) in index.iter().zip(value.iter_mut()) {
            *x *= self.factor_of(self.dense + *index as usize) as f32;
            squares += f64::from(*x) * f64::from(*x);
        }
        if squares > 0.0 {
            let length = squares.sqrt();
            dense.iter_mut().for_each(|x| *x /= length);
            value
                .iter_mut()
                .for_each(|x| *x = (f64::from(*x) / length) as f32);
        }
    }

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

    /// Whether it is a scaling: as many numbers as there are dense features, or none, and all finite.
    pub fn is_sound(&self) -> bool {
        let fits = |all: &[f64]| {
            (all.is_empty() || all.len() == self.dense) && all.iter().all(|value| value.is_finite())
        };
        let mut sparse = self.sparse_factor.iter();
        fits(&self.centre) && fits(&self.factor) && sparse.all(|factor| factor.is_finite())
    }

    /// A feature's value of a scaled row.
    pub fn scaled(&self, feature: usize, raw: f64) -> f64 {
        (raw - self.centre_of(feature)) * self.factor_of(feature)
    }

    /// Dense values of a row as training keeps it, in place of what `out` holds: less `provisional`, empty for 0, in 32 bits;
    /// scaled, and in 32 bits once more.
    pub fn scale_as_kept(
        &self,
        raw: &[f64],
        provisional: &[f64],
        out: &mut Vec<f32>,
    ) -> Result<(), OutOfMemory> {
        out.clear();
        let room = out.room(raw.len())?;
        room.extend(raw.iter().enumerate().map(|(j, x)| {
            let provisional = provisional.get(j).copied().unwrap_or(0.0);
            let kept = (x - provisional) as f32;
            match self.factor.get(j) {
                Some(factor) => {
                    let shift = self.centre_of(j) - provisional;
                    ((f64::from(kept) - shift) * factor) as f32
                }
                None => kept,
            }
        }));
        Ok(())
    }

    /// This scaling for rows of which another one was learned: with that one's factors for sparse features beyond its own.
    /// None where dense features have become more or fewer, or it scales what the other does not.
    pub fn kept_for(&self, learned: &Self) -> Result<Option<Self>, OutOfMemory> {
        let same_shape = self.dense == learned.dense
            && self.centre.len() == learned.centre.len()
            && self.factor.len() == learned.factor.len();
        // what had one value and was scaled to 0 may have others now
        let informative = |j: usize| {
            self.factor[j] == 0.0
                && (learned.factor[j] != 0.0 || self.centre_of(j) != learned.centre_of(j))
        };
        if !same_shape || (0..self.factor.len()).any(informative) {
            return Ok(None);
        }
        let mut kept = self.copied()?;
        let beyond = learned.sparse_factor.get(self.sparse_factor.len()..);
        let beyond = beyond.unwrap_or_default();
        let factors = kept.sparse_factor.room(beyond.len())?;
        factors.extend_from_slice(beyond);
        Ok(Some(kept))
    }

    /// Whether rows scaled by it are those scaled by the other one, but for sparse features that only one of them knows.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let mut sparse = self.sparse_factor.iter().zip(&other.sparse_factor);
        self.dense == other.dense
            && self.centre == other.centre
            && self.factor == other.factor
            && sparse.all(|(one, other)| one == other)
    }

    /// A feature's weight for raw rows out of its weight for scaled ones, and what the intercept loses by it.
    pub fn fold_weight(&self, feature: usize, scaled: f64) -> (f64, f64) {
        let weight = scaled * self.factor_of(feature);
        (weight, weight * self.centre_of(feature))
    }

    /// Weights and intercept for raw rows out of those trained on scaled rows, in order of feature ids:
    /// <w', x> + b' = <w, x'> + b.
    pub fn fold<'a>(
        &'a self,
        weights: impl Iterator<Item = f64> + Clone + 'a,
        intercept: f64,
    ) -> (impl Iterator<Item = f64> + 'a, f64) {
        let dense = weights.clone().take(self.dense).enumerate();
        let shift: f64 = dense.map(|(j, weight)| self.fold_weight(j, weight).1).sum();
        let folded = weights
            .enumerate()
            .map(|(j, weight)| self.fold_weight(j, weight).0);
        (folded, intercept - shift)
    }
}
