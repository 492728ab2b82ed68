//! The inner loops over one row, compiled once plainly and once for the processor's vector unit.
//!
//! Each loop is written over fixed arrays of lanes, from which the compiler makes vector code; [`Level::run`]
//! picks at run time the build for AVX2 with fused multiply-add where the processor has it, in which dense rows are gone
//! through by the loops of [`dense`] (with the vectors of [`avx2`], or where rows are long and the processor has them of
//! [`avx512`]) and some sparse ones by those of [`gather`]. NEON is part of every aarch64 target. Lanes are summed in a fixed
//! order, so a level gives the same bits every time.
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
#[cfg(target_arch = "x86_64")]
mod dense;
pub(crate) mod eight;
#[cfg(target_arch = "x86_64")]
mod gather;
pub(crate) mod lanes;

use crate::base::zeros::Zero;

/// What sets the builds apart.
pub(crate) trait Kernel {
    /// A product is added with one rounding.
    const FUSED: bool;
    /// The processor is known to have AVX2 and FMA. Only [`run_avx2`] may run such a build.
    const AVX2: bool = false;
    /// Two dense rows are gone through faster together than one after the other.
    const TWO_ROWS: bool = false;
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
    const TWO_ROWS: bool = true;
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

/// A step u += scale x over dense values.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) scale: f64,
    pub(crate) x: &'a [f32],
}

/// Up to two steps that have yet to be taken, each over as many values as the dense part of a row has. The next products
/// with the same weights take them on their way: weights then go through the registers once for each visit and not
/// twice.
#[derive(Clone, Copy)]
pub(crate) struct Deferred<'a> {
    steps: [Step<'a>; 2],
    count: usize,
}

impl<'a> Deferred<'a> {
    pub(crate) const NONE: Deferred<'static> = Deferred {
        steps: [Step { scale: 0.0, x: &[] }; 2],
        count: 0,
    };

    /// One step more, unless it is over nothing; panics where there are two.
    #[inline(always)]
    pub(crate) fn push(&mut self, step: Step<'a>) {
        if !step.x.is_empty() {
            self.steps[self.count] = step;
            self.count += 1;
        }
    }

    /// They have been taken.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    #[inline(always)]
    fn all(&self) -> &[Step<'a>] {
        &self.steps[..self.count.min(2)]
    }

    #[inline(always)]
    pub(crate) fn take<K: Kernel, T: Real>(self, u: &mut [T]) {
        for step in self.all() {
            T::add_dense::<K>(u, step.scale, step.x);
        }
    }
}

/// What the products of dense rows are taken with, besides the weights u.
#[derive(Clone, Copy)]
pub(crate) enum Beside<'a, T> {
    Nothing,
    /// Other weights w.
    Weights(&'a [T]),
    /// A factor for each column, d.
    Damping(&'a [T]),
}

/// What is made of one dense row x, or of two, x and z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Products<const ROWS: usize> {
    /// Of each row sum x u and, with w beside, sum x w; with d beside sum d x u and sum d x^2.
    pub(crate) each: [[f64; 2]; ROWS],
    /// Of two rows sum x z; with d beside sum d x z.
    pub(crate) cross: f64,
}

impl<const ROWS: usize> Products<ROWS> {
    pub(crate) const ZERO: Self = Self {
        each: [[0.0; 2]; ROWS],
        cross: 0.0,
    };
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

    /// Where to ask for the lines of both while these numbers are gone through, and how many words there are. Where there is
    /// nothing to ask for that is these numbers, which have come: so a loop asks at every place, whatever there is.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn lines(self, meanwhile: &[f32]) -> (Lines, usize) {
        let start = |words: &[u32]| match words.is_empty() {
            true => meanwhile.as_ptr().cast(),
            false => words.as_ptr(),
        };
        let lines = Lines {
            near: start(self.near),
            far: start(self.far),
        };
        (lines, self.near.len().max(self.far.len()))
    }

    /// Asks for all from this place on.
    #[inline(always)]
    pub(crate) fn ask_from(self, at: usize) {
        prefetch(self.near.get(at..).unwrap_or_default(), usize::MAX);
        prefetch_far(self.far.get(at..).unwrap_or_default(), usize::MAX);
    }
}

/// Where the words of [`Next`] begin.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Lines {
    near: *const u32,
    far: *const u32,
}

#[cfg(target_arch = "x86_64")]
impl Lines {
    /// Asks for the lines at this place, which may be any.
    #[inline(always)]
    fn ask(self, at: usize) {
        fetch_line::<u32, true>(self.near.wrapping_add(at));
        fetch_line::<u32, false>(self.far.wrapping_add(at));
    }
}

/// The [`Lines`] of several rows.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Asked<const ROWS: usize> {
    lines: [Lines; ROWS],
    /// Words of the longest.
    words: usize,
}

#[cfg(target_arch = "x86_64")]
impl<const ROWS: usize> Asked<ROWS> {
    #[inline(always)]
    fn new(next: [Next<'_>; ROWS], meanwhile: [&[f32]; ROWS]) -> Self {
        let (first, mut words) = next[0].lines(meanwhile[0]);
        let mut lines = [first; ROWS];
        for row in 1..ROWS {
            let (own, length) = next[row].lines(meanwhile[row]);
            lines[row] = own;
            words = words.max(length);
        }
        Self { lines, words }
    }

    /// Asks for the lines at this place; behind the last one for that again, which costs less than to look.
    #[inline(always)]
    fn ask(&self, at: usize) {
        let at = at.min(self.words.saturating_sub(1));
        for lines in &self.lines {
            lines.ask(at);
        }
    }

    /// Asks for all lines from this place on.
    #[inline(always)]
    fn rest(&self, mut at: usize) {
        while at < self.words {
            for lines in &self.lines {
                lines.ask(at);
            }
            at += LINE_BYTES / size_of::<u32>();
        }
    }
}

/// The precision weights are kept in.
pub(crate) trait Real: Zero + Default + Send + Sync + 'static {
    fn of(value: f64) -> Self;
    fn to(self) -> f64;
    /// sum x u
    fn dot_dense<K: Kernel>(x: &[f32], u: &[Self]) -> f64;
    /// sum d u x and sum d x^2
    fn dot_damped_dense<K: Kernel>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64);
    /// Takes the steps, then the products of one row or two; asks for each `next` meanwhile
    fn products_dense<K: Kernel, const ROWS: usize>(
        steps: &Deferred<'_>,
        x: [&[f32]; ROWS],
        u: &mut [Self],
        beside: Beside<'_, Self>,
        next: [Next<'_>; ROWS],
    ) -> Products<ROWS>;
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

/// A loop of [`dense`] over so many numbers by the widest vectors that suit, in a build for AVX2.
#[cfg(target_arch = "x86_64")]
macro_rules! widest {
    ($length:expr, $loop:ident::<$vector:ident $(, $rows:ident)?>($($argument:expr),*)) => {
        // SAFETY: such a kernel runs only on a processor that was seen to have AVX2 and FMA; the wider vectors are looked
        // for.
        unsafe {
            match avx512::suits($length) {
                true => avx512::$loop::<avx512::$vector $(, $rows)?>($($argument),*),
                false => avx2::$loop::<avx2::$vector $(, $rows)?>($($argument),*),
            }
        }
    };
}

macro_rules! real {
    ($type:ty, $lanes:literal, $vector:ident $(, $sparse:ident)?) => {
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
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), product::<$vector>(x, u, Beside::Nothing))[0];
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
            fn dot_damped_dense<K: Kernel>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64) {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), product::<$vector>(x, u, Beside::Damping(d))).into();
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
            fn products_dense<K: Kernel, const ROWS: usize>(
                steps: &Deferred<'_>,
                x: [&[f32]; ROWS],
                u: &mut [Self],
                beside: Beside<'_, Self>,
                next: [Next<'_>; ROWS],
            ) -> Products<ROWS> {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    let length = x[0].len();
                    return widest!(length, products::<$vector, ROWS>(steps, x, u, beside, next));
                }
                next.iter().for_each(|next| next.ask_from(0));
                steps.take::<K, Self>(u);
                Products {
                    each: x.map(|x| match beside {
                        Beside::Nothing => [Self::dot_dense::<K>(x, u), 0.0],
                        Beside::Weights(w) => {
                            [Self::dot_dense::<K>(x, u), Self::dot_dense::<K>(x, w)]
                        }
                        Beside::Damping(d) => Self::dot_damped_dense::<K>(x, d, u).into(),
                    }),
                    cross: match (ROWS, beside) {
                        (1, _) => 0.0,
                        (_, Beside::Damping(d)) => cross(x[0], x[ROWS - 1], |j| d[j].to()),
                        _ => cross(x[0], x[ROWS - 1], |_| 1.0),
                    },
                }
            }

            #[inline(always)]
            fn add_dense<K: Kernel>(u: &mut [Self], scale: f64, x: &[f32]) {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), add::<$vector>(u, scale, x));
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

real!(f64, 16, Wide);
real!(f32, 32, Narrow, gather);

/// sum d x z
#[inline(always)]
fn cross(x: &[f32], z: &[f32], d: impl Fn(usize) -> f64) -> f64 {
    let products = x.iter().zip(z).enumerate();
    products
        .map(|(j, (x, z))| d(j) * f64::from(*x) * f64::from(*z))
        .sum()
}

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
    let line = LINE_BYTES / size_of::<W>();
    let end = words.len().min(lines.saturating_mul(line));
    let mut at = 0;
    while at < end {
        fetch_line::<W, NEAR>(words.as_ptr().wrapping_add(at));
        at += line;
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
