//! The digest of a row, by which a model knows whether it has changed, and the hash of a text that is a key: XXH3, of
//! 64 and of 128 bits, without a seed. Models store these numbers, so what is hashed must never change, on no platform.
//! XXH3 does not.

use crate::features::FeatureBuffer;
use pgsvm_core::memory::{OutOfMemory, Room};
use twox_hash::{XxHash3_128, XxHash3_64};

/// Makes the digests of rows.
#[derive(Debug, Default)]
pub struct RowDigests {
    /// What is hashed of a row.
    words: Vec<[u8; 8]>,
}

impl RowDigests {
    /// The digest of a row with that label (a digest too), weight and features: of 8 bytes each, little endian, in that
    /// order. A sparse feature is its value with its index in the higher half.
    pub fn of_row(
        &mut self,
        label: u64,
        weight: f64,
        features: &FeatureBuffer,
    ) -> Result<u64, OutOfMemory> {
        self.words_of(label, weight, features)?;
        Ok(XxHash3_64::oneshot(self.words.as_flattened()))
    }

    /// Lays them out; the place of the first feature.
    fn words_of(
        &mut self,
        label: u64,
        weight: f64,
        features: &FeatureBuffer,
    ) -> Result<usize, OutOfMemory> {
        let dense = features.dense.iter().map(|value| word_of(*value));
        let sparse = features.sparse_index.iter().zip(&features.sparse_value);
        let sparse =
            sparse.map(|(index, value)| u64::from(*index) << 32 | u64::from(value.to_bits()));
        self.words.clear();
        let words = 2 + features.dense.len() + features.sparse_index.len();
        self.words.room(words)?;
        self.words.push(label.to_le_bytes());
        self.words.push(word_of(weight).to_le_bytes());
        self.words.extend(dense.map(u64::to_le_bytes));
        self.words.extend(sparse.map(u64::to_le_bytes));
        Ok(2)
    }

    /// The digest of what a row holds, whatever will be put in where something is missing.
    pub fn of_values(&mut self, weight: f64, features: &FeatureBuffer) -> Result<u64, OutOfMemory> {
        let first = self.words_of(0, weight, features)?;
        for at in &features.missing {
            if let Some(word) = self.words.get_mut(first + at) {
                *word = word_of(f64::NAN).to_le_bytes();
            }
        }
        Ok(XxHash3_64::oneshot(self.words.as_flattened()))
    }
}

/// A number's bits: -0 is 0, and one NaN is as good as another.
fn word_of(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    };
    value.to_bits()
}

/// What a version of a row with that label (a digest) is known by: the same where origin and label are.
pub fn of_version(label: u64, origin: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(label, &origin.to_le_bytes())
}

/// The digest of a label.
pub fn of_label(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}

/// The digest of a label that is a number to predict.
pub fn of_number(number: f64) -> u64 {
    XxHash3_64::oneshot(&word_of(number).to_le_bytes())
}

/// What stands for a text among keys: 128 bits, so that no two texts are taken for one.
pub fn of_key(text: &[u8]) -> u128 {
    XxHash3_128::oneshot(text)
}
