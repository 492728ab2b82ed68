//! The intercept of a head: f(x) = sum of y a k(x_j, x) + p sum of y a + z.
//!
//! | intercept | p | z |
//! |---|---|---|
//! | none | 0 | 0 |
//! | in the norm: a constant appended to phi(x) | 1 | 0 |
//! | free: in no norm, so that the dual asks for sum of y a = 0 | a penalty | the multiplier of that constraint |
//!
//! A free one is found by the method of multipliers: z moves to z + p sum of y a while the dual is solved, and what is left of the sum is
//! taken off the dual variables before a pass. p grows where the sum does not fall.
//!
//! Rockafellar, *Augmented Lagrangians and Applications of the Proximal Point Algorithm in Convex Programming*, Mathematics of
//! Operations Research 1, 1976.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::objective::minimized::Intercept;

/// How many times the penalty grows where the sum has not halved.
const GROWS: f64 = 4.0;
/// The sum is as good as 0 where it is this part of all dual variables.
const BALANCED: f64 = 1e-9;

/// p and z, and the sum when z moved last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constant {
    pub(super) is_free: bool,
    pub(super) penalty: f64,
    pub(super) multiplier: f64,
    before: f64,
}

impl Constant {
    /// `begin`: a free one's first multiplier.
    pub(super) fn new(intercept: Intercept, begin: f64) -> Self {
        let is_free = intercept == Intercept::Free;
        Self {
            is_free,
            penalty: intercept.constant(),
            multiplier: if is_free { begin } else { 0.0 },
            before: 0.0,
        }
    }
}

impl Candidates {
    /// Sum of y a.
    pub(super) fn signed_sum(&self) -> f64 {
        interrupts::worked(self.len());
        (0..self.len()).map(|at| self.factor(at)).sum()
    }

    /// The intercept at the dual variables as they are.
    pub(super) fn intercept(&self) -> f64 {
        let Constant {
            penalty,
            multiplier,
            ..
        } = self.constant;
        penalty * self.signed_sum() + multiplier
    }

    /// Moves the multiplier of a free intercept; whether there was anything left to move it for.
    pub(super) fn move_multiplier(&mut self) -> bool {
        if !self.constant.is_free {
            return false;
        }
        let sum = self.signed_sum();
        let before = std::mem::replace(&mut self.constant.before, sum);
        if sum.abs() <= BALANCED * self.duals.iter().sum::<f64>() {
            return false;
        }
        let step = self.constant.penalty * sum;
        self.constant.multiplier += step;
        self.decisions.iter_mut().for_each(|it| *it += step);
        if sum * before.signum() > 0.5 * before.abs() && before != 0.0 {
            self.penalize(GROWS * self.constant.penalty, sum);
        }
        interrupts::worked(self.len());
        true
    }

    /// Takes another penalty, and the multiplier with which the intercept stays where it is.
    fn penalize(&mut self, penalty: f64, sum: f64) {
        let more = penalty - self.constant.penalty;
        self.constant.penalty = penalty;
        self.constant.multiplier -= more * sum;
        let diagonals = self.diagonals.iter_mut();
        diagonals.for_each(|it| *it = (f64::from(*it) + more) as f32);
    }

    /// A free intercept is this one at the dual variables as they are.
    pub(super) fn place_intercept(&mut self, b: f64) {
        if self.constant.is_free {
            self.constant.multiplier = b - self.constant.penalty * self.signed_sum();
        }
    }

    /// Takes off the dual variables of a free intercept's head what their signed sum differs from 0; the intercept stays. Dual variables
    /// between their bounds share it: along them the dual is level. Decisions are those of before, until a pass.
    pub(super) fn balance(&mut self) -> Result<(), OutOfMemory> {
        if !self.constant.is_free {
            return Ok(());
        }
        let mut left = self.signed_sum();
        self.constant.multiplier += self.constant.penalty * left;
        self.constant.before = 0.0;
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
