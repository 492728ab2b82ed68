//! How fast one thread reads memory: the limit of a pass over cached rows.

use std::hint::black_box;

use pgsvm_core::cache::prefer_huge_pages;

use crate::clock::Clock;
use crate::Result;

const READS: usize = 7;
/// Sums kept apart, so that the additions do not wait for one another.
const LANES: usize = 32;
#[cfg(target_arch = "x86_64")]
const LINE_WORDS: usize = 8;

/// Bytes from a line that is summed to the one asked for in advance: not any, and some pages ahead. Which is faster depends
/// on how far the processor looks ahead by itself.
const AHEAD: [Option<usize>; 3] = [None, Some(2 << 10), Some(8 << 10)];

/// Bytes a second of summing up a buffer of `bytes` in huge pages, as the cache has them: of each way to ask for lines the
/// median of a few times, and of those the best.
pub fn of_reading(bytes: usize) -> Result<f64> {
    let mut words: Vec<u64> = Vec::new();
    words.try_reserve_exact(bytes / 8)?;
    // SAFETY: the vector owns that much.
    unsafe { prefer_huge_pages(words.as_mut_ptr().cast(), bytes) };
    words.resize(bytes / 8, black_box(1));
    let mut best = f64::INFINITY;
    for ahead in AHEAD {
        let mut seconds = Vec::new();
        for _ in 0..READS {
            let clock = Clock::start()?;
            black_box(match ahead {
                None => sum(black_box(&words), |_| {}),
                Some(bytes) => sum(black_box(&words), |lanes| ask(lanes, bytes)),
            });
            seconds.push(clock.read()?.cpu);
        }
        seconds.sort_by(f64::total_cmp);
        best = best.min(seconds[READS / 2]);
    }
    Ok(8.0 * words.len() as f64 / best)
}

#[inline(always)]
fn sum(words: &[u64], meanwhile: impl Fn(&[u64; LANES])) -> u64 {
    let mut sums = [0u64; LANES];
    for lanes in words.as_chunks::<LANES>().0 {
        meanwhile(lanes);
        for (sum, word) in sums.iter_mut().zip(lanes) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Asks for the lines so many bytes behind these.
#[inline(always)]
fn ask(lanes: &[u64; LANES], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in lanes.chunks(LINE_WORDS) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing into the program and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_byte_add(bytes).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (lanes, bytes);
}
