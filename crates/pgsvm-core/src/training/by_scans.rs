//! Training by scans over rows that nobody keeps: Newton's method for the squared hinge, a bundle for the hinge.
//!
//! | symbol | is |
//! |---|---|
//! | pass | what a scan over all rows is to sum up, at the weights of the heads that run ([`ScanPass`]) |
//! | sums | those over all rows ([`ScanSums`]): what the method needs of them, and no dual variable of a row that is not held |
//! | sample | rows in memory, from which the heads begin |
//!
//! Update: the caller has all rows scanned with a pass and hands the sums back; [`crate::solver::newton::head`] and
//! [`crate::solver::bundle`] have objective, dual and step.
//! Stop: the gap over all rows is within the tolerance, for every head.
//!
//! Keerthi and DeCoste, JMLR 6, 2005. Lin, Weng and Keerthi, JMLR 9, 2008, with a scan a product, where features are many. Franc and
//! Sonnenburg, ICML 2008.

mod average;
mod deciding;
mod method;
mod packed_rows;
mod resident;
mod sampled;

use std::sync::Arc;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::step::Step;
use crate::objective::minimized::Intercept;
use crate::objective::plan::{Goal, Layout, Plan};
use crate::objective::problem::Problem;
use crate::objective::report::{Fit, TrainerReport, Validation};
use crate::objective::solver_choice::{Cuts, SolverChoice};
use crate::reader::Surveyed;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::visited::{VisitedBatch, VisitedRows};
use crate::scanning::{HeadFound, HeadScan, ScanPass, ScanSums};
use crate::solver::by_passes::bundles::Bundles;
use crate::solver::by_passes::interiors::Interiors;
use crate::solver::by_passes::newton::{ByNewton, Reading};
use crate::solver::by_passes::{Due, Over, Summed};
use crate::solver::ledger::Ledgers;
use crate::solver::recount::{first_to_recount, Recount};
use crate::solver::scanned::{DualsByRow, ScannedHeads};
use crate::solver::scans::ScanRows;
use crate::solver::weights::Weights;
use crate::training::error::TrainError;
use crate::training::evaluating::Evaluation;
use crate::training::log::{Event, Log, LogEntry, Moment, Snapshot};
use crate::training::nu::NuSearch;
use crate::training::schedule::survey::Survey;
use crate::training::stage::StageHeads;
use average::Averaging;
pub use average::{PartOrder, PartRefusal, PartRows, PartsFound};
use deciding::Deciding;
use method::ScanMethod;
use resident::ResidentRows;
pub use sampled::{Chosen, SampleSearch};

/// A training by scans.
pub struct ScanTrainer {
    facts: Facts,
    solver: ScannedHeads,
    problem: Problem,
    heads: StageHeads,
    /// What solves the heads.
    method: Box<dyn ScanMethod>,
    intercept: Intercept,
    /// Rows that are held beside the sample, where the method holds some.
    holding: Option<Holding>,
    /// Once the method has ended, the first head that is still to be recounted: see [`crate::solver::recount`].
    recounting: Option<usize>,
    /// Of a plan that holds rows out, their decisions, which come behind that; and the decisions that have arrived.
    deciding: Option<Deciding>,
    validation: Vec<Validation>,
    log: Log,
    passes: u32,
    visits: u64,
    /// Whether a scan has been taken in that is not in the log yet.
    has_scanned: bool,
    sample: Vec<u32>,
    /// Scans of the sample, by threads where it holds all rows.
    here: Option<ResidentRows>,
    is_all_here: bool,
    activity: Activity,
    fit: Option<Fit>,
    /// What has been chosen by rows held out.
    chosen: Option<Chosen>,
}

/// Rows that come along with the sums of a Hessian are there so many times at once: in each of a few processes, and on the way.
const COPIES: usize = 4;

/// Rows that are held beside the sample.
#[derive(Debug, Clone, Copy)]
pub struct Holding {
    /// What they may take.
    pub bytes: usize,
    /// Whether they are let go when others are nearer to the margin: only where all scans are by processors that round alike.
    pub lets_go: bool,
}

enum Activity {
    Training,
    /// Rows that were held out have been decided.
    Evaluating(Box<Evaluation>),
    /// The heads have ended: what they make of the sample.
    Fitting(Box<Survey>),
    Ended,
}

/// Refuses a loss that neither planes nor Newton's method minimize.
fn check_loss(problem: &Problem) -> Result<(), TrainError> {
    match problem.loss().is_smooth() && !problem.loss().is_parabola() {
        true => Err(TrainError::NewtonLoss),
        false => Ok(()),
    }
}

/// How far a training by scans is.
#[derive(Debug, Clone, Copy)]
pub struct ScanProgress {
    /// Scans that have ended.
    pub scans: u32,
    pub gap: Option<f64>,
    pub heads: usize,
    pub running_heads: usize,
    /// Rows that are held.
    pub held: u64,
}

impl ScanTrainer {
    /// Of the heads of this plan, which has one stage, over rows that were surveyed: final heads, of which [`SampleSearch`] has found before what rows
    /// held out tell; or to validate. `started`: when the training began.
    pub fn new(
        problem: &Problem,
        plan: &Plan,
        surveyed: Surveyed,
        holding: Holding,
        started: Instant,
    ) -> Result<Self, TrainError> {
        let surveyed = (surveyed, problem.kind_of_intercept());
        check_loss(problem)?;
        let this = Self::begin(problem, plan, surveyed, started, |solver, facts, sample| {
            Ok(match problem.loss().is_smooth() {
                true => {
                    let room = holding.bytes / size_of::<u32>() / COPIES;
                    let sample = Batch::new(sample, facts.dense).count();
                    let reading = Reading::Scanned { sample, room };
                    Box::new(ByNewton::new(solver, facts, reading)?)
                }
                false => {
                    let holding = (holding.bytes, holding.lets_go);
                    Box::new(Bundles::new(solver, facts, sample, holding, problem)?)
                }
            })
        })?;
        Ok(Self {
            holding: Some(holding),
            ..this
        })
    }

    /// One that averages what parts of the rows find by themselves, in place of scans until it arrives: see [`crate::solver::averaged`].
    pub fn averaging(
        problem: &Problem,
        plan: &Plan,
        surveyed: Surveyed,
        started: Instant,
    ) -> Result<Self, TrainError> {
        let surveyed = (surveyed, problem.kind_of_intercept());
        check_loss(problem)?;
        Self::begin(problem, plan, surveyed, started, |_, facts, _| {
            Ok(Box::new(Averaging::new(problem, facts)))
        })
    }

    /// One by interior points, with an intercept that is not in the norm unless the problem's solver says so: see
    /// [`crate::solver::interior`].
    pub fn interior_point(
        problem: &Problem,
        plan: &Plan,
        surveyed: Surveyed,
        started: Instant,
    ) -> Result<Self, TrainError> {
        let in_norm = match problem.solver() {
            SolverChoice::InteriorPoint(choice) => choice.in_norm,
            _ => false,
        };
        let intercept = match problem.intercept() {
            true if in_norm => Intercept::InNorm,
            true => Intercept::Free,
            false => Intercept::None,
        };
        Self::begin(
            problem,
            plan,
            (surveyed, intercept),
            started,
            |solver, _, _| Ok(Box::new(Interiors::new(solver)?)),
        )
    }

    fn begin(
        problem: &Problem,
        plan: &Plan,
        (surveyed, intercept): (Surveyed, Intercept),
        started: Instant,
        method: impl FnOnce(&ScannedHeads, &Facts, &[u32]) -> Result<Box<dyn ScanMethod>, TrainError>,
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
        let deciding = match &heads.plan {
            None => None,
            Some(plan) => {
                let layout = Layout::new(plan, facts.groups, facts.folds, &positive_weights)?;
                Some(Deciding::new(plan, layout, heads.finals, &facts)?)
            }
        };
        let problem = match problem.solver().scans() {
            true => *problem,
            false => problem
                .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
                .map_err(TrainError::Problem)?,
        };
        let solver = ScannedHeads::new(&problem, &heads.specs, &facts, intercept)?;
        Ok(Self {
            method: method(&solver, &facts, &sample)?,
            intercept,
            holding: None,
            log: Log::new(started, &facts, heads.specs.len()),
            facts,
            solver,
            problem,
            heads,
            recounting: None,
            deciding,
            validation: Vec::new(),
            passes: 0,
            visits: 0,
            has_scanned: false,
            sample,
            here: None,
            is_all_here: false,
            activity: Activity::Training,
            fit: None,
            chosen: None,
        })
    }

    /// What each part is to train whose rows may take so many bytes; None where no part is to, or all have.
    pub fn part_order(&self, bytes: usize) -> Result<Option<PartOrder>, OutOfMemory> {
        let specs = &self.heads.specs;
        self.method.part_order(&self.facts, specs, bytes)
    }

    /// Of how many parts it is the average, once they have been trained; None of other trainings.
    pub fn averaged(&self) -> Option<u32> {
        self.method.averaged()
    }

    /// Takes what all parts have found.
    pub fn take_parts(&mut self, found: PartsFound) -> Result<(), OutOfMemory> {
        self.passes += 1;
        self.method.take_parts(&self.solver, found)
    }

    /// Scans the rows itself, by threads, where the sample holds all of them; whether it does. For planes alone it keeps their outputs
    /// where they fit beside the rows into so many bytes. To be called before the first step.
    pub fn scan_resident(&mut self, threads: usize, bytes: usize) -> Result<bool, OutOfMemory> {
        if Batch::new(&self.sample, self.facts.dense).count() == self.facts.rows {
            let mut here = ResidentRows::new(&self.sample, self.facts.dense, threads)?;
            if let Some(outputs) = self.method.outputs() {
                let room = bytes.saturating_sub(size_of_val(self.sample.as_slice()));
                here.keep(outputs, room);
            }
            (self.here, self.is_all_here) = (Some(here), true);
        }
        Ok(self.is_all_here)
    }

    /// Has weights kept on the way, at entries of the log; to be called before the first step.
    pub fn keep_weights(&mut self) {
        self.log.watch(self.heads.specs.len());
    }

    /// Those weights, in order of time.
    pub fn snapshots(&self) -> Result<Vec<&Snapshot>, OutOfMemory> {
        gathered(self.log.snapshots())
    }

    /// Has the report tell what was found on rows held out: the C of the plan is that of it.
    pub fn tell_chosen(&mut self, chosen: Chosen) {
        self.chosen = Some(chosen);
    }

    /// Computes on, reading about so many values. `Blocked`: a scan is wanted, by [`Self::pass`]; `Done`: all heads have ended.
    pub fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        match std::mem::replace(&mut self.activity, Activity::Training) {
            Activity::Training => {
                let step = self.train(budget_values)?;
                if step == Step::Done {
                    self.solver.end_unfinished();
                    if self.goes_on_for_nu()? {
                        return Ok(Step::Progress);
                    }
                    match self.deciding.take() {
                        None => self.begin_fitting()?,
                        Some(deciding) => {
                            let reports = gathered(self.solver.reports(self.facts.rows))?;
                            let evaluation = Evaluation::new(deciding.into_decisions(), reports)?;
                            self.activity = Activity::Evaluating(Box::new(evaluation));
                        }
                    }
                    return Ok(Step::Progress);
                }
                Ok(step)
            }
            Activity::Evaluating(mut evaluation) => {
                match evaluation.step()? {
                    false => self.activity = Activity::Evaluating(evaluation),
                    true => {
                        let verdict = evaluation.verdict();
                        self.validation = verdict.validation;
                        self.heads.chosen = Some(verdict.best);
                        self.begin_fitting()?;
                    }
                }
                Ok(Step::Progress)
            }
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

    /// The heads have ended: where it is nu that is given, their C may not be the one yet. Whether they go on at another one, beginning at
    /// the weights found. At an optimum a m = a - C c max(0, 1 - m) in each row, so sum a = P + 1/2 |w|^2.
    fn goes_on_for_nu(&mut self) -> Result<bool, TrainError> {
        let (Some(nu), Some(holding)) = (&mut self.heads.nu, self.holding) else {
            return Ok(false);
        };
        let square: f64 = self.solver.weights(0).iter().map(|it| it * it).sum();
        let sum = self.solver.known_primal() + 0.5 * square;
        let share = sum / (nu.c() * self.facts.costs);
        if !nu.goes_on(share) {
            return Ok(false);
        }
        if nu.fails() {
            return Err(TrainError::NoPlane {
                nu: nu.nu(),
                least: share,
            });
        }
        self.heads.take_c_of_nu();
        let (problem, facts) = (&self.problem, &self.facts);
        let starts = self.method.weights_so_far(&self.solver)?;
        let holding = (holding.bytes, holding.lets_go);
        self.solver = ScannedHeads::new(problem, &self.heads.specs, facts, self.intercept)?;
        let method = Bundles::new(&self.solver, facts, &self.sample, holding, problem)?;
        self.method = Box::new(method);
        self.recounting = None;
        self.begin_at(starts)?;
        Ok(true)
    }

    fn train(&mut self, budget: usize) -> Result<Step, TrainError> {
        if self.here.as_ref().is_some_and(ResidentRows::is_running) {
            return self.go_over_rows(budget);
        }
        let due = self.due();
        match due {
            Due::Solving => {
                self.method.compute(&mut self.solver, &self.sample)?;
                return Ok(Step::Progress);
            }
            Due::Pass if self.samples() => return self.begin_pass_here(),
            Due::Ended if self.recounting.is_none() => {
                self.solver.end_unfinished();
                let heads = self.solver.len();
                let first = first_to_recount(&self.solver, heads, &self.facts);
                self.recounting = first.or(Some(heads));
                return Ok(Step::Progress);
            }
            Due::Pass | Due::Ended => {}
        }
        if std::mem::take(&mut self.has_scanned) {
            self.note();
        }
        match due {
            Due::Ended => Ok(Step::Done),
            _ if self.is_all_here => self.begin_pass_here(),
            _ => Ok(Step::Blocked),
        }
    }

    /// What is due, of the method or behind it.
    fn due(&self) -> Due {
        match self.recounting {
            None => self.method.due(),
            Some(first) if first < self.solver.len() => Due::Pass,
            Some(_) if self.deciding.as_ref().is_some_and(Deciding::goes_on) => Due::Pass,
            Some(_) => Due::Ended,
        }
    }

    /// Whether the pass that comes or is under way is over the sample alone, which says nothing of all rows.
    fn samples(&self) -> bool {
        self.recounting.is_none() && self.method.over() != Over::All
    }

    /// Begins the pass that comes, over the rows in memory.
    fn begin_pass_here(&mut self) -> Result<Step, TrainError> {
        let pass = self.pass()?;
        if self.here.is_none() {
            self.here = Some(ResidentRows::new(&self.sample, self.facts.dense, 1)?);
        }
        if let Some(here) = &mut self.here {
            here.begin(pass)?;
        }
        Ok(Step::Progress)
    }

    /// Goes on with it.
    fn go_over_rows(&mut self, budget: usize) -> Result<Step, TrainError> {
        let here = self.here.as_mut();
        if let Some((pass, sums)) = here.and_then(|here| here.step(&self.sample, budget)) {
            self.take(pass, sums)?;
        }
        Ok(Step::Progress)
    }

    /// Whether rows that stream are expected to be faster: too many are near the margin, or their problem takes too long.
    pub fn gives_way(&self) -> bool {
        self.method.gives_way()
    }

    /// By head the weights so far, for scaled rows, the intercept's last: what a training that goes on otherwise, or over rows that have
    /// changed, begins from. None of averages and interior points, which begin from nothing.
    pub fn weights_so_far(&self) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        self.method.weights_so_far(&self.solver)
    }

    /// Has heads begin at such weights; to be called before the first step.
    pub fn begin_at(&mut self, starts: Vec<Vec<f64>>) -> Result<(), TrainError> {
        let length = self.facts.features + 1;
        if starts.len() != self.solver.len() || starts.iter().any(|w| w.len() != length) {
            return Ok(());
        }
        Ok(self.method.begin_at(&self.solver, starts)?)
    }

    /// What the scan that is wanted is to sum up.
    pub fn pass(&self) -> Result<ScanPass, OutOfMemory> {
        match (self.recounting, &self.deciding) {
            (None, _) => {
                let heads = self.method.pass(&self.sample)?;
                Ok(ScanPass::of(gathered(heads.into_iter().map(|it| it.1))?))
            }
            (Some(first), Some(deciding)) if first >= self.solver.len() => {
                deciding.pass(&self.solver, &self.facts)
            }
            (Some(first), _) => self.recount(first),
        }
    }

    /// The recount of the heads from this one on.
    fn recount(&self, first: usize) -> Result<ScanPass, OutOfMemory> {
        let specs = &self.heads.specs;
        let recount = Recount::of(&self.solver, &self.problem, specs, &self.facts, first)?;
        let mut heads = Vec::new();
        heads.room(1)?.push(HeadScan::Recount(Box::new(recount)));
        Ok(ScanPass::of(heads))
    }

    fn take_recounted(&mut self, first: usize, pass: ScanPass, sums: ScanSums) {
        let free = self.solver.is_free();
        for both in pass.into_heads().into_iter().zip(sums.into_heads()) {
            if let (HeadScan::Recount(recount), HeadFound::Recount(found)) = both {
                let behind = recount.tell(&mut self.solver, (first, free), &found);
                self.recounting = Some(behind);
            }
        }
    }

    /// Takes what a scan with this pass has summed up over all rows.
    pub fn take(&mut self, pass: ScanPass, sums: ScanSums) -> Result<(), TrainError> {
        if !self.samples() {
            self.passes += 1;
            self.visits += sums.rows() * self.solver.running_heads() as u64;
            self.has_scanned = true;
        }
        match (self.recounting, &mut self.deciding) {
            (None, _) => {
                let summed = pass.into_heads().into_iter().zip(sums.into_heads());
                let summed = summed.map(|(pass, sums)| Summed::of(pass, sums));
                self.method.take(&mut self.solver, gathered(summed)?)?;
            }
            (Some(first), Some(deciding)) if first >= self.solver.len() => {
                deciding.take(&self.facts, sums)?;
            }
            (Some(first), _) => self.take_recounted(first, pass, sums),
        }
        Ok(())
    }

    /// Notes what is known behind a scan, and what was computed with it.
    fn note(&mut self) {
        let cache_rows = self.method.held();
        self.log.note(
            &mut self.solver,
            Moment {
                event: Event::Pass,
                pass: self.passes,
                block: None,
                rows_streamed: u64::from(self.passes) * self.facts.rows as u64,
                cache_rows,
                evictions: 0,
            },
        );
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
        let chosen = self.chosen.as_ref();
        let calibrations = chosen.map_or(&[][..], |it| &it.calibrations.heads);
        let facts = Facts { rows, ..self.facts };
        let mut survey = Survey::new(layout, &facts, calibrations, &[], self.heads.bar())?;
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
            held: self.method.held(),
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

    /// Where rounds sort rows of a truncated loss, the weights that have sorted those of a head's certificate, the intercept's last.
    pub fn sorted_at(&self, head: usize) -> &[f64] {
        self.solver.sorted_at(head)
    }

    /// What says each row's dual variable at the weights of a head's certificate.
    pub fn dual_variables(&self, head: usize) -> Result<DualsByRow, OutOfMemory> {
        self.solver.dual_variables(head)
    }

    /// What happened when.
    pub fn log(&self) -> Result<Vec<LogEntry>, OutOfMemory> {
        gathered(self.log.entries())
    }

    /// How training ended; before the end, how it stands.
    pub fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        let heads = self.solver.reports(self.facts.rows);
        let chosen = self.chosen.as_ref();
        let validation = chosen.map_or(&self.validation[..], |it| &it.validation);
        let calibrations = chosen.map(|it| it.calibrations.copied()).transpose()?;
        Ok(TrainerReport {
            heads: gathered(heads.take(self.heads.finals))?,
            validation: gathered(validation.iter().copied())?,
            c: self.heads.chosen.map(|it| it.c),
            truncation: self.heads.chosen.and_then(|it| it.truncation),
            gamma: None,
            epsilon: None,
            nu: self.heads.nu.as_ref().map(NuSearch::reached),
            calibrations: calibrations.unwrap_or_default(),
            fit: self.fit.as_ref().map(Fit::copied).transpose()?,
            rows: self.facts.rows as u64,
            resident: self.is_all_here,
            passes: self.passes,
            visits: self.visits,
            updates: 0,
            evictions: 0,
            replaced: 0,
            newton: self.method.is_newton(),
            in_pairs: false,
        })
    }
}
