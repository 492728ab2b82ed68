//! A set of row or feature numbers, one bit each, with fallible allocation.

use std::collections::TryReserveError;

#[derive(Debug, Default)]
pub struct Bits {
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

    /// Number of members.
    #[inline]
    pub fn ones(&self) -> usize {
        self.ones
    }
}
