//! Training by scans: Newton's method for the squared hinge, over rows that nobody keeps.
//!
//! | symbol | is |
//! |---|---|
//! | pass | what a scan over all rows is to sum up, at the weights of the heads that run ([`ScanPass`]) |
//! | sums | those over all rows ([`ScanSums`]): primal, dual, gradient, Hessian; no dual variable of a row |
//! | sample | rows that are here, from which the heads begin |
//!
//! Update: whoever holds the rows has them scanned with a pass and hands the sums back; [`crate::solver::newton::head`] has objective, dual and step.
//! The sample is gone over in the same way, here.
//! Stop: the gap that a scan certifies at its own weights is within the tolerance, for every head.
//!
//! Keerthi and DeCoste, JMLR 6, 2005. Lin, Weng and Keerthi, JMLR 9, 2008, with a scan a product, where features are many.

use std::sync::Arc;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::step::Step;
use crate::reader::Surveyed;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::visited::{VisitedBatch, VisitedRows};
use crate::scanning::{HeadScan, ScanPass, ScanSums};
use crate::simd::Level;
use crate::solver::driver::Method;
use crate::solver::scans::ScanRows;
use crate::solver::weights::Weights;
use crate::solver::Solver;
use crate::task::plan::{Goal, Plan};
use crate::task::problem::{Leader, Problem};
use crate::task::report::{Fit, Stage, TrainerReport};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log, LogEntry, Moment};
use crate::training::schedule::led::Group;
use crate::training::schedule::survey::Survey;
use crate::training::stage::StageHeads;

/// A training by scans.
pub struct ScanTrainer {
    facts: Facts,
    /// Holds no dual variables.
    solver: Solver<f64>,
    heads: StageHeads,
    group: Group,
    /// By head of the group, the weights at which the last pass evaluated rows.
    before: Vec<Option<Vec<f64>>>,
    log: Log,
    passes: u32,
    visits: u64,
    sample: Vec<u32>,
    activity: Activity,
    fit: Option<Fit>,
}

enum Activity {
    /// The sample is gone over; up to this word in the pass under way.
    Sample(ScanPass, ScanSums, usize),
    /// Something is computed, or the next pass is wanted.
    Scans,
    /// The heads have ended: what they make of the sample.
    Fitting(Box<Survey>),
    Ended,
}

/// How far a training by scans is.
#[derive(Debug, Clone, Copy)]
pub struct ScanProgress {
    /// Scans that have ended.
    pub scans: u32,
    pub gap: Option<f64>,
    pub heads: usize,
    pub running_heads: usize,
}

impl ScanTrainer {
    /// Of the final heads of this plan, over rows that were surveyed; holding rows out is not for scans. `started`: when the
    /// training began.
    pub fn new(
        problem: &Problem,
        plan: &Plan,
        surveyed: Surveyed,
        started: Instant,
    ) -> Result<Self, TrainError> {
        plan.check().map_err(TrainError::Plan)?;
        let Surveyed {
            facts,
            positive_weights,
            sample,
            ..
        } = surveyed;
        let goal = Goal::Plan(plan.clone());
        let positive_weights = Arc::new(positive_weights);
        let heads = StageHeads::first(&goal, problem, &facts, &positive_weights)?;
        let nowhere = Facts { rows: 0, ..facts };
        let problem = problem.with_leader(Leader::Scans);
        let solver = Solver::new(&problem, &heads.specs, &nowhere, 0)?;
        if solver.leading().is_none() {
            return Err(TrainError::NewtonLoss);
        }
        let mut this = Self {
            group: Group::of_scans(&solver, &facts),
            log: Log::new(started, &facts, heads.specs.len()),
            facts,
            solver,
            heads,
            before: Vec::new(),
            passes: 0,
            visits: 0,
            sample,
            activity: Activity::Scans,
            fit: None,
        };
        this.next_heads()?;
        Ok(this)
    }

    /// Begins with the heads that come next, where there are some.
    fn next_heads(&mut self) -> Result<bool, TrainError> {
        if !self.group.next(&self.solver)? {
            return Ok(false);
        }
        let rows = Batch::new(&self.sample, self.facts.dense).count();
        match rows {
            0 => self.group.begin_whole(),
            rows => self
                .group
                .begin_sample(self.facts.rows as f64 / rows as f64),
        }
        self.forget_pass()?;
        if rows > 0 {
            self.begin_sample()?;
        }
        Ok(true)
    }

    fn forget_pass(&mut self) -> Result<(), OutOfMemory> {
        self.before.clear();
        let heads = self.group.led.len();
        self.before.room(heads)?.resize_with(heads, || None);
        Ok(())
    }

    /// Begins to go over the sample once more.
    fn begin_sample(&mut self) -> Result<(), TrainError> {
        let pass = self.pass()?;
        let sums = pass.begin()?;
        self.activity = Activity::Sample(pass, sums, 0);
        Ok(())
    }

    /// Computes on, going over about so many values. `Blocked`: a scan is wanted, by [`Self::pass`]; `Done`: all heads have ended.
    pub fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        match std::mem::replace(&mut self.activity, Activity::Scans) {
            Activity::Sample(pass, sums, from) => {
                self.go_over_sample(pass, sums, from, budget_values)
            }
            Activity::Scans => self.compute(),
            Activity::Fitting(survey) => {
                self.rank(survey);
                Ok(Step::Progress)
            }
            Activity::Ended => {
                self.activity = Activity::Ended;
                Ok(Step::Done)
            }
        }
    }

    fn go_over_sample(
        &mut self,
        pass: ScanPass,
        mut sums: ScanSums,
        from: usize,
        budget: usize,
    ) -> Result<Step, TrainError> {
        let mut at = from;
        for row in Batch::new(&self.sample[from..], self.facts.dense) {
            if at - from >= budget {
                break;
            }
            pass.add(&mut sums, &row);
            at += row.values();
        }
        if at < self.sample.len() {
            self.activity = Activity::Sample(pass, sums, at);
            return Ok(Step::Progress);
        }
        sums.finish();
        self.end_pass(pass, sums)?;
        Ok(Step::Progress)
    }

    fn compute(&mut self) -> Result<Step, TrainError> {
        if self
            .group
            .between(&mut self.solver, Level::best())
            .is_some()
        {
            return Ok(Step::Progress);
        }
        match (self.group.visits(), self.group.samples()) {
            (true, true) => self.begin_sample()?,
            (true, false) => return Ok(Step::Blocked),
            (false, true) => {
                self.group.begin_whole();
                self.forget_pass()?;
            }
            (false, false) => {
                if !self.next_heads()? {
                    self.begin_fitting()?;
                }
            }
        }
        Ok(Step::Progress)
    }

    /// What the scan that is wanted is to sum up.
    pub fn pass(&self) -> Result<ScanPass, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(self.group.led.len())?;
        for (led, before) in self.group.led.iter().zip(&self.before) {
            if led.visits {
                heads.push(led.newton.pass(led.next, before.as_deref())?);
            }
        }
        Ok(ScanPass::of(heads))
    }

    /// Takes what a scan with this pass has summed up over all rows.
    pub fn take(&mut self, pass: ScanPass, sums: ScanSums) -> Result<(), TrainError> {
        self.passes += 1;
        self.visits += sums.rows() * self.solver.running_heads() as u64;
        self.end_pass(pass, sums)?;
        self.log.note(
            &mut self.solver,
            Moment {
                event: Event::Pass,
                pass: self.passes,
                block: None,
                rows_streamed: u64::from(self.passes) * self.facts.rows as u64,
                cache_rows: 0,
                evictions: 0,
            },
        );
        Ok(())
    }

    fn end_pass(&mut self, pass: ScanPass, sums: ScanSums) -> Result<(), TrainError> {
        let visiting = self.group.led.iter_mut().zip(&mut self.before);
        let visiting = visiting.filter(|(led, _)| led.visits);
        let told = pass.into_heads().into_iter().zip(sums.into_heads());
        for ((led, before), (pass, sums)) in visiting.zip(told) {
            led.newton.take(sums);
            if let Some(w) = HeadScan::evaluated(pass) {
                *before = Some(w);
            }
        }
        self.group.end_pass(&mut self.solver, Level::best());
        Ok(())
    }

    /// All heads have ended: looks at what they make of the sample.
    fn begin_fitting(&mut self) -> Result<(), TrainError> {
        let solver = &self.solver;
        let (primal, dual, gap) = (solver.known_primal(), solver.known_dual(), solver.gap());
        self.log.settle(primal, dual, gap);
        self.activity = Activity::Ended;
        let Some(layout) = self.heads.layout.take().filter(|it| it.classes() > 1) else {
            return Ok(());
        };
        let rows = Batch::new(&self.sample, self.facts.dense).count();
        let mut survey = Survey::new(layout, &Facts { rows, ..self.facts })?;
        let rows = VisitedRows::Batch {
            batch: VisitedBatch::as_stored(Batch::new(&self.sample, self.facts.dense)),
            count: &mut 0,
        };
        survey.scan(&self.solver, rows);
        self.activity = Activity::Fitting(Box::new(survey));
        Ok(())
    }

    fn rank(&mut self, mut survey: Box<Survey>) {
        self.activity = match survey.rank() {
            true => {
                self.fit = survey.finish();
                Activity::Ended
            }
            false => Activity::Fitting(survey),
        };
    }

    /// How far it is.
    pub fn progress(&self) -> ScanProgress {
        ScanProgress {
            scans: self.passes,
            gap: self.solver.gap(),
            heads: self.heads.specs.len(),
            running_heads: self.solver.running_heads(),
        }
    }

    /// Rows that each scan has to find.
    pub fn rows(&self) -> u64 {
        self.facts.rows as u64
    }

    /// The weights of a head's certificate.
    pub fn weights(&self, head: usize) -> Weights<'_> {
        self.solver.weights(head)
    }

    /// What happened when.
    pub fn log(&self) -> Result<Vec<LogEntry>, OutOfMemory> {
        gathered(self.log.entries())
    }

    /// How training ended; before the end, how it stands.
    pub fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        let heads = self.solver.reports(self.facts.rows);
        Ok(TrainerReport {
            heads: gathered(heads.take(self.heads.finals))?,
            validation: Vec::new(),
            c: self.heads.c,
            gamma: None,
            sigmoids: Vec::new(),
            fit: self.fit.as_ref().map(Fit::copied).transpose()?,
            rows: self.facts.rows as u64,
            resident: false,
            passes: self.passes,
            visits: self.visits,
            updates: 0,
            evictions: 0,
            replaced: 0,
            newton: true,
        })
    }

    /// What it is at.
    pub fn stage(&self) -> Stage {
        self.heads.stage
    }
}
