//! The weights of a training by scans that ends before it has arrived: it gives way to rows that stream, or finds that rows have changed.
//! The training that goes on begins from them.

use crate::base::errors::Failure;
use crate::targets::labels::LabelValue;
use pgsvm_core::memory::{filled, gathered, Room};
use pgsvm_core::Start;

/// The weights of a training that ends before it has arrived.
pub struct Unfinished {
    /// The classes, in the order of its heads; one head where there are two.
    pub classes: Vec<String>,
    /// By head the weights of scaled rows, the intercept's last.
    pub weights: Vec<Vec<f64>>,
    /// Scans that it has made.
    pub scans: u32,
}

impl Unfinished {
    /// By head of a training over the same rows, whose classes may come in another order, where it begins; none where it would have other
    /// features.
    pub fn starts(
        &self,
        rows: usize,
        classes: &[LabelValue],
        features: usize,
    ) -> Result<Vec<Start>, Failure> {
        let mut starts = Vec::new();
        for weights in self.weights_of(classes, features)? {
            starts.room(1)?.push(Start {
                duals: filled(0.0, rows)?,
                weights: Some(weights),
                updates: 0,
            });
        }
        Ok(starts)
    }

    /// The weights by head of such a training; none where it would have other features, or classes.
    pub fn weights_of(
        &self,
        classes: &[LabelValue],
        features: usize,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let heads = match classes {
            [_, positive] => std::slice::from_ref(positive),
            all => all,
        };
        let mut all = Vec::new();
        all.room(heads.len())?;
        for class in heads {
            let found = self.of(&class.text);
            let Some((weights, sign)) = found.filter(|(it, _)| it.len() == features + 1) else {
                return Ok(Vec::new());
            };
            all.push(gathered(weights.iter().map(|weight| sign * weight))?);
        }
        Ok(all)
    }

    /// The weights for a class against the others, and their sign.
    fn of(&self, class: &str) -> Option<(&Vec<f64>, f64)> {
        let place = self.classes.iter().position(|it| it == class)?;
        match self.weights.as_slice() {
            [only] => Some((only, if place == 0 { -1.0 } else { 1.0 })),
            all => all.get(place).map(|weights| (weights, 1.0)),
        }
    }
}
