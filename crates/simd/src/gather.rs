//! Inner products of sparse rows with 32-bit weights, for AVX2 with fused multiply-add: one instruction gathers the
//! weights of eight entries.
//!
//! An entry is a pair of feature number and value, so two loads and two shuffles part eight numbers from eight values.
//! For 64-bit weights, four at a time, and for rows of a dozen entries this is no faster than one entry after another;
//! nor is writing weights back so. Every function needs a processor with AVX2 and FMA.

use std::arch::x86_64::*;

/// Entries taken at a time.
pub(super) const WIDTH: usize = 8;

/// sum x u
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(x: &[[u32; 2]], u: &[f32]) -> f64 {
    let (wide, rest) = x.as_chunks::<WIDTH>();
    // two sums, so that one addition does not wait for the other
    let mut sums = [_mm256_setzero_ps(); 2];
    for (k, entries) in wide.iter().enumerate() {
        let (numbers, values) = part(entries);
        let sum = &mut sums[k % 2];
        *sum = _mm256_fmadd_ps(values, weights(u, numbers), *sum);
    }
    let mut last = 0.0;
    for &[number, bits] in rest {
        last = f32::from_bits(bits).mul_add(u[number as usize], last);
    }
    total(_mm256_add_ps(sums[0], sums[1]), last)
}

/// sum x u and sum x w
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot2(x: &[[u32; 2]], u: &[f32], w: &[f32]) -> (f64, f64) {
    let (wide, rest) = x.as_chunks::<WIDTH>();
    let mut sums = [_mm256_setzero_ps(); 2];
    for entries in wide {
        let (numbers, values) = part(entries);
        sums[0] = _mm256_fmadd_ps(values, weights(u, numbers), sums[0]);
        sums[1] = _mm256_fmadd_ps(values, weights(w, numbers), sums[1]);
    }
    let mut last = [0.0; 2];
    for &[number, bits] in rest {
        let value = f32::from_bits(bits);
        last[0] = value.mul_add(u[number as usize], last[0]);
        last[1] = value.mul_add(w[number as usize], last[1]);
    }
    (total(sums[0], last[0]), total(sums[1], last[1]))
}

/// The numbers and the values of entries, both in the same order.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn part(entries: &[[u32; 2]; WIDTH]) -> (__m256i, __m256) {
    let first = entries.as_ptr().cast::<f32>();
    // SAFETY: WIDTH entries are two vectors of eight words, and any word is a float that is only moved.
    let (low, high) = unsafe { (_mm256_loadu_ps(first), _mm256_loadu_ps(first.add(WIDTH))) };
    (
        _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high)),
        _mm256_shuffle_ps::<0b11_01_11_01>(low, high),
    )
}

/// The weights of these features.
///
/// # Panics
/// If there are not as many weights as a number says.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn weights(weights: &[f32], numbers: __m256i) -> __m256 {
    // numbers reach 2^31 - 1, since a gather takes them for signed
    let length = weights.len().min(i32::MAX as usize) as i32;
    let least = _mm256_cmpgt_epi32(_mm256_setzero_si256(), numbers);
    let inside = _mm256_andnot_si256(
        least,
        _mm256_cmpgt_epi32(_mm256_set1_epi32(length), numbers),
    );
    assert!(_mm256_movemask_epi8(inside) == -1, "no such feature");
    // SAFETY: every number was seen to be at least 0 and below the length.
    unsafe { _mm256_i32gather_ps::<4>(weights.as_ptr(), numbers) }
}

/// The sum of the lanes, in a fixed order, and of what was left over.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn total(sum: __m256, last: f32) -> f64 {
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    let one = _mm_add_ss(two, _mm_movehdup_ps(two));
    f64::from(_mm_cvtss_f32(one)) + f64::from(last)
}
