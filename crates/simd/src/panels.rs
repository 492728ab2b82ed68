//! Products of rows with many others that are packed once: what kernel values are made of.
//!
//! The others are packed in panels of [`COLUMNS`] rows, number by number: their first numbers, their second ones, and so on. The products of a
//! row with a panel are summed in registers, without sums across lanes. Panels are packed once for all rows.

use crate::level::{Isa, Work};

/// Others in a panel.
pub const COLUMNS: usize = 32;

/// Numbers that so many others of this width take when packed.
pub fn packed_len(others: usize, width: usize) -> usize {
    others.div_ceil(COLUMNS) * COLUMNS * width
}

/// Packs others of this width into `packed`, as long as [`packed_len`] says, each number as `number` has it.
///
/// Panics where the slices are not of such sizes.
pub fn pack<S: Copy, T: Number>(
    others: Lines<&[S]>,
    width: usize,
    packed: &mut [T],
    number: impl Fn(S) -> T,
) {
    assert!(width > 0 && others.hold(others.numbers.len(), width));
    assert_eq!(packed.len(), packed_len(others.count, width));
    packed.fill(T::default());
    for other in 0..others.count {
        let own = &others.numbers[other * others.stride..][..width];
        let panel = &mut packed[other / COLUMNS * COLUMNS * width..][..COLUMNS * width];
        for (numbers, value) in panel.chunks_exact_mut(COLUMNS).zip(own) {
            numbers[other % COLUMNS] = number(*value);
        }
    }
}

/// The work of `out[i][j] = sum_k rows[i][k] others[j][k]`, of rows with so many packed others; or of subtracting it.
///
/// Panics where the slices are not of such sizes.
pub struct Multiply<'a, T> {
    pub rows: Lines<&'a [T]>,
    /// Numbers of a row, and of an other, that are multiplied.
    pub width: usize,
    pub packed: &'a [T],
    pub others: usize,
    pub out: Lines<&'a mut [T]>,
    /// Products are taken from what is in `out`, and not put there.
    pub subtract: bool,
}

/// Rows as they lie in a slice: so many, each so many numbers behind the one before.
#[derive(Clone, Copy)]
pub struct Lines<S> {
    pub numbers: S,
    pub stride: usize,
    pub count: usize,
}

impl<S> Lines<S> {
    /// One behind the other, of which each has so many numbers.
    pub fn close(numbers: S, width: usize, count: usize) -> Self {
        Self {
            numbers,
            stride: width,
            count,
        }
    }

    fn hold(&self, numbers: usize, width: usize) -> bool {
        let last = self.count.saturating_sub(1) * self.stride + width;
        width <= self.stride && (self.count == 0 || last <= numbers)
    }
}

impl<T: Number> Work for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (width, others, count) = (self.width, self.others, self.rows.count);
        assert!(width > 0 && self.packed.len() == packed_len(others, width));
        assert!(count == self.out.count && self.rows.hold(self.rows.numbers.len(), width));
        assert!(self.out.hold(self.out.numbers.len(), others));
        for (panel, packed) in self.packed.chunks_exact(COLUMNS * width).enumerate() {
            let from = panel * COLUMNS;
            let part = PanelPart {
                rows: self.rows.numbers,
                rows_stride: self.rows.stride,
                width,
                panel: packed.as_chunks::<COLUMNS>().0,
                stride: self.out.stride,
                from,
                columns: COLUMNS.min(others - from),
                subtract: self.subtract,
            };
            part.multiply::<K>(count, self.out.numbers);
        }
    }
}

/// A number that products are made of: of 32 bits or 64.
pub trait Number: Copy + Default + std::ops::SubAssign + vectors::ByVectors {
    fn add_product<K: Isa>(self, one: Self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            #[inline(always)]
            fn add_product<K: Isa>(self, one: Self, other: Self) -> Self {
                fuse!(K, one, other, self)
            }
        }
    };
}
number!(f32);
number!(f64);

/// A panel, the rows that it is multiplied with, and where their products go.
pub struct PanelPart<'a, T> {
    rows: &'a [T],
    rows_stride: usize,
    width: usize,
    panel: &'a [[T; COLUMNS]],
    /// From the products of a row to those of the next.
    stride: usize,
    /// Where those with this panel begin, and how many they are.
    from: usize,
    columns: usize,
    subtract: bool,
}

impl<T: Number> PanelPart<'_, T> {
    #[inline(always)]
    fn multiply<K: Isa>(&self, count: usize, out: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        if K::AVX2 {
            // SAFETY: such a build runs only on a processor that was seen to have AVX2 and FMA.
            unsafe { T::by_vectors(self, count, out) };
            return;
        }
        for row in 0..count {
            let mut sums = [T::default(); COLUMNS];
            for (value, numbers) in self.row(row).iter().zip(self.panel) {
                for (sum, number) in sums.iter_mut().zip(numbers) {
                    *sum = sum.add_product::<K>(*value, *number);
                }
            }
            self.put(row, 0, &sums, out);
        }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &[T] {
        &self.rows[row * self.rows_stride..][..self.width]
    }

    /// Puts a row's products with the others from the n-th of the panel on where they go, as far as there are others.
    #[inline(always)]
    fn put(&self, row: usize, n: usize, products: &[T], out: &mut [T]) {
        let count = self.columns.saturating_sub(n).min(products.len());
        let out = &mut out[row * self.stride + self.from + n.min(self.columns)..][..count];
        match self.subtract {
            true => out.iter_mut().zip(products).for_each(|(out, p)| *out -= *p),
            false => out.copy_from_slice(&products[..count]),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    pub trait ByVectors {}
    impl ByVectors for f32 {}
    impl ByVectors for f64 {}
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{PanelPart, COLUMNS};
    use crate::tile;

    pub trait ByVectors: Sized {
        /// Multiplies so many rows with the panel.
        ///
        /// # Safety
        ///
        /// The processor must have AVX2 and FMA.
        unsafe fn by_vectors(part: &PanelPart<'_, Self>, count: usize, out: &mut [Self]);
    }

    /// As many rows as are listed, from one on, by two vectors at a time, as long as so many are left; gives back the first that
    /// is left over.
    macro_rules! by_vectors {
        ($name:ident, $number:ty, $features:literal, [$($row:literal $low:ident $high:ident)*], $width:literal,
         $zero:ident, $set:ident, $load:ident, $store:ident, $fmadd:ident) => {
            #[target_feature(enable = $features)]
            fn $name(part: &PanelPart<'_, $number>, mut first: usize, count: usize, out: &mut [$number]) -> usize {
                const ROWS: usize = [$($row),*].len();
                const WIDTH: usize = $width;
                while count - first >= ROWS {
                    let row = [$(part.row(first + $row)),*];
                    for n in (0..COLUMNS).step_by(2 * WIDTH) {
                        // sums by names, not places: so all stay in registers
                        $(let (mut $low, mut $high) = ($zero(), $zero());)*
                        for (k, numbers) in part.panel.iter().enumerate() {
                            // SAFETY: n and both vectors behind it are within the panel, which is as long as rows are wide;
                            // each row is so wide, as its slice says.
                            unsafe {
                                let own = [
                                    $load(numbers.as_ptr().add(n)),
                                    $load(numbers.as_ptr().add(n + WIDTH)),
                                ];
                                $(
                                    let value = $set(*row[$row].get_unchecked(k));
                                    $low = $fmadd(value, own[0], $low);
                                    $high = $fmadd(value, own[1], $high);
                                )*
                            }
                        }
                        for (row, sums) in [$([$low, $high]),*].iter().enumerate() {
                            let mut own: [$number; 2 * WIDTH] = [0.0; 2 * WIDTH];
                            // SAFETY: there is room for both vectors.
                            unsafe {
                                $store(own.as_mut_ptr(), sums[0]);
                                $store(own.as_mut_ptr().add(WIDTH), sums[1]);
                            }
                            part.put(first + row, n, &own, out);
                        }
                    }
                    first += ROWS;
                }
                first
            }
        };
    }

    /// All rows: as many at a time as registers hold sums of, then fewer.
    macro_rules! number {
        ($module:ident, $number:ident, [$($wide:tt)*], [$($narrow:tt)*]) => {
            mod $module {
                use super::*;

                by_vectors!(twelve, $number, "avx512f,fma", [0 a0 b0 1 a1 b1 2 a2 b2 3 a3 b3 4 a4 b4 5 a5 b5 6 a6 b6 7 a7 b7 8 a8 b8 9 a9 b9 10 a10 b10 11 a11 b11], $($wide)*);
                by_vectors!(three, $number, "avx512f,fma", [0 a0 b0 1 a1 b1 2 a2 b2], $($wide)*);
                by_vectors!(one_wide, $number, "avx512f,fma", [0 a0 b0], $($wide)*);
                by_vectors!(six, $number, "avx2,fma", [0 a0 b0 1 a1 b1 2 a2 b2 3 a3 b3 4 a4 b4 5 a5 b5], $($narrow)*);
                by_vectors!(two, $number, "avx2,fma", [0 a0 b0 1 a1 b1], $($narrow)*);
                by_vectors!(one, $number, "avx2,fma", [0 a0 b0], $($narrow)*);

                impl ByVectors for $number {
                    unsafe fn by_vectors(part: &PanelPart<'_, Self>, count: usize, out: &mut [Self]) {
                        // SAFETY: the processor has AVX2 and FMA, as the caller says; the wider vectors are looked for.
                        unsafe {
                            match tile::wide() {
                                true => {
                                    let first = twelve(part, 0, count, out);
                                    let first = three(part, first, count, out);
                                    one_wide(part, first, count, out);
                                }
                                false => {
                                    let first = six(part, 0, count, out);
                                    let first = two(part, first, count, out);
                                    one(part, first, count, out);
                                }
                            }
                        }
                    }
                }
            }
        };
    }
    number!(
        of_32_bits,
        f32,
        [
            16,
            _mm512_setzero_ps,
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_fmadd_ps
        ],
        [
            8,
            _mm256_setzero_ps,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_fmadd_ps
        ]
    );
    number!(
        of_64_bits,
        f64,
        [
            8,
            _mm512_setzero_pd,
            _mm512_set1_pd,
            _mm512_loadu_pd,
            _mm512_storeu_pd,
            _mm512_fmadd_pd
        ],
        [
            4,
            _mm256_setzero_pd,
            _mm256_set1_pd,
            _mm256_loadu_pd,
            _mm256_storeu_pd,
            _mm256_fmadd_pd
        ]
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forced::{forced, Forced};
    use crate::level::Level;

    /// Numbers without order, small enough that sums of products are exact.
    fn numbers<T: Number + From<i8>>(count: usize, seed: usize) -> Vec<T> {
        let number = |at: usize| T::from(((at * 7919 + seed * 104_729) % 17) as i8 - 8);
        (0..count).map(number).collect()
    }

    /// With rows, and their products, that lie apart: what lies between them stays as it is.
    fn products<T>(rows: usize, others: usize, width: usize, subtract: bool)
    where
        T: Number
            + From<i8>
            + PartialEq
            + std::fmt::Debug
            + std::ops::Mul<Output = T>
            + std::iter::Sum
            + std::ops::Sub<Output = T>,
    {
        let (stride, out_stride) = (width + rows % 3, others + width % 4);
        let (a, b) = (
            numbers::<T>(rows * stride, 1),
            numbers::<T>(others * width, 2),
        );
        let mut packed = numbers(packed_len(others, width), 3);
        let others_of_b = Lines {
            numbers: &b[..],
            stride: width,
            count: others,
        };
        pack(others_of_b, width, &mut packed, |number| number);
        let before = numbers::<T>((rows - 1) * out_stride + others, 4);
        let mut out = before.clone();
        Level::best().run(Multiply {
            rows: Lines {
                numbers: &a[..(rows - 1) * stride + width],
                stride,
                count: rows,
            },
            width,
            packed: &packed,
            others,
            out: Lines {
                numbers: &mut out,
                stride: out_stride,
                count: rows,
            },
            subtract,
        });
        for (at, (out, before)) in out.iter().zip(&before).enumerate() {
            let (i, j) = (at / out_stride, at % out_stride);
            let expected = match j < others {
                true => {
                    let row = &a[i * stride..][..width];
                    let product: T = row.iter().zip(&b[j * width..]).map(|(a, b)| *a * *b).sum();
                    if subtract {
                        *before - product
                    } else {
                        product
                    }
                }
                false => *before,
            };
            assert_eq!(
                *out, expected,
                "{rows} {others} {width} {subtract}: {i} {j}"
            );
        }
    }

    #[test]
    fn products_are_those_of_every_row_with_every_other() {
        for level in [Forced::Plain, Forced::Narrow, Forced::Wide] {
            for rows in [1, 5, 6, 12, 13, 31] {
                for others in [1, 15, 16, 17, 32, 33, 70] {
                    for (width, subtract) in [(1, false), (3, true), (24, false), (24, true)] {
                        forced(level, || products::<f32>(rows, others, width, subtract));
                        forced(level, || products::<f64>(rows, others, width, subtract));
                    }
                }
            }
        }
    }
}
