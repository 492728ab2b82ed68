//! A training under way: the form its rows are in, and its stages, see [`crate::task::plan`].

use std::time::Instant;

use crate::base::memory::{copied, gathered, OutOfMemory};
use crate::base::random::{Random, Stream};
use crate::cache::{Facts, TrainerSide};
use crate::screening::measuring::{Leeways, Measuring};
use crate::screening::slack::Metric;
use crate::simd::Real;
use crate::solver::Solver;
use crate::task::evaluation::Sigmoid;
use crate::task::plan::{Goal, Layout, Plan, Purpose};
use crate::task::problem::{Policy, Problem};
use crate::training::held_out::{Evaluation, HeldOut, Verdict, ROWS_A_STEP};
use crate::training::log::{Log, LogEntry};
use crate::training::schedule::block::Block;
use crate::training::schedule::pegasos::Pegasos;
use crate::training::schedule::resident::Resident;
use crate::training::schedule::streaming::{kept_rows, Streaming};
use crate::training::{
    HeadReport, HeadSpec, Start, StopReason, Tallies, TrainError, TrainerReport, Validation,
};
use crate::Step;

pub(super) struct Run<T> {
    form: Form<T>,
    facts: Facts,
    /// Rows that are trained with one another between two passes over all.
    together: usize,
    /// Whether all rows are in the cache.
    resident: bool,
    problem: Problem,
    /// The heads of the stage, and how many of them, the first ones, are final.
    specs: Vec<HeadSpec>,
    finals: usize,
    /// What is to be done when the heads of the stage have ended; None after the last stage.
    plan: Option<Plan>,
    activity: Activity<T>,
    /// Visits and updates of the stage before.
    visits: u64,
    updates: u64,
    validation: Vec<Validation>,
    c: Option<f64>,
    sigmoids: Vec<Sigmoid>,
    /// The metrics to measure leeways in, empty to learn them; None where leeways are not wanted.
    wants_leeways: Option<Vec<Metric>>,
    leeways: Option<Leeways>,
}

enum Form<T> {
    Resident(Box<Resident<T>>),
    Streaming(Box<Streaming<T>>),
    Block(Box<Block<T>>),
    Pegasos(Box<Pegasos<T>>),
}

/// What a stage is at.
enum Activity<T> {
    Training,
    /// The pass in which held-out heads decide.
    Deciding(Box<HeldOut>),
    Evaluating(Box<Evaluation>),
    /// Dual variables go over from held-out heads to final ones: those found so far, head by head.
    HandingOver(Box<Verdict>, Vec<Vec<f32>>),
    /// The final heads are given those that they begin from: how many heads have all, and rows the next one has.
    Starting(Box<Solver<T>>, Vec<Vec<f32>>, (usize, usize)),
    /// The rows of the only head are given their leeways.
    Measuring(Box<Measuring>),
    Ended,
}

impl<T: Real> Run<T> {
    pub(super) fn new(
        problem: &Problem,
        goal: &Goal,
        start: Vec<Start>,
        wants_leeways: Option<Vec<Metric>>,
        side: TrainerSide,
        started: Instant,
    ) -> Result<Self, TrainError> {
        let (facts, together) = match &side {
            TrainerSide::Resident(facts, _) => (*facts, facts.rows),
            TrainerSide::Streaming(facts, region, _) => (*facts, kept_rows(region.len(), facts)),
            TrainerSide::Waiting(_) | TrainerSide::Ended => return Err(TrainError::ReaderFailed),
        };
        let resident = matches!(side, TrainerSide::Resident(..));
        let (mut specs, mut finals, mut held_out_by, mut c) = (Vec::new(), 0, None, None);
        match goal {
            Goal::Heads(heads) => {
                specs.clone_from(heads);
                finals = heads.len();
            }
            Goal::Plan(plan) => {
                let layout = Layout::new(plan, facts.groups, facts.folds)?;
                if let ([only], Purpose::Train) = (plan.costs.as_slice(), plan.purpose) {
                    layout.add_final(*only, &mut specs)?;
                    finals = specs.len();
                    c = Some(*only);
                }
                if plan.holds_out() {
                    layout.add_held_out(&plan.costs, problem, &mut specs)?;
                    held_out_by = Some(plan.clone());
                }
            }
        }
        let random = Random::new(problem.seed(), Stream::Trainer);
        let mut solver = Solver::new(problem, &specs, &facts, together)?;
        if !start.is_empty() && start.len() != finals {
            return Err(TrainError::Start { head: start.len() });
        }
        for (head, start) in start.into_iter().enumerate() {
            let length = facts.features + 1;
            let fits = |weights: &Vec<f64>| weights.len() == length;
            if start.duals.len() != facts.rows || !start.weights.as_ref().is_none_or(fits) {
                return Err(TrainError::Start { head });
            }
            // Pegasos' step lengths are those of a beginning from nothing
            if problem.pegasos().is_none() {
                solver.set_start(head, start);
            }
        }
        let log = Log::new(started, &facts, specs.len());
        let form = match side {
            side if problem.pegasos().is_some() => {
                Form::Pegasos(Box::new(Pegasos::new(solver, side, problem, random, log)?))
            }
            TrainerSide::Resident(facts, arena) => Form::Resident(Box::new(Resident::new(
                solver,
                facts,
                arena,
                random,
                problem.trainers(),
                log,
            )?)),
            TrainerSide::Streaming(_, region, consumer) => match problem.policy() {
                Policy::Cached | Policy::Paper => {
                    let mut streaming =
                        Streaming::new(solver, facts, region, consumer, problem, random, log)?;
                    if wants_leeways.as_ref().is_some_and(Vec::is_empty) && specs.len() == 1 {
                        streaming.learn_metrics()?;
                    }
                    Form::Streaming(Box::new(streaming))
                }
                Policy::Block | Policy::SelectiveBlock => Form::Block(Box::new(Block::new(
                    solver, facts, region, consumer, problem, random, log,
                )?)),
            },
            TrainerSide::Waiting(_) | TrainerSide::Ended => return Err(TrainError::ReaderFailed),
        };
        Ok(Self {
            form,
            facts,
            together,
            resident,
            problem: *problem,
            specs,
            finals,
            plan: held_out_by,
            activity: Activity::Training,
            visits: 0,
            updates: 0,
            validation: Vec::new(),
            c,
            sigmoids: Vec::new(),
            wants_leeways,
            leeways: None,
        })
    }

    pub(super) fn step(&mut self, budget_values: usize, stop: bool) -> Result<Step, TrainError> {
        if stop {
            self.form.solver_mut().stop();
            self.activity = Activity::Ended;
        }
        match &mut self.activity {
            Activity::Training => {
                let heads = self.form.solver().running_heads().max(1);
                let step = self.form.step((budget_values / heads).max(1))?;
                if step == Step::Done {
                    return self.end_training();
                }
                Ok(step)
            }
            Activity::Deciding(held_out) => {
                let step = self.form.decide(held_out, budget_values);
                if step == Step::Done {
                    return self.end_deciding();
                }
                Ok(step)
            }
            Activity::Evaluating(evaluation) => {
                if evaluation.step()? {
                    return self.end_evaluating();
                }
                Ok(Step::Progress)
            }
            Activity::HandingOver(verdict, duals) => {
                let (rows, begun) = (self.facts.rows, duals.len());
                if let Some(means) = duals.last_mut().filter(|means| means.len() < rows) {
                    let end = rows.min(means.len() + ROWS_A_STEP);
                    add_mean_duals(self.form.solver(), &verdict.sources[begun - 1], end, means);
                    return Ok(Step::Progress);
                }
                if begun == verdict.sources.len() {
                    return self.end_handing_over();
                }
                let (mut means, bytes) = (Vec::new(), 4 * rows as u64);
                means
                    .try_reserve_exact(rows)
                    .map_err(|_| TrainError::OutOfMemory { bytes })?;
                duals.push(means);
                Ok(Step::Progress)
            }
            Activity::Starting(solver, duals, (head, row)) => {
                let Some(all) = duals.get_mut(*head) else {
                    return self.end_starting();
                };
                let end = all.len().min(*row + ROWS_A_STEP);
                solver.put_duals(*head, *row, &all[*row..end]);
                *row = end;
                if end == all.len() {
                    *all = Vec::new();
                    (*head, *row) = (*head + 1, 0);
                }
                Ok(Step::Progress)
            }
            Activity::Measuring(measuring) => {
                let step = self.form.measure(measuring, budget_values);
                if step == Step::Done {
                    return Ok(self.end_measuring());
                }
                Ok(step)
            }
            Activity::Ended => Ok(Step::Done),
        }
    }

    /// The heads of the stage have ended.
    fn end_training(&mut self) -> Result<Step, TrainError> {
        let Some(plan) = &self.plan else {
            return self.begin_measuring();
        };
        let layout = Layout::new(plan, self.facts.groups, self.facts.folds)?;
        let held_out = HeldOut::new(plan, layout, self.finals, self.facts.rows)?;
        self.activity = Activity::Deciding(Box::new(held_out));
        self.form.begin_deciding();
        Ok(Step::Progress)
    }

    /// The final heads have ended: their rows get leeways where that is wanted and can be.
    fn begin_measuring(&mut self) -> Result<Step, TrainError> {
        self.activity = Activity::Ended;
        let (Some(given), [spec]) = (self.wants_leeways.take(), self.specs.as_slice()) else {
            return Ok(Step::Done);
        };
        let arrived = |report: &HeadReport| report.stop == Some(StopReason::Tolerance);
        if !self
            .solver()
            .reports(self.facts.rows)
            .all(|it| arrived(&it))
        {
            return Ok(Step::Done);
        }
        let metrics = match given.len() < self.facts.groups {
            true => self.form.metrics()?,
            false => given,
        };
        if metrics.is_empty() {
            return Ok(Step::Done);
        }
        let measuring = Measuring::new(spec, &self.facts, metrics)?;
        if let Form::Streaming(streaming) = &mut self.form {
            streaming.begin_measuring();
        }
        self.activity = Activity::Measuring(Box::new(measuring));
        Ok(Step::Progress)
    }

    fn end_measuring(&mut self) -> Step {
        if let Activity::Measuring(measuring) =
            std::mem::replace(&mut self.activity, Activity::Ended)
        {
            self.leeways = Some(measuring.finish());
        }
        Step::Done
    }

    /// The leeways of the rows, once they are measured.
    pub(super) fn leeways(&self) -> Option<&Leeways> {
        self.leeways.as_ref()
    }

    /// Every held-out row has been decided.
    fn end_deciding(&mut self) -> Result<Step, TrainError> {
        let Activity::Deciding(held_out) = std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        let reports = gathered(self.form.solver().reports(self.facts.rows))?;
        let evaluation = Evaluation::new(*held_out, reports)?;
        self.activity = Activity::Evaluating(Box::new(evaluation));
        Ok(Step::Progress)
    }

    /// Held-out decisions have been evaluated: the final heads are trained unless they are already, or are not wanted.
    fn end_evaluating(&mut self) -> Result<Step, TrainError> {
        let Activity::Evaluating(evaluation) =
            std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        let mut verdict = evaluation.verdict();
        self.validation = std::mem::take(&mut verdict.validation);
        self.sigmoids = std::mem::take(&mut verdict.sigmoids);
        self.c = Some(verdict.c);
        let wanted = self
            .plan
            .take()
            .is_some_and(|plan| plan.purpose == Purpose::Train);
        if !wanted || self.finals > 0 {
            return Ok(Step::Done);
        }
        self.activity = Activity::HandingOver(Box::new(verdict), Vec::new());
        Ok(Step::Progress)
    }

    /// The final heads begin where the held-out heads of their C have come to.
    fn end_handing_over(&mut self) -> Result<Step, TrainError> {
        let Activity::HandingOver(verdict, duals) =
            std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        self.visits = self.form.solver().visits();
        self.updates = self.form.solver().updates();
        self.form.log_mut().carry_on(self.visits, self.updates);
        // the heads that have ended give their memory back first
        *self.form.solver_mut() = Solver::new(&self.problem, &[], &self.facts, self.together)?;
        self.specs.clear();
        verdict.layout.add_final(verdict.c, &mut self.specs)?;
        self.finals = self.specs.len();
        let mut solver = Solver::new(&self.problem, &self.specs, &self.facts, self.together)?;
        let begun = match self.problem.pegasos() {
            None => duals,
            Some(_) => Vec::new(),
        };
        (0..begun.len()).for_each(|head| solver.begin_elsewhere(head, false));
        self.activity = Activity::Starting(Box::new(solver), begun, (0, 0));
        Ok(Step::Progress)
    }

    /// The final heads have what they begin from.
    fn end_starting(&mut self) -> Result<Step, TrainError> {
        let Activity::Starting(solver, ..) = std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        self.form.restart(*solver)?;
        self.activity = Activity::Training;
        Ok(Step::Progress)
    }

    pub(super) fn solver(&self) -> &Solver<T> {
        self.form.solver()
    }

    pub(super) fn log(&self) -> Result<Vec<LogEntry>, OutOfMemory> {
        gathered(self.form.log().entries())
    }

    /// The heads of the stage, held-out ones behind the final ones, and how they stand.
    pub(super) fn heads(&self) -> Result<(&[HeadSpec], Vec<HeadReport>), OutOfMemory> {
        Ok((
            &self.specs,
            gathered(self.solver().reports(self.facts.rows))?,
        ))
    }

    pub(super) fn progress(&self) -> (Tallies, u64, u64, f64) {
        let solver = self.solver();
        let gap = if solver.full_passes() == 0 {
            f64::NAN
        } else {
            solver.gap()
        };
        let visits = self.visits + solver.visits();
        let updates = self.updates + solver.updates();
        (self.form.tallies(), visits, updates, gap)
    }

    pub(super) fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        let (tallies, visits, updates, _) = self.progress();
        let heads = self.solver().reports(self.facts.rows).take(self.finals);
        Ok(TrainerReport {
            heads: gathered(heads)?,
            validation: gathered(self.validation.iter().cloned())?,
            c: self.c,
            sigmoids: copied(&self.sigmoids)?,
            rows: self.facts.rows as u64,
            resident: self.resident,
            passes: tallies.passes,
            visits,
            updates,
            evictions: tallies.evictions,
            replaced: tallies.replaced,
        })
    }
}

/// Adds to `means`, up to row `end`, the mean of a row's dual variables in the heads it was trained in, which are all of
/// `heads` but its own fold's, where its dual variable is 0. Within the bounds of a head of the same C, as each of them is.
fn add_mean_duals<T: Real>(solver: &Solver<T>, heads: &[usize], end: usize, means: &mut Vec<f32>) {
    let share = (heads.len() - 1).max(1) as f64;
    let of_heads: Vec<_> = heads.iter().map(|head| solver.duals(*head)).collect();
    means.extend((means.len()..end).map(|row| {
        let duals = of_heads
            .iter()
            .map(|(all, step)| f64::from(all[row * step]));
        (duals.sum::<f64>() / share) as f32
    }));
}

impl<T: Real> Form<T> {
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        match self {
            Self::Resident(resident) => resident.step(budget_values),
            Self::Streaming(streaming) => streaming.step(budget_values),
            Self::Block(block) => block.step(budget_values),
            Self::Pegasos(pegasos) => pegasos.step(budget_values),
        }
    }

    /// Begins a pass of decisions: the heads have ended.
    fn begin_deciding(&mut self) {
        match self {
            Self::Resident(resident) => resident.begin_deciding(),
            Self::Streaming(streaming) => streaming.begin_deciding(),
            Self::Block(block) => block.begin_deciding(),
            Self::Pegasos(pegasos) => pegasos.begin_deciding(),
        }
    }

    /// Has rows decided; `Done` behind the last.
    fn decide(&mut self, held_out: &mut HeldOut, budget_values: usize) -> Step {
        match self {
            Self::Resident(resident) => resident.decide(held_out, budget_values),
            Self::Streaming(streaming) => streaming.decide(held_out, budget_values),
            Self::Block(block) => block.decide(held_out, budget_values),
            Self::Pegasos(pegasos) => pegasos.decide(held_out, budget_values),
        }
    }

    /// Metrics learned from the rows; none where rows get no leeways.
    fn metrics(&self) -> Result<Vec<Metric>, TrainError> {
        match self {
            Self::Resident(resident) => resident.metrics(),
            Self::Streaming(streaming) => Ok(streaming.metrics()),
            Self::Block(_) | Self::Pegasos(_) => Ok(Vec::new()),
        }
    }

    /// Has rows measured; `Done` behind the last.
    fn measure(&mut self, measuring: &mut Measuring, budget_values: usize) -> Step {
        match self {
            Self::Resident(resident) => resident.measure(measuring, budget_values),
            Self::Streaming(streaming) => streaming.measure(measuring, budget_values),
            Self::Block(_) | Self::Pegasos(_) => Step::Done,
        }
    }

    /// Trains other heads from here on.
    fn restart(&mut self, solver: Solver<T>) -> Result<(), TrainError> {
        match self {
            Self::Resident(resident) => resident.restart(solver),
            Self::Streaming(streaming) => streaming.restart(solver),
            Self::Block(block) => block.restart(solver),
            Self::Pegasos(pegasos) => pegasos.restart(solver),
        }
    }

    fn solver(&self) -> &Solver<T> {
        match self {
            Self::Resident(resident) => resident.solver(),
            Self::Streaming(streaming) => streaming.solver(),
            Self::Block(block) => block.solver(),
            Self::Pegasos(pegasos) => pegasos.solver(),
        }
    }

    fn solver_mut(&mut self) -> &mut Solver<T> {
        match self {
            Self::Resident(resident) => resident.solver_mut(),
            Self::Streaming(streaming) => streaming.solver_mut(),
            Self::Block(block) => block.solver_mut(),
            Self::Pegasos(pegasos) => pegasos.solver_mut(),
        }
    }

    fn log(&self) -> &Log {
        match self {
            Self::Resident(resident) => resident.log(),
            Self::Streaming(streaming) => streaming.log(),
            Self::Block(block) => block.log(),
            Self::Pegasos(pegasos) => pegasos.log(),
        }
    }

    fn log_mut(&mut self) -> &mut Log {
        match self {
            Self::Resident(resident) => resident.log_mut(),
            Self::Streaming(streaming) => streaming.log_mut(),
            Self::Block(block) => block.log_mut(),
            Self::Pegasos(pegasos) => pegasos.log_mut(),
        }
    }

    fn tallies(&self) -> Tallies {
        match self {
            Self::Resident(resident) => resident.tallies(),
            Self::Streaming(streaming) => streaming.tallies(),
            Self::Block(block) => block.tallies(),
            Self::Pegasos(pegasos) => pegasos.tallies(),
        }
    }
}
