//! The control block at the start of the region: every field, who writes it, who reads it, in what order.
//!
//! Three groups. Facts are written by the reader before it publishes a phase and never again; whoever
//! has seen that phase with an acquiring load may read them relaxed. Counters are for progress only:
//! each has one writer, relaxed. The ring's two positions carry the hand-over of batches.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Phase;

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
    /// whoever fails; read by all (acquire). The release hands the facts and the arena over.
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

/// What the reader knows at the end of pass 1 and the trainer needs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Facts {
    /// Rows in all.
    pub(crate) rows: usize,
    /// Length of the dense part.
    pub(crate) dense: usize,
    /// Largest feature id + 1.
    pub(crate) features: usize,
    /// Features that differ from 0 in some row, at least 1.
    pub(crate) occurring: usize,
    /// Group ids in use: 0..groups.
    pub(crate) groups: usize,
    /// A bit for each fold that has rows.
    pub(crate) folds: u64,
    /// Rows whose class differs from the row before.
    pub(crate) class_changes: usize,
    /// Words of the longest row.
    pub(crate) max_row_words: usize,
    /// Words of a row on average.
    pub(crate) mean_row_words: usize,
    /// Mean of Q over all rows.
    pub(crate) mean_q: f64,
}

impl Facts {
    const FIELDS: usize = 10;

    pub(super) fn store(&self, fields: &[AtomicU64; Self::FIELDS]) {
        let values = [
            self.rows as u64,
            self.dense as u64,
            self.features as u64,
            self.occurring as u64,
            self.groups as u64,
            self.folds,
            self.class_changes as u64,
            self.max_row_words as u64,
            self.mean_row_words as u64,
            self.mean_q.to_bits(),
        ];
        for (field, value) in fields.iter().zip(values) {
            field.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn load(fields: &[AtomicU64; Self::FIELDS]) -> Self {
        let get = |k: usize| fields[k].load(Ordering::Relaxed);
        Self {
            rows: get(0) as usize,
            dense: get(1) as usize,
            features: get(2) as usize,
            occurring: get(3) as usize,
            groups: get(4) as usize,
            folds: get(5),
            class_changes: get(6) as usize,
            max_row_words: get(7) as usize,
            mean_row_words: get(8) as usize,
            mean_q: f64::from_bits(get(9)),
        }
    }
}

/// The trainer's counters, published now and then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) pass: u32,
    pub(crate) rows_into_pass: u64,
    pub(crate) gap: f64,
    pub(crate) visits: u64,
    pub(crate) updates: u64,
    pub(crate) evictions: u64,
    pub(crate) replaced: u64,
    pub(crate) working_set_rows: u64,
}
