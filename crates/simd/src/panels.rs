//! Products of rows with many others that are packed once: what kernel values are made of.
//!
//! Others are packed in panels of [`COLUMNS`], number by number: a panel's first numbers, its second ones, and so on. A row's
//! products with a panel are sums in registers, without a horizontal one, and no panel is packed again for the next rows.

use crate::level::{Isa, Work};

/// Others in a panel.
pub const COLUMNS: usize = 32;

/// Numbers that so many others of this width take when packed.
pub fn packed_len(others: usize, width: usize) -> usize {
    others.div_ceil(COLUMNS) * COLUMNS * width
}

/// Packs others of this width, which lie one after the other, into `packed`, as long as [`packed_len`] says.
///
/// Panics where the slices are not of such sizes.
pub fn pack(others: &[f32], width: usize, packed: &mut [f32]) {
    assert!(width > 0 && others.len().is_multiple_of(width));
    assert_eq!(packed.len(), packed_len(others.len() / width, width));
    let panels = packed.chunks_exact_mut(COLUMNS * width);
    for (panel, others) in panels.zip(others.chunks(COLUMNS * width)) {
        panel.fill(0.0);
        for (column, other) in others.chunks_exact(width).enumerate() {
            for (numbers, value) in panel.chunks_exact_mut(COLUMNS).zip(other) {
                numbers[column] = *value;
            }
        }
    }
}

/// The work of `out[i][j] = sum_k rows[i][k] others[j][k]`, of all rows of this width with so many packed others.
///
/// Panics where the slices are not of such sizes.
pub struct Multiply<'a> {
    pub rows: &'a [f32],
    pub width: usize,
    pub packed: &'a [f32],
    pub others: usize,
    pub out: &'a mut [f32],
}

impl Work for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (rows, width, others) = (self.rows, self.width, self.others);
        assert!(width > 0 && rows.len().is_multiple_of(width));
        assert_eq!(self.packed.len(), packed_len(others, width));
        assert_eq!(self.out.len(), rows.len() / width * others);
        for (panel, packed) in self.packed.chunks_exact(COLUMNS * width).enumerate() {
            let from = panel * COLUMNS;
            let part = Part {
                width,
                panel: packed.as_chunks::<COLUMNS>().0,
                stride: others,
                from,
                columns: COLUMNS.min(others - from),
            };
            part.multiply::<K>(rows, self.out);
        }
    }
}

/// A panel, and where its products go.
struct Part<'a> {
    width: usize,
    panel: &'a [[f32; COLUMNS]],
    /// Products of a row.
    stride: usize,
    /// Where those with this panel begin, and how many they are.
    from: usize,
    columns: usize,
}

impl Part<'_> {
    #[inline(always)]
    fn multiply<K: Isa>(&self, rows: &[f32], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if K::AVX2 {
            // SAFETY: such a build runs only on a processor that was seen to have AVX2 and FMA; the wider vectors are looked for.
            unsafe {
                match crate::tile::wide() {
                    true => {
                        let (rows, out) = self.twelve_by_avx512(rows, out);
                        let (rows, out) = self.three_by_avx512(rows, out);
                        self.one_by_avx512(rows, out);
                    }
                    false => {
                        let (rows, out) = self.six_by_avx2(rows, out);
                        let (rows, out) = self.two_by_avx2(rows, out);
                        self.one_by_avx2(rows, out);
                    }
                }
            }
            return;
        }
        for (row, out) in rows
            .chunks_exact(self.width)
            .zip(out.chunks_exact_mut(self.stride))
        {
            let mut sums = [0.0f32; COLUMNS];
            for (value, numbers) in row.iter().zip(self.panel) {
                for (sum, number) in sums.iter_mut().zip(numbers) {
                    *sum = fuse!(K, *value, *number, *sum);
                }
            }
            self.put(0, &sums, out);
        }
    }

    /// Puts products with the others from the n-th of the panel on among those of a row, as far as there are others.
    #[inline(always)]
    fn put(&self, n: usize, products: &[f32], out: &mut [f32]) {
        let count = self.columns.saturating_sub(n).min(products.len());
        out[self.from + n.min(self.columns)..][..count].copy_from_slice(&products[..count]);
    }
}

/// By vectors: as many rows as are listed by two vectors at a time. Gives back the rows that are left over, and their products.
#[cfg(target_arch = "x86_64")]
macro_rules! by_vectors {
    ($name:ident, $features:literal, [$($row:literal $low:ident $high:ident)*], $width:literal,
     $vector:ident, $zero:ident, $set:ident, $load:ident, $store:ident, $fmadd:ident) => {
        impl Part<'_> {
            #[target_feature(enable = $features)]
            fn $name<'a, 'b>(
                &self,
                rows: &'a [f32],
                out: &'b mut [f32],
            ) -> (&'a [f32], &'b mut [f32]) {
                use std::arch::x86_64::*;
                const ROWS: usize = [$($row),*].len();
                const WIDTH: usize = $width;
                let count = rows.len() / (ROWS * self.width) * ROWS;
                let (together, left) = rows.split_at(count * self.width);
                let (out, out_left) = out.split_at_mut(count * self.stride);
                let some = together.chunks_exact(ROWS * self.width);
                for (rows, out) in some.zip(out.chunks_exact_mut(ROWS * self.stride)) {
                    let row = [$(&rows[$row * self.width..][..self.width]),*];
                    for n in (0..COLUMNS).step_by(2 * WIDTH) {
                        // sums by names, not places: so all stay in registers
                        $(let (mut $low, mut $high) = ($zero(), $zero());)*
                        for (k, numbers) in self.panel.iter().enumerate() {
                            // SAFETY: n and both vectors behind it are within the panel, which is as long as rows are wide;
                            // each row is so wide, as its slice says.
                            unsafe {
                                let own: [$vector; 2] = [
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
                        let sums = [$([$low, $high]),*];
                        for (sums, out) in sums.iter().zip(out.chunks_exact_mut(self.stride)) {
                            let mut own = [0.0f32; 2 * WIDTH];
                            // SAFETY: there is room for both vectors.
                            unsafe {
                                $store(own.as_mut_ptr(), sums[0]);
                                $store(own.as_mut_ptr().add(WIDTH), sums[1]);
                            }
                            self.put(n, &own, out);
                        }
                    }
                }
                (left, out_left)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! by_avx512 {
    ($name:ident, $rows:tt) => {
        by_vectors!(
            $name,
            "avx512f,fma",
            $rows,
            16,
            __m512,
            _mm512_setzero_ps,
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_fmadd_ps
        );
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! by_avx2 {
    ($name:ident, $rows:tt) => {
        by_vectors!(
            $name,
            "avx2,fma",
            $rows,
            8,
            __m256,
            _mm256_setzero_ps,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_fmadd_ps
        );
    };
}

#[cfg(target_arch = "x86_64")]
by_avx512!(twelve_by_avx512, [0 a0 b0 1 a1 b1 2 a2 b2 3 a3 b3 4 a4 b4 5 a5 b5 6 a6 b6 7 a7 b7 8 a8 b8 9 a9 b9 10 a10 b10 11 a11 b11]);
#[cfg(target_arch = "x86_64")]
by_avx512!(three_by_avx512, [0 a0 b0 1 a1 b1 2 a2 b2]);
#[cfg(target_arch = "x86_64")]
by_avx512!(one_by_avx512, [0 a0 b0]);
#[cfg(target_arch = "x86_64")]
by_avx2!(six_by_avx2, [0 a0 b0 1 a1 b1 2 a2 b2 3 a3 b3 4 a4 b4 5 a5 b5]);
#[cfg(target_arch = "x86_64")]
by_avx2!(two_by_avx2, [0 a0 b0 1 a1 b1]);
#[cfg(target_arch = "x86_64")]
by_avx2!(one_by_avx2, [0 a0 b0]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forced::{forced, Forced};
    use crate::level::Level;

    /// Numbers without order, small enough that sums of products are exact.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |at: usize| ((at * 7919 + seed * 104_729) % 17) as f32 - 8.0;
        (0..count).map(number).collect()
    }

    fn products(level: Level, rows: usize, others: usize, width: usize) {
        let (a, b) = (numbers(rows * width, 1), numbers(others * width, 2));
        let mut packed = vec![f32::NAN; packed_len(others, width)];
        pack(&b, width, &mut packed);
        let mut out = vec![f32::NAN; rows * others];
        level.run(Multiply {
            rows: &a,
            width,
            packed: &packed,
            others,
            out: &mut out,
        });
        for (i, row) in a.chunks_exact(width).enumerate() {
            for (j, other) in b.chunks_exact(width).enumerate() {
                let expected: f32 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                assert_eq!(
                    out[i * others + j],
                    expected,
                    "{rows} {others} {width}: {i} {j}"
                );
            }
        }
    }

    #[test]
    fn products_are_those_of_every_row_with_every_other() {
        for level in [Forced::Plain, Forced::Narrow, Forced::Wide] {
            for rows in [1, 5, 6, 12, 13, 31] {
                for others in [1, 15, 16, 17, 32, 33, 70] {
                    for width in [1, 3, 24] {
                        forced(level, || products(Level::best(), rows, others, width));
                    }
                }
            }
        }
    }
}
