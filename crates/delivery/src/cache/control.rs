//! The control block at the start of the region: every field, who writes it, who reads it, in what order.
//!
//! Three groups. Facts are written by the reader before it publishes a phase and never again; a role that
//! has seen that phase with an acquiring load may read them relaxed. Counters are for progress only:
//! each has one writer, relaxed. The ring's two positions carry the hand-over of batches.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::phase::Phase;
use crate::objective::report::Stage;
use crate::rows::facts::Facts;
use crate::rows::filing::SharedUnits;

/// Guards against attaching to foreign memory or to another build's layout.
pub(super) const MAGIC: u64 = 0x7067_7376_6d00_0001;

/// One field on its own cache line (two, as processors fetch lines in pairs).
#[repr(C, align(128))]
#[derive(Default)]
pub(super) struct Apart(pub(super) AtomicU64);

#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct Control {
    /// Written by `create` last (release), read by `attach` (acquire).
    pub(super) magic: AtomicU64,
    /// Words of cache behind the control block. Written by `create`, read by all after `magic`.
    pub(super) cache_words: AtomicU64,
    /// Bit 0: a reader exists, bit 1: a trainer exists. Set by each role's constructor (acquire-release).
    pub(super) roles: AtomicU32,
    /// A [`Phase`]. Written by the reader (leaving Loading, release), then by the trainer (Finished) or by
    /// the role that fails; read by all (acquire). The release hands the facts and the arena over.
    pub(super) phase: AtomicU32,
    /// 1 = both roles end at their next step. Written by anyone, read by both roles (relaxed: nothing hangs on it).
    pub(super) stop: AtomicU32,
    /// Facts: written by the reader before `phase` leaves Loading, read by the trainer after.
    pub(super) facts: [AtomicU64; Facts::FIELDS],
    /// Written by the reader (relaxed), read for progress.
    pub(super) rows_loaded: AtomicU64,
    /// Written by the reader (relaxed), read for progress.
    pub(super) bytes_loaded: AtomicU64,
    /// Written by the trainer (relaxed), read for progress; `gap` holds the bits of an f64.
    pub(super) pass: AtomicU64,
    pub(super) rows_into_pass: AtomicU64,
    pub(super) gap: AtomicU64,
    pub(super) visits: AtomicU64,
    pub(super) updates: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) replaced: AtomicU64,
    pub(super) working_set_rows: AtomicU64,
    pub(super) stage: AtomicU64,
    pub(super) heads: AtomicU64,
    pub(super) running_heads: AtomicU64,
    pub(super) folds: AtomicU64,
    /// Where there is an index: words of its chunks, else 0. Written by the reader before `phase` leaves Loading, read by the
    /// trainer after.
    pub(super) filed_chunk_words: AtomicU64,
    /// Passes that the reader may begin, where there is an index. Written by the trainer (release, after `left_out`), read by
    /// the reader (acquire).
    pub(super) announced: AtomicU64,
    /// Whether rows are to be filed in the pass announced last; as `left_out`.
    pub(super) files: AtomicU64,
    /// The chunks that the pass announced last leaves out. Written by the trainer while the reader waits for a pass, read by
    /// the reader when it begins that (relaxed: `announced` orders them).
    pub(super) left_out: SharedUnits,
    /// Words ever put into the ring. Written by the producer (release, after the batch's words), read by the
    /// consumer (acquire, before it reads them).
    pub(super) ring_head: Apart,
    /// Words ever taken out. Written by the consumer (release, after it has read them), read by the producer
    /// (acquire, before it overwrites them).
    pub(super) ring_tail: Apart,
}

impl Control {
    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Loading,
            1 => Phase::Resident,
            2 => Phase::Streaming,
            3 => Phase::Finished,
            _ => Phase::Failed,
        }
    }
}

/// The trainer's counters, published now and then.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    pub pass: u32,
    pub rows_into_pass: u64,
    pub gap: f64,
    pub visits: u64,
    pub updates: u64,
    pub evictions: u64,
    pub replaced: u64,
    pub working_set_rows: u64,
    pub stage: Stage,
    pub heads: usize,
    pub running_heads: usize,
    pub folds: usize,
}
