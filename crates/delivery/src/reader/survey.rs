//! Pass 1 over rows that nobody keeps: what all rows are like, and a sample of them. Several processes may each survey a part of the rows;
//! joined, their surveys say what one of all rows says.

use serde::{Deserialize, Serialize};

use super::alone::Alone;
use super::form::RowForm;
use super::job::{ReaderJob, ReaderReport};
use super::sample::PackedSample;
use super::seen::{grown, Renamed, SeenRows};
use crate::base::memory::{copied, OutOfMemory};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::row;
use crate::rows::source::{Example, RowError};

/// What has been found out so far.
#[derive(Serialize, Deserialize)]
pub struct Survey {
    seen: SeenRows,
    sample: PackedSample,
    /// The row at hand, where the sample does not want it.
    #[serde(skip)]
    words: Vec<u32>,
}

/// What all rows are like.
#[derive(Debug)]
pub struct Surveyed {
    pub facts: Facts,
    pub form: RowForm,
    /// Folds that ids of groups leave room for.
    pub stride: u32,
    /// By class, see `positive_weights` of the cache.
    pub positive_weights: Vec<f32>,
    /// Some of the rows, ready to be visited.
    pub sample: Vec<u32>,
    pub report: ReaderReport,
}

impl Surveyed {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            facts: self.facts,
            form: self.form.copied()?,
            stride: self.stride,
            positive_weights: copied(&self.positive_weights)?,
            sample: copied(&self.sample)?,
            report: self.report.copied()?,
        })
    }

    /// Rows of the sample.
    pub fn sample_rows(&self) -> usize {
        Batch::new(&self.sample, self.facts.dense).count()
    }
}

impl Survey {
    /// Of no rows as yet, with so many bytes for a sample.
    pub fn new(job: &ReaderJob, sample_bytes: usize) -> Self {
        Self {
            seen: SeenRows::new(job, 0),
            sample: PackedSample::new(sample_bytes / 4, job.seed),
            words: Vec::new(),
        }
    }

    /// Takes the next row in.
    pub fn take(&mut self, example: &Example<'_>) -> Result<(), RowError> {
        let length = self.seen.check(example)?;
        let dense = example.dense.len();
        let words = match self.sample.wants(length, dense)? {
            Some(words) => words,
            None => grown(&mut self.words, length)?,
        };
        self.seen.take(example, words)
    }

    /// Has so many bytes for the sample from here on: for one of several surveys, which alone had but a part of them.
    pub fn widen(&mut self, sample_bytes: usize) {
        self.sample.widen(sample_bytes / 4);
    }

    /// Whether its parts fit one another, of rows of so many classes; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self, classes: usize) -> bool {
        let groups = classes.saturating_mul(self.seen.stride() as usize);
        let features = self.seen.dense.unwrap_or(0) + self.seen.learner.sparse();
        self.seen.is_sound(classes)
            && self
                .sample
                .is_sound(self.seen.dense.unwrap_or(0), features, groups)
    }

    /// Whether another one has seen rows in the same way; both are sound.
    pub fn fits(&self, more: &Self) -> bool {
        self.seen.fits(&more.seen)
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.seen.rows
    }

    /// Joins what was seen of other rows; their sparse features are those here.
    pub fn join(&mut self, mut more: Self, names: Renamed<'_>) -> Result<(), RowError> {
        if more.seen.rows == 0 {
            return Ok(());
        }
        more.seen.rename(names)?;
        let stride = more.seen.stride();
        let shift = self.seen.join(more.seen)?;
        let dense = self.seen.dense.unwrap_or(0);
        let rename = |group: u32| names.group(group, stride);
        self.sample.join(more.sample, dense, &shift, rename)
    }

    /// Looks for features that tell the classes apart alone; `column_of`: see [`crate::rows::source::Source::category_of`].
    pub fn look(&mut self, column_of: &dyn Fn(u32) -> Option<u32>) -> Result<(), OutOfMemory> {
        let (dense, stride) = (self.seen.dense.unwrap_or(0), self.seen.stride());
        self.seen.alone = Alone::of(self.sample.words(), dense, stride, column_of)?;
        Ok(())
    }

    /// What follows from all rows. `idle`: features of one value; `positive`: see [`crate::rows::source::Source::positive`].
    pub fn finish(mut self, idle: &[u32], positive: usize) -> Result<Surveyed, OutOfMemory> {
        let (facts, applier) = self.seen.finish(idle, positive)?;
        let dense = facts.dense;
        let (mut from, mut sample) = (0, self.sample.into_words());
        while from < sample.len() {
            let words = &mut sample[from..];
            let length = row::Row::new(words, dense).values();
            applier.apply(&mut words[..length]);
            from += length;
        }
        let seen = &mut self.seen;
        Ok(Surveyed {
            form: RowForm {
                dense,
                features: facts.features,
                groups: facts.groups,
                provisional: copied(seen.learner.provisional())?,
                scaling: seen.scaling.copied()?,
                means: copied(&seen.means)?,
                balance: seen.balance()?,
                unit_off: seen.unit_off(),
                targets: seen.targets,
                stride: seen.stride(),
            },
            report: seen.report(false, 0)?,
            stride: seen.stride(),
            positive_weights: std::mem::take(&mut seen.positive_weights),
            sample,
            facts,
        })
    }
}
