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
//! minimization rows are drawn into cells on their way to the spool (16 MB of chunks more meanwhile), and read block by
//! block.

mod alone;
mod codec;
mod codes;
mod encode;
mod expansion;
mod form;
mod index;
mod job;
mod sample;
mod seen;
mod spill;
mod split;
mod survey;

use crate::base::memory::OutOfMemory;
use crate::base::random::{Random, Stream};
use crate::base::step::Step;
use crate::cache::Phase;
use crate::cache::{Cache, CacheError, Ends, Loading, Producer};
use crate::objective::problem::Compression;
use crate::rows::facts::Facts;
use crate::rows::filing::filed_chunk_words;
use crate::rows::page::{Page, PageMut, PAGE_HEADER_WORDS};
use crate::rows::row::QUAD;
use crate::rows::source::{RowError, Source, Spool};
use crate::scaling::{Applier, Scaling};
pub use alone::{Alone, Telling, TellingColumn};
use codec::ChunkError;
pub use codec::Packing;
pub use codes::are_codes;
pub use form::{RowForm, RowMaker};
use index::Index;
pub use job::{Balance, Beyond, Expanding, ReadError, ReaderJob, ReaderReport};
pub use seen::Renamed;
use seen::{memory, out_of_memory, SeenRows};
use spill::{Replay, Spill};
use split::{Split, SplitError};
pub use survey::{Survey, Surveyed};

/// Words of a batch where the ring allows it: 128 KB.
const BATCH_WORDS: usize = 32 * 1024;
/// Batches that fit the ring at least, unless rows are longer.
const BATCHES_PER_RING: usize = 4;
/// Rows fetched at a time before their length is known.
const FIRST_FETCH: usize = 16;

/// The reader role: see the crate's head.
pub struct Reader<S: Source, P: Spool> {
    cache: Cache,
    source: S,
    spool: P,
    random: Random,
    seen: SeenRows,
    stage: ReaderStage,
    resident: bool,
    spool_bytes: u64,
    keeps_order: bool,
    /// How chunks are compressed, where rows that do not fit are to be filed.
    indexing: Option<Compression>,
}

/// A full arena on its way to the spool.
struct Dumping {
    loading: Loading,
    spill: Spill,
    /// The slot of the first row that is still to go.
    slot: usize,
    /// Whether the source has more rows.
    more: bool,
}

/// Rows that come pass by pass.
struct Streamed {
    producer: Producer,
    replay: Replay,
    applier: Applier,
    index: Option<Index>,
}

enum ReaderStage {
    /// Filling the arena.
    Loading(Loading, Spill),
    /// The arena is full: its rows go to the spool.
    Dumping(Dumping),
    /// The rest of the source goes to the spool.
    Spilling(Loading, Spill),
    /// Scaling the arena's rows from this slot on.
    Scaling(Loading, Applier, Facts, usize),
    /// Passes over the spool.
    Streaming(Box<Streamed>),
    Done,
}

impl<S: Source, P: Spool> Reader<S, P> {
    /// Claims the reader's side of `cache`.
    pub fn new(cache: Cache, job: ReaderJob, source: S, spool: P) -> Result<Self, CacheError> {
        let mut loading = cache.claim_reader()?;
        PageMut::create(loading.arena(), 0);
        let room = cache.working_set_words() - PAGE_HEADER_WORDS;
        let split = Split::new(
            match job.beyond {
                Beyond::Blocks(blocks, share) => Some((blocks, room / share)),
                Beyond::Streams | Beyond::Chunks => None,
            },
            Random::new(job.seed, Stream::Split),
        );
        let spill = Spill::new(cache.cache_bytes(), split, job.compression);
        let arena_words = loading.arena().len();
        Ok(Self {
            cache,
            source,
            spool,
            random: Random::new(job.seed, Stream::Reader),
            seen: SeenRows::new(&job, arena_words),
            stage: ReaderStage::Loading(loading, spill),
            resident: true,
            spool_bytes: 0,
            keeps_order: false,
            indexing: (job.beyond == Beyond::Chunks).then_some(job.compression),
        })
    }

    /// Has rows scaled like this, where it fits them, whatever is learned of them; to be called before the first step.
    pub fn keep_scaling(&mut self, scaling: Scaling) {
        self.seen.kept = Some(scaling);
    }

    /// Has rows that do not fit come in every pass in the order in which they were read; to be called before the first
    /// step, of rows that are not split into blocks.
    pub fn keep_order(&mut self) {
        self.keeps_order = true;
    }

    /// Rows read so far.
    pub fn rows(&self) -> u64 {
        self.seen.rows
    }

    /// The source, when there is nothing more to read.
    pub fn into_source(self) -> S {
        self.source
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
            self.stage = ReaderStage::Done;
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
        self.seen.report(self.resident, self.spool_bytes)
    }

    /// The source and the spool, for the caller to look at.
    pub fn parts(&self) -> (&S, &P) {
        (&self.source, &self.spool)
    }

    fn run(&mut self, budget: usize) -> Result<Step, ReadError<S::Error, P::Error>> {
        self.stage = match std::mem::replace(&mut self.stage, ReaderStage::Done) {
            ReaderStage::Loading(loading, spill) => self.load(loading, spill, budget)?,
            ReaderStage::Dumping(dumping) => self.dump(dumping)?,
            ReaderStage::Spilling(loading, spill) => self.spill(loading, spill, budget)?,
            ReaderStage::Scaling(loading, applier, facts, slot) => {
                let weights = &self.seen.positive_weights;
                scale(loading, applier, (facts, weights), slot, budget)
            }
            ReaderStage::Streaming(streamed) => return self.stream(streamed),
            ReaderStage::Done => return Ok(Step::Done),
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
    ) -> Result<ReaderStage, ReadError<S::Error, P::Error>> {
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
            return Ok(self.begin_dumping(loading, spill, more));
        }
        if more {
            return Ok(ReaderStage::Loading(loading, spill));
        }
        let weighed = self.seen.weighed();
        let has_room = PageMut::open(loading.arena(), 0).spare_mut().len() >= weighed;
        if !has_room || (spill.is_asked_for() && self.seen.rows > 0) {
            return Ok(self.begin_dumping(loading, spill, more));
        }
        let (facts, applier) = self.finish()?;
        Ok(ReaderStage::Scaling(loading, applier, facts, 0))
    }

    /// What is in the arena goes to the spool; `more`: whether the source has more.
    fn begin_dumping(&mut self, loading: Loading, spill: Spill, more: bool) -> ReaderStage {
        self.resident = false;
        self.seen.overflow();
        ReaderStage::Dumping(Dumping {
            loading,
            spill,
            slot: 0,
            more,
        })
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
    fn dump(&mut self, mut dumping: Dumping) -> Result<ReaderStage, ReadError<S::Error, P::Error>> {
        self.check_streamable()?;
        let dense = self.seen.dense.unwrap_or(0);
        let page = Page::new(dumping.loading.arena(), dense);
        let (slots, slot, mut words) = (page.slots(), dumping.slot, 0);
        let mut end = slot;
        while end < slots && words < dumping.spill.chunk_words() {
            words += page.row(end).map_or(0, |row| row.words().len());
            end += 1;
        }
        let rows = &page.peek(slot)[..words];
        dumping
            .spill
            .take(rows, end - slot, dense, &mut self.spool)
            .map_err(|error| self.seen.complaint(error))?;
        self.spool_bytes = dumping.spill.bytes();
        dumping.slot = end;
        match (end < slots, dumping.more) {
            (true, _) => Ok(ReaderStage::Dumping(dumping)),
            (false, true) => Ok(ReaderStage::Spilling(dumping.loading, dumping.spill)),
            (false, false) => self.finish_spill(dumping.loading, dumping.spill),
        }
    }

    fn spill(
        &mut self,
        loading: Loading,
        mut spill: Spill,
        budget: usize,
    ) -> Result<ReaderStage, ReadError<S::Error, P::Error>> {
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
            return Ok(ReaderStage::Spilling(loading, spill));
        }
        self.finish_spill(loading, spill)
    }

    fn finish_spill(
        &mut self,
        loading: Loading,
        mut spill: Spill,
    ) -> Result<ReaderStage, ReadError<S::Error, P::Error>> {
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
        let replay = spill
            .into_replay(self.keeps_order)
            .map_err(|error| match error {
                SplitError::Memory => memory(self.seen.words),
                SplitError::NoRoom { asked, needed } => ReadError::Blocks { asked, needed },
            })?;
        let words = match self.indexing {
            Some(_) => filed_chunk_words(self.cache.cache_bytes(), self.seen.words as usize),
            None => 0,
        };
        let producer = loading.publish_streaming(&facts, &self.seen.positive_weights, words);
        Ok(ReaderStage::Streaming(Box::new(Streamed {
            producer,
            replay,
            applier,
            index: self.indexing.map(|it| Index::new(words, it)),
        })))
    }

    /// What follows from all rows.
    fn finish(&mut self) -> Result<(Facts, Applier), ReadError<S::Error, P::Error>> {
        let source = &self.source;
        if source.is_balanced() {
            self.seen.leave_weights();
        }
        let looked = self.seen.look(&|sparse| source.category_of(sparse));
        let finished = match looked.and_then(|()| source.idle()) {
            Ok(idle) => self.seen.finish(&idle, source.positive()),
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

    /// Puts a batch into the ring unless that is full. One at a time, so that the trainer hears of each.
    fn stream(
        &mut self,
        mut streamed: Box<Streamed>,
    ) -> Result<Step, ReadError<S::Error, P::Error>> {
        let step = match self.begin_indexed(&mut streamed) {
            Ok(true) => self.put_batch(&mut streamed),
            Ok(false) => Ok(Step::Blocked),
            Err(error) => Err(error),
        };
        let step = step.map_err(|error| self.seen.complaint(error))?;
        self.stage = ReaderStage::Streaming(streamed);
        Ok(step)
    }

    /// Where there is an index, files the rows whose answers have come and begins a pass that was announced. Whether one is under
    /// way.
    fn begin_indexed(&mut self, streamed: &mut Streamed) -> Result<bool, ChunkError<P::Error>> {
        let Streamed {
            producer,
            replay,
            index: Some(index),
            ..
        } = streamed
        else {
            return Ok(true);
        };
        let dense = self.seen.dense.unwrap_or(0);
        if index.asks {
            index.take_answers(producer, dense, &mut self.spool)?;
        }
        if index.in_pass || !producer.may_begin(index.passes + 1) {
            return Ok(index.in_pass);
        }
        if index.asks {
            if !producer.has_all_answers() {
                return Ok(false);
            }
            *replay = index.make(&mut self.spool)?;
            self.spool_bytes += replay.bytes();
        }
        if index.is_made {
            let chunks = index.chunks_read(producer);
            if !replay.begin_pass(chunks, &mut self.random)? {
                return Ok(index.end_empty(producer));
            }
        }
        if producer.files() {
            index.begin_filing();
        }
        index.passes += 1;
        index.in_pass = true;
        Ok(true)
    }

    fn put_batch(&mut self, streamed: &mut Streamed) -> Result<Step, ChunkError<P::Error>> {
        let Streamed {
            producer,
            replay,
            applier,
            index,
        } = streamed;
        let dense = self.seen.dense.unwrap_or(0);
        let (asks, is_made) = match index {
            Some(index) => (index.asks, index.is_made),
            None => (false, false),
        };
        let largest = producer.max_batch_words();
        let batch = BATCH_WORDS
            .min(largest / BATCHES_PER_RING * 2)
            .max(self.seen.max_row_words + QUAD)
            .min(largest);
        let Some(words) = producer.reserve(batch) else {
            return Ok(Step::Blocked);
        };
        let (mut used, mut rows, mut answers, mut ends) = (0, 0usize, 0, Ends::Nothing);
        while ends == Ends::Nothing {
            let row = replay.front(dense, &mut self.random, &mut self.spool)?;
            let length = row.words().len();
            let more = match asks {
                true => (rows + 1).next_multiple_of(QUAD),
                false => 0,
            };
            if used + length + more > words.len() {
                break;
            }
            words[used..used + length].copy_from_slice(row.words());
            if !is_made {
                applier.apply(&mut words[used..used + length]);
            }
            used += length;
            rows += 1;
            answers = more;
            ends = replay.advance(length);
        }
        if asks {
            words[used..used + answers].fill(0);
            producer
                .commit_asking((used, answers), ends)
                .map_err(|_| ChunkError::Memory)?;
        } else {
            producer.commit(used, ends);
        }
        if let Some(index) = index {
            index.in_pass = ends != Ends::Pass;
        }
        Ok(Step::Progress)
    }
}

/// Scales about `budget` rows of the arena, then hands it over.
fn scale(
    mut loading: Loading,
    applier: Applier,
    (facts, positive_weights): (Facts, &[f32]),
    slot: usize,
    budget: usize,
) -> ReaderStage {
    let mut page = PageMut::open(loading.arena(), facts.dense);
    let slots = page.read().slots();
    let end = slots.min(slot + budget);
    for slot in slot..end {
        applier.apply(page.row_words_mut(slot));
    }
    if end < slots {
        return ReaderStage::Scaling(loading, applier, facts, end);
    }
    loading.publish_resident(&facts, positive_weights);
    ReaderStage::Done
}

fn too_small(cache: &Cache, ordinal: u64, row_words: usize) -> RowError {
    RowError::CacheTooSmall {
        ordinal,
        row_bytes: 4 * row_words as u64,
        cache_bytes: cache.cache_bytes() as u64,
        needed_cache_bytes: Cache::bytes_to_stream(row_words) as u64,
    }
}

#[cfg(test)]
mod tests;
