//! The two loops of a training as PostgreSQL runs them: the pure crate's reader and trainer, fed by
//! the executor and a temporary file. A worker loops one role; the leader takes what has no worker.
//!
//! Every step ends within a few milliseconds. The loop of a role checks for interrupts between steps; deep loops of the pure crates ask by
//! themselves.

use crate::base::errors::OrRaise;
use crate::features::{word_of, KernelForm, Nulls, LANDMARKS, SUPPORT_VECTORS};
use crate::keys::chunks::KeyChunk;
use crate::pg::check_for_interrupts;
use crate::pg::query::Planned;
use crate::pg::signals;
use crate::planning::job::{Job, ReaderOutcome, TrainerOutcome};
use crate::reading::helpers::Helpers;
use crate::reading::rows::RowSource;
use crate::request::kernel::{KernelTerms, MOST_SECONDS};
use crate::request::KernelMethod;
use crate::targets::labels;
use crate::training::any_reader::{outcome, AnyReader, MappedRows};
use crate::training::failures::{
    cache_failure, check_landmarks, exact_failure, interior_failure, mapped_failure,
    other_role_failed, problem_failure, train_failure,
};
use crate::training::machines::MachineProcesses;
use crate::training::outcome::{Approximate, Collected, Machine};
use crate::training::progress::Progress;
use crate::warm_start::following::Following;
use crate::warm_start::near::{ComparedRows, NearMachine, WantedHeads};
use crate::warm_start::unfinished::Unfinished;
use pgsvm_core::engine::{Compared, Settings, Threads};
use pgsvm_core::kernels::{Kernel, KernelError, LowRank};
use pgsvm_core::leeway::Metric;
use pgsvm_core::memory::{copied, filled, gathered};
use pgsvm_core::plan::{Plan, Purpose};
use pgsvm_core::{
    Cache, Crew, Doubt, Duals, ExactError, ExactOutcome, ExactSolver, HeadReport, HeadSpec,
    Intercept, InteriorOutcome, InteriorProgress, InteriorTerms, LandmarkChoice, Leeways, LogEntry,
    LowRankJob, LowRankProgress, LowRankProof, MachineThreads, Problem, ProvedHead, ReadError,
    ReaderReport, Scaling, Snapshot, Start, Step, StoredHead, TrainError, Trainer, TrainerReport,
    Weights,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Classes up to which a kernel machine is compared with the linear one, and the gap of both.
const MOST_COMPARED_CLASSES: usize = 10;
const COMPARING_TOLERANCE: f64 = 1e-2;
/// The part of a kernel's trace that landmarks may leave out without a difference, and so many times as many landmarks that another
/// map is worth it.
const ENOUGH: f64 = 1e-4;
const WORTH_A_MAP: f64 = 1.3;
/// Seconds of an exact machine that are not worth a thought, where landmarks say of the kernel all that there is.
const AT_ONCE_SECONDS: f64 = 1.0;
/// Exact machines until the C of nu is found, about.
const EXACT_TRAININGS_OF_NU: f64 = 4.0;

/// Exact machines that a training takes, about.
fn exact_trainings(job: &Job) -> f64 {
    job.terms.nu.map_or(1.0, |_| EXACT_TRAININGS_OF_NU)
}

/// The gap and the passes of a machine of low rank where an exact one begins.
const BEGINNING: (f64, u32) = (0.1, 4);
/// An exact machine that nobody asked for may take so many times what it was estimated to, and so many seconds at least.
const TIMES_ESTIMATED: f64 = 4.0;
const LEAST_SECONDS: f64 = 10.0;
/// Of mapping, for each row and pair of landmarks, and of training, for each head, row and landmark: about.
const SECONDS_TO_MAP: f64 = 1e-10;
const SECONDS_TO_TRAIN: f64 = 2e-8;
/// Rows the reader handles in a step.
const READER_STEP_ROWS: usize = 1000;
/// Stored values the trainer visits in a step: about a millisecond.
const TRAINER_STEP_VALUES: usize = 1 << 20;

/// The reader role.
pub struct ReaderRole {
    reader: AnyReader,
    /// Whether weights are for rows that are divided by their length.
    unit_rows: bool,
    cache_bytes: usize,
    /// Where gammas are compared, why these rows cannot have the one under way.
    refused: Option<KernelError>,
    is_grid: bool,
    /// Why the machine of low rank was not solved exactly, once that was to be.
    approximate: Option<Approximate>,
    /// Whether weights on the way are to be tested.
    is_watched: bool,
    /// Of a kernel machine what it begins near, once that is known.
    near: Option<NearMachine>,
}

/// The trainer role.
pub struct TrainerRole {
    trainer: Trainer,
    /// Whether a step may start threads.
    threads: bool,
    keep_duals: bool,
    /// Whether the final heads are only where others begin.
    ends_roughly: bool,
}

/// More landmarks for a machine of low rank.
pub enum MoreLandmarks {
    /// The same map with about twice as many.
    Twice(LowRankJob),
    /// Time or memory does not allow for them.
    None,
}

impl ReaderRole {
    /// Starts the source query, planned in this process. `following`: what the training begins from; `helpers`: who
    /// fetches rows too.
    pub fn start(
        cache: Cache,
        job: &Job,
        planned: &Planned,
        following: Option<Following>,
        helpers: Option<Helpers>,
    ) -> Self {
        let screening = following.as_ref().and_then(|it| it.screening.as_ref());
        let kept = screening.map(|screening| screening.scaling().copied().or_raise());
        let source = RowSource::start(planned, job, following, helpers).or_raise();
        let mut reader = AnyReader::new(cache, job, source)
            .map_err(cache_failure)
            .or_raise();
        if let Some(scaling) = kept {
            reader.keep_scaling(scaling);
        }
        Self {
            reader,
            unit_rows: job.rows.unit_rows,
            cache_bytes: job.resources.cache_bytes,
            refused: None,
            is_grid: job.kernel.as_ref().is_some_and(KernelTerms::is_grid),
            approximate: None,
            is_watched: job.watch.is_some(),
            near: None,
        }
    }

    /// Has the rows of a kernel machine come once more, as this map makes them; the cache that they come into comes from `fresh`.
    /// All must have come before.
    pub fn mapped_anew(
        self,
        fresh: &dyn Fn() -> Cache,
        job: &Job,
        map: &LowRankJob,
    ) -> (Self, Cache) {
        let (reader, cache) = self.reader.mapped_anew(fresh, job, map).or_raise();
        let anew = Self {
            reader,
            refused: None,
            ..self
        };
        (anew, cache)
    }

    /// Why the machine of low rank was not solved exactly, where that was to be.
    pub fn approximate(&self) -> Option<Approximate> {
        self.approximate
    }

    /// Of a machine of low rank that stays one though nobody asked for it and whose landmarks leave out much: whether there may be more.
    pub fn more_landmarks(&mut self, job: &Job, heads: usize) -> Option<MoreLandmarks> {
        let approximate = self.approximate?;
        let map = *job.kernel.as_ref()?.maps.first()?;
        let rows = self.reader.report().or_raise().rows as f64;
        let (mapped, _) = self.reader.mapped()?;
        let (rank, left_out) = mapped.map().map(|it| (it.rank() as f64, it.left_out()))?;
        let work = 2.0 * rows * rank * rank;
        let more = LowRankJob { work, ..map };
        let wanted = mapped.rank_of(&job.asked(&more))? as f64;
        let seconds = SECONDS_TO_MAP * rows * wanted * wanted
            + SECONDS_TO_TRAIN * heads as f64 * rows * wanted;
        // an exact one that was given up has taken the time
        let has_time = !matches!(approximate, Approximate::MoreThan(_)) && seconds < MOST_SECONDS;
        let can_be_had = has_time && wanted > WORTH_A_MAP * rank;
        (left_out > ENOUGH).then_some(match can_be_had {
            true => MoreLandmarks::Twice(more),
            false => MoreLandmarks::None,
        })
    }

    /// How a kernel machine compares with the linear one that was trained with this C, where that was wanted; once every row was
    /// read.
    pub fn compare(&mut self, job: &Job, c: Option<f64>) -> Option<Compared> {
        let sample = self.reader.source_mut().take_sample()?;
        let classes = self.reader.source().known_classes().len();
        if classes > MOST_COMPARED_CLASSES {
            return None;
        }
        let problem = Problem::new(job.terms.loss(), 1.0, COMPARING_TOLERANCE).ok()?;
        let settings = Settings {
            balance: job.balance(),
            impute: job.rows.nulls == Nulls::Mean,
            ..Settings::new(0, job.scale, Threads::One)
        };
        let intercept = job.terms.parameters.formulation.intercept;
        let problem = problem
            .with(|it| it.formulation.intercept = intercept)
            .ok()?;
        sample.compare(&problem, &job.plan, c?, settings)
    }

    /// Whether the machine of low rank is but where an exact one begins, whatever it comes to; once every row was read. Of a truncated loss it says
    /// which rows are outliers, and needs to be as good as it can.
    pub fn will_be_exact(&mut self, job: &Job) -> bool {
        let Some(terms) = &job.kernel else {
            return false;
        };
        let is_truncated = job.terms.truncation().is_some();
        if job.plan.purpose == Purpose::Validate || self.approximate.is_some() || is_truncated {
            return false;
        }
        match terms.method {
            KernelMethod::Exact => true,
            KernelMethod::Auto if !self.is_grid => {
                let c = job.plan.costs.iter().copied().fold(job.cost(), f64::max);
                let most = match self.says_all(c) {
                    true => AT_ONCE_SECONDS,
                    false => MOST_SECONDS,
                };
                self.exact_seconds_at_most(job, c) <= most
            }
            KernelMethod::Auto | KernelMethod::LowRank => false,
        }
    }

    /// Seconds that an exact machine takes on a usual processor, were all rows support vectors.
    fn exact_seconds_at_most(&mut self, job: &Job, c: f64) -> f64 {
        let report = self.reader.report().or_raise();
        let stride = job.plan.stride() as usize;
        let classes = report.group_counts.chunks(stride);
        let classes = gathered(classes.map(|groups| groups.iter().sum::<u64>() as f64)).or_raise();
        let (count, rows) = (classes.len(), report.rows as f64);
        let squares = classes.iter().map(|rows| rows * rows).sum::<f64>();
        let compared = match count {
            0..=2 => rows * rows,
            // sum over all pairs of (n_i + n_j)², and all rows at the end
            _ if count <= job.plan.pairs_up_to => {
                (count as f64 - 2.0) * squares + 2.0 * rows * rows
            }
            _ => count as f64 * rows * rows,
        };
        let width = self.reader.mapped().and_then(|(mapped, _)| {
            let map = mapped.map()?;
            Some(map.landmarks().rows().width())
        });
        width.map_or(f64::INFINITY, |width| {
            exact_trainings(job) * ExactSolver::seconds_of(compared, width, c)
        })
    }

    /// Whether landmarks say of the kernel all that there is, at this C: what is left out counts the more the larger C is.
    fn says_all(&mut self, c: f64) -> bool {
        let map = self.reader.mapped().and_then(|(mapped, _)| mapped.map());
        map.is_some_and(|map| map.left_out() * c.max(1.0) <= LowRankJob::DEFAULT_TOLERANCE)
    }

    /// The gamma of the kernel that rows are mapped by, or were to be.
    pub fn gamma(&mut self) -> Option<f64> {
        let (rows, _) = self.reader.mapped()?;
        rows.gamma()
    }

    /// Where gammas are compared, why these rows cannot have the one under way; nothing more comes of it.
    pub fn refused(&self) -> Option<KernelError> {
        self.refused
    }

    /// How far a kernel machine's rows are that nobody has trained on yet.
    pub fn map_progress(&self) -> Option<LowRankProgress> {
        self.reader.map_progress()
    }

    /// Reads on; raises what goes wrong.
    pub fn step(&mut self) -> Step {
        if !self.is_grid {
            let step = self.reader.step(READER_STEP_ROWS, self.cache_bytes);
            return step.or_raise();
        }
        match self.reader.step_of_grid(READER_STEP_ROWS, self.cache_bytes) {
            Ok(step) => step.or_raise(),
            Err(error) => {
                self.refused = Some(error);
                Step::Done
            }
        }
    }

    /// What was read; complete once the role is done.
    pub fn outcome(&self) -> ReaderOutcome {
        let source = self.reader.source();
        outcome(source, self.reader.report().or_raise()).or_raise()
    }

    /// Keys and digests of the rows.
    pub fn key_chunks(&self) -> &[KeyChunk] {
        self.reader.source().key_chunks()
    }

    /// What versions of rows are known by, where those are wanted.
    pub fn versions(&self) -> &[u64] {
        self.reader.source().versions().unwrap_or_default()
    }

    /// Gives away all that was read; once the role is done. `solved`: the machine that took the place of the one of low rank.
    pub fn leave(mut self, solved: Option<Machine>) -> Collected {
        let machine = self.take_machine(solved);
        let began = self.began(&machine);
        let mut outcome = self.outcome();
        let of_machine = machine.as_ref();
        outcome.features.kernel = of_machine.and_then(|it| self.stored_form(it, &outcome.report));
        let began = began.and_then(|machine| {
            let form = self.stored_form(&machine, &outcome.report)?;
            match machine {
                Machine::LowRank(map) => Some((form, map)),
                Machine::Exact(_) | Machine::InteriorPoint(_) => None,
            }
        });
        let source = self.reader.source_mut();
        Collected {
            outcome,
            machine,
            began,
            keys: source.take_key_chunks(),
            versions: source.take_versions(),
            followed: source.following().map(Following::followed),
            served: source.served(),
            screening: source
                .following_mut()
                .and_then(|following| following.screening.take()),
        }
    }

    /// The kernel machine, where there is one: its rows are given up.
    fn take_machine(&mut self, solved: Option<Machine>) -> Option<Machine> {
        let (rows, _) = self.reader.mapped()?;
        rows.give_up_rows().or_raise();
        solved.or_else(|| rows.take_map().map(|map| Machine::LowRank(Box::new(map))))
    }

    /// Of an exact machine that is watched the one of low rank where it began.
    fn began(&mut self, machine: &Option<Machine>) -> Option<Machine> {
        let is_exact = matches!(machine, Some(Machine::Exact(_)));
        let (rows, _) = self.reader.mapped().filter(|_| is_exact)?;
        let map = rows.take_map().filter(|_| self.is_watched)?;
        Some(Machine::LowRank(Box::new(map)))
    }

    /// How the machine is stored that was trained on rows of which this is told; None where it is a hyperplane.
    fn stored_form(&mut self, machine: &Machine, report: &ReaderReport) -> Option<Rc<KernelForm>> {
        let scaling = (!self.unit_rows).then(|| report.scaling.copied().or_raise());
        let first = copied(&report.provisional).or_raise();
        let form = self.form(machine, scaling);
        form.map(|form| Rc::new(form.relative_to(first)))
    }

    /// The same, of rows that are not relative to any.
    fn form(&mut self, machine: &Machine, scaling: Option<Scaling>) -> Option<KernelForm> {
        Some(match machine {
            Machine::LowRank(map) => {
                let chosen = self.reader.mapped().map(|(_, chosen)| chosen);
                let chosen = chosen.map_or("", |chosen| word_of(chosen, &LANDMARKS));
                let chosen_of = (chosen, map.left_out());
                KernelForm::of(map.kernel(), map.landmarks().rows(), chosen_of, scaling)
            }
            Machine::Exact(found) => KernelForm::of(
                &found.kernel,
                &found.landmarks,
                (SUPPORT_VECTORS, 0.0),
                scaling,
            ),
            Machine::InteriorPoint(found) => {
                let (kernel, landmarks) = (found.map.kernel(), found.map.landmarks().rows());
                let chosen_of = (
                    word_of(LandmarkChoice::Pivots, &LANDMARKS),
                    found.map.left_out(),
                );
                let form = KernelForm::of(kernel, landmarks, chosen_of, scaling);
                return (*kernel != Kernel::Linear)
                    .then(|| form.bounded_by(found.bounds.iter().sum()));
            }
        })
    }

    /// Solves the kernel machine that is asked for, where that is another one than the one of low rank that was trained.
    pub fn solve_further(
        &mut self,
        job: &Job,
        trainer: &TrainerRole,
        progress: &mut Progress,
    ) -> Option<Machine> {
        match job.interior_terms() {
            Some(terms) => self
                .solve_by_interior_points(job, terms, trainer, progress)
                .map(|found| Machine::InteriorPoint(Box::new(found))),
            None => self
                .solve_exactly(job, trainer, progress)
                .map(|found| Machine::Exact(Box::new(found))),
        }
    }

    /// PSVM; None where no final heads were trained.
    fn solve_by_interior_points(
        &mut self,
        job: &Job,
        terms: InteriorTerms,
        trainer: &TrainerRole,
        progress: &mut Progress,
    ) -> Option<InteriorOutcome> {
        let machines = terms.machines;
        let progress = RefCell::new(progress);
        let show = |at: &_| progress.borrow_mut().show_interior(at);
        // threads have no temporary files
        let rows = self.reader.report().or_raise().rows as usize;
        let (mapped, _) = self.reader.mapped()?;
        let fits = terms.fits(mapped.map()?, rows);
        let machines = match job.resources.machines {
            0 if !fits => 1,
            _ => machines,
        };
        match (job.resources.machines > 0 && machines > 1) || !fits {
            true => {
                let crew = MachineProcesses::new(machines, &progress);
                self.solve_with(job, terms, trainer, (crew, false), show)
            }
            false => {
                let crew = MachineThreads::new(machines);
                self.solve_with(job, terms, trainer, (crew, true), show)
            }
        }
    }

    /// The same by these machines, and whether they are threads.
    fn solve_with<C: Crew>(
        &mut self,
        job: &Job,
        terms: InteriorTerms,
        trainer: &TrainerRole,
        (crew, threads): (C, bool),
        show: impl Fn(&InteriorProgress),
    ) -> Option<InteriorOutcome> {
        let cache_bytes = self.cache_bytes;
        let (mapped, _) = self.reader.mapped()?;
        let problem = job.problem_within(job.terms.stopping().most_passes());
        let problem = problem.map_err(problem_failure).or_raise();
        let near = self.near.take().map(|near| near.machines);
        let solver = trainer
            .trainer
            .interior_point(mapped.map()?, &problem, terms, (near, crew));
        let mut solver = match solver {
            Ok(solver) => solver?,
            Err(halt) => interior_failure(halt.into(), cache_bytes).raise(),
        };
        loop {
            let step = {
                // threads inherit what is blocked
                let _blocked = threads.then(signals::Blocked::all);
                solver.step(mapped)
            };
            match step {
                Ok(Step::Done) => return solver.finish().or_raise(),
                Ok(_) => {
                    check_for_interrupts();
                    show(&solver.progress());
                }
                Err(error) => interior_failure(error, cache_bytes).raise(),
            }
        }
    }

    /// Solves the machine of low rank that was trained exactly, where that is wanted; None where it stays what it is.
    fn solve_exactly(
        &mut self,
        job: &Job,
        trainer: &TrainerRole,
        progress: &mut Progress,
    ) -> Option<ExactOutcome> {
        let terms = job.kernel.as_ref()?;
        let rows = self.reader.report().or_raise().rows;
        let c = trainer.report().c.unwrap_or(job.cost());
        let wanted = match terms.method {
            KernelMethod::LowRank => false,
            KernelMethod::Auto | KernelMethod::Exact => true,
        };
        let says_all = wanted && self.says_all(c);
        let (mapped, _) = self.reader.mapped().filter(|_| wanted)?;
        let problem = job.problem().map_err(problem_failure).or_raise();
        let solver = trainer.trainer.exactly(
            mapped.map()?,
            &problem,
            job.exact_bytes(),
            job.plan.by_probability,
        );
        let mut solver = solver.or_raise()?;
        let mut nu = trainer.trainer.nu_of_exact().or_raise();
        let is_auto = terms.method == KernelMethod::Auto;
        let seconds = exact_trainings(job) * solver.seconds();
        let worth = match says_all {
            true => AT_ONCE_SECONDS,
            false => MOST_SECONDS,
        };
        if is_auto && seconds > worth {
            self.approximate = Some(Approximate::Seconds(seconds));
            return None;
        }
        let most = (TIMES_ESTIMATED * seconds).clamp(LEAST_SECONDS, MOST_SECONDS);
        if is_auto {
            solver.keep_within(most);
        }
        loop {
            match solver.step(mapped) {
                Ok(Step::Progress) if is_auto && solver.spent() > most => {
                    self.approximate = Some(Approximate::MoreThan(most));
                    return None;
                }
                Ok(Step::Done) => {
                    let mut found = solver.finish().or_raise();
                    let next = nu
                        .as_mut()
                        .map(|nu| nu.next(&mut found, &problem, job.exact_bytes()).or_raise());
                    if let Some(next) = next.flatten() {
                        solver = next;
                        if is_auto {
                            solver.keep_within(most);
                        }
                        continue;
                    }
                    check_landmarks(found.landmarks.len()).or_raise();
                    return Some(found);
                }
                Ok(_) => {
                    check_for_interrupts();
                    progress.show_exact(&solver.progress(), rows);
                }
                Err(ExactError::Room { bytes }) if is_auto => {
                    // as the error says where it is asked for
                    self.approximate = Some(Approximate::CacheBytes(3 * bytes));
                    return None;
                }
                Err(error) => exact_failure(error, self.cache_bytes).raise(),
            }
        }
    }

    /// What all rows say in 64 bits of the final heads of a kernel machine as it is stored; of an exact one they have said it.
    pub fn prove(
        &mut self,
        job: &Job,
        trainer: &TrainerRole,
        solved: Option<&Machine>,
    ) -> Vec<ProvedHead> {
        let heads = trainer.report().heads.len();
        let Some((mapped, _)) = self.reader.mapped().filter(|_| heads > 0) else {
            return Vec::new();
        };
        match solved {
            Some(Machine::Exact(_)) => Vec::new(),
            Some(Machine::InteriorPoint(found)) => {
                let stored = |(head, (spec, _)): (usize, (HeadSpec, HeadReport))| StoredHead {
                    spec,
                    factors: found
                        .map
                        .fold(found.weights[head].iter().copied())
                        .or_raise(),
                    intercept: found.intercepts[head],
                    duals: Box::new(found.duals.get(head).into_iter().flatten().copied()),
                };
                let in_norm = job.interior_terms().is_some_and(|terms| terms.in_norm);
                let intercept = match job.terms.intercept() {
                    true if in_norm => Intercept::InNorm,
                    true => Intercept::Free,
                    false => Intercept::None,
                };
                let all = trainer.trainer.heads().or_raise().into_iter();
                let heads = gathered(all.take(heads).enumerate().map(stored)).or_raise();
                prove(mapped, job, &found.map, (intercept, heads))
            }
            Some(Machine::LowRank(_)) | None => {
                let Some(map) = mapped.take_map() else {
                    return Vec::new();
                };
                let stored = |(head, (spec, _)): (usize, (HeadSpec, HeadReport))| {
                    let weights = trainer.weights(head);
                    StoredHead {
                        spec,
                        factors: map.fold(weights.iter()).or_raise(),
                        intercept: weights.intercept(),
                        duals: Box::new(trainer.trainer.duals(head).iter()),
                    }
                };
                let intercept = job.terms.parameters.formulation.intercept;
                let all = trainer.trainer.heads().or_raise().into_iter();
                let heads = gathered(all.take(heads).enumerate().map(stored)).or_raise();
                let proved = prove(mapped, job, &map, (intercept, heads));
                mapped.put_map(map);
                proved
            }
        }
    }

    /// The metrics in which margin slacks are to be measured; none where they are to be learned. Once every row was read.
    pub fn metrics(&self) -> Vec<Metric> {
        let source = self.reader.source();
        let screening = source.following().and_then(|it| it.screening.as_ref());
        screening.map_or_else(Vec::new, |screening| {
            screening.metrics(source.known_classes())
        })
    }

    /// By class its place in the order of labels, once every row was read.
    pub fn class_ranks(&self) -> Vec<u32> {
        let order = labels::ascending(self.reader.source().known_classes());
        let mut ranks = filled(0, order.len()).or_raise();
        for (rank, class) in (0..).zip(order) {
            ranks[class] = rank;
        }
        ranks
    }

    /// By final head, where it begins; for a training that begins from something, once every row was read.
    pub fn take_starts(&mut self, job: &Job) -> Vec<Start> {
        let report = self.reader.report().or_raise();
        let classes = self.reader.source().classes().or_raise();
        let dropped = self.reader.source().dropped().or_raise();
        let Some(following) = self.reader.source_mut().following_mut() else {
            return Vec::new();
        };
        let features = (report.dense_features as usize, report.features as usize);
        let unscaled = Scaling::none(features.0);
        let scaling = match self.unit_rows {
            true => &unscaled,
            false => &report.scaling,
        };
        let wanted = WantedHeads {
            classes: &classes,
            in_pairs: false,
            targets: report.targets,
            quantiles: &job.plan.quantiles,
            most: job.most_at_zero(report.targets, report.rows),
        };
        following
            .take_starts(report.rows as usize, wanted, scaling, features, &dropped)
            .or_raise()
    }

    /// Finds out what a kernel machine begins near that begins from a model, once every row was read.
    pub fn find_near(&mut self, job: &Job) {
        let classes = self.reader.source().classes().or_raise();
        let dropped = self.reader.source().dropped().or_raise();
        let Some((mapped, _)) = self.reader.mapped() else {
            return;
        };
        let Some((report, map)) = mapped.seen().or_raise().zip(mapped.map()) else {
            return;
        };
        let (kernel, width) = (*map.kernel(), map.landmarks().rows().width());
        let dense = report.dense_features as usize;
        let unscaled = Scaling::none(dense);
        let compared = ComparedRows {
            kernel,
            scaling: match self.unit_rows {
                true => &unscaled,
                false => &report.scaling,
            },
            dense,
            features: report.features as usize,
            width,
        };
        let wanted = WantedHeads {
            classes: &classes,
            in_pairs: classes.len() > 2 && classes.len() <= job.plan.pairs_up_to,
            targets: report.targets,
            quantiles: &job.plan.quantiles,
            most: job.most_at_zero(report.targets, report.rows),
        };
        let rows = report.rows as usize;
        if let Some(following) = self.reader.source_mut().following_mut() {
            let near = following.take_near(rows, wanted, &compared, &dropped);
            self.near = near.or_raise();
        }
    }

    /// By final head, where it begins: at the dual variables that are known of its rows, the first time, and at the weights of what its map
    /// makes of them that decide nearly like the model.
    pub fn starts_near(&mut self) -> Vec<Start> {
        let rows = self.reader.report().or_raise().rows as usize;
        let Some(near) = &mut self.near else {
            return Vec::new();
        };
        let map = self.reader.mapped().and_then(|(mapped, _)| mapped.map());
        let weights = map.map_or(Ok(Vec::new()), |map| map.project(&near.machines));
        let mut duals = std::mem::take(&mut near.duals).into_iter();
        let start = |weights| Start {
            updates: 0,
            duals: match duals.next() {
                Some(duals) => duals,
                None => filled(0.0, rows).or_raise(),
            },
            weights: Some(weights),
        };
        gathered(weights.or_raise().into_iter().map(start)).or_raise()
    }

    /// By final head, where it begins that goes on where scans have got to.
    pub fn starts_at(&mut self, unfinished: &Unfinished) -> Vec<Start> {
        let report = self.reader.report().or_raise();
        let classes = self.reader.source().classes().or_raise();
        unfinished
            .starts(report.rows as usize, &classes, report.features as usize)
            .or_raise()
    }
}

/// What the rows that are kept say of heads over the landmarks of a map.
fn prove(
    rows: &mut MappedRows,
    job: &Job,
    map: &LowRank,
    (intercept, heads): (Intercept, Vec<StoredHead<'_>>),
) -> Vec<ProvedHead> {
    let problem = job.problem().map_err(problem_failure).or_raise();
    let mut proof = LowRankProof::new(map, rows, &problem, (intercept, heads)).or_raise();
    loop {
        match proof.step(map, rows) {
            Ok(true) => break,
            Ok(false) => check_for_interrupts(),
            Err(error) => {
                mapped_failure(ReadError::Source(error), job.resources.cache_bytes).raise()
            }
        }
    }
    proof.finish(map).or_raise()
}

impl TrainerRole {
    /// Prepares the trainer; memory is asked for once the size of the problem is known.
    pub fn start(cache: Cache, job: &Job, plan: Plan) -> Self {
        let problem = job.problem().map_err(problem_failure).or_raise();
        let mut trainer = Trainer::new(cache, problem, plan)
            .map_err(train_failure)
            .or_raise();
        if job.looks.slacks {
            trainer.measure_leeways(Vec::new());
        }
        if job.watch.is_some() {
            trainer.keep_weights();
        }
        if let Some(below) = job.looks.doubts {
            trainer.note_doubts(below);
        }
        Self {
            trainer,
            threads: job.resources.trainers > 1,
            keep_duals: job.terms.keep_duals || job.statement.columns.key.is_some(),
            ends_roughly: false,
        }
    }

    /// Has the final heads stop early, as an exact machine begins there; likewise.
    pub fn end_roughly(&mut self) {
        let (tolerance, max_passes) = BEGINNING;
        self.trainer.end_roughly(tolerance, max_passes);
        self.ends_roughly = true;
    }

    /// Whether they do.
    pub fn ends_roughly(&self) -> bool {
        self.ends_roughly
    }

    /// Has margin slacks measured in these metrics, by class, and not in some that are learned; to be called before the first
    /// step behind loading.
    pub fn measure_slacks(&mut self, metrics: Vec<Metric>) {
        self.trainer.measure_leeways(metrics);
    }

    /// Says each class's place in the order of labels; likewise.
    pub fn rank_classes(&mut self, ranks: Vec<u32>) {
        self.trainer.rank_classes(ranks);
    }

    /// The margin slacks of the rows, where those are measured.
    pub fn slacks(&self) -> Option<&Leeways> {
        self.trainer.leeways()
    }

    /// What happened when.
    pub fn log(&self) -> Vec<LogEntry> {
        self.trainer.log().or_raise()
    }

    /// Weights on the way, where they were to be kept.
    pub fn snapshots(&self) -> Vec<&Snapshot> {
        self.trainer.snapshots().or_raise()
    }

    /// Rows held out that are doubted, where that is asked for.
    pub fn doubts(&self) -> Vec<Doubt> {
        copied(self.trainer.doubts()).or_raise()
    }

    /// Begins from here; to be called once every row was read.
    pub fn begin_from(&mut self, starts: Vec<Start>) {
        self.trainer.begin_from(starts);
    }

    /// Trains on; raises what goes wrong.
    pub fn step(&mut self) -> Step {
        let result = {
            let _blocked = self.threads.then(signals::Blocked::all);
            self.trainer.step(TRAINER_STEP_VALUES)
        };
        match result {
            Err(TrainError::ReaderFailed) => other_role_failed(),
            step => step.map_err(train_failure).or_raise(),
        }
    }

    /// The same, without what was learned.
    pub fn report(&self) -> TrainerReport {
        self.trainer.report().or_raise()
    }

    /// How the training ended; complete once the role is done.
    pub fn outcome(&self) -> TrainerOutcome {
        let report = self.report();
        let heads = 0..report.heads.len();
        let some = heads.clone().next();
        TrainerOutcome {
            intercepts: gathered(heads.map(|head| self.weights(head).intercept())).or_raise(),
            weights: some.map_or(0, |head| self.weights(head).len() as u64),
            duals: some.map_or(0, |head| self.duals(head).len() as u64),
            report,
            log: self.log(),
            metrics: self.slacks().map(|slacks| slacks.metrics.clone()),
        }
    }

    /// The dual variables of a final head by row, in the order in which the source gave the rows; none
    /// when they are not kept.
    pub fn duals(&self, head: usize) -> Duals<'_> {
        match self.keep_duals {
            true => self.trainer.duals(head),
            false => Duals::default(),
        }
    }

    /// The weights of a final head, for scaled rows.
    pub fn weights(&self, head: usize) -> Weights<'_> {
        self.trainer.weights(head)
    }
}
