//! AVX-512: its vectors for the loops of [`super::dense`], and loops over the dense part of a row for many heads that look
//! at the same row.
//!
//! What is left behind the last whole vector is one more vector, masked: one number at a time it would take as long as
//! twenty vectors.

use super::dense::{builds, vector, Vector};
use super::request::Next;
use crate::request::Asked;
use std::arch::x86_64::*;

const WIDTH: usize = 16;
/// Numbers from which on these loops are the faster ones.
const LEAST: usize = 128;

/// Whether this processor has them, and rows are long enough.
#[inline(always)]
pub(super) fn suits(length: usize) -> bool {
    #[cfg(any(test, feature = "forced"))]
    if super::forced::FORCED.get() == Some(super::forced::Forced::Narrow) {
        return false;
    }
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
/// Asks for `next` meanwhile.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn dots<const N: usize, const S: usize>(
    x: &[f32],
    u: [&[f32]; N],
    next: Next<'_>,
) -> [f32; N] {
    let n = u.iter().map(|u| u.len()).fold(x.len(), usize::min);
    let mut sums = [[_mm512_setzero_ps(); N]; S];
    let asked = Asked::new([next], [x]);
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shortest slice; what a mask leaves out is not accessed.
    unsafe {
        while at + S * WIDTH <= n {
            for (part, sums) in sums.iter_mut().enumerate() {
                let place = at + part * WIDTH;
                asked.ask(place);
                let value = _mm512_loadu_ps(x.as_ptr().add(place));
                for (sum, u) in sums.iter_mut().zip(u) {
                    let other = _mm512_loadu_ps(u.as_ptr().add(place));
                    *sum = _mm512_fmadd_ps(value, other, *sum);
                }
            }
            at += S * WIDTH;
        }
        asked.rest(at);
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

/// <x, u> for each of R x (up to four) and each of N u (up to six, that all sums stay in registers), all of the same
/// length, reading each once. Asks for each `next` meanwhile.
#[target_feature(enable = "avx512f,fma")]
pub(super) fn tile<const R: usize, const N: usize>(
    x: [&[f32]; R],
    u: [&[f32]; N],
    next: &[Next<'_>],
) -> [[f32; N]; R] {
    let length = x.iter().chain(&u).map(|all| all.len()).min();
    let n = length.unwrap_or(0);
    let masked = |from: &[f32], at: usize| {
        let mask = first((n - at).min(WIDTH));
        // SAFETY: the access lies below n, the length of the shortest slice; what the mask leaves out is not accessed.
        unsafe { _mm512_maskz_loadu_ps(mask, from.as_ptr().add(at)) }
    };
    let mut all = [Next::NONE; R];
    for (all, next) in all.iter_mut().zip(next) {
        *all = *next;
    }
    let asked = Asked::new(all, x);
    asked.ask(0);
    // sums that begin as products and not as zeros: those a compiler keeps in the lower half of the registers
    let others = u.map(|u| masked(u, 0));
    let mut sums = x.map(|x| {
        let value = masked(x, 0);
        others.map(|other| _mm512_mul_ps(value, other))
    });
    let mut at = n.min(WIDTH);
    while at + WIDTH <= n {
        asked.ask(at);
        // SAFETY: the whole vector lies below n, the length of the shortest slice.
        let whole = |from: &[f32]| unsafe { _mm512_loadu_ps(from.as_ptr().add(at)) };
        let others = u.map(whole);
        for (x, sums) in x.into_iter().zip(&mut sums) {
            let value = whole(x);
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = _mm512_fmadd_ps(value, other, *sum);
            }
        }
        at += WIDTH;
    }
    asked.rest(at);
    let others = u.map(|u| masked(u, at));
    for (x, sums) in x.into_iter().zip(&mut sums) {
        let value = masked(x, at);
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum = _mm512_fmadd_ps(value, other, *sum);
        }
    }
    let mut totals = [[0.0; N]; R];
    for from in (0..N).step_by(4) {
        let four = std::array::from_fn(|n| {
            std::array::from_fn(|r| match sums.get(r).and_then(|sums| sums.get(from + n)) {
                Some(sum) => *sum,
                None => _mm512_setzero_ps(),
            })
        });
        for (n, four) in each_total(four).iter().enumerate() {
            for (totals, total) in totals.iter_mut().zip(four) {
                if let Some(own) = totals.get_mut(from + n) {
                    *own = *total;
                }
            }
        }
    }
    totals
}

/// The sum of each vector.
#[inline]
#[target_feature(enable = "avx512f,fma")]
fn each_total(of: [[__m512; 4]; 4]) -> [[f32; 4]; 4] {
    // pairs of numbers, then of those, side by side with their neighbours'
    let [a, b, c, d] = of.map(|[a, b, c, d]| {
        let two = |a, b| _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (ab, cd) = (_mm512_castps_pd(two(a, b)), _mm512_castps_pd(two(c, d)));
        let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    });
    // then quarters
    let two = |a, b| {
        let even = _mm512_shuffle_f32x4::<0x88>(a, b);
        _mm512_add_ps(even, _mm512_shuffle_f32x4::<0xdd>(a, b))
    };
    let all = two(two(a, b), two(c, d));
    let mut out = [[0.0; 4]; 4];
    // SAFETY: there are sixteen of them.
    unsafe { _mm512_storeu_ps(out.as_flattened_mut().as_mut_ptr(), all) };
    out
}

/// Eight 64-bit numbers.
#[derive(Clone, Copy)]
pub(super) struct Wide(__m512d);
/// Sixteen 32-bit numbers.
#[derive(Clone, Copy)]
pub(super) struct Narrow(__m512);

vector!(
    Wide,
    f64,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd,
    |values| _mm512_cvtps_pd(_mm256_loadu_ps(values)),
    |sum| _mm512_reduce_add_pd(sum),
    parts: _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd,
    |mask, values| _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps(mask, values)))
);
vector!(
    Narrow,
    f32,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    |values| _mm512_loadu_ps(values),
    |sum| {
        let low = _mm512_cvtps_pd(_mm512_castps512_ps256(sum));
        let high = _mm512_castps_pd(_mm512_shuffle_f32x4::<0b00_00_11_10>(sum, sum));
        let high = _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_castpd_ps(high)));
        _mm512_reduce_add_pd(_mm512_add_pd(low, high))
    },
    parts: _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps,
    |mask, values| _mm512_maskz_loadu_ps(mask, values)
);

builds!("avx512f,avx2,fma");
