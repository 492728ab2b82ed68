//! What the schedules for rows that arrive have in common: a pass of the reader is a full pass of the solver, or
//! one that verifies, and each row is visited, measured or checked once when it comes.

use crate::base::step::Step;
use crate::cache::{Consumer, Ends};
use crate::rows::batch::Batch;
use crate::rows::visited::{VisitedBatch, VisitedRows};
use crate::simd::{Isa, Real, Work};
use crate::solver::driver::Method;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::task::problem::Policy;
use crate::training::error::TrainError;
use crate::training::log::{Event, Log, Moment};
use crate::training::schedule::survey::Sample;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) enum StreamedPass {
    Full,
    Verify,
}

/// What the cache holds when something ends.
#[derive(Clone, Copy)]
pub(in crate::training) struct Held {
    pub(in crate::training) rows: u64,
    /// Rows dropped so far.
    pub(in crate::training) evictions: u64,
}

/// Where the training is in its passes.
pub(in crate::training) struct Passes {
    pub(in crate::training) current: StreamedPass,
    /// Passes begun.
    pub(in crate::training) begun: u32,
    /// Rows of the current pass that have come.
    pub(in crate::training) rows: usize,
    /// Rows of the passes before, where they arrive.
    rows_before: u64,
    streams: bool,
    /// Rows of the first pass that are kept, where that is wanted.
    pub(in crate::training) sample: Option<Sample>,
    pub(in crate::training) log: Log,
}

impl Passes {
    /// Begins the first pass. `streams`: rows arrive for each pass anew.
    pub(in crate::training) fn begin<T: Real>(
        solver: &mut Solver<T>,
        streams: bool,
        log: Log,
    ) -> Result<Self, TrainError> {
        let mut this = Self {
            current: StreamedPass::Full,
            begun: 0,
            rows: 0,
            rows_before: 0,
            streams,
            sample: None,
            log,
        };
        this.restart(solver)?;
        Ok(this)
    }

    /// Begins the first pass of other heads.
    pub(in crate::training) fn restart<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
    ) -> Result<(), TrainError> {
        self.begun += 1;
        self.rows_before += std::mem::take(&mut self.rows) as u64;
        self.current = if solver.wants_proof() {
            solver.begin_verify()?;
            StreamedPass::Verify
        } else {
            solver.begin_full(false)?;
            StreamedPass::Full
        };
        Ok(())
    }

    /// Begins to read every row once, nothing being trained.
    pub(in crate::training) fn begin_reading(&mut self, counts: bool) {
        self.begun += u32::from(counts);
        self.rows = 0;
    }

    /// Has rows of a batch kept, if they come in the first pass.
    pub(in crate::training) fn keep(&mut self, words: &[u32], dense: usize) {
        if let (Some(sample), 1) = (&mut self.sample, self.begun) {
            sample.take(words, dense);
        }
    }

    /// Notes in the log what has just ended.
    pub(in crate::training) fn note<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        (event, block): (Event, Option<u32>),
        held: Held,
    ) {
        let moment = Moment {
            event,
            pass: self.begun,
            block,
            rows_streamed: match self.streams {
                true => self.rows_before + self.rows as u64,
                false => 0,
            },
            cache_rows: held.rows,
            evictions: held.evictions,
        };
        self.log.note(solver, moment);
    }

    /// Ends the pass and begins the next one, unless training has ended.
    pub(in crate::training) fn end<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        held: Held,
    ) -> Result<(), TrainError> {
        let (event, due) = match self.current {
            StreamedPass::Full => (Event::Pass, solver.end_full()),
            StreamedPass::Verify => (Event::Verify, solver.end_verify()?),
        };
        self.note(solver, (event, None), held);
        self.rows_before += std::mem::take(&mut self.rows) as u64;
        if due {
            solver.begin_verify()?;
            self.current = StreamedPass::Verify;
            self.begun += 1;
            return Ok(());
        }
        if solver.done() {
            return Ok(());
        }
        solver.advance()?;
        solver.begin_full(false)?;
        self.current = StreamedPass::Full;
        self.begun += 1;
        Ok(())
    }
}

/// Has rows read that arrive in a pass in which nothing is trained, batch after batch, at this method's weights; `Done` behind
/// the last row.
pub(in crate::training) fn read_as_they_arrive<M>(
    consumer: &mut Consumer,
    dense: usize,
    passes: &mut Passes,
    method: &M,
    sums: &mut dyn ScanRows<M>,
    budget_values: usize,
) -> Step {
    let (mut left, mut moved) = (budget_values, false);
    while left > 0 {
        let Some(batch) = consumer.front() else {
            return if moved { Step::Progress } else { Step::Blocked };
        };
        let rows = VisitedRows::Batch {
            batch: VisitedBatch::as_stored(Batch::new(batch.words, dense)),
            count: &mut passes.rows,
        };
        let values = sums.scan(method, rows);
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

/// The rows of a batch, visited, measured or checked once each.
pub(in crate::training) struct Fresh<'a, T> {
    pub(in crate::training) solver: &'a mut Solver<T>,
    pub(in crate::training) rows: VisitedBatch<'a>,
    pub(in crate::training) margin: f64,
    pub(in crate::training) pass: StreamedPass,
    pub(in crate::training) policy: Policy,
    /// For each row, whether it is worth keeping.
    pub(in crate::training) keep: &'a mut Vec<bool>,
}

impl<T: Real> Work for Fresh<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let scattered = self.solver.scattered() && self.pass == StreamedPass::Full;
        let mut rows = self.rows;
        while let Some(row) = rows.next() {
            if let (true, Some(next)) = (scattered, rows.peek()) {
                self.solver.ask::<true>(&next);
            }
            let keep = match self.pass {
                StreamedPass::Full if self.policy == Policy::Paper => {
                    self.solver.measure::<K>(&row);
                    true
                }
                StreamedPass::Full => self.solver.visit_full::<K>(&row, self.margin),
                StreamedPass::Verify => {
                    self.solver.check::<K>(&row);
                    false
                }
            };
            self.keep.push(keep);
        }
    }
}
