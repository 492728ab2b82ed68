//! Rows that do not fit: written to the spool in chunks, read back chunk by chunk in a fresh order every pass.

use std::collections::TryReserveError;

use super::codec::{ChunkError, Chunks};
use crate::random::Random;
use crate::row::Row;
use crate::source::Spool;

/// Bytes of a chunk where the cache is large: long enough for a sequential read, short enough to shuffle by.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks are at most this part of the cache, so that a small cache's passes are shuffled finely too.
const CHUNKS_PER_CACHE: usize = 8;
const SMALLEST_CHUNK_BYTES: usize = 16 * 1024;
/// Chunks in hand at a time, their rows mixed: a chunk of a sorted table holds one class only.
const CHUNKS_IN_HAND: usize = 4;
/// Consecutive rows that stay together when they are handed over.
const BLOCK: usize = 16;

/// The chunks written so far and the one being filled.
pub(super) struct Spill {
    chunks: Chunks,
    staging: Vec<u32>,
    chunk_words: usize,
}

impl Spill {
    pub(super) fn new(cache_bytes: usize) -> Self {
        let chunk = (cache_bytes / CHUNKS_PER_CACHE).clamp(SMALLEST_CHUNK_BYTES, CHUNK_BYTES);
        Self {
            chunks: Chunks::new(),
            staging: Vec::new(),
            chunk_words: chunk / 4,
        }
    }

    pub(super) fn chunk_words(&self) -> usize {
        self.chunk_words
    }

    /// Bytes written to the spool.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks.bytes()
    }

    /// Whether rows wait to be written.
    pub(super) fn has_staged(&self) -> bool {
        !self.staging.is_empty()
    }

    /// Whether what is staged makes a chunk.
    pub(super) fn is_ripe(&self) -> bool {
        self.staging.len() >= self.chunk_words
    }

    /// Room for a row of `length` words at the end of the staged chunk.
    pub(super) fn stage(&mut self, length: usize) -> Result<&mut [u32], TryReserveError> {
        let from = self.staging.len();
        self.staging.try_reserve(length)?;
        self.staging.resize(from + length, 0);
        Ok(&mut self.staging[from..])
    }

    /// Takes the row staged last back.
    pub(super) fn unstage(&mut self, length: usize) {
        self.staging.truncate(self.staging.len() - length);
    }

    /// Writes what is staged as a chunk.
    pub(super) fn flush<P: Spool>(&mut self, spool: &mut P) -> Result<(), ChunkError<P::Error>> {
        if !self.staging.is_empty() {
            self.chunks.write(&self.staging, spool)?;
            self.staging.clear();
        }
        Ok(())
    }

    /// Writes whole rows as a chunk.
    pub(super) fn write<P: Spool>(
        &mut self,
        rows: &[u32],
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        self.chunks.write(rows, spool)
    }

    /// Begins to read it all back.
    pub(super) fn into_replay(mut self) -> Result<Replay, TryReserveError> {
        self.staging = Vec::new();
        let mut order: Vec<u32> = Vec::new();
        order.try_reserve_exact(self.chunks.len())?;
        order.extend(0..self.chunks.len() as u32);
        let next = order.len();
        Ok(Replay {
            chunks: self.chunks,
            order,
            next,
            words: Vec::new(),
            blocks: Vec::new(),
            block: 0,
            row: 0,
            at: 0,
        })
    }
}

/// The chunks, pass after pass: a few at a time in shuffled order, their rows mixed block by block.
pub(super) struct Replay {
    chunks: Chunks,
    order: Vec<u32>,
    /// The next chunk of `order`; at its end a new pass begins.
    next: usize,
    /// The chunks in hand, one behind the other.
    words: Vec<u32>,
    /// First word of each block of rows in hand and its number of rows, in the order of delivery.
    blocks: Vec<(u32, u32)>,
    /// The block being delivered, rows of it delivered, and where its next row starts.
    block: usize,
    row: u32,
    at: usize,
}

impl Replay {
    /// The row to deliver now, read from the spool when it is not in hand.
    pub(super) fn front<P: Spool>(
        &mut self,
        dense: usize,
        random: &mut Random,
        spool: &mut P,
    ) -> Result<Row<'_>, ChunkError<P::Error>> {
        if self.block == self.blocks.len() {
            if self.next == self.order.len() {
                random.shuffle(&mut self.order);
                self.next = 0;
            }
            self.fetch(dense, spool)?;
            random.shuffle(&mut self.blocks);
            self.open_block(0);
        }
        Ok(Row::new(&self.words[self.at..], dense))
    }

    /// Reads the next few chunks and finds their blocks.
    fn fetch<P: Spool>(&mut self, dense: usize, spool: &mut P) -> Result<(), ChunkError<P::Error>> {
        self.words.clear();
        self.blocks.clear();
        let end = (self.next + CHUNKS_IN_HAND).min(self.order.len());
        for &index in &self.order[self.next..end] {
            let (chunk, from) = (index as usize, self.words.len());
            let words = self.chunks.words(chunk);
            self.words.try_reserve(words)?;
            self.words.resize(from + words, 0);
            self.chunks.read(chunk, &mut self.words[from..], spool)?;
            let mut at = from;
            while at < self.words.len() {
                let (start, mut rows) = (at, 0);
                while at < self.words.len() && rows < BLOCK {
                    at += Row::new(&self.words[at..], dense).words().len();
                    rows += 1;
                }
                self.blocks.try_reserve(1)?;
                self.blocks.push((start as u32, rows as u32));
            }
        }
        self.next = end;
        Ok(())
    }

    fn open_block(&mut self, block: usize) {
        self.block = block;
        self.row = 0;
        self.at = self.blocks.get(block).map_or(0, |block| block.0 as usize);
    }

    /// Moves on behind a row of `words`. True when it was the last of its pass.
    pub(super) fn advance(&mut self, words: usize) -> bool {
        self.row += 1;
        self.at += words;
        if self.row == self.blocks[self.block].1 {
            self.open_block(self.block + 1);
        }
        self.block == self.blocks.len() && self.next == self.order.len()
    }
}
