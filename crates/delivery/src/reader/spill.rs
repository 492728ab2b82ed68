//! Rows that do not fit: written to the spool in chunks, read back chunk by chunk in a fresh order every pass; split
//! into blocks, block by block.

use std::collections::TryReserveError;
use std::ops::Range;

use super::codec::{ChunkError, Chunks};
use crate::base::random::Random;
use crate::cache::Ends;
use crate::objective::problem::Compression;
use crate::objective::solver_choice::Order;
use crate::reader::split::{Split, SplitError};
use crate::rows::row::Row;
use crate::rows::source::Spool;

/// Bytes of a chunk where the cache is large: long enough for a sequential read, short enough to shuffle by.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks are at most this part of the cache, so that a small cache's passes are shuffled finely too.
const CHUNKS_PER_CACHE: usize = 8;
const SMALLEST_CHUNK_BYTES: usize = 16 * 1024;
/// The same where every cell of a split fills a chunk of its own: bytes of all of them, which are mixed already, and of one
/// at least.
const CELLS_BYTES: usize = 16 << 20;
const CACHES_OF_CELLS: usize = 2;
const SMALLEST_CELL_CHUNK_BYTES: usize = 1024;
/// Of a number of blocks without a draw, each with as many chunks of a cache full of rows.
const CHUNKS_PER_BLOCK: usize = 32;
/// Chunks in hand at a time, their rows mixed: a chunk of a sorted table holds one class only.
const CHUNKS_IN_HAND: usize = 4;
/// Consecutive rows that stay together when they are handed over.
const GROUP: usize = 16;

/// Rows that wait to be written as a chunk.
#[derive(Default)]
struct SpillStage {
    words: Vec<u32>,
    rows: usize,
}

/// The chunks written so far and those being filled.
pub(super) struct Spill {
    chunks: Chunks,
    split: Split,
    /// One for each cell of the split.
    stages: Vec<SpillStage>,
    /// Words in all stages, and the stage that took the last row.
    staged: usize,
    last: usize,
    chunk_words: usize,
}

impl Spill {
    pub(super) fn new(cache_bytes: usize, split: Split, compression: Compression) -> Self {
        let chunk = match (split.cells(), split.count()) {
            (1, Some(count)) => (cache_bytes / CHUNKS_PER_BLOCK / count)
                .clamp(SMALLEST_CELL_CHUNK_BYTES, CHUNK_BYTES),
            (1, None) => (cache_bytes / CHUNKS_PER_CACHE).clamp(SMALLEST_CHUNK_BYTES, CHUNK_BYTES),
            (cells, _) => ((CACHES_OF_CELLS * cache_bytes).min(CELLS_BYTES) / cells)
                .max(SMALLEST_CELL_CHUNK_BYTES),
        };
        Self {
            chunks: Chunks::new(compression),
            stages: (0..split.cells()).map(|_| SpillStage::default()).collect(),
            split,
            staged: 0,
            last: 0,
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

    /// Whether rows are to be split though they would all fit the cache.
    pub(super) fn is_asked_for(&self) -> bool {
        self.split.is_asked_for()
    }

    /// Whether rows wait to be written.
    pub(super) fn has_staged(&self) -> bool {
        self.staged > 0
    }

    /// Room for a row of `length` words at the end of a chunk being filled.
    pub(super) fn stage(&mut self, length: usize) -> Result<&mut [u32], TryReserveError> {
        self.last = self.split.draw();
        let stage = &mut self.stages[self.last];
        let from = stage.words.len();
        stage.words.try_reserve(length)?;
        stage.words.resize(from + length, 0);
        stage.rows += 1;
        self.staged += length;
        Ok(&mut stage.words[from..])
    }

    /// Takes the row staged last back.
    pub(super) fn unstage(&mut self, length: usize) {
        let stage = &mut self.stages[self.last];
        stage.words.truncate(stage.words.len() - length);
        stage.rows -= 1;
        self.staged -= length;
    }

    /// Writes what is staged and makes a chunk.
    pub(super) fn flush_ripe<P: Spool>(
        &mut self,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        self.flush(self.chunk_words, spool)
    }

    /// Writes all that is staged.
    pub(super) fn flush_rest<P: Spool>(
        &mut self,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        self.flush(1, spool)
    }

    /// Writes the stages of at least so many words.
    fn flush<P: Spool>(
        &mut self,
        least_words: usize,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        for cell in 0..self.stages.len() {
            if self.stages[cell].words.len() < least_words {
                continue;
            }
            let mut stage = std::mem::take(&mut self.stages[cell]);
            self.write(&stage.words, stage.rows, cell, spool)?;
            self.staged -= stage.words.len();
            // a few long rows must not leave a large buffer with every cell
            if stage.words.capacity() <= 2 * self.chunk_words {
                stage.words.clear();
                self.stages[cell].words = stage.words;
            }
        }
        Ok(())
    }

    /// Takes whole rows that have been in the arena so far: to the spool at once, or first into their cells.
    pub(super) fn take<P: Spool>(
        &mut self,
        words: &[u32],
        rows: usize,
        dense: usize,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        if self.split.cells() == 1 {
            return self.write(words, rows, 0, spool);
        }
        let mut at = 0;
        while at < words.len() {
            let row = Row::new(&words[at..], dense).words();
            self.stage(row.len())?.copy_from_slice(row);
            at += row.len();
        }
        self.flush_ripe(spool)
    }

    /// Writes whole rows as a chunk.
    fn write<P: Spool>(
        &mut self,
        words: &[u32],
        rows: usize,
        cell: usize,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        self.chunks.write(words, spool)?;
        self.split.note(cell, rows, words.len())?;
        Ok(())
    }

    /// Begins to read it all back; rows that are not split into blocks perhaps in order.
    pub(super) fn into_replay(self, in_order: bool) -> Result<Replay, SplitError> {
        drop(self.stages);
        let block_order = self.split.order();
        let (order, blocks) = self.split.blocks()?;
        // as at the end of a pass
        let at = (blocks.len() - 1, order.len());
        let shuffled = (block_order, in_order);
        Ok(Replay::new(self.chunks, shuffled, (order, blocks), at))
    }
}

/// The chunks, pass after pass: blocks in shuffled order (or the order asked for); of a block a few chunks at a time in shuffled order,
/// their rows mixed group by group. Without a split there is one block.
pub(super) struct Replay {
    chunks: Chunks,
    block_order: Order,
    /// Nothing is shuffled.
    in_order: bool,
    /// The chunks of this pass, and each block's part of them, in the order of delivery.
    order: Vec<u32>,
    blocks: Vec<Range<usize>>,
    /// The block being delivered, and its next chunk as a place in `order`.
    block: usize,
    next: usize,
    /// The chunks in hand, one behind the other.
    words: Vec<u32>,
    /// First word of each group of rows in hand and its number of rows, in the order of delivery.
    groups: Vec<(u32, u32)>,
    /// The group being delivered, rows of it delivered, and where its next row starts.
    group: usize,
    row: u32,
    at: usize,
    /// Chunks in hand at a time.
    in_hand: usize,
}

impl Replay {
    /// Of the chunks of an index, of which each pass is given those that it reads.
    pub(super) fn of_index<E>(chunks: Chunks) -> Result<Self, ChunkError<E>> {
        let mut blocks = Vec::new();
        blocks.try_reserve(1)?;
        blocks.push(0..0);
        let shuffled = (Order::Random, false);
        Ok(Self::new(chunks, shuffled, (Vec::new(), blocks), (0, 0)))
    }

    /// With chunks in this order, each block's part of them, and from this block and chunk on.
    fn new(
        chunks: Chunks,
        (block_order, in_order): (Order, bool),
        (order, blocks): (Vec<u32>, Vec<Range<usize>>),
        (block, next): (usize, usize),
    ) -> Self {
        Self {
            chunks,
            block_order,
            in_order,
            order,
            blocks,
            block,
            next,
            words: Vec::new(),
            groups: Vec::new(),
            group: 0,
            row: 0,
            at: 0,
            in_hand: CHUNKS_IN_HAND,
        }
    }

    /// Bytes in the spool.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks.bytes()
    }

    /// Begins a pass over these chunks of an index; whether there is one.
    pub(super) fn begin_pass(
        &mut self,
        chunks: impl Iterator<Item = u32>,
        random: &mut Random,
    ) -> Result<bool, TryReserveError> {
        self.order.clear();
        for chunk in chunks {
            self.order.try_reserve(1)?;
            self.order.push(chunk);
        }
        random.shuffle(&mut self.order);
        self.blocks[0] = 0..self.order.len();
        (self.block, self.next) = (0, 0);
        Ok(!self.order.is_empty())
    }

    /// The row to deliver now, read from the spool when it is not in hand.
    pub(super) fn front<P: Spool>(
        &mut self,
        dense: usize,
        random: &mut Random,
        spool: &mut P,
    ) -> Result<Row<'_>, ChunkError<P::Error>> {
        if self.group == self.groups.len() {
            if self.next == self.blocks[self.block].end {
                self.next_block(random);
            }
            self.fetch(dense, spool)?;
            if !self.in_order {
                random.shuffle(&mut self.groups);
            }
            self.open_group(0);
        }
        Ok(Row::new(&self.words[self.at..], dense))
    }

    /// Moves on to the next block; behind the last one begins a pass, in a fresh order.
    fn next_block(&mut self, random: &mut Random) {
        self.block += 1;
        if self.block == self.blocks.len() {
            if self.block_order == Order::Random && !self.in_order {
                random.shuffle(&mut self.blocks);
            }
            if !self.in_order {
                for block in &self.blocks {
                    random.shuffle(&mut self.order[block.clone()]);
                }
            }
            self.block = 0;
        }
        self.next = self.blocks[self.block].start;
    }

    /// Reads the next few chunks of the block and finds their groups of rows.
    fn fetch<P: Spool>(&mut self, dense: usize, spool: &mut P) -> Result<(), ChunkError<P::Error>> {
        self.words.clear();
        self.groups.clear();
        let end = (self.next + self.in_hand).min(self.blocks[self.block].end);
        for &index in &self.order[self.next..end] {
            let (chunk, from) = (index as usize, self.words.len());
            let words = self.chunks.words(chunk);
            self.words.try_reserve(words)?;
            self.words.resize(from + words, 0);
            self.chunks.read(chunk, &mut self.words[from..], spool)?;
            let mut at = from;
            while at < self.words.len() {
                let (start, mut rows) = (at, 0);
                while at < self.words.len() && rows < GROUP {
                    at += Row::new(&self.words[at..], dense).words().len();
                    rows += 1;
                }
                self.groups.try_reserve(1)?;
                self.groups.push((start as u32, rows as u32));
            }
        }
        self.next = end;
        Ok(())
    }

    fn open_group(&mut self, group: usize) {
        self.group = group;
        self.row = 0;
        self.at = self.groups.get(group).map_or(0, |group| group.0 as usize);
    }

    /// Moves on behind a row of `words`; says what that row was the last of.
    pub(super) fn advance(&mut self, words: usize) -> Ends {
        self.row += 1;
        self.at += words;
        if self.row == self.groups[self.group].1 {
            self.open_group(self.group + 1);
        }
        if self.group < self.groups.len() || self.next < self.blocks[self.block].end {
            Ends::Nothing
        } else if self.block + 1 < self.blocks.len() {
            Ends::Block
        } else {
            Ends::Pass
        }
    }
}
