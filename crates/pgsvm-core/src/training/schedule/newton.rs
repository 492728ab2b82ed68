//! Newton's method solves the heads of a training over rows that are all in the cache, before coordinate descent takes those
//! over that it has not ended.
//!
//! Heads that are solved at a time ([`super::newton_group`]) go first over samples of the rows, each some times as large as the one before,
//! where there are rows enough, then over all. A head of a sample that has said what it can waits for the others.

use crate::base::memory::OutOfMemory;
use crate::base::random::{Random, Stream};
use crate::base::step::Step;
use crate::rows::facts::Facts;
use crate::rows::page::Page;
use crate::rows::visited::VisitedPage;
use crate::screening::slack::Metric;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::newton_run::{NewtonRun, BLOCK};
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Log;
use crate::training::schedule::interface::Schedule;
use crate::training::schedule::newton_group::Group;
use crate::training::schedule::newton_threads::{block_at, visit_together, Portion};
use crate::training::schedule::resident::Resident;
use crate::training::tallies::Tallies;

/// Rows in the cache, whose heads Newton's method may solve.
pub(in crate::training) struct Newton<T> {
    resident: Resident<T>,
    /// None where Newton's method solves no head, or none any more.
    approach: Option<Approach>,
    seed: u64,
}

impl<T: Real> Newton<T> {
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
        let solver = self.resident.solver();
        self.approach = match solver.by_newton() {
            true => {
                let known = (self.seed, self.resident.threads());
                Some(Approach::new(solver, self.resident.facts(), known)?)
            }
            false => None,
        };
        Ok(())
    }
}

impl<T: Real> Schedule<T> for Newton<T> {
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

struct Approach {
    group: Group,
    /// Of the samples, those still to come, the next one last: one block in so many.
    samples: Vec<usize>,
    /// Numbers of the sample's blocks; empty once all rows are read.
    sample: Vec<u32>,
    random: Random,
    /// The next block of the pass.
    block: usize,
}

impl Approach {
    fn new<T: Real>(
        solver: &Solver<T>,
        facts: &Facts,
        (seed, threads): (u64, usize),
    ) -> Result<Self, OutOfMemory> {
        let mut this = Self {
            group: Group::new(solver, facts, (false, threads)),
            samples: Vec::new(),
            sample: Vec::new(),
            random: Random::new(seed, Stream::Split),
            block: 0,
        };
        this.next_heads(solver, facts)?;
        Ok(this)
    }

    /// Begins with the heads that come next; false where there are none.
    fn next_heads<T: Real>(
        &mut self,
        solver: &Solver<T>,
        facts: &Facts,
    ) -> Result<bool, OutOfMemory> {
        let comes = self.group.next(solver)?;
        self.samples.clear();
        if !self.group.begins_elsewhere() {
            // a handful of numbers
            self.samples.extend(self.group.costs.samples());
            self.samples.reverse();
        }
        self.begin_stage(facts)?;
        Ok(comes)
    }

    /// Begins to read the next sample, or all rows.
    fn begin_stage(&mut self, facts: &Facts) -> Result<(), OutOfMemory> {
        self.sample.clear();
        if let Some(stride) = self.samples.pop() {
            let count = facts.rows / BLOCK / stride;
            self.sample.try_reserve_exact(count)?;
            for window in 0..count {
                let block = window * stride + self.random.below(stride);
                self.sample.push(block as u32);
            }
        }
        let taken = (self.sample.len() * BLOCK).min(facts.rows);
        match taken {
            0 => self.group.begin_whole(),
            taken => self.group.begin_sample(facts.rows as f64 / taken as f64),
        }
        self.block = 0;
        Ok(())
    }

    /// Goes on for about so many values; `Done` when no head is left to Newton's method.
    fn step<T: Real>(
        &mut self,
        resident: &mut Resident<T>,
        budget: usize,
    ) -> Result<Step, TrainError> {
        let level = Level::best();
        let mut left = budget.max(1);
        while left > 0 {
            let solver = resident.solver_mut();
            let used = match self.group.between(solver, level) {
                Some(values) => values,
                None if self.group.visits() => {
                    let used = self.visit(resident, left)?;
                    if self.block >= self.blocks(resident.facts()) {
                        self.end_pass(resident, level);
                    }
                    used
                }
                None if self.go_on(resident)? => 0,
                None => return Ok(Step::Done),
            };
            left = left.saturating_sub(used.max(1));
        }
        Ok(Step::Progress)
    }

    /// Visits blocks; gives back the values gone through.
    fn visit<T: Real>(
        &mut self,
        resident: &mut Resident<T>,
        budget: usize,
    ) -> Result<usize, OutOfMemory> {
        self.group.begin_pass()?;
        let facts = *resident.facts();
        let over = self.blocks(&facts);
        let left = (over - self.block) * BLOCK * facts.mean_row_words;
        if resident.threads() > 1 && self.group.divides(left) {
            return self.visit_together(resident, budget);
        }
        let (solver, words) = resident.solver_and_words();
        let visit = Visit {
            solver,
            runs: &mut self.group.runs,
            page: VisitedPage::as_stored(Page::new(words, facts.dense)),
            rows: facts.rows,
            sample: &self.sample,
            blocks: self.block..over,
            budget,
        };
        let (block, values) = Level::best().run(visit);
        self.block = block;
        Ok(values)
    }

    /// The same by several threads, each of which has the budget.
    fn visit_together<T: Real>(
        &mut self,
        resident: &mut Resident<T>,
        budget: usize,
    ) -> Result<usize, OutOfMemory> {
        let facts = *resident.facts();
        let threads = resident.threads();
        let each = (budget / (BLOCK * self.group.row_values())).max(1);
        let end = self.blocks(&facts).min(self.block + threads * each);
        let (solver, words, pool) = resident.solver_words_and_pool();
        let portion = Portion::Blocks {
            page: VisitedPage::as_stored(Page::new(words, facts.dense)),
            rows: facts.rows,
            sample: &self.sample,
            blocks: self.block..end,
        };
        let crew = (pool, Level::best());
        let values = visit_together(solver, &mut self.group.runs, portion, crew)?;
        self.block = end;
        Ok(values / threads)
    }

    /// Blocks of the pass under way.
    fn blocks(&self, facts: &Facts) -> usize {
        match self.sample.len() {
            0 => facts.rows.div_ceil(BLOCK),
            sampled => sampled,
        }
    }

    /// Ends the pass for every head.
    fn end_pass<T: Real>(&mut self, resident: &mut Resident<T>, level: Level) {
        let evaluates = self.group.end_pass(resident.solver_mut(), level);
        if evaluates && self.sample.is_empty() {
            resident.note_pass();
        }
        self.block = 0;
    }

    /// Behind the last pass of a stage: the next one, or the next heads; false where all is done.
    fn go_on<T: Real>(&mut self, resident: &mut Resident<T>) -> Result<bool, TrainError> {
        let facts = *resident.facts();
        if self.sample.is_empty() {
            return Ok(self.next_heads(resident.solver(), &facts)?);
        }
        self.begin_stage(&facts)?;
        Ok(true)
    }

    fn rows_into_pass(&self) -> u64 {
        match self.sample.is_empty() {
            true => (self.block * BLOCK) as u64,
            false => 0,
        }
    }
}

/// Visits blocks until the budget is used up; gives back the next block, and how many values that was.
struct Visit<'a, T> {
    solver: &'a mut Solver<T>,
    runs: &'a mut [NewtonRun],
    page: VisitedPage<'a>,
    rows: usize,
    sample: &'a [u32],
    blocks: std::ops::Range<usize>,
    budget: usize,
}

impl<T: Real> Work for Visit<'_, T> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<K: Isa>(self) -> (usize, usize) {
        let (mut values, mut block) = (0, self.blocks.start);
        while block < self.blocks.end && values < self.budget {
            let number = block_at(self.sample, block);
            let first = BLOCK * number as usize;
            let slots = first..self.rows.min(first + BLOCK);
            values += self
                .solver
                .visit_newton::<K>(self.runs, self.page, slots, number);
            block += 1;
        }
        (block, values)
    }
}
