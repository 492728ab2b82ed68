//! Files of an index: which chunk of the spool a row comes into, by how firmly the trainer found it held.
//!
//! Reader and trainer file the same rows in the same order, each for itself, and so agree without a word about which rows lie
//! in which chunk. A chunk is the unit of reading: one whose rows cannot matter is left out.

use std::sync::atomic::{AtomicU64, Ordering};

/// Grades by which rows are filed.
pub const FILES: usize = 37;
/// Chunks of an index at most.
pub const UNITS: usize = 16 * 16 * 64;
/// Bytes of the chunks that are being filled, of which each grade has one: at most, and as a part of the cache.
const FILES_BYTES: usize = 4 << 20;
const FILES_PER_CACHE: usize = 2;
const LEAST_CHUNK_BYTES: usize = 1024;

/// Words of a chunk of so many words of rows in all.
pub fn filed_chunk_words(cache_bytes: usize, words: usize) -> usize {
    let bytes = (cache_bytes / FILES_PER_CACHE).min(FILES_BYTES) / FILES;
    let least = words / (UNITS - FILES) + 1;
    (bytes.max(LEAST_CHUNK_BYTES) / 4).max(least)
}

/// A row's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filed {
    /// The chunk, by number.
    pub unit: u16,
    /// Whether the chunk is full with this row.
    pub closes: bool,
}

/// Where the next rows come.
#[derive(Debug)]
pub struct Filing {
    chunk_words: usize,
    /// By grade: the chunk that is being filled, and what it has.
    open: [(u16, usize); FILES],
    next: u16,
}

impl Filing {
    pub fn new(chunk_words: usize) -> Self {
        Self {
            chunk_words,
            open: [(0, 0); FILES],
            next: 0,
        }
    }

    /// Chunks begun so far.
    pub fn units(&self) -> usize {
        usize::from(self.next)
    }

    /// Files a row of so many words.
    pub fn file(&mut self, grade: usize, words: usize) -> Filed {
        let (unit, filled) = &mut self.open[grade.min(FILES - 1)];
        if *filled == 0 {
            *unit = self.next;
            self.next = (self.next + 1).min(UNITS as u16 - 1);
        }
        *filled += words;
        let closes = *filled >= self.chunk_words;
        if closes {
            *filled = 0;
        }
        Filed {
            unit: *unit,
            closes,
        }
    }
}

/// Which chunk each row lies in.
#[derive(Debug)]
pub struct FiledRows {
    /// By ordinal.
    pub of_row: Vec<u16>,
    /// Rows of each chunk.
    pub rows: Vec<u32>,
}

/// Chunks, a bit each, as they stand in the region.
pub type SharedUnits = [[AtomicU64; 16]; 16];

/// The chunks that a pass leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut([u64; UNITS / 64]);

impl LeftOut {
    pub const NONE: Self = Self([0; UNITS / 64]);
    pub const ALL: Self = Self([u64::MAX; UNITS / 64]);

    pub fn has(&self, unit: usize) -> bool {
        self.0[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// Has a chunk read.
    pub fn read(&mut self, unit: usize) {
        self.0[unit / 64] &= !(1 << (unit % 64));
    }

    /// Leaves out what others leave out too.
    pub fn with(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own &= other;
        }
    }

    pub fn store(&self, shared: &SharedUnits) {
        for (shared, own) in shared.iter().flatten().zip(&self.0) {
            shared.store(*own, Ordering::Relaxed);
        }
    }

    pub fn load(shared: &SharedUnits) -> Self {
        let mut own = Self::NONE;
        for (shared, own) in shared.iter().flatten().zip(&mut own.0) {
            *own = shared.load(Ordering::Relaxed);
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_who_file_the_same_rows_agree_and_chunks_are_no_more_than_there_may_be() {
        let words = filed_chunk_words(16 * 1024, 1 << 30);
        let (mut one, mut other) = (Filing::new(words), Filing::new(words));
        let mut closed = 0;
        for row in 0..200_000usize {
            let (grade, length) = (row * row % 41, 8 + 4 * (row % 7));
            let filed = one.file(grade, length);
            assert_eq!(filed, other.file(grade, length));
            assert!(usize::from(filed.unit) < one.units());
            closed += usize::from(filed.closes);
        }
        assert!(closed <= one.units() && one.units() <= closed + FILES);
        assert!(((1 << 30) / words) + FILES <= UNITS);
    }
}
