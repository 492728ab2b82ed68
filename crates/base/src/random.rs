//! Shuffles and random picks with a stream that is fixed for ever.
//!
//! Used by the reader (chunk order, the split into blocks), the choice of landmarks, the trainer (visiting order, replacement) and the code
//! that divides rows into folds, each with its own stream. The generator and how its numbers become picks are rand's, pinned; the order in
//! which a shuffle picks is written here, since rand's own takes several picks out of a number, and may take other ones in its next
//! release. So a seed means the same weights in every release.

use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

/// Which consumer of random numbers a stream belongs to.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    Reader = 1,
    Trainer = 2,
    Split = 3,
    Folds = 4,
    Sample = 5,
    Landmarks = 6,
    Forest = 7,
}

#[derive(Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    pub fn new(seed: u64, stream: Stream) -> Self {
        // the golden-ratio constant spreads neighbouring seeds over the state
        let high = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (stream as u64);
        let mut generator = Pcg64Mcg::new((u128::from(high) << 64) | u128::from(seed) << 3 | 5);
        for _ in 0..4 {
            generator.next_u64();
        }
        Self(generator)
    }

    /// A number in 0..bound; 0 when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        match bound as u64 {
            0 => {
                self.0.next_u64();
                0
            }
            bound => self.0.random_range(0..bound) as usize,
        }
    }

    /// A number from 0 to below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const STEPS: u64 = 1 << f64::MANTISSA_DIGITS;
        self.below(STEPS as usize) as f64 / STEPS as f64
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::new(7, Stream::Trainer);
        let mut items: Vec<u32> = (0..10).collect();
        random.shuffle(&mut items);
        assert_eq!(items, [9, 5, 2, 4, 1, 3, 0, 6, 8, 7]);
        let picks: Vec<usize> = (0..4).map(|_| random.below(1000)).collect();
        assert_eq!(picks, [553, 758, 566, 861]);
        let mut other: Vec<u32> = (0..10).collect();
        Random::new(7, Stream::Reader).shuffle(&mut other);
        assert_ne!(items, other);
    }

    #[test]
    fn a_pick_is_the_upper_half_of_number_times_bound() {
        for (seed, bound) in [
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 1000),
            (5, 3 << 20),
            (6, 1 << 40),
        ] {
            let (mut random, mut numbers) = (
                Random::new(seed, Stream::Folds),
                Random::new(seed, Stream::Folds),
            );
            for _ in 0..1000 {
                let product = u128::from(numbers.0.next_u64()) * bound as u128;
                assert_eq!(random.below(bound), (product >> 64) as usize);
            }
        }
    }
}
