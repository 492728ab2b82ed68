//! The vectors of AVX2 with fused multiply-add, in both precisions of weights.
//!
//! They are written by hand because the compiler turns the portable loops into vectors of half the width.

use super::dense::{builds, vector, Vector};
use std::arch::x86_64::*;

/// Four 64-bit numbers.
#[derive(Clone, Copy)]
pub(super) struct Wide(__m256d);
/// Eight 32-bit numbers.
#[derive(Clone, Copy)]
pub(super) struct Narrow(__m256);

vector!(
    Wide,
    f64,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd,
    |values| _mm256_cvtps_pd(_mm_loadu_ps(values)),
    |sum| total(sum)
);
vector!(
    Narrow,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    |values| _mm256_loadu_ps(values),
    |sum| {
        let low = _mm256_cvtps_pd(_mm256_castps256_ps128(sum));
        let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(sum));
        total(_mm256_add_pd(low, high))
    }
);

/// The sum of four numbers: halves, then quarters.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn total(sum: __m256d) -> f64 {
    // SAFETY: as the caller promises.
    unsafe {
        let two = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd::<1>(sum));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

builds!("avx2,fma");
