//! Lower triangular matrices: the factor L of K = L L', what is solved by it, and its inverse.
//!
//! Rows are taken [`COLUMNS`] at a time: what the rows before say of them is a matrix product, and only the little square on the
//! diagonal goes entry by entry. A factor and an inverse take n³ / 3 multiplications each.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory};
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

/// What factors of kernel values are as weights of phi(x): L' a.
pub fn unfold(lower: &[f64], factors: &[f64]) -> Result<Vec<f64>, OutOfMemory> {
    let rank = factors.len();
    let mut weights = filled(0.0, rank)?;
    for (row, factor) in factors.iter().enumerate() {
        for (weight, lower) in weights.iter_mut().zip(&lower[row * rank..][..=row]) {
            *weight += lower * factor;
        }
        interrupts::worked(row);
    }
    Ok(weights)
}

/// L^-1 v in place of v: what a sum of kernel values of rows is as a sum of their phi(x).
pub fn forward(lower: &[f64], v: &mut [f64]) {
    let rank = v.len();
    for row in 0..rank {
        let lower = &lower[row * rank..][..=row];
        let (before, own) = v.split_at_mut(row);
        let known: f64 = before.iter().zip(lower).map(|(v, lower)| v * lower).sum();
        own[0] = (own[0] - known) / lower[row];
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
