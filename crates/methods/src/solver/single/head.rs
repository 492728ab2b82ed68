//! One binary problem: its dual variables a, its weights, and what a visit of a row does to them.
//!
//! primal  P(w) = 1/2 |w|^2 + C sum c L(y <w, x>)
//! dual    D(a) = sum a - 1/2 |v|^2 - 1/2 sum diag a^2,  v = sum a y x,  0 <= a <= upper
//!
//! [`crate::solver::visit::visitor`] visits rows; here is what happens between visits, pass by pass.

use crate::base::memory::OutOfMemory;
use crate::base::prefetch::prefetch;
use crate::base::zeros::{zeros, Lined};
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::loss::{by_loss, LossFunction};
use crate::objective::minimized::Intercept;
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::simd::{Deferred, Isa, Next, Real, Work};
use crate::solver::certificate::proof::Proof;
use crate::solver::certificate::state::{HeadState, Shift};
use crate::solver::proximal::dual_moments::DualMoments;
use crate::solver::proximal::iterate::Iterate;
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::proximal::whole::MOST_WEIGHTS;
use crate::solver::single::descent::Descent;
use crate::solver::single::query::Query;
use crate::solver::single::skippable::Skippable;
use crate::solver::sums::intercept::{Breakpoints, Shifted};
use crate::solver::sums::tally::Sums;
use crate::solver::sums::terms::Terms;
use crate::solver::visit::active::nothing_shrunk;
use crate::solver::visit::ahead::Ahead;
use crate::solver::visit::outliers::Outliers;
use crate::solver::visit::per_row::{Dual, Shrunk};
use crate::solver::visit::visitor::{between_sides, scattered, HeadView, Outcome, Visitor};

/// With fewer features a whole metric costs next to nothing.
const FEW_FEATURES: usize = 33;

/// Places of rows behind which those of their other sides come.
const FIRST_SIDES: u32 = 0x5555_5555;

/// How many times less a free intercept is pulled towards its centre where that holds it too firmly.
const LOOSER: f64 = 4.0;

pub struct Head<T> {
    pub state: HeadState,
    pub(in crate::solver) signs: Vec<i8>,
    pub alpha: Lined<f32>,
    /// Those of the best dual.
    pub(in crate::solver) best_duals: Lined<f32>,
    pub(in crate::solver) iterate: Iterate<T>,
    /// Weights at the start of the full pass, or those being verified.
    pub(in crate::solver) start: Vec<T>,
    /// Whether those are all 0.
    pub(in crate::solver) start_is_zero: bool,
    /// Weights of the best primal.
    pub(in crate::solver) best_w: Vec<T>,
    /// In a full pass, where a better intercept is found for the weights of its start, if one is looked for.
    pub(in crate::solver) breakpoints: Option<Breakpoints>,
    /// Rows that active passes leave out.
    pub shrunk: Shrunk,
    /// Rows beyond the truncation of the loss, where it is truncated.
    pub(in crate::solver) outliers: Option<Outliers>,
    /// The positive rows among those that proofs have met, where the intercept is free: dual variables are balanced by them.
    pub(in crate::solver) positive: Option<Shrunk>,
    pub(in crate::solver) proof: Option<Box<Proof>>,
    /// Where rows are filed, which of them cannot have changed since they were looked at.
    pub(in crate::solver) skippable: Option<Box<Skippable<T>>>,
    /// Where they are filed by a metric forest, what it is asked for.
    pub(in crate::solver) query: Option<Box<Query>>,
    /// What full passes learn for a metric that follows the dual variables, once there is to be one.
    pub(in crate::solver) dual_moments: Option<DualMoments>,
    /// Where Pegasos stands; None where the dual is solved.
    pub(in crate::solver) descent: Option<Descent>,
    /// Of the rows of the set by which Pegasos makes an update, how steep the loss is, where that differs.
    pub(in crate::solver) steepness: Vec<f32>,
    /// See [`HeadView::between_sides`].
    between_sides: Option<f64>,
}

impl<T: Real> Head<T> {
    pub fn new(
        spec: &HeadSpec,
        state: HeadState,
        intercept: Intercept,
        facts: &Facts,
    ) -> Result<Self, OutOfMemory> {
        let length = facts.features + 1;
        let mut state = state;
        if size_of::<T>() == size_of::<f32>() {
            state.sum_narrowly();
        }
        let mut iterate = Iterate::new((facts.features, facts.dense), intercept, state.kappa())?;
        iterate.loosen(1.0 / state.first_pull(), 0.0)?;
        Ok(Self {
            signs: spec.signs.list(facts.groups)?,
            alpha: Lined::zeros(facts.rows)?,
            best_duals: Lined::zeros(facts.rows)?,
            iterate,
            start: zeros(length)?,
            start_is_zero: true,
            best_w: zeros(length)?,
            breakpoints: None,
            shrunk: nothing_shrunk(facts.rows)?,
            positive: (intercept == Intercept::Free)
                .then(|| nothing_shrunk(facts.rows))
                .transpose()?,
            outliers: state.truncated.outliers(facts.rows)?,
            proof: None,
            skippable: None,
            query: None,
            dual_moments: None,
            descent: None,
            steepness: Vec::new(),
            between_sides: between_sides(facts),
            state,
        })
    }

    /// Sets where it begins.
    pub(in crate::solver) fn set_start(&mut self, start: Start) {
        self.alpha = Lined::as_they_lie(start.duals);
        if let Some(descent) = &mut self.descent {
            descent.go_on(start.updates);
            self.state.updates = Some(start.updates);
        }
        if let Some(weights) = &start.weights {
            self.iterate.stand_at(weights);
        }
    }

    /// u, what visits need beside it, and where full passes find a better intercept.
    #[inline(always)]
    pub(in crate::solver) fn view(
        &mut self,
    ) -> (&mut [T], HeadView<'_, T>, Option<&mut Breakpoints>) {
        let (u, form) = self.iterate.view();
        let view = HeadView {
            signs: &self.signs,
            terms: self.state.ledger.terms,
            limits: self.state.limits,
            alpha: Dual::share(&mut self.alpha),
            shrunk: &self.shrunk,
            outliers: self.outliers.as_ref(),
            positive: self.positive.as_ref(),
            start: (!self.start_is_zero).then_some(&self.start),
            form,
            between_sides: self.between_sides,
        };
        (u, view, self.breakpoints.as_mut())
    }

    /// Lets Pegasos train this head from the start.
    pub(in crate::solver) fn descend(&mut self, rows: usize) {
        self.descent = Some(Descent::new(self.state.ledger.terms.loss, rows));
    }

    /// What visits rows. Its sums go back to the state.
    #[inline(always)]
    pub(in crate::solver) fn visitor<L: LossFunction>(&mut self, loss: L) -> Visitor<'_, T, L> {
        let sums = self.state.sums;
        let (u, view, breakpoints) = self.view();
        view.visitor(loss, u, 1.0, sums, breakpoints)
    }

    /// Visits the rows of these blocks, in a full pass all and else those of the active set. Gives back the values visited.
    #[inline(always)]
    pub fn visit_blocks<K: Isa, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_, impl RowMap>,
    ) -> usize {
        if FULL {
            self.learn_blocks(blocks);
        }
        let mut sums = self.state.sums;
        let (u, view, breakpoints) = self.view();
        let values = view.visit_blocks::<K, FULL>(blocks, (u, 1.0), &mut sums, breakpoints);
        self.state.sums = sums;
        values
    }

    /// Lets the sums for a metric learn from the rows of these blocks, if there are any.
    #[inline(always)]
    pub(in crate::solver) fn learn_blocks(&mut self, blocks: Blocks<'_, impl RowMap>) {
        self.learn(|view, moments| view.learn_blocks(blocks, moments));
    }

    /// The same from one row.
    #[inline(always)]
    pub(in crate::solver) fn learn_row(&mut self, row: &Row<'_>) {
        self.learn(|view, moments| view.learn(row, moments));
    }

    #[inline(always)]
    fn learn(&mut self, from: impl FnOnce(&HeadView<'_, T>, &mut DualMoments)) {
        if let Some(mut moments) = self.dual_moments.take() {
            from(&self.view().1, &mut moments);
            self.dual_moments = Some(moments);
        }
    }

    /// A visit that also sums the loss at the weights of the pass's start.
    #[inline(always)]
    pub fn visit_full<K: Isa>(&mut self, row: &Row<'_>) -> Outcome {
        self.learn_row(row);
        let outcome = self.visit_one::<K, true>(row);
        if self.skippable.is_some() {
            self.look_from_start::<K>(row);
        }
        outcome
    }

    /// A visit between full passes.
    #[inline(always)]
    pub fn visit_active<K: Isa>(&mut self, row: &Row<'_>) -> Outcome {
        if self.shrunk.get(row.ordinal()) {
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
        let (u, view, _) = self.view();
        view.ask::<FULL>(row.sparse(), u);
    }

    #[inline(always)]
    fn visit_one<K: Isa, const FULL: bool>(&mut self, row: &Row<'_>) -> Outcome {
        K::apart(VisitOne::<T, FULL> { head: self, row })
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        by_loss!(self.state.ledger.terms.loss, loss => {
            let mut visitor = self.visitor(loss);
            visitor.measure::<K>(row);
            self.state.sums = visitor.sums;
        });
    }

    pub fn begin_full(&mut self) {
        let norms = self.iterate.norms();
        self.start_is_zero = norms.w == 0.0 && norms.multiplier == 0.0;
        self.iterate.write_weights(&mut self.start);
        self.state.begin_full(norms);
        if let (true, Some(outliers)) = (self.state.truncated.opens(), &mut self.outliers) {
            outliers.line = self.state.truncated.line_of_visits();
        }
        let shifts = self.shifts() && self.state.is_near() && !self.start_is_zero;
        self.breakpoints = shifts.then(Breakpoints::new);
        if let Some(moments) = &mut self.dual_moments {
            moments.clear();
        }
    }

    pub fn end_full(&mut self) {
        let start = self.start_norm();
        if let Some(skippable) = &self.skippable {
            let free = skippable.free_left_out();
            let full = &mut self.state.sums.full;
            (full.rows, full.correct) = (full.rows + free, full.correct + free);
        }
        let norms = match self.descent {
            Some(_) => self.settle_descent(),
            None => self.iterate.norms(),
        };
        let shifted = self
            .breakpoints
            .take()
            .and_then(|breakpoints| self.better(&breakpoints));
        if let (Some(query), true) = (&mut self.query, self.state.queries) {
            self.state.finds_more = query.end();
        }
        let better = match self.state.queries {
            true => self.state.end_query(norms),
            false => self.state.end_full(start, shifted, norms),
        };
        if better.weights {
            self.take_start(shifted);
        }
        if let Some(shrink) = better.duals {
            // those of a free intercept are balanced when they are proved
            self.keep_best_duals([shrink * self.feasible_share(); 2]);
        }
    }

    /// It has ended: with the best constant decision, where no weights are better.
    pub(in crate::solver) fn end(&mut self) {
        if let Some(intercept) = self.state.ledger.constant() {
            self.best_w.fill(T::of(0.0));
            if let Some(last) = self.best_w.last_mut() {
                *last = T::of(intercept);
            }
        }
    }

    /// It has ended with a constant decision, and these weights stand in its place.
    pub(in crate::solver) fn put_apart(&mut self, weights: Vec<T>) {
        self.best_w = weights;
    }

    /// The dual variables, multiplied by these factors of negative and of positive rows, are the best from now on.
    pub(in crate::solver) fn keep_best_duals(&mut self, factors: [f64; 2]) {
        self.best_duals.copy_from_slice(&self.alpha);
        scale_sides(&mut self.best_duals, factors, self.positive.as_ref());
    }

    /// Multiplies the dual variables of negative and of positive rows by these.
    pub(in crate::solver) fn balance_duals(&mut self, factors: [f64; 2]) {
        scale_sides(&mut self.alpha, factors, self.positive.as_ref());
    }

    /// Puts the best dual variables in the place of the present ones, multiplied by these factors, and these in theirs.
    pub(in crate::solver) fn exchange_duals(&mut self, factors: [f64; 2]) {
        scale_sides(&mut self.alpha, factors, self.positive.as_ref());
        std::mem::swap(&mut self.alpha, &mut self.best_duals);
    }

    /// Whether better intercepts are looked for: not of truncated losses, as rows are outliers or not at the weights as they are, and not
    /// where rows are left out, of which nobody knows where a better intercept puts them.
    pub(in crate::solver) fn shifts(&self) -> bool {
        self.iterate.intercept() > 0.0 && self.outliers.is_none() && self.skippable.is_none()
    }

    /// A better intercept for the weights of the start.
    pub(in crate::solver) fn better(&self, breakpoints: &Breakpoints) -> Option<Shifted> {
        let Terms { c, loss, .. } = self.state.ledger.terms;
        let from = self.start[self.start.len() - 1].to();
        let loss = (loss, self.iterate.frees_intercept());
        breakpoints.better(from, c, loss, |intercept| T::of(intercept).to())
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
        let dual = || self.state.dual_at(self.iterate.norms(), self.state.sums);
        self.descent.is_none().then(dual)
    }

    /// |w|^2 of the weights of the start, without a free intercept.
    pub(in crate::solver) fn start_norm(&self) -> f64 {
        let counted = self.start.len() - usize::from(self.iterate.frees_intercept());
        self.start[..counted].iter().map(|w| w.to() * w.to()).sum()
    }

    /// Corrects kappa and moves the centre after a full pass. `metric`: what columns have just been found to call for;
    /// `mean_squares`: of the columns, where a metric may be used and they are known.
    pub fn advance(
        &mut self,
        metric: Option<&ShiftMetric>,
        mean_squares: Option<&[f32]>,
    ) -> Result<(), OutOfMemory> {
        let own = match (&self.dual_moments, mean_squares) {
            (Some(moments), Some(squares)) => moments.metric(squares, self.iterate.intercept())?,
            _ => None,
        };
        let metric = own.as_ref().or(metric);
        match (self.state.advance(metric), metric) {
            (Shift::MoveInMetric(kappa), Some(metric)) => {
                self.iterate.move_centre_in(kappa, metric)?;
            }
            (shift, _) => self.shift(shift)?,
        }
        if self.iterate.frees_intercept() && self.state.holds_intercept(self.iterate.unbalanced()) {
            self.iterate.loosen(LOOSER, self.state.least_pull())?;
        }
        if let (None, Some(squares)) = (&self.dual_moments, mean_squares) {
            let wants = match self.outliers {
                Some(_) => self.rounds_want_metric(squares.len()),
                None => self.state.wants_dual_metric(),
            };
            if wants {
                self.dual_moments = Some(DualMoments::new(squares.len())?);
            }
        }
        Ok(())
    }

    /// Whether the rounds of a truncated loss are spared passes by a metric that follows the dual variables, as it follows the rows
    /// that are left. A whole one of many features takes longer than that.
    fn rounds_want_metric(&self, features: usize) -> bool {
        self.state.may_shift() && !(FEW_FEATURES..MOST_WEIGHTS).contains(&features)
    }

    /// Measures the shift from the start in the metric that was learned, if there is one. `mean_squares`: of the columns.
    pub(in crate::solver) fn begin_in_metric(
        &mut self,
        mean_squares: &[f32],
    ) -> Result<(), OutOfMemory> {
        let Some(moments) = &self.dual_moments else {
            return Ok(());
        };
        if let Some(metric) = moments.metric(mean_squares, self.iterate.intercept())? {
            let kappa = self.state.begin_in_metric(&metric);
            self.iterate.stay_in(kappa, &metric.moment)?;
        }
        Ok(())
    }

    fn shift(&mut self, shift: Shift) -> Result<(), OutOfMemory> {
        match shift {
            Shift::Move(kappa) => self.iterate.move_centre(kappa),
            _ => Ok(()),
        }
    }

    pub(in crate::solver) fn estimate_active(&mut self) {
        let iterate = &self.iterate;
        self.state.estimate_active(|| iterate.norms());
    }

    pub fn end_active(&mut self) -> Result<(), OutOfMemory> {
        let shift = self.state.end_active();
        self.shift(shift)
    }

    pub fn weights(&self) -> &[T] {
        &self.best_w
    }
}

/// Multiplies dual variables, those of negative rows and those of positive ones.
fn scale_sides(alpha: &mut [f32], factors: [f64; 2], positive: Option<&Shrunk>) {
    match (factors, positive) {
        ([1.0, 1.0], _) => {}
        ([negative, positive], Some(rows)) if negative != positive => {
            for (row, alpha) in alpha.iter_mut().enumerate() {
                let factor = factors[usize::from(rows.get(row))];
                *alpha = (f64::from(*alpha) * factor) as f32;
            }
        }
        ([factor, _], _) => scale(alpha, factor),
    }
}

/// Multiplies dual variables.
pub(in crate::solver) fn scale(alpha: &mut [f32], factor: f64) {
    for alpha in alpha {
        *alpha = (f64::from(*alpha) * factor) as f32;
    }
}

/// The work of [`Head::visit_one`].
struct VisitOne<'a, T, const FULL: bool> {
    head: &'a mut Head<T>,
    row: &'a Row<'a>,
}

impl<T: Real, const FULL: bool> Work for VisitOne<'_, T, FULL> {
    type Output = Outcome;

    #[inline(always)]
    fn run<K: Isa>(self) -> Outcome {
        let mut sums = self.head.state.sums;
        let (u, view, breakpoints) = self.head.view();
        let outcome = view.visit_one::<K, FULL>(self.row, (u, 1.0), &mut sums, breakpoints);
        self.head.state.sums = sums;
        outcome
    }
}

/// The work of [`HeadView::visit_blocks`].
struct VisitBlocks<'a, T, M, const FULL: bool> {
    head: HeadView<'a, T>,
    blocks: Blocks<'a, M>,
    at: (&'a mut [T], f64),
    sums: &'a mut Sums,
    breakpoints: Option<&'a mut Breakpoints>,
}

impl<T: Real, M: RowMap, const FULL: bool> Work for VisitBlocks<'_, T, M, FULL> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let (head, (u, sigma)) = (self.head, self.at);
        by_loss!(head.terms.loss, loss => {
            let mut visitor = head.visitor(loss, u, sigma, *self.sums, self.breakpoints);
            let values = match head.form.whole {
                Some(_) => visitor.visit_blocks::<K, FULL, true>(self.blocks),
                None => visitor.visit_blocks::<K, FULL, false>(self.blocks),
            };
            *self.sums = visitor.sums;
            values
        })
    }
}

impl<T: Real> HeadView<'_, T> {
    /// Visits a row by itself, at this u, which moves sigma times as far as the dual variable says.
    #[inline(always)]
    pub(in crate::solver) fn visit_one<K: Isa, const FULL: bool>(
        self,
        row: &Row<'_>,
        (u, sigma): (&mut [T], f64),
        sums: &mut Sums,
        breakpoints: Option<&mut Breakpoints>,
    ) -> Outcome {
        by_loss!(self.terms.loss, loss => {
            let mut visitor = self.visitor(loss, u, sigma, *sums, breakpoints);
            let mut deferred = Deferred::NONE;
            let outcome = visitor.visit::<K, FULL>(row, Next::NONE, &mut deferred);
            visitor.catch_up::<K>(deferred);
            visitor.head.shrunk.set(row.ordinal(), outcome.shrinks);
            *sums = visitor.sums;
            outcome
        })
    }

    /// Visits the rows of these blocks, in a full pass all and else those of the active set. Gives back the values visited.
    #[inline(always)]
    pub(in crate::solver) fn visit_blocks<K: Isa, const FULL: bool>(
        self,
        blocks: Blocks<'_, impl RowMap>,
        (u, sigma): (&mut [T], f64),
        sums: &mut Sums,
        breakpoints: Option<&mut Breakpoints>,
    ) -> usize {
        K::apart(VisitBlocks::<T, _, FULL> {
            head: self,
            blocks,
            at: (u, sigma),
            sums,
            breakpoints,
        })
    }

    /// Lets the sums for a metric learn from a row.
    #[inline(always)]
    pub(in crate::solver) fn learn(&self, row: &Row<'_>, moments: &mut DualMoments) {
        moments.learn(row, self.alpha[row.ordinal()].get());
    }

    /// Lets the sums for a metric learn from the rows of these blocks.
    #[inline(always)]
    pub(in crate::solver) fn learn_blocks(
        &self,
        blocks: Blocks<'_, impl RowMap>,
        moments: &mut DualMoments,
    ) {
        for place in 0..blocks.numbers.len() {
            let (first, rows) = blocks.rows(place);
            for slot in first..first + rows.count_ones() as usize {
                // the ordinal of a row of the arena is its slot
                if self.alpha[slot].get() > 0.0 {
                    self.learn(&blocks.page.row(slot), moments);
                }
            }
        }
    }
}

impl<T: Real, L: LossFunction> Visitor<'_, T, L> {
    /// See [`HeadView::visit_blocks`]; of a head whose metric is `WHOLE`, or is not.
    #[inline(always)]
    fn visit_blocks<K: Isa, const FULL: bool, const WHOLE: bool>(
        &mut self,
        blocks: Blocks<'_, impl RowMap>,
    ) -> usize {
        let shrunk = self.head.shrunk;
        let to_visit = |place: usize| {
            let (first, all) = blocks.rows(place);
            let left = if FULL {
                all
            } else {
                all & !shrunk.group(first, blocks.width)
            };
            (first, left)
        };
        let between = self.head.between_sides.filter(|_| !WHOLE);
        // those behind which their other side comes
        let firsts = |rows: u32| match between {
            Some(_) => rows & rows >> 1 & FIRST_SIDES,
            None => 0,
        };
        let alpha = self.head.alpha;
        let walk_to = |place: usize| {
            let (first, rows) = to_visit(place);
            let rows = rows & !(firsts(rows) << 1);
            // a line of them, which may lie across two
            prefetch(&alpha[first..], 1);
            prefetch(&alpha[first + (rows | 1).ilog2() as usize..], 1);
            (first, rows)
        };
        let two = K::TWO_ROWS && self.view.all_dense() && !WHOLE && between.is_none();
        let mut ahead = Ahead::new(blocks.stored(), self.view.scattered(), two, walk_to);
        let mut deferred = Deferred::NONE;
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(place);
            let mut bits = shrunk.group(first, blocks.width);
            let mut note = |offset: u32, outcome: Outcome| {
                bits = bits & !(1 << offset) | u32::from(outcome.shrinks) << offset;
            };
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let row = blocks.page.row(first + offset as usize);
                values += row.values();
                let next = ahead.next(walk_to);
                if let (Some(between), true) =
                    (between, firsts(left | 1 << offset) >> offset & 1 != 0)
                {
                    if self.has_both_sides(&row) {
                        left &= left - 1;
                        values += row.values();
                        let row = (&row, between);
                        let outcomes = self.visit_sides::<K, FULL>(row, next, &mut deferred);
                        note(offset, outcomes[0]);
                        note(offset + 1, outcomes[1]);
                        continue;
                    }
                }
                if !two || left == 0 {
                    let outcome = match self.view.form.whole {
                        Some(whole) if WHOLE => {
                            self.visit_in_whole::<K, FULL>(&row, whole, &mut deferred)
                        }
                        _ => self.visit_by_columns::<K, FULL>(&row, next, &mut deferred),
                    };
                    note(offset, outcome);
                    continue;
                }
                let other = left.trailing_zeros();
                left &= left - 1;
                let second = blocks.page.row(first + other as usize);
                values += second.values();
                let (rows, next) = ([&row, &second], [next, ahead.next(walk_to)]);
                if self.go_together(rows) {
                    let outcomes = self.visit_two::<K, FULL>(rows, next, &mut deferred);
                    note(offset, outcomes[0]);
                    note(other, outcomes[1]);
                    continue;
                }
                let offsets = [offset, other];
                let mut at = 0;
                while at < 2 {
                    let (row, next) = (rows[at], next[at]);
                    let outcome = self.visit_by_columns::<K, FULL>(row, next, &mut deferred);
                    note(offsets[at], outcome);
                    at += 1;
                }
            }
            shrunk.set_group(first, blocks.width, bits);
        }
        self.catch_up::<K>(deferred);
        values
    }
}
