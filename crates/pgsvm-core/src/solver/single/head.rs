//! One binary problem: its dual variables a, its weights, and what a visit of a row does to them.
//!
//! primal  P(w) = 1/2 |w|^2 + C sum c L(y <w, x>)
//! dual    D(a) = sum a - 1/2 |v|^2 - 1/2 sum diag a^2,  v = sum a y x,  0 <= a <= upper
//!
//! [`crate::solver::visit::visitor`] visits rows; here is what happens between visits, pass by pass.

use crate::base::zeros::{zeros, Lined};
use crate::cache::Facts;
use crate::rows::page::Page;
use crate::rows::row::Row;
use crate::simd::{prefetch, Deferred, Kernel, Next, Real};
use crate::solver::certificate::progress::{Course, Shift};
use crate::solver::proximal::dual_moments::DualMoments;
use crate::solver::proximal::iterate::Iterate;
use crate::solver::proximal::moments::Metric;
use crate::solver::single::pegasos::Descent;
use crate::solver::single::verify::Proof;
use crate::solver::sums::intercept::{Kinks, Shifted};
use crate::solver::visit::ahead::Ahead;
use crate::solver::visit::per_row::{Asleep, Dual};
use crate::solver::visit::visitor::{scattered, Lent, Outcome, Terms, Visitor};
use crate::training::{HeadSpec, Start, TrainError};

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

pub(crate) struct Head<T> {
    pub(crate) course: Course,
    pub(in crate::solver) signs: Vec<i8>,
    pub(crate) alpha: Lined<f32>,
    pub(in crate::solver) iterate: Iterate<T>,
    /// Weights at the start of the full pass, or those being verified.
    pub(in crate::solver) start: Vec<T>,
    /// Whether those are all 0.
    pub(in crate::solver) start_is_zero: bool,
    /// Weights of the best primal.
    pub(in crate::solver) best_w: Vec<T>,
    /// In a full pass, where a better intercept is found for the weights of its start, if one is looked for.
    pub(in crate::solver) kinks: Option<Kinks>,
    /// Rows that active passes leave out.
    pub(crate) asleep: Asleep,
    pub(in crate::solver) proof: Option<Box<Proof>>,
    /// What full passes learn for a metric that follows the dual variables, once there is to be one.
    pub(in crate::solver) dual_moments: Option<DualMoments>,
    /// Where Pegasos stands; None where the dual is solved.
    pub(in crate::solver) descent: Option<Descent>,
}

impl<T: Real> Head<T> {
    pub(crate) fn new(
        spec: &HeadSpec,
        course: Course,
        intercept: f64,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let length = facts.features + 1;
        Ok(Self {
            signs: spec.signs.list(facts.groups)?,
            alpha: Lined::zeros(facts.rows)?,
            iterate: Iterate::new(facts.features, facts.dense, intercept, course.kappa())?,
            course,
            start: zeros(length)?,
            start_is_zero: true,
            best_w: zeros(length)?,
            kinks: None,
            asleep: Asleep::new(facts.rows).map_err(|_| TrainError::OutOfMemory {
                bytes: facts.rows as u64 / 8,
            })?,
            proof: None,
            dual_moments: None,
            descent: None,
        })
    }

    /// Sets where it begins.
    pub(in crate::solver) fn set_start(&mut self, start: Start) {
        self.alpha = Lined::as_they_lie(start.duals);
        if let Some(weights) = &start.weights {
            self.iterate.stand_at(weights);
        }
    }

    /// u, what visits need beside it, and where full passes find a better intercept.
    #[inline(always)]
    pub(in crate::solver) fn lend(&mut self) -> (&mut [T], Lent<'_, T>, Option<&mut Kinks>) {
        let (u, form) = self.iterate.lend();
        let lent = Lent {
            signs: &self.signs,
            terms: self.course.terms,
            alpha: Dual::share(&mut self.alpha),
            asleep: &self.asleep,
            start: (!self.start_is_zero).then_some(&self.start),
            form,
        };
        (u, lent, self.kinks.as_mut())
    }

    /// Lets Pegasos train this head from the start.
    pub(in crate::solver) fn descend(&mut self, rows: usize) {
        self.descent = Some(Descent::new(rows));
    }

    /// What visits rows. Its sums go back to the course.
    #[inline(always)]
    pub(in crate::solver) fn visitor(&mut self) -> Visitor<'_, T> {
        let sums = self.course.sums;
        let (u, lent, kinks) = self.lend();
        lent.visitor(u, 1.0, sums, kinks)
    }

    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    #[inline(always)]
    pub(crate) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
    ) -> usize {
        if FULL {
            self.learn_blocks(blocks);
        }
        let mut visitor = self.visitor();
        let values = visitor.visit_blocks::<K, FULL>(blocks);
        let sums = visitor.sums;
        self.course.sums = sums;
        values
    }

    /// Lets the sums for a metric learn from the rows of these blocks, if there are any.
    #[inline(always)]
    pub(in crate::solver) fn learn_blocks(&mut self, blocks: Blocks<'_>) {
        self.learn(|lent, moments| lent.learn_blocks(blocks, moments));
    }

    /// The same from one row.
    #[inline(always)]
    pub(in crate::solver) fn learn_row(&mut self, row: &Row<'_>) {
        self.learn(|lent, moments| lent.learn(row, moments));
    }

    #[inline(always)]
    fn learn(&mut self, from: impl FnOnce(&Lent<'_, T>, &mut DualMoments)) {
        if let Some(mut moments) = self.dual_moments.take() {
            from(&self.lend().1, &mut moments);
            self.dual_moments = Some(moments);
        }
    }

    /// A visit that also sums the loss at the weights of the pass's start.
    #[inline(always)]
    pub(crate) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>) -> Outcome {
        self.learn_row(row);
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

    /// Whether weights are scattered.
    #[inline(always)]
    pub(in crate::solver) fn scattered(&self) -> bool {
        scattered(&self.start)
    }

    /// Asks for the weights that a visit of this row needs.
    #[inline(always)]
    pub(in crate::solver) fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        let (u, lent, _) = self.lend();
        lent.ask::<FULL>(row.sparse(), u);
    }

    #[inline(always)]
    fn visit_one<K: Kernel, const FULL: bool>(&mut self, row: &Row<'_>) -> Outcome {
        let mut visitor = self.visitor();
        let mut deferred = Deferred::NONE;
        let outcome = visitor.visit::<K, FULL>(row, Next::NONE, &mut deferred);
        visitor.catch_up::<K>(deferred);
        visitor.lent.asleep.set(row.ordinal(), outcome.sleeps);
        let sums = visitor.sums;
        self.course.sums = sums;
        outcome
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub(crate) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        let mut visitor = self.visitor();
        visitor.measure::<K>(row);
        let sums = visitor.sums;
        self.course.sums = sums;
    }

    pub(crate) fn begin_full(&mut self) {
        let norms = self.iterate.norms();
        self.start_is_zero = norms.w == 0.0;
        self.iterate.write_weights(&mut self.start);
        self.course.begin_full(norms);
        let shifts = self.shifts() && self.course.is_near() && !self.start_is_zero;
        self.kinks = shifts.then(Kinks::new);
        if let Some(moments) = &mut self.dual_moments {
            moments.clear();
        }
    }

    pub(crate) fn end_full(&mut self) {
        let start = self.start_norm();
        let norms = match self.descent {
            Some(_) => self.settle_descent(),
            None => self.iterate.norms(),
        };
        let shifted = self.kinks.take().and_then(|kinks| self.better(&kinks));
        if self.course.end_full(start, shifted, norms) {
            self.take_start(shifted);
        }
    }

    /// Whether there is an intercept.
    pub(in crate::solver) fn shifts(&self) -> bool {
        self.iterate.intercept() > 0.0
    }

    /// A better intercept for the weights of the start.
    pub(in crate::solver) fn better(&self, kinks: &Kinks) -> Option<Shifted> {
        let Terms { c, squared, .. } = self.course.terms;
        let from = self.start[self.start.len() - 1].to();
        kinks.better(from, c, squared, |intercept| T::of(intercept).to())
    }

    /// The weights of the start, with their better intercept, are the best.
    pub(in crate::solver) fn take_start(&mut self, shifted: Option<Shifted>) {
        std::mem::swap(&mut self.start, &mut self.best_w);
        if let (Some(shifted), Some(intercept)) = (shifted, self.best_w.last_mut()) {
            *intercept = T::of(shifted.intercept);
        }
    }

    /// The dual at the present dual variables; None where the weights are not theirs alone.
    pub(in crate::solver) fn dual(&self) -> Option<f64> {
        let dual = || self.course.dual_at(self.iterate.norms(), self.course.sums);
        self.descent.is_none().then(dual)
    }

    pub(in crate::solver) fn start_norm(&self) -> f64 {
        self.start.iter().map(|w| w.to() * w.to()).sum()
    }

    /// Corrects kappa and moves the centre after a full pass. `metric`: what columns have just been found to call for;
    /// `mean_squares`: of the columns, where a metric may be used and they are known.
    pub(crate) fn advance(
        &mut self,
        metric: Option<&Metric>,
        mean_squares: Option<&[f32]>,
    ) -> Result<(), TrainError> {
        let own = match (&self.dual_moments, mean_squares) {
            (Some(moments), Some(squares)) => moments.metric(squares, self.iterate.intercept())?,
            _ => None,
        };
        let metric = own.as_ref().or(metric);
        match (self.course.advance(metric), metric) {
            (Shift::MoveInMetric(kappa), Some(metric)) => {
                self.iterate.move_centre_in(kappa, &metric.moment)?;
            }
            (shift, _) => self.shift(shift),
        }
        if let (None, Some(squares)) = (&self.dual_moments, mean_squares) {
            if self.course.wants_dual_metric() {
                self.dual_moments = Some(DualMoments::new(squares.len())?);
            }
        }
        Ok(())
    }

    /// Measures the shift from the start in the metric that was learned, if there is one. `mean_squares`: of the columns.
    pub(in crate::solver) fn begin_in_metric(
        &mut self,
        mean_squares: &[f32],
    ) -> Result<(), TrainError> {
        let Some(moments) = &self.dual_moments else {
            return Ok(());
        };
        if let Some(metric) = moments.metric(mean_squares, self.iterate.intercept())? {
            let kappa = self.course.begin_in_metric(&metric);
            self.iterate.stay_in(kappa, &metric.moment)?;
        }
        Ok(())
    }

    fn shift(&mut self, shift: Shift) {
        if let Shift::Move(kappa) = shift {
            self.iterate.move_centre(kappa);
        }
    }

    pub(in crate::solver) fn estimate_active(&mut self) {
        let iterate = &self.iterate;
        self.course.estimate_active(|| iterate.norms());
    }

    pub(crate) fn end_active(&mut self) {
        let shift = self.course.end_active();
        self.shift(shift);
    }

    pub(crate) fn weights(&self) -> &[T] {
        &self.best_w
    }
}

impl<T: Real> Lent<'_, T> {
    /// Lets the sums for a metric learn from a row.
    #[inline(always)]
    fn learn(&self, row: &Row<'_>, moments: &mut DualMoments) {
        moments.learn(row, self.alpha[row.ordinal()].get());
    }

    /// Lets the sums for a metric learn from the rows of these blocks.
    #[inline(always)]
    pub(in crate::solver) fn learn_blocks(&self, blocks: Blocks<'_>, moments: &mut DualMoments) {
        for place in 0..blocks.numbers.len() {
            let (first, rows) = blocks.rows(place);
            for slot in first..first + rows.count_ones() as usize {
                // the ordinal of a row of the arena is its slot
                if self.alpha[slot].get() > 0.0 {
                    self.learn(&blocks.page.peek_row(slot), moments);
                }
            }
        }
    }
}

impl<T: Real> Visitor<'_, T> {
    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    #[inline(always)]
    pub(in crate::solver) fn visit_blocks<K: Kernel, const FULL: bool>(
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
        let alpha = self.lent.alpha;
        let walk_to = |place: usize| {
            let (first, rows) = to_visit(place);
            // a line of them, which may lie across two
            prefetch(&alpha[first..], 1);
            prefetch(&alpha[first + (rows | 1).ilog2() as usize..], 1);
            (first, rows)
        };
        let two = K::TWO_ROWS && self.view.all_dense();
        let mut ahead = Ahead::new(blocks, self.view.scattered(), two, walk_to);
        let mut deferred = Deferred::NONE;
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(place);
            let mut sleeping = asleep.group(first, blocks.width);
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let row = blocks.page.peek_row(first + offset as usize);
                values += row.values();
                let next = ahead.next(walk_to);
                let mut note = |offset: u32, outcome: Outcome| {
                    sleeping = sleeping & !(1 << offset) | u32::from(outcome.sleeps) << offset;
                };
                if !two || left == 0 {
                    note(offset, self.visit::<K, FULL>(&row, next, &mut deferred));
                    continue;
                }
                let other = left.trailing_zeros();
                left &= left - 1;
                let second = blocks.page.peek_row(first + other as usize);
                values += second.values();
                let next = [next, ahead.next(walk_to)];
                let outcomes = self.visit_two::<K, FULL>([&row, &second], next, &mut deferred);
                note(offset, outcomes[0]);
                note(other, outcomes[1]);
            }
            asleep.set_group(first, blocks.width, sleeping);
        }
        self.catch_up::<K>(deferred);
        values
    }
}
