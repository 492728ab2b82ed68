//! Newton's method solves the heads of a training over rows that arrive pass after pass, before the dual cached loops take those
//! over that it has not ended.
//!
//! A pass of the reader is a pass of the method, which sums up all that it needs of a row when it comes; the cache is the
//! reader's meanwhile, and nothing is kept in it. There are no samples: what they save is passes over all rows, and here they
//! would be such passes.

use crate::base::memory::{OutOfMemory, Room};
use crate::base::step::Step;
use crate::cache::Ends;
use crate::rows::batch::Batch;
use crate::rows::visited::VisitedBatch;
use crate::screening::slack::Metric;
use crate::simd::{Isa, Real, Work};
use crate::solver::driver::Method;
use crate::solver::newton_run::NewtonRun;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Event;
use crate::training::schedule::indexed::Indexed;
use crate::training::schedule::newton_group::Group;
use crate::training::schedule::newton_threads::{visit_together, Portion};
use crate::training::schedule::pass::{train_by, Held, InPasses, Passes};
use crate::training::schedule::streaming::{learn, Streaming};
use crate::training::tallies::Tallies;

/// Rows that arrive, whose heads Newton's method may solve.
pub(in crate::training) struct StreamedNewton<T> {
    streaming: Streaming<T>,
    /// None where Newton's method solves no head, or none any more.
    group: Option<Group>,
    /// Whether the last pass has ended, and none has begun since.
    between: bool,
}

impl<T: Real> StreamedNewton<T> {
    pub(in crate::training) fn new(streaming: Streaming<T>) -> Result<Self, TrainError> {
        let mut this = Self {
            streaming,
            group: None,
            between: false,
        };
        this.begin()?;
        Ok(this)
    }

    fn begin(&mut self) -> Result<(), TrainError> {
        let Streaming {
            passes,
            facts,
            crew,
            index,
            ..
        } = &self.streaming;
        let solver = &passes.solver;
        self.between = false;
        self.group = match solver.by_newton() {
            true => {
                let mut group = Group::new(solver, facts, (true, crew.pool.members()));
                group.next(solver)?;
                group.begin_whole();
                if let Some(index) = index {
                    index.begin_newton(solver, &mut group.runs)?;
                }
                Some(group)
            }
            false => None,
        };
        Ok(())
    }

    /// What is due next while Newton's method solves heads; gives back the values it took, None where it must wait.
    fn solve(&mut self) -> Result<Option<usize>, TrainError> {
        let Some(group) = &mut self.group else {
            return Ok(None);
        };
        let Streaming {
            passes,
            level,
            index,
            consumer,
            set,
            ..
        } = &mut self.streaming;
        if let Some(values) = group.between(&mut passes.solver, *level) {
            return Ok(Some(values));
        }
        if group.visits() {
            if std::mem::take(&mut self.between) {
                passes.begin_newton();
                if let Some(index) = index {
                    index.announce_newton(&passes.solver, &mut group.runs, consumer)?;
                }
                // the reader may go on, so that this was a step
                return Ok(Some(0));
            }
            return self.take_batch();
        }
        if group.next(&passes.solver)? {
            group.begin_whole();
            if let Some(index) = index {
                index.tell_newton(&mut group.runs)?;
            }
            return Ok(Some(0));
        }
        self.group = None;
        passes.solver.end_newton();
        if !passes.solver.done() {
            passes.begin_first()?;
            if let Some(index) = index {
                // what is known of the chunks begins anew, so that all rows come
                index.tell(&mut passes.solver)?;
                index.announce_next(passes, (consumer, set))?;
            }
        }
        // the step ends here: the next one is of coordinate descent
        Ok(Some(usize::MAX))
    }

    /// Visits the oldest batch of rows; None when there is none.
    fn take_batch(&mut self) -> Result<Option<usize>, TrainError> {
        let Streaming {
            passes,
            consumer,
            facts,
            level,
            learner,
            crew,
            index,
            answers,
            ..
        } = &mut self.streaming;
        let (Some(group), Some(batch)) = (&mut self.group, consumer.front()) else {
            return Ok(None);
        };
        group.begin_pass()?;
        let rows = VisitedBatch::as_stored(Batch::new(batch.words, facts.dense));
        let together = crew.pool.members() > 1 && group.divides(batch.words.len());
        let solver = &mut passes.solver;
        let files = index.as_mut().filter(|index| index.files());
        let values = if let Some(index) = files {
            answers.room(rows.clone().count())?;
            level.run(File {
                solver,
                runs: &mut group.runs,
                rows,
                count: &mut passes.rows,
                index,
                answers,
            })?
        } else if together {
            passes.rows += rows.clone().count();
            let crew = (&crew.pool, *level);
            visit_together(solver, &mut group.runs, Portion::Batch(rows), crew)?
        } else {
            level.run(Visit {
                solver,
                runs: &mut group.runs,
                rows,
                count: &mut passes.rows,
            })
        };
        if let (Some(learner), 1) = (learner, passes.begun) {
            learn(learner, facts, batch.words);
        }
        passes.keep(batch.words, facts.dense);
        let last = batch.ends == Ends::Pass;
        if !answers.is_empty() {
            consumer.answer(answers.drain(..));
        }
        consumer.release();
        if last {
            group.end_pass(&mut passes.solver, *level);
            if let Some(index) = index {
                index.end_newton_pass(&mut group.runs)?;
            }
            let nothing = Held {
                rows: 0,
                evictions: 0,
            };
            passes.note((Event::Pass, None), nothing);
            self.between = true;
        }
        Ok(Some(values))
    }
}

impl<T: Real> InPasses for StreamedNewton<T> {
    type Number = T;

    fn passes(&self) -> &Passes<T> {
        &self.streaming.passes
    }

    fn passes_mut(&mut self) -> &mut Passes<T> {
        &mut self.streaming.passes
    }

    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        match self.group.is_some() {
            true => train_by(self, budget_values, |this, _| this.solve()),
            false => self.streaming.train(budget_values),
        }
    }

    fn suit(&self, solver: &mut Solver<T>) {
        self.streaming.suit(solver);
    }

    fn begin_anew(&mut self) -> Result<(), TrainError> {
        self.streaming.begin_anew()?;
        self.begin()
    }

    fn begin_scan(&mut self) {
        self.streaming.begin_scan();
    }

    fn scan(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        self.streaming.scan(sums, budget_values)
    }

    fn kept(&self) -> Tallies {
        self.streaming.kept()
    }

    fn learned_metrics(&self) -> Vec<Metric> {
        self.streaming.learned_metrics()
    }
}

/// Visits the rows of a batch; gives back the values gone through.
struct Visit<'a, T> {
    solver: &'a mut Solver<T>,
    runs: &'a mut [NewtonRun],
    rows: VisitedBatch<'a>,
    count: &'a mut usize,
}

impl<T: Real> Work for Visit<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        *self.count += self.rows.clone().count();
        self.solver.visit_newton_batch::<K>(self.runs, self.rows)
    }
}

/// The same in a pass that files rows, whose files are the answers.
struct File<'a, T> {
    solver: &'a mut Solver<T>,
    runs: &'a mut [NewtonRun],
    rows: VisitedBatch<'a>,
    count: &'a mut usize,
    index: &'a mut Indexed,
    answers: &'a mut Vec<u16>,
}

impl<T: Real> Work for File<'_, T> {
    type Output = Result<usize, OutOfMemory>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Result<usize, OutOfMemory> {
        let Self {
            solver,
            runs,
            rows,
            count,
            index,
            answers,
        } = self;
        *count += rows.clone().count();
        solver.visit_newton_filing::<K>(runs, rows, |row, file| {
            answers.push(file.into());
            index.file_newton(row, file)
        })
    }
}
