//! Steps along pairs of candidates.
//!
//! ```text
//! gradient  g_i = f_i - y_i p + y_i d_i a_i, the derivative of -D along y_i a_i; 0 where a_i cannot go where it should
//! first     the candidate with the largest |g_i|
//! second    the one with which -D falls most if bounds are left aside,
//!           (g_i² K_jj + g_j² K_ii - 2 g_i g_j K_ij) / (2 (K_ii K_jj - K_ij²)),   K with d on its diagonal
//! update    the dual over the two, within their bounds, exactly; then f of all candidates by their kernel rows
//! ```
//!
//! The second by what a pair gains: Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6, 2005, here
//! without an equality that ties the two ([`tied`](super::tied) has it). Both looks at the candidates are loops without branches, the first together with the
//! update before it.

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::exact::kernel_rows::KernelRows;
use crate::objective::loss::signed_gradient;
use crate::simd::{Isa, Level, Work};
use std::ops::Range;

/// Pairs that are stepped along between two looks at the kernel rows, at most, and while the worst gradient is this part of the
/// first.
pub(super) const STEPS: usize = 256;
pub(super) const INNER: f64 = 0.5;
/// Candidates gone through at a time.
pub(super) const BLOCK: usize = 64;
/// A determinant is at least this part of the product of the diagonal: two rows that are the same share theirs.
pub(super) const LEAST: f64 = 1e-6;

/// What of candidates the steps go through.
pub(super) struct Pairs<'a> {
    candidates: &'a mut Candidates,
    kernel_rows: &'a KernelRows,
    level: Level,
    /// 1 for candidates whose kernel rows are there, else 0; and what is left of the gradients.
    present: Vec<f32>,
    gradients: Vec<f32>,
    /// What is added to second derivatives, see [`Candidates::shift`].
    shift: f64,
}

/// A step that has been made: of two candidates by how much y a has moved. Nothing is a step of 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    pub(super) at: [usize; 2],
    pub(super) by: [f64; 2],
}

impl Step {
    /// The kernel rows of the two with so many candidates; empty ones where nothing has moved.
    pub(super) fn rows(self, kernel_rows: &KernelRows, count: usize) -> [&[f32]; 2] {
        match self.by {
            [0.0, 0.0] => [&[]; 2],
            _ => self.at.map(|at| kernel_rows.row(at, count)),
        }
    }
}

impl<'a> Pairs<'a> {
    pub(super) fn new(
        candidates: &'a mut Candidates,
        kernel_rows: &'a KernelRows,
    ) -> Result<Self, OutOfMemory> {
        let count = candidates.len();
        let mut present: Vec<f32> = Vec::new();
        let has = |at| f32::from(u8::from(kernel_rows.has(at, count)));
        present.room(count)?.extend((0..count).map(has));
        Ok(Self {
            level: Level::best(),
            present,
            gradients: filled(0.0, count)?,
            shift: candidates.shift(),
            candidates,
            kernel_rows,
        })
    }

    /// Makes some steps; as many, 0 where none leads anywhere.
    pub(super) fn go(&mut self) -> usize {
        let mut made = Step::default();
        let mut least = 0.0;
        for step in 0..=STEPS {
            let first = self.first(made);
            let worst = f64::from(self.gradients[first].abs());
            if step == 0 {
                least = INNER * worst;
            }
            // not even where it is no number
            let goes_on = worst > 0.0 && worst >= least && worst.is_finite();
            if step == STEPS || !goes_on {
                return step;
            }
            let second = self.second(first);
            // each step looks at all candidates twice
            interrupts::worked(2 * self.gradients.len());
            made = self.step([first, second]);
            if made.by == [0.0; 2] {
                return step;
            }
        }
        STEPS
    }

    /// Makes good what a step leaves to be done, and finds the largest gradient.
    fn first(&mut self, made: Step) -> usize {
        let rows = made.rows(self.kernel_rows, self.gradients.len());
        self.level.run(First {
            candidates: self.candidates,
            present: &self.present,
            gradients: &mut self.gradients,
            rows,
            by: made.by,
        })
    }

    /// The candidate that gains most together with this one: the same where no other gains.
    fn second(&mut self, first: usize) -> usize {
        let row = self.kernel_rows.row(first, self.gradients.len());
        let own = std::mem::take(&mut self.gradients[first]);
        let found = self.level.run(Second {
            own,
            constant: self.candidates.constant.penalty as f32,
            diagonal: self.candidates.diagonals[first],
            diagonals: &self.candidates.diagonals,
            gradients: &self.gradients,
            row,
        });
        self.gradients[first] = own;
        found.unwrap_or(first)
    }

    /// Solves the dual over two candidates, which may be the same one.
    fn step(&mut self, at: [usize; 2]) -> Step {
        let row = self.kernel_rows.row(at[0], self.gradients.len());
        let all = &self.candidates;
        let [y, d] = [
            at.map(|at| f64::from(all.sides[at])),
            at.map(|at| f64::from(all.diagonals[at])),
        ];
        let shared = match at[0] == at[1] {
            true => None,
            false => Some(y[0] * y[1] * (f64::from(row[at[1]]) + all.constant.penalty)),
        };
        let coordinate = |k: usize| Coordinate {
            a: all.duals[at[k]],
            high: all.highs[at[k]],
            gradient: all.gradient(at[k]),
            bend: d[k] + self.shift,
        };
        let moves = match shared {
            Some(shared) => best_of_two([coordinate(0), coordinate(1)], shared),
            None => [coordinate(0).best(0.0), 0.0],
        };
        let mut made = Step { at, by: [0.0; 2] };
        for k in 0..2 {
            let before = self.candidates.duals[at[k]];
            let after = before + moves[k];
            if moves[k] != 0.0 && after.is_finite() {
                let after = after.clamp(0.0, self.candidates.highs[at[k]]);
                self.candidates.duals[at[k]] = after;
                made.by[k] = y[k] * (after - before);
                self.candidates.decisions[at[k]] += self.shift * made.by[k];
            }
        }
        made
    }
}

/// A dual variable, where it may go, and -D along it: gradient and second derivative.
#[derive(Debug, Clone, Copy)]
struct Coordinate {
    a: f64,
    high: f64,
    gradient: f64,
    bend: f64,
}

impl Coordinate {
    /// How far it goes, where the gradient is so much more.
    fn best(&self, more: f64) -> f64 {
        let step = -(self.gradient + more) / self.bend.max(f64::MIN_POSITIVE);
        self.within(step)
    }

    fn within(&self, step: f64) -> f64 {
        (self.a + step).clamp(0.0, self.high) - self.a
    }
}

/// How far two go together, with this second derivative across.
fn best_of_two(two: [Coordinate; 2], shared: f64) -> [f64; 2] {
    let [one, other] = two;
    let least = LEAST * one.bend * other.bend;
    let determinant = (one.bend * other.bend - shared * shared).max(least);
    let free = [
        (shared * other.gradient - other.bend * one.gradient) / determinant,
        (shared * one.gradient - one.bend * other.gradient) / determinant,
    ];
    let held = [one.within(free[0]), other.within(free[1])];
    if held == free {
        return free;
    }
    // whichever goes beyond a bound stays there, and the other one does what is best then
    let first = [held[0], other.best(shared * held[0])];
    let second = [one.best(shared * held[1]), held[1]];
    match (held[0] != free[0], held[1] != free[1]) {
        (true, false) => first,
        (false, true) => second,
        _ if rise(two, shared, first) <= rise(two, shared, second) => first,
        _ => second,
    }
}

/// How far -D rises where two go so far.
fn rise([one, other]: [Coordinate; 2], shared: f64, [a, b]: [f64; 2]) -> f64 {
    one.gradient * a
        + other.gradient * b
        + 0.5 * (one.bend * a * a + other.bend * b * b)
        + shared * a * b
}

/// See [`Pairs::first`].
struct First<'a> {
    candidates: &'a mut Candidates,
    present: &'a [f32],
    gradients: &'a mut [f32],
    rows: [&'a [f32]; 2],
    by: [f64; 2],
}

impl Work for First<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let all = self.candidates;
        let count = self.gradients.len();
        let mut best = Best::default();
        for from in (0..count).step_by(BLOCK) {
            let part = from..(from + BLOCK).min(count);
            let rows = self.rows.map(|row| row.get(part.clone()));
            add(
                &mut all.decisions[part.clone()],
                rows,
                self.by,
                all.constant.penalty,
            );
            let gradients = &mut self.gradients[part.clone()];
            let numbers = Numbers {
                decisions: &all.decisions[part.clone()],
                sides: &all.sides[part.clone()],
                duals: &all.duals[part.clone()],
                highs: &all.highs[part.clone()],
                curvatures: &all.curvatures[part.clone()],
                present: &self.present[part],
            };
            numbers.gradients(gradients);
            best.take(from, gradients, f32::abs);
        }
        best.find(&*self.gradients, f32::abs).unwrap_or(0)
    }
}

/// Adds multiples of two kernel rows.
#[inline(always)]
pub(super) fn add(to: &mut [f64], rows: [Option<&[f32]>; 2], by: [f64; 2], constant: f64) {
    let [Some(one), Some(other)] = rows else {
        return;
    };
    let shift = (by[0] + by[1]) * constant;
    let count = to.len();
    let (one, other) = (&one[..count], &other[..count]);
    for at in 0..count {
        to[at] += by[0] * f64::from(one[at]) + (by[1] * f64::from(other[at]) + shift);
    }
}

/// What gradients of some candidates are made of.
struct Numbers<'a> {
    decisions: &'a [f64],
    sides: &'a [f32],
    duals: &'a [f64],
    highs: &'a [f64],
    curvatures: &'a [f32],
    present: &'a [f32],
}

impl Numbers<'_> {
    #[inline(always)]
    fn gradients(&self, out: &mut [f32]) {
        let count = out.len();
        let decisions = &self.decisions[..count];
        let (sides, duals, highs) = (
            &self.sides[..count],
            &self.duals[..count],
            &self.highs[..count],
        );
        let (curvatures, present) = (&self.curvatures[..count], &self.present[..count]);
        for at in 0..count {
            let (y, a) = (sides[at], duals[at]);
            let gradient = signed_gradient(decisions[at], y, (a as f32, curvatures[at]));
            // a falls where y and the gradient have the same sign
            let falls = if y * gradient > 0.0 { 1.0 } else { 0.0 };
            let can_fall = if a > 0.0 { 1.0 } else { 0.0 };
            let can_rise = if a < highs[at] { 1.0 } else { 0.0 };
            let goes = falls * can_fall + (1.0 - falls) * can_rise;
            out[at] = gradient * goes * present[at];
        }
    }
}

/// See [`Pairs::second`].
struct Second<'a> {
    own: f32,
    constant: f32,
    diagonal: f32,
    diagonals: &'a [f32],
    gradients: &'a [f32],
    row: &'a [f32],
}

impl Second<'_> {
    /// Twice what the pair gains.
    #[inline(always)]
    fn gain(&self, gradient: f32, diagonal: f32, value: f32) -> f32 {
        let (own, shared) = (self.own, value + self.constant);
        let both = diagonal * self.diagonal;
        let determinant = (both - shared * shared).max(LEAST as f32 * both);
        let sum = own * own * diagonal + gradient * gradient * self.diagonal;
        let gain = (sum - 2.0 * own * gradient * shared) / determinant;
        // of those that do not want to move
        if gradient != 0.0 {
            gain
        } else {
            0.0
        }
    }
}

impl Work for Second<'_> {
    /// None where no other gains.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Option<usize> {
        most_gain(&self, self.gradients.len())
    }
}

impl Gains for Second<'_> {
    #[inline(always)]
    fn gains(&self, part: Range<usize>, out: &mut [f32]) {
        let gradients = &self.gradients[part.clone()];
        let (diagonals, row) = (&self.diagonals[part.clone()], &self.row[part]);
        for at in 0..out.len() {
            out[at] = self.gain(gradients[at], diagonals[at], row[at]);
        }
    }
}

/// What candidates gain beside one that is given.
pub(super) trait Gains {
    /// Of the candidates of a part, as many as `out` has room for.
    fn gains(&self, part: Range<usize>, out: &mut [f32]);
}

/// Who of so many gains most; None where nobody gains.
#[inline(always)]
pub(super) fn most_gain(of: &impl Gains, count: usize) -> Option<usize> {
    let mut best = Best::default();
    let mut gains = [0.0f32; BLOCK];
    let mut found = None;
    for from in (0..count).step_by(BLOCK) {
        let part = from..(from + BLOCK).min(count);
        let gains = &mut gains[..part.len()];
        of.gains(part, gains);
        if best.take(from, gains, |gain| gain) {
            let is_best = |gain: &f32| *gain == best.value;
            found = gains.iter().position(is_best).map(|at| from + at);
        }
    }
    found
}

/// The largest number so far, and where its block begins.
#[derive(Default)]
pub(super) struct Best {
    pub(super) value: f32,
    from: usize,
}

impl Best {
    /// Of numbers that may all be below 0.
    pub(super) const LOWEST: Self = Self {
        value: f32::NEG_INFINITY,
        from: 0,
    };

    /// Whether the largest is among these, as this has them.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        from: usize,
        numbers: &[f32],
        as_taken: impl Fn(f32) -> f32,
    ) -> bool {
        let (eights, rest) = numbers.as_chunks::<8>();
        let mut lanes = [self.value; 8];
        for eight in eights {
            for (lane, number) in lanes.iter_mut().zip(eight) {
                let number = as_taken(*number);
                *lane = if number > *lane { number } else { *lane };
            }
        }
        let rest = rest.iter().map(|number| as_taken(*number));
        let largest = lanes.into_iter().chain(rest).fold(self.value, f32::max);
        let better = largest > self.value;
        if better {
            (self.value, self.from) = (largest, from);
        }
        better
    }

    /// Where it is among the numbers of all blocks.
    #[inline(always)]
    pub(super) fn find(&self, all: &[f32], as_taken: impl Fn(f32) -> f32) -> Option<usize> {
        let block = &all[self.from..];
        let place = block.iter().position(|it| as_taken(*it) == self.value);
        place.map(|place| self.from + place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    #[test]
    fn nothing_within_the_bounds_is_lower_than_what_two_come_to() {
        let mut random = Random::new(7, Stream::Trainer);
        let mut number = |from: f64, to: f64| from + (to - from) * random.unit();
        for _ in 0..2000 {
            let mut coordinate = || {
                let high = number(0.1, 2.0);
                Coordinate {
                    a: number(0.0, high),
                    high,
                    gradient: number(-2.0, 2.0),
                    bend: number(0.5, 2.0),
                }
            };
            let two = [coordinate(), coordinate()];
            let shared = number(-0.99, 0.99) * (two[0].bend * two[1].bend).sqrt();
            let found = best_of_two(two, shared);
            let lowest = rise(two, shared, found);
            for k in 0..2 {
                assert!((-1e-12..=two[k].high + 1e-12).contains(&(two[k].a + found[k])));
            }
            for _ in 0..50 {
                let other = [0, 1].map(|k| number(0.0, two[k].high) - two[k].a);
                assert!(
                    lowest <= rise(two, shared, other) + 1e-9,
                    "{two:?} {shared} {found:?} {other:?}"
                );
            }
        }
    }
}
