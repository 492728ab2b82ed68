//! The free intercept of candidates, for which the sum of y a must be 0. Rounding, and rows that a truncated loss takes out, make it differ
//! from 0. Before a pass the difference is taken off the dual variables.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::exact::intercept::{best_move, breakpoints};

impl Candidates {
    /// Sum of y a.
    pub(super) fn signed_sum(&self) -> f64 {
        interrupts::worked(self.len());
        (0..self.len()).map(|at| self.factor(at)).sum()
    }

    /// The intercept at the dual variables as they are.
    pub(super) fn intercept(&self) -> f64 {
        self.constant.penalty * self.signed_sum() + self.constant.intercept
    }

    pub(super) fn has_both_sides(&self) -> bool {
        let has = |positive: bool| self.sides.iter().any(|side| (*side > 0.0) == positive);
        has(true) && has(false)
    }

    /// Moves a free intercept to where the candidates lose least, and their decisions with it.
    pub(super) fn place_intercept(&mut self) -> Result<(), OutOfMemory> {
        if !self.constant.is_free {
            return Ok(());
        }
        let rows = self.decisions.iter().zip(&self.sides).zip(&self.weights);
        let loss = self.loss();
        let of_row = |((decision, side), weight): ((&f64, &f32), &f64)| {
            breakpoints(loss, (*decision, f64::from(*side), *weight))
        };
        let mut all: Vec<_> = Vec::new();
        for breakpoint in rows.flat_map(of_row) {
            all.room(1)?.push(breakpoint);
        }
        let by = best_move(loss, &mut all);
        if by.is_finite() {
            self.constant.intercept += by;
            self.decisions.iter_mut().for_each(|it| *it += by);
        }
        Ok(())
    }

    /// A free intercept is this one, as decisions have it.
    pub(super) fn take_intercept(&mut self, b: f64) {
        if self.constant.is_free {
            self.constant.intercept = b;
        }
    }

    /// Takes off the dual variables of a free intercept's head what their signed sum differs from 0; the intercept stays. Dual variables
    /// between their bounds share it: along them the dual is level. Decisions are those of before, until a pass.
    pub(super) fn balance(&mut self) -> Result<(), OutOfMemory> {
        if !self.constant.is_free {
            return Ok(());
        }
        let mut left = self.signed_sum();
        for inside in [true, false] {
            let mut able: Vec<usize> = Vec::new();
            for at in 0..self.len() {
                let room = self.room(at, left);
                let is_inside = self.duals[at] > 0.0 && self.duals[at] < self.highs[at];
                if room > 0.0 && (is_inside || !inside) {
                    able.room(1)?.push(at);
                }
            }
            // those with the least room first, so that the others share what these cannot take
            able.sort_unstable_by(|one, other| {
                let [one, other] = [*one, *other].map(|at| self.room(at, left));
                one.total_cmp(&other)
            });
            let count = able.len();
            for (place, at) in able.into_iter().enumerate() {
                let share = left / (count - place) as f64;
                let moved = share.abs().min(self.room(at, left)).copysign(left);
                self.duals[at] -= f64::from(self.sides[at]) * moved;
                left -= moved;
            }
            interrupts::worked(self.len());
        }
        Ok(())
    }

    /// How far y a of a candidate can move towards the other side of this sum.
    fn room(&self, at: usize, sum: f64) -> f64 {
        match f64::from(self.sides[at]) * sum > 0.0 {
            true => self.duals[at],
            false => self.highs[at] - self.duals[at],
        }
    }
}
