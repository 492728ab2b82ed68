//! Loops for AVX-512 over the dense part of a row that many heads look at: there the weights lie in the processor's own
//! caches, and vectors twice as wide pay. A row that one head looks at comes from memory, which is no faster for them.
//!
//! What is left behind the last whole vector is one more vector, masked: one number at a time it would take as long as
//! twenty vectors.

use std::arch::x86_64::*;

const WIDTH: usize = 16;
/// Numbers from which on these loops are the faster ones.
const LEAST: usize = 128;

/// Whether this processor has them, and rows are long enough.
#[inline(always)]
pub(super) fn suits(length: usize) -> bool {
    length >= LEAST
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("fma")
}

/// Numbers of the last vector, the first `count`.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    ((1u32 << count) - 1) as __mmask16
}

/// sum x u for each of N u of the same length, reading x once; S sums each, in turns, hide the latency of the addition.
/// Asks for `next` meanwhile, as far as the others are long.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn dots<const N: usize, const S: usize>(
    x: &[f32],
    u: [&[f32]; N],
    next: &[u32],
) -> [f32; N] {
    let n = u.iter().map(|u| u.len()).fold(x.len(), usize::min);
    let mut sums = [[_mm512_setzero_ps(); N]; S];
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shortest slice; what a mask leaves out is not accessed.
    unsafe {
        while at + S * WIDTH <= n {
            for (part, sums) in sums.iter_mut().enumerate() {
                let place = at + part * WIDTH;
                if place < next.len() {
                    _mm_prefetch::<_MM_HINT_T0>(next.as_ptr().add(place).cast());
                }
                let value = _mm512_loadu_ps(x.as_ptr().add(place));
                for (sum, u) in sums.iter_mut().zip(u) {
                    let other = _mm512_loadu_ps(u.as_ptr().add(place));
                    *sum = _mm512_fmadd_ps(value, other, *sum);
                }
            }
            at += S * WIDTH;
        }
        for sums in &mut sums {
            let mask = first((n - at).min(WIDTH));
            let value = _mm512_maskz_loadu_ps(mask, x.as_ptr().add(at));
            for (sum, u) in sums.iter_mut().zip(u) {
                let other = _mm512_maskz_loadu_ps(mask, u.as_ptr().add(at));
                *sum = _mm512_fmadd_ps(value, other, *sum);
            }
            at = n.min(at + WIDTH);
        }
    }
    let mut total = sums[0];
    for sums in &sums[1..] {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total = _mm512_add_ps(*total, *sum);
        }
    }
    total.map(|total| _mm512_reduce_add_ps(total))
}

/// <x, u> for each of R x and each of N u, all of the same length, reading each once. Asks for `next` meanwhile, as far as
/// the others are long.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn tile<const R: usize, const N: usize>(
    x: [&[f32]; R],
    u: [&[f32]; N],
    next: &[u32],
) -> [[f32; N]; R] {
    let length = x.iter().chain(&u).map(|all| all.len()).min();
    let n = length.unwrap_or(0);
    let mut sums = [[_mm512_setzero_ps(); N]; R];
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shortest slice; what the mask leaves out is not accessed.
    unsafe {
        while at < n {
            if at < next.len() {
                _mm_prefetch::<_MM_HINT_T0>(next.as_ptr().add(at).cast());
            }
            let mask = first((n - at).min(WIDTH));
            let mut others = [_mm512_setzero_ps(); N];
            for (other, u) in others.iter_mut().zip(u) {
                *other = _mm512_maskz_loadu_ps(mask, u.as_ptr().add(at));
            }
            for (x, sums) in x.into_iter().zip(&mut sums) {
                let value = _mm512_maskz_loadu_ps(mask, x.as_ptr().add(at));
                for (sum, other) in sums.iter_mut().zip(others) {
                    *sum = _mm512_fmadd_ps(value, other, *sum);
                }
            }
            at += WIDTH;
        }
    }
    sums.map(|sums| sums.map(|sum| _mm512_reduce_add_ps(sum)))
}

/// u += scale x
#[target_feature(enable = "avx512f,fma")]
pub(super) fn add(u: &mut [f32], scale: f32, x: &[f32]) {
    let n = x.len().min(u.len());
    let scales = _mm512_set1_ps(scale);
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shorter slice; what the mask leaves out is not accessed.
    unsafe {
        while at + WIDTH <= n {
            let place = u.as_mut_ptr().add(at);
            let value = _mm512_loadu_ps(x.as_ptr().add(at));
            _mm512_storeu_ps(
                place,
                _mm512_fmadd_ps(value, scales, _mm512_loadu_ps(place)),
            );
            at += WIDTH;
        }
        let (mask, place) = (first(n - at), u.as_mut_ptr().add(at));
        let value = _mm512_maskz_loadu_ps(mask, x.as_ptr().add(at));
        let sum = _mm512_fmadd_ps(value, scales, _mm512_maskz_loadu_ps(mask, place));
        _mm512_mask_storeu_ps(place, mask, sum);
    }
}
