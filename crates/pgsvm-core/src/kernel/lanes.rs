//! The inner loops over one row's sparse entries for many heads at once.
//!
//! A feature's weights in all heads stand side by side, so that one entry of a row meets them as whole vectors: a lane
//! a head, [`LANES`] to a block, `stride` lanes to a feature. Two sums a lane hide the latency of the addition; every
//! build adds in the same order.

use super::{Kernel, Real};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Lanes of a block.
pub(crate) const LANES: usize = 8;

pub(crate) type Lanes = [f32; LANES];

/// For M matrices, sum x m over the entries, for the N blocks of lanes that begin at lane `from`.
/// `base`: the feature whose lanes come first.
#[inline(always)]
pub(crate) fn scores<K: Kernel, const N: usize, const M: usize>(
    x: &[[u32; 2]],
    base: usize,
    matrices: [&[f32]; M],
    stride: usize,
    from: usize,
) -> [[Lanes; N]; M] {
    // SAFETY: such a kernel runs only on a processor that was seen to have both features.
    #[cfg(target_arch = "x86_64")]
    if K::AVX2 {
        return unsafe { scores_avx2(x, base, matrices, stride, from) };
    }
    let mut sums = [[[[0.0f32; LANES]; N]; M]; 2];
    for (entry, &[feature, bits]) in x.iter().enumerate() {
        let value = f32::from_bits(bits);
        let at = (feature as usize - base) * stride + from;
        for m in 0..M {
            let blocks = matrices[m][at..at + N * LANES].as_chunks::<LANES>().0;
            for n in 0..N {
                let sum = &mut sums[entry % 2][m][n];
                for k in 0..LANES {
                    sum[k] = fuse!(K, value, blocks[n][k], sum[k]);
                }
            }
        }
    }
    let [mut even, odd] = sums;
    for m in 0..M {
        for n in 0..N {
            for k in 0..LANES {
                even[m][n][k] += odd[m][n][k];
            }
        }
    }
    even
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn scores_avx2<const N: usize, const M: usize>(
    x: &[[u32; 2]],
    base: usize,
    matrices: [&[f32]; M],
    stride: usize,
    from: usize,
) -> [[Lanes; N]; M] {
    let mut sums = [[[_mm256_setzero_ps(); N]; M]; 2];
    let add = |sums: &mut [[__m256; N]; M], [feature, bits]: [u32; 2]| {
        let value = _mm256_set1_ps(f32::from_bits(bits));
        let at = (feature as usize - base) * stride + from;
        for m in 0..M {
            let lanes = &matrices[m][at..at + N * LANES];
            for n in 0..N {
                // SAFETY: the slice has N blocks.
                let block = unsafe { _mm256_loadu_ps(lanes.as_ptr().add(n * LANES)) };
                sums[m][n] = _mm256_fmadd_ps(value, block, sums[m][n]);
            }
        }
    };
    let (pairs, rest) = x.as_chunks::<2>();
    for pair in pairs {
        add(&mut sums[0], pair[0]);
        add(&mut sums[1], pair[1]);
    }
    for entry in rest {
        add(&mut sums[0], *entry);
    }
    let mut out = [[[0.0; LANES]; N]; M];
    for m in 0..M {
        for n in 0..N {
            let sum = _mm256_add_ps(sums[0][m][n], sums[1][m][n]);
            // SAFETY: a block has room for a vector.
            unsafe { _mm256_storeu_ps(out[m][n].as_mut_ptr(), sum) };
        }
    }
    out
}

/// m += scales x over the entries, for the block of lanes that begins at lane `from`.
#[inline(always)]
pub(crate) fn add<K: Kernel>(
    x: &[[u32; 2]],
    base: usize,
    matrix: &mut [f32],
    stride: usize,
    from: usize,
    scales: &Lanes,
) {
    for &[feature, bits] in x {
        let value = f32::from_bits(bits);
        let at = (feature as usize - base) * stride + from;
        let Some(block) = matrix[at..].first_chunk_mut::<LANES>() else {
            return;
        };
        for k in 0..LANES {
            block[k] = fuse!(K, value, scales[k], block[k]);
        }
    }
}

/// sum d x^2 over the entries, for the block of lanes that begins at lane `from`.
#[inline(always)]
pub(crate) fn squares<K: Kernel>(
    x: &[[u32; 2]],
    base: usize,
    d: &[f32],
    stride: usize,
    from: usize,
) -> Lanes {
    let mut sum = [0.0; LANES];
    for &[feature, bits] in x {
        let value = f32::from_bits(bits);
        let at = (feature as usize - base) * stride + from;
        if let Some(block) = d[at..].first_chunk::<LANES>() {
            for k in 0..LANES {
                sum[k] = fuse!(K, value * value, block[k], sum[k]);
            }
        }
    }
    sum
}

/// m += scales d x over the entries, for the block of lanes that begins at lane `from`.
#[inline(always)]
pub(crate) fn add_damped<K: Kernel>(
    x: &[[u32; 2]],
    base: usize,
    (matrix, d): (&mut [f32], &[f32]),
    stride: usize,
    from: usize,
    scales: &Lanes,
) {
    for &[feature, bits] in x {
        let value = f32::from_bits(bits);
        let at = (feature as usize - base) * stride + from;
        let block = matrix[at..].first_chunk_mut::<LANES>();
        if let (Some(block), Some(d)) = (block, d[at..].first_chunk::<LANES>()) {
            for k in 0..LANES {
                block[k] = fuse!(K, value * d[k], scales[k], block[k]);
            }
        }
    }
}

/// sum x u for each of four u of the same length, reading x once.
#[inline(always)]
pub(crate) fn four_dots<K: Kernel>(x: &[f32], u: [&[f32]; 4]) -> [f32; 4] {
    // SAFETY: such a kernel runs only on a processor that was seen to have both features.
    #[cfg(target_arch = "x86_64")]
    if K::AVX2 {
        return unsafe { four_dots_avx2(x, u) };
    }
    u.map(|u| f32::dot_dense::<K>(x, u) as f32)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn four_dots_avx2(x: &[f32], u: [&[f32]; 4]) -> [f32; 4] {
    let n = u.iter().map(|u| u.len()).fold(x.len(), usize::min);
    let mut sums = [[_mm256_setzero_ps(); 4]; 2];
    let mut at = 0;
    // SAFETY: every access lies below n, the length of the shortest slice.
    unsafe {
        while at + 2 * LANES <= n {
            for half in 0..2 {
                let place = at + half * LANES;
                let value = _mm256_loadu_ps(x.as_ptr().add(place));
                for k in 0..4 {
                    let other = _mm256_loadu_ps(u[k].as_ptr().add(place));
                    sums[half][k] = _mm256_fmadd_ps(value, other, sums[half][k]);
                }
            }
            at += 2 * LANES;
        }
    }
    let [a, b, c, d]: [__m256; 4] = std::array::from_fn(|k| _mm256_add_ps(sums[0][k], sums[1][k]));
    // eight lanes of each of the four become two, then one
    let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    let total = _mm_add_ps(
        _mm256_castps256_ps128(pairs),
        _mm256_extractf128_ps::<1>(pairs),
    );
    let mut out = [0.0; 4];
    // SAFETY: the array has room for a vector.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), total) };
    for (out, u) in out.iter_mut().zip(u) {
        for j in at..n {
            *out = x[j].mul_add(u[j], *out);
        }
    }
    out
}
