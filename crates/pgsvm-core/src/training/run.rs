//! A training under way: the form its rows are in, and its stages, see [`crate::objective::plan`].

use std::sync::Arc;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory};
use crate::base::random::{Random, Stream};
use crate::base::step::Step;
use crate::cache::TrainerSide;
use crate::objective::calibration::Calibrations;
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::plan::{Candidate, Goal, Layout, Purpose};
use crate::objective::problem::Problem;
use crate::objective::report::{
    Doubt, Fit, HeadReport, Stage, StopReason, TrainerReport, Validation,
};
use crate::objective::scoring::Scoring;
use crate::rows::facts::Facts;
use crate::screening::measuring::{Leeways, Measuring};
use crate::screening::slack::Metric;
use crate::simd::Real;
use crate::solver::constant_heads::ConstantHeads;
use crate::solver::driver::Method;
use crate::solver::ledger::Ledgers;
use crate::solver::newton::choice;
use crate::solver::recount::{first_to_recount, Recount, Recounting};
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::evaluating::Evaluation;
use crate::training::held_out::HeldOutDecisions;
use crate::training::log::{Log, LogEntry, Snapshot};
use crate::training::nu::NuSearch;
use crate::training::schedule;
use crate::training::schedule::interface::Schedule;
use crate::training::schedule::survey::{Sample, Survey};
use crate::training::search::Search;
use crate::training::stage::{hand_over_some, start_some, sum_some, StageHeads};
use crate::training::tallies::Tallies;

pub(super) struct Run<T> {
    schedule: Box<dyn Schedule<T>>,
    facts: Facts,
    /// By class, see [`TrainerSide::positive_weights`].
    positive_weights: Arc<Vec<f32>>,
    /// Rows that are trained with one another between two passes over all.
    together: usize,
    /// Whether all rows are in the cache.
    resident: bool,
    problem: Problem,
    /// Those of the stage.
    heads: StageHeads,
    activity: Activity<T>,
    search: Search,
    /// By final head, what it begins from: the dual variables of held-out heads at the best C so far.
    begun: Vec<Vec<f32>>,
    /// How many times those, where bounds are others.
    times: f32,
    /// The C whose held-out heads come next, once the dual variables of those there are have been handed over.
    next: Option<f64>,
    /// Visits and updates of the stages before.
    visits: u64,
    updates: u64,
    /// The metrics to measure leeways in, empty to learn them; None where leeways are not wanted.
    wants_leeways: Option<Vec<Metric>>,
    /// The margin below which rows held out are doubted; None where that is not wanted.
    doubts_below: Option<f64>,
    /// By class its place in the order of labels, where that is known.
    class_ranks: Vec<u32>,
    found: Found,
}

/// What is noted on the way, besides the log.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The margin below which rows held out are doubted; None where that is not wanted.
    pub(super) doubts_below: Option<f64>,
    /// Whether weights are kept.
    pub(super) weights: bool,
    /// By class its place in the order of labels, where that is known.
    pub(super) class_ranks: Vec<u32>,
}

/// What a training finds besides its heads.
#[derive(Default)]
struct Found {
    validation: Vec<Validation>,
    calibrations: Calibrations,
    leeways: Option<Leeways>,
    doubts: Vec<Doubt>,
    fit: Option<Fit>,
}

/// What a stage is at.
enum Activity<T> {
    Training,
    /// Rows are read by which heads with constant decisions are told apart: of those that stream first a sample up to this
    /// word.
    TellingApart {
        heads: Box<ConstantHeads<T>>,
        seen: usize,
    },
    /// The pass in which held-out heads decide.
    Deciding(Box<HeldOutDecisions>),
    Evaluating(Box<Evaluation>),
    /// Dual variables are added up, up to this row, where their share of their bounds decides about C.
    Summing {
        row: usize,
        sum: f64,
    },
    /// Dual variables are handed over to the next final heads, each from the mean of some heads: those found so far, head by head.
    HandingOver {
        sources: Vec<Vec<usize>>,
        duals: Vec<Vec<f32>>,
    },
    /// The final heads are given those that they begin from: how many heads have all, and rows the next one has.
    Starting {
        solver: Box<Solver<T>>,
        duals: Vec<Vec<f32>>,
        at: (usize, usize),
    },
    /// All rows are read at the weights that are stored.
    Recounting(Box<Recounting>),
    /// Rows are looked at, of those that stream a sample up to this word; then they are ranked.
    Surveying {
        survey: Box<Survey>,
        seen: usize,
    },
    Ranking(Box<Survey>),
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
        mut side: TrainerSide,
        started: Instant,
    ) -> Result<Self, TrainError> {
        let (facts, together) = schedule::facts_of(&side)?;
        let positive_weights = Arc::new(side.positive_weights()?);
        let resident = matches!(side, TrainerSide::Resident(..));
        let heads = StageHeads::first(goal, problem, &facts, &positive_weights)?;
        if choice::refuses(problem) {
            return Err(TrainError::NewtonLoss);
        }
        let solver = heads.solver(start, problem, &facts, together)?;
        let random = Random::new(problem.seed(), Stream::Trainer);
        let log = Log::new(started, &facts, heads.specs.len());
        let learns = wants_leeways.as_ref().is_some_and(Vec::is_empty) && heads.specs.len() == 1;
        let mut schedule = schedule::begin(solver, side, problem, random, log, learns)?;
        if let Some(layout) = &heads.layout {
            schedule.keep_sample(Sample::new(&facts, layout));
        }
        Ok(Self {
            schedule,
            facts,
            positive_weights,
            together,
            resident,
            problem: *problem,
            search: match &heads.plan {
                Some(plan) => Search::new(plan.scoring, plan.beyond),
                None => Search::new(Scoring::Accuracy, 0),
            },
            heads,
            begun: Vec::new(),
            times: 1.0,
            next: None,
            activity: Activity::Training,
            visits: 0,
            updates: 0,
            wants_leeways,
            doubts_below: None,
            class_ranks: Vec::new(),
            found: Found::default(),
        })
    }

    pub(super) fn step(&mut self, budget_values: usize, stop: bool) -> Result<Step, TrainError> {
        if stop {
            self.schedule.solver_mut().stop();
            self.settle_log();
            self.activity = Activity::Ended;
        }
        match &mut self.activity {
            Activity::Training => {
                let heads = self.schedule.solver().running_heads().max(1);
                let step = self.schedule.step((budget_values / heads).max(1))?;
                if step == Step::Done {
                    return self.begin_to_tell_apart();
                }
                Ok(step)
            }
            Activity::TellingApart { .. } => self.tell_apart_some(budget_values),
            Activity::Deciding(held_out) => {
                let step = self.schedule.read(&mut **held_out, budget_values);
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
            Activity::Summing { row, sum } => {
                match sum_some(self.schedule.solver(), (0, self.facts.rows), (row, sum)) {
                    Step::Done => self.end_summing(),
                    step => Ok(step),
                }
            }
            Activity::HandingOver { sources, duals } => {
                match hand_over_some(self.schedule.solver(), sources, duals, self.facts.rows)? {
                    Step::Done => self.end_handing_over(),
                    step => Ok(step),
                }
            }
            Activity::Starting { solver, duals, at } => {
                match start_some(solver, (duals, self.times), at) {
                    Step::Done => self.end_starting(),
                    step => Ok(step),
                }
            }
            Activity::Recounting(recounting) => {
                match self.schedule.read(&mut **recounting, budget_values) {
                    Step::Done => self.end_recounting(),
                    step => Ok(step),
                }
            }
            Activity::Surveying { .. } => self.evaluate_some(budget_values),
            Activity::Ranking(survey) => match survey.rank() {
                true => self.end_survey(),
                false => Ok(Step::Progress),
            },
            Activity::Measuring(measuring) => {
                let step = self.schedule.read(&mut **measuring, budget_values);
                if step == Step::Done {
                    return Ok(self.end_measuring());
                }
                Ok(step)
            }
            Activity::Ended => Ok(Step::Done),
        }
    }

    /// Has rows looked at: those in the cache, or of rows that stream the sample.
    fn evaluate_some(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let Activity::Surveying { survey, seen } = &mut self.activity else {
            return Ok(Step::Done);
        };
        let solver = self.schedule.solver();
        let done = match self.schedule.sample().filter(|_| !self.resident) {
            Some(sample) => sample.read(seen, solver, self.facts.dense, &mut **survey),
            None => self.schedule.read(&mut **survey, budget_values) == Step::Done,
        };
        if done {
            self.begin_ranking();
        }
        Ok(Step::Progress)
    }

    /// The heads of the stage have ended: final ones with constant decisions are told apart.
    fn begin_to_tell_apart(&mut self) -> Result<Step, TrainError> {
        let solver = self.schedule.solver();
        // those that judge a C are judged as they are
        let finals = &self.heads.specs[..self.heads.finals];
        let found = ConstantHeads::of(solver, &self.problem, finals, &self.facts)?;
        let Some(heads) = found else {
            return self.end_training();
        };
        if self.sampled().is_none() {
            self.schedule.begin_reading(!self.resident);
        }
        self.activity = Activity::TellingApart {
            heads: Box::new(heads),
            seen: 0,
        };
        Ok(Step::Progress)
    }

    /// Of rows that stream the sample, where one was kept.
    fn sampled(&self) -> Option<&Sample> {
        self.schedule.sample().filter(|_| !self.resident)
    }

    fn tell_apart_some(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let Activity::TellingApart { heads, seen } = &mut self.activity else {
            return Ok(Step::Done);
        };
        let sample = self.schedule.sample();
        let done = match sample.filter(|_| !self.resident && heads.wants_means()) {
            Some(sample) => {
                sample.read(seen, self.schedule.solver(), self.facts.dense, &mut **heads)
            }
            None => match self.schedule.read(&mut **heads, budget_values) {
                Step::Done => true,
                step => return Ok(step),
            },
        };
        match done {
            true => self.end_telling_apart(),
            false => Ok(Step::Progress),
        }
    }

    fn end_telling_apart(&mut self) -> Result<Step, TrainError> {
        if let Activity::TellingApart { mut heads, seen } =
            std::mem::replace(&mut self.activity, Activity::Ended)
        {
            if heads.end_pass(&self.facts)? {
                self.schedule.begin_reading(!self.resident);
                self.activity = Activity::TellingApart { heads, seen };
                return Ok(Step::Progress);
            }
            heads.put(self.schedule.solver_mut())?;
        }
        self.end_training()
    }

    /// The heads of the stage have ended for good.
    fn end_training(&mut self) -> Result<Step, TrainError> {
        self.settle_log();
        let Some(plan) = &self.heads.plan else {
            return self.end_final_heads();
        };
        let (groups, folds) = (self.facts.groups, self.facts.folds);
        let layout = Layout::new(plan, groups, folds, &self.positive_weights)?;
        let held_out = HeldOutDecisions::new(plan, layout, self.heads.finals, &self.facts)?;
        self.activity = Activity::Deciding(Box::new(held_out));
        self.schedule.begin_reading(true);
        Ok(Step::Progress)
    }

    /// The final heads have ended: where it is nu that is given, their C may not be the one yet.
    fn end_final_heads(&mut self) -> Result<Step, TrainError> {
        if self.heads.nu.is_none() {
            return self.begin_recounting();
        }
        self.activity = Activity::Summing { row: 0, sum: 0.0 };
        Ok(Step::Progress)
    }

    fn end_summing(&mut self) -> Result<Step, TrainError> {
        let sum = match self.activity {
            Activity::Summing { sum, .. } => sum,
            _ => 0.0,
        };
        let Some(nu) = &mut self.heads.nu else {
            return self.begin_recounting();
        };
        let before = nu.c();
        let share = sum / (before * self.facts.costs);
        if !nu.goes_on(share) {
            return self.begin_recounting();
        }
        if nu.fails() {
            return Err(TrainError::NoPlane {
                nu: nu.nu(),
                least: share,
            });
        }
        self.times = (nu.c() / before) as f32;
        self.activity = Activity::HandingOver {
            sources: vec![vec![0]],
            duals: Vec::new(),
        };
        Ok(Step::Progress)
    }

    /// Has no entry of the log say more than what the heads have ended with.
    fn settle_log(&mut self) {
        let solver = self.schedule.solver();
        let (primal, dual) = (solver.known_primal(), solver.known_dual());
        let gap = solver.gap();
        self.schedule.log_mut().settle(primal, dual, gap);
    }

    /// The final heads have ended: what all rows come to at their weights is summed up, where no pass has done that.
    fn begin_recounting(&mut self) -> Result<Step, TrainError> {
        let (solver, finals) = (self.schedule.solver(), self.heads.finals);
        let Some(first) = first_to_recount(solver, finals, &self.facts) else {
            return self.begin_survey();
        };
        let specs = &self.heads.specs[..finals];
        let recount = Recount::of(solver, &self.problem, specs, &self.facts, first)?;
        self.activity = Activity::Recounting(Box::new(Recounting {
            first,
            sums: recount.begin()?,
            recount,
        }));
        self.schedule.begin_reading(!self.resident);
        Ok(Step::Progress)
    }

    fn end_recounting(&mut self) -> Result<Step, TrainError> {
        let activity = std::mem::replace(&mut self.activity, Activity::Ended);
        if let Activity::Recounting(recounting) = activity {
            let Recounting {
                first,
                recount,
                sums,
            } = *recounting;
            let (free, solver) = (self.problem.free_intercept(), self.schedule.solver_mut());
            recount.tell(solver, (first, free), &sums);
            let (pass, solver) = (self.schedule.tallies().passes, self.schedule.solver());
            let certificate = (solver.known_primal(), solver.known_dual());
            let gap = solver.gap();
            self.schedule.log_mut().end_with(pass, certificate, gap);
        }
        self.begin_recounting()
    }

    /// What the final heads make of their rows is looked at where that is wanted.
    fn begin_survey(&mut self) -> Result<Step, TrainError> {
        let Some(layout) = self.heads.layout.take().filter(|it| it.classes() > 1) else {
            return self.begin_measuring();
        };
        let survey = Survey::new(
            layout,
            &self.facts,
            &self.found.calibrations.heads,
            &self.class_ranks,
            self.heads.bar(),
        )?;
        if self.resident {
            self.schedule.begin_reading(false);
        }
        self.activity = Activity::Surveying {
            survey: Box::new(survey),
            seen: 0,
        };
        Ok(Step::Progress)
    }

    fn begin_ranking(&mut self) {
        self.activity = match std::mem::replace(&mut self.activity, Activity::Ended) {
            Activity::Surveying { survey, .. } => Activity::Ranking(survey),
            other => other,
        };
    }

    fn end_survey(&mut self) -> Result<Step, TrainError> {
        if let Activity::Ranking(survey) = std::mem::replace(&mut self.activity, Activity::Ended) {
            self.found.fit = survey.finish();
        }
        self.begin_measuring()
    }

    /// The final heads have ended: their rows get leeways where that is wanted and can be.
    fn begin_measuring(&mut self) -> Result<Step, TrainError> {
        self.activity = Activity::Ended;
        let (Some(given), [spec]) = (self.wants_leeways.take(), self.heads.specs.as_slice()) else {
            return Ok(Step::Done);
        };
        let arrived = |report: &HeadReport| report.stop == Some(StopReason::Tolerance);
        let all_arrived = self
            .solver()
            .reports(self.facts.rows)
            .all(|it| arrived(&it));
        if !all_arrived {
            return Ok(Step::Done);
        }
        let metrics = match given.len() < self.facts.groups {
            true => self.schedule.metrics()?,
            false => given,
        };
        if metrics.is_empty() {
            return Ok(Step::Done);
        }
        let measuring = Measuring::new(spec, &self.facts, metrics)?;
        // rows that are all in the cache are looked at once more, which is no pass
        self.schedule.begin_reading(!self.resident);
        self.activity = Activity::Measuring(Box::new(measuring));
        Ok(Step::Progress)
    }

    fn end_measuring(&mut self) -> Step {
        if let Activity::Measuring(measuring) =
            std::mem::replace(&mut self.activity, Activity::Ended)
        {
            self.found.leeways = Some(measuring.finish());
        }
        Step::Done
    }

    /// Where nu is given, the search for its C, and the costs of all rows.
    pub(super) fn nu(&self) -> Option<(&NuSearch, f64)> {
        let nu = self.heads.nu.as_ref()?;
        Some((nu, self.facts.costs))
    }

    pub(super) fn epsilon(&self) -> Option<f64> {
        self.facts.epsilon
    }

    /// The same with more noted on the way.
    pub(super) fn class_ranks(&self) -> &[u32] {
        &self.class_ranks
    }

    pub(super) fn noting(mut self, notes: Notes) -> Self {
        self.doubts_below = notes.doubts_below;
        self.class_ranks = notes.class_ranks;
        if notes.weights {
            self.schedule.log_mut().watch(self.heads.specs.len());
        }
        self
    }

    /// Weights on the way.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.schedule.log().snapshots()
    }

    /// Rows held out that are doubted.
    pub(super) fn doubts(&self) -> &[Doubt] {
        &self.found.doubts
    }

    /// The leeways of the rows, once they are measured.
    pub(super) fn leeways(&self) -> Option<&Leeways> {
        self.found.leeways.as_ref()
    }

    /// Every held-out row has been decided.
    fn end_deciding(&mut self) -> Result<Step, TrainError> {
        let Activity::Deciding(held_out) = std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        let reports = gathered(self.schedule.solver().reports(self.facts.rows))?;
        let evaluation = Evaluation::new(*held_out, reports)?;
        self.activity = Activity::Evaluating(Box::new(evaluation));
        Ok(Step::Progress)
    }

    /// Held-out decisions have been evaluated: other C are tried or the final heads are trained, unless those are already, or
    /// are not wanted.
    fn end_evaluating(&mut self) -> Result<Step, TrainError> {
        let Activity::Evaluating(evaluation) =
            std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        let doubts = self.doubts_below.map(|below| evaluation.doubts(below));
        let doubts = doubts.transpose()?;
        let mut verdict = evaluation.verdict();
        self.keep_validation(std::mem::take(&mut verdict.validation))?;
        let (costs, purpose) = match &self.heads.plan {
            Some(plan) => (plan.costs.as_slice(), plan.purpose),
            None => return Ok(Step::Done),
        };
        let is_best = self.search.take(costs, &verdict);
        if is_best {
            self.found.calibrations = std::mem::take(&mut verdict.calibrations);
            self.heads.chosen = Some(verdict.best);
            self.found.doubts = doubts.unwrap_or_default();
        }
        self.next = self.search.next();
        match (purpose, is_best) {
            (Purpose::Train, true) if self.heads.finals == 0 => {
                self.activity = Activity::HandingOver {
                    sources: verdict.sources,
                    duals: Vec::new(),
                };
                Ok(Step::Progress)
            }
            (Purpose::Train, _) if self.heads.finals > 0 => {
                self.heads.plan = None;
                self.begin_recounting()
            }
            _ => self.begin_next_stage(),
        }
    }

    fn keep_validation(&mut self, more: Vec<Validation>) -> Result<(), TrainError> {
        let bytes = size_of_val(&more[..]) as u64;
        let room = self.found.validation.try_reserve(more.len());
        room.map_err(|_| TrainError::OutOfMemory { bytes })?;
        self.found.validation.extend(more);
        Ok(())
    }

    /// The best held-out heads so far have handed over what the final ones begin from.
    fn end_handing_over(&mut self) -> Result<Step, TrainError> {
        if let Activity::HandingOver { duals, .. } =
            std::mem::replace(&mut self.activity, Activity::Ended)
        {
            self.begun = duals;
        }
        match self.heads.nu.is_some() {
            true => self.begin_stage(|this| {
                this.heads.take_c_of_nu();
                Ok(std::mem::take(&mut this.begun))
            }),
            false => self.begin_next_stage(),
        }
    }

    /// Begins to try the next C, or to train the final heads.
    fn begin_next_stage(&mut self) -> Result<Step, TrainError> {
        let (Some(plan), Some(chosen)) = (&self.heads.plan, self.heads.chosen) else {
            return Ok(Step::Done);
        };
        if self.next.is_none() && plan.purpose == Purpose::Validate {
            return Ok(Step::Done);
        }
        self.begin_stage(|this| this.lay_out_next_stage(chosen))
    }

    /// Begins a stage whose heads are laid out so, which says what they begin from.
    fn begin_stage(
        &mut self,
        lay_out: impl FnOnce(&mut Self) -> Result<Vec<Vec<f32>>, TrainError>,
    ) -> Result<Step, TrainError> {
        self.visits += self.schedule.solver().visits();
        self.updates += self.schedule.solver().updates();
        self.schedule.log_mut().carry_on(self.visits, self.updates);
        // the heads that have ended give their memory back first
        *self.schedule.solver_mut() = Solver::new(&self.problem, &[], &self.facts, self.together)?;
        let begun = lay_out(self)?;
        let mut solver = Solver::new(&self.problem, &self.heads.specs, &self.facts, self.together)?;
        (0..begun.len()).for_each(|head| solver.begin_elsewhere(head, false));
        self.activity = Activity::Starting {
            solver: Box::new(solver),
            duals: begun,
            at: (0, 0),
        };
        Ok(Step::Progress)
    }

    /// The heads of the next stage, final ones of what was chosen where no other is tried; returns what they begin from.
    fn lay_out_next_stage(&mut self, chosen: Candidate) -> Result<Vec<Vec<f32>>, TrainError> {
        self.heads.specs.clear();
        let Some(plan) = &mut self.heads.plan else {
            return Ok(Vec::new());
        };
        let (groups, folds) = (self.facts.groups, self.facts.folds);
        let layout = Layout::new(plan, groups, folds, &self.positive_weights)?;
        if let Some(next) = self.next.take() {
            plan.costs = vec![next];
            layout.add_held_out(plan.candidates(), &self.problem, &mut self.heads.specs)?;
            self.heads.stage = Stage::Beyond;
            return Ok(Vec::new());
        }
        layout.add_final(chosen, &mut self.heads.specs)?;
        self.heads.finals = self.heads.specs.len();
        self.heads.plan = None;
        (self.heads.stage, self.heads.folds) = (Stage::Final, 0);
        // the lengths of Pegasos' steps are those of a beginning from nothing, and the mean of dual variables over different
        // outliers says nothing
        let anew = self.problem.pegasos().is_some() || self.problem.truncation().is_some();
        match anew {
            false => Ok(std::mem::take(&mut self.begun)),
            true => Ok(Vec::new()),
        }
    }

    /// The final heads have what they begin from.
    fn end_starting(&mut self) -> Result<Step, TrainError> {
        let Activity::Starting { solver, .. } =
            std::mem::replace(&mut self.activity, Activity::Ended)
        else {
            return Ok(Step::Done);
        };
        self.schedule.restart(*solver)?;
        self.activity = Activity::Training;
        Ok(Step::Progress)
    }

    pub(super) fn solver(&self) -> &Solver<T> {
        self.schedule.solver()
    }

    pub(super) fn log(&self) -> Result<Vec<LogEntry>, OutOfMemory> {
        gathered(self.schedule.log().entries())
    }

    /// The heads of the stage, held-out ones behind the final ones, and how they stand.
    pub(super) fn heads(&self) -> Result<(&[HeadSpec], Vec<HeadReport>), OutOfMemory> {
        let reports = gathered(self.solver().reports(self.facts.rows))?;
        Ok((&self.heads.specs, reports))
    }

    /// What is being trained: the stage, its heads and those that run, its folds.
    pub(super) fn stage(&self) -> (Stage, usize, usize, usize) {
        let running = self.solver().running_heads();
        (
            self.heads.stage,
            self.heads.specs.len(),
            running,
            self.heads.folds,
        )
    }

    pub(super) fn progress(&self) -> (Tallies, u64, u64, f64) {
        let solver = self.solver();
        let gap = solver.gap().unwrap_or(f64::NAN);
        let visits = self.visits + solver.visits();
        let updates = self.updates + solver.updates();
        (self.schedule.tallies(), visits, updates, gap)
    }

    pub(super) fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        let (tallies, visits, updates, _) = self.progress();
        let heads = self
            .solver()
            .reports(self.facts.rows)
            .take(self.heads.finals);
        Ok(TrainerReport {
            heads: gathered(heads)?,
            validation: gathered(self.found.validation.iter().cloned())?,
            c: self.heads.chosen.map(|it| it.c),
            truncation: self.heads.chosen.and_then(|it| it.truncation),
            gamma: None,
            epsilon: None,
            nu: self.heads.nu.as_ref().map(NuSearch::reached),
            calibrations: self.found.calibrations.copied()?,
            fit: self.found.fit.as_ref().map(Fit::copied).transpose()?,
            rows: self.facts.rows as u64,
            resident: self.resident,
            passes: tallies.passes,
            visits,
            updates,
            evictions: tallies.evictions,
            replaced: tallies.replaced,
            newton: self.solver().was_by_newton(),
            in_pairs: self
                .heads
                .specs
                .first()
                .is_some_and(|spec| spec.signs.is_of_pair()),
        })
    }
}
