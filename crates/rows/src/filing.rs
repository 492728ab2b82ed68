//! Files of an index: which chunk of the spool a row comes into, by how firmly the trainer found it held, or by the leaf of a tree that it
//! belongs to.
//!
//! Reader and trainer file the same rows in the same order, each for itself, and so agree without a word about which rows lie
//! in which chunk. A chunk is the unit of reading: one whose rows cannot matter is left out.

use std::sync::atomic::{AtomicU64, Ordering};

/// Grades by which rows are filed.
pub const FILES: usize = 37;
/// Files that rows are filed in at the same time at most: leaves of a tree.
pub const MOST_FILES: usize = 512;
/// Set in the file of a row with which a tree ends: what is in a file then is a chunk.
pub const ENDS_TREE: u16 = 1 << 15;
/// Chunks of an index at most.
pub const UNITS: usize = 16 * 16 * 64;
/// Bytes of the chunks that are being filled, of which each grade has one: at most, and as a part of the cache.
const FILES_BYTES: usize = 4 << 20;
const FILES_PER_CACHE: usize = 2;
const LEAST_CHUNK_BYTES: usize = 1024;

/// Words of a chunk of so many words of rows in all.
pub fn filed_chunk_words(cache_bytes: usize, words: usize) -> usize {
    let bytes = filed_bytes(cache_bytes) / FILES;
    let least = words / (UNITS - FILES) + 1;
    (bytes.max(LEAST_CHUNK_BYTES) / 4).max(least)
}

/// Words that are being filled in all files together, which a tree has no more of.
pub fn filed_words(cache_bytes: usize) -> usize {
    filed_bytes(cache_bytes) / 4
}

fn filed_bytes(cache_bytes: usize) -> usize {
    (cache_bytes / FILES_PER_CACHE).min(FILES_BYTES)
}

/// A row's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filed {
    /// The file, and the chunk, by number.
    pub file: usize,
    pub unit: u16,
    /// Which chunks are full with this row.
    pub closes: Closes,
}

/// Chunks that are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closes {
    Nothing,
    /// That of the file.
    Chunk,
    /// Those of all files that have rows.
    All,
}

/// Where the next rows come.
#[derive(Debug)]
pub struct Filing {
    chunk_words: usize,
    /// By file: the chunk that is being filled, and what it has.
    open: [(u16, usize); MOST_FILES],
    next: u16,
}

impl Filing {
    pub fn new(chunk_words: usize) -> Self {
        Self {
            chunk_words,
            open: [(0, 0); MOST_FILES],
            next: 0,
        }
    }

    /// Chunks begun so far.
    pub fn units(&self) -> usize {
        usize::from(self.next)
    }

    /// Files a row of so many words, with which a tree may end ([`ENDS_TREE`]).
    pub fn file(&mut self, answer: u16, words: usize) -> Filed {
        let file = usize::from(answer & !ENDS_TREE).min(MOST_FILES - 1);
        let (unit, filled) = &mut self.open[file];
        if *filled == 0 {
            *unit = self.next;
            self.next = (self.next + 1).min(UNITS as u16 - 1);
        }
        *filled += words;
        let unit = *unit;
        let closes = match (answer & ENDS_TREE, *filled >= self.chunk_words) {
            (0, false) => Closes::Nothing,
            (0, true) => Closes::Chunk,
            _ => Closes::All,
        };
        match closes {
            Closes::Nothing => {}
            Closes::Chunk => *filled = 0,
            Closes::All => self.open = [(0, 0); MOST_FILES],
        }
        Filed { file, unit, closes }
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
            let (grade, length) = ((row * row % FILES) as u16, 8 + 4 * (row % 7));
            let filed = one.file(grade, length);
            assert_eq!(filed, other.file(grade, length));
            assert!(usize::from(filed.unit) < one.units());
            closed += usize::from(filed.closes == Closes::Chunk);
        }
        assert!(closed <= one.units() && one.units() <= closed + FILES);
        assert!(((1 << 30) / words) + FILES <= UNITS);
    }

    #[test]
    fn a_tree_that_ends_closes_the_chunks_of_all_its_leaves() {
        let mut filing = Filing::new(1 << 20);
        let mut of_tree = Vec::new();
        for row in 0..100u16 {
            let ends = if row % 20 == 19 { ENDS_TREE } else { 0 };
            let filed = filing.file((row % 7) | ends, 8);
            assert_eq!(filed.closes == Closes::All, ends != 0);
            of_tree.push((row / 20, filed.file, filed.unit));
        }
        assert_eq!(filing.units(), 5 * 7);
        for (tree, file, unit) in &of_tree {
            let same = |other: &&(u16, usize, u16)| other.2 == *unit;
            assert!(of_tree
                .iter()
                .filter(same)
                .all(|it| (it.0, it.1) == (*tree, *file)));
        }
    }
}
