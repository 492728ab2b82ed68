//! Losses that are a parabola below the margin of 1, and perhaps straight further below: the squared hinge and Huber's.
//!
//! With z = 1 - m, L is 0 up to z = 0, then k/2 z^2, and from z = `line_from` on its tangent there. The slope is at most k times that, and
//! so are dual variables, in parts of the weight of their row; along each the dual bends all the same. So the loops over rows
//! are the same for all of them: what differs is two numbers.
//!
//! | loss | k | line from | from |
//! |---|---|---|---|
//! | squared hinge | 2 | nowhere | Hsieh, Chang, Lin, Keerthi, Sundararajan, *A dual coordinate descent method for large-scale linear SVM*, ICML 2008, (4) |
//! | Huber's | 1 | 1 | Huber, *Robust estimation of a location parameter*, Annals of Mathematical Statistics 35, 1964; with a norm: Mangasarian and Musicant, *Robust linear and support vector regression*, IEEE PAMI 22, 2000 |

use crate::loss::{largest_within, BreakpointMoments, Conjugate, LossFunction, NO_LOSS_FROM};
use crate::simd::eight::Eight;

/// k/2 max(0, 1 - m)^2, and its tangent from some margin down.
#[derive(Debug, Clone, Copy)]
pub struct Parabola {
    /// k
    curvature: f64,
    /// How far within the margin the tangent goes on; infinite where that is nowhere.
    line_from: f64,
}

/// max(0, 1 - m)^2
pub const SQUARED_HINGE: Parabola = Parabola {
    curvature: 2.0,
    line_from: f64::INFINITY,
};

/// 1/2 max(0, 1 - m)^2, and 1/2 - m below a margin of 0.
pub const HUBER: Parabola = Parabola {
    curvature: 1.0,
    line_from: 1.0,
};

/// 1/2 max(0, 1 - m)^2: a loss for tests alone.
#[cfg(any(test, feature = "planted"))]
pub const HALF_SQUARED_HINGE: Parabola = Parabola {
    curvature: 1.0,
    line_from: f64::INFINITY,
};

impl Parabola {
    /// The largest -L', as a part of which a dual variable is one of its row's weight.
    #[inline(always)]
    fn most_steep(self) -> f64 {
        self.curvature * self.line_from
    }
}

impl LossFunction for Parabola {
    const CURVED: bool = true;

    fn is_unbounded(self) -> bool {
        self.line_from == f64::INFINITY
    }

    fn curvature(self) -> f64 {
        self.curvature
    }

    fn line_from(self) -> f64 {
        self.line_from
    }

    // k z m with z = 1 - m is largest in the middle, and no larger where z is held
    fn largest_norm(self) -> f64 {
        let within = self.line_from.min(0.5 * NO_LOSS_FROM);
        self.curvature * within * (NO_LOSS_FROM - within)
    }

    #[inline(always)]
    fn value(self, margin: f64) -> f64 {
        let within = (NO_LOSS_FROM - margin).max(0.0);
        let bent = within.min(self.line_from);
        let straight = (within - bent).max(0.0);
        0.5 * self.curvature * bent * (bent + 2.0 * straight)
    }

    fn within_at(self, value: f64) -> f64 {
        let bent = (2.0 * value / self.curvature).sqrt();
        match bent <= self.line_from {
            true => bent,
            false => value / self.most_steep() + 0.5 * self.line_from,
        }
    }

    #[inline(always)]
    fn steepness(self, margin: f64) -> f64 {
        self.curvature * (NO_LOSS_FROM - margin).min(self.line_from)
    }

    #[inline(always)]
    fn conjugate(self, weight: f64) -> Conjugate {
        Conjugate {
            linear: NO_LOSS_FROM,
            curvature: 1.0 / self.curvature / weight,
            high: match self.line_from == f64::INFINITY {
                true => f32::MAX,
                false => largest_within(self.most_steep() * weight),
            },
        }
    }

    fn sum_beyond(self, [count, first, second]: BreakpointMoments, at: f64, _: f64) -> f64 {
        0.5 * self.curvature * (second - 2.0 * at * first + at * at * count)
    }

    #[inline(always)]
    fn value_of_eight<E: Eight>(self, margin: E) -> E {
        let within = E::splat(NO_LOSS_FROM as f32)
            .minus(margin)
            .most(E::splat(0.0));
        let bent = within.least(E::splat(self.line_from as f32));
        let half = E::splat(0.5 * self.curvature as f32);
        let straight = within.minus(bent).most(E::splat(0.0));
        half.times(bent).times(bent.plus(straight).plus(straight))
    }

    #[inline(always)]
    fn weighted_eight<E: Eight>(self, value: E, _: E, curvature: E) -> E {
        // s = 1 / (k d)
        value.over(E::splat(self.curvature as f32).times(curvature))
    }
}
