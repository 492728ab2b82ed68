//! Rows that are all in the cache, for heads that a method of passes solves ([`crate::solver::by_passes`]), before coordinate descent takes
//! those over that it has not ended.
//!
//! Passes go over samples of the rows, or over all of them, as the method says.

use crate::base::memory::OutOfMemory;
use crate::base::random::{Random, Stream};
use crate::base::step::Step;
use crate::rows::facts::Facts;
use crate::rows::page::Page;
use crate::rows::visited::VisitedPage;
use crate::screening::slack::Metric;
use crate::simd::Real;
use crate::solver::by_passes::newton::Reading;
use crate::solver::by_passes::pass::{PassHere, Portion};
use crate::solver::by_passes::{method_of, Due, FixedWeights, Over, BLOCK};
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Log;
use crate::training::schedule::interface::Schedule;
use crate::training::schedule::resident::Resident;
use crate::training::tallies::Tallies;

/// Rows in the cache, whose heads a method of passes may solve.
pub(in crate::training) struct ResidentPasses<T> {
    resident: Resident<T>,
    /// None where none of it is left to such a method.
    approach: Option<Approach<T>>,
    seed: u64,
}

impl<T: Real> ResidentPasses<T> {
    pub(in crate::training) fn new(resident: Resident<T>, seed: u64) -> Result<Self, TrainError> {
        let mut this = Self {
            resident,
            approach: None,
            seed,
        };
        this.begin()?;
        Ok(this)
    }

    fn begin(&mut self) -> Result<(), TrainError> {
        let threads = self.resident.threads();
        let (solver, facts) = (self.resident.solver(), self.resident.facts());
        let method = method_of(solver, facts, Reading::AtHand { threads })?;
        let approach = |method| Approach {
            method,
            pass: None,
            over: Over::All,
            sample: Vec::new(),
            random: Random::new(self.seed, Stream::Split),
            block: 0,
        };
        self.approach = method.map(approach);
        Ok(())
    }
}

impl<T: Real> Schedule<T> for ResidentPasses<T> {
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let Some(approach) = &mut self.approach else {
            return self.resident.step(budget_values);
        };
        if approach.step(&mut self.resident, budget_values)? == Step::Done {
            self.approach = None;
            self.resident.begin_alone()?;
        }
        Ok(Step::Progress)
    }

    fn begin_reading(&mut self, counts: bool) {
        self.resident.begin_reading(counts);
    }

    fn read(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        self.resident.read(sums, budget_values)
    }

    fn restart(&mut self, solver: Solver<T>) -> Result<(), TrainError> {
        self.resident.restart(solver)?;
        self.begin()
    }

    fn metrics(&self) -> Result<Vec<Metric>, TrainError> {
        self.resident.metrics()
    }

    fn solver(&self) -> &Solver<T> {
        self.resident.solver()
    }

    fn solver_mut(&mut self) -> &mut Solver<T> {
        self.resident.solver_mut()
    }

    fn log(&self) -> &Log {
        self.resident.log()
    }

    fn log_mut(&mut self) -> &mut Log {
        self.resident.log_mut()
    }

    fn tallies(&self) -> Tallies {
        let tallies = self.resident.tallies();
        match &self.approach {
            Some(approach) => Tallies {
                rows_into_pass: approach.rows_into_pass(),
                working_set_rows: self.resident.facts().rows as u64,
                ..tallies
            },
            None => tallies,
        }
    }
}

struct Approach<T> {
    method: Box<dyn FixedWeights<Solver<T>>>,
    /// The pass under way, and its next block.
    pass: Option<PassHere>,
    block: usize,
    /// The rows that passes read: numbers of the sample's blocks, none where all are.
    over: Over,
    sample: Vec<u32>,
    random: Random,
}

impl<T: Real> Approach<T> {
    /// Goes on for about so many values; `Done` when no head is left to the method.
    fn step(&mut self, resident: &mut Resident<T>, budget: usize) -> Result<Step, TrainError> {
        let mut left = budget.max(1);
        while left > 0 {
            let used = match (&mut self.pass, self.method.due()) {
                (Some(_), _) => self.visit(resident, left)?,
                (None, Due::Solving) => self.method.compute(resident.solver_mut(), &[])?,
                (None, Due::Ended) => return Ok(Step::Done),
                (None, Due::Pass) => {
                    self.draw(resident.facts())?;
                    self.pass = Some(PassHere::begin(&mut *self.method)?);
                    self.visit(resident, left)?
                }
            };
            left = left.saturating_sub(used.max(1));
        }
        Ok(Step::Progress)
    }

    /// Draws the blocks of the sample, where another one comes.
    fn draw(&mut self, facts: &Facts) -> Result<(), OutOfMemory> {
        let over = self.method.over();
        if over == std::mem::replace(&mut self.over, over) {
            return Ok(());
        }
        self.sample.clear();
        if let Over::Sample(stride) = over {
            let count = facts.rows / BLOCK / stride;
            self.sample.try_reserve_exact(count)?;
            for window in 0..count {
                let block = window * stride + self.random.below(stride);
                self.sample.push(block as u32);
            }
        }
        Ok(())
    }

    /// Visits blocks, which ends the pass behind the last; gives back the values that a thread went through.
    fn visit(&mut self, resident: &mut Resident<T>, budget: usize) -> Result<usize, TrainError> {
        let facts = *resident.facts();
        let words = facts.mean_row_words;
        let over = self.blocks(&facts);
        let Some(pass) = &mut self.pass else {
            return Ok(0);
        };
        let left = (over - self.block) * BLOCK * words;
        let threads = pass.threads_for(left, resident.threads());
        let row = self.method.row_values(words).max(1) * pass.heads().max(1);
        // several threads have blocks of their own, as many as the budget has them read
        let each = (budget / (BLOCK * row)).max(1);
        let (end, budget) = match threads {
            1 => (over, budget),
            _ => (over.min(self.block + threads * each), usize::MAX),
        };
        let (solver, words, pool) = resident.solver_words_and_pool();
        let portion = Portion::Blocks {
            page: VisitedPage::as_stored(Page::new(words, facts.dense)),
            rows: facts.rows,
            sample: &self.sample,
            blocks: self.block..end,
            budget,
        };
        let unread = &mut [];
        let (values, blocks) = pass.visit(solver, &portion, (threads, unread), |team, work| {
            pool.side_by_side(team, work)
        })?;
        self.block += blocks;
        if self.block == over {
            self.end_pass(resident)?;
        }
        Ok(values / threads)
    }

    /// Blocks of the pass under way.
    fn blocks(&self, facts: &Facts) -> usize {
        match self.over {
            Over::All => facts.rows.div_ceil(BLOCK),
            Over::Sample(_) => self.sample.len(),
        }
    }

    fn end_pass(&mut self, resident: &mut Resident<T>) -> Result<(), TrainError> {
        self.block = 0;
        if let Some(pass) = self.pass.take() {
            let found = pass.end(&[])?;
            let evaluates = self.method.take(resident.solver_mut(), found)?;
            if evaluates && self.over == Over::All {
                resident.note_pass();
            }
        }
        Ok(())
    }

    fn rows_into_pass(&self) -> u64 {
        match self.over {
            Over::All => (self.block * BLOCK) as u64,
            Over::Sample(_) => 0,
        }
    }
}
