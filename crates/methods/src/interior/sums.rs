//! Products of H with vectors, and what a step has to solve: (I + H' D^-1 H) t = H' Y D^-1 v for v = z and v = y. Sums over a
//! machine's rows are added up on the master, which has the Cholesky factor and tells what it solved.

use std::ops::Range;

use crate::base::memory::{filled, OutOfMemory};
use crate::interior::exchange::{Combine, Exchange, Halt};
use crate::interior::factoring::{add, dot, Factored};
use crate::linalg::gram::{Added, Gram};
use crate::linalg::lower::Lower;
use crate::linalg::one_plus::OnePlus;
use crate::simd::{Isa, Level, Work};

/// Numbers of H between two looks for interrupts, where each is read a few times, and where products of rows are taken.
const LINEAR: usize = 1 << 20;
const SQUARES: usize = 1 << 24;

/// Calls `work` with runs of rows of H that take a few milliseconds each, where a row takes `each`.
fn in_runs(
    factored: &Factored,
    each: usize,
    most: usize,
    work: impl FnMut(Range<usize>, &[f32]),
) -> Result<(), Halt> {
    let at_once = (most / each.max(1)).max(1);
    factored.values().in_runs(factored.rank(), at_once, work)
}

/// Rows of H, one after the other.
#[derive(Clone, Copy)]
struct HRows<'a> {
    values: &'a [f32],
    stride: usize,
    rank: usize,
    constant: f64,
}

impl<'a> HRows<'a> {
    fn of(factored: &Factored, values: &'a [f32]) -> Self {
        Self {
            values,
            stride: factored.stride(),
            rank: factored.rank(),
            constant: factored.constant,
        }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.stride..][..self.rank]
    }
}

/// `sum += factor h` over rows, the constant's behind it.
pub(super) struct Gather<'a> {
    rows: HRows<'a>,
    factors: &'a [f64],
    sum: &'a mut [f64],
}

impl Gather<'_> {
    pub(super) fn over(
        level: Level,
        factored: &Factored,
        factors: &[f64],
        sum: &mut [f64],
    ) -> Result<(), Halt> {
        in_runs(factored, factored.rank(), LINEAR, |rows, values| {
            level.run(Gather {
                rows: HRows::of(factored, values),
                factors: &factors[rows],
                sum,
            });
        })
    }
}

impl Work for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, factor) in self.factors.iter().enumerate() {
            if *factor != 0.0 {
                let values = self.rows.row(row);
                for (sum, value) in self.sum.iter_mut().zip(values) {
                    *sum = add::<K>(*factor, f64::from(*value), *sum);
                }
                self.sum[values.len()] += factor * self.rows.constant;
            }
        }
    }
}

/// `out = <w, h>` by row.
pub(super) struct Decide<'a> {
    rows: HRows<'a>,
    w: &'a [f64],
    out: &'a mut [f64],
}

impl Decide<'_> {
    pub(super) fn over(
        level: Level,
        factored: &Factored,
        w: &[f64],
        out: &mut [f64],
    ) -> Result<(), Halt> {
        in_runs(factored, factored.rank(), LINEAR, |rows, values| {
            level.run(Decide {
                rows: HRows::of(factored, values),
                w,
                out: &mut out[rows],
            });
        })
    }
}

impl Work for Decide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (w, last) = self.w.split_at(self.rows.rank);
        let last = last.first().map_or(0.0, |last| self.rows.constant * last);
        for (row, out) in self.out.iter_mut().enumerate() {
            *out = dot::<K>(self.rows.row(row), w) + last;
        }
    }
}

/// Adds products of rows with themselves, each by its 1 / D.
struct Square<'a> {
    gram: &'a mut Gram,
    rows: HRows<'a>,
    inverse: &'a [f64],
}

impl Work for Square<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, inverse) in self.inverse.iter().enumerate() {
            if *inverse != 0.0 {
                self.gram.add::<K>(Added {
                    dense: self.rows.row(row),
                    sparse: &[],
                    constant: self.rows.constant,
                    weight: *inverse,
                });
            }
        }
    }
}

/// The matrix of a step, and what is solved with it.
pub(super) struct Normal {
    gram: Gram,
    /// On the master the factor.
    factor: Option<OnePlus>,
    solved: Vec<f64>,
}

impl Normal {
    pub(super) fn new(rank: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            gram: Gram::new(rank + 1)?,
            factor: None,
            solved: filled(0.0, rank + 1)?,
        })
    }

    /// Bytes for H of so many columns: on the master, which holds what others send while it adds that to its own, the most.
    pub(super) fn bytes(rank: usize) -> usize {
        Gram::bytes(rank + 1) + 16 * Lower::numbers(rank + 1) + 64 * rank
    }

    /// Sums up I + H' D^-1 H, of each row's 1 / D, 0 where it takes no part, and has the master factor it.
    pub(super) fn factor<E: Exchange>(
        &mut self,
        level: Level,
        factored: &Factored,
        inverse: &[f64],
        exchange: &mut E,
    ) -> Result<(), Halt> {
        let rank = factored.rank();
        if let Some(before) = self.factor.take() {
            *self.gram.sums_mut() = before.into_memory();
        }
        self.gram.clear();
        let gram = &mut self.gram;
        in_runs(factored, rank * rank / 2, SQUARES, |rows, values| {
            level.run(Square {
                gram: &mut *gram,
                rows: HRows::of(factored, values),
                inverse: &inverse[rows],
            });
        })?;
        self.gram.finish(level);
        exchange.combine(self.gram.sums_mut().numbers_mut(), Combine::Sum)?;
        if exchange.own() == 0 {
            self.factor_sums(level)?;
        }
        Ok(())
    }

    fn factor_sums(&mut self, level: Level) -> Result<(), OutOfMemory> {
        let matrix = std::mem::replace(self.gram.sums_mut(), Lower::NONE);
        let mut factor = OnePlus::new(matrix)?;
        while !factor.step(level) {}
        self.factor = Some(factor);
        Ok(())
    }

    /// t of (I + H' D^-1 H) t = the sum of factors times rows of H.
    pub(super) fn solve<E: Exchange>(
        &mut self,
        level: Level,
        factored: &Factored,
        factors: &[f64],
        exchange: &mut E,
    ) -> Result<&[f64], Halt> {
        self.solved.fill(0.0);
        Gather::over(level, factored, factors, &mut self.solved)?;
        exchange.combine(&mut self.solved, Combine::Sum)?;
        // the others wait for what the master solves, whose sum with their nothing it is
        match &self.factor {
            Some(factor) => factor.solve(&mut self.solved),
            None => self.solved.fill(0.0),
        }
        exchange.combine(&mut self.solved, Combine::Sum)?;
        Ok(&self.solved)
    }
}
