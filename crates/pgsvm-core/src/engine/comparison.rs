//! Whether a kernel machine tells rows apart clearly better than a linear one: both are trained on a sample of the rows, with each
//! fold held out in turn, as C is chosen. Some hundredths of a second, whatever the number of rows.

use crate::base::memory::{copied, OutOfMemory, Room as _};
use crate::base::random::{Random, Stream};
use crate::engine::{
    train_examples, train_low_rank, MemorySpool, OwnedExample, Settings, SliceSource, Threads,
};
use crate::kernels::{KernelKind, KernelSpec};
use crate::maps::low_rank::LowRankJob;
use crate::objective::plan::{Plan, Purpose};
use crate::objective::problem::Problem;
use crate::objective::report::Validation;
use crate::objective::scoring::Scoring;
use crate::rows::source::Example;

/// Rows of the sample at most and at least, and bytes of it.
const ROWS: usize = 2000;
const LEAST_ROWS: usize = 300;
const BYTES: usize = 4 << 20;
/// For each cache of the trainings.
const CACHE: usize = 8 << 20;
const RANK: usize = 64;
/// Values of C that the kernel machine may have.
const COSTS: [f64; 2] = [1.0, 10.0];
/// What is clearly better: by as much at least, and by as many standard deviations of the difference, were rows independent.
const LEAST_GAIN: f64 = 0.02;
const DEVIATIONS: f64 = 3.0;

/// A sample of rows, drawn as they pass (Vitter, algorithm R).
pub struct RowSample {
    examples: Vec<OwnedExample>,
    random: Random,
    passed: usize,
    most: usize,
    bytes: usize,
}

/// Shares of the sample's rows that got their own class when they were held out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    pub rows: u64,
    pub linear: f64,
    pub kernel: f64,
}

impl Compared {
    /// Whether the kernel machine is clearly better.
    pub fn is_clear(&self) -> bool {
        let mean = 0.5 * (self.linear + self.kernel);
        let deviation = (2.0 * mean * (1.0 - mean) / self.rows as f64).sqrt();
        self.kernel - self.linear >= LEAST_GAIN.max(DEVIATIONS * deviation)
    }
}

impl RowSample {
    pub fn new(seed: u64) -> Self {
        Self {
            examples: Vec::new(),
            random: Random::new(seed, Stream::Sample),
            passed: 0,
            most: ROWS,
            bytes: 0,
        }
    }

    /// A row passes.
    pub fn look(&mut self, example: &Example<'_>) -> Result<(), OutOfMemory> {
        self.passed += 1;
        if self.examples.len() < self.most {
            self.bytes += bytes(example);
            if self.bytes > BYTES {
                self.most = self.examples.len();
            } else {
                self.examples.room(1)?.push(owned(example)?);
                return Ok(());
            }
        }
        let at = self.random.below(self.passed);
        if at < self.most {
            self.examples[at] = owned(example)?;
        }
        Ok(())
    }

    /// Trains both, as `settings` has rows scaled and classes balanced, with this problem and the folds of this plan, which chose
    /// `c`. None where the rows are too few or cannot be trained on.
    pub fn compare(
        &self,
        problem: &Problem,
        plan: &Plan,
        c: f64,
        settings: Settings,
    ) -> Option<Compared> {
        if self.examples.len() < LEAST_ROWS {
            return None;
        }
        let settings = Settings {
            cache_bytes: CACHE,
            threads: Threads::One,
            ..settings
        };
        let plan = |costs: &[f64]| Plan {
            costs: costs.to_vec(),
            purpose: Purpose::Validate,
            probability: false,
            intervals: false,
            scoring: Scoring::Accuracy,
            beyond: 0,
            final_stop: None,
            nu: None,
            ..plan.clone()
        };
        let linear = train_examples(*problem, plan(&[c]), &self.examples, settings).ok()?;
        let linear = best(&linear.trainer.report().ok()?.validation)?;
        let spec = KernelSpec::new(KernelKind::Rbf, None, 1, 0.0).ok()?;
        let asked = LowRankJob {
            rank: Some(RANK.min(self.examples.len())),
            memory_bytes: CACHE,
            ..LowRankJob::new(spec)
        };
        let source = SliceSource::new(&self.examples);
        let spools = [MemorySpool::default(), MemorySpool::default()];
        let kernel = train_low_rank(*problem, plan(&COSTS), source, spools, settings, asked);
        let kernel = best(&kernel.ok()?.trained.trainer.report().ok()?.validation)?;
        Some(Compared {
            rows: self.examples.len() as u64,
            linear,
            kernel,
        })
    }
}

fn best(validation: &[Validation]) -> Option<f64> {
    validation
        .iter()
        .filter_map(|it| it.overall)
        .reduce(f64::max)
}

fn bytes(example: &Example<'_>) -> usize {
    8 * (example.dense.len() + example.sparse_index.len()) + size_of::<OwnedExample>()
}

fn owned(example: &Example<'_>) -> Result<OwnedExample, OutOfMemory> {
    Ok(OwnedExample {
        offset: None,
        group: example.group,
        cost: example.cost,
        dense: copied(example.dense)?,
        sparse_index: copied(example.sparse_index)?,
        sparse_value: copied(example.sparse_value)?,
    })
}
