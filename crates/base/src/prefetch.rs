//! Asking the processor for memory ahead of its use.

/// Bytes of a line of the processor's cache.
pub const LINE_BYTES: usize = 64;

/// Asks the processor to fetch the first lines of these words.
#[inline(always)]
pub fn prefetch<W>(words: &[W], lines: usize) {
    fetch::<W, true>(words, lines);
}

/// The same into its second cache only: it waits for some tens of lines at once on their way to the first.
#[inline(always)]
pub fn prefetch_far<W>(words: &[W], lines: usize) {
    fetch::<W, false>(words, lines);
}

#[inline(always)]
fn fetch<W, const NEAR: bool>(words: &[W], lines: usize) {
    let line = LINE_BYTES / size_of::<W>();
    let end = words.len().min(lines.saturating_mul(line));
    let mut at = 0;
    while at < end {
        fetch_line::<W, NEAR>(words.as_ptr().wrapping_add(at));
        at += line;
    }
}

/// Asks for the weights of these sparse entries, into the processor's second cache; those of a feature lie at its
/// `place`.
#[inline(always)]
pub fn prefetch_weights<W>(entries: &[[u32; 2]], weights: &[W], place: impl Fn(usize) -> usize) {
    let fetch = |&[feature, _]: &[u32; 2]| {
        fetch_line::<W, false>(weights.as_ptr().wrapping_add(place(feature as usize)));
    };
    // rounds of a known number leave nothing to guess wrong
    let (wide, rest) = entries.as_chunks::<16>();
    for entries in wide {
        entries.iter().for_each(fetch);
    }
    rest.iter().for_each(fetch);
}

/// Asks for the line that holds this address, which may be any.
#[inline(always)]
pub fn fetch_line<W, const NEAR: bool>(address: *const W) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0, _MM_HINT_T1};
        // SAFETY: a prefetch reads nothing into the program and cannot fault, whatever the address.
        unsafe {
            match NEAR {
                true => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
                false => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
