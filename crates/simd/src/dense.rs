//! The loops over the dense part of rows, for vectors of any width: one row at a time, or two.
//!
//! Two rows x and z share every look at the weights. Beside their products this takes <x, z>, by which the second row's
//! product is known at the weights that the first row's step leaves; so a visit of two rows does what two visits do.
//! Steps of earlier visits are taken on the way. Several sums of each product, in turns, hide the latency of the addition;
//! what is left behind the last whole vector is a part of one more.

use super::float::Float;
use super::products::{Beside, Deferred, DenseStep, Products};
use super::request::Next;
use crate::request::Asked;
use pgsvm_base::prefetch::LINE_BYTES;

/// Numbers side by side in a register. Only a build for processors that have such registers may use them.
pub(super) trait Vector: Copy {
    type Number: Float;
    const WIDTH: usize;
    /// Whether a part of a vector can be loaded and stored ([`Self::load_first`] and its like); where not, what is left
    /// behind the last whole vector goes one number at a time.
    const PARTS: bool = false;

    fn splat(value: Self::Number) -> Self;

    /// # Safety
    /// There are WIDTH numbers.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// # Safety
    /// There are WIDTH values.
    unsafe fn load_values(from: *const f32) -> Self;
    /// # Safety
    /// There is room for WIDTH numbers.
    unsafe fn store(self, to: *mut Self::Number);

    /// The first `count` numbers, below WIDTH, and zeros behind them.
    ///
    /// # Safety
    /// There are as many numbers.
    unsafe fn load_first(_from: *const Self::Number, _count: usize) -> Self {
        unreachable!("no parts")
    }
    /// The same of values.
    ///
    /// # Safety
    /// There are as many values.
    unsafe fn load_first_values(_from: *const f32, _count: usize) -> Self {
        unreachable!("no parts")
    }
    /// Stores the first `count` numbers, below WIDTH.
    ///
    /// # Safety
    /// There is room for as many.
    unsafe fn store_first(self, _to: *mut Self::Number, _count: usize) {
        unreachable!("no parts")
    }

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// self by + more, with one rounding
    fn times_plus(self, by: Self, more: Self) -> Self;
    /// The sum of all numbers, in a fixed order.
    fn total(self) -> f64;
}

/// A vector of so many numbers by these instructions; where there are `parts`, by those too.
macro_rules! vector {
    ($name:ident, $number:ty, $width:literal, $set:ident, $load:ident, $store:ident, $add:ident, $mul:ident, $fmadd:ident,
     |$values:ident| $load_values:expr, |$sum:ident| $total:expr
     $(, parts: $load_first:ident, $store_first:ident, |$mask:ident, $some:ident| $load_some:expr)?) => {
        // SAFETY of all below: a build that uses these vectors runs only on a processor that was seen to have the features;
        // what is loaded and stored is there, as the caller promises, and what a mask leaves out is not accessed.
        impl Vector for $name {
            type Number = $number;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(value: $number) -> Self {
                Self(unsafe { $set(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                Self(unsafe { $load(from) })
            }

            #[inline(always)]
            unsafe fn load_values($values: *const f32) -> Self {
                Self(unsafe { $load_values })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                unsafe { $store(to, self.0) };
            }

            $(
                const PARTS: bool = true;

                #[inline(always)]
                unsafe fn load_first(from: *const $number, count: usize) -> Self {
                    Self(unsafe { $load_first(first(count) as _, from) })
                }

                #[inline(always)]
                unsafe fn load_first_values($some: *const f32, count: usize) -> Self {
                    let $mask = first(count);
                    Self(unsafe { $load_some })
                }

                #[inline(always)]
                unsafe fn store_first(self, to: *mut $number, count: usize) {
                    unsafe { $store_first(to, first(count) as _, self.0) };
                }
            )?

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Self(unsafe { $mul(self.0, other.0) })
            }

            #[inline(always)]
            fn times_plus(self, by: Self, more: Self) -> Self {
                Self(unsafe { $fmadd(self.0, by.0, more.0) })
            }

            #[inline(always)]
            fn total(self) -> f64 {
                let $sum = self.0;
                unsafe { $total }
            }
        }
    };
}
pub(super) use vector;

/// What [`Beside`] says, where the compiler sees it.
const NOTHING: u8 = 0;
const WEIGHTS: u8 = 1;
const DAMPING: u8 = 2;

/// Sums of the products of one row.
const SUMS_OF_ONE: usize = 4;
/// Sums of each product of two rows: more do not fit the registers of AVX2, and of AVX-512 they bring nothing.
const SUMS_OF_TWO: usize = 2;
/// Numbers after which `next` is asked for its next line.
const LINE: usize = LINE_BYTES / size_of::<f32>();

/// The loops for processors with these features.
macro_rules! builds {
    ($features:literal) => {
        /// As [`super::dense::products`].
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn products<V: Vector, const ROWS: usize>(
            steps: &super::products::Deferred<'_>,
            x: [&[f32]; ROWS],
            u: &mut [V::Number],
            beside: super::products::Beside<'_, V::Number>,
            next: [super::request::Next<'_>; ROWS],
        ) -> super::products::Products<ROWS> {
            super::dense::products::<V, ROWS>(steps, x, u, beside, next)
        }

        /// As [`super::dense::product`].
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn product<V: Vector>(
            x: &[f32],
            u: &[V::Number],
            beside: super::products::Beside<'_, V::Number>,
        ) -> [f64; 2] {
            super::dense::product::<V>(x, u, beside)
        }

        /// As [`super::dense::add`].
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn add<V: Vector>(u: &mut [V::Number], scale: f64, x: &[f32]) {
            super::dense::add::<V>(u, scale, x);
        }
    };
}
pub(super) use builds;

/// Takes the steps, then the products of these rows; asks for each `next` meanwhile. Numbers behind the shortest slice are
/// left out.
#[inline(always)]
pub(super) fn products<V: Vector, const ROWS: usize>(
    steps: &Deferred<'_>,
    x: [&[f32]; ROWS],
    u: &mut [V::Number],
    beside: Beside<'_, V::Number>,
    next: [Next<'_>; ROWS],
) -> Products<ROWS> {
    let n = x.iter().map(|x| x.len()).fold(u.len(), usize::min);
    let n = steps
        .all()
        .iter()
        .map(|step| step.x.len())
        .fold(n, usize::min);
    // SAFETY: all have n numbers.
    unsafe {
        match *steps.all() {
            [] => after::<V, 0, ROWS>([], x, u.as_mut_ptr(), n, beside, next),
            [one] => after::<V, 1, ROWS>([one], x, u.as_mut_ptr(), n, beside, next),
            [one, two, ..] => after::<V, 2, ROWS>([one, two], x, u.as_mut_ptr(), n, beside, next),
        }
    }
}

/// The products of a row, without a step.
#[inline(always)]
pub(super) fn product<V: Vector>(
    x: &[f32],
    u: &[V::Number],
    beside: Beside<'_, V::Number>,
) -> [f64; 2] {
    let n = x.len().min(u.len());
    let u = u.as_ptr().cast_mut();
    // SAFETY: both have n numbers; without a step nothing is written.
    let products = unsafe { after::<V, 0, 1>([], [x], u, n, beside, [Next::NONE]) };
    products.each[0]
}

/// u += scale x
#[inline(always)]
pub(super) fn add<V: Vector>(u: &mut [V::Number], scale: f64, x: &[f32]) {
    let n = x.len().min(u.len());
    let (x, u) = (x.as_ptr(), u.as_mut_ptr());
    let number = V::Number::of(scale);
    let scale = V::splat(number);
    // SAFETY: both have n numbers.
    unsafe {
        let mut at = 0;
        while at + V::WIDTH <= n {
            let after = V::load_values(x.add(at)).times_plus(scale, V::load(u.add(at)));
            after.store(u.add(at));
            at += V::WIDTH;
        }
        if V::PARTS && at < n {
            let before = V::load_first(u.add(at), n - at);
            let after = V::load_first_values(x.add(at), n - at).times_plus(scale, before);
            after.store_first(u.add(at), n - at);
        }
        while !V::PARTS && at < n {
            *u.add(at) = stepped(*u.add(at), number, *x.add(at));
            at += 1;
        }
    }
}

/// # Safety
/// x, u and the steps have n numbers; without a step nothing is written.
#[inline(always)]
unsafe fn after<V: Vector, const STEPS: usize, const ROWS: usize>(
    steps: [DenseStep<'_>; STEPS],
    x: [&[f32]; ROWS],
    u: *mut V::Number,
    n: usize,
    beside: Beside<'_, V::Number>,
    next: [Next<'_>; ROWS],
) -> Products<ROWS> {
    let (beside, numbers) = match beside {
        Beside::Nothing => (NOTHING, &[][..]),
        Beside::Weights(w) => (WEIGHTS, w),
        Beside::Damping(d) => (DAMPING, d),
    };
    let n = if beside == NOTHING {
        n
    } else {
        n.min(numbers.len())
    };
    // vectors are passed on in plain loops: closures need not be inlined, and miss the build's instructions then
    let asked = Asked::new(next, x);
    let mut these = Loop::<V, STEPS, ROWS> {
        numbers: [V::Number::default(); STEPS],
        scales: [V::splat(V::Number::default()); STEPS],
        steps: steps.map(|step| step.x.as_ptr()),
        x: x.map(|x| x.as_ptr()),
        u,
        beside: numbers.as_ptr(),
    };
    let scales = these.numbers.iter_mut().zip(&mut these.scales);
    for ((number, scale), step) in scales.zip(&steps) {
        *number = V::Number::of(step.scale);
        *scale = V::splat(*number);
    }
    // SAFETY: all have n numbers.
    unsafe {
        match beside {
            NOTHING => these.over::<NOTHING>(n, asked),
            WEIGHTS => these.over::<WEIGHTS>(n, asked),
            _ => these.over::<DAMPING>(n, asked),
        }
    }
}

/// Where the numbers of a loop begin, and the scales of its steps.
struct Loop<V: Vector, const STEPS: usize, const ROWS: usize> {
    numbers: [V::Number; STEPS],
    scales: [V; STEPS],
    steps: [*const f32; STEPS],
    x: [*const f32; ROWS],
    u: *mut V::Number,
    beside: *const V::Number,
}

/// As [`Products`], before the numbers of a vector are summed.
#[derive(Clone, Copy)]
struct RowSums<V, const ROWS: usize> {
    each: [[V; 2]; ROWS],
    cross: V,
}

impl<V: Vector, const ROWS: usize> RowSums<V, ROWS> {
    /// These and others.
    #[inline(always)]
    fn plus(mut self, other: Self) -> Self {
        for row in 0..ROWS {
            for sum in 0..2 {
                self.each[row][sum] = self.each[row][sum].plus(other.each[row][sum]);
            }
        }
        self.cross = self.cross.plus(other.cross);
        self
    }
}

impl<V: Vector, const STEPS: usize, const ROWS: usize> Loop<V, STEPS, ROWS> {
    /// # Safety
    /// All have n numbers, the one beside if it is looked at.
    #[inline(always)]
    unsafe fn over<const BESIDE: u8>(&self, n: usize, asked: Asked<ROWS>) -> Products<ROWS> {
        let zero = V::splat(V::Number::default());
        let mut all = [RowSums {
            each: [[zero; 2]; ROWS],
            cross: zero,
        }; SUMS_OF_ONE];
        let sums = match ROWS {
            1 => &mut all[..],
            _ => &mut all[..SUMS_OF_TWO],
        };
        let (width, round) = (V::WIDTH, sums.len() * V::WIDTH);
        // whole lines of what comes next, and each sum as often as the others
        let rounds = LINE.div_ceil(round);
        let mut at = 0;
        while at + rounds * round <= n {
            for line in (0..rounds * round).step_by(LINE) {
                asked.ask(at + line);
            }
            for _ in 0..rounds {
                for sums in sums.iter_mut() {
                    // SAFETY: the place lies a vector or more below n.
                    unsafe { self.add::<BESIDE, true>(at, width, sums) };
                    at += width;
                }
            }
        }
        asked.rest(at);
        while at + width <= n {
            // SAFETY: as above.
            unsafe { self.add::<BESIDE, true>(at, width, &mut sums[0]) };
            at += width;
        }
        let mut products = Products::ZERO;
        if V::PARTS && at < n {
            let last = sums.len() - 1;
            // SAFETY: so many are left.
            unsafe { self.add::<BESIDE, false>(at, n - at, &mut sums[last]) };
        }
        while !V::PARTS && at < n {
            // SAFETY: the place lies below n.
            unsafe { self.add_one::<BESIDE>(at, &mut products) };
            at += 1;
        }
        let [first, second, third, fourth] = all;
        let sums = first.plus(second).plus(third.plus(fourth));
        for row in 0..ROWS {
            products.each[row][0] += sums.each[row][0].total();
            if BESIDE != NOTHING {
                products.each[row][1] += sums.each[row][1].total();
            }
        }
        if ROWS > 1 {
            products.cross += sums.cross.total();
        }
        products
    }

    /// Takes the steps at this place, and adds the products there.
    ///
    /// # Safety
    /// All have `count` numbers there, a vector or where not WHOLE fewer.
    #[inline(always)]
    unsafe fn add<const BESIDE: u8, const WHOLE: bool>(
        &self,
        at: usize,
        count: usize,
        sums: &mut RowSums<V, ROWS>,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut u = load::<V, WHOLE>(self.u.add(at), count);
            for step in 0..STEPS {
                let x = load_values::<V, WHOLE>(self.steps[step].add(at), count);
                u = x.times_plus(self.scales[step], u);
            }
            if STEPS > 0 {
                store::<V, WHOLE>(u, self.u.add(at), count);
            }
            let beside = match BESIDE {
                NOTHING => u,
                _ => load::<V, WHOLE>(self.beside.add(at), count),
            };
            let (mut x, mut left) = ([u; ROWS], [u; ROWS]);
            for row in 0..ROWS {
                x[row] = load_values::<V, WHOLE>(self.x[row].add(at), count);
                left[row] = x[row];
                let [at_u, second] = &mut sums.each[row];
                match BESIDE {
                    NOTHING => {}
                    WEIGHTS => *second = x[row].times_plus(beside, *second),
                    _ => {
                        left[row] = x[row].times(beside);
                        *second = left[row].times_plus(x[row], *second);
                    }
                }
                *at_u = left[row].times_plus(u, *at_u);
            }
            if ROWS > 1 {
                sums.cross = left[0].times_plus(x[ROWS - 1], sums.cross);
            }
        }
    }

    /// The same of one number.
    ///
    /// # Safety
    /// All have one there.
    #[inline(always)]
    unsafe fn add_one<const BESIDE: u8>(&self, at: usize, products: &mut Products<ROWS>) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut u = *self.u.add(at);
            for step in 0..STEPS {
                u = stepped(u, self.numbers[step], *self.steps[step].add(at));
            }
            if STEPS > 0 {
                *self.u.add(at) = u;
            }
            let beside = match BESIDE {
                NOTHING => 0.0,
                _ => (*self.beside.add(at)).to(),
            };
            let mut first = 0.0;
            for row in 0..ROWS {
                let x = f64::from(*self.x[row].add(at));
                let left = if BESIDE == DAMPING { x * beside } else { x };
                let [at_u, second] = &mut products.each[row];
                *at_u = left.mul_add(u.to(), *at_u);
                match BESIDE {
                    NOTHING => {}
                    WEIGHTS => *second = x.mul_add(beside, *second),
                    _ => *second = left.mul_add(x, *second),
                }
                if row > 0 {
                    products.cross = x.mul_add(first, products.cross);
                }
                first = left;
            }
        }
    }
}

/// u + scale x, rounded once.
#[inline(always)]
fn stepped<T: Float>(u: T, scale: T, x: f32) -> T {
    T::of(f64::from(x).mul_add(scale.to(), u.to()))
}

/// # Safety
/// There are WIDTH numbers where WHOLE, and else `count`, fewer.
#[inline(always)]
unsafe fn load<V: Vector, const WHOLE: bool>(from: *const V::Number, count: usize) -> V {
    // SAFETY: as the caller promises.
    unsafe {
        match WHOLE {
            true => V::load(from),
            false => V::load_first(from, count),
        }
    }
}

/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn load_values<V: Vector, const WHOLE: bool>(from: *const f32, count: usize) -> V {
    // SAFETY: as the caller promises.
    unsafe {
        match WHOLE {
            true => V::load_values(from),
            false => V::load_first_values(from, count),
        }
    }
}

/// # Safety
/// There is room for WIDTH numbers where WHOLE, and else for `count`, fewer.
#[inline(always)]
unsafe fn store<V: Vector, const WHOLE: bool>(vector: V, to: *mut V::Number, count: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        match WHOLE {
            true => vector.store(to),
            false => vector.store_first(to, count),
        }
    }
}
