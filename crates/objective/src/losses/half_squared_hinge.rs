//! Half the squared hinge: a loss for tests alone: every method that the table of `loss.rs` says minimizes it, and no other file knows it.

use crate::loss::{BreakpointMoments, Conjugate, LossFunction, NO_LOSS_FROM};
use crate::losses::squared_hinge::SquaredHinge;
use crate::simd::eight::Eight;

/// 1/2 max(0, 1 - m)^2
#[derive(Debug, Clone, Copy)]
pub struct HalfSquaredHinge;

impl LossFunction for HalfSquaredHinge {
    const UNBOUNDED: bool = true;
    const CURVATURE: f64 = 1.0;
    const SLOPE: f64 = 1.0;
    const LARGEST_NORM: f64 = 0.25;

    #[inline(always)]
    fn value(self, margin: f64) -> f64 {
        let slack = (NO_LOSS_FROM - margin).max(0.0);
        0.5 * slack * slack
    }

    fn within_at(self, value: f64) -> f64 {
        (2.0 * value).sqrt()
    }

    #[inline(always)]
    fn steepness(self, margin: f64) -> f64 {
        NO_LOSS_FROM - margin
    }

    #[inline(always)]
    fn conjugate(self, weight: f64) -> Conjugate {
        Conjugate {
            linear: NO_LOSS_FROM,
            curvature: 1.0 / weight,
            high: f32::MAX,
        }
    }

    fn sum_beyond(self, moments: BreakpointMoments, at: f64, sign: f64) -> f64 {
        0.5 * SquaredHinge.sum_beyond(moments, at, sign)
    }

    #[inline(always)]
    fn value_of_eight<E: Eight>(self, margin: E) -> E {
        SquaredHinge.value_of_eight(margin).times(E::splat(0.5))
    }

    #[inline(always)]
    fn weighted_eight<E: Eight>(self, value: E, _: E, curvature: E) -> E {
        // s = 1 / d
        value.over(curvature)
    }
}
