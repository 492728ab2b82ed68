//! What the schedules for rows that arrive have in common: a pass of the reader is a full pass of the solver, or
//! one that verifies, and each row is visited, measured or checked once when it comes.

use crate::cache::{Consumer, Ends};
use crate::rows::row::Row;
use crate::simd::{Kernel, Level, Real, Work};
use crate::solver::Solver;
use crate::task::problem::Policy;
use crate::training::held_out::{Decide, HeldOut};
use crate::training::log::{Event, Log, Moment};
use crate::training::TrainError;
use crate::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) enum Pass {
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
    pub(in crate::training) current: Pass,
    /// Passes begun.
    pub(in crate::training) begun: u32,
    /// Rows of the current pass that have come.
    pub(in crate::training) rows: usize,
    /// Rows of the passes before, where they arrive.
    rows_before: u64,
    streams: bool,
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
            current: Pass::Full,
            begun: 0,
            rows: 0,
            rows_before: 0,
            streams,
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
            Pass::Verify
        } else {
            solver.begin_full(false)?;
            Pass::Full
        };
        Ok(())
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
        let ended = self.current;
        let event = match ended {
            Pass::Full => Event::Pass,
            Pass::Verify => Event::Verify,
        };
        let due = match ended {
            Pass::Full => solver.end_full(),
            Pass::Verify => solver.end_verify()?,
        };
        self.note(solver, (event, None), held);
        self.rows_before += std::mem::take(&mut self.rows) as u64;
        if due {
            solver.begin_verify()?;
            self.current = Pass::Verify;
            self.begun += 1;
            return Ok(());
        }
        if solver.done() {
            return Ok(());
        }
        solver.advance()?;
        solver.begin_full(false)?;
        self.current = Pass::Full;
        self.begun += 1;
        Ok(())
    }
}

/// Has rows decided that arrive in a pass of their own; `Done` behind the last.
pub(in crate::training) fn decide<T: Real>(
    consumer: &mut Consumer,
    (solver, dense): (&Solver<T>, usize),
    (held_out, passes): (&mut HeldOut, &mut Passes),
    budget_values: usize,
) -> Step {
    let level = Level::best();
    let rows = |rows: Arrived<'_>| {
        level.run(Decide {
            solver,
            rows,
            held_out,
        })
    };
    as_they_arrive(consumer, dense, passes, budget_values, rows)
}

/// The rows of a batch.
pub(in crate::training) struct Arrived<'a> {
    rest: &'a [u32],
    dense: usize,
    /// How many have been looked at.
    count: &'a mut usize,
}

impl<'a> Arrived<'a> {
    /// Those in these words.
    pub(in crate::training) fn of(words: &'a [u32], dense: usize, count: &'a mut usize) -> Self {
        Self {
            rest: words,
            dense,
            count,
        }
    }
}

impl<'a> Iterator for Arrived<'a> {
    type Item = Row<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a>> {
        let row = (!self.rest.is_empty()).then(|| Row::new(self.rest, self.dense))?;
        self.rest = &self.rest[row.values()..];
        *self.count += 1;
        Some(row)
    }
}

/// Has something done with rows that arrive in a pass in which nothing is trained, batch after batch; `work` gives back how
/// many values it went through. `Done` behind the last row.
pub(in crate::training) fn as_they_arrive(
    consumer: &mut Consumer,
    dense: usize,
    passes: &mut Passes,
    budget_values: usize,
    mut work: impl FnMut(Arrived<'_>) -> usize,
) -> Step {
    let (mut left, mut moved) = (budget_values, false);
    while left > 0 {
        let Some(batch) = consumer.front() else {
            return if moved { Step::Progress } else { Step::Blocked };
        };
        let values = work(Arrived::of(batch.words, dense, &mut passes.rows));
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
    pub(in crate::training) words: &'a [u32],
    pub(in crate::training) dense: usize,
    pub(in crate::training) margin: f64,
    pub(in crate::training) pass: Pass,
    pub(in crate::training) policy: Policy,
    /// For each row, whether it is worth keeping.
    pub(in crate::training) keep: &'a mut Vec<bool>,
}

impl<T: Real> Work for Fresh<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        let mut at = 0;
        let scattered = self.solver.scattered() && self.pass == Pass::Full;
        while at < self.words.len() {
            let row = Row::new(&self.words[at..], self.dense);
            at += row.values();
            if scattered && at < self.words.len() {
                self.solver
                    .ask::<true>(&Row::new(&self.words[at..], self.dense));
            }
            let keep = match self.pass {
                Pass::Full if self.policy == Policy::Paper => {
                    self.solver.measure::<K>(&row);
                    true
                }
                Pass::Full => self.solver.visit_full::<K>(&row, self.margin),
                Pass::Verify => {
                    self.solver.check::<K>(&row);
                    false
                }
            };
            self.keep.push(keep);
        }
    }
}
