//! The Cholesky factorization A = L L' of a symmetric positive definite matrix, in place and a panel at a time. The factorization
//! and the solutions with it check for interrupts.
//!
//! Left-looking and blocked (Golub and Van Loan, Matrix Computations, 4th edition, section 4.2): from the square of a
//! panel the product of the columns before it is subtracted; then it is divided by the factor on the diagonal.

use crate::base::interrupts;
use crate::lower::{Before, Lower, SQUARE};
use crate::simd::tile::{self, PANEL};
use crate::simd::{Isa, Level, Work};

/// Pivots of a matrix whose diagonal is 1 that are no more than rounding. Their rows depend on those before them as far as
/// numbers are exact, and are left out: the solution is 0 there.
const ROUNDING: f64 = 1e-14;
/// The factor on the diagonal that leaves a row out.
const LEFT_OUT: f64 = 1e150;

/// A factorization under way, or done.
pub struct Cholesky {
    matrix: Lower,
    /// Panels that are those of L.
    done: usize,
}

impl Cholesky {
    /// Begins to factor this matrix, whose diagonal is 1.
    pub fn new(matrix: Lower) -> Self {
        Self { matrix, done: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.done == self.matrix.panels()
    }

    /// The matrix's memory back, whatever it holds.
    pub fn into_memory(self) -> Lower {
        self.matrix
    }

    /// Multiplications of the next step.
    pub fn products(&self) -> usize {
        let before = self.done * PANEL;
        PANEL * (before + PANEL) * (before + PANEL) / 2
    }

    /// Factors another panel.
    pub fn step(&mut self, level: Level) {
        let (panel, before) = self.matrix.panel_mut(self.done);
        level.run(Panel { panel, before });
        self.done += 1;
    }

    /// x in place of b, of L L' x = b.
    pub fn solve(&self, b: &mut [f64]) {
        for panel in 0..self.matrix.panels() {
            let first = panel * PANEL;
            let (known, own) = b.split_at_mut(first);
            let columns = self.matrix.panel(panel);
            for (column, known) in columns.iter().zip(&*known) {
                for (own, factor) in own.iter_mut().zip(column) {
                    *own -= factor * known;
                }
            }
            interrupts::worked(PANEL * columns.len());
            let square = &columns[first..];
            for row in 0..own.len().min(PANEL) {
                for before in 0..row {
                    own[row] -= square[before][row] * own[before];
                }
                own[row] /= square[row][row];
            }
        }
        for panel in (0..self.matrix.panels()).rev() {
            let first = panel * PANEL;
            let (before, own) = b.split_at_mut(first);
            let rows = own.len().min(PANEL);
            let columns = self.matrix.panel(panel);
            let square = &columns[first..];
            for row in (0..rows).rev() {
                own[row] /= square[row][row];
                for other in 0..row {
                    own[other] -= square[other][row] * own[row];
                }
            }
            for (column, before) in columns.iter().zip(before) {
                let products = column.iter().zip(&own[..rows]);
                *before -= products.map(|(factor, x)| factor * x).sum::<f64>();
            }
            interrupts::worked(PANEL * columns.len());
        }
    }
}

/// A panel to be factored, and the factors before it.
struct Panel<'a> {
    panel: &'a mut [[f64; PANEL]],
    before: Before<'a>,
}

impl Work for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let panels = self.panel.len() / PANEL;
        for other in 0..panels - 1 {
            let columns = self.before.panel(other);
            let (known, square) = self.panel.split_at_mut(other * PANEL);
            let square = &mut square[..PANEL];
            tile::add::<K>(square, -1.0, &columns[..known.len()], known);
            divide(square, &columns[known.len()..]);
            interrupts::worked(SQUARE * PANEL * (other + 1));
        }
        let (known, square) = self.panel.split_at_mut((panels - 1) * PANEL);
        tile::add::<K>(square, -1.0, known, known);
        factor(square);
    }
}

/// Divides a square by a factor on the diagonal.
#[inline(always)]
fn divide(square: &mut [[f64; PANEL]], by: &[[f64; PANEL]]) {
    for column in 0..PANEL {
        let (known, rest) = square.split_at_mut(column);
        let own = &mut rest[0];
        for (known, by) in known.iter().zip(by) {
            for (own, known) in own.iter_mut().zip(known) {
                *own -= by[column] * known;
            }
        }
        let inverse = 1.0 / by[column][column];
        own.iter_mut().for_each(|value| *value *= inverse);
    }
}

/// Factors a square on the diagonal.
#[inline(always)]
fn factor(square: &mut [[f64; PANEL]]) {
    for column in 0..PANEL {
        let (known, rest) = square.split_at_mut(column);
        let own = &mut rest[0];
        for known in known.iter() {
            for row in column..PANEL {
                own[row] -= known[column] * known[row];
            }
        }
        let pivot = match own[column] > ROUNDING {
            true => own[column].sqrt(),
            false => LEFT_OUT,
        };
        own[column] = pivot;
        own[column + 1..]
            .iter_mut()
            .for_each(|value| *value /= pivot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    /// Products of random rows, and a little on the diagonal.
    fn matrix(n: usize) -> Vec<Vec<f64>> {
        let mut random = Random::new(n as u64, Stream::Trainer);
        let mut next = || f64::from(random.below(2001) as u32) / 1000.0 - 1.0;
        let rows: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..n + 5).map(|_| next()).collect())
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let scale: Vec<f64> = rows
            .iter()
            .map(|row| (dot(row, row) + 0.1).sqrt())
            .collect();
        let entry = |i: usize, j: usize| {
            let own = if i == j { 0.1 } else { 0.0 };
            (dot(&rows[i], &rows[j]) + own) / (scale[i] * scale[j])
        };
        (0..n)
            .map(|i| (0..n).map(|j| entry(i, j)).collect())
            .collect()
    }

    fn lower(of: &[Vec<f64>]) -> Lower {
        let mut lower = Lower::new(of.len()).unwrap();
        for (i, row) in of.iter().enumerate() {
            for (j, value) in row[..=i].iter().enumerate() {
                lower.set(i, j, *value);
            }
        }
        lower
    }

    fn factored(matrix: Lower, level: Level) -> Cholesky {
        let mut cholesky = Cholesky::new(matrix);
        while !cholesky.is_done() {
            cholesky.step(level);
        }
        cholesky
    }

    #[test]
    fn solves_systems_of_any_size_by_any_build() {
        for level in [Level::PLAIN, Level::best()] {
            for n in [1, 2, 23, 24, 25, 48, 131] {
                let a = matrix(n);
                let x: Vec<f64> = (0..n).map(|i| i as f64 - 3.0).collect();
                let mut b: Vec<f64> = a
                    .iter()
                    .map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum())
                    .collect();
                factored(lower(&a), level).solve(&mut b);
                for (b, x) in b.iter().zip(&x) {
                    assert!((b - x).abs() < 1e-8 * n as f64, "{n}: {b} and {x}");
                }
            }
        }
    }

    #[test]
    fn rows_that_depend_on_others_are_left_out() {
        let mut a = matrix(60);
        let first: Vec<f64> = a.iter().map(|row| row[0]).collect();
        for (row, own) in a.iter_mut().zip(&first) {
            row[40] = *own;
        }
        a[40] = first;
        a[40][40] = 1.0;
        let mut b = vec![1.0; 60];
        factored(lower(&a), Level::best()).solve(&mut b);
        assert_eq!(b[40] as f32, 0.0);
        assert!(b.iter().all(|x| x.is_finite()));
        let product: f64 = a[3].iter().zip(&b).map(|(a, x)| a * x).sum();
        assert!((product - 1.0).abs() < 1e-8, "{product}");
    }
}
