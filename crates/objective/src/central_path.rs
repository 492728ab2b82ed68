//! Rows of an interior point: the formulas of a row's point and of its steps, which every interior point over rows shares, wherever it keeps
//! them.
//!
//! ```text
//! dual       sum of p a - 1/2 d a^2, less 1/2 |sum of a y h|^2,  0 <= a <= u: of a loss without a largest dual variable u is infinite, and
//!            lambda 0
//! conditions g - xi + lambda = 0 with g = y f - p + d a,  a xi = mu,  (u - a) lambda = mu
//! D          xi / a + lambda / (u - a) + d
//! d a        from (D + Q) d a = -g + mu / a - mu / (u - a) - y d nu, with Q of all rows
//! d xi       -xi + (mu - e - xi d a) / a              e and e' are what a correction takes from the one and adds to the other product
//! d lambda   -lambda + (mu + e' + lambda d a) / (u - a)
//! eta        sum of a xi + (u - a) lambda, the surrogate gap, of one product or two a row
//! ```
//!
//! An interior point that begins near weights which are known begins on the central path, where all these products are the same mu.

use crate::loss::Loss;

/// The surrogate gap where it does, as a part of the weights' primal. Less, and rows whose margins are others by little take too many
/// steps back from a bound: sets of a hundredth of other rows took up to three times the steps from .03, and from 1 never more than from
/// nothing.
pub const NEAR: f64 = 1.0;
/// Where it begins from nothing: a as a part of the row's weight, and xi and lambda as a part of the mean of |g|, or of 1 where that is less.
pub const MIDDLE: f64 = 0.5;
pub const SLACK: f64 = 0.1;
/// The part of the way to the nearest bound that a step goes.
pub const SHORT_OF: f64 = 0.99;
/// A step so short says that rounding is all that is left, after so many of them in turn.
pub const STUCK: f64 = 1e-4;
pub const STUCK_STEPS: u32 = 5;

/// The part of a bound that a begins away from it at least: nearer, rounding would tell too little of the distance, or nothing.
const LEAST: f64 = 1e-9;

/// What the dual has of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowTerms {
    /// What its loss is multiplied by.
    pub weight: f64,
    /// The margin from which on it loses nothing, and what that is of y <w, h>: less where the margin has an offset.
    p: f64,
    linear: f64,
    d: f64,
    /// u
    high: f64,
}

impl RowTerms {
    /// Of a row with this weight.
    #[inline(always)]
    pub fn of(loss: Loss, weight: f64) -> Self {
        let (p, d, high) = loss.dual_terms(weight);
        Self {
            weight,
            p,
            linear: p,
            d,
            high,
        }
    }

    /// The same of a row whose margin is y <w, h> and this.
    #[inline(always)]
    pub fn with_offset(self, beside: f64) -> Self {
        Self {
            linear: self.p - beside,
            ..self
        }
    }

    #[inline(always)]
    fn is_bounded(&self) -> bool {
        self.high < f64::INFINITY
    }

    /// p a, less where the margin has an offset, and 1/2 d a^2
    #[inline(always)]
    pub fn of_dual(&self, a: f64) -> [f64; 2] {
        [self.linear * a, 0.5 * self.d * a * a]
    }

    /// What the dual has of a.
    #[inline(always)]
    pub fn dual(&self, a: f64) -> f64 {
        let [linear, bent] = self.of_dual(a);
        linear - bent
    }

    /// The margin at which a is optimal between its bounds.
    #[inline(always)]
    pub fn margin(&self, a: f64) -> f64 {
        self.p - self.d * a
    }

    /// g
    #[inline(always)]
    pub fn slope(&self, a: f64, margin: f64) -> f64 {
        margin - self.p + self.d * a
    }

    /// The a on the central path of this margin and mu: mu / a - mu / (u - a) = g, at least [`LEAST`] of u away from either end. With both
    /// a bound and d it is the nearer to 0 of what each by itself asks.
    #[inline(always)]
    pub fn central(&self, margin: f64, mu: f64) -> f64 {
        let slope = margin - self.p;
        match self.d > 0.0 {
            false => self.central_of_bound(slope, mu),
            true => {
                let root = slope.hypot(2.0 * (self.d * mu).sqrt());
                let a = match slope >= 0.0 {
                    true => 2.0 * mu / (slope + root),
                    false => (root - slope) / (2.0 * self.d),
                };
                match self.is_bounded() {
                    true => a.min(self.central_of_bound(slope, mu)),
                    false => a,
                }
            }
        }
    }

    #[inline(always)]
    fn central_of_bound(&self, slope: f64, mu: f64) -> f64 {
        let steep = slope.abs() * self.high;
        let nearer = 2.0 * mu * self.high / (2.0 * mu + steep + (2.0 * mu).hypot(steep));
        let nearer = nearer.max(LEAST * self.high);
        match slope >= 0.0 {
            true => nearer,
            false => self.high - nearer,
        }
    }
}

/// Products of a row that are to become mu: one for each bound of a.
pub fn products_of_row(loss: Loss) -> f64 {
    match loss.unbounded() {
        true => 1.0,
        false => 2.0,
    }
}

/// Where an interior point is with a row.
#[derive(Debug, Clone, Copy)]
pub struct RowPoint {
    pub terms: RowTerms,
    pub a: f64,
    pub xi: f64,
    /// 0 where a has no upper bound.
    pub lambda: f64,
}

/// How it changes with a step of length 1.
#[derive(Debug, Clone, Copy)]
pub struct RowStep {
    pub a: f64,
    pub xi: f64,
    pub lambda: f64,
}

impl RowPoint {
    /// With xi and lambda of `slack` where the row's weight is the mean of these: where weights are of many sizes, products that are so as
    /// well leave no room for steps.
    #[inline(always)]
    pub fn with_slack(terms: RowTerms, a: f64, (slack, mean_weight): (f64, f64)) -> Self {
        let slack = slack * mean_weight / terms.weight;
        let lambda = if terms.is_bounded() { slack } else { 0.0 };
        let xi = slack;
        Self {
            terms,
            a,
            xi,
            lambda,
        }
    }

    /// With products of mu.
    #[inline(always)]
    pub fn on_path(terms: RowTerms, a: f64, mu: f64) -> Self {
        Self {
            terms,
            a,
            xi: mu / a,
            lambda: mu / (terms.high - a),
        }
    }

    #[inline(always)]
    fn left(&self) -> f64 {
        self.terms.high - self.a
    }

    /// g
    #[inline(always)]
    pub fn slope(&self, margin: f64) -> f64 {
        self.terms.slope(self.a, margin)
    }

    /// What is missing to the first condition.
    #[inline(always)]
    pub fn residual(&self, margin: f64) -> f64 {
        self.slope(margin) - self.xi + self.lambda
    }

    /// 1 / D
    #[inline(always)]
    pub fn inverse(&self) -> f64 {
        1.0 / (self.xi / self.a + self.lambda / self.left() + self.terms.d)
    }

    /// What mu and corrections pull at a with: the right side of its step is this less g.
    #[inline(always)]
    pub fn pull(&self, mu: f64, [to_xi, to_lambda]: [f64; 2]) -> f64 {
        (mu - to_xi) / self.a - (mu + to_lambda) / self.left()
    }

    /// The step that goes with this d a.
    #[inline(always)]
    pub fn step(&self, along: f64, mu: f64, [to_xi, to_lambda]: [f64; 2]) -> RowStep {
        RowStep {
            a: along,
            xi: -self.xi + (mu - to_xi - self.xi * along) / self.a,
            lambda: -self.lambda + (mu + to_lambda + self.lambda * along) / self.left(),
        }
    }

    /// The length of a step at which a variable meets its bound.
    #[inline(always)]
    pub fn room(&self, step: &RowStep) -> f64 {
        let all = [
            (self.a, step.a),
            (self.left(), -step.a),
            (self.xi, step.xi),
            (self.lambda, step.lambda),
        ];
        let mut least = f64::INFINITY;
        for (room, change) in all {
            if change < 0.0 {
                least = least.min(room / -change);
            }
        }
        least
    }

    /// Behind a step of this length.
    #[inline(always)]
    pub fn after(&self, step: &RowStep, length: f64) -> Self {
        Self {
            terms: self.terms,
            a: self.a + length * step.a,
            xi: self.xi + length * step.xi,
            lambda: self.lambda + length * step.lambda,
        }
    }

    /// a xi and (u - a) lambda behind a step of this length.
    #[inline(always)]
    pub fn products(&self, step: &RowStep, length: f64) -> [f64; 2] {
        let high = match self.terms.is_bounded() {
            true => (self.left() - length * step.a) * (self.lambda + length * step.lambda),
            false => 0.0,
        };
        [
            (self.a + length * step.a) * (self.xi + length * step.xi),
            high,
        ]
    }

    /// What the row has of eta.
    #[inline(always)]
    pub fn gap(&self) -> f64 {
        let [low, high] = self.products(&RowStep::NONE, 0.0);
        low + high
    }

    /// Of a and xi, and of u - a and lambda, whose products shrink to 0, whether the first is the one that is nearer to it; a in parts of
    /// `most`.
    #[inline(always)]
    pub fn is_at_ends(&self, most: f64) -> [bool; 2] {
        let bounded = self.terms.is_bounded();
        [
            self.a < most * self.xi,
            bounded && self.left() < self.terms.high * self.lambda,
        ]
    }

    /// Where a goes with the second.
    #[inline(always)]
    pub fn high(&self) -> f64 {
        self.terms.high
    }
}

impl RowStep {
    const NONE: Self = Self {
        a: 0.0,
        xi: 0.0,
        lambda: 0.0,
    };

    /// What of eta goes with the square of its length.
    #[inline(always)]
    pub fn curve(&self) -> f64 {
        self.a * (self.xi - self.lambda)
    }
}

/// How far a step goes where a variable would meet its bound at this length.
pub fn length_within(least: f64) -> f64 {
    (SHORT_OF * least).min(1.0)
}

/// xi and lambda at the beginning, where |g| comes to so much over so many rows.
pub fn first_slack(slopes: f64, rows: f64) -> f64 {
    (SLACK * slopes / rows).max(SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a bound or d; what has both, Huber's, begins near the path and no more.
    const LOSSES: [Loss; 3] = [Loss::Hinge, Loss::SquaredHinge, Loss::HalfSquaredHinge];
    const SLOPES: [f64; 7] = [-30.0, -1.0, -1e-3, 0.0, 1e-9, 0.5, 1e4];

    #[test]
    fn products_of_a_point_on_the_path_are_mu() {
        for loss in LOSSES {
            for slope in SLOPES {
                for weight in [1e-3, 1.0, 1e3] {
                    for mu in [1e-8, 1e-3, 10.0] {
                        let terms = RowTerms::of(loss, weight);
                        let a = terms.central(1.0 + slope, mu);
                        assert!(a > 0.0 && a < terms.high, "{slope} {weight} {mu}: {a}");
                        let point = RowPoint::on_path(terms, a, mu);
                        let scale = point.xi + point.lambda + terms.d * a + slope.abs();
                        let off = a.min(terms.high - a) / terms.high;
                        if (off / LEAST - 1.0).abs() < 1e-6 {
                            // the path is nearer to the bound
                            assert!(mu / (LEAST * weight) <= slope.abs() + mu / weight);
                            continue;
                        }
                        let missing = point.residual(1.0 + slope);
                        assert!(
                            missing.abs() <= 1e-6 * scale,
                            "{loss:?} {slope} {weight} {mu}: {missing}"
                        );
                        let products = point.gap() / products_of_row(loss);
                        assert!((products / mu - 1.0).abs() < 1e-6);
                    }
                }
            }
        }
    }

    /// A row alone, whose margin moves by q d a: what steps come to meets its conditions, and is the optimum of the row's dual.
    #[test]
    fn steps_of_a_row_alone_come_to_its_optimum() {
        for loss in LOSSES.into_iter().chain([Loss::Huber]) {
            for q in [0.3, 0.8, 5.0] {
                let terms = RowTerms::of(loss, 0.7);
                let mut point =
                    RowPoint::with_slack(terms, MIDDLE * terms.weight, (1.0, terms.weight));
                for _ in 0..12 {
                    let mu = 0.1 * point.gap() / products_of_row(loss);
                    let right = point.pull(mu, [0.0; 2]) - point.slope(q * point.a);
                    let along = right / (1.0 / point.inverse() + q);
                    let step = point.step(along, mu, [0.0; 2]);
                    let length = length_within(point.room(&step));
                    let foreseen: f64 = point.products(&step, length).iter().sum();
                    point = point.after(&step, length);
                    let apart = (point.gap() - foreseen).abs();
                    assert!(apart <= 1e-9, "{loss:?} {q}: {point:?} {foreseen}");
                    assert!(point.a > 0.0 && point.xi >= 0.0 && point.lambda >= 0.0);
                }
                let expected = (terms.p / (q + terms.d)).min(terms.high);
                assert!((point.a - expected).abs() < 1e-6, "{loss:?} {q}: {point:?}");
                assert!(point.residual(q * point.a).abs() < 1e-6);
            }
        }
    }
}
