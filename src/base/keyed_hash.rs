//! Hashes for tables in memory, with keys of their own for each table: nobody can choose values that all fall together,
//! and make a statement go through all of them for each. No stored number comes from here. Pure.

use std::hash::{BuildHasher, Hasher, RandomState};
use twox_hash::XxHash3_64;

/// For numbers of 128 bits: multiply-shift (Dietzfelbinger 1996), by which any two of them meet as seldom as by chance.
#[derive(Clone)]
pub struct NumberHash {
    low: u128,
    high: u128,
    addend: u128,
}

/// For texts: XXH3 with a seed.
#[derive(Debug, Clone)]
pub struct TextHash {
    seed: u64,
}

impl Default for NumberHash {
    fn default() -> Self {
        let random = RandomState::new();
        let word = |number: u8| u128::from(random.hash_one(number));
        let pair = |number| word(number) << 64 | word(number + 1);
        Self {
            low: pair(0),
            high: pair(2),
            addend: pair(4),
        }
    }
}

impl NumberHash {
    /// The hash of a number, all of whose bits are as good as each other.
    #[inline]
    pub fn of(&self, number: u128) -> u64 {
        let low = self.low.wrapping_mul(u128::from(number as u64));
        let high = self.high.wrapping_mul(number >> 64);
        (low.wrapping_add(high).wrapping_add(self.addend) >> 64) as u64
    }
}

/// What hashes one number.
pub struct NumberHasher {
    hash: NumberHash,
    found: u64,
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher {
            hash: self.clone(),
            found: 0,
        }
    }
}

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.found = XxHash3_64::oneshot_with_seed(self.found ^ self.hash.low as u64, bytes);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.found = self.hash.of(number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.found
    }
}

impl Default for TextHash {
    fn default() -> Self {
        Self {
            seed: RandomState::new().hash_one(0),
        }
    }
}

/// What hashes one text.
pub struct TextHasher(u64);

impl BuildHasher for TextHash {
    type Hasher = TextHasher;

    #[inline]
    fn build_hasher(&self) -> TextHasher {
        TextHasher(self.seed)
    }
}

impl Hasher for TextHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    /// What stands behind each text, so that the texts of a pair differ from those of another: here is one text only.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
