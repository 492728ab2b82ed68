//! Pass 1 over rows that nobody keeps: what all rows are like, and a sample of them. Several who each see a part of the rows
//! find out as much together: what one has seen joins what another has.
//!
//! Which rows are in the sample says a number drawn for each: those below a bar, which is halved when the sample has no room left.

use serde::{Deserialize, Serialize};

use super::form::RowForm;
use super::job::{ReaderJob, ReaderReport};
use super::seen::{grown, out_of_memory, Seen};
use crate::base::memory::{copied, list, words, OutOfMemory, Room};
use crate::base::random::{Random, Stream};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::row;
use crate::rows::source::{Example, RowError};

/// What has been found out so far.
#[derive(Serialize, Deserialize)]
pub struct Survey {
    seen: Seen,
    sample: Sample,
    /// The row at hand, where the sample does not want it.
    #[serde(skip)]
    words: Vec<u32>,
}

/// Rows with a number below the bar, as they were packed.
#[derive(Serialize, Deserialize)]
struct Sample {
    #[serde(with = "words")]
    words: Vec<u32>,
    /// By row.
    #[serde(deserialize_with = "list")]
    drawn: Vec<f64>,
    bar: f64,
    room: usize,
    #[serde(skip, default = "numbers")]
    random: Random,
}

fn numbers() -> Random {
    Random::new(0, Stream::Sample)
}

/// What all rows are like.
#[derive(Debug)]
pub struct Surveyed {
    pub(crate) facts: Facts,
    pub form: RowForm,
    /// By class, see `positive_weights` of the cache.
    pub(crate) positive_weights: Vec<f32>,
    /// Some of the rows, ready to be visited.
    pub(crate) sample: Vec<u32>,
    pub report: ReaderReport,
}

impl Surveyed {
    /// Rows of the sample.
    pub fn sample_rows(&self) -> usize {
        Batch::new(&self.sample, self.facts.dense).count()
    }
}

impl Survey {
    /// Of no rows as yet, with so many bytes for a sample.
    pub fn new(job: &ReaderJob, sample_bytes: usize) -> Self {
        Self {
            seen: Seen::new(job, 0),
            sample: Sample {
                words: Vec::new(),
                drawn: Vec::new(),
                bar: 1.0,
                room: sample_bytes / 4,
                random: Random::new(job.seed, Stream::Sample),
            },
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
        self.sample.room = self.sample.room.max(sample_bytes / 4);
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

    /// Joins what was seen of other rows. `classes`: by class of theirs, the same one here; their sparse features are those
    /// here.
    pub fn join(&mut self, mut more: Self, classes: &[u32]) -> Result<(), RowError> {
        if more.seen.rows == 0 {
            return Ok(());
        }
        more.seen.rename_classes(classes)?;
        let stride = more.seen.stride();
        let shift = self.seen.join(more.seen)?;
        let dense = self.seen.dense.unwrap_or(0);
        let rename = |group: u32| classes[(group / stride) as usize] * stride + group % stride;
        self.sample.join(more.sample, dense, &shift, rename)
    }

    /// What follows from all rows. `idle`: features of one value; `positive`: see [`crate::Source::positive`].
    pub fn finish(mut self, idle: &[u32], positive: usize) -> Result<Surveyed, OutOfMemory> {
        let (facts, applier) = self.seen.finish(idle, positive)?;
        let dense = facts.dense;
        let mut from = 0;
        while from < self.sample.words.len() {
            let words = &mut self.sample.words[from..];
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
                unit_rows: seen.unit_rows(),
            },
            report: seen.report(false, 0)?,
            positive_weights: std::mem::take(&mut seen.positive_weights),
            sample: self.sample.words,
            facts,
        })
    }
}

impl Sample {
    /// Whether it has its rows, with so many dense features and features in all, of groups below that one.
    fn is_sound(&self, dense: usize, features: usize, groups: usize) -> bool {
        let mut rest = &self.words[..];
        let all_rows = self.drawn.iter().all(|_| {
            let row = row::Row::checked(rest, dense, features, groups);
            rest = &rest[row.map_or(0, |row| row.values())..];
            row.is_some()
        });
        all_rows && rest.is_empty()
    }

    /// Room for a row of so many words, where it is to be in the sample.
    fn wants(&mut self, length: usize, dense: usize) -> Result<Option<&mut [u32]>, RowError> {
        let drawn = self.random.unit();
        if drawn >= self.bar {
            return Ok(None);
        }
        while self.words.len() + length > self.room && self.bar > f64::MIN_POSITIVE {
            self.lower(0.5 * self.bar, dense);
        }
        if drawn >= self.bar {
            return Ok(None);
        }
        let from = self.words.len();
        let words = self.words.room(length);
        words
            .map_err(|_| out_of_memory(length))?
            .resize(from + length, 0);
        let drawn_of_all = self.drawn.room(1).map_err(|_| out_of_memory(2))?;
        drawn_of_all.push(drawn);
        Ok(Some(&mut self.words[from..]))
    }

    /// Keeps what is below this bar.
    fn lower(&mut self, bar: f64, dense: usize) {
        self.bar = bar;
        let (mut from, mut to, mut kept) = (0, 0, 0);
        for at in 0..self.drawn.len() {
            let length = row::Row::new(&self.words[from..], dense).values();
            if self.drawn[at] < bar {
                self.words.copy_within(from..from + length, to);
                self.drawn[kept] = self.drawn[at];
                (to, kept) = (to + length, kept + 1);
            }
            from += length;
        }
        self.words.truncate(to);
        self.drawn.truncate(kept);
    }

    /// Joins another sample, whose dense values are kept relative to what is further by `shift`.
    fn join(
        &mut self,
        mut more: Self,
        dense: usize,
        shift: &[f64],
        rename: impl Fn(u32) -> u32,
    ) -> Result<(), RowError> {
        let bar = self.bar.min(more.bar);
        self.lower(bar, dense);
        more.lower(bar, dense);
        let length = more.words.len();
        let words = self.words.room(length).map_err(|_| out_of_memory(length))?;
        let from = words.len();
        words.extend_from_slice(&more.words);
        let drawn = self.drawn.room(more.drawn.len());
        let drawn = drawn.map_err(|_| out_of_memory(2 * more.drawn.len()))?;
        drawn.extend_from_slice(&more.drawn);
        let mut place = from;
        while place < self.words.len() {
            let row = &mut self.words[place..];
            let length = Batch::new(row, dense).next().map_or(1, |it| it.values());
            row::rename_group(row, &rename);
            row::shift_dense(row, shift);
            place += length;
        }
        while self.words.len() > self.room && self.bar > f64::MIN_POSITIVE {
            self.lower(0.5 * self.bar, dense);
        }
        Ok(())
    }
}
