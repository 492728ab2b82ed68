//! Products of two panels of columns, the inner loop of matrix products and factorizations.
//!
//! A panel holds [`PANEL`] numbers of each of many rows (or columns). Its product with another is a square of sums, of which a
//! part that fits the registers is summed at a time.

use super::level::Isa;

/// Numbers of a row in a panel: three vectors of eight.
pub const PANEL: usize = 24;

/// `sums[m][n] += scale sum a[k][m] b[k][n]`, over the shorter of both panels.
#[inline(always)]
pub fn add<K: Isa>(sums: &mut [[f64; PANEL]], scale: f64, a: &[[f64; PANEL]], b: &[[f64; PANEL]]) {
    #[cfg(target_arch = "x86_64")]
    if K::AVX2 {
        // SAFETY: such a build runs only on a processor that was seen to have AVX2 and FMA; the wider vectors are looked for.
        unsafe {
            match wide() {
                true => add_avx512(sums, scale, a, b),
                false => add_avx2(sums, scale, a, b),
            }
        }
        return;
    }
    add_part::<K>(sums, scale, a, b);
}

/// Whether this processor has vectors of eight.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn wide() -> bool {
    #[cfg(any(test, feature = "forced"))]
    if super::forced::FORCED.get() == Some(super::forced::Forced::Narrow) {
        return false;
    }
    std::arch::is_x86_feature_detected!("avx512f")
}

/// By what the compiler makes of plain loops.
#[inline(always)]
fn add_part<K: Isa>(sums: &mut [[f64; PANEL]], scale: f64, a: &[[f64; PANEL]], b: &[[f64; PANEL]]) {
    const SIDE: usize = 4;
    for (part, sums) in sums.chunks_exact_mut(SIDE).enumerate() {
        for n in (0..PANEL).step_by(SIDE) {
            let mut own = [[0.0; SIDE]; SIDE];
            for (a, b) in a.iter().zip(b) {
                for (own, a) in own.iter_mut().zip(&a[SIDE * part..]) {
                    for (own, b) in own.iter_mut().zip(&b[n..]) {
                        *own = fuse!(K, *a, *b, *own);
                    }
                }
            }
            for (sums, own) in sums.iter_mut().zip(&own) {
                for (sum, own) in sums[n..].iter_mut().zip(own) {
                    *sum = fuse!(K, scale, *own, *sum);
                }
            }
        }
    }
}

/// By vectors: `rows` of a's numbers by `vectors` of b's at a time.
#[cfg(target_arch = "x86_64")]
macro_rules! by_vectors {
    ($name:ident, $features:literal, $rows:literal, $vectors:literal, $width:literal,
     $zero:ident, $set:ident, $load:ident, $store:ident, $fmadd:ident) => {
        #[target_feature(enable = $features)]
        fn $name(sums: &mut [[f64; PANEL]], scale: f64, a: &[[f64; PANEL]], b: &[[f64; PANEL]]) {
            use std::arch::x86_64::*;
            for (part, sums) in sums.chunks_exact_mut($rows).enumerate() {
                for n in (0..PANEL).step_by($vectors * $width) {
                    let mut own = [[$zero(); $vectors]; $rows];
                    for (a, b) in a.iter().zip(b) {
                        // SAFETY: n and the vectors behind it are within the panel.
                        let b: [_; $vectors] = std::array::from_fn(|vector| unsafe {
                            $load(b.as_ptr().add(n + vector * $width))
                        });
                        for (own, a) in own.iter_mut().zip(&a.as_chunks::<$rows>().0[part]) {
                            let a = $set(*a);
                            for (own, b) in own.iter_mut().zip(b) {
                                *own = $fmadd(a, b, *own);
                            }
                        }
                    }
                    let scale = $set(scale);
                    for (sums, own) in sums.iter_mut().zip(own) {
                        for (vector, own) in own.into_iter().enumerate() {
                            // SAFETY: as above.
                            unsafe {
                                let place = sums.as_mut_ptr().add(n + vector * $width);
                                $store(place, $fmadd(scale, own, $load(place)));
                            }
                        }
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
by_vectors!(
    add_avx512,
    "avx512f,fma",
    8,
    3,
    8,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd
);
#[cfg(target_arch = "x86_64")]
by_vectors!(
    add_avx2,
    "avx2,fma",
    4,
    3,
    4,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd
);
