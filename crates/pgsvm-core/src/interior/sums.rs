//! Products of H with vectors, and what a step has to solve: (I + H' D^-1 H) t = H' Y D^-1 v for v = z and v = y. Sums over a
//! machine's rows are added up on the master, which has the Cholesky factor and tells what it solved.

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory};
use crate::interior::exchange::{zeroed, Combine, Exchange, Halt};
use crate::interior::factoring::{add, dot, Factored};
use crate::linalg::cholesky::Cholesky;
use crate::linalg::gram::{Added, Gram};
use crate::linalg::lower::Lower;
use crate::simd::{Isa, Level, Work};

/// Numbers of H between two looks for interrupts, where each is gone over a few times, and where products of rows are taken.
const LINEAR: usize = 1 << 20;
const SQUARES: usize = 1 << 24;

/// Calls `work` with runs of rows that take a few milliseconds each, where a row takes `each`.
fn in_runs(rows: usize, each: usize, most: usize, mut work: impl FnMut(std::ops::Range<usize>)) {
    let at_once = (most / each.max(1)).max(1);
    for first in (0..rows).step_by(at_once) {
        work(first..rows.min(first + at_once));
        interrupts::check();
    }
}

/// `sum += factor h` over rows.
pub(super) struct Gather<'a> {
    factored: &'a Factored,
    first: usize,
    factors: &'a [f64],
    sum: &'a mut [f64],
}

impl Gather<'_> {
    pub(super) fn over(level: Level, factored: &Factored, factors: &[f64], sum: &mut [f64]) {
        in_runs(factors.len(), factored.rank(), LINEAR, |rows| {
            level.run(Gather {
                factored,
                first: rows.start,
                factors: &factors[rows],
                sum,
            });
        });
    }
}

impl Work for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, factor) in self.factors.iter().enumerate() {
            if *factor != 0.0 {
                let values = self.factored.row(self.first + row);
                for (sum, value) in self.sum.iter_mut().zip(values) {
                    *sum = add::<K>(*factor, f64::from(*value), *sum);
                }
            }
        }
    }
}

/// `out = <w, h>` by row.
pub(super) struct Decide<'a> {
    factored: &'a Factored,
    first: usize,
    w: &'a [f64],
    out: &'a mut [f64],
}

impl Decide<'_> {
    pub(super) fn over(level: Level, factored: &Factored, w: &[f64], out: &mut [f64]) {
        in_runs(out.len(), factored.rank(), LINEAR, |rows| {
            level.run(Decide {
                factored,
                first: rows.start,
                w,
                out: &mut out[rows],
            });
        });
    }
}

impl Work for Decide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, out) in self.out.iter_mut().enumerate() {
            *out = dot::<K>(self.factored.row(self.first + row), self.w);
        }
    }
}

/// Adds products of rows with themselves, each by its 1 / D.
struct Square<'a> {
    gram: &'a mut Gram,
    factored: &'a Factored,
    first: usize,
    sides: &'a [f64],
    inverse: &'a [f64],
}

impl Work for Square<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let rows = self.sides.iter().zip(self.inverse).enumerate();
        for (row, (side, inverse)) in rows {
            if *side != 0.0 {
                self.gram.add::<K>(Added {
                    dense: self.factored.row(self.first + row),
                    sparse: &[],
                    constant: 0.0,
                    weight: *inverse,
                });
            }
        }
    }
}

struct Finish<'a>(&'a mut Gram);

impl Work for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.0.finish::<K>();
    }
}

/// The matrix of a step, and what is solved with it.
pub(super) struct Normal {
    gram: Gram,
    /// H' Y D^-1 z, and behind it H' D^-1 1, as y times Y is 1; then what was solved.
    sides: Vec<f64>,
    scales: Vec<f64>,
    factors: Vec<f64>,
}

impl Normal {
    pub(super) fn new(rank: usize, rows: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            gram: Gram::new(rank + 1)?,
            sides: filled(0.0, 2 * rank)?,
            scales: filled(1.0, rank + 1)?,
            factors: filled(0.0, rows)?,
        })
    }

    /// Bytes for H of so many columns: on the master, which holds what others send while it adds that to its own, the most.
    pub(super) fn bytes(rank: usize) -> usize {
        Gram::bytes(rank + 1) + 16 * Lower::numbers(rank + 1) + 64 * rank
    }

    /// t for z and for y, of what each row's side, 1 / D and z are.
    pub(super) fn solve<E: Exchange>(
        &mut self,
        level: Level,
        factored: &Factored,
        (sides, inverse, z): (&[f64], &[f64], &[f64]),
        exchange: &mut E,
    ) -> Result<[Vec<f64>; 2], Halt> {
        let rank = factored.rank();
        self.gram.clear();
        in_runs(sides.len(), rank * rank / 2, SQUARES, |rows| {
            level.run(Square {
                gram: &mut self.gram,
                factored,
                first: rows.start,
                sides: &sides[rows.clone()],
                inverse: &inverse[rows],
            });
        });
        level.run(Finish(&mut self.gram));
        exchange.combine(self.gram.sums_mut().numbers_mut(), Combine::Sum)?;
        zeroed(&mut self.sides, 2 * rank)?;
        let (of_z, of_y) = self.sides.split_at_mut(rank);
        for (row, factor) in self.factors.iter_mut().enumerate() {
            *factor = sides[row] * inverse[row] * z[row];
        }
        Gather::over(level, factored, &self.factors, of_z);
        for (row, factor) in self.factors.iter_mut().enumerate() {
            *factor = sides[row].abs() * inverse[row];
        }
        Gather::over(level, factored, &self.factors, of_y);
        exchange.combine(&mut self.sides, Combine::Sum)?;
        // the others wait for what the master solves, whose sum with their nothing it is
        match exchange.own() {
            0 => self.solve_both(level, rank),
            _ => self.sides.fill(0.0),
        }
        exchange.combine(&mut self.sides, Combine::Sum)?;
        let copy = |half: &[f64]| crate::base::memory::copied(half);
        Ok([copy(&self.sides[..rank])?, copy(&self.sides[rank..])?])
    }

    /// Factors I + H' D^-1 H in the scale in which its diagonal is 1, and solves with it.
    fn solve_both(&mut self, level: Level, rank: usize) {
        let mut matrix = std::mem::replace(self.gram.sums_mut(), Lower::NONE);
        for (column, scale) in self.scales.iter_mut().enumerate() {
            *scale = (1.0 + matrix.get(column, column)).sqrt().recip();
        }
        matrix.scale(&self.scales, 1.0);
        for column in 0..=rank {
            matrix.set(column, column, 1.0);
        }
        let mut cholesky = Cholesky::new(matrix);
        while !cholesky.is_done() {
            cholesky.step(level);
            interrupts::check();
        }
        for side in self.sides.chunks_exact_mut(rank) {
            solve_scaled(&cholesky, &self.scales, side);
        }
        *self.gram.sums_mut() = cholesky.into_memory();
    }
}

fn solve_scaled(cholesky: &Cholesky, scales: &[f64], side: &mut [f64]) {
    for (value, scale) in side.iter_mut().zip(scales) {
        *value *= scale;
    }
    cholesky.solve(side);
    for (value, scale) in side.iter_mut().zip(scales) {
        *value *= scale;
    }
}
