//! What a pass says of a head's weights: primal, dual and gap, and the gradient there.

use crate::objective::minimized::balanced;
use crate::objective::report::relative_gap;
use crate::solver::newton::head::Newton;
use crate::solver::newton::sums::Side;

/// What rounding may put a dual objective above the primal one, relatively.
const DUAL_ROUNDING: f64 = 1e-12;

/// What a pass has found.
#[derive(Debug, Clone, Copy)]
pub struct Value {
    pub primal: f64,
    pub dual: f64,
    pub gap: f64,
    /// What dual variables of negative and of positive rows are multiplied by to have this dual.
    pub multiples: [f64; 2],
}

impl Newton {
    /// The primal at w, the best dual of its dual variables, and the gradient.
    pub(super) fn evaluate(&mut self) -> Value {
        let half = self.objective.half_curvature();
        let [negative, positive] = &self.sums.sides;
        let ends = self.w.len() - usize::from(self.objective.free);
        let balance = match self.objective.free {
            true => balanced(negative.duals, positive.duals),
            false => [1.0; 2],
        };
        let (mut norm, mut of_duals, mut of_fixed) = (0.0, 0.0, 0.0);
        for column in 0..self.w.len() {
            let (w, v) = (self.w[column], [negative.v[column], positive.v[column]]);
            let fixed = self.fixed.get(column).copied().unwrap_or(0.0);
            let own = if column < ends { w - fixed } else { 0.0 };
            self.gradient[column] = own - (v[1] - v[0]);
            norm += own * own;
            if column < ends {
                let sum = balance[1] * v[1] - balance[0] * v[0];
                of_duals += sum * sum;
                of_fixed += sum * fixed;
            }
        }
        let sum = |of: fn(&Side) -> f64, factors: [f64; 2]| {
            factors[0] * of(negative) + factors[1] * of(positive)
        };
        let constant = self.sums.of_outliers(&self.objective);
        let primal = 0.5 * norm + half * sum(|side| side.loss, [1.0; 2]) + constant;
        let a = (sum(|side| side.duals - side.offsets, balance) - of_fixed).max(0.0);
        let b = 0.5 * of_duals + half * sum(|side| side.loss, balance.map(|of| of * of));
        let (dual, multiple) = match b > 0.0 {
            true => (a / b * (a / 4.0), 0.5 * a / b),
            false => (0.0, 0.0),
        };
        let dual = no_more_than_rounding_above(dual + constant, primal);
        Value {
            primal,
            dual,
            gap: relative_gap(primal, dual),
            multiples: balance.map(|of| of * multiple),
        }
    }
}

/// At the optimum both are the same, but for rounding; what lies further above shows an error and is left to be seen.
pub(super) fn no_more_than_rounding_above(dual: f64, primal: f64) -> f64 {
    match dual {
        dual if !dual.is_finite() => 0.0,
        dual if dual > primal && dual <= primal * (1.0 + DUAL_ROUNDING) => primal,
        dual => dual,
    }
}
