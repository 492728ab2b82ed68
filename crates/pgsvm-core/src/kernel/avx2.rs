//! The dense loops for AVX2 with fused multiply-add, in both precisions of weights.
//!
//! The compiler makes only half-width vectors of the portable loops. Four independent sums hide the latency of the
//! addition; what is left over goes four or eight at a time, then one at a time.
//! Every function needs a processor with AVX2 and FMA, and slices of equal length.

use super::{Deferred, Next};
use std::arch::x86_64::*;

macro_rules! loops {
    ($name:ident, $type:ty, $width:literal, $vector:ty, $zero:ident, $set:ident, $load:ident, $store:ident, $fmadd:ident,
     $add:ident, $mul:ident, |$pointer:ident| $load_x:expr) => {
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

            /// The sum of all numbers of these.
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            fn total([a, b, c, d]: [$vector; 4]) -> f64 {
                sum($add($add(a, c), $add(b, d)))
            }

            /// A step to take over as many numbers as the loop's.
            #[derive(Clone, Copy)]
            struct Step {
                scale: $type,
                x: *const f32,
            }

            impl Step {
                const NONE: Step = Step {
                    scale: 0.0,
                    x: std::ptr::null(),
                };

                /// The step over n numbers, if there is one.
                fn new(step: Deferred<'_>, n: usize) -> Option<Self> {
                    debug_assert!(step.is_none() || step.x.len() >= n);
                    (!step.is_none() && step.x.len() >= n).then_some(Self {
                        scale: step.scale as $type,
                        x: step.x.as_ptr(),
                    })
                }

                /// The vector of weights at this place, after the step.
                #[inline]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn wide<const STEP: bool>(self, u: *mut $type, at: usize) -> $vector {
                    // SAFETY: the caller's place has WIDTH weights behind it, and as many values of the step.
                    unsafe {
                        let before = $load(u.add(at));
                        if !STEP {
                            return before;
                        }
                        let after = $fmadd(wide(self.x.add(at)), $set(self.scale), before);
                        $store(u.add(at), after);
                        after
                    }
                }

                /// The weight at this place, after the step.
                #[inline]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn one<const STEP: bool>(self, u: *mut $type, at: usize) -> $type {
                    // SAFETY: the caller's place is that of a weight, and of a value of the step.
                    unsafe {
                        if STEP {
                            *u.add(at) = (*self.x.add(at) as $type).mul_add(self.scale, *u.add(at));
                        }
                        *u.add(at)
                    }
                }
            }

            /// sum x u
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn dot(x: &[f32], u: &[$type]) -> f64 {
                let n = x.len().min(u.len());
                // SAFETY: both have n numbers; without a step nothing is written.
                unsafe {
                    let u = u.as_ptr().cast_mut();
                    dot_over::<false>(Step::NONE, x.as_ptr(), u, n, Next::NONE)
                }
            }

            /// Takes the step, then sum x u; asks for `next` meanwhile
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn step_dot(
                step: Deferred<'_>,
                x: &[f32],
                u: &mut [$type],
                next: Next<'_>,
            ) -> f64 {
                let n = x.len().min(u.len());
                let (x, u) = (x.as_ptr(), u.as_mut_ptr());
                // SAFETY: all have n numbers.
                unsafe {
                    match Step::new(step, n) {
                        None => dot_over::<false>(Step::NONE, x, u, n, next),
                        Some(step) => dot_over::<true>(step, x, u, n, next),
                    }
                }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn dot_over<const STEP: bool>(
                step: Step,
                x: *const f32,
                u: *mut $type,
                n: usize,
                next: Next<'_>,
            ) -> f64 {
                let mut sums = [$zero(); 4];
                let mut at = 0;
                // SAFETY: every access lies below n.
                unsafe {
                    while at + 4 * WIDTH <= n {
                        next.ask(at..at + 4 * WIDTH);
                        for (k, sum) in sums.iter_mut().enumerate() {
                            let place = at + k * WIDTH;
                            *sum = $fmadd(wide(x.add(place)), step.wide::<STEP>(u, place), *sum);
                        }
                        at += 4 * WIDTH;
                    }
                    next.ask_from(at);
                    while at + WIDTH <= n {
                        sums[0] = $fmadd(wide(x.add(at)), step.wide::<STEP>(u, at), sums[0]);
                        at += WIDTH;
                    }
                    let mut last = 0.0 as $type;
                    while at < n {
                        last = (*x.add(at) as $type).mul_add(step.one::<STEP>(u, at), last);
                        at += 1;
                    }
                    total(sums) + f64::from(last)
                }
            }

            /// Takes the step, then sum x u and sum x w; asks for `next` meanwhile
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn step_dot2(
                step: Deferred<'_>,
                x: &[f32],
                u: &mut [$type],
                w: &[$type],
                next: Next<'_>,
            ) -> (f64, f64) {
                let n = x.len().min(u.len()).min(w.len());
                let (x, u, w) = (x.as_ptr(), u.as_mut_ptr(), w.as_ptr());
                // SAFETY: all have n numbers.
                unsafe {
                    match Step::new(step, n) {
                        None => dot2_over::<false>(Step::NONE, x, u, w, n, next),
                        Some(step) => dot2_over::<true>(step, x, u, w, n, next),
                    }
                }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn dot2_over<const STEP: bool>(
                step: Step,
                x: *const f32,
                u: *mut $type,
                w: *const $type,
                n: usize,
                next: Next<'_>,
            ) -> (f64, f64) {
                let mut at_u = [$zero(); 4];
                let mut at_w = [$zero(); 4];
                let mut at = 0;
                // SAFETY: every access lies below n.
                unsafe {
                    while at + 4 * WIDTH <= n {
                        next.ask(at..at + 4 * WIDTH);
                        for k in 0..4 {
                            let place = at + k * WIDTH;
                            let value = wide(x.add(place));
                            at_u[k] = $fmadd(value, step.wide::<STEP>(u, place), at_u[k]);
                            at_w[k] = $fmadd(value, $load(w.add(place)), at_w[k]);
                        }
                        at += 4 * WIDTH;
                    }
                    next.ask_from(at);
                    while at + WIDTH <= n {
                        let value = wide(x.add(at));
                        at_u[0] = $fmadd(value, step.wide::<STEP>(u, at), at_u[0]);
                        at_w[0] = $fmadd(value, $load(w.add(at)), at_w[0]);
                        at += WIDTH;
                    }
                    let mut last = [0.0 as $type; 2];
                    while at < n {
                        let value = *x.add(at) as $type;
                        last[0] = value.mul_add(step.one::<STEP>(u, at), last[0]);
                        last[1] = value.mul_add(*w.add(at), last[1]);
                        at += 1;
                    }
                    (
                        total(at_u) + f64::from(last[0]),
                        total(at_w) + f64::from(last[1]),
                    )
                }
            }

            /// sum d u x and sum d x^2
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn dot_damped(x: &[f32], d: &[$type], u: &[$type]) -> (f64, f64) {
                let n = x.len().min(u.len()).min(d.len());
                let (step, next) = (Step::NONE, Next::NONE);
                // SAFETY: all have n numbers; without a step nothing is written.
                unsafe {
                    let u = u.as_ptr().cast_mut();
                    damped_over::<false>(step, x.as_ptr(), d.as_ptr(), u, n, next)
                }
            }

            /// Takes the step, then the same; asks for `next` meanwhile
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            pub(in crate::kernel) fn step_dot_damped(
                step: Deferred<'_>,
                x: &[f32],
                d: &[$type],
                u: &mut [$type],
                next: Next<'_>,
            ) -> (f64, f64) {
                let n = x.len().min(u.len()).min(d.len());
                let (x, d, u) = (x.as_ptr(), d.as_ptr(), u.as_mut_ptr());
                // SAFETY: all have n numbers.
                unsafe {
                    match Step::new(step, n) {
                        None => damped_over::<false>(Step::NONE, x, d, u, n, next),
                        Some(step) => damped_over::<true>(step, x, d, u, n, next),
                    }
                }
            }

            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn damped_over<const STEP: bool>(
                step: Step,
                x: *const f32,
                d: *const $type,
                u: *mut $type,
                n: usize,
                next: Next<'_>,
            ) -> (f64, f64) {
                let mut at_u = [$zero(); 4];
                let mut at_x = [$zero(); 4];
                let mut at = 0;
                // SAFETY: every access lies below n.
                unsafe {
                    while at + 4 * WIDTH <= n {
                        next.ask(at..at + 4 * WIDTH);
                        for k in 0..4 {
                            let place = at + k * WIDTH;
                            let value = wide(x.add(place));
                            let damped = $mul(value, $load(d.add(place)));
                            at_u[k] = $fmadd(damped, step.wide::<STEP>(u, place), at_u[k]);
                            at_x[k] = $fmadd(damped, value, at_x[k]);
                        }
                        at += 4 * WIDTH;
                    }
                    next.ask_from(at);
                    while at + WIDTH <= n {
                        let value = wide(x.add(at));
                        let damped = $mul(value, $load(d.add(at)));
                        at_u[0] = $fmadd(damped, step.wide::<STEP>(u, at), at_u[0]);
                        at_x[0] = $fmadd(damped, value, at_x[0]);
                        at += WIDTH;
                    }
                    let mut last = [0.0 as $type; 2];
                    while at < n {
                        let value = *x.add(at) as $type;
                        let damped = value * *d.add(at);
                        last[0] = damped.mul_add(step.one::<STEP>(u, at), last[0]);
                        last[1] = damped.mul_add(value, last[1]);
                        at += 1;
                    }
                    (
                        total(at_u) + f64::from(last[0]),
                        total(at_x) + f64::from(last[1]),
                    )
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
    _mm256_add_pd,
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
    _mm256_add_ps,
    _mm256_mul_ps,
    |x| _mm256_loadu_ps(x)
);
