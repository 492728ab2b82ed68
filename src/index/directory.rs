//! Which rows an index knows, and in which of its chunks they are.

use crate::base::errors::Failure;
use crate::index::chunks;
use crate::index::stored::StoredIndex;
use crate::index::tuples::Tuples;
use core::ops::Range;
use pgsvm_core::memory::{OutOfMemory, Room};

/// The rows of all chunks in their order, numbered from 0; chunks by their places in it.
#[derive(Default)]
pub struct Directory {
    tuples: Tuples,
    /// By chunk its number, and the row behind its last.
    chunks: Vec<(i32, usize)>,
}

impl Directory {
    /// Reads what rows are known by.
    pub fn load(stored: &StoredIndex) -> Result<Self, Failure> {
        let mut this = Self::default();
        stored.each_chunk(|chunk, rows, bytes| {
            let Some(known) = chunks::tuples(bytes, rows) else {
                return Ok(false);
            };
            this.tuples.extend(known)?;
            this.chunks.room(1)?.push((chunk, this.tuples.len()));
            Ok(this.tuples.len() < u32::MAX as usize)
        })?;
        Ok(this)
    }

    /// The row that is known by this.
    #[inline]
    pub fn find(&mut self, tuple: u64) -> Result<Option<usize>, OutOfMemory> {
        self.tuples.find(tuple)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.tuples.len()
    }

    /// What a row is known by.
    pub fn tuple(&self, row: usize) -> u64 {
        self.tuples.get(row)
    }

    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The place of the chunk that has a row.
    pub fn chunk_of(&self, row: usize) -> usize {
        self.chunks.partition_point(|(_, end)| *end <= row)
    }

    /// The number of a chunk.
    pub fn number(&self, at: usize) -> i32 {
        self.chunks[at].0
    }

    /// The rows of a chunk.
    #[inline]
    pub fn rows(&self, at: usize) -> Range<usize> {
        let start = match at {
            0 => 0,
            at => self.chunks[at - 1].1,
        };
        start..self.chunks[at].1
    }
}
