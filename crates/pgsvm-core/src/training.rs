//! The trainer role: visits rows, keeps dual variables and weights, decides when to stop.
//!
//! It runs in the trainer's process (or wherever the caller steps it), waits for nothing and touches nothing but its
//! side of the [`Cache`]. It holds, besides the cache: one f32 for each row and head, four vectors of weights for each
//! head (plus one of f64 while verifying), two bits a row and head, one word for every block of 4 or 16 rows. Several
//! trainers hold one vector for each head more each (and another of f64 while verifying). Weights are f64 up to
//! [`WIDE_FEATURES`] features and f32 above. Where the shift of a head needs a metric there are two vectors of weights' kind
//! and one of f32 more, and one of f64 where it follows the dual variables; one of f32 serves all heads.
//!
//! Several heads are held together where that suits them (`solver/joint.rs`), by one trainer and in f32: with K heads
//! rounded up to whole eights, one f32 and a bit for each row and head of the K, a bit a row, four matrices of weights
//! (features x K; six where the shift needs a metric; one more in full passes up to [`WIDE_FEATURES`] features, and there
//! another bit a row where rows stream), a vector for each head that has ended, and one of f64 for each
//! head being verified.
//!
//! Rows that are given leeways (`screening/measuring.rs`) take a byte each, and their metrics five 64-bit numbers for each feature and
//! class.
//!
//! What it trains may be a plan of one stage or two (`task/plan.rs`; `training/run.rs` carries it out). With F folds, V values of C and
//! H heads of a classifier (one for two classes, else one a class) a stage that holds rows out has F V H heads, and the
//! memory of so many. When they have ended there are, besides, V H f32 and two words a row for held-out decisions
//! (`training/held_out.rs`) and eight bytes for each row of the fold that is ranked. Then the heads are given up, but for the mean
//! dual variables of H of them, from which the final ones begin.

mod held_out;
mod log;
mod outside;
mod run;
mod schedule;
mod threads;

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::base::memory::{gathered, list, OutOfMemory};
use crate::cache::{Cache, CacheError, Counters, TrainerSide, Waiting};
use crate::screening::measuring::Leeways;
use crate::screening::slack::Metric;
use crate::simd::Real;
use crate::solver::{Column, Found};
use crate::task::evaluation::Sigmoid;
use crate::task::plan::{Goal, PlanError};
use crate::task::problem::Problem;
use crate::Step;
pub use log::{Event, LogEntry};
pub use outside::Outside;
use run::Run;

/// Up to this many features weights are kept in f64; above, in f32, which then is about twice as fast.
pub const WIDE_FEATURES: usize = 50_000;

/// One binary problem over the shared rows.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadSpec {
    /// By group id: -1, +1, or 0 for rows that take no part.
    pub signs: Signs,
    /// C of this head.
    pub c: f64,
    /// Gap at which it stops; None: the problem's tolerance.
    pub tolerance: Option<f64>,
    /// Full passes after which it stops with the gap reached; None: as many as the problem says.
    pub max_passes: Option<u32>,
}

impl HeadSpec {
    /// A head that stops as the problem says.
    pub fn new(signs: impl Into<Signs>, c: f64) -> Self {
        Self {
            signs: signs.into(),
            c,
            tolerance: None,
            max_passes: None,
        }
    }

    /// Class 0 against class 1: signs -1 and +1.
    pub fn binary(c: f64) -> Self {
        Self::new(vec![-1, 1], c)
    }
}

/// On which side of a head the rows of each group are.
#[derive(Debug, Clone, PartialEq)]
pub enum Signs {
    /// By group.
    Listed(Vec<i8>),
    /// Of groups that are a class times `stride` plus a fold: one class against the rest, without the rows of a fold. Heads
    /// of this kind may be many, and so may be groups.
    Against {
        positive: usize,
        stride: usize,
        held_out: Option<u32>,
        groups: usize,
    },
}

impl From<Vec<i8>> for Signs {
    fn from(listed: Vec<i8>) -> Self {
        Self::Listed(listed)
    }
}

impl Signs {
    /// -1, +1, or 0 for rows that take no part.
    #[inline]
    pub fn of(&self, group: usize) -> i8 {
        match self {
            Self::Listed(all) => all[group],
            Self::Against {
                positive,
                stride,
                held_out,
                ..
            } => match (held_out, group / stride == *positive) {
                (Some(fold), _) if group % stride == *fold as usize => 0,
                (_, true) => 1,
                (_, false) => -1,
            },
        }
    }

    /// Groups that it knows.
    pub(crate) fn groups(&self) -> usize {
        match self {
            Self::Listed(all) => all.len(),
            Self::Against { groups, .. } => *groups,
        }
    }

    /// Those of the first groups, one after another.
    pub(crate) fn list(&self, groups: usize) -> Result<Vec<i8>, TrainError> {
        let mut all = Vec::new();
        let bytes = groups as u64;
        all.try_reserve_exact(groups)
            .map_err(|_| TrainError::OutOfMemory { bytes })?;
        all.extend((0..groups).map(|group| self.of(group)));
        Ok(all)
    }
}

/// Where a head begins, other than at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// One for each row, by ordinal, not below 0; one beyond its bound is moved there.
    pub duals: Vec<f32>,
    /// For scaled rows, one for each feature and last the intercept's: the first centre of the proximal shift. None: v.
    ///
    /// Where rows come and go, v = sum a y x moves far, since in it large terms of many rows cancel each other; weights
    /// found before stay good.
    pub weights: Option<Vec<f64>>,
}

/// Primal, dual and relative gap at the reported weights and dual variables, over all rows of the head.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// P(w) at the reported weights.
    pub primal: f64,
    /// D(a) at the reported dual variables.
    pub dual: f64,
    /// (primal - dual) / primal; 0 when the primal is 0.
    pub gap: f64,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// The verified gap is within the tolerance.
    Tolerance,
    /// The passes allowed are used up.
    MaxPasses,
    /// Somebody asked for the end; the certificate is that of the last full pass, not verified.
    Requested,
}

/// How one head ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeadReport {
    /// Primal, dual and gap.
    pub certificate: Certificate,
    /// Share of rows on the right side at the reported weights.
    pub training_accuracy: f64,
    /// Why it ended; None while it runs.
    pub stop: Option<StopReason>,
    /// Rows whose dual variable is positive.
    pub support_vectors: u64,
    /// The proximal shift at the end.
    pub kappa: f64,
}

/// How good one C is on the rows of one fold, by heads trained on the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The C of these heads.
    pub c: f64,
    /// The fold held out.
    pub fold: u32,
    /// Rows held out, at least 1.
    pub rows: u64,
    /// Share of them that get their own class.
    pub accuracy: f64,
    /// Area under the ROC curve, with more than two classes the mean over those against their rest; None where the fold
    /// has rows of one class only.
    pub auc: Option<f64>,
    /// The primal that training reached on the other rows, summed over the heads.
    pub objective: f64,
}

/// How training ended, or stands.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainerReport {
    /// One for each final head; none while, or where, only held-out heads are trained.
    #[serde(deserialize_with = "list")]
    pub heads: Vec<HeadReport>,
    /// By C, in the plan's order, and fold; empty unless rows were held out and until they are evaluated.
    #[serde(deserialize_with = "list")]
    pub validation: Vec<Validation>,
    /// The C of the final heads, or the best one of those validated; None for given heads and before it is chosen.
    pub c: Option<f64>,
    /// One for each final head where the plan asks for probabilities, else none.
    #[serde(deserialize_with = "list")]
    pub sigmoids: Vec<Sigmoid>,
    /// Rows in all.
    pub rows: u64,
    /// Whether every row was in the cache.
    pub resident: bool,
    /// Passes over all rows, verification included.
    pub passes: u32,
    /// Rows visited to train, over all heads.
    pub visits: u64,
    /// Visits that changed a dual variable.
    pub updates: u64,
    /// Rows dropped from the working set as uninformative.
    pub evictions: u64,
    /// Rows dropped from the working set to make room.
    pub replaced: u64,
}

/// Why training cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainError {
    /// The region cannot be claimed.
    Cache(CacheError),
    /// Memory for dual variables or weights could not be had.
    OutOfMemory { bytes: u64 },
    /// A head without a sign for each group of the data.
    Head { head: usize },
    /// A start that does not have one dual variable for each row of the final head, or a weight for each feature.
    Start { head: usize },
    /// The plan cannot be carried out.
    Plan(PlanError),
    /// The reader gave up.
    ReaderFailed,
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory while asking for {bytes} bytes")
            }
            Self::Head { head } => write!(f, "head {head} has no sign for a group of the data"),
            Self::Start { head } => {
                write!(f, "what is to begin from does not fit head {head}")
            }
            Self::Plan(error) => error.fmt(f),
            Self::ReaderFailed => write!(f, "the reader has failed"),
        }
    }
}

impl std::error::Error for TrainError {}

impl From<OutOfMemory> for TrainError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

/// Weights of one head, for scaled rows, by feature id.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    values: Values<'a>,
    intercept: f64,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Wide(&'a [f64]),
    Narrow(&'a [f32]),
    /// The intercept behind them.
    Shared(Column<'a>),
}

impl<'a> Weights<'a> {
    /// Weights out of plain numbers.
    pub fn of(values: &'a [f64], intercept: f64) -> Self {
        Self {
            values: Values::Wide(values),
            intercept,
        }
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        match self.values {
            Values::Wide(values) => values.len(),
            Values::Narrow(values) => values.len(),
            Values::Shared(column) => column.len() - 1,
        }
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weight of a feature.
    pub fn get(&self, feature: usize) -> f64 {
        match self.values {
            Values::Wide(values) => values[feature],
            Values::Narrow(values) => f64::from(values[feature]),
            Values::Shared(column) => f64::from(column.get(feature)),
        }
    }

    /// Weights in order of feature ids.
    pub fn iter(&self) -> impl Iterator<Item = f64> + 'a {
        let this = *self;
        (0..this.len()).map(move |feature| this.get(feature))
    }

    /// Weight of the constant feature, 0 without intercept.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }
}

impl<'a> Weights<'a> {
    fn wide(all: &'a [f64]) -> Self {
        let (intercept, values) = split_intercept(all);
        Self {
            values: Values::Wide(values),
            intercept,
        }
    }

    fn narrow(all: &'a [f32]) -> Self {
        let (intercept, values) = split_intercept(all);
        Self {
            values: Values::Narrow(values),
            intercept,
        }
    }

    fn shared(column: Column<'a>) -> Self {
        Self {
            intercept: column.get(column.len() - 1).into(),
            values: Values::Shared(column),
        }
    }
}

fn split_intercept<T: Real>(weights: &[T]) -> (f64, &[T]) {
    match weights.split_last() {
        Some((intercept, values)) => (intercept.to(), values),
        None => (0.0, weights),
    }
}

/// Dual variables of one head, by ordinal.
#[derive(Clone, Copy, Default)]
pub struct Duals<'a> {
    values: &'a [f32],
    /// From one row's value to the next row's: those of several heads may lie side by side.
    step: usize,
}

impl<'a> Duals<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().div_ceil(self.step.max(1))
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The dual variable of a row.
    pub fn get(&self, ordinal: usize) -> f32 {
        self.values[ordinal * self.step]
    }

    /// Dual variables in order of ordinals.
    pub fn iter(&self) -> impl Iterator<Item = f32> + 'a {
        self.values.iter().step_by(self.step.max(1)).copied()
    }
}

/// The trainer role: see the crate's head.
pub struct Trainer {
    cache: Cache,
    problem: Problem,
    goal: Goal,
    /// By final head, where it begins; none to begin from 0.
    start: Vec<Start>,
    /// As [`Self::measure_leeways`] has it.
    wants_leeways: Option<Vec<Metric>>,
    side: Side,
    started: Instant,
}

enum Side {
    Waiting(Waiting),
    Wide(Run<f64>),
    Narrow(Run<f32>),
    /// Ended before it could begin.
    Ended,
}

/// Counters that the forms keep by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tallies {
    passes: u32,
    rows_into_pass: u64,
    working_set_rows: u64,
    evictions: u64,
    replaced: u64,
}

impl Trainer {
    /// Claims the trainer's side of `cache`. Memory for weights and dual variables is asked for when loading ends.
    pub fn new(cache: Cache, problem: Problem, goal: impl Into<Goal>) -> Result<Self, TrainError> {
        let goal = goal.into();
        if let Goal::Plan(plan) = &goal {
            plan.check().map_err(TrainError::Plan)?;
        }
        let side = Side::Waiting(cache.claim_trainer().map_err(TrainError::Cache)?);
        Ok(Self {
            cache,
            problem,
            goal,
            start: Vec::new(),
            wants_leeways: None,
            side,
            started: Instant::now(),
        })
    }

    /// Begins with one of these for each final head; to be called after loading has ended and before the step that
    /// follows.
    ///
    /// Any dual variables within the bounds are feasible, whatever rows, scaling or C they were found for: the first pass
    /// computes v = sum a y x and the primal at the weights exactly, and the certificate is that of any other training.
    pub fn begin_from(&mut self, start: Vec<Start>) {
        self.start = start;
    }

    /// Has the rows given leeways when the training has arrived, in these metrics by group, or without any in some that are
    /// learned; to be called before the first step behind loading. Only rows that have one final head and no more than
    /// [`crate::screening::slack::MOST_FEATURES`] features get them, and where they stream only those of a schedule without blocks, in
    /// one more pass.
    pub fn measure_leeways(&mut self, metrics: Vec<Metric>) {
        self.wants_leeways = Some(metrics);
    }

    /// The leeways of the rows; None before the end, and where they get none.
    pub fn leeways(&self) -> Option<&Leeways> {
        match &self.side {
            Side::Wide(run) => run.leeways(),
            Side::Narrow(run) => run.leeways(),
            Side::Waiting(_) | Side::Ended => None,
        }
    }

    /// Visits rows with about `budget_values` stored words in all (a few words more than values), a row once for each head
    /// that runs.
    ///
    /// `Blocked` until loading ends and, while streaming, when nothing can be done before rows come.
    pub fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let result = self.try_step(budget_values);
        if result.is_err() {
            self.cache.fail();
        }
        result
    }

    fn try_step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        if matches!(self.side, Side::Waiting(_)) {
            self.look()?;
        }
        let stop = self.cache.stop_requested();
        let step = match &mut self.side {
            Side::Waiting(_) => return Ok(if stop { Step::Done } else { Step::Blocked }),
            Side::Ended => {
                return if stop {
                    Ok(Step::Done)
                } else {
                    Err(TrainError::ReaderFailed)
                }
            }
            Side::Wide(run) => run.step(budget_values, stop)?,
            Side::Narrow(run) => run.step(budget_values, stop)?,
        };
        self.publish();
        match (step, self.cache.phase()) {
            (Step::Done, _) => self.cache.publish_finished(),
            (_, crate::Phase::Failed) => return Err(TrainError::ReaderFailed),
            _ => {}
        }
        Ok(step)
    }

    /// Begins to train once loading has ended.
    fn look(&mut self) -> Result<(), TrainError> {
        let Side::Waiting(waiting) = std::mem::replace(&mut self.side, Side::Ended) else {
            return Ok(());
        };
        let polled = waiting.poll();
        let wide = match &polled {
            TrainerSide::Waiting(_) | TrainerSide::Ended => true,
            TrainerSide::Resident(facts, _) | TrainerSide::Streaming(facts, ..) => {
                facts.features <= WIDE_FEATURES
            }
        };
        self.side = match polled {
            TrainerSide::Waiting(waiting) => Side::Waiting(waiting),
            TrainerSide::Ended => Side::Ended,
            side => {
                let start = std::mem::take(&mut self.start);
                let leeways = self.wants_leeways.take();
                let (problem, goal, started) = (&self.problem, &self.goal, self.started);
                match wide {
                    true => Side::Wide(Run::new(problem, goal, start, leeways, side, started)?),
                    false => Side::Narrow(Run::new(problem, goal, start, leeways, side, started)?),
                }
            }
        };
        Ok(())
    }

    fn publish(&self) {
        let (tallies, visits, updates, gap) = match &self.side {
            Side::Wide(run) => run.progress(),
            Side::Narrow(run) => run.progress(),
            Side::Waiting(_) | Side::Ended => return,
        };
        self.cache.publish_counters(&Counters {
            pass: tallies.passes,
            rows_into_pass: tallies.rows_into_pass,
            gap,
            visits,
            updates,
            evictions: tallies.evictions,
            replaced: tallies.replaced,
            working_set_rows: tallies.working_set_rows,
        });
    }

    /// How training ended; before the end, how it stands.
    pub fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        Ok(match &self.side {
            Side::Wide(run) => run.report()?,
            Side::Narrow(run) => run.report()?,
            Side::Waiting(_) | Side::Ended => TrainerReport {
                heads: Vec::new(),
                validation: Vec::new(),
                c: None,
                sigmoids: Vec::new(),
                rows: 0,
                resident: false,
                passes: 0,
                visits: 0,
                updates: 0,
                evictions: 0,
                replaced: 0,
            },
        })
    }

    /// What happened when, from the end of loading to the last pass; empty before training has begun.
    pub fn log(&self) -> Result<Vec<LogEntry>, OutOfMemory> {
        match &self.side {
            Side::Wide(run) => run.log(),
            Side::Narrow(run) => run.log(),
            Side::Waiting(_) | Side::Ended => Ok(Vec::new()),
        }
    }

    /// The heads of the stage under way, or of the last one: final ones first, then held-out ones by C, fold and class;
    /// with the numbers of [`Self::weights`] and [`Self::duals`]. None before training has begun.
    pub fn heads(&self) -> Result<Vec<(HeadSpec, HeadReport)>, OutOfMemory> {
        let (specs, reports) = match &self.side {
            Side::Wide(run) => run.heads()?,
            Side::Narrow(run) => run.heads()?,
            Side::Waiting(_) | Side::Ended => return Ok(Vec::new()),
        };
        gathered(specs.iter().cloned().zip(reports))
    }

    /// The weights of a head: those of the certificate. No features before training has begun.
    pub fn weights(&self, head: usize) -> Weights<'_> {
        match &self.side {
            Side::Wide(run) => match run.solver().weights(head) {
                Found::Own(weights) => Weights::wide(weights),
                Found::Shared(column) => Weights::shared(column),
            },
            Side::Narrow(run) => match run.solver().weights(head) {
                Found::Own(weights) => Weights::narrow(weights),
                Found::Shared(column) => Weights::shared(column),
            },
            Side::Waiting(_) | Side::Ended => Weights::of(&[], 0.0),
        }
    }

    /// The dual variables of a head: those of the certificate. None before training has begun.
    pub fn duals(&self, head: usize) -> Duals<'_> {
        let (values, step) = match &self.side {
            Side::Wide(run) => run.solver().duals(head),
            Side::Narrow(run) => run.solver().duals(head),
            Side::Waiting(_) | Side::Ended => (&[][..], 1),
        };
        Duals { values, step }
    }
}
