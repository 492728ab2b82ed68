//! Kernel values in 64 bits, of rows and landmarks as they are stored: what decisions and certificates are made of.
//!
//! A distance is a sum of squared differences, which loses nothing far from 0. For decisions it is |x|² + |z|² - 2 x'z where gamma |z|² is
//! small for all landmarks: that loses little, and is a matrix product. What training compares again and again is computed in 32 bits
//! ([`crate::products`]); what is reported of a machine is computed here. One row or many: the same sums, to the last bit.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory};
use crate::kernel::Kernel;
use crate::products::Landmarks;
use crate::rows::Rows;
use crate::simd::panels::{packed_len, Lines, Multiply, COLUMNS};
use crate::simd::{Isa, Level, Work};

/// Multiplications of vectors that are taken at a time, between two looks for interrupts: a few milliseconds.
const AT_ONCE: usize = 1 << 24;
/// Rows, and others, from which on they are multiplied as matrices: as many more of them at a time.
const MATRIX_ROWS: usize = 6;
const MATRIX_OTHERS: usize = COLUMNS / 2;
const MORE_AT_ONCE: usize = 4;
/// What a kernel value takes beside its product, in those.
const BESIDE: usize = 32;
/// Of a panel, others whose sums stay in registers.
const TOGETHER: usize = 16;

impl Landmarks {
    /// k(x, z) in 64 bits of rows `first` and some more, as many as `out` holds, with these landmarks: whole panels, where they
    /// can be parted. `quick`: distances are made of products where they may be.
    ///
    /// Panics where rows are of another width.
    pub(crate) fn wide_values_with(
        &self,
        some: Range<usize>,
        kernel: &Kernel,
        level: Level,
        from: (&Rows, usize),
        (out, quick): (&mut [f64], bool),
    ) {
        let is_near = |gamma: f64| !self.is_far() && gamma * self.most_square() <= NEAR;
        let form = match *kernel {
            Kernel::Rbf { gamma } if quick && is_near(gamma) => Form::Distances,
            Kernel::Rbf { .. } => Form::Differences,
            _ => Form::Products,
        };
        self.wide_values_by(form, some, (kernel, level), from, out);
    }

    fn wide_values_by(
        &self,
        form: Form,
        some: Range<usize>,
        (kernel, level): (&Kernel, Level),
        (rows, first): (&Rows, usize),
        out: &mut [f64],
    ) {
        let (width, count) = (rows.width(), some.len());
        if count == 0 {
            return;
        }
        let a_row = count * (width + BESIDE);
        let is_matrix =
            form != Form::Differences && count >= MATRIX_OTHERS && out.len() >= MATRIX_ROWS * count;
        let at_once = match is_matrix {
            true => MORE_AT_ONCE * AT_ONCE / a_row,
            false => AT_ONCE / a_row,
        };
        let squares = &self.wide_squares()[some.clone()];
        let packed = &self.packed()[some.start * width..][..packed_len(count, width)];
        for (part, out) in out.chunks_mut(at_once.max(1) * count).enumerate() {
            let first = first + part * at_once.max(1);
            let dense = Dense {
                distances: form == Form::Differences,
                rows: &rows.all_dense()[first * width..][..out.len() / count * width],
                width,
                packed,
                others: count,
                out: &mut *out,
            };
            match is_matrix {
                true => dense.multiply(level),
                false => level.run(dense),
            }
            for (row, out) in out.chunks_exact_mut(count).enumerate() {
                self.add_sparse(form == Form::Differences, rows.sparse(first + row), out);
                if form == Form::Distances {
                    let own = rows.wide_square(first + row);
                    level.run(ToDistances { own, squares, out });
                }
            }
            kernel.wide_values(level, out);
            // vectors take several at a time
            interrupts::worked(out.len() * (width + BESIDE) / 4);
        }
    }

    /// The same with all of them, and distances of differences.
    pub fn wide_values(
        &self,
        kernel: &Kernel,
        level: Level,
        from: (&Rows, usize),
        out: &mut [f64],
    ) {
        self.wide_values_with(0..self.len(), kernel, level, from, (out, false));
    }

    /// Kernel values in 32 bits of rows and landmarks that lie far from 0: of squared differences, which lose nothing by it.
    pub(crate) fn far_values(
        &self,
        some: Range<usize>,
        kernel: &Kernel,
        level: Level,
        (rows, first): (&Rows, usize),
        out: &mut [f32],
    ) {
        let (width, count) = (rows.width(), some.len());
        level.run(Dense {
            distances: true,
            rows: &rows.all_dense()[first * width..][..out.len() / count * width],
            width,
            packed: &self.packed()[some.start * width..][..packed_len(count, width)],
            others: count,
            out: &mut *out,
        });
        for (row, out) in out.chunks_exact_mut(count).enumerate() {
            self.add_sparse(true, rows.sparse(first + row), out);
            kernel.values_of_distances(level, out);
        }
    }

    /// Adds what sparse entries add to products, or to squared distances.
    fn add_sparse<T: WideNumber>(&self, to_distances: bool, entries: &[[u32; 2]], out: &mut [T]) {
        if entries.is_empty() && self.can_be_parted() {
            return;
        }
        if !to_distances {
            self.each_meeting(entries, |landmark, value, other| {
                out[landmark] = out[landmark].plus(f64::from(value) * f64::from(other));
            });
            return;
        }
        let own = sparse_square(entries);
        // landmarks without sparse parts have none of their squares
        let squares = self.sparse_squares().iter().copied();
        let squares = squares.chain(std::iter::repeat(0.0));
        for (out, square) in out.iter_mut().zip(squares) {
            *out = out.plus(own + square);
        }
        self.each_meeting(entries, |landmark, value, other| {
            out[landmark] = out[landmark].plus(-2.0 * f64::from(value) * f64::from(other));
        });
    }
}

/// Where gamma |z|² is no more than this, distances are made of products.
pub(crate) const NEAR: f64 = 16.0;

/// What the dense parts of a row and another are summed up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// x'z
    Products,
    /// The same, of which |x - z|² is made.
    Distances,
    /// |x - z|²
    Differences,
}

impl Rows {
    /// |x|² of a row in 64 bits.
    pub fn wide_square(&self, row: usize) -> f64 {
        let square = |x: f32| f64::from(x) * f64::from(x);
        let dense: f64 = self.dense(row).iter().map(|x| square(*x)).sum();
        dense + self.wide_sparse_square(row)
    }

    /// The same of its sparse part.
    pub fn wide_sparse_square(&self, row: usize) -> f64 {
        sparse_square(self.sparse(row))
    }

    /// Numbers of a row.
    pub fn terms(&self, row: usize) -> usize {
        self.width() + self.sparse(row).len()
    }
}

fn sparse_square(entries: &[[u32; 2]]) -> f64 {
    let square = |[_, bits]: &[u32; 2]| f64::from(f32::from_bits(*bits)).powi(2);
    entries.iter().map(square).sum()
}

/// A number in which products and distances are summed: of 32 bits or 64.
pub(crate) trait WideNumber: Copy {
    const ZERO: Self;
    fn of(x: f32) -> Self;
    fn minus(self, other: Self) -> Self;
    fn plus(self, more: f64) -> Self;
    fn add_product<K: Isa>(self, one: Self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl WideNumber for $type {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn of(x: f32) -> Self {
                Self::from(x)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn plus(self, more: f64) -> Self {
                self + more as $type
            }

            #[inline(always)]
            fn add_product<K: Isa>(self, one: Self, other: Self) -> Self {
                match K::FUSED {
                    true => one.mul_add(other, self),
                    false => one * other + self,
                }
            }
        }
    };
}
number!(f32);
number!(f64);

/// Products, or squared distances, of dense parts.
pub(crate) struct Dense<'a, T> {
    pub(crate) distances: bool,
    pub(crate) rows: &'a [f32],
    pub(crate) width: usize,
    /// The others in panels.
    pub(crate) packed: &'a [f32],
    pub(crate) others: usize,
    pub(crate) out: &'a mut [T],
}

impl<T: WideNumber> Work for Dense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        if self.width == 0 {
            self.out.fill(T::ZERO);
            return;
        }
        match self.distances {
            true => self.each::<K, true>(),
            false => self.each::<K, false>(),
        }
    }
}

impl<T: WideNumber> Dense<'_, T> {
    #[inline(always)]
    fn each<K: Isa, const DISTANCES: bool>(self) {
        let panels = self.packed.chunks_exact(COLUMNS * self.width);
        for (panel, packed) in panels.enumerate() {
            let from = panel * COLUMNS;
            let rows = self.rows.chunks_exact(self.width);
            for (row, out) in rows.zip(self.out.chunks_exact_mut(self.others)) {
                let out = &mut out[from..(from + COLUMNS).min(self.others)];
                for (n, out) in out.chunks_mut(TOGETHER).enumerate() {
                    match out {
                        // as when one row after the other becomes a pivot
                        [out] => *out = sum::<T, K, DISTANCES>(row, packed, n * TOGETHER),
                        out => {
                            let sums = sums::<T, K, DISTANCES>(row, packed, n * TOGETHER);
                            out.copy_from_slice(&sums[..out.len()]);
                        }
                    }
                }
            }
        }
    }
}

/// Of a row with some others of a panel.
#[inline(always)]
fn sums<T: WideNumber, K: Isa, const DISTANCES: bool>(
    row: &[f32],
    panel: &[f32],
    from: usize,
) -> [T; TOGETHER] {
    let mut sums = [T::ZERO; TOGETHER];
    for (value, numbers) in row.iter().zip(panel.as_chunks::<COLUMNS>().0) {
        let numbers = &numbers[from..from + TOGETHER];
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = added::<T, K, DISTANCES>(*sum, *value, *number);
        }
    }
    sums
}

/// Of a row with one of a panel.
#[inline(always)]
fn sum<T: WideNumber, K: Isa, const DISTANCES: bool>(row: &[f32], panel: &[f32], at: usize) -> T {
    let mut sum = T::ZERO;
    for (value, numbers) in row.iter().zip(panel.as_chunks::<COLUMNS>().0) {
        sum = added::<T, K, DISTANCES>(sum, *value, numbers[at]);
    }
    sum
}

impl Dense<'_, f64> {
    /// Products of many rows with many others, a panel after the other; where there is no room for their numbers in 64 bits, as of few.
    fn multiply(mut self, level: Level) {
        if self.width == 0 || self.multiplied(level).is_err() {
            level.run(self);
        }
    }

    fn multiplied(&mut self, level: Level) -> Result<(), OutOfMemory> {
        let (width, others) = (self.width, self.others);
        let mut rows = filled(0.0, self.rows.len())?;
        level.run(Widen(self.rows, &mut rows));
        let mut panel = filled(0.0, COLUMNS * width)?;
        let panels = self.packed.chunks_exact(COLUMNS * width);
        for (n, packed) in panels.enumerate() {
            level.run(Widen(packed, &mut panel));
            let (from, count) = (n * COLUMNS, rows.len() / width);
            level.run(Multiply {
                rows: Lines::close(&rows[..], width, count),
                width,
                packed: &panel,
                others: COLUMNS.min(others - from),
                out: Lines {
                    numbers: &mut self.out[from..],
                    stride: others,
                    count,
                },
                subtract: false,
            });
        }
        Ok(())
    }
}

/// The same numbers in 64 bits.
struct Widen<'a>(&'a [f32], &'a mut [f64]);

impl Work for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (to, from) in self.1.iter_mut().zip(self.0) {
            *to = f64::from(*from);
        }
    }
}

/// |x - z|² in place of each x'z, of |x|² and each |z|².
struct ToDistances<'a> {
    own: f64,
    squares: &'a [f64],
    out: &'a mut [f64],
}

impl Work for ToDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (out, square) in self.out.iter_mut().zip(self.squares) {
            *out = self.own + square - 2.0 * *out;
        }
    }
}

#[inline(always)]
fn added<T: WideNumber, K: Isa, const DISTANCES: bool>(sum: T, value: f32, number: f32) -> T {
    let (value, number) = (T::of(value), T::of(number));
    match DISTANCES {
        true => {
            let away = value.minus(number);
            sum.add_product::<K>(away, away)
        }
        false => sum.add_product::<K>(value, number),
    }
}

impl Kernel {
    /// Values in place of products, or of squared distances.
    fn wide_values(&self, level: Level, numbers: &mut [f64]) {
        match *self {
            Self::Linear => {}
            Self::Rbf { gamma } => level.run(Exponentials { gamma, numbers }),
            Self::Polynomial {
                gamma,
                degree,
                coef0,
            } => {
                for number in numbers {
                    *number = (gamma * *number + coef0).powi(degree as i32);
                }
            }
            Self::Sigmoid { gamma, coef0 } => {
                for number in numbers {
                    *number = (gamma * *number + coef0).tanh();
                }
            }
        }
    }
}

/// exp(-gamma d) in place of each d.
struct Exponentials<'a> {
    gamma: f64,
    numbers: &'a mut [f64],
}

impl Work for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for number in self.numbers {
            // what rounding leaves of a distance that is none may be below 0
            *number = exp::<K>(-self.gamma * number.max(0.0));
        }
    }
}

/// e to a power of at most 0, to the last bit but one, by operations that the compiler makes vector code of: 2^n e^r with
/// the power n ln 2 + r, and e^r by its series. 0 where 64 bits have no ordinary number for it.
#[inline(always)]
fn exp<K: Isa>(power: f64) -> f64 {
    /// Adding it leaves the nearest whole number in the last bits.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    // fdlibm's: the high part has 32 bits, so its products with whole numbers are exact
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const LEAST: f64 = -708.0;
    /// 1 / 13!, 1 / 12!, …, 1 / 0!
    const SERIES: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let x = if power > LEAST { power } else { LEAST };
    let shifted = x * std::f64::consts::LOG2_E + WHOLE;
    let whole = shifted - WHOLE;
    let rest = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let mut series = SERIES[0];
    for factor in &SERIES[1..] {
        series = match K::FUSED {
            true => series.mul_add(rest, *factor),
            false => series * rest + *factor,
        };
    }
    let exponent = (shifted.to_bits() as i64).wrapping_sub(WHOLE.to_bits() as i64);
    let value = series * f64::from_bits(((exponent + 1023) << 52) as u64);
    // not a number stays one
    if power < LEAST {
        0.0
    } else if power.is_nan() {
        power
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Of(f64);

    impl Work for Of {
        type Output = f64;

        #[inline(always)]
        fn run<K: Isa>(self) -> f64 {
            exp::<K>(self.0)
        }
    }

    #[test]
    fn the_exponential_is_right_to_the_last_bits() {
        for level in [Level::best()] {
            for step in 0..200_000 {
                let x = -f64::from(step) * 3.533e-3;
                let (found, right) = (level.run(Of(x)), x.exp());
                let error = (found - right).abs();
                assert!(error <= 5e-16 * right, "{x}: {found:e} {right:e}");
            }
            assert_eq!(level.run(Of(0.0)), 1.0);
            assert_eq!(level.run(Of(-1e300)), 0.0);
            assert_eq!(level.run(Of(f64::NEG_INFINITY)), 0.0);
            assert!(level.run(Of(f64::NAN)).is_nan());
        }
    }
}
