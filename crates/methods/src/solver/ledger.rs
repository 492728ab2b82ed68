//! What is known of a head, whichever method finds its weights: the problem's constants, the best pair of primal and dual with its
//! certificate, and how it ends.
//!
//! Knows numbers. Must not know vectors: when a ledger says so, the code that holds the vectors keeps the weights of the best primal, or
//! the dual variables of the best dual. What coordinate descent needs besides is in [`crate::solver::certificate::state`].

pub mod bounds;
pub mod constant;
pub mod outliers;
pub mod stop;

use crate::objective::heads::HeadSpec;
use crate::objective::minimized::{Intercept, Objective};
use crate::objective::problem::{Problem, StopRule};
use crate::objective::report::{Certificate, HeadReport, StopReason};
use crate::objective::rounded::{Off, Unrounded};
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::simd::Isa;
use crate::solver::ledger::bounds::{Bounds, Primal};
use crate::solver::ledger::constant::Constant;
use crate::solver::ledger::outliers::OutlierCosts;
use crate::solver::ledger::stop::Stop;
use crate::solver::sums::recounted::Recounted;
use crate::solver::sums::tally::Tally;
use crate::solver::sums::terms::Terms;
use crate::solver::weights::Weights;

/// A holder of heads: their ledgers, and the weights of their certificates.
#[allow(clippy::len_without_is_empty)]
pub trait Ledgers {
    /// How many heads there are.
    fn len(&self) -> usize;
    fn ledger(&self, head: usize) -> &Ledger;
    fn ledger_mut(&mut self, head: usize) -> &mut Ledger;
    /// The weights of a head's certificate.
    fn weights(&self, head: usize) -> Weights<'_>;
    /// <w, x> + b of a head that has ended, at its certificate's weights.
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>) -> f32;

    /// The weights that have sorted rows for the round in which a head ended; none where the weights at hand do.
    fn sorted_at(&self, _: usize) -> &[f64] {
        &[]
    }

    /// Whether what is said of a head has been summed in 64 bits: see [`Ledger::is_summed`].
    fn is_summed(&self, head: usize) -> bool {
        self.ledger(head).is_summed(true)
    }

    fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        (0..self.len()).map(|head| self.ledger(head))
    }

    /// Heads that still run: what a visit of a row takes is that of one head as many times.
    fn running_heads(&self) -> usize {
        self.ledgers().filter(|it| it.runs()).count()
    }

    /// The largest of the heads' smallest gaps; None before there are any.
    fn gap(&self) -> Option<f64> {
        let largest = || self.ledgers().map(Ledger::gap).fold(0.0, f64::max);
        (self.known_primal().is_finite() && self.len() > 0).then(largest)
    }

    /// The smallest primals known, summed over the heads; infinite before all have one.
    fn known_primal(&self) -> f64 {
        self.ledgers().map(Ledger::best_primal).sum()
    }

    /// The largest duals known, summed over the heads.
    fn known_dual(&self) -> f64 {
        self.ledgers().map(Ledger::best_dual).sum()
    }

    /// The largest range of projected gradients that a head had over the last pass; None where there are none.
    fn projected_gradient(&self) -> Option<f64> {
        None
    }

    /// The dual at the present dual variables, summed over the heads; None where that takes a pass over the rows. Costs
    /// as much as a look at every weight.
    fn dual(&mut self) -> Option<f64> {
        Some(self.known_dual())
    }

    /// Rows visited, and visits that changed a dual variable.
    fn visits(&self) -> u64 {
        self.ledgers().map(|it| it.visits).sum()
    }

    fn updates(&self) -> u64 {
        self.ledgers().map(|it| it.updates).sum()
    }
}

pub struct Ledger {
    pub(in crate::solver) terms: Terms,
    pub(in crate::solver) bounds: Bounds,
    pub(in crate::solver) stop: Stop,
    /// What rows beyond the truncation of the loss cost.
    pub(in crate::solver) outliers: OutlierCosts,
    /// Rows read, and rows with a > 0, in passes that are no visits of coordinate descent.
    pub(in crate::solver) visits: u64,
    pub(in crate::solver) updates: u64,
    /// Whether a constant decision is among what it may end with: there is an intercept, and there are other classes to
    /// decide for.
    decides_constantly: bool,
    /// Whether all rows have been read at the weights that it has ended with.
    is_recounted: bool,
    /// By how much scores may be off for what rounding has made of rows, times |w|, and rows themselves; and what the costs of all rows come
    /// to.
    rounding: (Off, f64),
    /// Whether rows have offsets.
    offsets: bool,
}

impl Ledger {
    /// Of a head among so many, of which nothing is known yet.
    pub(in crate::solver) fn new(
        problem: &Problem,
        spec: &HeadSpec,
        facts: &Facts,
        heads: usize,
    ) -> Self {
        Self {
            terms: Terms {
                c: spec.c,
                positive_weight: spec.positive_weight,
                loss: problem.loss(),
            },
            bounds: Bounds::UNKNOWN,
            stop: Stop::new(
                problem.stop(),
                spec.tolerance.unwrap_or(problem.tolerance()),
                spec.max_passes.unwrap_or(problem.max_passes()),
            ),
            outliers: OutlierCosts::of(problem, spec),
            visits: 0,
            updates: 0,
            decides_constantly: problem.intercept()
                && spec.signs.among_classes(heads)
                && problem.truncation().is_none(),
            is_recounted: false,
            rounding: (
                Off {
                    margin: facts.most_off(),
                    length: facts.most_length_off(),
                },
                facts.costs,
            ),
            offsets: facts.offsets,
        }
    }

    /// What it minimizes over rows of these signs by group.
    pub(in crate::solver) fn objective(&self, signs: Vec<i8>, intercept: Intercept) -> Objective {
        let Terms {
            loss,
            c,
            positive_weight,
        } = self.terms;
        let terms = (loss, c, f64::from(positive_weight));
        Objective::new(signs, terms, intercept).truncated(self.outliers.s())
    }

    pub fn runs(&self) -> bool {
        self.stop.reason().is_none()
    }

    /// By what it ends.
    pub fn stop_rule(&self) -> StopRule {
        self.stop.rule()
    }

    pub fn tolerance(&self) -> f64 {
        self.stop.tolerance()
    }

    pub(in crate::solver) fn max_passes(&self) -> u32 {
        self.stop.max_passes()
    }

    /// Whether the gap is there.
    pub(in crate::solver) fn is_known(&self) -> bool {
        self.stop.is_met_by(self.gap())
    }

    /// A pass over all rows has found this primal and this dual: those of its weights, and of dual variables that follow
    /// from them. They stay together: a pair of one pass can be recomputed from its weights alone. `unseen` of the rows were known without
    /// a look; `before`: visits that are not counted here. The head has ended with
    /// `arrived`, and where a constant decision is within the tolerance. True when weights and dual variables are to be kept
    /// as the best, which can only be where the weights are `at_hand`.
    pub(in crate::solver) fn take_pair(
        &mut self,
        (primal, dual): (Primal, f64),
        (support, unseen, before): (u64, u64, u64),
        (at_hand, arrived): (bool, bool),
    ) -> bool {
        self.visits += primal.rows - unseen;
        self.updates += support;
        self.stop.count_pass();
        let proof = (dual, support, self.visits + before);
        let better = at_hand && self.bounds.take_pair(primal, proof, arrived);
        if arrived || self.is_known() {
            self.stop.end(StopReason::Tolerance);
        }
        better
    }

    /// Rows have been sorted anew: what is known is about another problem.
    pub(in crate::solver) fn begin_anew(&mut self) {
        self.bounds = Bounds::UNKNOWN;
    }

    /// All rows are read, and this is what they sum at weights of 0.
    pub(in crate::solver) fn take_nothing(&mut self, at_zero: impl FnOnce() -> Tally) {
        if self.decides_constantly && self.bounds.constant.is_none() {
            self.bounds.constant = Constant::of(&self.terms, &at_zero());
        }
    }

    /// No method gets it any further: it ends with what is known of it.
    pub(in crate::solver) fn end_unfinished(&mut self) {
        self.stop.end(match self.is_known() {
            true => StopReason::Tolerance,
            false => StopReason::MaxPasses,
        });
    }

    /// The smallest primal known, infinite before there is one.
    pub(in crate::solver) fn best_primal(&self) -> f64 {
        self.bounds.best_primal().value
    }

    /// The largest dual known, whose dual variables are at hand.
    pub(in crate::solver) fn best_dual(&self) -> f64 {
        self.bounds.best_dual()
    }

    /// The smallest relative gap known.
    pub fn gap(&self) -> f64 {
        self.bounds.gap()
    }

    /// The intercept of the best constant decision, where that is what it ends with.
    pub(in crate::solver) fn constant(&self) -> Option<f64> {
        self.bounds.best_is_constant().map(|it| it.intercept)
    }

    /// The same before it is set apart from those of other classes.
    pub(in crate::solver) fn plain_constant(&self) -> Option<f64> {
        self.bounds.best_is_constant().map(|it| it.plain)
    }

    /// The largest primal that weights may have which take the place of a constant decision: a quarter of the tolerance more,
    /// and a gap that is within the tolerance stays so.
    pub(in crate::solver) fn most_primal(&self) -> f64 {
        let most = self.best_primal() * (1.0 + 0.25 * self.tolerance());
        match self.is_known() {
            true => most.min(self.best_dual() / (1.0 - self.tolerance())),
            false => most,
        }
    }

    /// The constant decision it has ended with has got weights, and with them this primal.
    pub(in crate::solver) fn take_apart(&mut self, primal: f64) {
        if let Some(constant) = &mut self.bounds.constant {
            constant.primal.value = primal;
        }
    }

    /// All rows have been read at the weights that it has ended with, of this |w|^2, or of so many heads together: what is said of
    /// it is that. Where it is none of those at which it ends, it has not arrived.
    pub(in crate::solver) fn recount(
        &mut self,
        (norm, heads): (f64, usize),
        found: &Recounted,
        least: f64,
    ) {
        let Terms { c, .. } = self.terms;
        self.outliers.recount(found.outliers, found.excess);
        // of a truncated loss the certificate has rows on their sides
        let all = 0.5 * norm + c * (found.losses + self.outliers.excess());
        let (part, weight) = (all / heads as f64, c * found.rows as f64 / heads as f64);
        self.bounds.recount(Primal {
            value: part,
            correct: found.correct,
            ties: found.ties,
            rows: found.rows,
            summed: true,
        });
        if let Some(rounded) = &found.rounded {
            let known = Unrounded {
                loss: self.terms.loss,
                losses: found.losses + found.excess.unwrap_or(0.0),
                share: c / heads as f64,
                together: heads,
                offsets: self.offsets,
            };
            self.bounds.widen(rounded, &known, least);
        }
        self.is_recounted = true;
        self.stop.recount(&self.bounds.certificate(), weight);
    }

    /// Whether what is said of it is what a pass has summed up, in 64 bits, at the weights that it has ended with, every row on its side.
    /// `widely`: its passes sum in 64 bits.
    pub(in crate::solver) fn is_summed(&self, widely: bool) -> bool {
        let primal = self.bounds.best_primal();
        self.is_recounted || (widely && primal.summed && self.outliers.excess() == 0.0)
    }

    /// Whether they have been read since it has ended.
    pub(in crate::solver) fn is_recounted(&self) -> bool {
        self.is_recounted
    }

    /// What the dual variables of the hinge come to at most.
    pub(in crate::solver) fn most_alpha(&self) -> f64 {
        let Terms {
            c, positive_weight, ..
        } = self.terms;
        c * self.rounding.1 * f64::from(positive_weight.max(1.0))
    }

    /// The share of what is said of it that rounding may change at most, at weights of this length.
    pub(in crate::solver) fn rounding_at(&self, length: f64) -> f64 {
        self.rounding_beside(length, self.bounds.certificate().dual)
    }

    /// The same beside this dual: what dual variables lose grows with the gap.
    fn rounding_beside(&self, length: f64, dual: f64) -> f64 {
        let (most_off, _) = self.rounding;
        let off = most_off.margin * length;
        let Terms { loss, .. } = self.terms;
        let (weight, primal) = (self.most_alpha(), self.best_primal());
        let more = loss.most_growth((weight, primal), off);
        // of dual variables that come to 2 P, or to what slopes do, as a sum of vectors: see `Rounded::widening`
        let duals = match self.offsets {
            true => loss.most_slopes((weight, primal)),
            false => 2.0 * primal,
        };
        let length = duals * most_off.length;
        let open = (primal - dual).max(0.0);
        let second = length * ((2.0 * open).sqrt() + 0.5 * length);
        match more + second > 0.0 {
            true => (more + second) / primal + 2.0 * off,
            false => 0.0,
        }
    }

    /// Leaves to rounding what it may change beside this dual, at weights of this length.
    pub(in crate::solver) fn leave_to_rounding(&mut self, length: f64, dual: f64) {
        let share = self.rounding_beside(length, dual);
        self.stop.leave_to_rounding(share);
    }

    /// How the head ended, or stands. `knows`: a pass has told what its primal is, be it no number.
    pub fn report(&self, rows: usize, knows: bool) -> HeadReport {
        let best = self.bounds.best_primal();
        HeadReport {
            // before the first full pass, and where rows begin anew, nothing better is known than w = 0 and a = 0, every cost taken as 1
            certificate: match best.value.is_finite() || knows {
                true => self.bounds.certificate(),
                false => Certificate {
                    primal: self.terms.c * rows as f64,
                    dual: 0.0,
                    gap: 1.0,
                },
            },
            training_accuracy: match best.rows {
                0 => 0.0,
                rows => best.correct as f64 / rows as f64,
            },
            ties: best.ties as f64 / best.rows.max(1) as f64,
            stop: self.stop.reason(),
            support_vectors: self.bounds.best_duals_support(),
            truncated: self.outliers.report(best.value, self.terms.c),
            kappa: 0.0,
            updates: None,
            rounding: self.bounds.rounding,
        }
    }
}
