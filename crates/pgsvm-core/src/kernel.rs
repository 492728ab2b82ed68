//! The inner loops over one row, compiled once plainly and once for the processor's vector unit.
//!
//! Each loop is written over fixed arrays of lanes, from which the compiler makes vector code; [`Level::run`]
//! picks at run time the build for AVX2 with fused multiply-add where the processor has it, in which the dense loops
//! are those of [`avx2`] and some sparse ones those of [`gather`] (NEON is part of every aarch64 target), and for many
//! heads those of [`avx512`] where it has that too. Lanes are summed in a fixed order, so a level gives the same bits
//! every time.
//! Besides the dispatch, this file holds the three reinterpretations of words that rows need.

macro_rules! fuse {
    ($kernel:ty, $a:expr, $b:expr, $c:expr) => {
        if <$kernel>::FUSED {
            $a.mul_add($b, $c)
        } else {
            $a * $b + $c
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod eight;
#[cfg(target_arch = "x86_64")]
mod gather;
pub(crate) mod lanes;

use crate::zeros::Zero;
use std::ops::Range;

/// What sets the builds apart.
pub(crate) trait Kernel {
    /// A product is added with one rounding.
    const FUSED: bool;
    /// The processor is known to have AVX2 and FMA. Only [`run_avx2`] may run such a build.
    const AVX2: bool = false;
    /// Eight numbers at a time.
    type Eight: eight::Eight;
}

/// Multiply, round, add.
struct Plain;
/// One instruction, one rounding.
#[cfg(target_arch = "aarch64")]
struct Fused;
/// The same, and the loops of [`avx2`].
#[cfg(target_arch = "x86_64")]
struct Avx2;

impl Kernel for Plain {
    const FUSED: bool = false;
    type Eight = lanes::Lanes;
}
#[cfg(target_arch = "aarch64")]
impl Kernel for Fused {
    const FUSED: bool = true;
    type Eight = lanes::Lanes;
}
#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    const FUSED: bool = true;
    const AVX2: bool = true;
    type Eight = eight::avx2::Vector;
}

/// A piece of work that runs inside one build. `run` and all it calls must be `#[inline(always)]`.
pub(crate) trait Work {
    type Output;
    fn run<K: Kernel>(self) -> Self::Output;
}

/// Which build to run; only [`Level::best`] makes one that needs more than the target's baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level(Build);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The build every processor of the target can run.
    #[cfg(test)]
    pub(crate) const PLAIN: Level = Level(Build::Plain);

    /// The best build for this processor.
    pub(crate) fn best() -> Level {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Level(Build::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        return Level(Build::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Level(Build::Plain)
    }

    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Build::Plain => work.run::<Plain>(),
            // SAFETY: this variant is made only after the processor was seen to have both features.
            #[cfg(target_arch = "x86_64")]
            Build::Avx2 => unsafe { run_avx2(work) },
            #[cfg(target_arch = "aarch64")]
            Build::Neon => work.run::<Fused>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run::<Avx2>()
}

/// A step u += scale x over dense values that has yet to be taken. The next product with the same weights takes it on its
/// way: weights then go through the registers once for each row and not twice.
#[derive(Clone, Copy)]
pub(crate) struct Deferred<'a> {
    pub(crate) scale: f64,
    /// As long as the dense part of every row; empty where there is no step to take.
    pub(crate) x: &'a [f32],
}

impl Deferred<'_> {
    pub(crate) const NONE: Deferred<'static> = Deferred { scale: 0.0, x: &[] };

    #[inline(always)]
    fn is_none(&self) -> bool {
        self.x.is_empty()
    }

    #[inline(always)]
    pub(crate) fn take<K: Kernel, T: Real>(self, u: &mut [T]) {
        if !self.is_none() {
            T::add_dense::<K>(u, self.scale, self.x);
        }
    }
}

/// Words to ask for while others are gone through, a line of each at a time: the processor waits for some lines only, and
/// whoever asks for more at once waits as well.
#[derive(Clone, Copy)]
pub(crate) struct Next<'a> {
    /// Those that come next.
    pub(crate) near: &'a [u32],
    /// Those of some rows behind them, for which the second cache is near enough.
    pub(crate) far: &'a [u32],
}

impl Next<'_> {
    pub(crate) const NONE: Next<'static> = Next {
        near: &[],
        far: &[],
    };

    /// Asks for the lines at these places of both.
    #[inline(always)]
    fn ask(self, places: Range<usize>) {
        for at in places.step_by(LINE_BYTES / size_of::<u32>()) {
            prefetch(self.near.get(at..).unwrap_or_default(), 1);
            prefetch_far(self.far.get(at..).unwrap_or_default(), 1);
        }
    }

    /// Asks for all from this place on.
    #[inline(always)]
    pub(crate) fn ask_from(self, at: usize) {
        prefetch(self.near.get(at..).unwrap_or_default(), usize::MAX);
        prefetch_far(self.far.get(at..).unwrap_or_default(), usize::MAX);
    }
}

/// The precision weights are kept in.
pub(crate) trait Real: Zero + Default + Send + Sync + 'static {
    fn of(value: f64) -> Self;
    fn to(self) -> f64;
    /// sum x u
    fn dot_dense<K: Kernel>(x: &[f32], u: &[Self]) -> f64;
    /// Takes the step, then sum x u; asks for `next` meanwhile
    fn step_dot_dense<K: Kernel>(
        step: Deferred<'_>,
        x: &[f32],
        u: &mut [Self],
        next: Next<'_>,
    ) -> f64;
    /// Takes the step, then sum x u and sum x w, reading x once; asks for `next` meanwhile
    fn step_dot2_dense<K: Kernel>(
        step: Deferred<'_>,
        x: &[f32],
        u: &mut [Self],
        w: &[Self],
        next: Next<'_>,
    ) -> (f64, f64);
    /// sum d u x and sum d x^2
    fn dot_damped_dense<K: Kernel>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64);
    /// Takes the step, then the same; asks for `next` meanwhile
    fn step_dot_damped_dense<K: Kernel>(
        step: Deferred<'_>,
        x: &[f32],
        d: &[Self],
        u: &mut [Self],
        next: Next<'_>,
    ) -> (f64, f64);
    /// u += scale x
    fn add_dense<K: Kernel>(u: &mut [Self], scale: f64, x: &[f32]);
    /// sum x u over pairs of feature id and value bits
    fn dot_sparse<K: Kernel>(x: &[[u32; 2]], u: &[Self]) -> f64;
    /// sum x u and sum x w
    fn dot2_sparse<K: Kernel>(x: &[[u32; 2]], u: &[Self], w: &[Self]) -> (f64, f64);
    /// sum d u x and sum d x^2
    fn dot_damped_sparse<K: Kernel>(x: &[[u32; 2]], d: &[Self], u: &[Self]) -> (f64, f64);
    /// u += scale x
    fn add_sparse<K: Kernel>(u: &mut [Self], scale: f64, x: &[[u32; 2]]);
}

macro_rules! real {
    ($type:ty, $lanes:literal, $loops:ident $(, $sparse:ident)?) => {
        impl Real for $type {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn to(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn dot_dense<K: Kernel>(x: &[f32], u: &[Self]) -> f64 {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::dot(x, u) };
                }
                let (x_wide, x) = x.as_chunks::<$lanes>();
                let (u_wide, u) = u.as_chunks::<$lanes>();
                let mut sum = [0.0 as Self; $lanes];
                for (x, u) in x_wide.iter().zip(u_wide) {
                    for k in 0..$lanes {
                        sum[k] = fuse!(K, x[k] as Self, u[k], sum[k]);
                    }
                }
                let mut narrow = [0.0 as Self; 4];
                let (x_four, x) = x.as_chunks::<4>();
                let (u_four, u) = u.as_chunks::<4>();
                for (x, u) in x_four.iter().zip(u_four) {
                    for k in 0..4 {
                        narrow[k] = fuse!(K, x[k] as Self, u[k], narrow[k]);
                    }
                }
                let mut last = 0.0 as Self;
                for (x, u) in x.iter().zip(u) {
                    last = fuse!(K, *x as Self, *u, last);
                }
                fold(&sum) + fold(&narrow) + Self::to(last)
            }

            #[inline(always)]
            fn step_dot_dense<K: Kernel>(
                step: Deferred<'_>,
                x: &[f32],
                u: &mut [Self],
                next: Next<'_>,
            ) -> f64 {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::step_dot(step, x, u, next) };
                }
                next.ask_from(0);
                step.take::<K, Self>(u);
                Self::dot_dense::<K>(x, u)
            }

            #[inline(always)]
            fn step_dot2_dense<K: Kernel>(
                step: Deferred<'_>,
                x: &[f32],
                u: &mut [Self],
                w: &[Self],
                next: Next<'_>,
            ) -> (f64, f64) {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::step_dot2(step, x, u, w, next) };
                }
                next.ask_from(0);
                step.take::<K, Self>(u);
                const HALF: usize = $lanes / 2;
                let (x_wide, x) = x.as_chunks::<HALF>();
                let (u_wide, u) = u.as_chunks::<HALF>();
                let (w_wide, w) = w.as_chunks::<HALF>();
                let mut sum_u = [0.0 as Self; HALF];
                let mut sum_w = [0.0 as Self; HALF];
                for ((x, u), w) in x_wide.iter().zip(u_wide).zip(w_wide) {
                    for k in 0..HALF {
                        sum_u[k] = fuse!(K, x[k] as Self, u[k], sum_u[k]);
                        sum_w[k] = fuse!(K, x[k] as Self, w[k], sum_w[k]);
                    }
                }
                let (mut last_u, mut last_w) = (0.0 as Self, 0.0 as Self);
                for ((x, u), w) in x.iter().zip(u).zip(w) {
                    last_u = fuse!(K, *x as Self, *u, last_u);
                    last_w = fuse!(K, *x as Self, *w, last_w);
                }
                (
                    fold(&sum_u) + Self::to(last_u),
                    fold(&sum_w) + Self::to(last_w),
                )
            }

            #[inline(always)]
            fn dot_damped_dense<K: Kernel>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64) {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::dot_damped(x, d, u) };
                }
                const HALF: usize = $lanes / 2;
                let (x_wide, x) = x.as_chunks::<HALF>();
                let (d_wide, d) = d.as_chunks::<HALF>();
                let (u_wide, u) = u.as_chunks::<HALF>();
                let mut sum_u = [0.0 as Self; HALF];
                let mut sum_x = [0.0 as Self; HALF];
                for ((x, d), u) in x_wide.iter().zip(d_wide).zip(u_wide) {
                    for k in 0..HALF {
                        let damped = x[k] as Self * d[k];
                        sum_u[k] = fuse!(K, damped, u[k], sum_u[k]);
                        sum_x[k] = fuse!(K, damped, x[k] as Self, sum_x[k]);
                    }
                }
                let (mut last_u, mut last_x) = (0.0 as Self, 0.0 as Self);
                for ((x, d), u) in x.iter().zip(d).zip(u) {
                    let damped = *x as Self * *d;
                    last_u = fuse!(K, damped, *u, last_u);
                    last_x = fuse!(K, damped, *x as Self, last_x);
                }
                (
                    fold(&sum_u) + Self::to(last_u),
                    fold(&sum_x) + Self::to(last_x),
                )
            }

            #[inline(always)]
            fn step_dot_damped_dense<K: Kernel>(
                step: Deferred<'_>,
                x: &[f32],
                d: &[Self],
                u: &mut [Self],
                next: Next<'_>,
            ) -> (f64, f64) {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::step_dot_damped(step, x, d, u, next) };
                }
                next.ask_from(0);
                step.take::<K, Self>(u);
                Self::dot_damped_dense::<K>(x, d, u)
            }

            #[inline(always)]
            fn add_dense<K: Kernel>(u: &mut [Self], scale: f64, x: &[f32]) {
                // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return unsafe { avx2::$loops::add(u, scale as Self, x) };
                }
                let scale = scale as Self;
                for (u, x) in u.iter_mut().zip(x) {
                    *u = fuse!(K, *x as Self, scale, *u);
                }
            }

            #[inline(always)]
            fn dot_sparse<K: Kernel>(x: &[[u32; 2]], u: &[Self]) -> f64 {
                $(
                    // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                    #[cfg(target_arch = "x86_64")]
                    if K::AVX2 && x.len() >= $sparse::WIDTH {
                        return unsafe { $sparse::dot(x, u) };
                    }
                )?
                let (wide, rest) = x.as_chunks::<4>();
                let mut sum = [0.0 as Self; 4];
                for entries in wide {
                    for k in 0..4 {
                        let [index, bits] = entries[k];
                        sum[k] = fuse!(K, value::<Self>(bits), u[index as usize], sum[k]);
                    }
                }
                let mut last = 0.0 as Self;
                for &[index, bits] in rest {
                    last = fuse!(K, value::<Self>(bits), u[index as usize], last);
                }
                ((sum[0] + sum[2]) + (sum[1] + sum[3]) + last).to()
            }

            #[inline(always)]
            fn dot2_sparse<K: Kernel>(x: &[[u32; 2]], u: &[Self], w: &[Self]) -> (f64, f64) {
                $(
                    // SAFETY: such a kernel runs only on a processor that was seen to have both features.
                    #[cfg(target_arch = "x86_64")]
                    if K::AVX2 && x.len() >= $sparse::WIDTH {
                        return unsafe { $sparse::dot2(x, u, w) };
                    }
                )?
                let (wide, rest) = x.as_chunks::<2>();
                let mut sum = [[0.0 as Self; 2]; 2];
                for entries in wide {
                    for k in 0..2 {
                        let [index, bits] = entries[k];
                        let x = value::<Self>(bits);
                        sum[k][0] = fuse!(K, x, u[index as usize], sum[k][0]);
                        sum[k][1] = fuse!(K, x, w[index as usize], sum[k][1]);
                    }
                }
                for &[index, bits] in rest {
                    let x = value::<Self>(bits);
                    sum[0][0] = fuse!(K, x, u[index as usize], sum[0][0]);
                    sum[0][1] = fuse!(K, x, w[index as usize], sum[0][1]);
                }
                ((sum[0][0] + sum[1][0]).to(), (sum[0][1] + sum[1][1]).to())
            }

            #[inline(always)]
            fn dot_damped_sparse<K: Kernel>(x: &[[u32; 2]], d: &[Self], u: &[Self]) -> (f64, f64) {
                let (wide, rest) = x.as_chunks::<2>();
                let mut sum = [[0.0 as Self; 2]; 2];
                for entries in wide {
                    for k in 0..2 {
                        let [index, bits] = entries[k];
                        let x = value::<Self>(bits);
                        let damped = x * d[index as usize];
                        sum[k][0] = fuse!(K, damped, u[index as usize], sum[k][0]);
                        sum[k][1] = fuse!(K, damped, x, sum[k][1]);
                    }
                }
                for &[index, bits] in rest {
                    let x = value::<Self>(bits);
                    let damped = x * d[index as usize];
                    sum[0][0] = fuse!(K, damped, u[index as usize], sum[0][0]);
                    sum[0][1] = fuse!(K, damped, x, sum[0][1]);
                }
                ((sum[0][0] + sum[1][0]).to(), (sum[0][1] + sum[1][1]).to())
            }

            #[inline(always)]
            fn add_sparse<K: Kernel>(u: &mut [Self], scale: f64, x: &[[u32; 2]]) {
                let scale = scale as Self;
                for &[index, bits] in x {
                    let place = &mut u[index as usize];
                    *place = fuse!(K, value::<Self>(bits), scale, *place);
                }
            }
        }
    };
}

real!(f64, 16, wide);
real!(f32, 32, narrow, gather);

/// The value of an entry, from its bits.
#[inline(always)]
fn value<T: From<f32>>(bits: u32) -> T {
    T::from(f32::from_bits(bits))
}

/// Sums lanes pairwise, halving: the order is part of the result.
#[inline(always)]
fn fold<T: Real, const N: usize>(lanes: &[T; N]) -> f64 {
    let mut sums = lanes.map(T::to);
    let mut width = N;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    sums[0]
}

/// Bytes of a line of the processor's cache.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks the processor to fetch the first lines of these words.
#[inline(always)]
pub(crate) fn prefetch<W>(words: &[W], lines: usize) {
    fetch::<W, true>(words, lines);
}

/// The same into its second cache only: it waits for some tens of lines at once on their way to the first.
#[inline(always)]
pub(crate) fn prefetch_far<W>(words: &[W], lines: usize) {
    fetch::<W, false>(words, lines);
}

#[inline(always)]
fn fetch<W, const NEAR: bool>(words: &[W], lines: usize) {
    for line in words.chunks(LINE_BYTES / size_of::<W>()).take(lines) {
        fetch_line::<W, NEAR>(line.as_ptr());
    }
}

/// Asks for the weights of these sparse entries, into the processor's second cache; those of a feature lie at its
/// `place`.
#[inline(always)]
pub(crate) fn prefetch_weights<W>(
    entries: &[[u32; 2]],
    weights: &[W],
    place: impl Fn(usize) -> usize,
) {
    let fetch = |&[feature, _]: &[u32; 2]| {
        fetch_line::<W, false>(weights.as_ptr().wrapping_add(place(feature as usize)));
    };
    // rounds of a known number leave nothing to guess wrong
    let (wide, rest) = entries.as_chunks::<16>();
    for entries in wide {
        entries.iter().for_each(fetch);
    }
    rest.iter().for_each(fetch);
}

/// Asks for the line that holds this address, which may be any.
#[inline(always)]
fn fetch_line<W, const NEAR: bool>(address: *const W) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0, _MM_HINT_T1};
        // SAFETY: a prefetch reads nothing into the program and cannot fault, whatever the address.
        unsafe {
            match NEAR {
                true => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
                false => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The same bits as 32-bit floats.
#[inline(always)]
pub(crate) fn as_floats(words: &[u32]) -> &[f32] {
    // SAFETY: u32 and f32 have the same size and alignment, and every bit pattern is a value of both.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// The same memory as bytes, for the spool.
pub(crate) fn as_bytes(words: &[u32]) -> &[u8] {
    // SAFETY: bytes have no alignment and every byte of a u32 is initialized.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), std::mem::size_of_val(words)) }
}

/// The same memory as bytes to be filled from the spool.
pub(crate) fn as_bytes_mut(words: &mut [u32]) -> &mut [u8] {
    // SAFETY: as above, and every four bytes are a u32.
    unsafe {
        std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), std::mem::size_of_val(words))
    }
}

#[cfg(test)]
mod tests;
