//! The inner loops over one row for many heads at once.
//!
//! Dense parts meet the weights of one head after the other, four heads at a time. Of a sparse feature the weights in all
//! heads stand side by side, so that one entry of a row meets them as whole vectors: a lane a head, [`LANES`] to a block,
//! `stride` lanes to a feature. Two sums a lane hide the latency of the addition; every build adds those in the same order.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::lanes::{Lanes, LANES};
use super::level::Isa;
use super::real::Real;
use super::request::Next;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Sparse entries whose features are known to lie in `base..base + features`.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    x: &'a [[u32; 2]],
    base: u32,
    features: usize,
}

/// Numbers for all heads: `stride` for each feature from the first on, `from` there being the first lane to look at.
#[derive(Clone, Copy)]
pub struct LanePlace {
    pub stride: usize,
    pub from: usize,
}

impl<'a> Entries<'a> {
    /// `base`: the feature whose lanes come first; panics where a feature lies outside.
    #[inline(always)]
    pub fn new(x: &'a [[u32; 2]], base: usize, features: usize) -> Self {
        let base = base as u32;
        // below the base wraps around
        let most = x
            .iter()
            .fold(0, |most, e| e[0].wrapping_sub(base).max(most));
        assert!(x.is_empty() || (most as usize) < features);
        Self { x, base, features }
    }

    /// Panics unless `matrix` holds `width` lanes from `place.from` for every feature.
    #[inline(always)]
    fn check(&self, matrix: &[f32], place: LanePlace, width: usize) {
        assert!(place.from + width <= place.stride && self.features * place.stride <= matrix.len());
    }

    /// Each entry's value and where its feature's lanes begin.
    #[inline(always)]
    fn values(self, place: LanePlace) -> impl Iterator<Item = (usize, f32)> + 'a {
        self.x.iter().map(move |&[feature, bits]| {
            let feature = feature.wrapping_sub(self.base) as usize;
            (feature * place.stride + place.from, f32::from_bits(bits))
        })
    }

    /// For M matrices, sum x m over the entries, for N blocks of lanes.
    #[inline(always)]
    pub fn scores<K: Isa, const N: usize, const M: usize>(
        self,
        matrices: [&[f32]; M],
        place: LanePlace,
    ) -> [[Lanes; N]; M] {
        for matrix in matrices {
            self.check(matrix, place, N * LANES);
        }
        // SAFETY: such a build runs only on a processor that was seen to have both features; the matrices were checked.
        #[cfg(target_arch = "x86_64")]
        if K::AVX2 {
            return unsafe { self.scores_avx2(matrices, place) };
        }
        let mut sums = [[[[0.0f32; LANES]; N]; M]; 2];
        for (entry, (at, value)) in self.values(place).enumerate() {
            for m in 0..M {
                let blocks = matrices[m][at..at + N * LANES].as_chunks::<LANES>().0;
                for (sum, block) in sums[entry % 2][m].iter_mut().zip(blocks) {
                    for k in 0..LANES {
                        sum[k] = fuse!(K, value, block[k], sum[k]);
                    }
                }
            }
        }
        let [mut even, odd] = sums;
        for (even, odd) in even.as_flattened_mut().iter_mut().zip(odd.as_flattened()) {
            for k in 0..LANES {
                even[k] += odd[k];
            }
        }
        even
    }

    /// # Safety
    /// The matrices hold N blocks at `place` for every feature.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn scores_avx2<const N: usize, const M: usize>(
        self,
        matrices: [&[f32]; M],
        place: LanePlace,
    ) -> [[Lanes; N]; M] {
        let mut sums = [[[_mm256_setzero_ps(); N]; M]; 2];
        let add = |sums: &mut [[__m256; N]; M], [feature, bits]: [u32; 2]| {
            let value = _mm256_set1_ps(f32::from_bits(bits));
            let feature = feature.wrapping_sub(self.base) as usize;
            let at = feature * place.stride + place.from;
            for (sums, matrix) in sums.iter_mut().zip(matrices) {
                for (n, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: the feature was checked, and the matrix holds its N blocks.
                    let block = unsafe { _mm256_loadu_ps(matrix.as_ptr().add(at + n * LANES)) };
                    *sum = _mm256_fmadd_ps(value, block, *sum);
                }
            }
        };
        let (pairs, rest) = self.x.as_chunks::<2>();
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

    /// sum d x^2 over the entries, for a block of lanes.
    #[inline(always)]
    pub fn squares<K: Isa>(self, d: &[f32], place: LanePlace) -> Lanes {
        self.check(d, place, LANES);
        let mut sum = [0.0; LANES];
        for (at, value) in self.values(place) {
            // SAFETY: the feature was checked, and d holds its block.
            let block = unsafe { block(d, at) };
            for k in 0..LANES {
                sum[k] = fuse!(K, value * value, block[k], sum[k]);
            }
        }
        sum
    }

    /// m += scales x over the entries, for a block of lanes.
    #[inline(always)]
    pub fn add<K: Isa>(self, m: &mut [f32], place: LanePlace, scales: &Lanes) {
        self.check(m, place, LANES);
        for (at, value) in self.values(place) {
            // SAFETY: the feature was checked, and m holds its block.
            let block = unsafe { block_mut(m, at) };
            for k in 0..LANES {
                block[k] = fuse!(K, value, scales[k], block[k]);
            }
        }
    }

    /// m += scales d x over the entries, for a block of lanes.
    #[inline(always)]
    pub fn add_damped<K: Isa>(
        self,
        (m, d): (&mut [f32], &[f32]),
        place: LanePlace,
        scales: &Lanes,
    ) {
        self.check(m, place, LANES);
        self.check(d, place, LANES);
        for (at, value) in self.values(place) {
            // SAFETY: the feature was checked, and both hold its block.
            let (m, d) = unsafe { (block_mut(m, at), block(d, at)) };
            for k in 0..LANES {
                m[k] = fuse!(K, value * d[k], scales[k], m[k]);
            }
        }
    }
}

/// # Safety
/// `matrix` has a block at `at`.
#[inline(always)]
unsafe fn block(matrix: &[f32], at: usize) -> &Lanes {
    // SAFETY: as the caller promises; a block has the alignment of its numbers.
    unsafe { &*matrix.as_ptr().add(at).cast() }
}

/// # Safety
/// As for [`block`].
#[inline(always)]
unsafe fn block_mut(matrix: &mut [f32], at: usize) -> &mut Lanes {
    // SAFETY: as above, and the matrix is borrowed for as long as the block.
    unsafe { &mut *matrix.as_mut_ptr().add(at).cast() }
}

/// Products of the same x that are taken at once.
pub const AT_ONCE: usize = 4;

/// sum x u for each of up to [`AT_ONCE`] u of the same length, reading x once; 0 behind them. Asks for `next` meanwhile.
#[inline(always)]
pub fn dots<K: Isa>(x: &[f32], u: &[&[f32]], next: Next<'_>) -> [f32; AT_ONCE] {
    let mut out = [0.0; AT_ONCE];
    // SAFETY: such a build runs only on a processor that was seen to have both features; the wider ones are looked for.
    #[cfg(target_arch = "x86_64")]
    if K::AVX2 {
        let wide = avx512::suits(x.len());
        if !wide {
            next.ask_from(0);
        }
        unsafe {
            match *u {
                [a] if wide => out = widened(avx512::dots::<1, 4>(x, [a], next)),
                [a, b] if wide => out = widened(avx512::dots::<2, 4>(x, [a, b], next)),
                [a, b, c] if wide => out = widened(avx512::dots::<3, 2>(x, [a, b, c], next)),
                [a, b, c, d] if wide => out = avx512::dots::<4, 2>(x, [a, b, c, d], next),
                [a, b, c, d] => out = four_dots_avx2(x, [a, b, c, d]),
                _ => each_dot::<K>(x, u, &mut out),
            }
        }
        return out;
    }
    next.ask_from(0);
    each_dot::<K>(x, u, &mut out);
    out
}

/// Rows that [`tile`] takes at once.
pub const TILE: usize = 4;
/// Weights that it takes at most: the sums of four rows for six heads fill the registers.
pub const TILE_HEADS: usize = 6;

/// Whether [`tile`] is faster than row by row for rows of this length: where vectors are wide enough that weights come
/// too slowly from the processor's caches.
#[inline(always)]
pub fn tiles(length: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let suits = avx512::suits(length);
    #[cfg(not(target_arch = "x86_64"))]
    let suits = false;
    suits
}

/// <x, u> for each x and each of up to [`TILE_HEADS`] u of the same length, reading each once; 0 behind them. Asks for `next`
/// meanwhile.
#[inline(always)]
pub fn tile<K: Isa>(
    x: [&[f32]; TILE],
    u: &[&[f32]],
    next: &[Next<'_>],
) -> [[f32; TILE_HEADS]; TILE] {
    #[cfg(target_arch = "x86_64")]
    if K::AVX2 && x.iter().all(|x| avx512::suits(x.len())) {
        // SAFETY: the features have been looked for.
        return unsafe {
            match *u {
                [a] => avx512::tile(x, [a], next).map(widened),
                [a, b] => avx512::tile(x, [a, b], next).map(widened),
                [a, b, c] => avx512::tile(x, [a, b, c], next).map(widened),
                [a, b, c, d] => avx512::tile(x, [a, b, c, d], next).map(widened),
                [a, b, c, d, e] => avx512::tile(x, [a, b, c, d, e], next).map(widened),
                [a, b, c, d, e, f] => avx512::tile(x, [a, b, c, d, e, f], next),
                _ => [[0.0; TILE_HEADS]; TILE],
            }
        };
    }
    let mut products = [[0.0; TILE_HEADS]; TILE];
    for (x, products) in x.into_iter().zip(&mut products) {
        each_dot::<K>(x, u, products);
    }
    products
}

/// The same numbers, 0 behind them.
fn widened<const N: usize, const M: usize>(numbers: [f32; N]) -> [f32; M] {
    std::array::from_fn(|n| numbers.get(n).copied().unwrap_or(0.0))
}

#[inline(always)]
fn each_dot<K: Isa>(x: &[f32], u: &[&[f32]], out: &mut [f32]) {
    for (out, u) in out.iter_mut().zip(u) {
        *out = f32::dot_dense::<K>(x, u) as f32;
    }
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
            for (half, sums) in sums.iter_mut().enumerate() {
                let place = at + half * LANES;
                let value = _mm256_loadu_ps(x.as_ptr().add(place));
                for (sum, u) in sums.iter_mut().zip(u) {
                    let other = _mm256_loadu_ps(u.as_ptr().add(place));
                    *sum = _mm256_fmadd_ps(value, other, *sum);
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
