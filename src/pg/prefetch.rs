//! Hints to the processor which memory a scan comes to soon. Any process.
//!
//! A heap page fills from its end, so a scan goes through its rows downwards and through each row
//! upwards. Left to itself the processor fetches what lies above, and every row begins with waiting
//! for memory: a third of a prediction's time, a tenth of a training's in memory.

/// How many rows ahead: enough time to fetch a row while the ones before are worked on.
#[cfg(target_arch = "x86_64")]
const ROWS: usize = 3;
/// Bytes of a row in its page before and around the value that is read, about.
#[cfg(target_arch = "x86_64")]
const ROW_HEADER: usize = 32;
/// Lines fetched of a long row; within it the processor sees the direction.
#[cfg(target_arch = "x86_64")]
const LINES: usize = 8;
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Fetches the row that a scan of rows as long as this one comes to a little later. Costs a few
/// nanoseconds and does no harm where there is no such row.
#[inline(always)]
pub fn row_ahead(row: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let start = row.as_ptr().wrapping_sub(ROWS * (row.len() + ROW_HEADER));
        for line in 0..(row.len() / LINE + 2).min(LINES) {
            // SAFETY: a hint: an address without memory behind it is ignored.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
