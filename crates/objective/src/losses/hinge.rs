//! The hinge. Hsieh, Chang, Lin, Keerthi, Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008, (4):
//! its dual variables are at most the weight of their row.

use crate::loss::{largest_within, BreakpointMoments, Conjugate, LossFunction, NO_LOSS_FROM};
use crate::simd::eight::Eight;

/// max(0, 1 - m)
#[derive(Debug, Clone, Copy)]
pub struct Hinge;

impl LossFunction for Hinge {
    const CURVED: bool = false;

    fn is_unbounded(self) -> bool {
        false
    }

    fn curvature(self) -> f64 {
        0.0
    }

    fn line_from(self) -> f64 {
        0.0
    }

    // of a row between its bounds m = 1
    fn largest_norm(self) -> f64 {
        1.0
    }

    #[inline(always)]
    fn value(self, margin: f64) -> f64 {
        (NO_LOSS_FROM - margin).max(0.0)
    }

    fn within_at(self, value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn steepness(self, _: f64) -> f64 {
        1.0
    }

    #[inline(always)]
    fn conjugate(self, weight: f64) -> Conjugate {
        Conjugate {
            linear: NO_LOSS_FROM,
            curvature: 0.0,
            high: largest_within(weight),
        }
    }

    fn sum_beyond(self, [count, first, _]: BreakpointMoments, at: f64, sign: f64) -> f64 {
        sign * (first - at * count)
    }

    #[inline(always)]
    fn value_of_eight<E: Eight>(self, margin: E) -> E {
        E::splat(NO_LOSS_FROM as f32)
            .minus(margin)
            .most(E::splat(0.0))
    }

    #[inline(always)]
    fn weighted_eight<E: Eight>(self, value: E, high: E, _: E) -> E {
        value.times(high)
    }
}
