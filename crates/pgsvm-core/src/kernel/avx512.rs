//! Loops for AVX-512 over the dense part of a row that many heads look at: there the weights lie in the processor's own
//! caches, and vectors twice as wide pay. A row that one head looks at comes from memory, which is no faster for them.

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

/// sum x u for each of four u of the same length, reading x once.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn four_dots(x: &[f32], u: [&[f32]; 4]) -> [f32; 4] {
    let n = u.iter().map(|u| u.len()).fold(x.len(), usize::min);
    let mut sums = [[_mm512_setzero_ps(); 4]; 2];
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shortest slice.
    unsafe {
        while at + 2 * WIDTH <= n {
            for (half, sums) in sums.iter_mut().enumerate() {
                let place = at + half * WIDTH;
                let value = _mm512_loadu_ps(x.as_ptr().add(place));
                for (sum, u) in sums.iter_mut().zip(u) {
                    let other = _mm512_loadu_ps(u.as_ptr().add(place));
                    *sum = _mm512_fmadd_ps(value, other, *sum);
                }
            }
            at += 2 * WIDTH;
        }
    }
    let mut out: [f32; 4] =
        std::array::from_fn(|k| _mm512_reduce_add_ps(_mm512_add_ps(sums[0][k], sums[1][k])));
    for (out, u) in out.iter_mut().zip(u) {
        for j in at..n {
            *out = x[j].mul_add(u[j], *out);
        }
    }
    out
}

/// u += scale x
#[target_feature(enable = "avx512f,fma")]
pub(super) fn add(u: &mut [f32], scale: f32, x: &[f32]) {
    let n = x.len().min(u.len());
    let scales = _mm512_set1_ps(scale);
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shorter slice.
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
    }
    for (u, x) in u[at..n].iter_mut().zip(&x[at..n]) {
        *u = x.mul_add(scale, *u);
    }
}
