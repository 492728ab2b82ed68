//! The best constant decision: weights of 0 and an intercept.
//!
//! With many classes, some heads (a class against the rest) gain next to nothing by any weights. Then weights of 0 are kept: the noise that
//! training leaves in other weights would decide between such classes.

use crate::objective::loss::{by_loss, LossFunction};
use crate::solver::ledger::bounds::Primal;
use crate::solver::sums::tally::Tally;
use crate::solver::sums::terms::Terms;

/// Steps of the search for the intercept: each leaves two thirds.
const STEPS: usize = 80;
/// Where the best decision of several classes is the same number, -1 with the hinge loss, it is less by so much times the
/// share of the rest: the most frequent class is the largest. It costs no more of the primal than half as much.
const APART: f64 = 1.0 / 8192.0;

#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Constant {
    /// The primal before the intercept is set apart from that of other classes.
    least: f64,
    pub(in crate::solver) primal: Primal,
    pub(in crate::solver) intercept: f64,
    /// The intercept before it is set apart.
    pub(in crate::solver) plain: f64,
}

/// A primal summed in 32 bits is known to about this share of it.
const ROUNDING: f64 = 1e-6;

impl Constant {
    /// From what was summed over all rows at weights of 0; None where no intercept is better than 0.
    pub(in crate::solver) fn of(terms: &Terms, full: &Tally) -> Option<Self> {
        // every row is at a margin of 0
        let none = by_loss!(terms.loss, loss => loss.value(0.0));
        let all = full.start_loss / none;
        let positive = 0.5 * (all + full.tied_cost);
        let negative = all - positive;
        let primal = |b: f64| {
            let losses = by_loss!(terms.loss, loss => {
                positive * loss.value(b) + negative * loss.value(-b)
            });
            0.5 * b * b + terms.c * losses
        };
        let mut intercept = least(primal);
        let (least, plain) = (primal(intercept), intercept);
        if intercept == -1.0 {
            intercept -= APART * (negative / all);
        }
        // weights may be held in 32 bits
        let intercept = f64::from(intercept as f32);
        let value = primal(intercept);
        if value.is_nan() || value >= primal(0.0) {
            return None;
        }
        let positives = (full.rows as i64 + full.ties) / 2;
        let correct = match intercept > 0.0 {
            true => positives,
            false => full.rows as i64 - positives,
        };
        Some(Self {
            least,
            primal: Primal {
                value,
                correct: correct as u64,
                ties: 0,
                rows: full.rows,
                summed: false,
            },
            intercept,
            plain,
        })
    }

    /// Whether weights of this primal are no better.
    pub(in crate::solver) fn is_best(&self, primal: f64) -> bool {
        self.least <= primal * (1.0 + ROUNDING)
    }
}

/// Where this convex function is least between -1 and 1, beyond which no loss falls for either side.
fn least(of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        match of(low + third) <= of(high - third) {
            true => high -= third,
            false => low += third,
        }
    }
    let inside = 0.5 * (low + high);
    // at a border or a kink the search comes near and no more
    let places = [-1.0, 0.0, 1.0].into_iter();
    places.fold(inside, |best, place| match of(place) <= of(best) {
        true => place,
        false => best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::loss::Loss;

    fn constant(loss: Loss, c: f64, positive: f64, negative: f64) -> Option<Constant> {
        let terms = Terms {
            c,
            positive_weight: 1.0,
            loss,
        };
        let full = Tally {
            start_loss: positive + negative,
            tied_cost: positive - negative,
            ties: (positive - negative) as i64,
            rows: (positive + negative) as u64,
            ..Tally::EMPTY
        };
        Constant::of(&terms, &full)
    }

    #[test]
    fn rare_classes_say_no_and_the_most_frequent_one_is_the_largest() {
        let rare = constant(Loss::Hinge, 1.0, 30.0, 970.0).unwrap();
        let rarer = constant(Loss::Hinge, 1.0, 20.0, 980.0).unwrap();
        assert!(rarer.intercept < rare.intercept && rare.intercept < -1.0);
        assert!((rare.primal.value / (0.5 + 60.0) - 1.0).abs() < 1e-4);
        assert_eq!((rare.primal.correct, rare.primal.rows), (970, 1000));
        let often = constant(Loss::Hinge, 1.0, 970.0, 30.0).unwrap();
        assert_eq!((often.intercept, often.primal.correct), (1.0, 970));
    }

    #[test]
    fn the_squared_hinge_has_its_own_best_intercept() {
        let found = constant(Loss::SquaredHinge, 0.5, 30.0, 70.0).unwrap();
        assert!((found.intercept - -40.0 / 101.0).abs() < 1e-6);
    }

    #[test]
    fn even_classes_have_none() {
        assert!(constant(Loss::Hinge, 1.0, 50.0, 50.0).is_none());
    }
}
