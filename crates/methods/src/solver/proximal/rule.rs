//! How strong the proximal shift is, and how often its centre moves: a rule without parameters.
//!
//! The subproblem solved between two moves of the centre z is P(w) + kappa/2 |w - z|^2. With v = sum a y x the
//! solver keeps u = v + kappa z, so that w = u / (1 + kappa). What is measured once per full pass, at its start:
//!
//! - inner = P(w) - D - outer, the part of the gap that more visits at this centre would close,
//! - outer = 1/2 |v - w|^2, the part that only moving the centre closes.
//!
//! The right kappa keeps a Q / (1 + kappa) near a constant s0 for the rows with a > 0. So it follows the scale of the dual variables, not C.
//! It starts as if every dual variable were at its upper bound, and is corrected from the mean of a Q.
//!
//! s0 is a length of margins, which are about 1. Where rows have targets margins are as large as these differ, and so is s0: see [`unit_of`].

use crate::objective::loss::Loss;
use crate::objective::problem::Proximal;

/// Stalls: a full pass that shrinks the best gap by less than this is slow.
const SLOW_PROGRESS: f64 = 1.6;
/// With a best gap beyond this it is not, if the present gap shrinks by as much: where |v - w| is far from small the dual is
/// below 0 and the best gap stands still, however fast the present one falls.
const FAR: f64 = 0.3;

/// So many corrections of the balance say that the constants do not suit the problem; and so many that undo the one before
/// say that neither does the kappa at which they turn round and round.
const MANY_CORRECTIONS: u32 = 6;

/// Full passes in which the gap stands still for the stall watch to say so, and how often in a row it does before the centre moves ever
/// more rarely, whatever the balance says: subproblems that are solved well enough close the gap in the end.
const STALL_PASSES: u32 = 3;
const MANY_STALLS: u32 = 2;

/// Shares of the inner part in the gap between which the balance is right.
const BALANCED: (f64, f64) = (0.18, 0.6);

/// The constant s0 in a metric.
const METRIC_TARGET: f64 = 0.5;

/// What margins are measured in where targets are so far apart (their standard deviation), else 1: shares of that which were found on six
/// sets with targets of deviations from 8 to 4000. With squares a shift that is too strong does little harm, and one too weak much.
pub fn unit_of(loss: Loss, spread: Option<f64>) -> f64 {
    match spread {
        None => 1.0,
        Some(spread) if loss.is_smooth() => (0.1 * spread).min(1.0),
        Some(spread) => 0.2 * spread,
    }
}

/// What a full pass measured.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub inner: f64,
    pub outer: f64,
    /// Best relative gap known.
    pub gap: f64,
    /// Mean of a Q over rows with a > 0; 0 when there is none.
    pub mean_aq: f64,
}

impl Measured {
    /// Before the first full pass.
    const NOTHING: Measured = Measured {
        inner: f64::INFINITY,
        outer: 0.0,
        gap: f64::INFINITY,
        mean_aq: 0.0,
    };

    /// The gap at the start of the pass.
    fn present(self) -> f64 {
        self.inner + self.outer
    }
}

#[derive(Debug)]
pub struct Rule {
    proximal: Proximal,
    /// 1 for hinge, 2 for squared hinge.
    factor: f64,
    target: f64,
    /// What margins are measured in: 1, or how far targets are apart.
    unit: f64,
    /// Taken off the wanted kappa (1 for M the identity, where w = u / (1 + kappa)) and the least kappa.
    offset: f64,
    floor: f64,
    /// What the floor is multiplied by in a metric: a whole one pulls a free intercept too, at least so much.
    pull: f64,
    c: f64,
    mean_q: f64,
    kappa: f64,
    /// That of a beginning from nothing.
    first: f64,
    /// Correction of the target by the balance of inner and outer.
    boost: f64,
    /// Passes between moves of the centre.
    need: u32,
    passes: u32,
    slow: u32,
    /// Corrections of the boost so far, how many turned the other way than the one before, and whether the last raised it.
    corrections: u32,
    turns: u32,
    raised: bool,
    /// What the last full pass measured.
    last: Measured,
    /// Gap and age of the stall watch, and how often in a row it has found that nothing has become better.
    watched: (f64, u32),
    stalls: u32,
    /// Whether many of those have the centre move ever more rarely.
    calms: bool,
}

impl Rule {
    /// `mean_q`: mean squared norm, intercept included; `rows`: those trained with one another between two passes over all;
    /// `occurring`: features that occur; `unit`: what margins are measured in.
    pub fn new(
        proximal: Proximal,
        factor: f64,
        (c, unit): (f64, f64),
        mean_q: f64,
        rows: usize,
        occurring: usize,
    ) -> Self {
        let target = (4.0 / (rows as f64 / occurring.max(1) as f64).max(1e-9).sqrt()).max(0.05);
        let start = factor * c * mean_q / (target.max(0.5) * unit) - 1.0;
        let start = start.clamp(0.0, 1e12);
        let kappa = match proximal {
            Proximal::Auto => start,
            Proximal::On => start.max(1.0),
            Proximal::Off => 0.0,
        };
        let kappa = if kappa.is_finite() { kappa } else { 0.0 };
        Self {
            proximal,
            factor,
            target: target * unit,
            unit,
            offset: 1.0,
            floor: 1.0,
            pull: 1.0,
            c,
            mean_q,
            kappa,
            first: kappa,
            boost: 1.0,
            need: 1,
            passes: 0,
            slow: 0,
            corrections: 0,
            turns: 0,
            raised: false,
            last: Measured::NOTHING,
            watched: (f64::INFINITY, 0),
            stalls: 0,
            calms: false,
        }
    }

    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// The mean squared length of a row, intercept included.
    pub fn mean_q(&self) -> f64 {
        self.mean_q
    }

    /// The same for a problem whose rows change: v may be far from the weights then, and the centre go to and fro.
    pub fn that_calms(self, calms: bool) -> Self {
        Self { calms, ..self }
    }

    /// The same where a free intercept is not to be pulled more than this at first.
    pub fn that_pulls(self, pull: f64) -> Self {
        Self { pull, ..self }
    }

    /// Starts at the scale of dual variables that came from elsewhere, `mean_a` on average where they are above 0. Returns
    /// the new kappa. Where none is, as with weights alone, it stays as at a beginning from nothing: the weights are the centre then,
    /// and without a shift the first visits would leave them at once.
    pub fn begin_from(&mut self, mean_a: f64) -> f64 {
        if mean_a == 0.0 {
            return self.kappa;
        }
        let wanted = self.factor * mean_a * self.mean_q / self.target - self.offset;
        let least = match self.proximal {
            Proximal::Auto => 0.0,
            Proximal::On => self.floor,
            Proximal::Off => return self.kappa,
        };
        if wanted.is_finite() {
            self.kappa = wanted.clamp(least, 1e12);
        }
        self.kappa
    }

    /// Starts as at a beginning from nothing, but in a metric as strongly as it is. Returns kappa.
    pub fn begin_anew(&mut self) -> f64 {
        if self.offset > 0.0 {
            self.kappa = self.first;
        }
        self.kappa
    }

    /// Whether the shift is in use at all.
    pub fn is_off(&self) -> bool {
        self.proximal == Proximal::Off
    }

    /// Starts again in a metric: `mean_norm` is the mean of x' M^-1 x. Returns the new kappa.
    pub fn begin_metric(&mut self, mean_norm: f64) -> f64 {
        self.target = METRIC_TARGET * self.unit;
        self.offset = 0.0;
        self.floor = (mean_norm / self.mean_q).min(1.0) * self.pull;
        self.kappa = self.first_in_metric(mean_norm).clamp(self.floor, 1e12);
        self.boost = 1.0;
        self.passes = 0;
        self.slow = 0;
        self.kappa
    }

    /// Starts again in a metric that follows the dual variables, `mean_a` on average where they are above 0. Returns the
    /// new kappa.
    pub fn begin_metric_at(&mut self, mean_norm: f64, mean_a: f64) -> f64 {
        self.begin_metric(mean_norm);
        (self.corrections, self.turns) = (0, 0);
        let wanted = self.in_metric(mean_norm, mean_a);
        if wanted.is_finite() {
            self.kappa = wanted.clamp(self.floor, 1e12);
        }
        self.kappa
    }

    /// Whether the boost had to be corrected so often that the constants do not suit the problem.
    pub fn is_lost(&self) -> bool {
        self.corrections >= MANY_CORRECTIONS
    }

    /// Whether the boost goes up and down without end, as it does where it was brought down while far from the optimum.
    pub fn goes_round(&self) -> bool {
        self.turns >= MANY_CORRECTIONS
    }

    /// The kappa to start with in a metric.
    pub fn first_in_metric(&self, mean_norm: f64) -> f64 {
        self.in_metric(mean_norm, self.c)
    }

    /// The kappa that suits dual variables of this size in a metric.
    fn in_metric(&self, mean_norm: f64, mean_a: f64) -> f64 {
        self.factor * mean_a * mean_norm / (METRIC_TARGET * self.unit)
    }

    /// Counts a pass (over all rows or over the active set); true when the centre is to move now.
    pub fn pass_done(&mut self) -> bool {
        self.passes += 1;
        if self.passes < self.need {
            return false;
        }
        self.passes = 0;
        self.kappa > 0.0
    }

    /// Corrects the rule after a full pass. Returns the new kappa when it changes; the centre then moves too.
    pub fn adapt(&mut self, measured: Measured) -> Option<f64> {
        if self.proximal == Proximal::Off {
            return None;
        }
        let share = measured.inner / measured.present();
        self.balance(share, measured);
        self.watch(share, measured.gap);
        self.follow(measured.mean_aq)
    }

    /// The same by the mean of a Q alone.
    pub fn follow(&mut self, mean_aq: f64) -> Option<f64> {
        if self.proximal == Proximal::Off {
            return None;
        }
        let plain = self.kappa == 0.0 && self.proximal == Proximal::Auto && self.slow < 2;
        let floor = if plain { 0.0 } else { self.floor };
        let wanted = self.factor * self.boost * mean_aq / self.target - self.offset;
        let limited = wanted
            .max(floor)
            .clamp(self.kappa / 4.0, (4.0 * self.kappa).max(floor));
        let changes =
            limited.is_finite() && (limited > 1.5 * self.kappa || self.kappa > 1.5 * limited);
        if !changes {
            return None;
        }
        self.kappa = limited;
        self.passes = 0;
        Some(limited)
    }

    fn balance(&mut self, share: f64, measured: Measured) {
        let last = std::mem::replace(&mut self.last, measured);
        let comes_near = measured.gap > FAR && last.present() >= SLOW_PROGRESS * measured.present();
        let slow = last.gap < SLOW_PROGRESS * measured.gap && !comes_near;
        self.slow = if slow { self.slow + 1 } else { 0 };
        if self.slow < 2 || self.kappa == 0.0 {
            return;
        }
        let raises = share > BALANCED.1;
        if raises {
            self.boost = (2.0 * self.boost).min(16.0);
        } else if share < BALANCED.0 {
            self.boost /= if share < 0.25 * BALANCED.0 { 4.0 } else { 2.0 };
        } else {
            return;
        }
        self.turns += u32::from(self.corrections > 0 && raises != self.raised);
        self.raised = raises;
        self.slow = 0;
        self.corrections += 1;
    }

    fn watch(&mut self, share: f64, gap: f64) {
        let (before, age) = self.watched;
        if gap < 0.9 * before {
            self.watched = (gap, 0);
            self.stalls = 0;
        } else if age + 1 < STALL_PASSES {
            self.watched = (before, age + 1);
        } else {
            self.stalls += 1;
            self.need = if share > 0.5 || (self.calms && self.stalls > MANY_STALLS) {
                (2 * self.need).min(64)
            } else {
                (self.need / 2).max(1)
            };
            self.watched = (gap, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full pass that closed nothing of the gap, of which the inner part is this share.
    fn stood_still(rule: &mut Rule, share: f64) {
        rule.adapt(Measured {
            inner: share,
            outer: 1.0 - share,
            gap: 0.1,
            mean_aq: 1.0,
        });
    }

    #[test]
    fn corrections_that_undo_one_another_are_counted_until_it_starts_again() {
        let mut rule = Rule::new(Proximal::Auto, 1.0, (1.0, 1.0), 10.0, 10_000, 10);
        rule.begin_metric_at(1.0, 1.0);
        // the first pass has none before it, and of the others every second is the second slow one
        let mut corrections = 0;
        for pass in 0.. {
            let before = rule.corrections;
            stood_still(&mut rule, if corrections % 2 == 0 { 0.01 } else { 0.9 });
            corrections += rule.corrections - before;
            assert_eq!(rule.goes_round(), corrections > MANY_CORRECTIONS);
            if rule.goes_round() {
                assert!(pass >= 2 * MANY_CORRECTIONS);
                break;
            }
        }
        rule.begin_metric_at(1.0, 1.0);
        assert!(!rule.goes_round() && !rule.is_lost());
    }

    #[test]
    fn the_centre_of_a_gap_that_stands_still_moves_ever_more_rarely() {
        let of = |share: f64, passes: u32| {
            let rule = Rule::new(Proximal::Auto, 1.0, (1.0, 1.0), 10.0, 10_000, 10);
            let mut rule = rule.that_calms(true);
            (0..passes).for_each(|_| stood_still(&mut rule, share));
            rule.need
        };
        // a share that is balanced, and one by which the centre should move more often
        for share in [0.3, 0.1] {
            assert_eq!(of(share, STALL_PASSES * MANY_STALLS), 1);
            assert!(of(share, 3 * STALL_PASSES * MANY_STALLS) >= 8);
            assert_eq!(of(share, 100 * STALL_PASSES), 64);
        }
    }

    #[test]
    fn corrections_one_way_do_not_go_round() {
        let mut rule = Rule::new(Proximal::Auto, 1.0, (1.0, 1.0), 10.0, 10_000, 10);
        rule.begin_metric_at(1.0, 1.0);
        (0..40).for_each(|_| stood_still(&mut rule, 0.01));
        assert!(rule.is_lost() && !rule.goes_round());
    }
}
