//! The digest of a row, by which a model knows whether it has changed, and the hash of a text that is a key.
//!
//! A word at a time is mixed in by a multiplication with an odd number and a shift, both of which can be undone: two
//! rows that differ in one value always differ in their digest, others but once in 2^64. Models store these numbers, so
//! they must never change, on no platform.

use crate::features::FeatureBuffer;
use core::hash::{BuildHasherDefault, Hasher};

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A digest in the making.
#[derive(Debug, Clone, Copy)]
pub struct Digest(u64);

impl Digest {
    /// Digests of different seeds have nothing to do with each other.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(ODD);
        self.0 ^= self.0 >> 32;
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words
            .iter()
            .for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    pub fn finish(mut self) -> u64 {
        self.word(0);
        self.0
    }
}

/// The digest of a row with that label (a digest too), weight and features.
pub fn of_row(label: u64, weight: f64, features: &FeatureBuffer) -> u64 {
    let mut digest = Digest::new(label);
    digest.word(weight.to_bits());
    for value in &features.dense {
        // -0 is 0, and one NaN is as good as another
        let value = if value.is_nan() {
            f64::NAN
        } else {
            value + 0.0
        };
        digest.word(value.to_bits());
    }
    for (index, value) in features.sparse_index.iter().zip(&features.sparse_value) {
        digest.word(u64::from(*index) << 32 | u64::from(value.to_bits()));
    }
    digest.finish()
}

/// The digest of a label.
pub fn of_label(text: &str) -> u64 {
    let mut digest = Digest::new(1);
    digest.bytes(text.as_bytes());
    digest.finish()
}

/// Hashes what keys are known by, for look-ups in memory.
#[derive(Default)]
pub struct KeyHasher(u64);

pub type BuildKeyHasher = BuildHasherDefault<KeyHasher>;

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut digest = Digest(self.0);
        digest.bytes(bytes);
        self.0 = digest.finish();
    }

    #[inline]
    fn write_u128(&mut self, key: u128) {
        let mut digest = Digest(self.0);
        digest.word(key as u64 ^ ((key >> 64) as u64).rotate_left(32));
        self.0 = digest.finish();
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// What stands for a text among keys: 128 bits, so that no two texts are taken for one.
pub fn of_key(text: &[u8]) -> u128 {
    let half = |seed| {
        let mut digest = Digest::new(seed);
        digest.bytes(text);
        digest.finish()
    };
    u128::from(half(2)) << 64 | u128::from(half(3))
}
