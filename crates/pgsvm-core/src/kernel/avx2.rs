//! The dense loops for AVX2 with fused multiply-add, in both precisions of weights.
//!
//! The compiler makes only half-width vectors of the portable loops. Four independent sums hide the latency of the
//! addition; what is left over goes four or eight at a time, then one at a time.
//! Every function needs a processor with AVX2 and FMA, and slices of equal length.

use super::LINE_BYTES;
use std::arch::x86_64::*;

macro_rules! loops {
    ($name:ident, $type:ty, $width:literal, $vector:ty, $zero:ident, $set:ident, $load:ident, $store:ident, $fmadd:ident,
     $mul:ident, |$pointer:ident| $load_x:expr) => {
        pub(in crate::kernel) mod $name {
            use super::*;

            const WIDTH: usize = $width;

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            fn wide($pointer: *const f32) -> $vector {
                // SAFETY: the caller's pointer has WIDTH values behind it.
                unsafe { $load_x }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            fn sum(vector: $vector) -> f64 {
                let mut lanes = [0.0 as $type; WIDTH];
                // SAFETY: the array has room for one vector.
                unsafe { $store(lanes.as_mut_ptr(), vector) };
                let mut sums = lanes.map(f64::from);
                let mut width = WIDTH;
                while width > 1 {
                    width /= 2;
                    for k in 0..width {
                        sums[k] += sums[k + width];
                    }
                }
                sums[0]
            }

            /// Asks for the words of `next` that lie where a loop of four vectors is at.
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            fn ask(next: &[u32], at: usize) {
                for line in (at..at + 4 * WIDTH).step_by(LINE_BYTES / size_of::<u32>()) {
                    if line < next.len() {
                        // SAFETY: the address is that of a word of the slice.
                        unsafe { _mm_prefetch::<_MM_HINT_T0>(next.as_ptr().add(line).cast()) };
                    }
                }
            }

            /// sum x u; asks for `next` meanwhile
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn dot(x: &[f32], u: &[$type], next: &[u32]) -> f64 {
                let n = x.len().min(u.len());
                let (x, u) = (x.as_ptr(), u.as_ptr());
                let mut sums = [$zero(); 4];
                let mut at = 0;
                // SAFETY: every access lies below n, the length of the shorter slice.
                unsafe {
                    while at + 4 * WIDTH <= n {
                        ask(next, at);
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let place = at + k * WIDTH;
                            *sum = $fmadd(wide(x.add(place)), $load(u.add(place)), *sum);
                        }
                        at += 4 * WIDTH;
                    }
                    while at + WIDTH <= n {
                        sums[0] = $fmadd(wide(x.add(at)), $load(u.add(at)), sums[0]);
                        at += WIDTH;
                    }
                    let mut last = 0.0 as $type;
                    while at < n {
                        last = (*x.add(at) as $type).mul_add(*u.add(at), last);
                        at += 1;
                    }
                    (sum(sums[0]) + sum(sums[2])) + (sum(sums[1]) + sum(sums[3])) + f64::from(last)
                }
            }

            /// sum x u and sum x w; asks for `next` meanwhile
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn dot2(
                x: &[f32],
                u: &[$type],
                w: &[$type],
                next: &[u32],
            ) -> (f64, f64) {
                let n = x.len().min(u.len()).min(w.len());
                let (x, u, w) = (x.as_ptr(), u.as_ptr(), w.as_ptr());
                let mut sums = [[$zero(); 2]; 4];
                let mut at = 0;
                // SAFETY: every access lies below n, the length of the shortest slice.
                unsafe {
                    while at + 4 * WIDTH <= n {
                        ask(next, at);
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let place = at + k * WIDTH;
                            let value = wide(x.add(place));
                            sum[0] = $fmadd(value, $load(u.add(place)), sum[0]);
                            sum[1] = $fmadd(value, $load(w.add(place)), sum[1]);
                        }
                        at += 4 * WIDTH;
                    }
                    while at + WIDTH <= n {
                        let value = wide(x.add(at));
                        sums[0][0] = $fmadd(value, $load(u.add(at)), sums[0][0]);
                        sums[0][1] = $fmadd(value, $load(w.add(at)), sums[0][1]);
                        at += WIDTH;
                    }
                    let mut last = [0.0 as $type; 2];
                    while at < n {
                        let value = *x.add(at) as $type;
                        last[0] = value.mul_add(*u.add(at), last[0]);
                        last[1] = value.mul_add(*w.add(at), last[1]);
                        at += 1;
                    }
                    let total = |k: usize| {
                        (sum(sums[0][k]) + sum(sums[2][k]))
                            + (sum(sums[1][k]) + sum(sums[3][k]))
                            + f64::from(last[k])
                    };
                    (total(0), total(1))
                }
            }

            /// sum d u x and sum d x^2
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn dot_damped(x: &[f32], d: &[$type], u: &[$type]) -> (f64, f64) {
                let n = x.len().min(u.len()).min(d.len());
                let (x, d, u) = (x.as_ptr(), d.as_ptr(), u.as_ptr());
                let mut sums = [[$zero(); 2]; 2];
                let mut at = 0;
                // SAFETY: every access lies below n, the length of the shortest slice.
                unsafe {
                    while at + 2 * WIDTH <= n {
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let place = at + k * WIDTH;
                            let value = wide(x.add(place));
                            let damped = $mul(value, $load(d.add(place)));
                            sum[0] = $fmadd(damped, $load(u.add(place)), sum[0]);
                            sum[1] = $fmadd(damped, value, sum[1]);
                        }
                        at += 2 * WIDTH;
                    }
                    let mut last = [0.0 as $type; 2];
                    while at < n {
                        let value = *x.add(at) as $type;
                        let damped = value * *d.add(at);
                        last[0] = damped.mul_add(*u.add(at), last[0]);
                        last[1] = damped.mul_add(value, last[1]);
                        at += 1;
                    }
                    let total = |k: usize| sum(sums[0][k]) + sum(sums[1][k]) + f64::from(last[k]);
                    (total(0), total(1))
                }
            }

            /// u += scale x
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn add(u: &mut [$type], scale: $type, x: &[f32]) {
                let n = x.len().min(u.len());
                let (x, u) = (x.as_ptr(), u.as_mut_ptr());
                let scales = $set(scale);
                let mut at = 0;
                // SAFETY: every access lies below n, the length of the shorter slice.
                unsafe {
                    while at + 2 * WIDTH <= n {
                        let first = $fmadd(wide(x.add(at)), scales, $load(u.add(at)));
                        let second =
                            $fmadd(wide(x.add(at + WIDTH)), scales, $load(u.add(at + WIDTH)));
                        $store(u.add(at), first);
                        $store(u.add(at + WIDTH), second);
                        at += 2 * WIDTH;
                    }
                    while at < n {
                        *u.add(at) = (*x.add(at) as $type).mul_add(scale, *u.add(at));
                        at += 1;
                    }
                }
            }
        }
    };
}

loops!(
    wide,
    f64,
    4,
    __m256d,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    _mm256_mul_pd,
    |x| _mm256_cvtps_pd(_mm_loadu_ps(x))
);
loops!(
    narrow,
    f32,
    8,
    __m256,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_mul_ps,
    |x| _mm256_loadu_ps(x)
);
