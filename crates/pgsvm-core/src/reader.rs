//! The reader role: takes examples from the source, packs them, learns the scaling, hands them over.
//!
//! It runs in the reader's process (or wherever the caller steps it) and is the only one to call the source and the
//! spool. It waits for nothing: `Blocked` means that the ring is full. It holds, besides the cache: eight chunks of rows
//! (1 MB each at most), three of them for compression, the tables of the scaling (up to five f64 for each dense feature, two and a half more where values may be missing;
//! two f32 and a bit for each sparse one), a few words for each chunk.
//!
//! Loading: rows go to the arena, raw. When they all fit they are scaled in place and the arena is handed over.
//! When they do not, the arena is dumped to the spool, the rest of the source follows it there, and then the spool
//! is read pass after pass, in a fresh order each time, rows being scaled on their way into the ring. For block
//! minimization rows are drawn into cells on their way to the spool (64 chunks of at most 256 KB more meanwhile),
//! and read block by block.

mod codec;
mod encode;
mod spill;
mod split;

use std::collections::TryReserveError;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::base::random::{Random, Stream};
use crate::base::step::Step;
use crate::cache::Phase;
use crate::cache::{Cache, CacheError, Ends, Loading, Producer};
use crate::rows::facts::Facts;
use crate::rows::page::{Page, PageMut, PAGE_HEADER_WORDS};
use crate::rows::source::{Example, RowError, Source, Spool};
use crate::scaling::{Applier, Scale, ScaleLearner, Scaling, Spread};
use crate::task::problem::{Compression, Order, Policy, Problem};
use codec::ChunkError;
use spill::{Replay, Spill};
use split::Split;

/// Words of a batch where the ring allows it: 128 KB.
const BATCH_WORDS: usize = 32 * 1024;
/// Batches that fit the ring at least, unless rows are longer.
const BATCHES_PER_RING: usize = 4;
/// Rows fetched at a time before their length is known.
const FIRST_FETCH: usize = 16;

/// What the reader is to do with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReaderJob {
    /// How features are scaled.
    pub scale: Scale,
    /// Seed of the order of each pass.
    pub seed: u64,
    /// The trainer's schedule: whether rows that do not fit are to be split into blocks.
    pub policy: Policy,
    /// How rows that do not fit are spooled and come back.
    pub spooling: Spooling,
    /// [`crate::Plan::stride`]: the class of a group is group / stride, its fold the rest.
    pub stride: u32,
    /// Whether classes are balanced.
    pub balance: Balance,
    /// Whether a dense value that is not a number is missing, and taken as the mean of its column.
    pub impute: bool,
    /// Whether scaled rows are divided by their length.
    pub unit_rows: bool,
}

/// What is multiplied by n / (K n_class): n rows, n_class of them of this class, K classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Balance {
    /// Nothing.
    None,
    /// The cost of each row of the class.
    Examples,
    /// The same in the head that takes the class for positive, as LIBLINEAR has it; with two classes on both sides.
    Positives,
}

/// How rows are spooled. What differs from the default is for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spooling {
    /// How rows come into blocks, where there are blocks: drawn, or as they were read.
    pub split: Order,
    /// In which order blocks are delivered in each pass.
    pub block_order: Order,
    /// Whether chunks are compressed.
    pub compression: Compression,
}

impl Spooling {
    /// Rows drawn into blocks, blocks in a new order each pass, compressed while that is faster.
    pub const USUAL: Self = Self {
        split: Order::Random,
        block_order: Order::Random,
        compression: Compression::Auto,
    };
}

impl ReaderJob {
    /// What the trainer of `problem` needs.
    pub fn new(scale: Scale, problem: &Problem) -> Self {
        Self {
            scale,
            seed: problem.seed(),
            policy: problem.policy(),
            spooling: Spooling::USUAL,
            stride: 1,
            balance: Balance::None,
            impute: false,
            unit_rows: false,
        }
    }
}

/// What the reader saw in pass 1.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct ReaderReport {
    /// Rows in all.
    pub rows: u64,
    /// Bytes of encoded rows.
    pub bytes: u64,
    /// Length of the dense part.
    pub dense_features: u64,
    /// Largest feature id + 1, dense part included.
    pub features: u64,
    /// The scaling learned; empty while loading.
    pub scaling: Scaling,
    /// Rows of each group id.
    #[serde(deserialize_with = "list")]
    pub group_counts: Vec<u64>,
    /// Mean of each dense feature over the rows that have it, 0 where none has; empty unless imputing, and while loading.
    #[serde(deserialize_with = "list")]
    pub means: Vec<f64>,
    /// Means and deviations of the features, where they are kept; empty while loading.
    pub spread: Spread,
    /// Features whose values lose more than a millionth of their spread by being kept as 32-bit numbers, the first of
    /// them, and how many there are; none while loading.
    pub imprecise: Vec<u64>,
    pub imprecise_features: u64,
    /// Whether every row fitted the cache.
    pub resident: bool,
    /// Bytes written to the spool, compressed or not.
    pub spool_bytes: u64,
}

impl ReaderReport {
    /// With further imprecise features.
    pub fn with_imprecise(mut self, features: impl Iterator<Item = u64>) -> Self {
        for feature in features {
            if self.imprecise.len() < IMPRECISE_NAMED {
                self.imprecise.push(feature);
            }
            self.imprecise_features += 1;
        }
        self
    }
}

/// Of many imprecise features a report names so many.
const IMPRECISE_NAMED: usize = 5;

/// Why reading ended early.
#[derive(Debug, PartialEq)]
pub enum ReadError<S, P> {
    /// The source failed, or passed on a complaint about a row.
    Source(S),
    /// A row cannot be taken, found out after the source delivered it.
    Row(RowError),
    /// The spool failed.
    Spool(P),
    /// What the spool gave back is not what was written to it.
    SpoolCorrupt,
    /// The trainer gave up.
    TrainerFailed,
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for ReadError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Row(error) => error.fmt(f),
            Self::Spool(error) => error.fmt(f),
            Self::SpoolCorrupt => write!(f, "rows read from the spool are not those written to it"),
            Self::TrainerFailed => write!(f, "the trainer has failed"),
        }
    }
}

impl<S: fmt::Debug + fmt::Display, P: fmt::Debug + fmt::Display> std::error::Error
    for ReadError<S, P>
{
}

/// The reader role: see the crate's head.
pub struct Reader<S: Source, P: Spool> {
    cache: Cache,
    source: S,
    spool: P,
    random: Random,
    seen: Seen,
    stage: Stage,
    resident: bool,
    spool_bytes: u64,
}

/// What pass 1 has found out.
struct Seen {
    learner: ScaleLearner,
    scaling: Scaling,
    /// The scaling to use instead of one that is learned.
    kept: Option<Scaling>,
    means: Vec<f64>,
    spread: Spread,
    dense: Option<usize>,
    rows: u64,
    words: u64,
    group_counts: Vec<u64>,
    /// Folds that groups leave room for, and a bit for each that has rows.
    stride: u32,
    folds: u64,
    balance: Balance,
    unit_rows: bool,
    /// By class, see [`crate::cache::TrainerSide::positive_weights`].
    positive_weights: Vec<f32>,
    last_class: u32,
    class_changes: u64,
    max_row_words: usize,
}

enum Stage {
    /// Filling the arena.
    Loading(Loading, Spill),
    /// The arena is full: dumping its rows from this slot on. The flag says whether the source has more.
    Dumping(Loading, Spill, usize, bool),
    /// The rest of the source goes to the spool.
    Spilling(Loading, Spill),
    /// Scaling the arena's rows from this slot on.
    Scaling(Loading, Applier, Facts, usize),
    /// Passes over the spool.
    Streaming(Producer, Replay, Box<Applier>),
    Done,
}

impl<S: Source, P: Spool> Reader<S, P> {
    /// Claims the reader's side of `cache`.
    pub fn new(cache: Cache, job: ReaderJob, source: S, spool: P) -> Result<Self, CacheError> {
        let mut loading = cache.claim_reader()?;
        PageMut::create(loading.arena(), 0);
        let room = cache.working_set_words() - PAGE_HEADER_WORDS;
        let split = Split::new(
            job.policy.block_share().map(|share| room / share),
            job.spooling.split,
            Random::new(job.seed, Stream::Split),
        );
        let spill = Spill::new(cache.cache_bytes(), split, job.spooling);
        Ok(Self {
            cache,
            source,
            spool,
            random: Random::new(job.seed, Stream::Reader),
            seen: Seen {
                learner: ScaleLearner::new(job.scale, job.impute),
                scaling: Scaling::default(),
                kept: None,
                means: Vec::new(),
                spread: Spread::default(),
                dense: None,
                rows: 0,
                words: 0,
                group_counts: Vec::new(),
                stride: job.stride.max(1),
                balance: job.balance,
                unit_rows: job.unit_rows,
                positive_weights: Vec::new(),
                folds: 0,
                last_class: 0,
                class_changes: 0,
                max_row_words: 0,
            },
            stage: Stage::Loading(loading, spill),
            resident: true,
            spool_bytes: 0,
        })
    }

    /// Has rows scaled like this, where it fits them, whatever is learned of them; to be called before the first step.
    pub fn keep_scaling(&mut self, scaling: Scaling) {
        self.seen.kept = Some(scaling);
    }

    /// Reads, scales or hands over about `budget_rows` rows.
    ///
    /// An error ends the reading for good and makes the trainer end too.
    pub fn step(&mut self, budget_rows: usize) -> Result<Step, ReadError<S::Error, P::Error>> {
        match self.cache.phase() {
            Phase::Finished => return Ok(Step::Done),
            Phase::Failed => return Err(ReadError::TrainerFailed),
            _ if self.cache.stop_requested() => return Ok(Step::Done),
            _ => {}
        }
        let result = self.run(budget_rows.max(1));
        if result.is_err() {
            self.stage = Stage::Done;
            self.cache.fail();
        }
        result
    }

    /// The source, for what it learned itself.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source, to take over what it learned itself.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// What was seen in pass 1; complete once the phase is no longer loading.
    pub fn report(&self) -> Result<ReaderReport, OutOfMemory> {
        let dense = self.seen.dense.unwrap_or(0);
        let report = ReaderReport {
            rows: self.seen.rows,
            bytes: 4 * self.seen.words,
            dense_features: dense as u64,
            features: (dense + self.seen.learner.sparse()) as u64,
            scaling: self.seen.scaling.copied()?,
            group_counts: copied(&self.seen.group_counts)?,
            means: copied(&self.seen.means)?,
            spread: self.seen.spread.copied()?,
            imprecise: Vec::new(),
            imprecise_features: 0,
            resident: self.resident,
            spool_bytes: self.spool_bytes,
        };
        Ok(report.with_imprecise(self.seen.learner.imprecise()))
    }

    /// The source and the spool, for the caller to look at.
    pub fn parts(&self) -> (&S, &P) {
        (&self.source, &self.spool)
    }

    fn run(&mut self, budget: usize) -> Result<Step, ReadError<S::Error, P::Error>> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Loading(loading, spill) => self.load(loading, spill, budget)?,
            Stage::Dumping(loading, spill, slot, more) => self.dump(loading, spill, slot, more)?,
            Stage::Spilling(loading, spill) => self.spill(loading, spill, budget)?,
            Stage::Scaling(loading, applier, facts, slot) => {
                let weights = &self.seen.positive_weights;
                scale(loading, applier, (facts, weights), slot, budget)
            }
            Stage::Streaming(producer, replay, applier) => {
                return self.stream(producer, replay, applier, budget)
            }
            Stage::Done => return Ok(Step::Done),
        };
        self.cache
            .publish_loaded(self.seen.rows, 4 * self.seen.words);
        Ok(Step::Progress)
    }

    fn load(
        &mut self,
        mut loading: Loading,
        mut spill: Spill,
        budget: usize,
    ) -> Result<Stage, ReadError<S::Error, P::Error>> {
        let rows = self.fetch_size(budget, &spill);
        let seen = &mut self.seen;
        let arena_words = loading.arena().len();
        let cache = &self.cache;
        let more = self.source.fetch(rows, &mut |example| {
            let length = seen.check(example)?;
            if length + PAGE_HEADER_WORDS + 1 > arena_words {
                return Err(too_small(cache, seen.rows, length));
            }
            let dense = example.dense.len();
            if !spill.has_staged() {
                if let Some(words) = PageMut::open(loading.arena(), dense).push(length) {
                    return seen.take(example, words);
                }
            }
            let words = spill.stage(length).map_err(|_| out_of_memory(length))?;
            seen.take(example, words)
        });
        let more = more.map_err(ReadError::Source)?;
        if spill.has_staged() {
            self.resident = false;
            return Ok(Stage::Dumping(loading, spill, 0, more));
        }
        if more {
            return Ok(Stage::Loading(loading, spill));
        }
        let weighed = self.seen.weighed();
        if PageMut::open(loading.arena(), 0).spare_mut().len() < weighed {
            self.resident = false;
            return Ok(Stage::Dumping(loading, spill, 0, false));
        }
        let (facts, applier) = self.finish()?;
        Ok(Stage::Scaling(loading, applier, facts, 0))
    }

    /// Rows to ask the source for: no more than make a chunk, so that what is staged stays small.
    fn fetch_size(&self, budget: usize, spill: &Spill) -> usize {
        if self.seen.rows == 0 {
            return budget.min(FIRST_FETCH);
        }
        let length = (self.seen.words / self.seen.rows).max(1) as usize;
        (spill.chunk_words() / length).clamp(1, budget)
    }

    /// Writes about a chunk of the arena's rows to the spool.
    fn dump(
        &mut self,
        mut loading: Loading,
        mut spill: Spill,
        slot: usize,
        more: bool,
    ) -> Result<Stage, ReadError<S::Error, P::Error>> {
        self.check_streamable()?;
        let dense = self.seen.dense.unwrap_or(0);
        let page = Page::new(loading.arena(), dense);
        let (slots, mut end, mut words) = (page.slots(), slot, 0);
        while end < slots && words < spill.chunk_words() {
            words += page.row(end).map_or(0, |row| row.words().len());
            end += 1;
        }
        let rows = &page.peek(slot)[..words];
        spill
            .take(rows, end - slot, dense, &mut self.spool)
            .map_err(|error| self.seen.complaint(error))?;
        self.spool_bytes = spill.bytes();
        if end < slots {
            return Ok(Stage::Dumping(loading, spill, end, more));
        }
        if more {
            return Ok(Stage::Spilling(loading, spill));
        }
        self.finish_spill(loading, spill)
    }

    fn spill(
        &mut self,
        loading: Loading,
        mut spill: Spill,
        budget: usize,
    ) -> Result<Stage, ReadError<S::Error, P::Error>> {
        let rows = self.fetch_size(budget, &spill);
        let seen = &mut self.seen;
        let more = self.source.fetch(rows, &mut |example| {
            let length = seen.check(example)?;
            let words = spill.stage(length).map_err(|_| out_of_memory(length))?;
            let taken = seen.take(example, words);
            if taken.is_err() {
                spill.unstage(length);
            }
            taken
        });
        let more = more.map_err(ReadError::Source)?;
        self.check_streamable()?;
        spill
            .flush_ripe(&mut self.spool)
            .map_err(|error| self.seen.complaint(error))?;
        self.spool_bytes = spill.bytes();
        if more {
            return Ok(Stage::Spilling(loading, spill));
        }
        self.finish_spill(loading, spill)
    }

    fn finish_spill(
        &mut self,
        loading: Loading,
        mut spill: Spill,
    ) -> Result<Stage, ReadError<S::Error, P::Error>> {
        spill
            .flush_rest(&mut self.spool)
            .map_err(|error| self.seen.complaint(error))?;
        self.spool_bytes = spill.bytes();
        let (facts, applier) = self.finish()?;
        if self.seen.weighed() > self.cache.working_set_words() {
            let words = self.seen.weighed();
            return Err(ReadError::Row(too_small(
                &self.cache,
                self.seen.rows,
                words,
            )));
        }
        let replay = spill.into_replay().map_err(|_| memory(self.seen.words))?;
        Ok(Stage::Streaming(
            loading.publish_streaming(&facts, &self.seen.positive_weights),
            replay,
            Box::new(applier),
        ))
    }

    /// What follows from all rows.
    fn finish(&mut self) -> Result<(Facts, Applier), ReadError<S::Error, P::Error>> {
        let finished = match self.source.idle() {
            Ok(idle) => self.seen.finish(&idle, self.source.positive()),
            Err(error) => Err(error),
        };
        finished.map_err(|_| memory(self.seen.words))
    }

    /// A row that the ring cannot carry ends it: the rows do not fit the cache together.
    fn check_streamable(&self) -> Result<(), ReadError<S::Error, P::Error>> {
        if self.seen.max_row_words > self.cache.max_streamed_row_words() {
            return Err(ReadError::Row(too_small(
                &self.cache,
                self.seen.rows - 1,
                self.seen.max_row_words,
            )));
        }
        Ok(())
    }

    /// Puts batches into the ring until it is full or the budget is used up.
    fn stream(
        &mut self,
        mut producer: Producer,
        mut replay: Replay,
        applier: Box<Applier>,
        budget: usize,
    ) -> Result<Step, ReadError<S::Error, P::Error>> {
        let dense = self.seen.dense.unwrap_or(0);
        let largest = producer.max_batch_words();
        let batch = BATCH_WORDS
            .min(largest / BATCHES_PER_RING * 2)
            .max(self.seen.max_row_words)
            .min(largest);
        let mut rows = 0;
        let mut full = false;
        while rows < budget && !full {
            let Some(words) = producer.reserve(batch) else {
                full = true;
                continue;
            };
            let (mut used, mut ends) = (0, Ends::Nothing);
            while ends == Ends::Nothing {
                let row = replay
                    .front(dense, &mut self.random, &mut self.spool)
                    .map_err(|error| self.seen.complaint(error))?;
                let length = row.words().len();
                if used + length > words.len() {
                    break;
                }
                words[used..used + length].copy_from_slice(row.words());
                applier.apply(&mut words[used..used + length]);
                used += length;
                rows += 1;
                ends = replay.advance(length);
            }
            producer.commit(used, ends);
        }
        self.stage = Stage::Streaming(producer, replay, applier);
        Ok(if rows == 0 {
            Step::Blocked
        } else {
            Step::Progress
        })
    }
}

/// Scales about `budget` rows of the arena, then hands it over.
fn scale(
    mut loading: Loading,
    applier: Applier,
    (facts, positive_weights): (Facts, &[f32]),
    slot: usize,
    budget: usize,
) -> Stage {
    let mut page = PageMut::open(loading.arena(), facts.dense);
    let slots = page.read().slots();
    let end = slots.min(slot + budget);
    for slot in slot..end {
        applier.apply(page.row_words_mut(slot));
    }
    if end < slots {
        return Stage::Scaling(loading, applier, facts, end);
    }
    loading.publish_resident(&facts, positive_weights);
    Stage::Done
}

impl Seen {
    /// Checks a row and gives its length; the first row fixes the dense part.
    fn check(&mut self, example: &Example<'_>) -> Result<usize, RowError> {
        let dense = match self.dense {
            Some(dense) => dense,
            None => self.begin(example)?,
        };
        encode::check(example, self.rows, dense)
    }

    fn begin(&mut self, example: &Example<'_>) -> Result<usize, RowError> {
        let dense = example.dense.len();
        self.learner
            .begin(example.dense)
            .map_err(|_| out_of_memory(8 * dense))?;
        self.dense = Some(dense);
        Ok(dense)
    }

    /// Packs a checked row into `words` and learns from it.
    fn take(&mut self, example: &Example<'_>, words: &mut [u32]) -> Result<(), RowError> {
        encode::encode(example, self.rows, &mut self.learner, words)?;
        let group = example.group as usize;
        if group >= self.group_counts.len() {
            let more = group + 1 - self.group_counts.len();
            self.group_counts
                .try_reserve(more)
                .map_err(|_| out_of_memory(2 * more))?;
            self.group_counts.resize(group + 1, 0);
        }
        self.group_counts[group] += 1;
        let class = example.group / self.stride;
        self.folds |= 1u64.unbounded_shl(example.group % self.stride);
        self.class_changes += u64::from(self.rows > 0 && class != self.last_class);
        self.last_class = class;
        self.max_row_words = self.max_row_words.max(words.len());
        self.rows += 1;
        self.words += words.len() as u64;
        Ok(())
    }

    fn complaint<S, P>(&self, error: ChunkError<P>) -> ReadError<S, P> {
        match error {
            ChunkError::Spool(error) => ReadError::Spool(error),
            ChunkError::Memory => memory(self.words),
            ChunkError::Corrupt => ReadError::SpoolCorrupt,
        }
    }

    /// Classes of which the weights as positives are told to the trainer.
    fn weighed(&self) -> usize {
        let classes = self.group_counts.len().div_ceil(self.stride as usize);
        match self.balance {
            Balance::Positives if classes > 2 => classes,
            _ => 0,
        }
    }

    /// What balancing multiplies costs by, by group; empty where it multiplies none, or those of positives alone.
    fn balance(&mut self) -> Result<Vec<f32>, TryReserveError> {
        let mut factors = Vec::new();
        if self.balance == Balance::None {
            return Ok(factors);
        }
        let classes = || self.group_counts.chunks(self.stride as usize);
        let rows_of = |class: &[u64]| class.iter().sum::<u64>();
        let occurring = classes().filter(|class| rows_of(class) > 0).count();
        let balanced = classes().map(|class| {
            let share = rows_of(class) as f64 * occurring as f64;
            let factor = (self.rows as f64 / share.max(1.0)) as f32;
            (factor, class.len())
        });
        if self.weighed() > 0 {
            let mut weights = Vec::new();
            weights.try_reserve_exact(self.weighed())?;
            weights.extend(balanced.map(|(factor, _)| factor));
            self.positive_weights = weights;
            return Ok(factors);
        }
        factors.try_reserve_exact(self.group_counts.len())?;
        factors.extend(balanced.flat_map(|(factor, groups)| std::iter::repeat_n(factor, groups)));
        Ok(factors)
    }

    /// `idle`: features of one value; `positive`: see [`Source::positive`].
    fn finish(&mut self, idle: &[u32], positive: usize) -> Result<(Facts, Applier), OutOfMemory> {
        let dense = self.dense.unwrap_or(0);
        let (learned, occurring, mean_q) = self.learner.finish(idle)?;
        let kept = match &self.kept {
            Some(kept) => kept.kept_for(&learned)?,
            None => None,
        };
        let scaling = kept.unwrap_or(learned);
        self.means = self.learner.means()?;
        self.spread = self.learner.spread()?;
        let balance = self.balance()?;
        let provisional = self.learner.provisional();
        let (means, unit_rows) = (&self.means, self.unit_rows);
        let applier = Applier::new(&scaling, provisional, means, balance, unit_rows)?;
        self.scaling = scaling;
        let facts = Facts {
            rows: self.rows as usize,
            dense,
            features: dense + self.learner.sparse(),
            occurring,
            groups: self.group_counts.len(),
            folds: self.folds,
            class_changes: self.class_changes as usize,
            max_row_words: self.max_row_words,
            mean_row_words: (self.words / self.rows.max(1)) as usize,
            mean_q: if unit_rows { 1.0 } else { mean_q },
            weighed: self.positive_weights.len(),
            positive,
        };
        Ok((facts, applier))
    }
}

fn too_small(cache: &Cache, ordinal: u64, row_words: usize) -> RowError {
    RowError::CacheTooSmall {
        ordinal,
        row_bytes: 4 * row_words as u64,
        cache_bytes: cache.cache_bytes() as u64,
        needed_cache_bytes: Cache::bytes_to_stream(row_words) as u64,
    }
}

fn out_of_memory(words: usize) -> RowError {
    RowError::OutOfMemory {
        bytes: 4 * words as u64,
    }
}

fn memory<S, P>(words: u64) -> ReadError<S, P> {
    ReadError::Row(RowError::OutOfMemory { bytes: 4 * words })
}

#[cfg(test)]
mod tests;
