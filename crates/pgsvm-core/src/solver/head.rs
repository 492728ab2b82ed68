//! One binary problem: its dual variables a, its weights, and what a visit of a row does to them.
//!
//! primal  P(w) = 1/2 |w|^2 + C sum c L(y <w, x>)
//! dual    D(a) = sum a - 1/2 |v|^2 - 1/2 sum diag a^2,  v = sum a y x,  0 <= a <= upper
//!
//! [`super::visit`] visits rows; here is what happens between visits, pass by pass.

use crate::cache::Facts;
use crate::kernel::{prefetch, Kernel, Real};
use crate::page::Page;
use crate::problem::{Loss, Policy, Problem, Proximal};
use crate::row::Row;
use crate::solver::ahead::Ahead;
use crate::solver::iterate::Iterate;
use crate::solver::moments::Moments;
use crate::solver::per_row::{Asleep, Dual};
use crate::solver::proof::{shrunk_dual, Proof};
use crate::solver::rule::{Measured, Rule};
use crate::solver::visit::{Lent, Outcome, Sums, Tally, Terms, Visitor};
use crate::solver::zeros;
use crate::trainer::{Certificate, HeadSpec, StopReason, TrainError};

/// A row at its bound sleeps when its gradient is beyond this share of the largest violation of the last pass.
const SLEEP_SHARE: f64 = 0.5;
/// The gap estimated from losses at the time of the visit may be this much too large before it is believed.
const ESTIMATE_SLACK: f64 = 1.5;
/// Blocks of consecutive rows of the arena, in the order in which they are visited.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) page: Page<'a>,
    pub(crate) numbers: &'a [u32],
    /// Rows of a block.
    pub(crate) width: usize,
}

impl Blocks<'_> {
    /// The first row of the block at `place`, and a bit for each of its rows.
    #[inline(always)]
    pub(crate) fn rows(&self, place: usize) -> (usize, u32) {
        let first = self.numbers[place] as usize * self.width;
        let rows = self.width.min(self.page.slots() - first);
        (first, (1u32 << rows) - 1)
    }
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
    pub(super) terms: Terms,
    pub(super) intercept: f64,
    pub(crate) alpha: Vec<f32>,
    pub(super) iterate: Iterate<T>,
    /// Weights at the start of the full pass, or those being verified.
    pub(super) start: Vec<T>,
    /// Whether those are all 0.
    pub(super) start_is_zero: bool,
    /// Weights of the best primal.
    pub(super) best_w: Vec<T>,
    pub(super) best: Best,
    pub(super) best_dual: f64,
    pub(super) sums: Sums,
    /// Dual value and outer part of the gap at the start of the full pass.
    pub(super) start_dual: f64,
    pub(super) start_outer: f64,
    pub(super) measured: Measured,
    /// Rows that active passes leave out.
    pub(crate) asleep: Asleep,
    /// Whether rows may sleep at all.
    pub(crate) sleeps: bool,
    pub(super) rule: Rule,
    pub(super) estimate: f64,
    pub(super) slack: f64,
    pub(super) proof: Option<Box<Proof>>,
    pub(super) certificate: Option<Certificate>,
    pub(crate) support_vectors: u64,
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
            terms: Terms {
                c: spec.c,
                squared,
                sleep_above: f64::INFINITY,
                sleep_below: f64::NEG_INFINITY,
            },
            intercept,
            alpha: zeros(facts.rows)?,
            iterate: Iterate::new(facts.features, facts.dense, intercept, rule.kappa())?,
            start: zeros(length)?,
            start_is_zero: true,
            best_w: zeros(length)?,
            best: Best {
                primal: f64::INFINITY,
                correct: 0,
                rows: 0,
            },
            best_dual: 0.0,
            sums: Sums::ZERO,
            start_dual: 0.0,
            start_outer: 0.0,
            measured: Measured {
                inner: 0.0,
                outer: 0.0,
                gap: 1.0,
                mean_aq: 0.0,
            },
            asleep: Asleep::new(facts.rows).map_err(|_| TrainError::OutOfMemory {
                bytes: facts.rows as u64 / 8,
            })?,
            sleeps: true,
            rule,
            estimate: f64::INFINITY,
            slack: ESTIMATE_SLACK,
            proof: None,
            certificate: None,
            support_vectors: 0,
            stop: None,
        })
    }

    pub(crate) fn kappa(&self) -> f64 {
        self.rule.kappa()
    }

    /// u, and what visits need beside it.
    #[inline(always)]
    pub(super) fn lend(&mut self) -> (&mut [T], Lent<'_, T>) {
        let (u, form) = self.iterate.lend();
        let lent = Lent {
            signs: &self.signs,
            terms: self.terms,
            alpha: Dual::share(&mut self.alpha),
            asleep: &self.asleep,
            start: (!self.start_is_zero).then_some(&self.start),
            form,
        };
        (u, lent)
    }

    /// What visits rows. Its sums go back to `self.sums`.
    #[inline(always)]
    fn visitor(&mut self) -> Visitor<'_, T> {
        let sums = self.sums;
        let (u, lent) = self.lend();
        lent.visitor(u, 1.0, sums)
    }

    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    #[inline(always)]
    pub(crate) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
    ) -> usize {
        let mut visitor = self.visitor();
        let values = visitor.visit_blocks::<K, FULL>(blocks);
        let sums = visitor.sums;
        self.sums = sums;
        values
    }

    /// A visit that also sums the loss at the weights of the pass's start.
    #[inline(always)]
    pub(crate) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>) -> Outcome {
        self.visit_one::<K, true>(row)
    }

    /// A visit between full passes.
    #[inline(always)]
    pub(crate) fn visit_active<K: Kernel>(&mut self, row: &Row<'_>) -> Outcome {
        if self.asleep.get(row.ordinal()) {
            return Outcome::NONE;
        }
        self.visit_one::<K, false>(row)
    }

    #[inline(always)]
    fn visit_one<K: Kernel, const FULL: bool>(&mut self, row: &Row<'_>) -> Outcome {
        let mut visitor = self.visitor();
        let outcome = visitor.visit::<K, FULL>(row);
        visitor.lent.asleep.set(row.ordinal(), outcome.sleeps);
        let sums = visitor.sums;
        self.sums = sums;
        outcome
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub(crate) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        let mut visitor = self.visitor();
        visitor.measure::<K>(row);
        let sums = visitor.sums;
        self.sums = sums;
    }

    pub(crate) fn begin_full(&mut self) {
        self.start_is_zero = self.sums.updates == 0;
        self.iterate.write_weights(&mut self.start);
        let norms = self.iterate.norms();
        self.start_dual = self.sums.alpha - 0.5 * norms.v - 0.5 * self.sums.diag;
        self.start_outer = 0.5 * norms.apart;
        self.sums.full = Tally::EMPTY;
        self.sums.forget_range();
    }

    pub(crate) fn end_full(&mut self) {
        let full = self.sums.full;
        let primal = self.take_start(full.start_loss, full.correct, full.rows);
        self.note_limits();
        let (dual, squared_w) = self.dual_now();
        let estimate = (0.5 * squared_w + self.terms.c * full.visit_loss).min(self.best.primal);
        self.estimate = relative(estimate, dual);
        self.support_vectors = full.support;
        self.measured = Measured {
            inner: primal - self.start_dual - self.start_outer,
            outer: self.start_outer,
            gap: self.gap(),
            mean_aq: full.aq / full.aq_rows.max(1) as f64,
        };
        self.certificate = Some(self.certify(dual));
    }

    /// The primal at `start`, which becomes the best weights if it is the smallest.
    pub(super) fn take_start(&mut self, loss: f64, correct: u64, rows: u64) -> f64 {
        let norm: f64 = self.start.iter().map(|w| w.to() * w.to()).sum();
        let primal = 0.5 * norm + self.terms.c * loss;
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
        let Sums { alpha, diag, .. } = self.sums;
        let (dual, _) = shrunk_dual(alpha, norms.v, diag, self.terms.squared);
        self.best_dual = self.best_dual.max(dual);
        (dual, norms.w)
    }

    fn note_limits(&mut self) {
        let Sums { high, low, .. } = self.sums;
        self.sums.forget_range();
        if !self.sleeps {
            return;
        }
        self.terms.sleep_above = if high > 0.0 {
            SLEEP_SHARE * high
        } else {
            f64::INFINITY
        };
        self.terms.sleep_below = if low < 0.0 {
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
        (self.sums.high.max(0.0) - self.sums.low.min(0.0)).max(0.0)
    }

    /// The largest magnitude of a projected gradient in the pass so far.
    pub(crate) fn largest_gradient(&self) -> f64 {
        self.sums.high.max(-self.sums.low).max(0.0)
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
        self.terms.sleep_above = f64::INFINITY;
        self.terms.sleep_below = f64::NEG_INFINITY;
    }

    pub(crate) fn begin_active(&mut self) {
        self.sums.forget_range();
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
            primal: self.terms.c * rows as f64,
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

impl<T: Real> Visitor<'_, T> {
    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    #[inline(always)]
    pub(super) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
    ) -> usize {
        let asleep = self.lent.asleep;
        let to_visit = |place: usize| {
            let (first, all) = blocks.rows(place);
            let left = if FULL {
                all
            } else {
                all & !asleep.group(first, blocks.width)
            };
            (first, left)
        };
        let mut ahead = Ahead::new(blocks.page);
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(place);
            if place + 2 < blocks.numbers.len() {
                let (slot, _) = blocks.rows(place + 2);
                blocks.page.prefetch_entry(slot);
                prefetch(&self.lent.alpha[slot..], 1);
            }
            if place + 1 < blocks.numbers.len() {
                let (first, rows) = to_visit(place + 1);
                ahead.begin(first, rows);
            }
            let mut sleeping = asleep.group(first, blocks.width);
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let row = blocks.page.peek_row(first + offset as usize);
                values += row.values();
                ahead.fetch(&row, first, left);
                let outcome = self.visit::<K, FULL>(&row);
                sleeping = sleeping & !(1 << offset) | u32::from(outcome.sleeps) << offset;
            }
            ahead.finish();
            asleep.set_group(first, blocks.width, sleeping);
        }
        values
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
