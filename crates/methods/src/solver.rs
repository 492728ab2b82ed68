//! Dual coordinate descent over rows that somebody else delivers: one or more heads, each with its own weights.
//!
//! The trainer decides which row comes next; the solver visits it. A round is
//!
//! 1. a *full* pass: every row once, training it and summing the loss at the weights of the pass's start, which gives
//!    the primal there exactly;
//! 2. perhaps a *verifying* pass, when a head seems to have arrived: v and the dual from the dual variables exactly,
//!    the primal at the newest weights;
//! 3. *active* passes over the rows that still matter.
//!
//! This module moves the heads through those passes. Their weights and dual variables are behind [`driver::Visits`];
//! what a pass means for a head is its [`HeadState`]; [`proximal::rule`] sets the strength of its proximal shift.
//!
//! | form | weights | visits | proof |
//! |---|---|---|---|
//! | [`single`]: heads by themselves | [`proximal::iterate`] | [`visit`] | [`single::verify`] |
//! | [`joint`]: many heads side by side | `joint/matrix.rs` | `joint/visit.rs`, `joint/lanes.rs` | `joint/verify.rs` |
//!
//! Rows are shown to a [`part`] of the heads, or to all of them. Several threads show parts the same rows at the same time, or
//! a team of trainers divides the rows ([`divided`]).
//!
//! [`single::pegasos`] takes the place of coordinate descent where the primal is to be solved. [`proximal::moments`] finds
//! out whether columns differ so much in scale that the shift needs a metric, [`proximal::dual_moments`] makes one from the
//! rows that hold the weights where a head does not get on, [`metric`] says when each is learned; [`sums::intercept`] finds the best intercept for weights whose
//! primal is taken.

/// Asks the holder of the heads.
macro_rules! ask {
    ($held:expr, $heads:ident => $answer:expr) => {
        match $held {
            Heads::Single($heads) => $answer,
            Heads::Joint($heads) => $answer,
        }
    };
}

pub mod averaged;
pub mod block;
pub mod bundle;
pub mod by_newton;
pub mod by_passes;
mod certificate;
pub mod constant_heads;
pub mod decided;
pub mod divided;
pub mod driver;
pub(crate) mod fixed_weights;
pub mod head_sums;
mod held_rows;
pub mod interior;
mod joint;
pub mod ledger;
mod metric;
pub mod newton;
pub mod part;
mod proximal;
pub mod recount;
pub mod scanned;
pub mod scans;
mod single;
mod sums;
#[cfg(test)]
mod tests;
pub mod visit;
pub mod weights;

use std::sync::Arc;

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory};
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::problem::Problem;
use crate::objective::report::HeadReport;
use crate::objective::solver_choice::{ForestShape, Policy};
use crate::rows::facts::Facts;
use crate::rows::filing::{FiledRows, LeftOut};
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use certificate::state::HeadState;
use driver::{Method, Visits};
use joint::groups::JointGroups;
use ledger::{Ledger, Ledgers};
use metric::ColumnScales;
use newton::choice::by_newton;
use proximal::moments::ShiftMetric;
use single::head::Head;
use single::heads::Singles;
use single::query::Query;
use single::skippable::Skippable;
use sums::tally::Sums;
use weights::{Duals, Weights};

/// Full passes that a head waits for others before it is verified without them.
const PATIENCE: u32 = 2;
/// Rows by which the share is estimated that a pass would have to read, about.
const SHARE_SAMPLE: usize = 1 << 16;

/// About the share of so many rows that are read.
fn share_of(rows: usize, is_read: impl Fn(usize) -> bool) -> f64 {
    let sample = || (0..rows).step_by(rows.div_ceil(SHARE_SAMPLE).max(1));
    let read = sample().filter(|row| is_read(*row)).count();
    read as f64 / sample().count().max(1) as f64
}

/// A walk over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Full,
    Verify { everything: bool },
    Active,
}

pub struct Solver<T> {
    heads: Heads<Singles<T>, JointGroups>,
    intercept: f64,
    /// Full passes completed.
    full_passes: u32,
    /// Full passes since a head began to wait for a verifying pass.
    waited: u32,
    /// Whether all rows are in the cache, as full passes say.
    at_hand: bool,
    /// Visits before the last active pass began.
    visits_before: u64,
    scales: ColumnScales,
    /// Whether Newton's method solves the heads now.
    by_newton: bool,
    was_by_newton: bool,
}

/// Who holds the heads' weights and dual variables.
enum Heads<S, J> {
    /// Each head by itself.
    Single(S),
    /// Side by side: a row is read once for all heads of a group.
    Joint(J),
}

impl<T: Real> Solver<T> {
    /// `together`: rows that are trained with one another between two passes over all.
    pub fn new(
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
        together: usize,
    ) -> Result<Self, OutOfMemory> {
        let intercept = problem.kind_of_intercept();
        let states = specs.iter();
        let states = states.map(|spec| {
            interrupts::check();
            HeadState::new(problem, spec, facts, (together, specs.len()))
        });
        let states = gathered(states)?;
        let by_newton = by_newton(problem, facts, specs, together);
        let one_by_one = problem.truncation().is_some()
            || problem.pegasos().is_some()
            || problem.block_newton()
            || problem.indexed()
            || problem.free_intercept()
            || by_newton;
        let heads = if !one_by_one && JointGroups::suits(&states) {
            // other schedules have one trainer
            let groups = match problem.policy() {
                Policy::Cached => problem.trainers(),
                _ => 1,
            };
            let one = intercept.constant();
            Heads::Joint(JointGroups::new(groups, specs, states, one, facts)?)
        } else {
            let mut singles = Singles::new(specs, states, intercept, facts)?;
            if problem.pegasos().is_some() {
                singles.descend(facts.rows);
            }
            Heads::Single(singles)
        };
        Ok(Self {
            heads,
            intercept: intercept.constant(),
            full_passes: 0,
            waited: 0,
            at_hand: false,
            visits_before: 0,
            scales: ColumnScales::new(facts)?,
            by_newton,
            was_by_newton: by_newton,
        })
    }

    /// Begins a head from these dual variables and weights: a verifying pass must come first. Without weights it begins at
    /// the v of the dual variables.
    pub fn set_start(&mut self, head: usize, start: Start) {
        let at_weights = start.weights.is_some();
        ask!(&mut self.heads, heads => heads.set_start(head, start));
        self.begin_elsewhere(head, at_weights);
    }

    /// Lets a head begin from dual variables, and from these weights or else the v of the dual variables.
    pub fn begin_elsewhere(&mut self, head: usize, at_weights: bool) {
        ask!(&mut self.heads, heads => heads.state_mut(head)).begin_elsewhere(at_weights);
    }

    /// Sets the dual variables of a head that begins elsewhere, of the rows from `first` on.
    pub fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        ask!(&mut self.heads, heads => heads.put_duals(head, first, duals));
    }

    /// The heads, where each is held by itself: those that several trainers can divide a pass for, and that Pegasos can
    /// train.
    pub fn singles(&self) -> Option<&Singles<T>> {
        match &self.heads {
            Heads::Single(heads) => Some(heads),
            Heads::Joint(_) => None,
        }
    }

    pub fn singles_mut(&mut self) -> Option<&mut Singles<T>> {
        match &mut self.heads {
            Heads::Single(heads) => Some(heads),
            Heads::Joint(_) => None,
        }
    }

    fn state(&self, head: usize) -> &HeadState {
        ask!(&self.heads, heads => heads.state(head))
    }

    fn states(&self) -> impl Iterator<Item = &HeadState> {
        (0..self.len()).map(|head| self.state(head))
    }

    fn each_state(&mut self, mut change: impl FnMut(&mut HeadState)) {
        for head in 0..self.len() {
            change(ask!(&mut self.heads, heads => heads.state_mut(head)));
        }
    }

    fn running(&self) -> impl Iterator<Item = &HeadState> {
        self.states().filter(|state| state.runs())
    }

    /// Whether rows may be shrunk between full passes (otherwise the caller chooses the rows by `margin`).
    pub fn let_rows_shrink(&mut self, shrinks: bool) {
        self.each_state(|state| state.let_rows_shrink(shrinks));
    }

    /// The smallest tolerance of the heads that run.
    pub fn tolerance(&self) -> f64 {
        self.running()
            .map(HeadState::tolerance)
            .fold(f64::INFINITY, f64::min)
    }

    /// The duals of the last pass, summed over the heads.
    pub fn last_dual(&self) -> f64 {
        self.states().map(HeadState::last_dual).sum()
    }

    pub fn full_passes(&self) -> u32 {
        self.full_passes
    }

    /// Bits of the rows `64 n..64 (n + 1)` in the active set of some head.
    pub fn active(&self, n: usize) -> u64 {
        ask!(&self.heads, heads => heads.active(n))
    }

    fn running_sums(&self) -> impl Iterator<Item = Sums> + '_ {
        let all = self.states().zip(self.sums());
        all.filter(|(state, _)| state.runs()).map(|(_, sums)| sums)
    }

    /// What the rows visited between full passes since the last one began have left of the subproblems' gaps.
    pub fn open(&self) -> f64 {
        self.running_sums().map(|sums| sums.open).sum()
    }

    /// The largest range of projected gradients of the active pass so far.
    pub fn violation(&self) -> f64 {
        self.running_sums().map(Sums::violation).fold(0.0, f64::max)
    }

    /// The largest magnitude of a projected gradient since the last active pass began.
    pub fn largest_gradient(&self) -> f64 {
        self.running_sums()
            .map(Sums::largest_gradient)
            .fold(0.0, f64::max)
    }

    /// What visits have summed so far for each head.
    fn sums(&self) -> impl Iterator<Item = Sums> + '_ {
        let pending = |head| ask!(&self.heads, heads => heads.pending(head));
        let states = self.states().enumerate();
        states.map(move |(head, state)| state.sums.with(pending(head)))
    }

    /// Begins a full pass. `undisturbed`: all rows are in the cache; every one is visited once, and none between.
    pub fn begin_full(&mut self, undisturbed: bool) -> Result<(), OutOfMemory> {
        self.at_hand = undisturbed;
        ask!(&mut self.heads, heads => heads.begin_full(undisturbed))
    }

    /// Ends a full pass. True when a verifying pass is due; otherwise call [`Self::advance`].
    pub fn end_full(&mut self) -> Result<bool, OutOfMemory> {
        self.full_passes += 1;
        ask!(&mut self.heads, heads => heads.end_full())?;
        let wanted = self.running().any(HeadState::wants_proof);
        let due = self.wants_proof() || (wanted && self.waited == PATIENCE);
        self.waited = if wanted && !due { self.waited + 1 } else { 0 };
        Ok(due)
    }

    /// Whether a verifying pass is due at once: nothing is trained in it, so half of the heads that run must want it, or one
    /// that cannot wait. So many heads that arrive far apart are verified in few passes; none waits longer than
    /// [`PATIENCE`]. Heads that are held together may ask for more, see [`Visits::least_wanting`].
    pub fn wants_proof(&self) -> bool {
        if self.running().any(HeadState::cannot_wait) {
            return true;
        }
        let wanting = self.running().filter(|it| it.wants_proof()).count();
        let least = ask!(&self.heads, heads => heads.least_wanting(self.at_hand));
        wanting >= least.max(1)
    }

    /// Begins a verifying pass of the heads that want one. False when rows with a = 0 need not be looked at.
    pub fn begin_verify(&mut self) -> Result<bool, OutOfMemory> {
        let (all, at_hand) = (self.scales.looks_again, self.at_hand);
        ask!(&mut self.heads, heads => heads.begin_verify(all, at_hand))
    }

    /// Rows have been filed: heads that are held by themselves remember which chunks cannot have changed.
    pub fn file(&mut self, filed: &Arc<FiledRows>) -> Result<(), OutOfMemory> {
        if let Heads::Single(singles) = &mut self.heads {
            for skippable in singles
                .heads
                .iter_mut()
                .filter_map(|it| it.skippable.as_mut())
            {
                skippable.file(filed)?;
            }
            for query in singles.heads.iter_mut().filter_map(|it| it.query.as_mut()) {
                query.file(filed)?;
            }
        }
        Ok(())
    }

    /// Has heads that are held by themselves remember which of so many rows cannot have changed.
    pub fn remember(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        // while Newton's method solves heads, it remembers
        if let (Heads::Single(singles), false) = (&mut self.heads, self.by_newton) {
            for head in &mut singles.heads {
                let skippable = Skippable::new(rows, head.start.len())?;
                head.skippable = Some(Box::new(skippable));
            }
        }
        Ok(())
    }

    /// How far a row is from mattering to any head, where it was last looked at: a file of the index.
    pub fn file_of(&self, ordinal: usize) -> u8 {
        let Heads::Single(singles) = &self.heads else {
            return 0;
        };
        let running = singles.heads.iter().filter(|head| head.state.runs());
        let code = |head: &Head<T>| match (&head.skippable, head.alpha[ordinal] > 0.0) {
            (Some(skippable), false) => skippable.code(ordinal),
            _ => 0,
        };
        running.map(code).min().unwrap_or(0)
    }

    /// The chunks that the full pass that has begun may leave out, as they are not likely to matter to any head: nothing but a verifying
    /// pass proves anything then.
    pub fn left_out_of_full(&mut self) -> Result<LeftOut, OutOfMemory> {
        let Heads::Single(singles) = &mut self.heads else {
            return Ok(LeftOut::NONE);
        };
        let mut left_out = LeftOut::ALL;
        for head in singles.running() {
            left_out.with(&head.may_leave_out_of_full()?);
        }
        Ok(left_out)
    }

    /// The full pass that has begun leaves these out. `queries`: it reads what a forest was asked for.
    pub fn leave_out_of_full(&mut self, left_out: &LeftOut, queries: bool) {
        if let Heads::Single(singles) = &mut self.heads {
            singles
                .running()
                .for_each(|head| head.leave_out_of_full(left_out, queries));
        }
    }

    /// Has heads that are held by themselves ask a metric forest for chunks.
    pub fn ask_forest(&mut self, shape: &ForestShape, rows: usize) -> Result<(), OutOfMemory> {
        if let Heads::Single(singles) = &mut self.heads {
            for head in &mut singles.heads {
                head.query = Some(Box::new(Query::new(shape, rows)?));
            }
        }
        Ok(())
    }

    /// What the heads that run ask a metric forest for, and the weights with which the full pass has begun.
    pub fn queries(&self) -> impl Iterator<Item = (&[T], &Query)> {
        let heads = match &self.heads {
            Heads::Single(singles) => &singles.heads[..],
            _ => &[],
        };
        let running = heads.iter().filter(|head| head.state.runs());
        running.filter_map(|head| Some((&head.start[..], head.query.as_deref()?)))
    }

    /// About the share of the rows that full passes to come would read, were they filed as they stand.
    pub fn share_to_read(&self, rows: usize) -> f64 {
        let Heads::Single(singles) = &self.heads else {
            return 1.0;
        };
        let running = singles.heads.iter().filter(|head| head.state.runs());
        let least = running.filter_map(|head| head.skippable.as_ref());
        let least = least
            .map(|skippable| skippable.least_code)
            .max()
            .unwrap_or(0);
        share_of(rows, |row| self.file_of(row) < least)
    }

    /// The chunks that the verifying pass that has begun leaves out: those that no head needs.
    pub fn left_out(&mut self) -> Result<LeftOut, OutOfMemory> {
        let Heads::Single(singles) = &mut self.heads else {
            return Ok(LeftOut::NONE);
        };
        // columns are learned from all rows
        let mut left_out = match self.scales.looks_again {
            true => LeftOut::NONE,
            false => LeftOut::ALL,
        };
        for head in &mut singles.heads {
            left_out.with(&head.may_leave_out()?);
        }
        for head in &mut singles.heads {
            let primal = head.proof.as_ref().is_some_and(|proof| proof.primal);
            if let Some(skippable) = &mut head.skippable {
                skippable.leave_out(&left_out, primal);
            }
        }
        Ok(left_out)
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end. True when another one is due.
    pub fn end_verify(&mut self) -> Result<bool, OutOfMemory> {
        if std::mem::take(&mut self.scales.looks_again) {
            self.begin_in_metric()?;
        }
        ask!(&mut self.heads, heads => heads.end_verify())?;
        if self.sets_out() && !self.done() {
            self.scales.looks_again = self.needs_look()?;
        }
        Ok(self.scales.looks_again || self.running().any(HeadState::asks_again))
    }

    /// Whether rows of a truncated loss have been sorted by the verifying pass that has ended.
    pub fn has_sorted(&self) -> bool {
        self.running().any(|state| state.truncated.has_sorted())
    }

    /// Whether visits put rows of a truncated loss on their sides.
    pub fn opens(&self) -> bool {
        self.running().any(|state| state.truncated.opens())
    }

    /// Corrects kappa and moves the centre after a full pass and its verification.
    pub fn advance(&mut self) -> Result<(), OutOfMemory> {
        if self.full_passes == 0 {
            return Ok(());
        }
        let metric = self.learned_metric()?;
        let knows_squares = self.scales.mean_squares.is_some();
        if let Heads::Joint(joint) = &mut self.heads {
            let unsuited = |metric: &ShiftMetric| !joint.suits_metric(metric);
            if metric.as_ref().is_some_and(unsuited) || (knows_squares && joint.is_lost()) {
                let heads = joint.part()?;
                self.heads = Heads::Single(Singles { heads });
            }
        }
        let squares = self.scales.mean_squares.as_deref();
        ask!(&mut self.heads, heads => heads.advance(metric.as_ref(), squares))
    }

    pub fn begin_active(&mut self) {
        self.visits_before = self.visits();
        ask!(&mut self.heads, heads => heads.begin_active());
    }

    /// Visits of the active pass that is at its end, a running head.
    pub fn mean_active_visits(&self) -> usize {
        let running = self.running().count().max(1) as u64;
        (self.visits() - self.visits_before) as usize / running as usize
    }

    /// How many times as long as at first active passes may go on until the next full one.
    pub fn patience(&self) -> usize {
        self.running().map(HeadState::patience).min().unwrap_or(1)
    }

    /// Whether a verifying pass is due at the end of an active pass over the whole active set.
    pub fn seems_to_arrive(&mut self) -> bool {
        ask!(&mut self.heads, heads => heads.estimate_active());
        self.wants_proof()
    }

    /// Whether heads do better to take turns in the active passes from here to the next full one; `active`: rows in
    /// some head's active set.
    pub fn better_in_turns(&self, active: usize) -> bool {
        ask!(&self.heads, heads => heads.better_in_turns(active))
    }

    pub fn end_active(&mut self) -> Result<(), OutOfMemory> {
        ask!(&mut self.heads, heads => heads.end_active())
    }
}

impl<T: Real> Ledgers for Solver<T> {
    fn len(&self) -> usize {
        ask!(&self.heads, heads => heads.len())
    }

    fn ledger(&self, head: usize) -> &Ledger {
        &self.state(head).ledger
    }

    fn ledger_mut(&mut self, head: usize) -> &mut Ledger {
        &mut ask!(&mut self.heads, heads => heads.state_mut(head)).ledger
    }

    fn weights(&self, head: usize) -> Weights<'_> {
        ask!(&self.heads, heads => heads.weights(head))
    }

    #[inline(always)]
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>) -> f32 {
        ask!(&self.heads, heads => heads.decision::<K>(head, row, self.intercept))
    }

    fn is_summed(&self, head: usize) -> bool {
        self.state(head).is_summed()
    }

    fn gap(&self) -> Option<f64> {
        let largest = || self.ledgers().map(Ledger::gap).fold(0.0, f64::max);
        let known = self.full_passes > 0 || self.known_primal().is_finite();
        (known && self.len() > 0).then(largest)
    }

    fn projected_gradient(&self) -> Option<f64> {
        self.states()
            .filter_map(HeadState::scanned)
            .reduce(f64::max)
    }

    fn dual(&mut self) -> Option<f64> {
        ask!(&mut self.heads, heads => heads.dual())
    }

    fn visits(&self) -> u64 {
        let before = self.ledgers().map(|it| it.visits);
        before.chain(self.sums().map(|sums| sums.visits)).sum()
    }

    fn updates(&self) -> u64 {
        let before = self.ledgers().map(|it| it.updates);
        before.chain(self.sums().map(|sums| sums.updates)).sum()
    }
}

impl<T: Real> Method for Solver<T> {
    fn stop(&mut self) {
        self.end_newton();
        ask!(&mut self.heads, heads => heads.end_turns());
        for head in 0..self.len() {
            if self.state(head).runs() {
                ask!(&mut self.heads, heads => {
                    heads.take_best_duals(head);
                    heads.state_mut(head).request_stop();
                });
            }
        }
    }

    fn reports(&self, rows: usize) -> impl Iterator<Item = HeadReport> + '_ {
        self.states().map(move |state| state.report(rows))
    }

    fn duals(&self, head: usize) -> Duals<'_> {
        ask!(&self.heads, heads => heads.duals(head))
    }
}
