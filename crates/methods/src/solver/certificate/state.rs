//! What coordinate descent keeps of one head beside its ledger, from pass to pass: its proximal shift, the gap that passes seem to have
//! come to, when to verify it, and for a truncated loss which rows are outliers.
//!
//! A state holds no vectors. The code that holds the weights ([`crate::solver::single::head`] for one head, [`crate::solver::joint`] for
//! many) gives it norms and the sums of visits, and does what it says: keeps weights as the best, moves the centre.

use crate::objective::heads::HeadSpec;
use crate::objective::minimized::share_off_balance;
use crate::objective::problem::{Problem, Proximal};
use crate::objective::report::{relative_gap, HeadReport, StopReason};
use crate::objective::solver_choice::Policy;
use crate::rows::facts::Facts;
use crate::solver::certificate::dual::shrunk_dual;
use crate::solver::certificate::dual::Proved;
use crate::solver::certificate::dual::Verified;
use crate::solver::certificate::expected::Expected;
use crate::solver::certificate::shrinking::Shrinking;
use crate::solver::certificate::truncated::{Found, Sides, Truncated};
use crate::solver::ledger::bounds::{Bounds, Choice, Primal, ProvedDual};
use crate::solver::ledger::Ledger;
use crate::solver::proximal::iterate::Norms;
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::proximal::rule::{unit_of, Measured, Rule};
use crate::solver::sums::intercept::Shifted;
use crate::solver::sums::tally::{Sums, Tally};
use crate::solver::sums::terms::ShrinkLimits;
use crate::solver::visit::outliers::Sorted;

/// Scores in 32 bits do where what the support vectors' losses count is no more than so many times the primal.
const NARROW: f64 = 8.0;
/// Full passes look for a better intercept when the smallest gap known is within so many times the tolerance.
const NEAR: f64 = 30.0;

/// How far from its centre a free intercept can be at least, in margins.
const REACH: f64 = 8.0;

/// How many times less it may be pulled at least than at first.
const LEAST_TIMES: f64 = 16.0;

/// The part of the gap from which on it is the fault of dual variables that are not balanced.
const MUCH: f64 = 0.1;

/// What is to happen to the centre of the proximal shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) enum Shift {
    Stay,
    /// The centre moves to the weights, with this kappa from now on.
    Move(f64),
    /// The same, in the metric from now on.
    MoveInMetric(f64),
}

/// Where a head begins, until a verifying pass has seen all rows there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// At 0, or it has begun.
    Zero,
    /// At the v of dual variables that came from elsewhere.
    AtDual,
    /// At weights that came with dual variables.
    AtWeights,
}

/// How exactly the best primal is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exactness {
    /// From scores summed in 64 bits.
    Wide,
    /// From scores summed in 32 bits.
    Narrow,
    /// The same, and the gap that seemed to be there was not when it was summed in 64 bits: a full pass comes before another proof. Heads
    /// that ask for proofs in turn would have nothing else between them.
    Refuted,
    /// As Narrow, but the next verifying pass sums it in 64 bits.
    Asked,
    /// As Wide, by such a pass.
    Known,
}

/// What has become better in a full pass, and is to be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) struct Better {
    /// The weights that the pass began with.
    pub(in crate::solver) weights: bool,
    /// The dual variables at its end, shrunk by this factor.
    pub(in crate::solver) duals: Option<f64>,
}

/// How a verifying pass begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) struct Verifying {
    /// Rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub(in crate::solver) primal: bool,
    /// The best dual variables are proved: they change places with the present ones.
    pub(in crate::solver) best_duals: bool,
    /// The primal is that of the best weights, in 64 bits.
    pub(in crate::solver) exact: bool,
}

/// See [`HeadState::first_pull`].
fn first_pull(ledger: &Ledger) -> f64 {
    match ledger.most_alpha() / REACH {
        pull if pull > 0.0 => pull.min(1.0),
        _ => 1.0,
    }
}

pub struct HeadState {
    pub ledger: Ledger,
    pub(in crate::solver) limits: ShrinkLimits,
    pub(in crate::solver) sums: Sums,
    /// Whether the intercept is free: its centre moves with every pass, and its dual variables are balanced to be proved.
    free: bool,
    /// Whether what is visited between full passes is a block of the rows, whichever these are: the others have no say in where the centre
    /// of a free intercept goes then, and it would run away from them.
    by_blocks: bool,
    /// Whether the dual is of pairs of Newton's method, which are balanced.
    by_pair: bool,
    /// sum a y when the centre moved last, and b at the start of the full pass.
    unbalanced: f64,
    start_intercept: f64,
    /// Dual value and outer part of the gap at the start of the full pass.
    start_dual: f64,
    start_outer: f64,
    measured: Measured,
    shrinking: Shrinking,
    rule: Rule,
    /// Whether the shift is measured in a metric that follows the dual variables.
    follows_duals: bool,
    /// Rows with a > 0 at the end of the last pass.
    support: u64,
    expected: Expected,
    begins: Beginning,
    exactness: Exactness,
    /// Whether the verifying pass in progress sums the primal at the newest weights too.
    verifies_primal: bool,
    /// Where the loss is truncated.
    pub(in crate::solver) truncated: Truncated,
    /// Whether the verifying pass in progress is one that was asked for, and so no draft; and whether what is known of the gap is
    /// from a draft.
    proves: bool,
    drafted: bool,
    /// Whether the full pass in progress, or the last one, knows the losses of all rows at the weights that it began with.
    pub(in crate::solver) sees_all: bool,
    /// Whether that pass reads what a forest was asked for, which says nothing of other rows; and whether queries still find rows, so that
    /// there is nothing to prove.
    pub(in crate::solver) queries: bool,
    pub(in crate::solver) finds_more: bool,
    /// What the last sweep of kept rows has left of the gap, and the visits of the full pass that are in no sweep.
    sweep_open: f64,
    fresh_open: f64,
    /// Of Pegasos: updates at the end of the last pass.
    pub(in crate::solver) updates: Option<u64>,
    /// |w|^2 of the weights whose primal was taken last.
    norm: f64,
}

impl HeadState {
    pub(in crate::solver) fn new(
        problem: &Problem,
        spec: &HeadSpec,
        facts: &Facts,
        (together, heads): (usize, usize),
    ) -> Self {
        let intercept = if problem.intercept() { 1.0 } else { 0.0 };
        let proximal = if problem.policy() == Policy::Paper {
            Proximal::Off
        } else {
            problem.proximal()
        };
        let truncated = Truncated::of(problem, spec, together < facts.rows);
        let together = match truncated.is() {
            // while visits put rows on their sides, cached ones are not visited between passes
            true => facts.rows,
            false => together,
        };
        let rule = Rule::new(
            proximal,
            problem.loss().slope(),
            (spec.c, unit_of(problem.loss(), facts.spread())),
            facts.mean_q + intercept,
            together,
            facts.occurring,
        );
        let rule = rule.that_calms(truncated.is());
        let ledger = Ledger::new(problem, spec, facts, heads);
        let rule = match problem.free_intercept() {
            true => rule.that_pulls(first_pull(&ledger)),
            false => rule,
        };
        Self {
            limits: ShrinkLimits::NONE,
            sums: Sums::ZERO,
            free: problem.free_intercept(),
            by_blocks: matches!(problem.policy(), Policy::Block | Policy::SelectiveBlock),
            by_pair: false,
            unbalanced: f64::NAN,
            start_intercept: 0.0,
            start_dual: 0.0,
            start_outer: 0.0,
            measured: Measured {
                inner: 0.0,
                outer: 0.0,
                gap: 1.0,
                mean_aq: 0.0,
            },
            shrinking: Shrinking::AT_FIRST,
            rule,
            follows_duals: false,
            support: 0,
            expected: Expected::new(ledger.tolerance()),
            ledger,
            begins: Beginning::Zero,
            exactness: Exactness::Wide,
            verifies_primal: false,
            truncated,
            proves: false,
            drafted: false,
            sees_all: true,
            queries: false,
            finds_more: false,
            sweep_open: 0.0,
            fresh_open: 0.0,
            updates: None,
            norm: 0.0,
        }
    }

    pub fn runs(&self) -> bool {
        self.ledger.runs()
    }

    /// Ends it where it stands: with the best pair known.
    pub(in crate::solver) fn request_stop(&mut self) {
        let is_estimate = self.free && !self.by_pair && !self.ledger.bounds.dual_is_proved();
        if self.drafted || is_estimate {
            self.ledger.bounds.forget_dual();
        }
        self.ledger.stop.end(StopReason::Requested);
    }

    pub fn tolerance(&self) -> f64 {
        self.ledger.tolerance()
    }

    /// A pass of Newton's method has found this pair: see [`Ledger::take_pair`].
    pub(in crate::solver) fn take_pair(
        &mut self,
        pair: (Primal, f64),
        (support, unseen): (u64, u64),
        (at_hand, arrived): (bool, bool),
    ) -> bool {
        self.support = support;
        self.by_pair = true;
        self.expected
            .end_full(relative_gap(pair.0.value, pair.1), true);
        let rows = (support, unseen, self.sums.visits);
        let better = self.ledger.take_pair(pair, rows, (at_hand, arrived));
        if !self.runs() {
            self.begins = Beginning::Zero;
        }
        better
    }

    /// Visits so far, those that others have counted among them.
    fn visits(&self) -> u64 {
        self.sums.visits + self.ledger.visits
    }

    /// The dual variables have come from elsewhere, and perhaps the weights: it is to be verified before it is trained.
    pub(in crate::solver) fn begin_elsewhere(&mut self, at_weights: bool) {
        self.begins = match at_weights {
            true => Beginning::AtWeights,
            false => Beginning::AtDual,
        };
    }

    /// Whether it must be verified before it goes on: it has not begun yet from where it is to begin, or no pass is left.
    pub(in crate::solver) fn cannot_wait(&self) -> bool {
        self.begins != Beginning::Zero
            || self.ledger.stop.is_last()
            || self.expected.asks_again()
            || self.truncated.wants_sorting(self.ledger.stop.passes())
    }

    /// Whether other dual variables are to be proved at once.
    pub(in crate::solver) fn asks_again(&self) -> bool {
        self.expected.asks_again()
    }

    /// Whether the next full pass may prove the gap.
    pub(in crate::solver) fn is_near(&self) -> bool {
        self.ledger.gap() <= NEAR * self.tolerance()
    }

    pub fn kappa(&self) -> f64 {
        self.rule.kappa()
    }

    pub fn let_rows_shrink(&mut self, shrinks: bool) {
        self.shrinking.allowed = shrinks;
    }

    /// Begins a full pass at weights with these norms.
    pub(in crate::solver) fn begin_full(&mut self, norms: Norms) {
        if self.truncated.begins() {
            self.expected.aim_at(&self.ledger.stop, 1.0);
        }
        self.truncated.begin_full();
        self.expected.begin_full();
        self.start_dual = self.constant_part() + self.sums.linear()
            - norms.off_balance()
            - 0.5 * norms.v
            - 0.5 * self.sums.diag;
        self.start_outer = 0.5 * norms.apart;
        self.start_intercept = norms.multiplier;
        self.by_pair = false;
        (self.fresh_open, self.sweep_open) = (0.0, 0.0);
        self.sums.full = Tally::EMPTY;
        self.sums.forget_pass();
    }

    /// Takes into account the projected gradients of visits that are forgotten otherwise.
    pub(in crate::solver) fn scan(&mut self, sums: Sums) {
        self.expected.scan(sums.high, sums.low);
    }

    /// The range of projected gradients over the last full pass and what was visited in between.
    pub(in crate::solver) fn scanned(&self) -> Option<f64> {
        self.expected.scanned()
    }

    /// Ends a full pass. `start`: |w|^2 of the weights it began with; `shifted`: a better intercept for them.
    pub(in crate::solver) fn end_full(
        &mut self,
        start: f64,
        shifted: Option<Shifted>,
        norms: Norms,
    ) -> Better {
        let full = self.sums.full;
        let (primal, weights) = self.take_primal_in_full(start, shifted);
        self.norm = start;
        if start == 0.0 && !self.free {
            self.ledger.take_nothing(|| full);
        }
        let share = self.sums.open / (primal - self.start_dual);
        // the first has no shrunk rows, and with a shift a full pass also corrects its strength
        let patient = self.ledger.stop.passes() > 0 && !self.shifts();
        self.shrinking
            .judge(share, self.ledger.bounds.trained_gap(), patient);
        self.note_limits();
        if self.exactness == Exactness::Refuted {
            self.exactness = Exactness::Narrow;
        }
        self.expected.end_scan(!self.shifts());
        let (dual, shrink) = self.dual_with(norms, self.sums);
        self.support = full.support;
        let visits = self.visits();
        let is_best = self.ledger.bounds.take_dual(dual, full.support, visits);
        self.leave_to_rounding(self.ledger.best_dual());
        let estimate = self.constant_part() + 0.5 * norms.w + self.ledger.terms.c * full.visit_loss;
        if start == 0.0 && self.start_intercept == 0.0 {
            // all rows are at a margin of 0
            let smaller = (full.rows - full.ties.unsigned_abs().min(full.rows)) / 2;
            let nothing = self.ledger.terms.c * full.start_loss;
            self.truncated.take_nothing(nothing, (full.rows, smaller));
        }
        self.truncated.end_full(estimate);
        let estimate = estimate.min(self.ledger.best_primal());
        self.ledger.stop.count_pass();
        self.expected
            .end_full(relative_gap(estimate, dual), self.sees_all);
        self.measured = Measured {
            inner: primal - self.start_dual - self.start_outer,
            outer: self.start_outer,
            gap: self.ledger.bounds.trained_gap_from(primal),
            mean_aq: full.aq / full.aq_rows.max(1) as f64,
        };
        Better {
            weights,
            duals: is_best.then_some(shrink),
        }
    }

    /// Ends a full pass in which only the rows came that a forest was asked for, at weights with these norms. Of the gap it says what
    /// the rows that were visited leave of it.
    pub(in crate::solver) fn end_query(&mut self, norms: Norms) -> Better {
        let Sums { open, .. } = self.sums;
        let open = self.fresh_open + self.sweep_open + open;
        self.note_limits();
        self.expected.end_scan(false);
        let (dual, _) = self.dual_with(norms, self.sums);
        let outer = 0.5 * norms.apart;
        let gap = relative_gap(dual + open + outer, dual);
        self.ledger.stop.count_pass();
        self.expected.end_full(gap, false);
        let full = self.sums.full;
        self.measured = Measured {
            inner: open,
            outer,
            gap,
            mean_aq: match full.aq_rows {
                0 => self.measured.mean_aq,
                rows => full.aq / rows as f64,
            },
        };
        Better {
            weights: false,
            duals: None,
        }
    }

    /// How many times as long as at first active passes may go on until the next full one.
    pub(in crate::solver) fn patience(&self) -> usize {
        self.shrinking.patience
    }

    /// The primal at weights with this |w|^2 whose losses have been summed, and whether it is the smallest, with a better
    /// intercept if there is one.
    fn take_primal(&mut self, norm: f64, shifted: Option<Shifted>) -> (f64, bool) {
        let full = self.sums.full;
        let primal = self.constant_part() + 0.5 * norm + self.ledger.terms.c * full.start_loss;
        let is_best = self
            .ledger
            .bounds
            .take_primal(Primal::of(primal, &full, shifted));
        (primal, is_best)
    }

    /// The same in a full pass. Once rows of a truncated loss have been sorted the best are the weights that put them where they are: of
    /// no others it is known how many cost more on their side than on the other.
    fn take_primal_in_full(&mut self, norm: f64, shifted: Option<Shifted>) -> (f64, bool) {
        let was = self.ledger.bounds.primal;
        let (primal, is_best) = self.take_primal(norm, shifted);
        if self.sees_all && (!self.truncated.is() || self.truncated.begins()) {
            return (primal, is_best);
        }
        self.ledger.bounds.primal = was;
        (primal, false)
    }

    /// The best multiple of dual variables whose linear part of the dual, |v|^2 and sum of diag a^2 these are: its dual, and the factor.
    fn dual_of(&self, sum: f64, norm: f64, diag: f64) -> (f64, f64) {
        let (dual, shrink) = shrunk_dual(sum, norm, diag, self.ledger.terms.loss.unbounded());
        (self.constant_part() + dual, shrink)
    }

    /// By which multiple of dual variables that were proved the dual is largest.
    pub(in crate::solver) fn best_share(&self, proved: Proved) -> f64 {
        self.dual_of(proved.linear(), proved.norm, proved.diag).1
    }

    /// What primal and dual have beside the rows that are trained on: what outliers cost.
    fn constant_part(&self) -> f64 {
        self.ledger.outliers.constant(self.ledger.terms.c)
    }

    fn note_limits(&mut self) {
        let Sums { high, low, .. } = self.sums;
        self.scan(self.sums);
        self.sums.forget_pass();
        if let Some(limits) = self.shrinking.limits(high, low) {
            self.limits = limits;
        }
    }

    /// The dual at the end of the last pass.
    pub(in crate::solver) fn last_dual(&self) -> f64 {
        self.ledger.bounds.last_dual
    }

    /// The dual with these norms and sums; of a head that has ended, that of its certificate.
    pub(in crate::solver) fn dual_at(&self, norms: Norms, sums: Sums) -> f64 {
        if !self.runs() {
            return self.ledger.best_dual();
        }
        self.dual_with(norms, sums).0
    }

    /// The dual that dual variables with these norms and sums are about to have once they are balanced, and the factor that goes with it.
    /// Scaling the heavier side down loses on the way what the multiplier says, and the losses of its rows in proportion.
    fn dual_with(&self, norms: Norms, sums: Sums) -> (f64, f64) {
        let Sums { alpha, diag, .. } = sums;
        let (dual, shrink) = self.dual_of(sums.linear() - norms.off_balance(), norms.v, diag);
        match share_off_balance(norms.unbalanced, alpha) {
            0.0 => (dual, shrink),
            share => {
                // far from where it belongs the multiplier says anything
                let most = self.ledger.best_primal();
                let balanced = dual.min(most) - share * most;
                // dual variables of 0 are balanced: all there are where the rows that are no outliers are of one side
                match self.constant_part() {
                    nothing if balanced < nothing => (nothing, 0.0),
                    _ => (balanced, shrink),
                }
            }
        }
    }

    /// Whether a free intercept's centre holds it too firmly: the sum of a y has stayed on its side and not fallen by half since the last
    /// full pass, and it is much of what the gap is.
    pub(in crate::solver) fn holds_intercept(&mut self, unbalanced: f64) -> bool {
        let before = std::mem::replace(&mut self.unbalanced, unbalanced);
        let stays = unbalanced * before.signum() > 0.5 * before.abs();
        let holds =
            stays && share_off_balance(unbalanced, self.sums.alpha) > MUCH * self.measured.gap;
        if holds {
            self.unbalanced = f64::NAN;
        }
        holds
    }

    /// The pull of a free intercept towards its centre at first: that of a weight in the norm, unless the dual variables can move it by no
    /// more than [`REACH`] then.
    pub(in crate::solver) fn first_pull(&self) -> f64 {
        first_pull(&self.ledger)
    }

    /// The least pull of a free intercept towards its centre: the other weights make up for it along the mean row, no longer than this. Where
    /// it begins with less than that of a weight in the norm, a part of that at most.
    pub(in crate::solver) fn least_pull(&self) -> f64 {
        let first = self.first_pull();
        let along = 1.0 / self.rule.mean_q();
        match first < 1.0 {
            true => along.min(first / LEAST_TIMES),
            false => along,
        }
    }

    /// Whether the problem that is trained on is pulled towards a centre.
    fn shifts(&self) -> bool {
        self.free || self.rule.kappa() != 0.0
    }

    /// Whether a shift is used where it is of use, in a metric if columns call for one.
    pub(in crate::solver) fn may_shift(&self) -> bool {
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
        self.shrinking.distrust();
        self.follow_duals(metric)
    }

    /// Measures the shift in a metric that follows the dual variables. Returns kappa.
    fn follow_duals(&mut self, metric: &ShiftMetric) -> f64 {
        self.follows_duals = true;
        let mean = self.sums.alpha / self.support.max(1) as f64;
        self.rule.begin_metric_at(metric.mean_norm, mean)
    }

    /// Corrects kappa after a full pass; `metric` when columns have just been found to call for it, or when it is one that
    /// follows the dual variables.
    pub(in crate::solver) fn advance(&mut self, metric: Option<&ShiftMetric>) -> Shift {
        if self.truncated.has_sorted() {
            // what was measured is of another problem, and the centre has moved
            return Shift::Stay;
        }
        if metric.is_some() {
            // where columns differ in scale, gradients say little about how firmly a row is held
            self.shrinking.distrust();
        }
        match metric {
            Some(metric) if !metric.follows_duals => {
                self.limits = ShrinkLimits::NONE;
                Shift::MoveInMetric(self.rule.begin_metric(metric.mean_norm))
            }
            Some(metric) if !self.follows_duals || self.rule.goes_round() => {
                self.limits = ShrinkLimits::NONE;
                Shift::MoveInMetric(self.follow_duals(metric))
            }
            _ => match (self.adapt(), metric) {
                (Shift::Move(kappa), Some(_)) => Shift::MoveInMetric(kappa),
                (shift, _) => shift,
            },
        }
    }

    fn adapt(&mut self) -> Shift {
        let wanted = match self.truncated.is_open() || (self.queries && self.finds_more) {
            // primal and dual are of other rows at the beginning of a pass than at its end
            true => self.rule.follow(self.measured.mean_aq),
            false => self.rule.adapt(self.measured),
        };
        match wanted {
            Some(kappa) => {
                self.limits = ShrinkLimits::NONE;
                Shift::Move(kappa)
            }
            None => self.count_pass(self.free),
        }
    }

    /// `frees`: the centre of a free intercept may move, without a shift too.
    fn count_pass(&mut self, frees: bool) -> Shift {
        let still = self.rule.kappa() == 0.0;
        match self.rule.pass_done() || (frees && still) {
            true => Shift::Move(self.rule.kappa()),
            false => Shift::Stay,
        }
    }

    pub(in crate::solver) fn begin_active(&mut self) {
        self.fresh_open += self.sums.open;
        self.scan(self.sums);
        self.sums.forget_pass();
    }

    /// Whether the visits of the active pass left more of the gap than the tolerance.
    pub(in crate::solver) fn leaves_much(&self) -> bool {
        self.sums.open > self.expected.aim() * self.ledger.best_primal()
    }

    /// Estimates the gap at the end of an active pass: what its visits left of the subproblem's gap (shrunk rows leave
    /// nothing while they stay on their side), and what only moving the centre closes. The first was summed during the
    /// pass and is less at its end.
    pub(in crate::solver) fn estimate_active(&mut self, norms: impl FnOnce() -> Norms) {
        if self.leaves_much() {
            return self.expected.end_active(false);
        }
        let (open, norms) = (self.sums.open, norms());
        let dual = self.dual_at(norms, self.sums);
        let gap = relative_gap(dual + open + 0.5 * norms.apart, dual);
        self.expected
            .end_active(self.expected.comes_to(&self.ledger.stop, gap));
    }

    pub(in crate::solver) fn end_active(&mut self) -> Shift {
        self.sweep_open = self.sums.open;
        self.note_limits();
        self.count_pass(self.free && !self.by_blocks)
    }

    /// Whether it is time to verify: the gap is there, or seems to be, or no pass is left.
    pub(in crate::solver) fn wants_proof(&self) -> bool {
        // as long as rows change sides at any visit nothing is known
        let searches =
            self.truncated.opens() || self.finds_more || self.exactness == Exactness::Refuted;
        self.cannot_wait()
            || (!searches
                && (self.ledger.is_known()
                    || self.expected.expects(&self.ledger.stop)
                    || self.expected.is_overdue()))
    }

    /// Whether it ends whatever the gap is.
    fn ends_anyway(&self) -> bool {
        self.expected.ends_anyway(&self.ledger.stop)
    }

    /// Whether the verifying pass is to find the rows that are trained first: it looks at weights that came from elsewhere.
    pub(in crate::solver) fn sorts_rows(&self) -> bool {
        self.shrinking.allowed && (self.begins == Beginning::AtWeights || self.truncated.is())
    }

    /// Whether rows may be sorted once more without a look at all of them, before that is proved.
    pub(in crate::solver) fn may_draft(&self) -> bool {
        self.truncated.may_draft() && !self.proves && !self.ends_anyway()
    }

    /// Begins to verify. `present`: the dual at the present dual variables.
    pub(in crate::solver) fn begin_verify(&mut self, present: f64) -> Verifying {
        let (again, known) = (self.expected.take_again(), self.ledger.is_known());
        self.proves = again;
        if self.truncated.is() {
            // sides are taken at the newest weights, and the problem is that of the rows on this side then
            self.verifies_primal = true;
            self.sums.full = Tally::EMPTY;
            return Verifying {
                primal: true,
                best_duals: false,
                exact: false,
            };
        }
        let exact = self.exactness == Exactness::Asked;
        self.verifies_primal = exact || (!known && !again);
        self.sums.full = Tally::EMPTY;
        let ends = known || self.ends_anyway();
        let best_duals = !again && ends && self.ledger.best_dual() > present;
        if best_duals {
            self.exchange(present, false);
        }
        Verifying {
            primal: self.verifies_primal,
            best_duals,
            exact,
        }
    }

    /// Scores are summed in 32 bits.
    pub(in crate::solver) fn sum_narrowly(&mut self) {
        self.exactness = Exactness::Narrow;
    }

    /// Whether the primal is to be summed again in 64 bits. Rounding moves rows that stand at their margin to both sides of
    /// it, and only one side counts: that shows where the losses of many support vectors, at a large C, should be 0.
    fn wants_exact(&self, weight: f64) -> bool {
        let many = weight > NARROW * self.ledger.best_primal();
        !self.truncated.is()
            && matches!(self.exactness, Exactness::Narrow | Exactness::Refuted)
            && many
            && self.ledger.constant().is_none()
    }

    /// The present dual variables, of this dual, and the best ones change places.
    fn exchange(&mut self, dual: f64, proved: bool) {
        let support = self.support;
        self.support = self.ledger.bounds.best_duals_support();
        let present = ProvedDual {
            dual,
            support,
            visits: self.visits(),
        };
        self.ledger.bounds.exchange(present, proved);
    }

    /// Takes the primal at the newest weights, with this |w|^2 and perhaps a better intercept, if it was verified; true
    /// when they are the best.
    pub(in crate::solver) fn end_verify_primal(
        &mut self,
        norm: f64,
        shifted: Option<Shifted>,
    ) -> bool {
        if self.exactness == Exactness::Asked {
            self.exactness = Exactness::Known;
            self.ledger.bounds.primal.value = f64::INFINITY;
        }
        if self.truncated.keeps() {
            return false;
        }
        if self.truncated.is() {
            // what was known is of rows that had other sides
            self.ledger.bounds = Bounds::UNKNOWN;
        }
        self.norm = norm;
        self.verifies_primal && self.take_primal(norm, shifted).1
    }

    /// Where the loss is truncated, whether rows go where weights with this |w|^2, and losses of the rows inside, put them.
    /// `drafts`: rows were left out that may have changed.
    pub(in crate::solver) fn take_sides(
        &mut self,
        norm: f64,
        (losses, sorted): (f64, Sorted),
        drafts: bool,
    ) -> Sides {
        let inside = 0.5 * norm + self.ledger.terms.c * losses;
        let sides = (inside, self.ledger.terms.c, self.tolerance());
        if !self.truncated.is() {
            return Sides::Kept;
        }
        let ends = (drafts, self.ends_anyway());
        let seen = Found {
            correct: self.sums.full.correct,
            gap: self.ledger.bounds.gap(),
        };
        let costs = (&mut self.ledger.outliers, sorted);
        let found = self.truncated.take_sides(sides, costs, ends, seen);
        if found == Sides::Anew {
            // what was known is of rows that had other sides
            self.ledger.bounds = Bounds::UNKNOWN;
        }
        if self.begins == Beginning::AtDual {
            // weights were not those of the dual variables
            self.truncated.forget();
        }
        found
    }

    /// It begins with dual variables of 0 once more. Returns kappa.
    pub(in crate::solver) fn begin_anew(&mut self) -> f64 {
        self.limits = ShrinkLimits::NONE;
        self.rule.begin_anew()
    }

    /// Ends the head when the verified gap is within the tolerance or no pass is left; else takes over the exact dual.
    /// `drafts`: rows that were left out may have changed, so that nothing is proved.
    pub(in crate::solver) fn end_verify(&mut self, proved: Proved, drafts: bool) -> Verified {
        self.drafted = drafts;
        let (dual, shrink) = self.dual_of(proved.linear(), proved.norm, proved.diag);
        self.support = proved.support;
        let proof = ProvedDual {
            dual,
            support: proved.support,
            visits: self.visits(),
        };
        let is_best = self.ledger.bounds.take_proved(proof);
        self.leave_to_rounding(dual);
        let gap = relative_gap(self.ledger.best_primal(), dual);
        self.shrinking
            .come_near(self.ledger.bounds.trained_gap().min(gap));
        let most = self.tolerance() * self.ledger.best_primal();
        let excess = self.ledger.terms.c * self.ledger.outliers.excess();
        self.truncated.fit_band(excess, most);
        let is_there = self.ledger.stop.is_met_by(gap) || self.ledger.is_known();
        if is_there || self.ends_anyway() {
            let stays = !drafts && self.truncated.stays(excess, most);
            if self.ends_anyway() || stays {
                return self.end_with((proof, proved.weight), shrink);
            }
        }
        self.expected.go_on();
        if is_there || self.truncated.is_loose(excess, most) {
            self.truncated.look_at_best();
            self.expected.ask_again();
        }
        if self.truncated.is() {
            if self.truncated.stood_still(self.ledger.outliers.sorted) || self.truncated.keeps() {
                self.expected.doubt();
            }
            // a round counts as a pass: rows have changed sides, and the gap over those on this side is to come to a share of what it is
            self.ledger.stop.count_pass();
            self.expected.aim_at(&self.ledger.stop, gap);
        } else if self.exactness == Exactness::Known {
            // it was not there after all; one that queries has no full passes
            self.exactness = match self.queries {
                true => Exactness::Narrow,
                false => Exactness::Refuted,
            };
        } else if self.queries {
            self.expected.aim_at(&self.ledger.stop, gap);
        } else if self.verifies_primal && self.sees_all {
            self.expected.learn(gap);
        }
        let [alpha, offsets, diag] = proved.held;
        (self.sums.alpha, self.sums.offsets, self.sums.diag) = (alpha, offsets, diag);
        let visits = self.visits();
        let lays = self.ledger.bounds.take_dual(dual, proved.support, visits);
        if lays && self.free {
            self.ledger.bounds.take_proved(proof);
        }
        // the best ones were laid aside before they were balanced
        let lay = (lays || (is_best && self.free)).then_some(shrink);
        let beginning = std::mem::replace(&mut self.begins, Beginning::Zero);
        match beginning {
            Beginning::Zero => return Verified::GoesOn { lay },
            // until v is known no row has a side
            Beginning::AtDual if self.truncated.is() => self.expected.ask_again(),
            _ => {}
        }
        let mean = alpha / proved.support.max(1) as f64;
        Verified::Begins {
            kappa: self.rule.begin_from(mean),
            at_v: beginning == Beginning::AtDual,
            lay,
        }
    }

    /// Ends it with the better of the dual variables proved and the best ones, once both are proved.
    fn end_with(&mut self, (proof, weight): (ProvedDual, f64), shrink: f64) -> Verified {
        if self.wants_exact(weight) {
            self.exactness = Exactness::Asked;
            self.expected.ask_again();
            return Verified::Exactly;
        }
        let verified = match self.ledger.bounds.choose(proof) {
            Choice::BestUnproved => {
                self.exchange(proof.dual, true);
                self.expected.ask_again();
                return Verified::Again { shrink };
            }
            Choice::Best => Verified::EndedWithBest,
            Choice::Present => {
                self.ledger.bounds.end_with(proof);
                Verified::Ended { shrink }
            }
        };
        self.ledger.stop.end(
            match (
                self.ledger.is_known(),
                self.expected.lies_within(&self.ledger.stop),
            ) {
                (true, _) => StopReason::Tolerance,
                (false, true) => StopReason::ProjectedGradient,
                (false, false) => StopReason::MaxPasses,
            },
        );
        verified
    }

    /// Whether a full pass has told what its primal is, be it no number.
    fn is_to_know(&self) -> bool {
        self.ledger.stop.passes() > 0 && !self.truncated.begins()
    }

    /// Whether what is said of it has been summed in 64 bits: see [`Ledger::is_summed`].
    pub(in crate::solver) fn is_summed(&self) -> bool {
        let widely = matches!(self.exactness, Exactness::Wide | Exactness::Known);
        self.ledger.is_summed(widely)
    }

    /// Leaves to rounding what it may change beside this dual.
    fn leave_to_rounding(&mut self, dual: f64) {
        self.ledger.leave_to_rounding(self.norm.sqrt(), dual);
    }

    /// How the head ended, or stands.
    pub fn report(&self, rows: usize) -> HeadReport {
        HeadReport {
            kappa: self.rule.kappa(),
            updates: self.updates,
            ..self.ledger.report(rows, self.is_to_know())
        }
    }
}
