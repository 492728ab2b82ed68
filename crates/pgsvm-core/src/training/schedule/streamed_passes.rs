//! Rows that arrive pass after pass, for heads that a method of passes solves ([`crate::solver::by_passes`]), before the dual cached loops
//! take those over that it has not ended.
//!
//! A pass of the reader is a pass of the method, which sums up all that it needs of a row when it comes; the cache is the
//! reader's meanwhile, and nothing is kept in it. There are no samples: what they save is passes over all rows, and here they
//! would be such passes.

use crate::base::memory::Room;
use crate::base::step::Step;
use crate::cache::Ends;
use crate::rows::batch::Batch;
use crate::rows::visited::VisitedBatch;
use crate::screening::slack::Metric;
use crate::simd::Real;
use crate::solver::by_passes::newton::Reading;
use crate::solver::by_passes::pass::{PassHere, Portion};
use crate::solver::by_passes::{method_of, Due, FixedWeights};
use crate::solver::driver::Method;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Event;
use crate::training::schedule::pass::{train_by, Held, InPasses, Passes};
use crate::training::schedule::streaming::{learn, Streaming};
use crate::training::tallies::Tallies;

/// Rows that arrive, whose heads a method of passes may solve.
pub(in crate::training) struct StreamedPasses<T> {
    streaming: Streaming<T>,
    /// None where none of it is left to such a method.
    method: Option<Box<dyn FixedWeights<Solver<T>>>>,
    /// The pass under way.
    pass: Option<PassHere>,
}

impl<T: Real> StreamedPasses<T> {
    pub(in crate::training) fn new(streaming: Streaming<T>) -> Result<Self, TrainError> {
        let mut this = Self {
            streaming,
            method: None,
            pass: None,
        };
        this.begin()?;
        Ok(this)
    }

    /// Begins with the heads that are there, in the pass that has been announced.
    fn begin(&mut self) -> Result<(), TrainError> {
        let Streaming {
            passes,
            facts,
            crew,
            index,
            ..
        } = &mut self.streaming;
        let threads = crew.pool.members();
        let mut method = method_of(&passes.solver, facts, Reading::Streamed { threads })?;
        self.pass = method.as_deref_mut().map(PassHere::begin).transpose()?;
        self.method = method;
        if let (Some(index), Some(pass)) = (index, &self.pass) {
            index.begin_pass_here(&passes.solver, pass)?;
        }
        Ok(())
    }

    /// What is due next while a method of passes solves heads; gives back the values it took, None where it must wait.
    fn solve(&mut self) -> Result<Option<usize>, TrainError> {
        if self.pass.is_some() {
            return self.take_batch();
        }
        let Some(method) = &mut self.method else {
            return Ok(None);
        };
        let Streaming {
            passes,
            index,
            consumer,
            set,
            ..
        } = &mut self.streaming;
        match method.due() {
            Due::Solving => Ok(Some(method.compute(&mut passes.solver, &[])?)),
            Due::Pass => {
                passes.begin_next();
                let pass = PassHere::begin(&mut **method)?;
                if let Some(index) = index {
                    index.announce_pass_here(&passes.solver, &pass, consumer)?;
                }
                self.pass = Some(pass);
                // the reader may go on, so that this was a step
                Ok(Some(0))
            }
            Due::Ended => {
                self.method = None;
                passes.solver.end_newton();
                if let Some(index) = index {
                    index.unread = Vec::new();
                }
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
        }
    }

    /// Visits the oldest batch of rows; None when there is none.
    fn take_batch(&mut self) -> Result<Option<usize>, TrainError> {
        let Streaming {
            passes,
            consumer,
            facts,
            learner,
            crew,
            index,
            answers,
            ..
        } = &mut self.streaming;
        let (Some(pass), Some(batch)) = (&mut self.pass, consumer.front()) else {
            return Ok(None);
        };
        let rows = VisitedBatch::as_stored(Batch::new(batch.words, facts.dense));
        let (solver, pool) = (&mut passes.solver, &crew.pool);
        let count = rows.clone().count();
        passes.rows += count;
        let values = match index {
            Some(index) if index.files() => {
                answers.room(count)?;
                index.file_pass_here(solver, pass, rows, answers)?
            }
            _ => {
                let unread = index
                    .as_mut()
                    .map_or(&mut [][..], |index| &mut index.unread);
                let threads = pass.threads_for(batch.words.len(), pool.members());
                let rows = Portion::Batch(rows);
                let (values, _) = pass.visit(solver, &rows, (threads, unread), |team, work| {
                    pool.side_by_side(team, work)
                })?;
                values
            }
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
            self.end_pass()?;
        }
        Ok(Some(values))
    }

    fn end_pass(&mut self) -> Result<(), TrainError> {
        let Streaming { passes, index, .. } = &mut self.streaming;
        if let (Some(method), Some(pass)) = (&mut self.method, self.pass.take()) {
            let unread = index.as_ref().map_or(&[][..], |index| &index.unread);
            let found = pass.end(unread)?;
            method.take(&mut passes.solver, found)?;
            if let Some(index) = index {
                index.end_pass_here()?;
            }
            let nothing = Held {
                rows: 0,
                evictions: 0,
            };
            passes.note((Event::Pass, None), nothing);
        }
        Ok(())
    }
}

impl<T: Real> InPasses for StreamedPasses<T> {
    type Number = T;

    fn passes(&self) -> &Passes<T> {
        &self.streaming.passes
    }

    fn passes_mut(&mut self) -> &mut Passes<T> {
        &mut self.streaming.passes
    }

    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        match self.method.is_some() {
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
