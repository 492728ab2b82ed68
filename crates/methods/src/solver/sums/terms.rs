//! The constants of a head that its visits need.

use crate::objective::loss::Loss;

#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Terms {
    pub(in crate::solver) c: f64,
    /// What the costs of positive rows are multiplied by.
    pub(in crate::solver) positive_weight: f32,
    pub(in crate::solver) loss: Loss,
}

/// Gradients beyond which a row at its bound is shrunk.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct ShrinkLimits {
    pub(in crate::solver) above: f64,
    pub(in crate::solver) below: f64,
}

impl ShrinkLimits {
    /// No row is.
    pub(in crate::solver) const NONE: ShrinkLimits = ShrinkLimits {
        above: f64::INFINITY,
        below: f64::NEG_INFINITY,
    };
}

impl Terms {
    /// What a row of this cost counts on side `y`.
    #[inline(always)]
    pub(in crate::solver) fn cost(&self, cost: f32, y: f64) -> f64 {
        let weight = if y > 0.0 { self.positive_weight } else { 1.0 };
        f64::from(cost) * f64::from(weight)
    }
}
