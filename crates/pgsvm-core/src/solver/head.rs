//! One binary problem: its dual variables a, its weights, and what a visit of a row does to them.
//!
//! primal  P(w) = 1/2 |w|^2 + C sum c L(y <w, x>)
//! dual    D(a) = sum a - 1/2 |v|^2 - 1/2 sum diag a^2,  v = sum a y x,  0 <= a <= upper
//!
//! A visit minimizes the dual, shifted as [`super::iterate`] says, in one coordinate:
//!
//! g = y <w, x> - 1 + diag a,   a <- clip(a - g / (curvature + diag)),   v += (a' - a) y x
//!
//! Hinge: diag = 0, upper = C c. Squared hinge: diag = 1 / (2 C c), no upper bound (Hsieh et al., ICML 2008).

use crate::bits::Bits;
use crate::cache::Facts;
use crate::kernel::{Kernel, Real};
use crate::problem::{Loss, Policy, Problem, Proximal};
use crate::row::Row;
use crate::solver::iterate::{Iterate, Place};
use crate::solver::moments::Moments;
use crate::solver::proof::{shrunk_dual, Proof};
use crate::solver::rule::{Measured, Rule};
use crate::solver::zeros;
use crate::trainer::{Certificate, HeadSpec, StopReason, TrainError};

/// A row at its bound sleeps when its gradient is beyond this share of the largest violation of the last pass.
const SLEEP_SHARE: f64 = 0.5;
/// The gap estimated from losses at the time of the visit may be this much too large before it is believed.
const ESTIMATE_SLACK: f64 = 1.5;

/// How a row stood when it was visited.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// Gradient before the step.
    gradient: f64,
    alpha: f32,
    upper: f32,
}

impl Outcome {
    /// Not a row of this head.
    const NONE: Outcome = Outcome {
        gradient: f64::INFINITY,
        alpha: 0.0,
        upper: 0.0,
    };

    /// Between its bounds, or at one with a gradient that holds it there by at most `margin`.
    #[inline(always)]
    pub(crate) fn matters(&self, margin: f64) -> bool {
        if self.alpha <= 0.0 {
            self.gradient <= margin
        } else if self.alpha >= self.upper {
            self.gradient >= -margin
        } else {
            true
        }
    }
}

/// Sums of a pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    /// Weighted losses at the weights of the pass's start.
    pub(super) start_loss: f64,
    /// Rows on the right side there.
    pub(super) correct: u64,
    pub(super) rows: u64,
    /// Weighted losses at the weights of each visit.
    pub(super) visit_loss: f64,
    /// Largest and smallest projected gradient.
    pub(super) high: f64,
    pub(super) low: f64,
    /// Sum of a Q and number of rows with a > 0.
    pub(super) aq: f64,
    pub(super) support: u64,
}

impl Tally {
    pub(super) const EMPTY: Tally = Tally {
        start_loss: 0.0,
        correct: 0,
        rows: 0,
        visit_loss: 0.0,
        high: f64::NEG_INFINITY,
        low: f64::INFINITY,
        aq: 0.0,
        support: 0,
    };
}

/// The best primal found and its counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) primal: f64,
    pub(super) correct: u64,
    pub(super) rows: u64,
}

pub(crate) struct Head<T> {
    pub(super) signs: Vec<i8>,
    pub(super) c: f64,
    pub(super) squared: bool,
    pub(super) intercept: f64,
    pub(super) dense: usize,
    pub(crate) alpha: Vec<f32>,
    pub(super) iterate: Iterate<T>,
    /// Weights at the start of the full pass, or those being verified.
    pub(super) start: Vec<T>,
    /// Weights of the best primal.
    pub(super) best_w: Vec<T>,
    pub(super) best: Best,
    pub(super) best_dual: f64,
    pub(super) sum_alpha: f64,
    pub(super) sum_diag: f64,
    pub(super) full: Tally,
    pub(super) active: Tally,
    /// Dual value and outer part of the gap at the start of the full pass.
    pub(super) start_dual: f64,
    pub(super) start_outer: f64,
    pub(super) measured: Measured,
    /// Gradients beyond which a row at its bound sleeps.
    pub(super) sleep_above: f64,
    pub(super) sleep_below: f64,
    /// Rows that active passes leave out.
    pub(crate) asleep: Bits,
    /// Whether rows may sleep at all.
    pub(crate) sleeps: bool,
    pub(super) rule: Rule,
    pub(super) estimate: f64,
    pub(super) slack: f64,
    pub(super) proof: Option<Proof>,
    pub(super) certificate: Option<Certificate>,
    pub(crate) support_vectors: u64,
    pub(crate) visits: u64,
    pub(crate) updates: u64,
    pub(crate) stop: Option<StopReason>,
}

impl<T: Real> Head<T> {
    pub(crate) fn new(
        problem: &Problem,
        spec: &HeadSpec,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let squared = problem.loss() == Loss::SquaredHinge;
        let factor = if squared { 2.0 } else { 1.0 };
        let intercept = if problem.intercept() { 1.0 } else { 0.0 };
        let length = facts.features + 1;
        let proximal = if problem.policy() == Policy::Paper {
            Proximal::Off
        } else {
            problem.proximal()
        };
        let rule = Rule::new(
            proximal,
            factor,
            spec.c,
            facts.mean_q + intercept,
            facts.rows,
            facts.occurring,
        );
        Ok(Self {
            signs: spec.signs.clone(),
            c: spec.c,
            squared,
            intercept,
            dense: facts.dense,
            alpha: zeros(facts.rows)?,
            iterate: Iterate::new(facts.features, facts.dense, intercept, rule.kappa())?,
            start: zeros(length)?,
            best_w: zeros(length)?,
            best: Best {
                primal: f64::INFINITY,
                correct: 0,
                rows: 0,
            },
            best_dual: 0.0,
            sum_alpha: 0.0,
            sum_diag: 0.0,
            full: Tally::EMPTY,
            active: Tally::EMPTY,
            start_dual: 0.0,
            start_outer: 0.0,
            measured: Measured {
                inner: 0.0,
                outer: 0.0,
                gap: 1.0,
                mean_aq: 0.0,
            },
            sleep_above: f64::INFINITY,
            sleep_below: f64::NEG_INFINITY,
            asleep: Bits::new(facts.rows).map_err(|_| TrainError::OutOfMemory {
                bytes: facts.rows as u64 / 8,
            })?,
            sleeps: true,
            rule,
            estimate: f64::INFINITY,
            slack: ESTIMATE_SLACK,
            proof: None,
            certificate: None,
            support_vectors: 0,
            visits: 0,
            updates: 0,
            stop: None,
        })
    }

    pub(crate) fn kappa(&self) -> f64 {
        self.rule.kappa()
    }

    #[inline(always)]
    pub(super) fn sign(&self, row: &Row<'_>) -> f64 {
        f64::from(self.signs[row.class()])
    }

    #[inline(always)]
    pub(super) fn loss(&self, margin: f64) -> f64 {
        let slack = (1.0 - margin).max(0.0);
        if self.squared {
            slack * slack
        } else {
            slack
        }
    }

    /// A visit that also sums the loss at the weights of the pass's start.
    #[inline(always)]
    pub(crate) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>) -> Outcome {
        let y = self.sign(row);
        if y == 0.0 {
            self.asleep.set(row.ordinal(), true);
            return Outcome::NONE;
        }
        let (place, at_start) = self.iterate.place_beside::<K>(row, &self.start);
        let cost = f64::from(row.cost());
        let margin = y * at_start;
        self.full.start_loss += cost * self.loss(margin);
        self.full.correct += u64::from(right_side(margin, y));
        self.full.rows += 1;
        self.full.visit_loss += cost * self.loss(y * place.score);
        let outcome = self.step::<K>(row, y, place);
        if outcome.alpha > 0.0 {
            self.full.aq += f64::from(outcome.alpha) * self.iterate.norm(row);
            self.full.support += 1;
        }
        outcome
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub(crate) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        let y = self.sign(row);
        if y == 0.0 {
            return;
        }
        let margin = y * self.iterate.score::<K>(row, &self.start);
        let loss = f64::from(row.cost()) * self.loss(margin);
        self.full.start_loss += loss;
        self.full.visit_loss += loss;
        self.full.correct += u64::from(right_side(margin, y));
        self.full.rows += 1;
    }

    /// A visit between full passes.
    #[inline(always)]
    pub(crate) fn visit_active<K: Kernel>(&mut self, row: &Row<'_>) -> Outcome {
        let y = self.sign(row);
        if y == 0.0 || self.asleep.get(row.ordinal()) {
            return Outcome::NONE;
        }
        let place = self.iterate.place::<K>(row);
        self.step::<K>(row, y, place)
    }

    /// The coordinate step, its tallies, and whether the row sleeps from now on.
    #[inline(always)]
    fn step<K: Kernel>(&mut self, row: &Row<'_>, y: f64, place: Place) -> Outcome {
        let ordinal = row.ordinal();
        let cost = f64::from(row.cost());
        let (diag, upper) = if self.squared {
            (0.5 / (self.c * cost), f32::MAX)
        } else {
            (0.0, bound(self.c * cost))
        };
        let before = self.alpha[ordinal];
        let old = f64::from(before);
        let gradient = y * place.score - 1.0 + diag * old;
        self.visits += 1;
        let (at_zero, at_upper) = (before <= 0.0, before >= upper);
        let projected = if at_zero {
            gradient.min(0.0)
        } else if at_upper {
            gradient.max(0.0)
        } else {
            gradient
        };
        self.active.high = self.active.high.max(projected);
        self.active.low = self.active.low.min(projected);
        let sleeps =
            (at_zero && gradient > self.sleep_above) || (at_upper && gradient < self.sleep_below);
        self.asleep.set(ordinal, sleeps);
        let mut outcome = Outcome {
            gradient,
            alpha: before,
            upper,
        };
        if projected == 0.0 || !projected.is_finite() {
            return outcome;
        }
        let wanted = old - gradient / (place.curvature + diag);
        let after = if wanted.is_nan() {
            before
        } else {
            wanted.clamp(0.0, f64::from(upper)) as f32
        };
        let delta = f64::from(after) - old;
        if delta != 0.0 {
            self.iterate.add::<K>(row, y * delta);
            self.sum_alpha += delta;
            self.sum_diag += diag * (f64::from(after) * f64::from(after) - old * old);
            self.updates += 1;
            self.alpha[ordinal] = after;
            outcome.alpha = after;
        }
        outcome
    }

    pub(crate) fn begin_full(&mut self) {
        self.iterate.write_weights(&mut self.start);
        let norms = self.iterate.norms();
        self.start_dual = self.sum_alpha - 0.5 * norms.v - 0.5 * self.sum_diag;
        self.start_outer = 0.5 * norms.apart;
        self.full = Tally::EMPTY;
        self.active = Tally::EMPTY;
    }

    pub(crate) fn end_full(&mut self) {
        let primal = self.take_start(self.full.start_loss, self.full.correct, self.full.rows);
        self.note_limits();
        let (dual, squared_w) = self.dual_now();
        let estimate = (0.5 * squared_w + self.c * self.full.visit_loss).min(self.best.primal);
        self.estimate = relative(estimate, dual);
        self.support_vectors = self.full.support;
        let mean_aq = if self.full.support > 0 {
            self.full.aq / self.full.support as f64
        } else {
            0.0
        };
        let inner = primal - self.start_dual - self.start_outer;
        self.measured = Measured {
            inner,
            outer: self.start_outer,
            gap: self.gap(),
            mean_aq,
        };
        self.certificate = Some(self.certify(dual));
    }

    /// The primal at `start`, which becomes the best weights if it is the smallest.
    pub(super) fn take_start(&mut self, loss: f64, correct: u64, rows: u64) -> f64 {
        let norm: f64 = self.start.iter().map(|w| w.to() * w.to()).sum();
        let primal = 0.5 * norm + self.c * loss;
        if primal < self.best.primal {
            std::mem::swap(&mut self.start, &mut self.best_w);
            self.best = Best {
                primal,
                correct,
                rows,
            };
        }
        primal
    }

    /// The dual at the current dual variables shrunk as is best, and |w|^2.
    fn dual_now(&mut self) -> (f64, f64) {
        let norms = self.iterate.norms();
        let (dual, _) = shrunk_dual(self.sum_alpha, norms.v, self.sum_diag, self.squared);
        self.best_dual = self.best_dual.max(dual);
        (dual, norms.w)
    }

    fn note_limits(&mut self) {
        let Tally { high, low, .. } = self.active;
        self.active = Tally::EMPTY;
        if !self.sleeps {
            return;
        }
        self.sleep_above = if high > 0.0 {
            SLEEP_SHARE * high
        } else {
            f64::INFINITY
        };
        self.sleep_below = if low < 0.0 {
            SLEEP_SHARE * low
        } else {
            f64::NEG_INFINITY
        };
    }

    /// The smallest relative gap known.
    pub(crate) fn gap(&self) -> f64 {
        relative(self.best.primal, self.best_dual)
    }

    /// The range of projected gradients in the pass so far.
    pub(crate) fn violation(&self) -> f64 {
        (self.active.high.max(0.0) - self.active.low.min(0.0)).max(0.0)
    }

    /// The largest magnitude of a projected gradient in the pass so far.
    pub(crate) fn largest_gradient(&self) -> f64 {
        self.active.high.max(-self.active.low).max(0.0)
    }

    /// Corrects kappa and moves the centre after a full pass; after the first one, `moments` may call for a metric.
    pub(crate) fn advance(&mut self, moments: Option<&Moments>) -> Result<(), TrainError> {
        let metric = match moments {
            Some(moments) if !self.rule.is_off() => moments.metric(self.intercept)?,
            _ => None,
        };
        if let Some(metric) = metric {
            let kappa = self.rule.begin_metric(metric.mean_norm);
            self.iterate.move_centre_in(kappa, &metric.moment)?;
            self.wake();
        } else if let Some(kappa) = self.rule.adapt(self.measured) {
            self.iterate.move_centre(kappa);
            self.wake();
        } else if self.rule.pass_done() {
            self.iterate.move_centre(self.rule.kappa());
        }
        Ok(())
    }

    /// Forgets the gradients beyond which rows sleep: they were those of another kappa.
    fn wake(&mut self) {
        self.sleep_above = f64::INFINITY;
        self.sleep_below = f64::NEG_INFINITY;
    }

    pub(crate) fn begin_active(&mut self) {
        self.active = Tally::EMPTY;
    }

    pub(crate) fn end_active(&mut self) {
        self.note_limits();
        if self.rule.pass_done() {
            self.iterate.move_centre(self.rule.kappa());
        }
    }

    pub(crate) fn weights(&self) -> &[T] {
        &self.best_w
    }

    pub(crate) fn certificate(&self) -> Option<Certificate> {
        self.certificate
    }

    /// Primal and dual at w = 0, a = 0, every cost taken as 1.
    pub(crate) fn certificate_of_zero(&self, rows: usize) -> Certificate {
        Certificate {
            primal: self.c * rows as f64,
            dual: 0.0,
            gap: 1.0,
        }
    }

    /// Share of rows on the right side at the best weights.
    pub(crate) fn accuracy(&self) -> f64 {
        if self.best.rows == 0 {
            return 0.0;
        }
        self.best.correct as f64 / self.best.rows as f64
    }
}

/// A margin of 0 counts for the positive side, as in prediction.
#[inline(always)]
pub(super) fn right_side(margin: f64, y: f64) -> bool {
    margin > 0.0 || (margin == 0.0 && y > 0.0)
}

/// The largest f32 not above `value`, so that a dual variable at it is feasible.
#[inline(always)]
fn bound(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) > value {
        near.next_down()
    } else {
        near
    }
}

/// (primal - dual) / primal, never negative; 0 for a primal of 0.
pub(super) fn relative(primal: f64, dual: f64) -> f64 {
    if primal == f64::INFINITY {
        return 1.0;
    }
    if primal > 0.0 {
        ((primal - dual) / primal).max(0.0)
    } else {
        0.0
    }
}
