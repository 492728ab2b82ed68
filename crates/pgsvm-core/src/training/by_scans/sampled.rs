//! What rows that are held out tell, where all rows are gone over by scans: C is chosen, and sigmoids are fitted, on the rows of the
//! sample, which are here, as a training of kept rows does it on all of its own.
//!
//! Each row of the sample stands for n / m rows, n in all and m of them in the sample: its cost is multiplied by that, so that a C means
//! on the sample what it means on all rows. Where all rows are in the sample nothing differs from a training of kept rows.
//!
//! Takes, beside the sample, as much again for its rows in a cache, and what [`crate::Trainer`] takes for so many rows.

use crate::base::memory::{OutOfMemory, Room};
use crate::base::step::Step;
use crate::cache::{Cache, Phase};
use crate::reader::{Balance, ReadError, Reader, ReaderJob, Surveyed};
use crate::rows::batch::Batch;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError, Source, Spool};
use crate::scaling::Scale;
use crate::task::evaluation::Sigmoid;
use crate::task::plan::{drawn_fold, Folds, Plan};
use crate::task::problem::{Leader, Problem};
use crate::task::report::Validation;
use crate::training::error::TrainError;
use crate::training::Trainer;

/// Rows that are packed in a step.
const ROWS_A_STEP: usize = 1024;
/// Of the cache beside the rows: its ends, and what rounding takes.
const CACHE_BESIDE_ROWS: usize = 256 << 10;
/// Rows of a class that are needed to hold some out: one on either side.
const LEAST_OF_CLASS: u64 = 2;

/// The search over the rows of a sample.
pub struct SampleSearch {
    surveyed: Surveyed,
    cache: Cache,
    reader: Reader<SampleRows, NoSpool>,
    trainer: Trainer,
}

/// What was found on rows that were held out.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The C that did best.
    pub c: f64,
    /// By C and fold.
    pub validation: Vec<Validation>,
    /// By head of the final classifier; none where they are not wanted.
    pub sigmoids: Vec<Sigmoid>,
}

impl SampleSearch {
    /// By this plan, whose folds are drawn, on the sample of rows that were surveyed.
    ///
    /// # Errors
    /// [`TrainError::Sample`] for a class that has too few rows in the sample; memory.
    pub fn new(problem: &Problem, plan: &Plan, mut surveyed: Surveyed) -> Result<Self, TrainError> {
        let (rows, bytes) = (surveyed.sample_rows(), 4 * surveyed.sample.len());
        check_classes(&surveyed, plan)?;
        let cache = Cache::in_memory(bytes + 8 * rows + CACHE_BESIDE_ROWS);
        let cache = cache.map_err(TrainError::Cache)?;
        let problem = problem.with_leader(match problem.free_intercept() {
            true => Leader::Newton,
            false => Leader::Auto,
        });
        let job = ReaderJob {
            stride: plan.stride(),
            index: false,
            // otherwise the rows' costs are balanced already
            balance: match surveyed.positive_weights.is_empty() {
                true => Balance::None,
                false => Balance::Positives,
            },
            ..ReaderJob::new(Scale::None, &problem)
        };
        let facts = surveyed.facts;
        let source = SampleRows {
            words: std::mem::take(&mut surveyed.sample),
            from: 0,
            dense: facts.dense,
            stands_for: facts.rows as f64 / rows.max(1) as f64,
            positive: facts.positive,
            seed: problem.seed(),
            folds: match plan.folds {
                Some(Folds::Count(folds)) => folds,
                _ => 1,
            },
            of_class: Vec::new(),
            example: Parts::default(),
        };
        let reader = Reader::new(cache.clone(), job, source, NoSpool);
        let trainer = Trainer::new(cache.clone(), problem, plan.clone())?;
        Ok(Self {
            surveyed,
            reader: reader.map_err(TrainError::Cache)?,
            trainer,
            cache,
        })
    }

    /// Computes on, going over about so many values; `Done` at the end.
    pub fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        if self.cache.phase() == Phase::Loading {
            return self.reader.step(ROWS_A_STEP).map_err(reading);
        }
        match self.trainer.step(budget_values)? {
            // rows that are all here come without a reader
            Step::Blocked => self.reader.step(ROWS_A_STEP).map_err(reading),
            step => Ok(step),
        }
    }

    /// The cache of the search, for its progress.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What was found, and the surveyed rows once more.
    pub fn finish(self) -> Result<(Surveyed, Chosen), TrainError> {
        let report = self.trainer.report()?;
        let mut surveyed = self.surveyed;
        surveyed.sample = self.reader.into_source().words;
        let chosen = Chosen {
            c: report.c.ok_or(TrainError::ReaderFailed)?,
            validation: report.validation,
            sigmoids: report.sigmoids,
        };
        Ok((surveyed, chosen))
    }
}

/// Refuses a sample in which a class that is to get a sigmoid cannot be held out, or in which there are not two classes.
fn check_classes(surveyed: &Surveyed, plan: &Plan) -> Result<(), TrainError> {
    let all = &surveyed.report.group_counts;
    let mut sampled = Vec::new();
    sampled.room(all.len())?.resize(all.len(), 0u64);
    for row in Batch::new(&surveyed.sample, surveyed.facts.dense) {
        sampled[row.group()] += 1;
    }
    let needs_all = plan.probability || all.len() <= 2;
    let lacks = |(_, (all, sampled)): &(usize, (&u64, &u64))| **sampled < LEAST_OF_CLASS.min(**all);
    match all.iter().zip(&sampled).enumerate().find(lacks) {
        Some((class, (_, rows))) if needs_all => Err(TrainError::Sample { class, rows: *rows }),
        _ => Ok(()),
    }
}

fn reading(error: ReadError<RowError, OutOfMemory>) -> TrainError {
    match error {
        ReadError::Source(RowError::OutOfMemory { bytes })
        | ReadError::Row(RowError::OutOfMemory { bytes })
        | ReadError::Spool(OutOfMemory { bytes }) => TrainError::OutOfMemory { bytes },
        // they have all been taken once
        _ => TrainError::ReaderFailed,
    }
}

/// The rows of a sample, scaled already, each in a fold that is drawn for it.
struct SampleRows {
    words: Vec<u32>,
    /// The word from which on rows are still to come.
    from: usize,
    dense: usize,
    stands_for: f64,
    positive: usize,
    seed: u64,
    folds: u32,
    /// Rows of each class so far.
    of_class: Vec<u64>,
    example: Parts,
}

/// The values of a row, kept from row to row.
#[derive(Default)]
struct Parts {
    dense: Vec<f64>,
    index: Vec<u32>,
    value: Vec<f32>,
}

impl Parts {
    fn take(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        let Self {
            dense,
            index,
            value,
        } = self;
        dense.clear();
        index.clear();
        value.clear();
        let values = row.dense().iter().map(|value| f64::from(*value));
        dense.room(row.dense().len())?.extend(values);
        let (features, entries) = (dense.len() as u32, row.sparse());
        index
            .room(entries.len())?
            .extend(entries.iter().map(|[feature, _]| feature - features));
        value
            .room(entries.len())?
            .extend(entries.iter().map(|[_, bits]| f32::from_bits(*bits)));
        Ok(())
    }
}

impl SampleRows {
    /// The group of the next row of a class: the class, and the fold drawn for it.
    fn group(&mut self, class: usize) -> Result<u32, OutOfMemory> {
        if class >= self.of_class.len() {
            let more = class + 1 - self.of_class.len();
            self.of_class.room(more)?.resize(class + 1, 0);
        }
        let nth = &mut self.of_class[class];
        let fold = drawn_fold(self.seed, class as u32, *nth, self.folds);
        *nth += 1;
        Ok(class as u32 * self.folds + fold)
    }
}

impl Source for SampleRows {
    type Error = RowError;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, RowError> {
        let memory = |OutOfMemory { bytes }| RowError::OutOfMemory { bytes };
        for _ in 0..rows {
            if self.from == self.words.len() {
                return Ok(false);
            }
            let row = Row::new(&self.words[self.from..], self.dense);
            let (class, cost, length) = (row.group(), row.cost(), row.values());
            self.example.take(&row).map_err(memory)?;
            let group = self.group(class).map_err(memory)?;
            self.from += length;
            let cost = (f64::from(cost) * self.stands_for) as f32;
            sink(&Example {
                group,
                cost: cost.clamp(f32::MIN_POSITIVE, f32::MAX),
                dense: &self.example.dense,
                sparse_index: &self.example.index,
                sparse_value: &self.example.value,
            })?;
        }
        Ok(self.from < self.words.len())
    }

    fn positive(&self) -> usize {
        self.positive
    }
}

/// Where rows would go that do not fit: the cache is made for all of them.
struct NoSpool;

impl Spool for NoSpool {
    type Error = OutOfMemory;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, OutOfMemory> {
        Err(none(bytes))
    }

    fn read(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), OutOfMemory> {
        Err(none(bytes))
    }
}

fn none(bytes: &[u8]) -> OutOfMemory {
    OutOfMemory {
        bytes: bytes.len() as u64,
    }
}
