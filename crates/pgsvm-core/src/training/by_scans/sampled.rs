//! Choosing C and fitting probabilities and intervals where all rows are scanned: rows of the sample, which is in memory, are held out, as a training of
//! kept rows holds out rows of all.
//!
//! Each of the sample's m rows stands for n / m of the n rows. Its cost is multiplied by that, so a C means on the sample what it means on
//! all rows. Where the sample holds all rows, nothing differs from a training of kept rows.
//!
//! Memory: beside the sample, as much again for its rows in a cache, and what [`crate::Trainer`] takes for so many rows.

use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::step::Step;
use crate::cache::{Cache, Phase};
use crate::objective::calibration::Calibrations;
use crate::objective::plan::{Folds, Plan};
use crate::objective::problem::Problem;
use crate::objective::report::{TrainerReport, Validation};
use crate::objective::solver_choice::SolverChoice;
use crate::reader::{Balance, Beyond, Reader, ReaderJob, Surveyed};
use crate::rows::batch::Batch;
use crate::scaling::Scale;
use crate::training::by_scans::packed_rows::{
    reading, room_for, Folding, NoSpool, PackedRows, ROWS_A_STEP,
};
use crate::training::error::TrainError;
use crate::training::Trainer;

/// Rows of a class that are needed to hold some out: one on either side.
const LEAST_OF_CLASS: u64 = 2;

/// The search over the rows of a sample.
pub struct SampleSearch {
    surveyed: Surveyed,
    cache: Cache,
    reader: Reader<PackedRows, NoSpool>,
    trainer: Trainer,
}

/// What was found on rows that were held out.
#[derive(Debug, PartialEq)]
pub struct Chosen {
    /// The C that did best.
    pub c: f64,
    /// The s that did, where that was to be chosen.
    pub truncation: Option<f64>,
    /// By C and fold.
    pub validation: Vec<Validation>,
    /// What makes probabilities or intervals of the final heads' decisions.
    pub calibrations: Calibrations,
}

impl SampleSearch {
    /// By this plan, whose folds are drawn, on the sample of rows that were surveyed.
    ///
    /// # Errors
    /// [`TrainError::Sample`] for a class that has too few rows in the sample; memory.
    pub fn new(problem: &Problem, plan: &Plan, mut surveyed: Surveyed) -> Result<Self, TrainError> {
        let (rows, bytes) = (surveyed.sample_rows(), 4 * surveyed.sample.len());
        check_classes(&surveyed, plan)?;
        let cache = Cache::in_memory(room_for(rows, bytes));
        let cache = cache.map_err(TrainError::Cache)?;
        let problem = problem.with(|it| it.solver = SolverChoice::Auto);
        let problem = problem.map_err(TrainError::Problem)?;
        let job = ReaderJob {
            stride: plan.stride(),
            beyond: Beyond::Streams,
            // otherwise the rows' costs are balanced already
            balance: match surveyed.positive_weights.is_empty() {
                true => Balance::None,
                false => Balance::PositivesBeyond(2),
            },
            // rows have offsets by it already
            epsilon: surveyed.facts.epsilon,
            ..ReaderJob::new(Scale::None, &problem)
        };
        let facts = surveyed.facts;
        let folds = match plan.folds {
            Some(Folds::Count(folds)) => folds,
            _ => 1,
        };
        let words = std::mem::take(&mut surveyed.sample);
        let folds = match plan.folds {
            Some(Folds::Count(_)) => Folding::Drawn(problem.seed(), folds),
            // rows come with them
            _ => Folding::Known,
        };
        let source = PackedRows::new(words, &facts, rows, folds);
        let reader = Reader::new(cache.clone(), job, source, NoSpool);
        let trainer = Trainer::new(cache.clone(), problem, plan.clone())?;
        Ok(Self {
            surveyed,
            reader: reader.map_err(TrainError::Cache)?,
            trainer,
            cache,
        })
    }

    /// Computes on, reading about so many values; `Done` at the end.
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

    /// How it has ended.
    pub fn report(&self) -> Result<TrainerReport, OutOfMemory> {
        self.trainer.report()
    }

    /// What was found, and the surveyed rows once more.
    pub fn finish(self) -> Result<(Surveyed, Chosen), TrainError> {
        let report = self.trainer.report()?;
        let mut surveyed = self.surveyed;
        surveyed.sample = self.reader.into_source().into_words();
        let chosen = Chosen {
            c: report.c.ok_or(TrainError::ReaderFailed)?,
            truncation: report.truncation,
            validation: report.validation,
            calibrations: report.calibrations,
        };
        Ok((surveyed, chosen))
    }
}

/// Refuses a sample in which a class that is to get probabilities cannot be held out, or in which there are not two classes.
fn check_classes(surveyed: &Surveyed, plan: &Plan) -> Result<(), TrainError> {
    let stride = surveyed.stride as usize;
    let groups = surveyed.report.group_counts.chunks(stride);
    let all = gathered(groups.map(|groups| groups.iter().sum::<u64>()))?;
    let mut sampled = Vec::new();
    sampled.room(all.len())?.resize(all.len(), 0u64);
    for row in Batch::new(&surveyed.sample, surveyed.facts.dense) {
        sampled[row.group() / stride] += 1;
    }
    let needs_all = plan.probability || all.len() <= 2;
    let lacks = |(_, (all, sampled)): &(usize, (&u64, &u64))| **sampled < LEAST_OF_CLASS.min(**all);
    match all.iter().zip(&sampled).enumerate().find(lacks) {
        Some((class, (_, rows))) if needs_all => Err(TrainError::Sample { class, rows: *rows }),
        _ => Ok(()),
    }
}
