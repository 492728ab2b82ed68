//! Lower triangular matrices: the factor L of K = L L', what is solved by it, and its inverse.
//!
//! Rows are taken [`COLUMNS`] at a time: what the rows before say of them is a matrix product, and only the little square on the
//! diagonal goes entry by entry. A factor and an inverse take n³ / 3 multiplications each.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory};
use crate::rounding::summed;
use crate::simd::panels::{pack, packed_len, Lines, Multiply, Number, COLUMNS};
use crate::simd::Level;

/// Rows of each panel of a matrix of this size, and how many numbers of them may be other than 0.
fn panels(size: usize) -> impl Iterator<Item = (Range<usize>, usize)> {
    let until = move |from: usize| (from + COLUMNS).min(size);
    let starts = (0..size).step_by(COLUMNS);
    starts.map(move |from| (from..until(from), until(from)))
}

/// Numbers of all its panels.
fn packed_len_of(size: usize) -> usize {
    let of_panel = |(rows, width): (Range<usize>, usize)| packed_len(rows.len(), width);
    panels(size).map(of_panel).sum()
}

/// A lower triangular matrix whose rows are multiplied with others, in panels, each as wide as its last row is.
#[derive(Debug)]
pub(crate) struct Triangle<T> {
    size: usize,
    packed: Vec<T>,
}

impl<T: Number> Triangle<T> {
    /// L^-1 of a matrix of this size, row after row, each number as `number` has it.
    ///
    /// Of rows R of the inverse, `I - L[R, before] L^-1[before]` is what the rows before leave, panel of columns by panel; L[R, R]
    /// is then solved for them.
    pub(crate) fn inverse(
        lower: &[f64],
        size: usize,
        number: impl Fn(f64) -> T,
    ) -> Result<Self, OutOfMemory> {
        let level = Level::best();
        let mut packed = filled(T::default(), packed_len_of(size))?;
        // of each panel of columns the rows from its first on: as others are packed
        let start =
            |panel: usize| COLUMNS * panel * size - COLUMNS * COLUMNS * (panel * panel - panel) / 2;
        let mut inverse = filled(0.0, start(size.div_ceil(COLUMNS)))?;
        let mut left = &mut packed[..];
        for (block, (rows, width)) in panels(size).enumerate() {
            let own = left.split_off_mut(..packed_len(rows.len(), width));
            let own = own.unwrap_or_default();
            for panel in 0..=block {
                let first = panel * COLUMNS;
                let known = rows.start - first;
                let of_panel = &mut inverse[start(panel)..start(panel + 1)];
                let (before, found) = of_panel.split_at_mut(known * COLUMNS);
                let found = &mut found[..rows.len() * COLUMNS];
                if known > 0 {
                    level.run(Multiply {
                        rows: Lines::close(&lower[rows.start * size + first..], size, rows.len()),
                        width: known,
                        packed: before,
                        others: COLUMNS,
                        out: Lines::close(&mut *found, COLUMNS, rows.len()),
                        subtract: true,
                    });
                } else {
                    let diagonal = found.iter_mut().step_by(COLUMNS + 1);
                    diagonal.for_each(|entry| *entry = 1.0);
                }
                solve(&lower[rows.start * size + rows.start..], size, found);
                // of each column of the panel, the numbers of these rows: as the rows of a packed one lie
                let of_columns = own[first * COLUMNS..].chunks_exact_mut(COLUMNS);
                for (column, numbers) in of_columns.take(COLUMNS.min(width - first)).enumerate() {
                    let found = found.iter().skip(column).step_by(COLUMNS);
                    for (entry, value) in numbers.iter_mut().zip(found) {
                        *entry = number(*value);
                    }
                }
                interrupts::worked(rows.len() * (known + COLUMNS) * COLUMNS / 4);
            }
        }
        Ok(Self { size, packed })
    }

    /// Its products with vectors, which lie one behind the other, likewise in `out`.
    pub(crate) fn times(&self, level: Level, vectors: &[T], out: &mut [T]) {
        let count = vectors.len() / self.size.max(1);
        let mut from = 0;
        for (rows, width) in panels(self.size) {
            let until = from + packed_len(rows.len(), width);
            level.run(Multiply {
                rows: Lines::close(vectors, self.size, count),
                width,
                packed: &self.packed[from..until],
                others: rows.len(),
                out: Lines::close(&mut out[rows.start..], self.size, count),
                subtract: false,
            });
            from = until;
            // vectors take several at a time
            interrupts::worked(count * rows.len() * width / 8);
        }
    }
}

impl<T: Copy + Into<f64>> Triangle<T> {
    /// Its norm at most: the smaller of that of all its numbers as one vector, and of the root of the largest sums of sizes of a row and of a
    /// column.
    fn norm(&self) -> Result<f64, OutOfMemory> {
        let mut columns = filled(0.0, self.size)?;
        let (mut squares, mut widest) = (0.0, 0.0f64);
        let mut left = &self.packed[..];
        for (rows, width) in panels(self.size) {
            let own = left.split_off(..packed_len(rows.len(), width));
            let mut sums = [0.0; COLUMNS];
            for (column, numbers) in columns
                .iter_mut()
                .zip(own.unwrap_or_default().as_chunks().0)
            {
                let numbers: &[T; COLUMNS] = numbers;
                for (sum, number) in sums.iter_mut().zip(numbers) {
                    let number: f64 = (*number).into();
                    *sum += number.abs();
                    *column += number.abs();
                    squares += number * number;
                }
            }
            widest = sums.into_iter().fold(widest, f64::max);
            interrupts::worked(COLUMNS * width);
        }
        let tallest = columns.into_iter().fold(0.0, f64::max);
        Ok(f64::sqrt(squares.min(widest * tallest)))
    }

    /// What no eigenvalue of K is below, by a factor L of it and this as its inverse; `off`: the norm of what values of K may be off in 64 bits.
    ///
    /// Of n rows, L L' is K but for n 2^-53 |L| |L'|, and L times its inverse is I but for n 2^-53 |L| |L^-1|, entry by entry (Higham, *Accuracy
    /// and Stability of Numerical Algorithms*, 2002, theorems 8.5 and 10.3). The norm of |L| |L'|, which is symmetric, is no more than the
    /// largest sum of a row.
    pub(crate) fn least_eigenvalue(&self, lower: &[f64], off: f64) -> Result<f64, OutOfMemory> {
        let size = self.size;
        // a pivot, a quotient and 32 bits beside
        let rounding = summed(size + 16);
        let rows = || lower.chunks_exact(size);
        let mut columns = filled(0.0, size)?;
        let mut squares = 0.0;
        for row in rows() {
            for (column, number) in columns.iter_mut().zip(row) {
                *column += number.abs();
                squares += number * number;
            }
        }
        let of_row = |row: &[f64]| {
            let products = row
                .iter()
                .zip(&columns)
                .map(|(number, sum)| number.abs() * sum);
            products.sum::<f64>()
        };
        let sizes = rows().map(of_row).fold(0.0, f64::max);
        interrupts::worked(lower.len());
        let inverse = (1.0 + 1e-6) * self.norm()?;
        let is_off = rounding * f64::sqrt(squares) * inverse;
        let root = (1.0 - is_off).max(0.0) / inverse;
        Ok((root * root - rounding * sizes.min(squares) - off).max(0.0))
    }
}

/// Solves a square of L, whose rows lie so far apart, for as many rows of [`COLUMNS`] numbers, in their place.
fn solve(lower: &[f64], stride: usize, rows: &mut [f64]) {
    for row in 0..rows.len() / COLUMNS {
        let (before, own) = rows.split_at_mut(row * COLUMNS);
        let own = &mut own[..COLUMNS];
        let factors = &lower[row * stride..][..=row];
        for (known, factor) in before.chunks_exact(COLUMNS).zip(factors) {
            for (own, known) in own.iter_mut().zip(known) {
                *own -= factor * known;
            }
        }
        own.iter_mut().for_each(|value| *value /= factors[row]);
    }
}

/// L of K = L L', in place of K, row after row; false where K has none.
pub(crate) fn factor(k: &mut [f64], size: usize) -> Result<bool, OutOfMemory> {
    let level = Level::best();
    // what is found, packed; and once more of the rows that are being found
    let mut packed = filled(0.0, packed_len_of(size))?;
    let mut own = filled(0.0, COLUMNS * size)?;
    let mut from = 0;
    for (rows, width) in panels(size) {
        let until = from + packed_len(rows.len(), width);
        let mut of_panel = 0;
        for (others, others_width) in panels(width) {
            let before = others.start;
            if before == rows.start && before > 0 {
                let found = Lines::close(&own[..], size, rows.len());
                pack(found, width, &mut packed[from..until], |value| value);
            }
            if before > 0 {
                level.run(Multiply {
                    rows: Lines::close(&own[..], size, rows.len()),
                    width: before,
                    packed: &packed[of_panel..][..packed_len(others.len(), before)],
                    others: others.len(),
                    out: Lines::close(&mut k[rows.start * size + before..], size, rows.len()),
                    subtract: true,
                });
            }
            for (row, own) in rows.clone().zip(own.chunks_exact_mut(size)) {
                if !solve_row(k, size, row, others.clone()) {
                    return Ok(false);
                }
                own[others.clone()].copy_from_slice(&k[row * size..][others.clone()]);
            }
            of_panel += packed_len(others.len(), others_width);
            interrupts::worked(rows.len() * (before + COLUMNS) * others.len() / 4);
        }
        let found = Lines::close(&own[..], size, rows.len());
        pack(found, width, &mut packed[from..until], |value| value);
        from = until;
    }
    Ok(true)
}

/// Finds some columns of a row of L, of which those before have been taken off; false where it has none.
fn solve_row(k: &mut [f64], size: usize, row: usize, columns: Range<usize>) -> bool {
    let (before, own) = k.split_at_mut(row * size);
    let own = &mut own[..size];
    for column in columns.start..columns.end.min(row) {
        let known = &before[column * size..][..=column];
        let found = columns.start..column;
        let sum: f64 = own[found.clone()]
            .iter()
            .zip(&known[found])
            .map(|(a, b)| a * b)
            .sum();
        own[column] = (own[column] - sum) / known[column];
    }
    if columns.contains(&row) {
        let found = own[columns.start..row].iter();
        let left = own[row] - found.map(|value| value * value).sum::<f64>();
        if left.is_nan() || left <= 0.0 {
            return false;
        }
        own[row] = left.sqrt();
        own[row + 1..].fill(0.0);
    }
    true
}

/// L^-1 v in place of v: what a sum of kernel values of rows is as a sum of their phi(x).
pub fn forward(lower: &[f64], v: &mut [f64]) {
    forward_by_rows(lower.chunks_exact(v.len().max(1)), v);
}

/// The same of rows of L, each up to the diagonal or further.
pub fn forward_by_rows<'a>(lower: impl Iterator<Item = &'a [f64]>, v: &mut [f64]) {
    for (row, lower) in lower.take(v.len()).enumerate() {
        let (before, own) = v.split_at_mut(row);
        let known: f64 = before.iter().zip(lower).map(|(v, lower)| v * lower).sum();
        own[0] = (own[0] - known) / lower[row];
        interrupts::worked(row);
    }
}

/// L^-T w in place of w, from the last to the first: what weights of phi(x) are as factors of kernel values.
pub fn backward(lower: &[f64], w: &mut [f64]) {
    let rank = w.len();
    for row in (0..rank).rev() {
        let factors = &lower[row * rank..][..rank];
        let (before, own) = w.split_at_mut(row);
        own[0] /= factors[row];
        for (before, factor) in before.iter_mut().zip(factors) {
            *before -= factor * own[0];
        }
        interrupts::worked(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced::{forced, Forced};

    /// L of this size: entries without order below a diagonal that is larger.
    fn lower(size: usize) -> Vec<f64> {
        let entry = |at: usize| match (at / size, at % size) {
            (row, column) if row < column => 0.0,
            (row, column) if row == column => 2.0 + (row % 3) as f64,
            (row, column) => ((row * 7919 + column * 104_729) % 17) as f64 / 100.0 - 0.08,
        };
        (0..size * size).map(entry).collect()
    }

    fn product(a: &[f64], b_rows: &[f64], size: usize) -> Vec<f64> {
        let rows = |m: &[f64]| m.chunks(size).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let (a, b) = (rows(a), rows(b_rows));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        let of_row = |a: &Vec<f64>| b.iter().map(|b| dot(a, b)).collect::<Vec<f64>>();
        a.iter().flat_map(of_row).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() <= 1e-9, "{at}: {found} {expected}");
        }
    }

    const SIZES: [usize; 8] = [1, 2, 31, 32, 33, 64, 70, 130];

    #[test]
    fn the_factor_of_a_product_with_itself_is_the_matrix() {
        for level in [Forced::Plain, Forced::Narrow, Forced::Wide] {
            for size in SIZES {
                let lower = lower(size);
                let mut k = product(&lower, &lower, size);
                assert!(forced(level, || factor(&mut k, size)).unwrap());
                assert_close(&k, &lower);
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        for size in SIZES {
            let lower = lower(size);
            let mut k = product(&lower, &lower, size);
            k[size * size - 1] = -1.0;
            assert!(!factor(&mut k, size).unwrap());
        }
    }

    /// Of diagonals that fall from 1 to little: the bound is at most n times too small, and nothing is certain of less than rounding.
    #[test]
    fn no_eigenvalue_is_below_the_bound() {
        for size in SIZES {
            for last in [1.0, 1e-3, 1e-6, 1e-12] {
                let mut lower = lower(size);
                lower[size * size - 1] = last;
                let inverse = Triangle::inverse(&lower, size, |value| value as f32).unwrap();
                let bound = inverse.least_eigenvalue(&lower, 0.0).unwrap();
                // the power method with K^-1
                let mut vector = vec![1.0; size];
                let mut least = f64::INFINITY;
                for _ in 0..2000 {
                    forward(&lower, &mut vector);
                    backward(&lower, &mut vector);
                    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
                    vector.iter_mut().for_each(|x| *x /= length);
                    least = 1.0 / length;
                }
                let what = format!("{size}, {last}: {bound} of {least}");
                assert!(bound <= least * (1.0 + 1e-9), "{what}");
                assert!(last < 1e-6 || bound >= least / size as f64 / 1.01, "{what}");
            }
            let (lower, least) = (lower(size), 1e300);
            let inverse = Triangle::inverse(&lower, size, |value| value).unwrap();
            assert_eq!(inverse.least_eigenvalue(&lower, least).unwrap(), 0.0);
        }
    }

    #[test]
    fn the_inverse_gives_vectors_back() {
        for level in [Forced::Plain, Forced::Narrow, Forced::Wide] {
            for size in SIZES {
                let lower = lower(size);
                let vectors: Vec<f64> = (0..3 * size).map(|at| (at % 11) as f64 - 5.0).collect();
                let multiplied = product(&vectors, &lower, size);
                let mut found = vec![f64::NAN; 3 * size];
                forced(level, || {
                    let inverse = Triangle::inverse(&lower, size, |value| value).unwrap();
                    inverse.times(Level::best(), &multiplied, &mut found);
                });
                assert_close(&found, &vectors);
            }
        }
    }
}
