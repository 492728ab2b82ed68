//! Which share of distinct hashed features meet another in their bucket: counted while they come, each as often as it likes, in
//! four bytes a bucket and a sample of 16,384 hashes at most.
//!
//! A bucket knows the first hash that fell into it, and whether another one has. Which of the distinct hashes are in buckets
//! of several is then looked up for a sample of them: all, as long as they fit, and from then on those below a limit that is halved
//! whenever they do not (Wegman's adaptive sampling; Flajolet 1990). So the share is exact up to that many distinct features, and
//! beyond them off by less than a hundredth.

use std::collections::HashSet;

use crate::base::memory::{filled, OutOfMemory, Room};

/// Hashes that are kept at most.
const MOST: usize = 1 << 14;
/// Of a bucket: nothing has met it, or more than one hash has; else 32 bits of the only one.
const EMPTY: u32 = 0;
const SHARED: u32 = 1;
const FIRST_PRINT: u32 = 2;
/// Bits of a hash below those that tell it from others in its bucket.
const BUCKET_BITS: u32 = 24;

/// Hashed features that were met.
#[derive(Debug)]
pub struct Collisions {
    /// As many as a power of two.
    buckets: Vec<u32>,
    /// Hashes with so many zeros in front at least.
    zeros: u32,
    sample: HashSet<u64>,
}

impl Collisions {
    /// For buckets that the lowest `bits` of a hash tell, up to 24.
    pub fn new(bits: u32) -> Result<Self, OutOfMemory> {
        Ok(Self {
            buckets: filled(EMPTY, 1 << bits.min(BUCKET_BITS))?,
            zeros: 0,
            sample: HashSet::new(),
        })
    }

    /// Takes the hash of a feature.
    #[inline]
    pub fn add(&mut self, hash: u64) -> Result<(), OutOfMemory> {
        let at = self.bucket(hash);
        let print = ((hash >> BUCKET_BITS) as u32).max(FIRST_PRINT);
        let bucket = &mut self.buckets[at];
        if *bucket == print {
            return Ok(());
        }
        *bucket = match *bucket {
            EMPTY => print,
            _ => SHARED,
        };
        match hash.leading_zeros() >= self.zeros {
            true => self.keep(hash),
            false => Ok(()),
        }
    }

    fn keep(&mut self, hash: u64) -> Result<(), OutOfMemory> {
        self.sample.room(1)?.insert(hash);
        while self.sample.len() > MOST {
            self.zeros += 1;
            let zeros = self.zeros;
            self.sample.retain(|hash| hash.leading_zeros() >= zeros);
        }
        Ok(())
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// How many distinct features there were.
    pub fn distinct(&self) -> u64 {
        (self.sample.len() as u64) << self.zeros
    }

    /// Whether that is counted, and not estimated.
    pub fn is_exact(&self) -> bool {
        self.zeros == 0
    }

    /// The share of them that are not alone in their bucket; None where there were none.
    pub fn share(&self) -> Option<f64> {
        let shared = |hash: &&u64| self.buckets[self.bucket(**hash)] == SHARED;
        let met = self.sample.iter().filter(shared).count();
        (!self.sample.is_empty()).then(|| met as f64 / self.sample.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::of_number;

    /// The share by a look at all of so many numbers, and what is counted when each comes thrice.
    fn shares(numbers: u64, bits: u32) -> (f64, Collisions) {
        let mut counts = vec![0; 1 << bits];
        let mut counted = Collisions::new(bits).unwrap();
        let hashes = || (1..=numbers).map(of_number);
        hashes().for_each(|hash| counts[hash as usize & ((1 << bits) - 1)] += 1);
        for hash in hashes().chain(hashes()).chain(hashes()) {
            counted.add(hash).unwrap();
        }
        let shared: u64 = counts.iter().filter(|count| **count > 1).sum();
        (shared as f64 / numbers as f64, counted)
    }

    #[test]
    fn few_are_counted() {
        for (numbers, bits) in [(1, 1), (2, 1), (1000, 12), (16_384, 14)] {
            let (share, counted) = shares(numbers, bits);
            assert!(counted.is_exact());
            assert_eq!(
                (counted.distinct(), counted.share()),
                (numbers, Some(share))
            );
        }
    }

    #[test]
    fn many_are_sampled() {
        for (numbers, bits) in [(100_000, 18), (1_000_000, 18), (300_000, 24)] {
            let (share, counted) = shares(numbers, bits);
            assert!(!counted.is_exact() && counted.sample.len() <= MOST);
            assert!((counted.share().unwrap() - share).abs() < 0.01, "{share}");
            let off = counted.distinct() as f64 / numbers as f64 - 1.0;
            assert!(off.abs() < 0.03, "{off}");
        }
    }

    #[test]
    fn of_nothing_there_is_no_share() {
        assert_eq!(Collisions::new(4).unwrap().share(), None);
    }
}
