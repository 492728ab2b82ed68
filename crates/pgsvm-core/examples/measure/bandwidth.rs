//! How fast one thread reads memory: the limit of a pass over cached rows.

use std::hint::black_box;

use crate::clock::Clock;
use crate::Result;

const READS: usize = 7;
/// Sums kept apart, so that the additions do not wait for one another.
const LANES: usize = 32;

/// Bytes a second of summing up a buffer of `bytes`, the median of a few times.
pub fn of_reading(bytes: usize) -> Result<f64> {
    let words = vec![black_box(1u64); bytes / 8];
    let mut seconds = Vec::new();
    for _ in 0..READS {
        let clock = Clock::start()?;
        black_box(sum(black_box(&words)));
        seconds.push(clock.read()?.cpu);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(8.0 * words.len() as f64 / seconds[READS / 2])
}

fn sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; LANES];
    for lanes in words.as_chunks::<LANES>().0 {
        for (sum, word) in sums.iter_mut().zip(lanes) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}
