//! Steps along pairs of candidates that do not change the sum of y a: with a free intercept it must stay 0.
//!
//! ```text
//! gradient  g_i = f_i - y_i p + y_i d_i a_i, the derivative of -D along y_i a_i; an intercept in f adds the same to all
//! first     of those whose y a can rise, the candidate with the smallest g_i
//! second    of those whose y a can fall, the one with which -D falls most if bounds are left aside,
//!           (g_j - g_i)² / (2 (K_ii + K_jj - 2 K_ij)),   K with d on its diagonal, where g_j > g_i
//! update    y_i a_i rises and y_j a_j falls by the same, as far as the bounds of both let them; then f of all candidates
//! optimum   no g_j of the second kind is above a g_i of the first
//! ```
//!
//! Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6, 2005: WSS 2.

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::exact::kernel_rows::KernelRows;
use crate::exact::pairs::{add, most_gain, Best, Gains, Step, BLOCK, INNER, LEAST, STEPS};
use crate::objective::loss::signed_gradient;
use crate::simd::{Isa, Level, Work};
use std::ops::Range;

/// Gradients that are less apart are the same: decisions lose more by rounding.
const SAME: f64 = 1e-12;

/// What of candidates the steps go through.
pub(super) struct TiedPairs<'a> {
    candidates: &'a mut Candidates,
    kernel_rows: &'a KernelRows,
    level: Level,
    /// Whether the kernel row of a candidate is there.
    present: Vec<bool>,
    /// -g of those that can rise, and g of those that can fall, else minus infinity.
    rising: Vec<f32>,
    falling: Vec<f32>,
    /// What is added to second derivatives, see [`Candidates::shift`].
    shift: f64,
}

impl<'a> TiedPairs<'a> {
    pub(super) fn new(
        candidates: &'a mut Candidates,
        kernel_rows: &'a KernelRows,
    ) -> Result<Self, OutOfMemory> {
        let count = candidates.len();
        let mut present: Vec<bool> = Vec::new();
        let has = |at| kernel_rows.has(at, count);
        present.room(count)?.extend((0..count).map(has));
        Ok(Self {
            level: Level::best(),
            present,
            rising: filled(f32::NEG_INFINITY, count)?,
            falling: filled(f32::NEG_INFINITY, count)?,
            shift: candidates.shift(),
            candidates,
            kernel_rows,
        })
    }

    /// Makes some steps; as many, 0 where none leads anywhere.
    pub(super) fn go(&mut self) -> usize {
        let mut made = Step::default();
        let mut least = SAME;
        for step in 0..=STEPS {
            let (first, apart) = self.first(made);
            if step == 0 {
                least = (INNER * apart).max(SAME);
            }
            // not even where it is no number
            let goes_on = apart >= least && apart.is_finite();
            if step == STEPS || !goes_on {
                return step;
            }
            // each step looks at all candidates twice
            interrupts::worked(2 * self.rising.len());
            let Some(second) = self.second(first) else {
                return step;
            };
            made = self.step([first, second]);
            if made.by == [0.0; 2] {
                return step;
            }
        }
        STEPS
    }

    /// Makes good what a step leaves to be done, and finds who is to rise; and how far its gradient and the largest of those that can fall
    /// are apart.
    fn first(&mut self, made: Step) -> (usize, f64) {
        let rows = made.rows(self.kernel_rows, self.rising.len());
        self.level.run(First {
            candidates: self.candidates,
            present: &self.present,
            rising: &mut self.rising,
            falling: &mut self.falling,
            rows,
            by: made.by,
        })
    }

    /// Who is to fall for this one.
    fn second(&self, first: usize) -> Option<usize> {
        self.level.run(Second {
            own: self.rising[first],
            diagonal: self.candidates.diagonals[first],
            diagonals: &self.candidates.diagonals,
            falling: &self.falling,
            row: self.kernel_rows.row(first, self.rising.len()),
        })
    }

    /// Has the first rise and the second fall as far as is best for both.
    fn step(&mut self, at: [usize; 2]) -> Step {
        let shared = f64::from(self.kernel_rows.row(at[0], self.rising.len())[at[1]]);
        let all = &mut self.candidates;
        let [y, d] = [
            at.map(|at| f64::from(all.sides[at])),
            at.map(|at| f64::from(all.diagonals[at])),
        ];
        let apart = y[1] * all.gradient(at[1]) - y[0] * all.gradient(at[0]);
        let both = d[0] + d[1];
        let bend = (both - 2.0 * shared).max(LEAST * both) + 2.0 * self.shift;
        let ways = [y[0], -y[1]];
        let rooms = [0, 1].map(|k: usize| match ways[k] > 0.0 {
            true => all.highs[at[k]] - all.duals[at[k]],
            false => all.duals[at[k]],
        });
        let length = (apart / bend).min(rooms[0]).min(rooms[1]);
        let mut made = Step { at, by: [0.0; 2] };
        if !length.is_finite() || length <= 0.0 {
            return made;
        }
        for k in 0..2 {
            let before = all.duals[at[k]];
            let after = match (length < rooms[k], ways[k] > 0.0) {
                (true, _) => (before + ways[k] * length).clamp(0.0, all.highs[at[k]]),
                (false, true) => all.highs[at[k]],
                (false, false) => 0.0,
            };
            all.duals[at[k]] = after;
            made.by[k] = y[k] * (after - before);
            all.decisions[at[k]] += self.shift * made.by[k];
        }
        made
    }
}

/// See [`TiedPairs::first`].
struct First<'a> {
    candidates: &'a mut Candidates,
    present: &'a [bool],
    rising: &'a mut [f32],
    falling: &'a mut [f32],
    rows: [&'a [f32]; 2],
    by: [f64; 2],
}

impl Work for First<'_> {
    type Output = (usize, f64);

    #[inline(always)]
    fn run<K: Isa>(self) -> (usize, f64) {
        let all = self.candidates;
        let count = self.rising.len();
        let (mut rises, mut falls) = (Best::LOWEST, Best::LOWEST);
        for from in (0..count).step_by(BLOCK) {
            let part = from..(from + BLOCK).min(count);
            let rows = self.rows.map(|row| row.get(part.clone()));
            add(&mut all.decisions[part.clone()], rows, self.by, 0.0);
            let (rising, falling) = (
                &mut self.rising[part.clone()],
                &mut self.falling[part.clone()],
            );
            for (place, at) in part.enumerate() {
                let (y, a) = (all.sides[at], all.duals[at]);
                let gradient =
                    signed_gradient(all.decisions[at], y, (a as f32, all.curvatures[at]));
                let (can_grow, can_shrink) = (a < all.highs[at], a > 0.0);
                let (can_rise, can_fall) = match y > 0.0 {
                    true => (can_grow, can_shrink),
                    false => (can_shrink, can_grow),
                };
                let of = |can: bool, amount: f32| match can && self.present[at] {
                    true => amount,
                    false => f32::NEG_INFINITY,
                };
                (rising[place], falling[place]) = (of(can_rise, -gradient), of(can_fall, gradient));
            }
            rises.take(from, rising, |it| it);
            falls.take(from, falling, |it| it);
        }
        let first = rises.find(&*self.rising, |it| it).unwrap_or(0);
        (first, f64::from(rises.value) + f64::from(falls.value))
    }
}

/// See [`TiedPairs::second`].
struct Second<'a> {
    own: f32,
    diagonal: f32,
    diagonals: &'a [f32],
    falling: &'a [f32],
    row: &'a [f32],
}

impl Work for Second<'_> {
    /// None where nobody gains.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Option<usize> {
        most_gain(&self, self.falling.len())
    }
}

impl Gains for Second<'_> {
    #[inline(always)]
    fn gains(&self, part: Range<usize>, out: &mut [f32]) {
        let falling = &self.falling[part.clone()];
        let (diagonals, row) = (&self.diagonals[part.clone()], &self.row[part]);
        for at in 0..out.len() {
            let apart = (self.own + falling[at]).max(0.0);
            let both = diagonals[at] + self.diagonal;
            let bend = (both - 2.0 * row[at]).max(LEAST as f32 * both);
            out[at] = apart * apart / bend;
        }
    }
}
