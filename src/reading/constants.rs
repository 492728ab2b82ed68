//! Columns that have one value in all rows of a training and so are no features, where nobody named them. Most columns show a
//! second value in the first rows, and cost nothing from then on. Not of models with a key: those follow their table, whose
//! later rows may differ.

use crate::features::{Decoder, FeatureBuffer, FeaturePart, FeatureSet};
use pgsvm_core::memory::{list, OutOfMemory, Room};
use serde::{Deserialize, Serialize};

/// Columns of numbers that have shown one value so far.
#[derive(Default, Serialize, Deserialize)]
pub struct Constants {
    #[serde(deserialize_with = "list")]
    columns: Vec<ConstantColumn>,
    /// Whether a row has been seen.
    begun: bool,
    /// Whether columns are looked at at all.
    wanted: bool,
}

#[derive(Serialize, Deserialize)]
struct ConstantColumn {
    part: usize,
    /// Its dense feature.
    feature: usize,
    /// What it holds; no number while all are missing.
    value: f64,
}

impl Constants {
    pub fn new(wanted: bool) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    /// Whether its columns are columns of numbers among these parts; those of bytes that came from elsewhere may not be.
    pub fn are_sound(&self, features: &FeatureSet) -> bool {
        let parts = |column: &ConstantColumn| features.parts.get(column.part);
        let mut parts = self.columns.iter().map(parts);
        parts.all(|part| part.is_some_and(FeaturePart::is_column))
    }

    /// Looks at a row that is trained on.
    #[inline]
    pub fn take(&mut self, features: &FeatureSet, row: &FeatureBuffer) -> Result<(), OutOfMemory> {
        if !self.begun {
            self.begin(features)?;
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        self.columns.retain_mut(|column| {
            let value = row.dense[column.feature];
            if column.value.is_nan() {
                column.value = value;
            }
            value.is_nan() || value == column.value
        });
        Ok(())
    }

    /// Joins what other rows have shown.
    pub fn join(&mut self, mut more: Self) {
        if !(self.begun && more.begun) {
            if more.begun {
                *self = more;
            }
            return;
        }
        self.columns.retain_mut(|column| {
            let other = more.columns.iter_mut().find(|it| it.part == column.part);
            let Some(other) = other else {
                return false;
            };
            if column.value.is_nan() {
                column.value = other.value;
            }
            other.value.is_nan() || other.value == column.value
        });
    }

    #[cold]
    fn begin(&mut self, features: &FeatureSet) -> Result<(), OutOfMemory> {
        self.begun = true;
        if !self.wanted {
            return Ok(());
        }
        for (number, (part, dense)) in features.dense_places().enumerate() {
            if part.is_column() {
                self.columns.room(1)?.push(ConstantColumn {
                    part: number,
                    feature: dense.start,
                    value: f64::NAN,
                });
            }
        }
        Ok(())
    }

    /// By part, whether it had one value in all rows; `nulls` are those met in each. None of them where nothing would be left
    /// to train on.
    pub fn parts(&self, decoder: &Decoder, nulls: &[u64]) -> Result<Vec<bool>, OutOfMemory> {
        let parts = &decoder.learned().parts;
        let mut constant = Vec::new();
        constant.room(parts.len())?.resize(parts.len(), false);
        if !self.wanted || !self.begun {
            return Ok(constant);
        }
        for column in &self.columns {
            constant[column.part] = true;
        }
        // category columns together are one sparse part: where there are others, numbers of features hang on it
        let features = decoder.learned();
        let only = features.categories().all(|(_, values)| values.len() <= 1);
        if !(only && features.sparse_parts() > 1) {
            for (number, part) in parts.iter().enumerate() {
                let values = part.dictionary().map(|it| it.len());
                let only_value = values == Some(1) && nulls[number] == 0;
                constant[number] |= only_value || decoder.is_only_null(number);
            }
        }
        let stays = |number: usize| !constant[number] && !decoder.is_left_out(number);
        if !(0..parts.len()).any(stays) {
            constant.fill(false);
        }
        Ok(constant)
    }
}
