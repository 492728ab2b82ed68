//! The state of one head: its bounds, its proximal shift, its certificate and when it ends, from pass to pass.
//!
//! A state knows no vectors. Whoever holds the weights, [`crate::solver::single::head`] those of one head or [`crate::solver::joint`] those of
//! many, gives it norms and what the visits summed, and does what it says: takes weights over as the best, moves the
//! centre.

use crate::rows::facts::Facts;
use crate::solver::certificate::dual::shrunk_dual;
use crate::solver::certificate::dual::Proved;
use crate::solver::certificate::dual::Verified;
use crate::solver::proximal::iterate::Norms;
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::proximal::rule::{Measured, Rule};
use crate::solver::sums::intercept::Shifted;
use crate::solver::sums::tally::{Sums, Tally};
use crate::solver::sums::terms::Terms;
use crate::task::heads::HeadSpec;
use crate::task::problem::{Policy, Problem, Proximal, StopRule};
use crate::task::report::{relative_gap, Certificate, HeadReport, StopReason};

/// A row at its bound is shrunk (left out of active passes; Joachims 1999, Hsieh et al. 2008) when its gradient is beyond this share of the largest violation of the last pass.
const SHRINK_SHARE: f64 = 0.5;
/// The same at first, while much is still to be learned from few rows: until the gap is near, or a full pass finds that
/// shrunk rows left more than some share of it.
const EAGER_SHARE: f64 = 0.25;
const EAGER_GAP: f64 = 0.01;
const WRONGLY_SHRUNK: f64 = 0.1;
/// The gap estimated from losses at the time of the visit may be this much too large before it is believed.
const ESTIMATE_SLACK: f64 = 1.5;

/// Largest and smallest projected gradient of no visit.
const NO_GRADIENTS: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// Full passes look for a better intercept when the smallest gap known is within so many times the tolerance.
const NEAR: f64 = 30.0;

/// Where shrunk rows left less than this share of the gap, active passes may go on for twice as long as before, up to
/// so many times as long as at first.
const RIGHTLY_SHRUNK: f64 = 0.01;
const MOST_PATIENCE: usize = 4;

/// What is to happen to the centre of the proximal shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) enum Shift {
    Stay,
    /// The centre moves to the weights, with this kappa from now on.
    Move(f64),
    /// The same, in the metric from now on.
    MoveInMetric(f64),
}

/// What a head begins from that came from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Dual variables alone: the v that they make.
    AtV,
    /// Dual variables, and weights that came with them.
    AtWeights,
}

/// The best primal found and its counts.
#[derive(Debug, Clone, Copy)]
struct Best {
    primal: f64,
    correct: u64,
    ties: i64,
    rows: u64,
}

pub(crate) struct HeadState {
    pub(in crate::solver) terms: Terms,
    pub(in crate::solver) sums: Sums,
    best: Best,
    best_dual: f64,
    /// Dual value and outer part of the gap at the start of the full pass.
    start_dual: f64,
    start_outer: f64,
    measured: Measured,
    /// Whether rows may be shrunk at all.
    shrinks: bool,
    rule: Rule,
    /// Whether the shift is measured in a metric that follows the dual variables.
    follows_duals: bool,
    estimate: f64,
    slack: f64,
    /// Whether the last active pass seems to have closed the gap.
    seems_there: bool,
    /// Whether the verifying pass in progress sums the primal at the newest weights too.
    verifies_primal: bool,
    certificate: Option<Certificate>,
    support_vectors: u64,
    /// Whether rows are shrunk eagerly, and how many times as long as at first active passes may go on.
    eager: bool,
    patience: usize,
    /// What ends it: the gap, or the range of projected gradients, and the number of full passes.
    stop_rule: StopRule,
    tolerance: f64,
    max_passes: u32,
    /// Full passes completed.
    full_passes: u32,
    /// Largest and smallest projected gradient since the full pass began, and their range over the last one; None where its
    /// visits were none to the dual that is asked for.
    scan: [f64; 2],
    scanned: Option<f64>,
    /// Where it is to begin other than at 0, until a verifying pass has seen all rows there.
    begins: Option<Beginning>,
    /// Of Pegasos: updates at the end of the last pass.
    pub(in crate::solver) updates: Option<u64>,
    pub(crate) stop: Option<StopReason>,
}

impl HeadState {
    pub(in crate::solver) fn new(
        problem: &Problem,
        spec: &HeadSpec,
        facts: &Facts,
        together: usize,
    ) -> Self {
        let intercept = if problem.intercept() { 1.0 } else { 0.0 };
        let proximal = if problem.policy() == Policy::Paper {
            Proximal::Off
        } else {
            problem.proximal()
        };
        let rule = Rule::new(
            proximal,
            problem.loss().slope(),
            spec.c,
            facts.mean_q + intercept,
            together,
            facts.occurring,
        );
        Self {
            terms: Terms {
                c: spec.c,
                positive_weight: spec.positive_weight,
                loss: problem.loss(),
                shrink_above: f64::INFINITY,
                shrink_below: f64::NEG_INFINITY,
            },
            sums: Sums::ZERO,
            best: Best {
                primal: f64::INFINITY,
                correct: 0,
                ties: 0,
                rows: 0,
            },
            best_dual: 0.0,
            start_dual: 0.0,
            start_outer: 0.0,
            measured: Measured {
                inner: 0.0,
                outer: 0.0,
                gap: 1.0,
                mean_aq: 0.0,
            },
            shrinks: true,
            rule,
            follows_duals: false,
            estimate: f64::INFINITY,
            slack: ESTIMATE_SLACK,
            seems_there: false,
            verifies_primal: false,
            certificate: None,
            support_vectors: 0,
            eager: true,
            patience: 1,
            stop_rule: problem.stop(),
            scan: NO_GRADIENTS,
            scanned: None,
            tolerance: spec.tolerance.unwrap_or(problem.tolerance()),
            max_passes: spec.max_passes.unwrap_or(problem.max_passes()),
            full_passes: 0,
            begins: None,
            updates: None,
            stop: None,
        }
    }

    pub(crate) fn runs(&self) -> bool {
        self.stop.is_none()
    }

    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub(in crate::solver) fn max_passes(&self) -> u32 {
        self.max_passes
    }

    /// A pass of Newton's method has found this primal and this dual at the same weights, and with `arrived` the head has
    /// ended. True where they are the certificate from now on.
    pub(in crate::solver) fn take_certificate(
        &mut self,
        (primal, dual): (f64, f64),
        tally: Tally,
        arrived: bool,
    ) -> bool {
        self.full_passes += 1;
        self.sums.visits += tally.rows;
        self.sums.updates += tally.support;
        self.best_dual = self.best_dual.max(dual);
        if arrived {
            self.begins = None;
            self.stop = Some(StopReason::Tolerance);
        }
        if primal >= self.best.primal && !arrived {
            return false;
        }
        self.best = Best {
            primal,
            correct: tally.correct,
            ties: tally.ties,
            rows: tally.rows,
        };
        self.support_vectors = tally.support;
        self.certificate = Some(Certificate::of(primal, dual));
        true
    }

    /// The dual variables have come from elsewhere, and perhaps the weights: it is to be verified before it is trained.
    pub(in crate::solver) fn begin_elsewhere(&mut self, at_weights: bool) {
        self.begins = Some(match at_weights {
            true => Beginning::AtWeights,
            false => Beginning::AtV,
        });
    }

    /// Whether it must be verified before it goes on: it has not begun yet from where it is to begin, or no pass is left.
    pub(in crate::solver) fn cannot_wait(&self) -> bool {
        self.begins.is_some() || self.is_last()
    }

    fn is_last(&self) -> bool {
        self.full_passes >= self.max_passes
    }

    /// Whether the next full pass may prove the gap.
    pub(in crate::solver) fn is_near(&self) -> bool {
        self.gap() <= NEAR * self.tolerance
    }

    pub(crate) fn kappa(&self) -> f64 {
        self.rule.kappa()
    }

    pub(crate) fn let_rows_shrink(&mut self, shrinks: bool) {
        self.shrinks = shrinks;
    }

    /// Begins a full pass at weights with these norms.
    pub(in crate::solver) fn begin_full(&mut self, norms: Norms) {
        self.seems_there = false;
        self.start_dual = self.sums.alpha - 0.5 * norms.v - 0.5 * self.sums.diag;
        self.start_outer = 0.5 * norms.apart;
        self.sums.full = Tally::EMPTY;
        self.sums.forget_pass();
        self.scan = NO_GRADIENTS;
    }

    /// Takes into account the projected gradients of visits that are forgotten otherwise.
    pub(in crate::solver) fn scan(&mut self, sums: Sums) {
        let [high, low] = self.scan;
        self.scan = [high.max(sums.high), low.min(sums.low)];
    }

    /// The range of projected gradients over the last full pass and what was visited in between.
    pub(in crate::solver) fn scanned(&self) -> Option<f64> {
        self.scanned
    }

    /// Ends a full pass. `start`: |w|^2 of the weights it began with; `shifted`: a better intercept for them. True when
    /// those are the best so far.
    pub(in crate::solver) fn end_full(
        &mut self,
        start: f64,
        shifted: Option<Shifted>,
        norms: Norms,
    ) -> bool {
        self.full_passes += 1;
        let full = self.sums.full;
        let (primal, is_best) = self.take_primal(start, shifted);
        self.judge_shrinking(self.sums.open / (primal - self.start_dual));
        self.note_limits();
        let [high, low] = self.scan;
        let range = high.max(0.0) - low.min(0.0);
        self.scanned = Some(range).filter(|_| high >= low && self.rule.kappa() == 0.0);
        let Sums { alpha, diag, .. } = self.sums;
        let (dual, _) = shrunk_dual(alpha, norms.v, diag, self.terms.loss.unbounded());
        self.best_dual = self.best_dual.max(dual);
        let estimate = (0.5 * norms.w + self.terms.c * full.visit_loss).min(self.best.primal);
        self.estimate = relative_gap(estimate, dual);
        self.support_vectors = full.support;
        self.measured = Measured {
            inner: primal - self.start_dual - self.start_outer,
            outer: self.start_outer,
            gap: self.gap(),
            mean_aq: full.aq / full.aq_rows.max(1) as f64,
        };
        self.certificate = Some(self.certify(dual));
        is_best
    }

    /// Learns from a full pass: `share` is what shrunk rows left of the gap at its start.
    fn judge_shrinking(&mut self, share: f64) {
        self.eager &= share <= WRONGLY_SHRUNK && self.gap() > EAGER_GAP;
        // the first has no shrunk rows, and with a shift a full pass also corrects its strength
        let well = self.full_passes > 1 && self.rule.kappa() == 0.0 && share < RIGHTLY_SHRUNK;
        self.patience = if well {
            (2 * self.patience).min(MOST_PATIENCE)
        } else {
            1
        };
    }

    /// How many times as long as at first active passes may go on until the next full one.
    pub(in crate::solver) fn patience(&self) -> usize {
        self.patience
    }

    /// The primal at weights with this |w|^2 whose losses have been summed, and whether it is the smallest, with a better
    /// intercept if there is one.
    fn take_primal(&mut self, norm: f64, shifted: Option<Shifted>) -> (f64, bool) {
        let full = self.sums.full;
        let primal = 0.5 * norm + self.terms.c * full.start_loss;
        let (gain, turned) = shifted.map_or((0.0, 0), |shifted| (shifted.gain, shifted.turned));
        let is_best = primal - gain < self.best.primal;
        if is_best {
            self.best = Best {
                primal: primal - gain,
                correct: full.correct.saturating_add_signed(turned),
                // another intercept moves them off the boundary
                ties: shifted.map_or(full.ties, |_| 0),
                rows: full.rows,
            };
        }
        (primal, is_best)
    }

    fn note_limits(&mut self) {
        let Sums { high, low, .. } = self.sums;
        self.scan(self.sums);
        self.sums.forget_pass();
        if !self.shrinks {
            return;
        }
        let share = match self.eager {
            true => EAGER_SHARE,
            false => SHRINK_SHARE,
        };
        self.terms.shrink_above = if high > 0.0 {
            share * high
        } else {
            f64::INFINITY
        };
        self.terms.shrink_below = if low < 0.0 {
            share * low
        } else {
            f64::NEG_INFINITY
        };
    }

    /// The smallest primal known, infinite before there is one.
    pub(in crate::solver) fn best_primal(&self) -> f64 {
        self.best.primal
    }

    /// The dual at the end of the last pass.
    pub(in crate::solver) fn last_dual(&self) -> f64 {
        self.certificate.map_or(0.0, |certificate| certificate.dual)
    }

    /// The dual with these norms and sums; of a head that has ended, that of its certificate.
    pub(in crate::solver) fn dual_at(&self, norms: Norms, sums: Sums) -> f64 {
        if !self.runs() {
            return self.last_dual();
        }
        let Sums { alpha, diag, .. } = sums;
        shrunk_dual(alpha, norms.v, diag, self.terms.loss.unbounded()).0
    }

    /// The smallest relative gap known.
    pub(crate) fn gap(&self) -> f64 {
        relative_gap(self.best.primal, self.best_dual)
    }

    /// Whether a metric would be used if columns call for one.
    pub(in crate::solver) fn takes_metric(&self) -> bool {
        !self.rule.is_off()
    }

    /// kappa at the start in this metric.
    pub(in crate::solver) fn kappa_in(&self, metric: &ShiftMetric) -> f64 {
        self.rule.first_in_metric(metric.mean_norm)
    }

    /// Whether its shift is to be measured in a metric that follows the dual variables; asked until it is.
    pub(in crate::solver) fn wants_dual_metric(&self) -> bool {
        self.rule.is_lost()
    }

    /// Its dual variables came from elsewhere, and this metric follows them: the shift is measured in it from the start.
    /// Returns kappa.
    pub(in crate::solver) fn begin_in_metric(&mut self, metric: &ShiftMetric) -> f64 {
        self.eager = false;
        self.follow_duals(metric)
    }

    /// Measures the shift in a metric that follows the dual variables. Returns kappa.
    fn follow_duals(&mut self, metric: &ShiftMetric) -> f64 {
        self.follows_duals = true;
        let mean = self.sums.alpha / self.support_vectors.max(1) as f64;
        self.rule.begin_metric_at(metric.mean_norm, mean)
    }

    /// Corrects kappa after a full pass; `metric` when columns have just been found to call for it, or when it is one that
    /// follows the dual variables.
    pub(in crate::solver) fn advance(&mut self, metric: Option<&ShiftMetric>) -> Shift {
        // where columns differ in scale, gradients say little about how firmly a row is held
        self.eager &= metric.is_none();
        match metric {
            Some(metric) if !metric.follows_duals => {
                self.wake();
                Shift::MoveInMetric(self.rule.begin_metric(metric.mean_norm))
            }
            Some(metric) if !self.follows_duals || self.rule.goes_round() => {
                self.wake();
                Shift::MoveInMetric(self.follow_duals(metric))
            }
            _ => match (self.adapt(), metric) {
                (Shift::Move(kappa), Some(_)) => Shift::MoveInMetric(kappa),
                (shift, _) => shift,
            },
        }
    }

    fn adapt(&mut self) -> Shift {
        match self.rule.adapt(self.measured) {
            Some(kappa) => {
                self.wake();
                Shift::Move(kappa)
            }
            None => self.count_pass(),
        }
    }

    /// Forgets the gradients beyond which rows are shrunk: they were those of another kappa.
    fn wake(&mut self) {
        self.terms.shrink_above = f64::INFINITY;
        self.terms.shrink_below = f64::NEG_INFINITY;
    }

    fn count_pass(&mut self) -> Shift {
        if self.rule.pass_done() {
            Shift::Move(self.rule.kappa())
        } else {
            Shift::Stay
        }
    }

    pub(in crate::solver) fn begin_active(&mut self) {
        self.scan(self.sums);
        self.sums.forget_pass();
    }

    /// Whether the visits of the active pass left more of the gap than the tolerance.
    pub(in crate::solver) fn leaves_much(&self) -> bool {
        self.sums.open > self.tolerance * self.best.primal
    }

    /// Estimates the gap at the end of an active pass: what its visits left of the subproblem's gap (shrunk rows leave
    /// nothing while they stay on their side), and what only moving the centre closes. The first was summed during the
    /// pass and is less at its end.
    pub(in crate::solver) fn estimate_active(&mut self, norms: impl FnOnce() -> Norms) {
        self.seems_there = false;
        if self.leaves_much() {
            return;
        }
        let (open, norms) = (self.sums.open, norms());
        let dual = self.dual_at(norms, self.sums);
        let gap = open + 0.5 * norms.apart;
        self.seems_there = relative_gap(dual + gap, dual) <= self.tolerance;
    }

    pub(in crate::solver) fn end_active(&mut self) -> Shift {
        self.note_limits();
        self.count_pass()
    }

    /// Whether it is time to verify: the gap is there, or seems to be, or no pass is left.
    pub(in crate::solver) fn wants_proof(&self) -> bool {
        self.cannot_wait()
            || match self.stop_rule {
                StopRule::Gap => {
                    self.is_known()
                        || self.seems_there
                        || self.estimate < self.slack * self.tolerance
                }
                StopRule::ProjectedGradient => self.lies_within(),
            }
    }

    /// Whether projected gradients lie within the tolerance of each other.
    fn lies_within(&self) -> bool {
        self.scanned.is_some_and(|range| range <= self.tolerance)
    }

    /// Whether the gap is there: to verify it takes the rows with a > 0 only.
    pub(in crate::solver) fn is_known(&self) -> bool {
        let known = |certificate: Certificate| certificate.gap <= self.tolerance;
        self.stop_rule == StopRule::Gap && self.certificate.is_some_and(known)
    }

    /// Whether the verifying pass is to find the rows that are trained first: it looks at weights that came from elsewhere.
    pub(in crate::solver) fn sorts_rows(&self) -> bool {
        self.shrinks && self.begins == Some(Beginning::AtWeights)
    }

    /// Begins to verify; true when rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub(in crate::solver) fn begin_verify(&mut self) -> bool {
        self.verifies_primal = !self.is_known();
        self.sums.full = Tally::EMPTY;
        self.verifies_primal
    }

    /// Takes the primal at the newest weights, with this |w|^2 and perhaps a better intercept, if it was verified; true
    /// when they are the best.
    pub(in crate::solver) fn end_verify_primal(
        &mut self,
        norm: f64,
        shifted: Option<Shifted>,
    ) -> bool {
        self.verifies_primal && self.take_primal(norm, shifted).1
    }

    /// Ends the head when the verified gap is within the tolerance or no pass is left; else takes over the exact dual.
    pub(in crate::solver) fn end_verify(&mut self, proved: Proved) -> Verified {
        let Proved { alpha, diag, .. } = proved;
        let (dual, shrink) = shrunk_dual(alpha, proved.norm, diag, self.terms.loss.unbounded());
        let certificate = self.certify(dual);
        self.certificate = Some(certificate);
        self.support_vectors = proved.support;
        self.best_dual = self.best_dual.max(dual);
        self.eager &= self.gap() > EAGER_GAP;
        let reason = match self.stop_rule {
            StopRule::Gap => (certificate.gap <= self.tolerance).then_some(StopReason::Tolerance),
            StopRule::ProjectedGradient => {
                self.lies_within().then_some(StopReason::ProjectedGradient)
            }
        };
        if reason.is_some() || self.is_last() {
            self.stop = Some(reason.unwrap_or(StopReason::MaxPasses));
            return Verified::Ended { shrink };
        }
        if self.verifies_primal && !std::mem::take(&mut self.seems_there) {
            // an estimate that was too low by so much is trusted that much less; one at or below the dual, never again
            self.slack = self.slack.min(self.estimate / certificate.gap);
        }
        self.sums.alpha = alpha;
        self.sums.diag = diag;
        if let Some(beginning) = self.begins.take() {
            let mean = alpha / proved.support.max(1) as f64;
            return Verified::Begins {
                kappa: self.rule.begin_from(mean),
                at_v: beginning == Beginning::AtV,
            };
        }
        Verified::GoesOn
    }

    fn certify(&self, dual: f64) -> Certificate {
        Certificate::of(self.best.primal, dual)
    }

    /// How the head ended, or stands.
    pub(crate) fn report(&self, rows: usize) -> HeadReport {
        HeadReport {
            // before the first full pass nothing better is known than w = 0 and a = 0, every cost taken as 1
            certificate: self.certificate.unwrap_or(Certificate {
                primal: self.terms.c * rows as f64,
                dual: 0.0,
                gap: 1.0,
            }),
            training_accuracy: match self.best.rows {
                0 => 0.0,
                rows => self.best.correct as f64 / rows as f64,
            },
            ties: self.best.ties as f64 / self.best.rows.max(1) as f64,
            stop: self.stop,
            support_vectors: self.support_vectors,
            kappa: self.rule.kappa(),
            updates: self.updates,
        }
    }
}
