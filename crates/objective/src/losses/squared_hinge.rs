//! The squared hinge. Hsieh, Chang, Lin, Keerthi, Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML
//! 2008, (4): its dual variables have no upper bound, and cost a^2 / (4 s) in the dual.

use crate::loss::{BreakpointMoments, Conjugate, LossFunction, NO_LOSS_FROM};
use crate::simd::eight::Eight;

/// max(0, 1 - m)^2
#[derive(Debug, Clone, Copy)]
pub struct SquaredHinge;

impl LossFunction for SquaredHinge {
    const UNBOUNDED: bool = true;
    const CURVATURE: f64 = 2.0;
    const SLOPE: f64 = 2.0;
    // 2 (1 - m) m at m = 1/2
    const LARGEST_NORM: f64 = 0.5;

    #[inline(always)]
    fn value(self, margin: f64) -> f64 {
        let slack = (NO_LOSS_FROM - margin).max(0.0);
        slack * slack
    }

    fn within_at(self, value: f64) -> f64 {
        value.sqrt()
    }

    #[inline(always)]
    fn steepness(self, margin: f64) -> f64 {
        Self::SLOPE * (NO_LOSS_FROM - margin)
    }

    #[inline(always)]
    fn conjugate(self, weight: f64) -> Conjugate {
        Conjugate {
            linear: NO_LOSS_FROM,
            curvature: 0.5 / weight,
            high: f32::MAX,
        }
    }

    fn sum_beyond(self, [count, first, second]: BreakpointMoments, at: f64, _: f64) -> f64 {
        second - 2.0 * at * first + at * at * count
    }

    #[inline(always)]
    fn value_of_eight<E: Eight>(self, margin: E) -> E {
        let slack = E::splat(NO_LOSS_FROM as f32)
            .minus(margin)
            .most(E::splat(0.0));
        slack.times(slack)
    }

    #[inline(always)]
    fn weighted_eight<E: Eight>(self, value: E, _: E, curvature: E) -> E {
        // s = 1 / (2 d)
        value.over(curvature.plus(curvature))
    }
}
