//! The visit of a row by eight heads at once: the step of [`super::visit`], a lane a head.
//!
//! Constants and sums of the eight heads lie side by side; the sums go back to the heads' courses at the end of a pass.

use crate::kernel::lanes::{Lanes, LANES};
use crate::solver::visit::{bound, Sums, Tally, Terms};

/// Eight heads, some perhaps not in use.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Lanes whose head runs.
    pub(super) running: u8,
    squared: bool,
    /// w = damp u.
    damp: Lanes,
    c: [f64; LANES],
    /// Bound of a dual variable and curvature of the loss at cost 1.
    upper: Lanes,
    diag: Lanes,
    sleep_above: Lanes,
    sleep_below: Lanes,
    sums: LaneSums,
}

/// [`Sums`], lane by lane.
#[derive(Clone, Copy)]
struct LaneSums {
    high: Lanes,
    low: Lanes,
    alpha: [f64; LANES],
    diag: [f64; LANES],
    visits: [u32; LANES],
    updates: [u32; LANES],
    start_loss: [f64; LANES],
    visit_loss: [f64; LANES],
    aq: [f64; LANES],
    correct: [u32; LANES],
    rows: [u32; LANES],
    support: [u32; LANES],
}

const ZERO: LaneSums = LaneSums {
    high: [f32::NEG_INFINITY; LANES],
    low: [f32::INFINITY; LANES],
    alpha: [0.0; LANES],
    diag: [0.0; LANES],
    visits: [0; LANES],
    updates: [0; LANES],
    start_loss: [0.0; LANES],
    visit_loss: [0.0; LANES],
    aq: [0.0; LANES],
    correct: [0; LANES],
    rows: [0; LANES],
    support: [0; LANES],
};

/// What a block needs to know of a row.
#[derive(Clone, Copy)]
pub(super) struct Facing<'a> {
    /// Signs by lane.
    pub(super) signs: &'a Lanes,
    pub(super) cost: f32,
    /// |x|^2, intercept included.
    pub(super) q: f32,
    /// Lanes to visit, if the row takes part in them.
    pub(super) lanes: u8,
    /// As far from holding a row at its bound a gradient may be for the row to matter.
    pub(super) margin: f32,
}

/// What a visit found.
#[derive(Clone, Copy)]
pub(super) struct Visited {
    /// What to add to the weights, in multiples of the row.
    pub(super) scales: Lanes,
    /// Whether any is not 0.
    pub(super) moved: bool,
    /// Whether the row matters to some lane, as in [`super::visit::Outcome::matters`].
    pub(super) matters: bool,
}

impl Block {
    pub(super) const EMPTY: Block = Block {
        running: 0,
        squared: false,
        damp: [0.0; LANES],
        c: [0.0; LANES],
        upper: [0.0; LANES],
        diag: [0.0; LANES],
        sleep_above: [0.0; LANES],
        sleep_below: [0.0; LANES],
        sums: ZERO,
    };

    /// Sets the constants of a lane whose head runs.
    pub(super) fn arm(&mut self, k: usize, terms: &Terms, kappa: f64) {
        self.running |= 1 << k;
        self.squared = terms.squared;
        self.damp[k] = (1.0 / (1.0 + kappa)) as f32;
        self.c[k] = terms.c;
        self.upper[k] = terms.upper(1.0);
        self.diag[k] = terms.diag(1.0) as f32;
        self.sleep_above[k] = terms.sleep_above as f32;
        self.sleep_below[k] = terms.sleep_below as f32;
    }

    pub(super) fn forget_range(&mut self) {
        (self.sums.high, self.sums.low) = (ZERO.high, ZERO.low);
    }

    /// The sums of a lane.
    pub(super) fn sums(&self, k: usize) -> Sums {
        let sums = &self.sums;
        Sums {
            full: Tally {
                start_loss: sums.start_loss[k],
                correct: sums.correct[k].into(),
                rows: sums.rows[k].into(),
                visit_loss: sums.visit_loss[k],
                support: sums.support[k].into(),
                aq: sums.aq[k],
                aq_rows: sums.support[k].into(),
            },
            high: sums.high[k].into(),
            low: sums.low[k].into(),
            alpha: sums.alpha[k],
            diag: sums.diag[k],
            visits: sums.visits[k].into(),
            updates: sums.updates[k].into(),
        }
    }

    /// Bounds and curvatures for a row of this cost.
    #[inline(always)]
    fn bounds(&self, cost: f32) -> (Lanes, Lanes) {
        if cost == 1.0 {
            return (self.upper, self.diag);
        }
        let cost = f64::from(cost);
        if self.squared {
            (self.upper, self.c.map(|c| (0.5 / (c * cost)) as f32))
        } else {
            (self.c.map(|c| bound(c * cost)), self.diag)
        }
    }

    /// Visits a row: `at_u` are its scores <u, x>, `alpha` its dual variables, `asleep` the lanes for which it sleeps.
    #[inline(always)]
    pub(super) fn visit(
        &mut self,
        facing: Facing<'_>,
        at_u: &Lanes,
        alpha: &mut Lanes,
        asleep: &mut u8,
    ) -> Visited {
        let (upper, diag) = self.bounds(facing.cost);
        let sums = &mut self.sums;
        let mut scales = [0.0f32; LANES];
        let (mut sleeping, mut visited, mut matters, mut moved) = (0u32, 0u32, 0u32, 0u32);
        for k in 0..LANES {
            let y = facing.signs[k];
            let on = (u32::from(facing.lanes) >> k) & u32::from(y != 0.0);
            let is_on = on != 0;
            let old = alpha[k];
            let gradient = y * (at_u[k] * self.damp[k]) - 1.0 + diag[k] * old;
            let (at_zero, at_upper) = (old <= 0.0, old >= upper[k]);
            let least = if at_upper { 0.0 } else { f32::NEG_INFINITY };
            let most = if at_zero { 0.0 } else { f32::INFINITY };
            let projected = gradient.max(least).min(most);
            sums.high[k] = sums.high[k].max(if is_on { projected } else { f32::NEG_INFINITY });
            sums.low[k] = sums.low[k].min(if is_on { projected } else { f32::INFINITY });
            let wanted = old - gradient / (facing.q * self.damp[k] + diag[k]);
            let takes = is_on & !wanted.is_nan();
            let after = if takes {
                wanted.max(0.0).min(upper[k])
            } else {
                old
            };
            alpha[k] = after;
            let delta = after - old;
            let changes = u32::from(delta != 0.0);
            scales[k] = y * delta;
            sums.alpha[k] += f64::from(after) - f64::from(old);
            sums.visits[k] += on;
            sums.updates[k] += changes;
            moved |= changes;
            visited |= on << k;
            let sleeps = (at_zero & (gradient > self.sleep_above[k]))
                | (at_upper & (gradient < self.sleep_below[k]));
            sleeping |= u32::from(sleeps & is_on) << k;
            let held = ((after <= 0.0) & (gradient > facing.margin))
                | ((after >= upper[k]) & (gradient < -facing.margin));
            matters |= u32::from(is_on & !held);
        }
        if self.squared {
            for k in 0..LANES {
                let after = f64::from(alpha[k]);
                let old = after - f64::from(scales[k] * facing.signs[k]);
                sums.diag[k] += f64::from(diag[k]) * (after * after - old * old);
            }
        }
        let apart = facing.signs.iter().enumerate();
        let none = apart.fold(0, |none, (k, y)| none | u8::from(*y == 0.0) << k);
        *asleep = (*asleep & !(visited as u8)) | sleeping as u8 | none;
        Visited {
            scales,
            moved: moved != 0,
            matters: matters != 0,
        }
    }

    /// Sums the losses of a row in a full pass: its scores at the weights of the pass's start and at those before its
    /// visit, if it is visited, and its dual variables.
    #[inline(always)]
    pub(super) fn measure(
        &mut self,
        facing: Facing<'_>,
        at_start: &Lanes,
        at_u: Option<&Lanes>,
        alpha: &Lanes,
    ) {
        let sums = &mut self.sums;
        let squared = self.squared;
        let loss = |margin: f32| {
            let slack = (1.0 - margin).max(0.0);
            if squared {
                slack * slack
            } else {
                slack
            }
        };
        for k in 0..LANES {
            let y = facing.signs[k];
            let is_on = (u32::from(facing.lanes) >> k & 1 != 0) & (y != 0.0);
            let cost = if is_on { facing.cost } else { 0.0 };
            let margin = y * at_start[k];
            let now = match at_u {
                Some(at_u) => y * (at_u[k] * self.damp[k]),
                None => margin,
            };
            sums.start_loss[k] += f64::from(cost * loss(margin));
            sums.visit_loss[k] += f64::from(cost * loss(now));
            let right = (margin > 0.0) | ((margin == 0.0) & (y > 0.0));
            sums.correct[k] += u32::from(right & is_on);
            sums.rows[k] += u32::from(is_on);
            let supports = is_on & (alpha[k] > 0.0);
            sums.support[k] += u32::from(supports);
            sums.aq[k] += f64::from(if supports { alpha[k] * facing.q } else { 0.0 });
        }
    }

    /// Gives up the sums of all lanes.
    pub(super) fn clear(&mut self) {
        self.sums = ZERO;
    }
}
