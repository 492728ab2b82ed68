//! What comes out of a training: what its reader and its trainer leave behind, put together once, when both are done.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::KernelForm;
use crate::index::kept::Served;
use crate::keys::chunks::KeyChunk;
use crate::pg::citus::ShardSpread;
use crate::planning::job::{ReaderOutcome, TrainerOutcome};
use crate::scanning::statement::Sent;
use crate::targets::labels::{self, SIDES};
use crate::training::recheck::{Covers, Rechecked};
use crate::training::weights::{KeptDuals, StoredWeights};
use crate::warm_start::followed::Followed;
use crate::warm_start::screening::{merge, RowSlacks, Screening};
use pgsvm_core::engine::Compared;
use pgsvm_core::kernels::{Kernel, LowRank, Rows as LandmarkRows};
use pgsvm_core::memory::{copied, filled, gathered};
use pgsvm_core::{
    Certificate, Doubt, ExactOutcome, InteriorOutcome, Leeways, MachineTimes, Pairs, Scoring,
    TargetScale, NO_LOSS_FROM,
};
use std::rc::Rc;

/// How many deviations from 0 labels may lie: the intercept in their units then has the digits of one that is certified to 1e-7.
const FARTHEST: f64 = 1e8;

/// A finished training.
pub struct Trained {
    pub reader: ReaderOutcome,
    pub trainer: TrainerOutcome,
    /// The final heads, as in `trainer.report.heads`; none after a cross-validation.
    pub heads: Vec<TrainedHead>,
    /// Of a kernel machine its landmarks.
    pub landmarks: Option<LandmarkRows>,
    /// Of interior points what they were solved on.
    pub factored: Option<FactoredKernel>,
    /// Keys and digests of the rows, of a training with a key.
    pub keys: Vec<KeyChunk>,
    /// What the training began from, and how its rows compare with those known.
    pub followed: Option<Followed>,
    /// How an index has served, where there is one.
    pub served: Option<Served>,
    /// What versions of rows are known by, and their margin slacks, where those were measured.
    pub slacks: Option<RowSlacks>,
    /// How good weights on the way were on the rows that were watched.
    pub tested: Vec<Tested>,
    /// Rows held out that are doubted, where that was asked for.
    pub doubts: Vec<Doubt>,
    /// Whether the certificate covers all rows, those screened too.
    pub covers: Covers,
    /// How a kernel machine does on a sample of the rows, where that was looked at.
    pub compared: Option<Compared>,
    /// Of a kernel machine that might have been exact.
    pub approximate: Option<Approximate>,
    /// Of a kernel machine for which more landmarks may be worth it and could not be had.
    pub coarse: Option<Coarse>,
    pub processes: Processes,
    /// Scans after which it went over to rows that stream, where it began by scans.
    pub gave_way: Option<u32>,
    /// Passes over rows that stream, after which scans were tried as those came to nothing; what is nearer was taken.
    pub streamed: Option<u32>,
}

/// How good the weights at an entry of the log are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The time of the entry.
    pub seconds: f64,
    /// The share of the rows that get another class; of a regression the root of the mean squared error, or of quantiles their
    /// mean loss, in the units of the label.
    pub error: f64,
    /// Area under the ROC curve, of more than two classes the mean of each against the rest; None where rows of one side are
    /// missing.
    pub auc: Option<f64>,
}

/// What speaks for more landmarks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coarse {
    /// The objective fell by this share of it when they were doubled last.
    Falling(f64),
    /// They were never doubled.
    Untried,
}

/// Why a kernel machine that nobody wants approximate is of low rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Approximate {
    /// An exact one would take so many seconds, about.
    Seconds(f64),
    /// It takes more than so many: as many were tried.
    MoreThan(f64),
    /// An exact one would need a cache of so many bytes.
    CacheBytes(usize),
}

/// What a head has learned.
pub struct TrainedHead {
    pub weights: StoredWeights,
    pub duals: KeptDuals,
}

/// What a reader leaves behind.
pub struct Collected {
    pub outcome: ReaderOutcome,
    /// Of a kernel machine what was found of its kernel.
    pub machine: Option<Machine>,
    /// Of an exact machine that is watched the one of low rank where it began, and how rows are compared with its landmarks.
    pub began: Option<(Rc<KernelForm>, Box<LowRank>)>,
    pub keys: Vec<KeyChunk>,
    /// What versions of rows are known by.
    pub versions: Option<Vec<u64>>,
    /// What the training began from.
    pub followed: Option<Followed>,
    /// How an index has served, where there is one.
    pub served: Option<Served>,
    /// Which rows were screened, where that was allowed.
    pub screening: Option<Screening>,
}

/// The factor of a kernel matrix.
pub struct FactoredKernel {
    pub columns: usize,
    /// The part of the trace that it leaves out.
    pub left_out: f64,
    /// By how much the dual objective can differ from that of the kernel itself, over all heads.
    pub bound: f64,
    pub machines: Vec<MachineTimes>,
}

/// A kernel machine.
pub enum Machine {
    /// A linear one on what this map makes of rows.
    LowRank(Box<LowRank>),
    Exact(Box<ExactOutcome>),
    InteriorPoint(Box<InteriorOutcome>),
}

impl Machine {
    /// None where it is a hyperplane.
    fn into_landmarks(self) -> Option<LandmarkRows> {
        match self {
            Self::LowRank(map) => Some(map.into_landmarks()),
            Self::Exact(found) => Some(found.landmarks),
            Self::InteriorPoint(found) if *found.map.kernel() == Kernel::Linear => None,
            Self::InteriorPoint(found) => Some(found.map.into_landmarks()),
        }
    }

    /// What is said of interior points.
    fn factored(&self) -> Option<FactoredKernel> {
        match self {
            Self::InteriorPoint(found) => Some(FactoredKernel {
                columns: found.map.rank(),
                left_out: found.map.left_out(),
                bound: found.bounds.iter().sum(),
                machines: found.times.clone(),
            }),
            Self::LowRank(_) | Self::Exact(_) => None,
        }
    }
}

/// What a trainer leaves behind, its weights folded for raw rows.
pub struct Fitted {
    pub outcome: TrainerOutcome,
    pub heads: Vec<TrainedHead>,
    /// Of the rows trained on, where they were measured.
    pub slacks: Option<Leeways>,
}

/// The workers of a training.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes {
    /// Those that played a role.
    pub workers: i32,
    /// Those that fetched rows.
    pub helpers: i32,
    /// Where rows of Citus were summed up.
    pub away: Option<Away>,
    /// Of an average of what parts of the rows have found alone, how many parts.
    pub averaged: Option<u32>,
}

impl Processes {
    /// Whether nodes of Citus have the rows.
    pub fn is_on_nodes(&self) -> bool {
        self.away.is_some_and(|away| away.spread.shards > 0)
    }
}

/// A training by scans on other nodes.
#[derive(Debug, Clone, Copy)]
pub struct Away {
    pub spread: ShardSpread,
    pub sent: Sent,
    /// Whether it began anew, as rows had changed.
    pub anew: bool,
}

impl Trained {
    /// Of a training at cost `c`; `rechecked` is what is known of the rows that it screened.
    pub fn assemble(
        c: f64,
        read: Collected,
        fitted: Fitted,
        rechecked: Rechecked,
        processes: Processes,
    ) -> Self {
        let (mut reader, mut trainer) = (read.outcome, fitted.outcome);
        if let Some(outside) = &rechecked.outside {
            reader.report.rows += outside.rows();
            trainer.report.cover(c, outside);
        }
        let covers = rechecked.covers(c, &trainer.report);
        let slacks = match (covers, fitted.slacks, read.versions) {
            // means move with other rows
            (Covers::AllRows, Some(slacks), Some(versions)) if reader.features.means.is_empty() => {
                row_slacks(&reader, slacks, versions, &rechecked)
            }
            _ => None,
        };
        Self {
            heads: fitted.heads,
            factored: read.machine.as_ref().and_then(Machine::factored),
            landmarks: read.machine.and_then(Machine::into_landmarks),
            keys: read.keys,
            followed: read.followed.map(|followed| Followed {
                rechecked: rechecked.looked_at,
                ..followed
            }),
            served: read.served,
            slacks,
            covers,
            reader,
            trainer,
            tested: Vec::new(),
            doubts: Vec::new(),
            compared: None,
            approximate: None,
            coarse: None,
            processes,
            gave_way: None,
            streamed: None,
        }
    }

    /// Whether no weight and no part of a certificate has grown beyond what numbers hold.
    pub fn is_finite(&self) -> bool {
        let certificates = self.trainer.report.heads.iter().all(|head| {
            let certificate = head.certificate;
            let parts = [certificate.primal, certificate.dual, certificate.gap];
            parts.iter().all(|part| part.is_finite())
        });
        certificates
            && self.heads.iter().all(|head| {
                let mut chunks = head.weights.chunks.iter();
                head.weights.intercept.is_finite()
                    && chunks.all(|chunk| chunk.weights.iter().all(|weight| weight.is_finite()))
            })
    }

    /// Of a regression, weights in the units of the label, objectives in those of its deviation, and each row counted once; of novelties, decisions that
    /// are less than 0 for them. `scoring`: that of rows held out.
    ///
    /// # Errors
    /// Labels whose digits do not hold their deviation: what is stored in their units would not be what is certified.
    pub fn in_label_units(&mut self, scoring: Scoring) -> Result<(), Failure> {
        if self.trainer.report.nu.is_some() {
            // rows are usual that are beyond the margin
            for head in &mut self.heads {
                head.weights.intercept -= NO_LOSS_FROM;
            }
        }
        let Some(targets) = self.reader.report.targets else {
            return Ok(());
        };
        // labels that are all the same have a deviation of 1, and the mean is their prediction
        let varies = targets.deviation != 1.0;
        if varies && targets.centre.abs() > FARTHEST * targets.deviation {
            return Err(Failure::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "labels lie too far from 0 for what tells them apart: their mean is {:e}, their standard deviation {:e}",
                    targets.centre, targets.deviation
                ),
            )
            .hint("Take their mean away in a query"));
        }
        for head in &mut self.heads {
            head.weights.multiply(targets.unit());
            head.weights.intercept += targets.centre;
        }
        if targets.delta.is_some() {
            self.undo_delta(&targets);
        }
        if let Some(residuals) = &mut self.trainer.report.calibrations.residuals {
            residuals.multiply(targets.unit());
        }
        if scoring.has_their_unit() {
            for found in &mut self.trainer.report.validation {
                for score in [&mut found.score, &mut found.overall].into_iter().flatten() {
                    *score *= targets.unit();
                }
            }
        }
        self.reader.report.rows /= SIDES.len() as u64;
        self.trainer.report.rows /= SIDES.len() as u64;
        Ok(())
    }

    /// Objectives and decisions as if labels had been divided by their deviation alone.
    fn undo_delta(&mut self, targets: &TargetScale) {
        let times = targets.of_objective();
        if let Some(factored) = &mut self.factored {
            factored.bound *= times;
        }
        let report = &mut self.trainer.report;
        for head in &mut report.heads {
            let Certificate { primal, dual, .. } = head.certificate;
            head.certificate = Certificate::of(times * primal, times * dual);
        }
        for entry in &mut self.trainer.log {
            for bound in [&mut entry.primal, &mut entry.dual].into_iter().flatten() {
                *bound *= times;
            }
        }
        for found in &mut report.validation {
            found.objective *= times;
        }
        if let Some(fit) = &mut report.fit {
            fit.deviation *= targets.delta();
        }
    }

    /// Brings the classes into ascending order, and the heads with them: of two classes the larger one becomes the
    /// positive one. Returns the labels.
    pub fn order_classes(&mut self) -> Vec<String> {
        let order = labels::ascending(&self.reader.classes);
        let report = &self.trainer.report;
        if let ([1, 0], [_]) = (order.as_slice(), report.heads.as_slice()) {
            self.swap_sides(0);
        }
        let report = &self.trainer.report;
        let heads = match report.in_pairs {
            true => self.order_pairs(&order),
            false => copied(&order).or_raise(),
        };
        let report = &mut self.trainer.report;
        permute(&mut self.heads, &heads);
        permute(&mut report.heads, &heads);
        permute(&mut report.calibrations.heads, &heads);
        if let Some(fit) = &mut report.fit {
            permute(&mut fit.actual, &order);
            permute(&mut fit.predicted, &order);
            permute(&mut fit.right, &order);
        }
        let classes = &self.reader.classes;
        order
            .iter()
            .map(|class| classes[*class].text.clone())
            .collect()
    }
}

impl Trained {
    /// Has the class of each pair that comes first in this order be the positive one. Returns the order of heads that goes with it.
    fn order_pairs(&mut self, order: &[usize]) -> Vec<usize> {
        let known = Pairs::all(order.len()).or_raise();
        let mut places = filled(0, known.len()).or_raise();
        for (place, head) in places.iter_mut().enumerate() {
            let [positive, negative] = known.sides(place).map(|class| order[class]);
            let sides = [positive.min(negative), positive.max(negative)];
            *head = known.head(sides);
            if positive > negative {
                self.swap_sides(*head);
            }
        }
        places
    }

    /// Has the other side of a head be the positive one.
    fn swap_sides(&mut self, head: usize) {
        let report = &mut self.trainer.report;
        if let Some(head) = self.heads.get_mut(head) {
            head.weights.flip();
        }
        report.heads[head].swap_sides();
        if let Some(calibration) = report.calibrations.heads.get_mut(head) {
            calibration.swap_sides();
        }
    }
}

/// The margin slacks of all rows, those screened among them; None where some row is not known by a version.
fn row_slacks(
    reader: &ReaderOutcome,
    slacks: Leeways,
    versions: Vec<u64>,
    rechecked: &Rechecked,
) -> Option<RowSlacks> {
    if versions.len() as u64 != reader.report.rows {
        return None;
    }
    let screened = |row: usize| rechecked.codes[row];
    let all = merge(slacks.codes.into_iter(), &rechecked.rows, screened);
    let labels = reader.classes.iter().map(|class| class.text.clone());
    Some(RowSlacks {
        metrics: labels.zip(slacks.metrics).collect(),
        versions,
        codes: gathered(all).or_raise(),
        scaling: reader.report.scaling.copied().or_raise(),
    })
}

/// Puts `items[order[0]]` first, and so on; leaves what has another length as it is.
fn permute<T>(items: &mut Vec<T>, order: &[usize]) {
    if items.len() == order.len() {
        let mut taken: Vec<Option<T>> = gathered(items.drain(..).map(Some)).or_raise();
        items.extend(order.iter().filter_map(|at| taken[*at].take()));
    }
}
