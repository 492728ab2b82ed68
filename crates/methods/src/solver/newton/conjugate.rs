//! Newton's step by conjugate gradients, where features are too many for a matrix.
//!
//! They minimize the quadratic of the rows within the margin, q(s) = <g, s> + 1/2 <s, H s>, with the diagonal of H as preconditioner. Each product H d = d + C k sum c <d, x> x is a pass over those rows.
//!
//! | symbol | is | place |
//! |---|---|---|
//! | s | the step so far | `step` |
//! | r | what is left, -g - H s | `gradient` |
//! | d | the direction | `sums.beyond` |
//! | H d - d | the product under way | `sums.sides[0].v` |
//!
//! Stop, when both hold: an iteration lowers q by less than half of the average so far (Nash and Sofer), so that steps far from the optimum
//! are rough and cheap; and 1/2 |r|^2, what r would leave of the gap, is a tenth of what g leaves, or within the tolerance.
//!
//! Lin, Weng and Keerthi, Trust region Newton method for large-scale logistic regression, JMLR 9, 2008. There a trust region holds
//! steps back; here a step that leads to a larger primal is shortened to where that is lowest.

use crate::solver::newton::head::{Newton, Next};

/// An iteration is worth another one where it lowers q by more than this part of what they do on average.
const WORTH: f64 = 0.5;
/// What a step leaves of |g|^2, and of the tolerance.
const LEFT: f64 = 0.1;
const WITHIN: f64 = 0.5;
/// Iterations of a step at most.
const MOST: u32 = 250;
/// Where <r, r> has fallen to this part, in the preconditioner's norm, rounding is all there is left.
const NOTHING: f64 = 1e-20;

/// How far the iterations of a step are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conjugate {
    iterations: u32,
    /// <r, r> in the preconditioner's norm, now and at first.
    left: f64,
    first: f64,
    /// |r|^2 that is to be left.
    enough: f64,
    /// -q
    gain: f64,
}

impl Newton {
    /// Begins the iterations from s = 0; what `step` holds is -g.
    pub(super) fn begin_products(&mut self) -> Next {
        let last = self.step.len() - 1;
        let constant = self.sums.costs * self.objective.intercept * self.objective.intercept;
        let (mut left, mut all) = (0.0, 0.0);
        for column in 0..=last {
            let squares = self.sums.squares.as_ref();
            let square = match column == last {
                true => constant,
                false => squares.map_or(0.0, |squares| squares[column]),
            };
            let diagonal = self.own(column) + self.objective.curvature() * square;
            let scale = if diagonal > 0.0 {
                diagonal.recip()
            } else {
                1.0
            };
            let rest = self.step[column];
            left += rest * rest * scale;
            all += rest * rest;
            self.scales[column] = scale;
            self.gradient[column] = rest;
            self.sums.beyond[column] = rest * scale;
            self.step[column] = 0.0;
        }
        if !(left > 0.0 && left.is_finite()) {
            return self.give_up();
        }
        self.conjugate = Some(Conjugate {
            left,
            first: left,
            enough: (LEFT * all).max(2.0 * WITHIN * self.tolerance * self.best_primal),
            ..Conjugate::default()
        });
        Next::Product
    }

    /// What the norm has of a weight in H: nothing of a free intercept's.
    fn own(&self, column: usize) -> f64 {
        let is_free = self.objective.free && column + 1 == self.step.len();
        f64::from(u8::from(!is_free))
    }

    /// Ends a pass for a product: goes on to the next direction, or takes the step, as it must with the last one allowed.
    pub(super) fn end_product(&mut self, is_last: bool) -> Next {
        let Some(mut state) = self.conjugate else {
            return Next::GivenUp;
        };
        let columns = 0..self.step.len();
        let mut curvature = 0.0;
        for column in columns.clone() {
            let direction = self.sums.beyond[column];
            let own = self.own(column) * direction;
            let product = &mut self.sums.sides[0].v[column];
            *product += own;
            curvature += *product * direction;
        }
        let length = state.left / curvature;
        if !(curvature > 0.0 && length.is_finite()) {
            return self.go(state.gain);
        }
        let (mut left, mut all, mut gain) = (0.0, 0.0, 0.0);
        for column in columns.clone() {
            let step = &mut self.step[column];
            *step += length * self.sums.beyond[column];
            let rest = &mut self.gradient[column];
            *rest -= length * self.sums.sides[0].v[column];
            left += *rest * *rest * self.scales[column];
            all += *rest * *rest;
            gain += 0.5 * *step * (*rest - self.best_gradient[column]);
        }
        state.iterations += 1;
        let lowered = f64::from(state.iterations) * (gain - state.gain);
        let ends =
            (lowered <= WORTH * gain && all <= state.enough) || left <= NOTHING * state.first;
        let factor = left / state.left;
        (state.left, state.gain) = (left, gain);
        self.conjugate = Some(state);
        if is_last || ends || state.iterations >= MOST || !factor.is_finite() {
            return self.go(gain);
        }
        for column in columns {
            let direction = &mut self.sums.beyond[column];
            *direction = self.gradient[column] * self.scales[column] + factor * *direction;
        }
        Next::Product
    }
}
