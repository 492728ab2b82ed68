//! The shared region: a control block, then the cache (rows and ring).
//!
//! Reader and trainer meet only here, in two processes, two threads or one thread taking turns. The
//! region holds offsets, never addresses, so each process may map it anywhere. Who may touch the words
//! behind the control block follows from the phase, and the types enforce it:
//!
//! - Loading: `Loading` (the reader's) owns all words as the arena; the trainer holds a `Waiting`.
//! - Resident: the reader's side is gone; `Arena` (the trainer's) owns all words.
//! - Streaming: the trainer's `WorkingSetRegion` owns the first seven eighths; the last eighth is the ring
//!   between the reader's `Producer` and the trainer's `Consumer`.
//!
//! Each side is claimed once, each phase is published once, with release and acquire, so no two of
//! these owners can see the same words at a time. All unsafe code of the region is in this file and in `ring`.

mod control;
mod phase;
mod ring;

use crate::rows::facts::Facts;
use std::alloc;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::base::huge_pages::prefer_huge_pages;
use crate::base::memory::{copied, OutOfMemory};
use crate::base::words::as_floats;
use crate::objective::report::Stage;
use crate::rows::page::{Page, PageMut, PAGE_MAX_WORDS};
use crate::rows::row::{row_words, QUAD};
pub use control::Counters;
use control::{Control, MAGIC};
pub use phase::Phase;
use ring::Ring;
pub use ring::{Consumer, Ends, Producer, RingBatch};

/// Alignment of the control block; `create` and `attach` round the base up to it.
const ALIGN: usize = 128;
const WORD: usize = 4;
const CONTROL_BYTES: usize = std::mem::size_of::<Control>();
/// The smallest cache: below it the ring could not hold a few rows of ordinary width.
const MINIMUM_BYTES: usize = 16 * 1024;
/// The ring is this part of the cache.
const RING_SHARE: usize = 8;

/// Sizes of a region, worked out before it is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLayout {
    cache_words: usize,
}

/// Why a region cannot be laid out or claimed.
#[derive(Debug, Clone, PartialEq)]
pub enum CacheError {
    /// Fewer bytes than the smallest region that works.
    TooSmall { cache_bytes: u64, minimum: u64 },
    /// More bytes than row offsets can address.
    TooLarge { cache_bytes: u64, maximum: u64 },
    /// Memory for a private region could not be had.
    OutOfMemory { bytes: u64 },
    /// Another reader or trainer holds this role already.
    RoleTaken { role: &'static str },
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall {
                cache_bytes,
                minimum,
            } => {
                write!(
                    f,
                    "a cache of {cache_bytes} bytes is too small, at least {minimum} are needed"
                )
            }
            Self::TooLarge {
                cache_bytes,
                maximum,
            } => {
                write!(
                    f,
                    "a cache of {cache_bytes} bytes is too large, at most {maximum} can be used"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory while asking for {bytes} bytes")
            }
            Self::RoleTaken { role } => write!(f, "the cache has a {role} already"),
        }
    }
}

impl std::error::Error for CacheError {}

impl CacheLayout {
    /// The layout of a cache of `cache_bytes` (rows and ring together), rounded down to whole 128 bytes.
    pub fn for_bytes(cache_bytes: usize) -> Result<Self, CacheError> {
        if cache_bytes < MINIMUM_BYTES {
            return Err(CacheError::TooSmall {
                cache_bytes: cache_bytes as u64,
                minimum: MINIMUM_BYTES as u64,
            });
        }
        let maximum = PAGE_MAX_WORDS * WORD;
        if cache_bytes > maximum {
            return Err(CacheError::TooLarge {
                cache_bytes: cache_bytes as u64,
                maximum: maximum as u64,
            });
        }
        Ok(Self {
            cache_words: cache_bytes / ALIGN * ALIGN / WORD,
        })
    }

    /// Bytes of cache that a row with this many dense features and no others takes.
    pub fn dense_row_bytes(dense: usize) -> usize {
        // its words, and the word that says where it starts
        (row_words(dense, 0) + 1) * WORD
    }

    /// Bytes to allocate: the cache, its control block and room to align them.
    pub fn total_bytes(&self) -> usize {
        ALIGN + CONTROL_BYTES + self.cache_words * WORD
    }
}

/// A snapshot of the counters, for progress reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// What the region is in use for.
    pub phase: Phase,
    /// Rows taken from the source so far.
    pub rows_loaded: u64,
    /// Bytes of encoded rows taken from the source so far.
    pub bytes_loaded: u64,
    /// Rows in all; 0 while loading.
    pub rows: u64,
    /// Full passes the trainer has begun, verification included.
    pub pass: u32,
    /// Rows of the pass already visited.
    pub rows_into_pass: u64,
    /// The smallest relative gap known so far; NaN before the first.
    pub gap: f64,
    /// Rows visited by the trainer.
    pub visits: u64,
    /// Visits that changed a dual variable.
    pub updates: u64,
    /// Rows dropped from the working set as uninformative.
    pub evictions: u64,
    /// Rows dropped from the working set to make room.
    pub replaced: u64,
    /// Rows in the working set (streaming) or in the active set (resident).
    pub working_set_rows: u64,
    /// What the trainer is at.
    pub stage: Stage,
    /// Heads of this stage, and those of them that have not ended.
    pub heads: u32,
    pub running_heads: u32,
    /// Folds held out in this stage.
    pub folds: u32,
}

/// Private memory for a region.
struct Memory {
    base: NonNull<u8>,
    layout: alloc::Layout,
}

// SAFETY: the bytes belong to this value alone and have no thread affinity.
unsafe impl Send for Memory {}
// SAFETY: the value gives out nothing but the address.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc_zeroed` with this layout and is freed once, with the last handle.
        unsafe { alloc::dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// A handle on the region; cheap to clone.
#[derive(Clone)]
pub struct Cache {
    control: NonNull<Control>,
    /// Keeps private memory alive; None for memory that the caller owns.
    _memory: Option<Arc<Memory>>,
}

// SAFETY: a handle is an address of memory that outlives it (contract of `create` and `attach`). Through it one
// reaches only atomics; words are reached through the owners below, of which each exists once.
unsafe impl Send for Cache {}
// SAFETY: as above.
unsafe impl Sync for Cache {}

impl Cache {
    /// Initializes a region.
    ///
    /// # Safety
    /// `base` points to `layout.total_bytes()` initialized bytes (any values) that live as long as every handle, that
    /// nobody else uses and that no handle is attached to yet.
    pub unsafe fn create(base: *mut u8, layout: &CacheLayout) -> Cache {
        let control = base.add(base.align_offset(ALIGN)).cast::<Control>();
        control.write(Control::default());
        let cache = Cache {
            control: NonNull::new_unchecked(control),
            _memory: None,
        };
        let fields = cache.control();
        fields
            .cache_words
            .store(layout.cache_words as u64, Ordering::Relaxed);
        fields.gap.store(f64::NAN.to_bits(), Ordering::Relaxed);
        fields.magic.store(MAGIC, Ordering::Release);
        cache
    }

    /// Attaches to a region that [`Cache::create`] has initialized, perhaps in another process.
    ///
    /// # Safety
    /// `base` is the start of the same region, mapped at an address equal to the creator's modulo 128 (as page-aligned
    /// mappings are), and alive as long as every handle.
    ///
    /// # Panics
    /// When the memory does not hold a region of this build.
    pub unsafe fn attach(base: *mut u8) -> Cache {
        let control = base.add(base.align_offset(ALIGN)).cast::<Control>();
        let cache = Cache {
            control: NonNull::new_unchecked(control),
            _memory: None,
        };
        assert_eq!(
            cache.control().magic.load(Ordering::Acquire),
            MAGIC,
            "not a region of this build"
        );
        cache
    }

    /// A region in private memory, freed with the last handle.
    pub fn in_memory(cache_bytes: usize) -> Result<Cache, CacheError> {
        let layout = CacheLayout::for_bytes(cache_bytes)?;
        let bytes = layout.total_bytes();
        let out_of_memory = CacheError::OutOfMemory {
            bytes: bytes as u64,
        };
        // an alignment that malloc keeps by itself: only then are zeroed pages left untouched
        let shape = alloc::Layout::from_size_align(bytes, 16).map_err(|_| out_of_memory.clone())?;
        // SAFETY: the shape has a size above 0.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(shape) }).ok_or(out_of_memory)?;
        // SAFETY: the bytes just allocated.
        unsafe { prefer_huge_pages(base.as_ptr(), bytes) };
        let memory = Memory {
            base,
            layout: shape,
        };
        // SAFETY: fresh zeroed bytes of the right size, kept alive by the handle itself.
        let cache = unsafe { Cache::create(base.as_ptr(), &layout) };
        Ok(Cache {
            _memory: Some(Arc::new(memory)),
            ..cache
        })
    }

    /// Asks both roles to end at their next step.
    pub fn request_stop(&self) {
        self.control().stop.store(1, Ordering::Relaxed);
    }

    /// Whether somebody asked for the end.
    pub fn stop_requested(&self) -> bool {
        self.control().stop.load(Ordering::Relaxed) != 0
    }

    /// Notes that a role has given up, so that the other one ends too.
    pub fn fail(&self) {
        self.control()
            .phase
            .store(Phase::Failed as u32, Ordering::Release);
    }

    /// What the region is in use for.
    pub fn phase(&self) -> Phase {
        self.control().phase()
    }

    /// The counters now. Any process may ask; the fields are read one by one.
    pub fn statistics(&self) -> Statistics {
        let fields = self.control();
        let get = |field: &AtomicU64| field.load(Ordering::Relaxed);
        let phase = fields.phase();
        Statistics {
            phase,
            rows_loaded: get(&fields.rows_loaded),
            bytes_loaded: get(&fields.bytes_loaded),
            rows: Facts::load(&fields.facts).rows as u64,
            pass: get(&fields.pass) as u32,
            rows_into_pass: get(&fields.rows_into_pass),
            gap: f64::from_bits(get(&fields.gap)),
            visits: get(&fields.visits),
            updates: get(&fields.updates),
            evictions: get(&fields.evictions),
            replaced: get(&fields.replaced),
            working_set_rows: get(&fields.working_set_rows),
            stage: match get(&fields.stage) {
                0 => Stage::Final,
                1 => Stage::Choosing,
                _ => Stage::Beyond,
            },
            heads: get(&fields.heads) as u32,
            running_heads: get(&fields.running_heads) as u32,
            folds: get(&fields.folds) as u32,
        }
    }

    /// Claims the reader's side. Once only.
    pub fn claim_reader(&self) -> Result<Loading, CacheError> {
        self.claim(1, "reader")?;
        Ok(Loading {
            cache: self.clone(),
        })
    }

    /// Claims the trainer's side. Once only.
    pub fn claim_trainer(&self) -> Result<Waiting, CacheError> {
        self.claim(2, "trainer")?;
        Ok(Waiting {
            cache: self.clone(),
        })
    }

    pub fn publish_loaded(&self, rows: u64, bytes: u64) {
        let fields = self.control();
        fields.rows_loaded.store(rows, Ordering::Relaxed);
        fields.bytes_loaded.store(bytes, Ordering::Relaxed);
    }

    pub fn publish_counters(&self, counters: &Counters) {
        let fields = self.control();
        let put = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        put(&fields.pass, u64::from(counters.pass));
        put(&fields.rows_into_pass, counters.rows_into_pass);
        put(&fields.gap, counters.gap.to_bits());
        put(&fields.visits, counters.visits);
        put(&fields.updates, counters.updates);
        put(&fields.evictions, counters.evictions);
        put(&fields.replaced, counters.replaced);
        put(&fields.working_set_rows, counters.working_set_rows);
        put(&fields.stage, counters.stage as u64);
        put(&fields.heads, counters.heads as u64);
        put(&fields.running_heads, counters.running_heads as u64);
        put(&fields.folds, counters.folds as u64);
    }

    /// Says that training has ended; the reader ends too.
    pub fn publish_finished(&self) {
        self.publish_phase(Phase::Finished);
    }

    fn publish_phase(&self, phase: Phase) {
        // a failure noted by the other side must not be covered up
        let _ = self
            .control()
            .phase
            .fetch_update(Ordering::Release, Ordering::Relaxed, |now| {
                (now != Phase::Failed as u32).then_some(phase as u32)
            });
    }

    fn claim(&self, bit: u32, role: &'static str) -> Result<(), CacheError> {
        let before = self.control().roles.fetch_or(bit, Ordering::AcqRel);
        if before & bit != 0 {
            return Err(CacheError::RoleTaken { role });
        }
        Ok(())
    }

    fn control(&self) -> &Control {
        // SAFETY: `create` wrote a control block there (`attach` checked it), it is only ever reached by shared
        // reference, and the region outlives this handle.
        unsafe { self.control.as_ref() }
    }

    fn cache_words(&self) -> usize {
        self.control().cache_words.load(Ordering::Relaxed) as usize
    }

    /// Words of the ring: the last eighth, in whole quads.
    fn ring_words(&self) -> usize {
        self.cache_words() / RING_SHARE / QUAD * QUAD
    }

    /// Words of the working set: the others.
    pub fn working_set_words(&self) -> usize {
        self.cache_words() - self.ring_words()
    }

    /// The longest row that streaming can carry: half the ring, and one page of the working set.
    pub fn max_streamed_row_words(&self) -> usize {
        self.ring_words() / 2 - 2 * QUAD
    }

    /// Bytes of cache.
    pub fn cache_bytes(&self) -> usize {
        self.cache_words() * WORD
    }

    /// Bytes of a row of so many values, of which a sparse one counts two, and of the cache through which such rows can
    /// stream.
    pub fn bytes_for(values: usize) -> (usize, usize) {
        let words = row_words(values, 0);
        (words * WORD, Self::bytes_to_stream(words))
    }

    /// The cache that a row of this many words would need to be streamed.
    pub fn bytes_to_stream(row_words: usize) -> usize {
        ((row_words + 2 * QUAD) * 2 + QUAD) * RING_SHARE * WORD + ALIGN
    }

    /// The words `from..from + length` behind the control block.
    ///
    /// # Safety
    /// Within the cache, and no other reference to any of them is alive in any process.
    unsafe fn words<'a>(&self, from: usize, length: usize) -> &'a mut [u32] {
        let base = self.control.as_ptr().add(1).cast::<u32>();
        std::slice::from_raw_parts_mut(base.add(from), length)
    }
}

/// The reader's side during pass 1.
pub struct Loading {
    cache: Cache,
}

impl Loading {
    /// All words.
    pub fn arena(&mut self) -> &mut [u32] {
        // SAFETY: there is one `Loading` (claimed once) and the trainer reaches words only after a publish below,
        // which consumes it.
        unsafe { self.cache.words(0, self.cache.cache_words()) }
    }

    /// Hands the arena over to the trainer. What classes weigh as positives comes between rows and slots, where there must
    /// be room.
    pub fn publish_resident(mut self, facts: &Facts, positive_weights: &[f32]) {
        if !positive_weights.is_empty() {
            let mut page = PageMut::open(self.arena(), facts.dense);
            put_floats(page.spare_mut(), positive_weights);
        }
        facts.store(&self.cache.control().facts);
        self.cache.publish_phase(Phase::Resident);
    }

    /// Hands the working-set words over and keeps the ring's producing side. What classes weigh as positives comes in the
    /// first words of the working set, which must have room.
    /// `filed_chunk_words`: where an index is to be made, the words of its chunks, else 0.
    pub fn publish_streaming(
        mut self,
        facts: &Facts,
        positive_weights: &[f32],
        filed_chunk_words: usize,
    ) -> Producer {
        put_floats(self.arena(), positive_weights);
        self.cache
            .control()
            .filed_chunk_words
            .store(filed_chunk_words as u64, Ordering::Relaxed);
        facts.store(&self.cache.control().facts);
        self.cache.publish_phase(Phase::Streaming);
        Producer::new(Ring::new(self.cache))
    }
}

fn put_floats(words: &mut [u32], floats: &[f32]) {
    for (word, float) in words[..floats.len()].iter_mut().zip(floats) {
        *word = float.to_bits();
    }
}

/// The trainer's side during pass 1.
pub struct Waiting {
    cache: Cache,
}

/// What the trainer's side has become.
pub enum TrainerSide {
    Waiting(Waiting),
    Resident(Facts, Arena),
    Streaming(Facts, WorkingSetRegion, Consumer),
    /// The reader failed, or the region was closed.
    Ended,
}

impl TrainerSide {
    /// By class, what the costs of its rows are multiplied by in the head that takes it for positive; none: by 1. To be asked
    /// before the working set is used.
    pub fn positive_weights(&mut self) -> Result<Vec<f32>, OutOfMemory> {
        match self {
            Self::Resident(facts, arena) => {
                let spare = Page::new(arena.words(), facts.dense).spare();
                copied(as_floats(&spare[..facts.weighed]))
            }
            Self::Streaming(facts, region, _) => {
                copied(as_floats(&region.words()[..facts.weighed]))
            }
            Self::Waiting(_) | Self::Ended => Ok(Vec::new()),
        }
    }
}

impl Waiting {
    /// Looks whether pass 1 has ended.
    pub fn poll(self) -> TrainerSide {
        match self.cache.phase() {
            Phase::Loading => TrainerSide::Waiting(self),
            Phase::Resident => TrainerSide::Resident(self.facts(), Arena { cache: self.cache }),
            Phase::Streaming => {
                let region = WorkingSetRegion {
                    cache: self.cache.clone(),
                };
                TrainerSide::Streaming(self.facts(), region, Consumer::new(Ring::new(self.cache)))
            }
            Phase::Finished | Phase::Failed => TrainerSide::Ended,
        }
    }

    /// The facts; call only after an acquiring load of a later phase.
    fn facts(&self) -> Facts {
        Facts::load(&self.cache.control().facts)
    }
}

/// All words, once every row is in them: the trainer's.
pub struct Arena {
    cache: Cache,
}

impl Arena {
    #[inline]
    pub fn words(&self) -> &[u32] {
        // SAFETY: made once, after the phase was acquired; the reader's side was consumed by publishing it.
        unsafe { self.cache.words(0, self.cache.cache_words()) }
    }
}

/// The first seven eighths while streaming: the trainer's.
pub struct WorkingSetRegion {
    cache: Cache,
}

impl WorkingSetRegion {
    /// How many words there are, never none.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.cache.working_set_words()
    }

    #[inline]
    pub fn words(&mut self) -> &mut [u32] {
        // SAFETY: made once, after the phase was acquired; the producer and consumer stay inside the ring behind it.
        unsafe { self.cache.words(0, self.cache.working_set_words()) }
    }

    /// The same, to be read only.
    #[inline]
    pub fn shared(&self) -> &[u32] {
        // SAFETY: as above; while this is borrowed nobody has the words to change.
        unsafe { self.cache.words(0, self.cache.working_set_words()) }
    }
}

#[cfg(test)]
mod tests;
