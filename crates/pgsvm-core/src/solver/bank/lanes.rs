//! The visit of a row by eight heads at once: the step of [`crate::solver::visit`], a lane a head.
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
    /// 1 / (1 + kappa)
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
    aq_rows: [u32; LANES],
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
    aq_rows: [0; LANES],
};

/// What a block needs to know of a row.
#[derive(Clone, Copy)]
pub(super) struct Facing<'a> {
    /// Signs by lane.
    pub(super) signs: &'a Lanes,
    pub(super) cost: f32,
    /// Lanes to visit, if the row takes part in them.
    pub(super) lanes: u8,
    /// As far from holding a row at its bound a gradient may be for the row to matter.
    pub(super) margin: f32,
}

/// How a row stands with eight heads.
pub(super) struct Standing {
    gradient: Lanes,
    upper: Lanes,
    diag: Lanes,
    /// Lanes whose dual variable can move.
    pub(super) moving: u8,
    /// Lanes to which the row matters: those where no bound holds it before the step, or only just (`Facing::margin`).
    pub(super) matters: u8,
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
                aq_rows: sums.aq_rows[k].into(),
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

    /// Looks how a row stands: `score` are its scores <w, x>, `alpha` its dual variables. Lanes for which it will sleep
    /// are noted in `asleep`.
    #[inline(always)]
    pub(super) fn look(
        &mut self,
        facing: Facing<'_>,
        score: &Lanes,
        alpha: &Lanes,
        asleep: &mut u8,
    ) -> Standing {
        let (upper, diag) = self.bounds(facing.cost);
        let sums = &mut self.sums;
        let mut gradients = [0.0f32; LANES];
        let (mut on, mut apart) = ([0u32; LANES], [0u32; LANES]);
        let (mut sleeping, mut moving, mut matters) = ([0u32; LANES], [0u32; LANES], [0u32; LANES]);
        for k in 0..LANES {
            let y = facing.signs[k];
            let takes_part = y != 0.0;
            let is_on = (u32::from(facing.lanes) >> k & 1 != 0) & takes_part;
            let old = alpha[k];
            let gradient = y * score[k] - 1.0 + diag[k] * old;
            gradients[k] = gradient;
            let (at_zero, at_upper) = (old <= 0.0, old >= upper[k]);
            let least = if at_upper { 0.0 } else { f32::NEG_INFINITY };
            let most = if at_zero { 0.0 } else { f32::INFINITY };
            let projected = gradient.max(least).min(most);
            let (high, low) = (sums.high[k].max(projected), sums.low[k].min(projected));
            sums.high[k] = if is_on { high } else { sums.high[k] };
            sums.low[k] = if is_on { low } else { sums.low[k] };
            sums.visits[k] += u32::from(is_on);
            let sleeps = (at_zero & (gradient > self.sleep_above[k]))
                | (at_upper & (gradient < self.sleep_below[k]));
            let held =
                (at_zero & (gradient > facing.margin)) | (at_upper & (gradient < -facing.margin));
            apart[k] = u32::from(!takes_part) << k;
            on[k] = u32::from(is_on) << k;
            sleeping[k] = u32::from(sleeps & is_on) << k;
            moving[k] = u32::from((projected != 0.0) & is_on) << k;
            matters[k] = u32::from(is_on & !held) << k;
        }
        let bits = |lanes: [u32; LANES]| lanes.iter().fold(0, |bits, bit| bits | bit) as u8;
        *asleep = (*asleep & !bits(on)) | bits(sleeping) | bits(apart);
        Standing {
            gradient: gradients,
            upper,
            diag,
            moving: bits(moving),
            matters: bits(matters),
        }
    }

    /// The coordinate step where the dual variables can move. `curvature`: second derivatives of the shifted dual along
    /// the row without the loss's part. Gives back what to add to v, in multiples of the row.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        facing: Facing<'_>,
        standing: &Standing,
        curvature: &Lanes,
        alpha: &mut Lanes,
    ) -> Lanes {
        let sums = &mut self.sums;
        let mut scales = [0.0f32; LANES];
        for k in 0..LANES {
            let moves = u32::from(standing.moving) >> k & 1 != 0;
            let (gradient, diag, upper) =
                (standing.gradient[k], standing.diag[k], standing.upper[k]);
            let old = alpha[k];
            let wanted = old - gradient / (curvature[k] + diag);
            let clipped = wanted.max(0.0).min(upper);
            let after = if moves & !wanted.is_nan() {
                clipped
            } else {
                old
            };
            let (after_wide, old_wide) = (f64::from(after), f64::from(old));
            alpha[k] = after;
            scales[k] = facing.signs[k] * (after - old);
            sums.alpha[k] += after_wide - old_wide;
            sums.diag[k] += f64::from(diag) * (after_wide * after_wide - old_wide * old_wide);
            sums.updates[k] += u32::from(after != old);
        }
        scales
    }

    /// Second derivatives without the loss's part, where the shift has no metric; `q`: |x|^2, intercept included.
    #[inline(always)]
    pub(super) fn curvature(&self, q: f32) -> Lanes {
        self.damp.map(|damp| q * damp)
    }

    /// 1 / (1 + kappa)
    #[inline(always)]
    pub(super) fn damp(&self) -> &Lanes {
        &self.damp
    }

    /// Sums the losses of a row in a full pass: its scores at the weights of the pass's start and at those of its visit,
    /// its dual variables, and its |x|^2 in the norm of the shift where it is known.
    #[inline(always)]
    pub(super) fn measure(
        &mut self,
        facing: Facing<'_>,
        at_start: &Lanes,
        at_visit: &Lanes,
        alpha: &Lanes,
        norm: Option<f32>,
    ) {
        let (norm, known) = (norm.unwrap_or(0.0), u32::from(norm.is_some()));
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
            sums.start_loss[k] += f64::from(cost * loss(margin));
            sums.visit_loss[k] += f64::from(cost * loss(y * at_visit[k]));
            let right = (margin > 0.0) | ((margin == 0.0) & (y > 0.0));
            sums.correct[k] += u32::from(right & is_on);
            sums.rows[k] += u32::from(is_on);
            let supports = is_on & (alpha[k] > 0.0);
            sums.support[k] += u32::from(supports);
            sums.aq[k] += f64::from(if supports { alpha[k] * norm } else { 0.0 });
            sums.aq_rows[k] += known * u32::from(supports);
        }
    }

    /// Gives up the sums of all lanes.
    pub(super) fn clear(&mut self) {
        self.sums = ZERO;
    }
}
