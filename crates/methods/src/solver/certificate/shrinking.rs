//! Which rows at a bound active passes leave out, and how long those may go on.

use crate::solver::sums::terms::ShrinkLimits;

/// A row at its bound is shrunk (left out of active passes; Joachims 1999, Hsieh et al. 2008) when its gradient is beyond this share of the largest violation of the last pass.
const SHRINK_SHARE: f64 = 0.5;
/// The same at first, while much is still to be learned from few rows: until the gap is near, or a full pass finds that
/// shrunk rows left more than some share of it.
const EAGER_SHARE: f64 = 0.25;
const EAGER_GAP: f64 = 0.01;
const WRONGLY_SHRUNK: f64 = 0.1;

/// Where shrunk rows left less than this share of the gap, active passes may go on for twice as long as before, up to
/// so many times as long as at first.
const RIGHTLY_SHRUNK: f64 = 0.01;
const MOST_PATIENCE: usize = 4;

#[derive(Debug)]
pub(in crate::solver) struct Shrinking {
    /// Whether rows may be shrunk at all.
    pub(in crate::solver) allowed: bool,
    /// Whether rows are shrunk eagerly.
    eager: bool,
    /// How many times as long as at first active passes may go on until the next full one.
    pub(in crate::solver) patience: usize,
}

impl Shrinking {
    pub(in crate::solver) const AT_FIRST: Shrinking = Shrinking {
        allowed: true,
        eager: true,
        patience: 1,
    };

    /// Learns from a full pass: `share` is what shrunk rows left of the gap at its start. `patient`: whether full passes need
    /// correct nothing else.
    pub(in crate::solver) fn judge(&mut self, share: f64, gap: f64, patient: bool) {
        self.eager &= share <= WRONGLY_SHRUNK && gap > EAGER_GAP;
        self.patience = if patient && share < RIGHTLY_SHRUNK {
            (2 * self.patience).min(MOST_PATIENCE)
        } else {
            1
        };
    }

    /// Gradients say little about how firmly a row is held.
    pub(in crate::solver) fn distrust(&mut self) {
        self.eager = false;
    }

    /// The gap is known to be this.
    pub(in crate::solver) fn come_near(&mut self, gap: f64) {
        self.eager &= gap > EAGER_GAP;
    }

    /// The gradients beyond which rows are shrunk from now on, by the largest and smallest projected one of a pass; None where that
    /// changes nothing.
    pub(in crate::solver) fn limits(&self, high: f64, low: f64) -> Option<ShrinkLimits> {
        let share = match self.eager {
            true => EAGER_SHARE,
            false => SHRINK_SHARE,
        };
        let mut limits = ShrinkLimits::NONE;
        if high > 0.0 {
            limits.above = share * high;
        }
        if low < 0.0 {
            limits.below = share * low;
        }
        self.allowed.then_some(limits)
    }
}
