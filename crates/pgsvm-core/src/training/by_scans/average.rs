//! One-shot averaging: each part of the rows is trained on alone by the process that holds it, and the weights are averaged.
//! [`crate::solver::averaged`] says what follows for all rows.

use serde::{Deserialize, Serialize};

use crate::base::interrupts;
use crate::base::memory::{all_of, copied, filled, gathered, list, OutOfMemory, Room};
use crate::base::step::Step;
use crate::base::zeros::zeros;
use crate::cache::{Cache, Phase};
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::plan::Goal;
use crate::objective::problem::Problem;
use crate::objective::solver_choice::{Cuts, SolverChoice};
use crate::reader::{Reader, ReaderJob, RowForm};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::scaling::Scale;
use crate::scanning::{HeadFound, HeadScan};
use crate::solver::averaged::{AveragedHead, TrainedPart};
use crate::solver::by_passes::{Due, FixedWeights, Summed};
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::method::ScanMethod;
use crate::training::by_scans::packed_rows::{
    reading, room_for, Folding, NoSpool, PackedRows, ROWS_A_STEP,
};
use crate::training::error::TrainError;
use crate::training::Trainer;

/// Values that training reads between two looks for interrupts.
const VALUES_A_STEP: usize = 1 << 20;

/// What a part is to train.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartOrder {
    problem: Problem,
    #[serde(deserialize_with = "list")]
    heads: Vec<HeadSpec>,
    /// All rows, and their dense features and features.
    rows: u64,
    dense: u64,
    features: u64,
    /// Bytes that a part's rows may take.
    bytes: u64,
    /// Weights that heads begin at, one head behind the other; none where they begin from nothing.
    #[serde(deserialize_with = "list")]
    starts: Vec<f64>,
}

/// The rows of a part, on their way.
pub struct PartRows {
    order: PartOrder,
    words: Vec<u32>,
    rows: usize,
    /// Why they are not trained on.
    refused: Option<PartRefusal>,
}

/// Why a part has found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartRefusal {
    /// Its rows take more than they may.
    Room,
    Memory,
    /// Its numbers are beyond what a training holds.
    Numbers,
}

/// What parts have found, as sums that are divided in the end.
#[derive(Serialize, Deserialize)]
pub struct PartsFound {
    #[serde(deserialize_with = "list")]
    heads: Vec<HeadOfParts>,
    rows: u64,
    parts: u32,
    refused: Option<PartRefusal>,
}

/// Sums over parts, each times its rows.
#[derive(Serialize, Deserialize)]
struct HeadOfParts {
    #[serde(deserialize_with = "list")]
    w: Vec<f64>,
    #[serde(deserialize_with = "list")]
    v: Vec<f64>,
    linear: f64,
}

impl PartOrder {
    /// Whether it is one for rows of this form; what came from elsewhere may not be.
    pub fn fits(&self, form: &RowForm) -> bool {
        let (features, groups) = form.size();
        let knows = |head: &HeadSpec| head.signs.groups() >= groups;
        let starts = [0, self.heads.len().saturating_mul(features + 1)];
        self.features as usize == features
            && self.dense <= self.features
            && self.problem.is_sound()
            && self.heads.iter().all(|head| knows(head) && head.is_sound())
            && starts.contains(&self.starts.len())
            && self.starts.iter().all(|weight| weight.is_finite())
    }

    /// Whether these are answers to this order; bytes that came from elsewhere may be none.
    pub fn is_answered_by(&self, found: &PartsFound) -> bool {
        let length = self.features as usize + 1;
        let fits = |head: &HeadOfParts| head.w.len() == length && head.v.len() == length;
        found.heads.len() == self.heads.len() && found.heads.iter().all(fits)
    }
}

impl PartOrder {
    /// The problem as a part solves it, and what is known of all rows.
    fn alone(&self) -> Result<(Problem, Facts), TrainError> {
        let problem = self.problem.with(|it| it.solver = SolverChoice::Stream);
        let problem = problem.and_then(|it| it.with_trainers(1));
        let facts = Facts {
            rows: self.rows as usize,
            dense: self.dense as usize,
            features: self.features as usize,
            ..Facts::default()
        };
        Ok((problem.map_err(TrainError::Problem)?, facts))
    }

    /// Where the heads of a part of so many rows begin.
    fn starts(&self, rows: usize) -> Result<Vec<Start>, OutOfMemory> {
        let length = self.features as usize + 1;
        all_of(self.starts.chunks_exact(length).map(|start| {
            Ok::<_, OutOfMemory>(Start {
                duals: filled(0.0, rows)?,
                weights: Some(copied(start)?),
                updates: 0,
            })
        }))
    }
}

impl PartRows {
    /// None yet.
    pub fn new(order: PartOrder) -> Self {
        Self {
            order,
            words: Vec::new(),
            rows: 0,
            refused: None,
        }
    }

    /// Takes a row.
    pub fn take(&mut self, row: &Row<'_>) {
        self.rows += 1;
        let room = self.order.bytes as usize / size_of::<u32>();
        if self.refused.is_some() {
            return;
        }
        if self.words.len() + row.values() > room {
            self.refuse(PartRefusal::Room);
            return;
        }
        match self.words.room(row.values()) {
            Ok(words) => words.extend_from_slice(row.words()),
            Err(_) => self.refuse(PartRefusal::Memory),
        }
    }

    fn refuse(&mut self, why: PartRefusal) {
        self.refused = Some(why);
        self.words = Vec::new();
    }

    /// Trains on them, looking for interrupts on the way.
    pub fn train(self) -> PartsFound {
        let (rows, refused) = (self.rows as u64, self.refused);
        let found = match refused {
            Some(why) => Err(why),
            None => self.find().map_err(|error| match error {
                TrainError::OutOfMemory { .. } | TrainError::Cache(_) => PartRefusal::Memory,
                _ => PartRefusal::Numbers,
            }),
        };
        let (heads, refused) = match found {
            Ok(heads) => (heads, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        PartsFound {
            heads,
            rows,
            parts: 1,
            refused,
        }
    }

    /// What its heads find, times its rows.
    fn find(self) -> Result<Vec<HeadOfParts>, TrainError> {
        let Self {
            order, words, rows, ..
        } = self;
        let (problem, facts) = order.alone()?;
        let starts = order.starts(rows)?;
        let (trainer, words) = trained(&problem, &facts, (&order.heads, starts), (words, rows))?;
        let (length, times) = (facts.features + 1, rows as f64);
        let stands_for = facts.rows as f64 / rows.max(1) as f64;
        let heads = order.heads.iter().enumerate();
        all_of(heads.map(|(head, spec)| {
            let part = TrainedPart {
                loss: problem.loss(),
                intercept: problem.kind_of_intercept(),
                spec,
                duals: trainer.duals(head),
                stands_for,
            };
            let (mut v, linear) = part.dual(Batch::new(&words, facts.dense), length)?;
            v.iter_mut().for_each(|v| *v *= times);
            let mut w = zeros(length)?;
            let found = trainer.weights(head);
            for (feature, w) in w[..found.len().min(facts.features)].iter_mut().enumerate() {
                *w = times * found.get(feature);
            }
            w[facts.features] = times * found.intercept();
            let linear = times * linear;
            Ok(HeadOfParts { w, v, linear })
        }))
    }
}

/// Trains on so many rows, which come back; the heads, and where they begin.
fn trained(
    problem: &Problem,
    facts: &Facts,
    (heads, starts): (&[HeadSpec], Vec<Start>),
    (words, rows): (Vec<u32>, usize),
) -> Result<(Trainer, Vec<u32>), TrainError> {
    let bytes = size_of::<u32>() * words.len();
    let cache = Cache::in_memory(room_for(rows, bytes)).map_err(TrainError::Cache)?;
    let job = ReaderJob::new(Scale::None, problem);
    let source = PackedRows::new(words, facts, rows, Folding::Known);
    let reader = Reader::new(cache.clone(), job, source, NoSpool);
    let mut reader = reader.map_err(TrainError::Cache)?;
    let mut trainer = Trainer::new(cache.clone(), *problem, Goal::Heads(heads.to_vec()))?;
    trainer.begin_from(starts);
    loop {
        interrupts::check();
        let step = match cache.phase() == Phase::Loading {
            true => Step::Blocked,
            false => trainer.step(VALUES_A_STEP)?,
        };
        match step {
            Step::Blocked => {
                reader.step(ROWS_A_STEP).map_err(reading)?;
            }
            Step::Progress => {}
            Step::Done => return Ok((trainer, reader.into_source().into_words())),
        }
    }
}

impl PartsFound {
    /// Joins what other parts have found. False where they answer another order.
    pub fn join(&mut self, more: &Self) -> bool {
        self.rows = self.rows.saturating_add(more.rows);
        self.parts = self.parts.saturating_add(more.parts);
        self.refused = self.refused.or(more.refused);
        if self.refused.is_some() {
            return true;
        }
        let fits = |(own, more): (&HeadOfParts, &HeadOfParts)| {
            own.w.len() == more.w.len() && own.v.len() == more.v.len()
        };
        if self.heads.len() != more.heads.len() || !self.heads.iter().zip(&more.heads).all(fits) {
            return false;
        }
        for (own, more) in self.heads.iter_mut().zip(&more.heads) {
            let numbers = own.w.iter_mut().zip(&more.w);
            let numbers = numbers.chain(own.v.iter_mut().zip(&more.v));
            numbers.for_each(|(own, more)| *own += more);
            own.linear += more.linear;
        }
        true
    }

    /// Parts that have rows.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// All their rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Why some part has found nothing.
    pub fn refused(&self) -> Option<PartRefusal> {
        self.refused
    }
}

/// The heads of an average.
pub(super) struct Averaging {
    problem: Problem,
    dense: usize,
    /// And of how many parts; None before these have been trained.
    heads: Option<(Vec<AveragedHead>, u32)>,
    /// By head where its parts begin; none where they begin from nothing.
    starts: Vec<Vec<f64>>,
    ended: bool,
}

impl Averaging {
    pub(super) fn new(problem: &Problem, facts: &Facts) -> Self {
        Self {
            problem: *problem,
            dense: facts.dense,
            heads: None,
            starts: Vec::new(),
            ended: false,
        }
    }

    fn heads(&self) -> &[AveragedHead] {
        self.heads.as_ref().map_or(&[], |(heads, _)| heads)
    }
}

impl FixedWeights<ScannedHeads> for Averaging {
    fn due(&self) -> Due {
        match self.ended {
            true => Due::Ended,
            false => Due::Pass,
        }
    }

    fn compute(&mut self, _: &mut ScannedHeads, _: &[u32]) -> Result<usize, OutOfMemory> {
        Ok(0)
    }

    /// The pass that judges the averages.
    fn pass(&self, _: &[u32]) -> Result<Vec<(usize, HeadScan)>, OutOfMemory> {
        all_of(self.heads().iter().enumerate().map(|(place, head)| {
            let pass = match self.problem.loss().is_smooth() {
                true => HeadScan::Newton(Box::new(head.look_smooth()?)),
                false => HeadScan::Bundle(Box::new(head.look_straight(self.dense)?)),
            };
            Ok::<_, OutOfMemory>((place, pass))
        }))
    }

    fn take(&mut self, solver: &mut ScannedHeads, found: Vec<Summed>) -> Result<bool, OutOfMemory> {
        let heads = self.heads().iter().zip(found);
        for (place, (head, summed)) in heads.enumerate() {
            let found = match &summed.sums {
                HeadFound::Bundle(sums) => Some(head.judge_straight(sums)),
                HeadFound::Newton(sums) => head.judge_smooth(sums),
                HeadFound::Interior(_) | HeadFound::Recount(_) | HeadFound::Decided(_) => None,
            };
            if let Some(found) = found {
                solver.take_found(place, &found, head.w());
            }
        }
        self.ended = true;
        Ok(true)
    }

    fn begin_at(&mut self, _: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), OutOfMemory> {
        self.starts = starts;
        Ok(())
    }
}

impl ScanMethod for Averaging {
    fn part_order(
        &self,
        facts: &Facts,
        heads: &[HeadSpec],
        bytes: usize,
    ) -> Result<Option<PartOrder>, OutOfMemory> {
        if self.heads.is_some() {
            return Ok(None);
        }
        Ok(Some(PartOrder {
            problem: self.problem,
            heads: heads.to_vec(),
            rows: facts.rows as u64,
            dense: facts.dense as u64,
            features: facts.features as u64,
            bytes: bytes as u64,
            starts: gathered(self.starts.iter().flatten().copied())?,
        }))
    }

    fn take_parts(&mut self, solver: &ScannedHeads, found: PartsFound) -> Result<(), OutOfMemory> {
        let rows = found.rows.max(1) as f64;
        let mut heads = Vec::new();
        heads.room(found.heads.len())?;
        for (head, mut sums) in found.heads.into_iter().enumerate() {
            sums.w.iter_mut().for_each(|w| *w /= rows);
            sums.v.iter_mut().for_each(|v| *v /= rows);
            let given = solver.given(head, Cuts::Newest)?;
            heads.push(AveragedHead::new(
                given,
                sums.w,
                &sums.v,
                sums.linear / rows,
            ));
        }
        self.heads = Some((heads, found.parts));
        Ok(())
    }

    fn averaged(&self) -> Option<u32> {
        self.heads.as_ref().map(|(_, parts)| *parts)
    }
}
