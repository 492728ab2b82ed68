//! Rows that do not fit: written to the spool in chunks, read back chunk by chunk in a fresh order every pass.

use std::collections::TryReserveError;

use crate::kernel::{as_bytes, as_bytes_mut};
use crate::random::Random;
use crate::row::Row;
use crate::source::Spool;

/// Bytes of a chunk where the cache is large: long enough for a sequential read, short enough to shuffle by.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks are at most this part of the cache, so that a small cache's passes are shuffled finely too.
const CHUNKS_PER_CACHE: usize = 8;
const SMALLEST_CHUNK_BYTES: usize = 16 * 1024;
/// Consecutive rows that stay together when a chunk is handed over.
const BLOCK: usize = 16;

struct Chunk {
    position: u64,
    words: usize,
}

/// The chunks written so far and the one being filled.
pub(super) struct Spill {
    chunks: Vec<Chunk>,
    staging: Vec<u32>,
    chunk_words: usize,
    bytes: u64,
}

impl Spill {
    pub(super) fn new(cache_bytes: usize) -> Self {
        let chunk = (cache_bytes / CHUNKS_PER_CACHE).clamp(SMALLEST_CHUNK_BYTES, CHUNK_BYTES);
        Self {
            chunks: Vec::new(),
            staging: Vec::new(),
            chunk_words: chunk / 4,
            bytes: 0,
        }
    }

    pub(super) fn chunk_words(&self) -> usize {
        self.chunk_words
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
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
    pub(super) fn flush<P: Spool>(&mut self, spool: &mut P) -> Result<(), P::Error> {
        if self.staging.is_empty() {
            return Ok(());
        }
        let staged = std::mem::take(&mut self.staging);
        self.write(&staged, spool)?;
        self.staging = staged;
        self.staging.clear();
        Ok(())
    }

    /// Writes whole rows as a chunk.
    pub(super) fn write<P: Spool>(&mut self, rows: &[u32], spool: &mut P) -> Result<(), P::Error> {
        let position = spool.append(as_bytes(rows))?;
        self.chunks.push(Chunk {
            position,
            words: rows.len(),
        });
        self.bytes += std::mem::size_of_val(rows) as u64;
        Ok(())
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
            starts: Vec::new(),
            row: 0,
        })
    }
}

/// The chunks, pass after pass, in shuffled order, blocks of rows shuffled inside each.
pub(super) struct Replay {
    chunks: Vec<Chunk>,
    order: Vec<u32>,
    /// The next chunk of `order`; at its end a new pass begins.
    next: usize,
    words: Vec<u32>,
    /// First word of each row of the chunk in hand, in the order of delivery.
    starts: Vec<u32>,
    row: usize,
}

impl Replay {
    /// The row to deliver now, read from the spool when its chunk is not in hand.
    pub(super) fn front<P: Spool>(
        &mut self,
        dense: usize,
        random: &mut Random,
        spool: &mut P,
    ) -> Result<Result<Row<'_>, TryReserveError>, P::Error> {
        if self.row == self.starts.len() {
            if self.next == self.order.len() {
                random.shuffle(&mut self.order);
                self.next = 0;
            }
            let chunk = &self.chunks[self.order[self.next] as usize];
            self.next += 1;
            if let Err(error) = self
                .words
                .try_reserve(chunk.words.saturating_sub(self.words.len()))
            {
                return Ok(Err(error));
            }
            self.words.resize(chunk.words, 0);
            spool.read(chunk.position, as_bytes_mut(&mut self.words))?;
            if let Err(error) = self.index(dense, random) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(Row::new(
            &self.words[self.starts[self.row] as usize..],
            dense,
        )))
    }

    /// Finds the rows of the chunk and shuffles their blocks.
    fn index(&mut self, dense: usize, random: &mut Random) -> Result<(), TryReserveError> {
        let mut in_order: Vec<u32> = std::mem::take(&mut self.starts);
        in_order.clear();
        let mut at = 0;
        while at < self.words.len() {
            in_order.try_reserve(1)?;
            in_order.push(at as u32);
            at += Row::new(&self.words[at..], dense).words().len();
        }
        let mut blocks: Vec<u32> = Vec::new();
        blocks.try_reserve_exact(in_order.len().div_ceil(BLOCK))?;
        blocks.extend(0..in_order.len().div_ceil(BLOCK) as u32);
        random.shuffle(&mut blocks);
        self.starts.try_reserve_exact(in_order.len())?;
        for block in blocks {
            let from = block as usize * BLOCK;
            self.starts
                .extend_from_slice(&in_order[from..(from + BLOCK).min(in_order.len())]);
        }
        self.row = 0;
        Ok(())
    }

    /// Moves on. True when the row delivered was the last of its pass.
    pub(super) fn advance(&mut self) -> bool {
        self.row += 1;
        self.row == self.starts.len() && self.next == self.order.len()
    }
}
