//! What schedules for streamed rows have in common. A pass of the reader is a full or a verifying pass of the solver. Each row is visited,
//! measured or checked once, when it arrives.

use crate::base::step::Step;
use crate::cache::{Consumer, Ends, RingBatch};
use crate::rows::batch::Batch;
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedRows};
use crate::screening::slack::Metric;
use crate::simd::{Isa, Real};
use crate::solver::driver::{Method, TakesRows};
use crate::solver::scans::ScanRows;
use crate::solver::{Pass, Solver};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log, Moment};
use crate::training::schedule::interface::Schedule;
use crate::training::schedule::sharing::{Portion, Share};
use crate::training::schedule::survey::Sample;
use crate::training::schedule::working_set::GROUP;
use crate::training::tallies::Tallies;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) enum StreamedPass {
    Full,
    Verify,
}

impl StreamedPass {
    /// What it is to the solver.
    pub(in crate::training) fn of_solver(self) -> Pass {
        match self {
            Self::Full => Pass::Full,
            Self::Verify => Pass::Verify { everything: true },
        }
    }
}

/// What the cache holds when something ends.
#[derive(Clone, Copy)]
pub(in crate::training) struct Held {
    pub(in crate::training) rows: u64,
    /// Rows dropped so far.
    pub(in crate::training) evictions: u64,
}

/// A solver, and where it is in its passes.
pub(in crate::training) struct Passes<T> {
    pub(in crate::training) solver: Solver<T>,
    pub(in crate::training) current: StreamedPass,
    /// Passes begun.
    pub(in crate::training) begun: u32,
    /// Rows of the current pass that have come.
    pub(in crate::training) rows: usize,
    /// Rows of the passes before, where they arrive.
    rows_before: u64,
    /// Where rows arrive for each pass anew, the values of a step; None where they are all at hand.
    portion: Option<usize>,
    /// Rows of the first pass that are kept, where that is wanted.
    pub(in crate::training) sample: Option<Sample>,
    pub(in crate::training) log: Log,
}

impl<T: Real> Passes<T> {
    /// Begins the first pass. `portion`: where rows arrive for each pass anew, the values of a step.
    pub(in crate::training) fn begin(
        solver: Solver<T>,
        portion: Option<usize>,
        log: Log,
    ) -> Result<Self, TrainError> {
        let mut this = Self {
            solver,
            current: StreamedPass::Full,
            begun: 0,
            rows: 0,
            rows_before: 0,
            portion,
            sample: None,
            log,
        };
        this.begin_first()?;
        Ok(this)
    }

    /// Begins the first pass of its heads.
    pub(in crate::training) fn begin_first(&mut self) -> Result<(), TrainError> {
        self.begin_next();
        self.current = if self.solver.by_newton() {
            StreamedPass::Full
        } else if self.solver.wants_proof() {
            self.solver.begin_verify()?;
            StreamedPass::Verify
        } else {
            self.solver.begin_full(false)?;
            StreamedPass::Full
        };
        Ok(())
    }

    /// Begins a pass of the reader.
    pub(in crate::training) fn begin_next(&mut self) {
        self.begun += 1;
        self.rows_before += std::mem::take(&mut self.rows) as u64;
    }

    /// Has rows of a batch kept, if they come in the first pass.
    pub(in crate::training) fn keep(&mut self, words: &[u32], dense: usize) {
        if let (Some(sample), 1) = (&mut self.sample, self.begun) {
            sample.take(words, dense);
        }
    }

    /// Notes in the log what has just ended.
    pub(in crate::training) fn note(&mut self, (event, block): (Event, Option<u32>), held: Held) {
        let moment = Moment {
            event,
            pass: self.begun,
            block,
            rows_streamed: match self.portion {
                Some(_) => self.rows_before + self.rows as u64,
                None => 0,
            },
            cache_rows: held.rows,
            evictions: held.evictions,
        };
        self.log.note(&mut self.solver, moment);
    }

    /// Ends the pass and begins the next one, unless training has ended.
    pub(in crate::training) fn end(&mut self, held: Held) -> Result<(), TrainError> {
        let (event, due) = match self.current {
            StreamedPass::Full => (Event::Pass, self.solver.end_full()?),
            StreamedPass::Verify => (Event::Verify, self.solver.end_verify()?),
        };
        self.note((event, None), held);
        self.rows_before += std::mem::take(&mut self.rows) as u64;
        if due {
            self.solver.begin_verify()?;
            self.current = StreamedPass::Verify;
            self.begun += 1;
            return Ok(());
        }
        if self.solver.done() {
            return Ok(());
        }
        self.solver.advance()?;
        self.solver.begin_full(false)?;
        self.current = StreamedPass::Full;
        self.begun += 1;
        Ok(())
    }

    /// The values of a step that may take so many.
    fn step_of(&self, budget_values: usize) -> usize {
        let most = self.portion.unwrap_or(usize::MAX);
        budget_values.min(most).max(1)
    }

    /// Has rows taken in that arrive in a pass in which nothing is trained, batch after batch; `Done` behind the last row.
    pub(in crate::training) fn read(
        &mut self,
        consumer: &mut Consumer,
        dense: usize,
        sums: &mut dyn ScanRows<Solver<T>>,
        budget_values: usize,
    ) -> Step {
        let (mut left, mut moved) = (self.step_of(budget_values), false);
        while left > 0 {
            let Some(batch) = consumer.front() else {
                return if moved { Step::Progress } else { Step::Blocked };
            };
            let rows = VisitedRows::Batch {
                batch: VisitedBatch::as_stored(Batch::new(batch.words, dense)),
                count: &mut self.rows,
            };
            let values = sums.scan(&self.solver, rows);
            let last = batch.ends == Ends::Pass;
            consumer.release();
            if last {
                return Step::Done;
            }
            moved = true;
            left = left.saturating_sub(values);
        }
        Step::Progress
    }
}

/// A schedule for rows that come pass by pass: what is left to say of it as a [`Schedule`].
pub(in crate::training) trait InPasses: Send {
    /// Of the weights.
    type Number: Real;

    fn passes(&self) -> &Passes<Self::Number>;
    fn passes_mut(&mut self) -> &mut Passes<Self::Number>;

    /// As [`Schedule::step`].
    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError>;

    /// Makes other heads ready for their first pass, and begins anew when that has begun.
    fn suit(&self, solver: &mut Solver<Self::Number>);
    fn begin_anew(&mut self) -> Result<(), TrainError>;

    /// As [`Schedule::begin_reading`].
    fn begin_scan(&mut self) {}

    /// As [`Schedule::read`].
    fn scan(&mut self, sums: &mut dyn ScanRows<Solver<Self::Number>>, budget_values: usize)
        -> Step;

    /// What the cache holds.
    fn kept(&self) -> Tallies;

    /// As [`Schedule::metrics`].
    fn learned_metrics(&self) -> Vec<Metric> {
        Vec::new()
    }
}

/// Advances until about so many values are used up, or where rows arrive a part of the ring, training has ended or there is
/// nothing to be done: `advance` gets the values left and gives back those it took, None where it must wait.
pub(in crate::training) fn train_by<S: InPasses>(
    this: &mut S,
    budget_values: usize,
    mut advance: impl FnMut(&mut S, usize) -> Result<Option<usize>, TrainError>,
) -> Result<Step, TrainError> {
    let mut left = this.passes().step_of(budget_values);
    let mut moved = false;
    while left > 0 {
        if this.passes().solver.done() {
            return Ok(Step::Done);
        }
        let Some(values) = advance(this, left)? else {
            return Ok(if moved { Step::Progress } else { Step::Blocked });
        };
        moved = true;
        left = left.saturating_sub(values.max(1));
    }
    Ok(Step::Progress)
}

impl<S: InPasses> Schedule<S::Number> for S {
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        self.train(budget_values)
    }

    fn begin_reading(&mut self, counts: bool) {
        let passes = self.passes_mut();
        passes.begun += u32::from(counts);
        passes.rows = 0;
        self.begin_scan();
    }

    fn read(&mut self, sums: &mut dyn ScanRows<Solver<S::Number>>, budget_values: usize) -> Step {
        self.scan(sums, budget_values)
    }

    fn restart(&mut self, mut solver: Solver<S::Number>) -> Result<(), TrainError> {
        self.suit(&mut solver);
        self.passes_mut().solver = solver;
        self.passes_mut().begin_first()?;
        self.begin_anew()
    }

    fn keep_sample(&mut self, sample: Sample) {
        self.passes_mut().sample = Some(sample);
    }

    fn sample(&self) -> Option<&Sample> {
        self.passes().sample.as_ref()
    }

    fn metrics(&self) -> Result<Vec<Metric>, TrainError> {
        Ok(self.learned_metrics())
    }

    fn solver(&self) -> &Solver<S::Number> {
        &self.passes().solver
    }

    fn solver_mut(&mut self) -> &mut Solver<S::Number> {
        &mut self.passes_mut().solver
    }

    fn log(&self) -> &Log {
        &self.passes().log
    }

    fn log_mut(&mut self) -> &mut Log {
        &mut self.passes_mut().log
    }

    fn tallies(&self) -> Tallies {
        Tallies {
            passes: self.passes().begun,
            rows_into_pass: self.passes().rows as u64,
            ..self.kept()
        }
    }
}

/// What is found of a fresh row: whether it is worth keeping.
pub(in crate::training) const KEEP: u8 = 0;
const DROP: u8 = 1;

/// The rows of some batches, visited, measured or checked once each.
pub(in crate::training) struct Fresh<'a> {
    pub(in crate::training) batches: &'a [RingBatch<'a>],
    pub(in crate::training) dense: usize,
    pub(in crate::training) margin: f64,
    pub(in crate::training) pass: StreamedPass,
    /// Whether rows of a full pass are visited, not only measured.
    pub(in crate::training) visits: bool,
}

impl Fresh<'_> {
    /// The rows of a batch.
    #[inline(always)]
    fn rows_of<'b>(&self, batch: &RingBatch<'b>) -> VisitedBatch<'b> {
        VisitedBatch::as_stored(Batch::new(batch.words, self.dense))
    }

    #[inline(always)]
    fn show_one<K: Isa>(&self, to: &mut impl TakesRows, row: &Row<'_>) -> u8 {
        let keep = match self.pass {
            StreamedPass::Full if !self.visits => {
                to.measure::<K>(row);
                true
            }
            StreamedPass::Full => to.visit_full::<K>(row, self.margin),
            StreamedPass::Verify => {
                to.check::<K>(row);
                false
            }
        };
        match keep {
            true => KEEP,
            false => DROP,
        }
    }
}

impl Portion for Fresh<'_> {
    fn rows(&self) -> usize {
        let rows = |batch| self.rows_of(batch).count();
        self.batches.iter().map(rows).sum()
    }

    #[inline(always)]
    fn show<K: Isa>(&self, to: &mut impl TakesRows, share: Share, found: &mut Vec<u8>) {
        let scattered = to.scattered() && self.pass == StreamedPass::Full;
        let mut number = 0;
        for batch in self.batches {
            let mut rows = self.rows_of(batch);
            while let Some(row) = rows.next() {
                let group = number / GROUP;
                number += 1;
                if !share.has(group) {
                    continue;
                }
                if let (true, Some(next)) = (scattered && share.has(number / GROUP), rows.peek()) {
                    to.ask::<true>(&next);
                }
                found.push(self.show_one::<K>(to, &row));
            }
        }
    }
}
