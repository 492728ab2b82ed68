//! A set of row or feature numbers, one bit each, with fallible allocation.

use crate::memory::list;
use serde::{Deserialize, Serialize};
use std::collections::TryReserveError;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Bits {
    #[serde(deserialize_with = "list")]
    words: Vec<u64>,
    ones: usize,
}

impl Bits {
    /// A set over 0..len, empty.
    pub fn new(len: usize) -> Result<Self, TryReserveError> {
        let mut bits = Self::default();
        bits.grow(len)?;
        Ok(bits)
    }

    /// Whether it has room for 0..len, and counts its members right; one that came as bytes may not.
    pub fn is_sound(&self, len: usize) -> bool {
        len.div_ceil(64) <= self.words.len() && self.ones == self.counted()
    }

    fn counted(&self) -> usize {
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Makes room for 0..len.
    pub fn grow(&mut self, len: usize) -> Result<(), TryReserveError> {
        let words = len.div_ceil(64);
        if words > self.words.len() {
            self.words.try_reserve(words - self.words.len())?;
            self.words.resize(words, 0);
        }
        Ok(())
    }

    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    #[inline]
    pub fn set(&mut self, index: usize, value: bool) {
        let word = &mut self.words[index / 64];
        let mask = 1u64 << (index % 64);
        let was = *word & mask != 0;
        if value && !was {
            *word |= mask;
            self.ones += 1;
        } else if !value && was {
            *word &= !mask;
            self.ones -= 1;
        }
    }

    /// Takes the members of another set in.
    pub fn join(&mut self, other: &Self) -> Result<(), TryReserveError> {
        self.grow(64 * other.words.len())?;
        for (own, more) in self.words.iter_mut().zip(&other.words) {
            *own |= more;
        }
        self.ones = self.counted();
        Ok(())
    }

    /// Number of members.
    #[inline]
    pub fn ones(&self) -> usize {
        self.ones
    }
}
