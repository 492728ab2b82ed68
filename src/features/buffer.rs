//! One row as numbers, and what a NULL in it counts as.

use serde::{Deserialize, Serialize};

/// What a NULL among the features means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nulls {
    /// Training and prediction end with an error.
    Error,
    /// Training leaves the row out, prediction answers NULL.
    Skip,
    /// It counts as 0, and as none of the categories.
    Zero,
    /// It counts as the mean of the training's rows that have a value, and as a category of its own;
    /// in a sparse part as 0.
    Mean,
}

/// One decoded row, reused from row to row. The vectors are those of `pgsvm_core::Example`.
#[derive(Debug, Default)]
pub struct FeatureBuffer {
    pub dense: Vec<f64>,
    /// Relative to the sparse space; strictly ascending.
    pub sparse_index: Vec<u32>,
    pub sparse_value: Vec<f32>,
    /// Whether one of them has been rounded to 32 bits.
    pub rounded: bool,
    /// The parts (by position in `FeatureSet::parts`, ascending) that held a NULL. Empty for a complete
    /// row.
    pub null_parts: Vec<usize>,
    /// Dense features that were NULL.
    pub missing: Vec<usize>,
    /// How many words its texts have, and how many of them the vocabularies do not have.
    pub words: [u64; 2],
    /// Categories that have no code.
    pub unseen_categories: u64,
}

impl FeatureBuffer {
    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        let dense = self.dense.capacity() * size_of::<f64>();
        let sparse = self.sparse_index.capacity() * size_of::<u32>()
            + self.sparse_value.capacity() * size_of::<f32>();
        let nulls = (self.null_parts.capacity() + self.missing.capacity()) * size_of::<usize>();
        dense + sparse + nulls
    }

    /// The first dense feature, and its value, that is so large that what lies between two of them does not fit 32 bits.
    pub fn out_of_range(&self) -> Option<(u64, f64)> {
        const MOST: f64 = f32::MAX as f64 / 2.0;
        let mut values = (0..).zip(&self.dense);
        let found = values.find(|(_, x)| x.abs() > MOST)?;
        Some((found.0, *found.1))
    }

    pub fn clear(&mut self) {
        self.dense.clear();
        self.sparse_index.clear();
        self.sparse_value.clear();
        self.rounded = false;
        self.null_parts.clear();
        self.missing.clear();
        self.words = [0; 2];
        self.unseen_categories = 0;
    }
}

impl Nulls {
    /// Reads the word that the `nulls` argument takes and the model table stores.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "error" => Self::Error,
            "skip" => Self::Skip,
            "zero" => Self::Zero,
            "mean" => Self::Mean,
            _ => return None,
        })
    }

    /// The word that `from_word` reads.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
            Self::Zero => "zero",
            Self::Mean => "mean",
        }
    }
}
