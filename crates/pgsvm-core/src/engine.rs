//! Both roles in one process: for tests, benchmarks and callers without workers.
//!
//! One thread takes turns between the roles, or two threads run one role each and wake each other by a condition
//! variable; the cache is private memory. Pass 1, in which the trainer has nothing to do, runs first in either form.

mod comparison;

use std::convert::Infallible;
use std::fmt;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::base::step::{Awake, Step};
use crate::cache::{Cache, CacheError, Phase, Statistics};
use crate::exact::{ExactError, ExactOutcome};
use crate::interior::{Crew, InteriorError, InteriorOutcome, InteriorTerms, MachineThreads};
use crate::kernels::{Expansion, KernelError, LowRank};
use crate::maps::low_rank::{LowRankError, LowRankJob, LowRankSource};
use crate::objective::heads::Start;
use crate::objective::plan::Goal;
use crate::objective::problem::{Compression, Problem};
use crate::reader::{Balance, ReadError, Reader, ReaderJob, ReaderReport};
pub use crate::rows::in_memory::{MemorySpool, OwnedExample, SliceSource};
use crate::rows::source::{RowError, Source, Spool};
pub use crate::rows::throttled::ThrottledSpool;
use crate::scaling::{Scale, TargetJob};
use crate::training::error::TrainError;
use crate::training::Trainer;
pub use comparison::{Compared, RowSample};

/// Rows of a reader's step and stored words of a trainer's: a few milliseconds each.
const READER_BUDGET: usize = 1024;
const TRAINER_BUDGET: usize = 1 << 20;

/// Who runs the roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One thread, taking turns.
    One,
    /// A thread for each role.
    Two,
}

/// What to run with.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Bytes of cache.
    pub cache_bytes: usize,
    /// How features are scaled.
    pub scale: Scale,
    /// Who runs the roles.
    pub threads: Threads,
    /// Whether classes are balanced.
    pub balance: Balance,
    /// Whether a dense NaN is a missing value, see [`ReaderJob::impute`].
    pub impute: bool,
    /// See [`ReaderJob::as_they_come`].
    pub as_they_come: bool,
    /// Whether scaled rows are divided by their length.
    pub unit_rows: bool,
    /// Whether rows that do not fit are compressed in the spool.
    pub compression: Compression,
    /// See [`ReaderJob::targets`].
    pub targets: Option<TargetJob>,
}

impl Settings {
    /// Classes weigh as their rows do, and no value is missing.
    pub fn new(cache_bytes: usize, scale: Scale, threads: Threads) -> Self {
        Self {
            cache_bytes,
            scale,
            threads,
            balance: Balance::None,
            impute: false,
            as_they_come: false,
            unit_rows: false,
            compression: Compression::Auto,
            targets: None,
        }
    }

    pub fn job(&self, problem: &Problem, goal: &Goal) -> ReaderJob {
        ReaderJob {
            stride: goal.stride(),
            balance: self.balance,
            impute: self.impute,
            as_they_come: self.as_they_come,
            unit_rows: self.unit_rows,
            compression: self.compression,
            targets: self.targets,
            ..ReaderJob::new(self.scale, problem)
        }
    }
}

/// A training that has ended.
pub struct Trained {
    /// The trainer, for its report, weights and dual variables.
    pub trainer: Trainer,
    /// What the reader saw.
    pub reader: ReaderReport,
    /// The counters at the end.
    pub statistics: Statistics,
    /// Wall time until training could begin.
    pub loading_seconds: f64,
}

/// Why the engine gave up.
#[derive(Debug, PartialEq)]
pub enum EngineError<S, P> {
    /// The cache cannot be had.
    Cache(CacheError),
    /// The reader failed.
    Read(ReadError<S, P>),
    /// The trainer failed.
    Train(TrainError),
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for EngineError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Train(error) => error.fmt(f),
        }
    }
}

impl<S: fmt::Debug + fmt::Display, P: fmt::Debug + fmt::Display> std::error::Error
    for EngineError<S, P>
{
}

/// Trains on examples in memory, spilling to memory.
pub fn train_examples(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &[OwnedExample],
    settings: Settings,
) -> Result<Trained, EngineError<RowError, Infallible>> {
    train(
        problem,
        goal,
        SliceSource::new(examples),
        MemorySpool::default(),
        settings,
    )
}

/// Trains on examples in memory from elsewhere than 0, see [`Trainer::begin_from`].
pub fn train_examples_from(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &[OwnedExample],
    start: Vec<Start>,
    settings: Settings,
) -> Result<Trained, EngineError<RowError, Infallible>> {
    let source = SliceSource::new(examples);
    train_from(
        problem,
        goal,
        source,
        MemorySpool::default(),
        start,
        settings,
    )
}

/// Trains on whatever `source` delivers.
pub fn train<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: impl Into<Goal>,
    source: S,
    spool: P,
    settings: Settings,
) -> Result<Trained, EngineError<S::Error, P::Error>>
where
    S::Error: Send,
    P::Error: Send,
{
    train_from(problem, goal, source, spool, Vec::new(), settings)
}

fn train_from<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: impl Into<Goal>,
    source: S,
    spool: P,
    start: Vec<Start>,
    settings: Settings,
) -> Result<Trained, EngineError<S::Error, P::Error>>
where
    S::Error: Send,
    P::Error: Send,
{
    let goal = goal.into();
    let job = settings.job(&problem, &goal);
    let (trained, _) = run(problem, goal, source, spool, start, settings, job)?;
    Ok(trained)
}

/// A kernel machine of low rank, see [`crate::maps::low_rank`].
pub struct TrainedLowRank {
    /// Of the mapped rows.
    pub trained: Trained,
    /// How they were mapped.
    pub map: LowRank,
    /// What was seen of the raw rows.
    pub raw: ReaderReport,
}

/// Trains on what a map of low rank makes of the rows that `source` delivers; half of the cache serves for each. The spools
/// are for raw rows and for mapped ones.
pub fn train_low_rank<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: impl Into<Goal>,
    source: S,
    spools: [P; 2],
    settings: Settings,
    asked: LowRankJob,
) -> Result<TrainedLowRank, LowRankFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let (trained, source) = train_mapped(problem, goal.into(), source, spools, settings, asked)?;
    match source.into_parts() {
        Some((_, map, raw)) => Ok(TrainedLowRank { trained, map, raw }),
        None => Err(no_rows()),
    }
}

/// The training of what a map of low rank makes of the rows, and the source that mapped them.
#[allow(clippy::type_complexity)]
fn train_mapped<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: Goal,
    source: S,
    [raw, mapped]: [P; 2],
    settings: Settings,
    asked: LowRankJob,
) -> Result<(Trained, LowRankSource<S, P>), LowRankFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let job = settings.job(&problem, &goal);
    let half = settings.cache_bytes / 2;
    let settings = Settings {
        cache_bytes: half,
        ..settings
    };
    let source = LowRankSource::new(source, raw, job, asked, half).map_err(EngineError::Cache)?;
    let job = job.of_scaled_rows();
    run(problem, goal, source, mapped, Vec::new(), settings, job)
}

/// The machine of low rank that another method begins at: its training, the source with the rows it keeps, and the map.
#[allow(clippy::type_complexity)]
fn train_first<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: Goal,
    source: S,
    spools: [P; 2],
    settings: Settings,
    asked: LowRankJob,
) -> Result<(Trained, LowRankSource<S, P>, LowRank), LowRankFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let asked = LowRankJob {
        keeps_rows: true,
        ..asked
    };
    let (trained, mut source) = train_mapped(problem, goal, source, spools, settings, asked)?;
    let map = source.take_map().ok_or_else(no_rows)?;
    Ok((trained, source, map))
}

/// No row has come to be mapped.
fn no_rows<S, P>() -> EngineError<LowRankError<S, P>, P> {
    EngineError::Read(ReadError::Source(LowRankError::Kernel(KernelError::Zero)))
}

/// The same without an approximation: the machine of low rank is where it begins, and so many bytes are for candidates and
/// kernel rows, see [`crate::ExactSolver`]. The rows are kept until the end.
pub fn train_exactly<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: impl Into<Goal>,
    source: S,
    spools: [P; 2],
    settings: Settings,
    asked: (LowRankJob, usize),
) -> Result<ExactOutcome, ExactFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let (asked, bytes) = asked;
    let goal = goal.into();
    let by_probability = matches!(&goal, Goal::Plan(plan) if plan.by_probability);
    let before = train_first(problem, goal, source, spools, settings, asked);
    let (trained, mut source, map) = before.map_err(ExactTrainError::Before)?;
    let none = || ExactTrainError::Before(no_rows());
    let memory = |error| ExactTrainError::Exact(ExactError::OutOfMemory(error));
    let solver = trained
        .trainer
        .exactly(&map, &problem, bytes, by_probability);
    let mut solver = solver.map_err(memory)?.ok_or_else(none)?;
    let mut nu = trained.trainer.nu_of_exact().map_err(memory)?;
    drop(trained);
    loop {
        while solver.step(&mut source).map_err(ExactTrainError::Exact)? != Step::Done {}
        let mut found = solver.finish().map_err(memory)?;
        let next = nu.as_mut().map(|nu| nu.next(&mut found, &problem, bytes));
        match next.transpose().map_err(memory)?.flatten() {
            Some(next) => solver = next,
            None => return Ok(found),
        }
    }
}

/// Why an exact kernel machine was not trained.
#[derive(Debug)]
pub enum ExactTrainError<B, E> {
    /// The machine of low rank was not.
    Before(B),
    Exact(E),
}

/// The same for a source and a spool.
pub type ExactFailure<S, P> =
    ExactTrainError<LowRankFailure<S, P>, ExactError<<S as Source>::Error, <P as Spool>::Error>>;

/// PSVM as published: the machine of low rank only says what the heads are, so one landmark and one pass do for it unless the
/// goal is to choose C.
pub fn train_by_interior_point<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: impl Into<Goal>,
    source: S,
    spools: [P; 2],
    settings: Settings,
    asked: (LowRankJob, InteriorTerms),
) -> Result<InteriorOutcome, InteriorFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let crew = MachineThreads::new(asked.1.machines);
    let by = (None, crew);
    train_by_machines(problem, goal.into(), source, spools, settings, asked, by)
}

/// The same by these machines, near the first machine where there is one.
pub fn train_by_machines<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: Goal,
    source: S,
    spools: [P; 2],
    settings: Settings,
    (asked, terms): (LowRankJob, InteriorTerms),
    by: (Option<Expansion>, impl Crew),
) -> Result<InteriorOutcome, InteriorFailure<S, P>>
where
    S::Error: Send,
    P::Error: Send,
{
    let before = train_first(problem, goal, source, spools, settings, asked);
    let (trained, mut source, map) = before.map_err(ExactTrainError::Before)?;
    let none = || ExactTrainError::Before(no_rows());
    let memory = |error| ExactTrainError::Exact(InteriorError::OutOfMemory(error));
    let solver = trained.trainer.interior_point(&map, &problem, terms, by);
    let halted = |halt| ExactTrainError::Exact(InteriorError::from(halt));
    let mut solver = solver.map_err(halted)?.ok_or_else(none)?;
    drop(trained);
    while solver.step(&mut source).map_err(ExactTrainError::Exact)? != Step::Done {}
    solver.finish().map_err(memory)?.ok_or_else(none)
}

/// Why PSVM came to nothing.
pub type InteriorFailure<S, P> =
    ExactTrainError<LowRankFailure<S, P>, InteriorError<<S as Source>::Error, <P as Spool>::Error>>;

/// Why a kernel machine was not trained.
pub type LowRankFailure<S, P> =
    EngineError<LowRankError<<S as Source>::Error, <P as Spool>::Error>, <P as Spool>::Error>;

fn run<S: Source + Send, P: Spool + Send>(
    problem: Problem,
    goal: Goal,
    source: S,
    spool: P,
    start: Vec<Start>,
    settings: Settings,
    job: ReaderJob,
) -> Result<(Trained, S), EngineError<S::Error, P::Error>>
where
    S::Error: Send,
    P::Error: Send,
{
    let cache = Cache::in_memory(settings.cache_bytes).map_err(EngineError::Cache)?;
    let mut reader = Reader::new(cache.clone(), job, source, spool).map_err(EngineError::Cache)?;
    let mut trainer = Trainer::new(cache.clone(), problem, goal).map_err(EngineError::Train)?;
    let clock = Instant::now();
    while cache.phase() == Phase::Loading {
        reader.step(READER_BUDGET).map_err(EngineError::Read)?;
    }
    let loading_seconds = clock.elapsed().as_secs_f64();
    trainer.begin_from(start);
    match settings.threads {
        Threads::One => take_turns(&mut reader, &mut trainer)?,
        Threads::Two => side_by_side(&mut reader, &mut trainer)?,
    }
    let report = reader.report();
    let trained = Trained {
        trainer,
        reader: report.map_err(|error| EngineError::Train(error.into()))?,
        statistics: cache.statistics(),
        loading_seconds,
    };
    Ok((trained, reader.into_source()))
}

fn take_turns<S: Source, P: Spool>(
    reader: &mut Reader<S, P>,
    trainer: &mut Trainer,
) -> Result<(), EngineError<S::Error, P::Error>> {
    loop {
        while reader.step(READER_BUDGET).map_err(EngineError::Read)? == Step::Progress {}
        loop {
            match trainer.step(TRAINER_BUDGET).map_err(EngineError::Train)? {
                Step::Progress => {}
                Step::Blocked => break,
                Step::Done => return Ok(()),
            }
        }
    }
}

/// A counter of progress that the blocked role waits on.
#[derive(Default)]
struct Bell {
    rung: Mutex<u64>,
    sound: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock() += 1;
        self.sound.notify_all();
    }

    fn count(&self) -> u64 {
        *self.rung.lock()
    }

    /// Waits for a ring after `before`.
    fn wait(&self, before: u64) {
        let mut rung = self.rung.lock();
        // the time limit only bounds the wait for a role that ended by a panic
        let limit = Duration::from_millis(50);
        self.sound
            .wait_while_for(&mut rung, |rung| *rung == before, limit);
    }
}

fn drive<E>(bell: &Bell, mut step: impl FnMut() -> Result<Step, E>) -> Result<(), E> {
    let mut awake = Awake::default();
    loop {
        let before = bell.count();
        match step() {
            Ok(Step::Progress) => {
                awake.work();
                bell.ring();
            }
            Ok(Step::Blocked) if awake.rest() => {}
            Ok(Step::Blocked) => bell.wait(before),
            Ok(Step::Done) => {
                bell.ring();
                return Ok(());
            }
            Err(error) => {
                bell.ring();
                return Err(error);
            }
        }
    }
}

fn side_by_side<S: Source + Send, P: Spool + Send>(
    reader: &mut Reader<S, P>,
    trainer: &mut Trainer,
) -> Result<(), EngineError<S::Error, P::Error>>
where
    S::Error: Send,
    P::Error: Send,
{
    let bell = Bell::default();
    let (read, trained) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| drive(&bell, || reader.step(READER_BUDGET)));
        let trained = drive(&bell, || trainer.step(TRAINER_BUDGET));
        let read = match reading.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (read, trained)
    });
    match read {
        // the cause stands with the role that failed first
        Err(ReadError::TrainerFailed) | Ok(()) => {}
        Err(error) => return Err(EngineError::Read(error)),
    }
    trained.map_err(EngineError::Train)
}
