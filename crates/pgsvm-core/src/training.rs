//! The trainer role: visits rows, keeps dual variables and weights, decides when to stop.
//!
//! It runs in the trainer's process (or wherever the caller steps it), waits for nothing, and touches nothing but its side of the
//! [`Cache`]. What it holds in memory besides is a table in `training/README.md`. Weights have 64 bits up to [`WIDE_FEATURES`] features,
//! and 32 above; those of heads side by side always have 32.
//!
//! What it trains may be a plan of one stage or two (`objective/plan.rs`; `training/run.rs` carries it out). When the held-out heads of a stage
//! have ended they are given up, but for the mean of the dual variables of the best candidate's heads, from which the final heads begin.

pub(crate) mod by_scans;
mod calibrating;
pub(crate) mod error;
mod evaluating;
pub(crate) mod exactly;
mod held_out;
mod interior_point;
pub(crate) mod log;
mod nu;
mod run;
mod schedule;
mod search;
mod stage;
pub(crate) mod tallies;
mod threads;

use crate::objective::calibration::Calibrations;
use crate::objective::heads::HeadSpec;
use crate::objective::heads::Start;
use crate::objective::report::TrainerReport;
use crate::objective::report::{Doubt, HeadReport};
use crate::solver::weights::Duals;
use crate::solver::weights::Weights;
use crate::solver::weights::WIDE_FEATURES;
use crate::training::error::TrainError;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory};
use crate::base::step::Step;
use crate::cache::{Cache, Counters, Phase, TrainerSide, Waiting};
use crate::objective::plan::Goal;
use crate::objective::problem::Problem;
use crate::screening::measuring::Leeways;
use crate::screening::slack::Metric;
use crate::solver::driver::Method;
use crate::solver::ledger::Ledgers;
use log::{LogEntry, Snapshot};
use run::{Notes, Run};

/// The trainer role: see the crate's head.
pub struct Trainer {
    cache: Cache,
    problem: Problem,
    goal: Goal,
    /// By final head, where it begins; none to begin from 0.
    start: Vec<Start>,
    /// As [`Self::measure_leeways`] has it.
    wants_leeways: Option<Vec<Metric>>,
    /// As [`Self::note_doubts`] and [`Self::keep_weights`] have it.
    notes: Notes,
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

impl Trainer {
    /// Has the final heads stop at this gap, or after so many passes, as what comes after them begins there; to be called before the first
    /// step behind loading.
    pub fn end_roughly(&mut self, tolerance: f64, max_passes: u32) {
        if let Goal::Plan(plan) = &mut self.goal {
            plan.final_stop = Some((tolerance, max_passes));
        }
    }

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
            notes: Notes::default(),
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

    /// Has rows that are held out noted where their margin, in the heads that have not seen them, is below this, at the best C; to
    /// be called before the first step behind loading.
    pub fn note_doubts(&mut self, below: f64) {
        self.notes.doubts_below = Some(below);
    }

    /// Says each class's place in the order of labels: of classes for which as much speaks the first is told. To be called before the
    /// first step behind loading.
    pub fn rank_classes(&mut self, ranks: Vec<u32>) {
        self.notes.class_ranks = ranks;
    }

    /// What [`Self::rank_classes`] has said; nothing before the first step behind loading.
    pub(crate) fn class_ranks(&self) -> &[u32] {
        match &self.side {
            Side::Wide(run) => run.class_ranks(),
            Side::Narrow(run) => run.class_ranks(),
            Side::Waiting(_) | Side::Ended => &[],
        }
    }

    /// Where nu is given, the search for its C, and the costs of all rows.
    fn nu(&self) -> Option<(&nu::NuSearch, f64)> {
        match &self.side {
            Side::Wide(run) => run.nu(),
            Side::Narrow(run) => run.nu(),
            Side::Waiting(_) | Side::Ended => None,
        }
    }

    /// Where labels are numbers, by how much a score may be off without a loss.
    pub(crate) fn epsilon(&self) -> Option<f64> {
        match &self.side {
            Side::Wide(run) => run.epsilon(),
            Side::Narrow(run) => run.epsilon(),
            Side::Waiting(_) | Side::Ended => None,
        }
    }

    /// Those rows, in their order; none before the end.
    pub fn doubts(&self) -> &[Doubt] {
        match &self.side {
            Side::Wide(run) => run.doubts(),
            Side::Narrow(run) => run.doubts(),
            Side::Waiting(_) | Side::Ended => &[],
        }
    }

    /// Has weights kept on the way, at entries of the log; to be called before the first step behind loading.
    pub fn keep_weights(&mut self) {
        self.notes.weights = true;
    }

    /// Those weights, in order of time; none before training has begun.
    pub fn snapshots(&self) -> Result<Vec<&Snapshot>, OutOfMemory> {
        match &self.side {
            Side::Wide(run) => gathered(run.snapshots()),
            Side::Narrow(run) => gathered(run.snapshots()),
            Side::Waiting(_) | Side::Ended => Ok(Vec::new()),
        }
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
            (_, Phase::Failed) => return Err(TrainError::ReaderFailed),
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
                let notes = std::mem::take(&mut self.notes);
                let (problem, goal, started) = (&self.problem, &self.goal, self.started);
                match wide {
                    true => Side::Wide(
                        Run::new(problem, goal, start, leeways, side, started)?.noting(notes),
                    ),
                    false => Side::Narrow(
                        Run::new(problem, goal, start, leeways, side, started)?.noting(notes),
                    ),
                }
            }
        };
        Ok(())
    }

    fn publish(&self) {
        let (progress, stage) = match &self.side {
            Side::Wide(run) => (run.progress(), run.stage()),
            Side::Narrow(run) => (run.progress(), run.stage()),
            Side::Waiting(_) | Side::Ended => return,
        };
        let (tallies, visits, updates, gap) = progress;
        let (stage, heads, running_heads, folds) = stage;
        self.cache.publish_counters(&Counters {
            pass: tallies.passes,
            rows_into_pass: tallies.rows_into_pass,
            gap,
            visits,
            updates,
            evictions: tallies.evictions,
            replaced: tallies.replaced,
            working_set_rows: tallies.working_set_rows,
            stage,
            heads,
            running_heads,
            folds,
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
                truncation: None,
                gamma: None,
                epsilon: None,
                nu: None,
                calibrations: Calibrations::default(),
                fit: None,
                rows: 0,
                resident: false,
                passes: 0,
                visits: 0,
                updates: 0,
                evictions: 0,
                replaced: 0,
                newton: false,
                in_pairs: false,
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
            Side::Wide(run) => run.solver().weights(head),
            Side::Narrow(run) => run.solver().weights(head),
            Side::Waiting(_) | Side::Ended => Weights::of(&[], 0.0),
        }
    }

    /// The dual variables of a head: those of the certificate. None before training has begun.
    pub fn duals(&self, head: usize) -> Duals<'_> {
        match &self.side {
            Side::Wide(run) => run.solver().duals(head),
            Side::Narrow(run) => run.solver().duals(head),
            Side::Waiting(_) | Side::Ended => Duals::default(),
        }
    }
}
