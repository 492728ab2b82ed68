//! The split of the rows into blocks for block minimization (Yu, Hsieh, Chang, Lin, KDD 2010, section 5.3,
//! Algorithm 4).
//!
//! The paper draws a block for each row as it is first read, from a number of blocks that follows from the size of
//! the file. Here the size is not known before the last row has been read. So each row is drawn into one of
//! [`CELLS`] cells, and at the end blocks are put together: whole cells while these are small, parts of one (chunks
//! at random) when they have grown larger than a block. Either way a block is a random sample of all rows, and no
//! run of one class.
//!
//! Where the number of blocks is given it is the paper's split: a cell is a block.
//!
//! Without the draw (for comparison) there is one cell, and a block is a piece of the file. Rows that are not to be
//! split are one cell and one block.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::base::random::Random;
use crate::objective::solver_choice::{Blocks, Order};

/// Cells drawn from, each with a chunk of its own being filled: tables of up to 64 blocks are split as in the paper.
const CELLS: usize = 64;

/// What the split knows of a chunk.
struct SplitPiece {
    cell: u32,
    /// Words that its rows take in the trainer's page, slots included.
    room: usize,
}

pub(super) struct Split {
    cells: usize,
    /// The chunks written, in the order of writing.
    pieces: Vec<SplitPiece>,
    /// Words that a block may take in the trainer's page, slots included.
    room: usize,
    /// The number of blocks, where it is given.
    count: Option<usize>,
    /// In which order blocks are delivered in each pass.
    order: Order,
    random: Random,
}

/// Why rows were not split.
pub(super) enum SplitError {
    Memory,
    /// A block of so many has no room; of so many each should.
    NoRoom {
        asked: usize,
        needed: usize,
    },
}

impl From<TryReserveError> for SplitError {
    fn from(_: TryReserveError) -> Self {
        Self::Memory
    }
}

impl Split {
    /// Blocks, with the words of each; None when rows are not to be split.
    pub(super) fn new(blocks: Option<(Blocks, usize)>, random: Random) -> Self {
        let count = blocks.and_then(|(blocks, _)| blocks.count);
        let count = count.map(|count| count as usize);
        Self {
            cells: match blocks {
                Some((
                    Blocks {
                        split: Order::Random,
                        ..
                    },
                    _,
                )) => count.unwrap_or(CELLS),
                _ => 1,
            },
            count,
            pieces: Vec::new(),
            room: blocks.map_or(usize::MAX, |(_, room)| room),
            order: blocks.map_or(Order::Random, |(blocks, _)| blocks.order),
            random,
        }
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// The cell of the next row.
    pub(super) fn draw(&mut self) -> usize {
        if self.cells == 1 {
            return 0;
        }
        self.random.below(self.cells)
    }

    /// Notes that the next chunk written holds so many rows of this cell, of so many words together.
    pub(super) fn note(
        &mut self,
        cell: usize,
        rows: usize,
        words: usize,
    ) -> Result<(), TryReserveError> {
        self.pieces.try_reserve(1)?;
        self.pieces.push(SplitPiece {
            cell: cell as u32,
            room: words + rows,
        });
        Ok(())
    }

    /// The number of blocks, where it is given.
    pub(super) fn count(&self) -> Option<usize> {
        self.count
    }

    /// Whether rows are split though they would all fit the cache.
    pub(super) fn is_asked_for(&self) -> bool {
        self.count.is_some_and(|count| count > 1)
    }

    /// Puts blocks together: gives the chunks in a new order, and each block's part of it.
    pub(super) fn blocks(mut self) -> Result<(Vec<u32>, Vec<Range<usize>>), SplitError> {
        let order = self.by_cell()?;
        let blocks = match self.count {
            Some(count) => self.counted(&order, count)?,
            None => self.filling(&order)?,
        };
        Ok((order, blocks))
    }

    /// So many blocks: the cells, or without a draw pieces of about equal size, if there are chunks enough.
    fn counted(&self, order: &[u32], count: usize) -> Result<Vec<Range<usize>>, SplitError> {
        let piece = |place: usize| &self.pieces[order[place] as usize];
        let total: usize = (0..order.len()).map(|place| piece(place).room).sum();
        let mut blocks: Vec<Range<usize>> = Vec::new();
        let (mut start, mut passed, mut filled, mut largest) = (0, 0, 0, 0);
        for place in 0..order.len() {
            filled += piece(place).room;
            passed += piece(place).room;
            let ends = match self.cells {
                1 => passed as u128 * count as u128 >= total as u128 * (blocks.len() as u128 + 1),
                _ => place + 1 < order.len() && piece(place + 1).cell != piece(place).cell,
            };
            if ends || place + 1 == order.len() {
                blocks.try_reserve(1)?;
                blocks.push(start..place + 1);
                largest = largest.max(filled);
                (start, filled) = (place + 1, 0);
            }
        }
        if largest > self.room {
            // blocks that are drawn differ by a few rows
            let needed = (count * largest).div_ceil(self.room) + 1;
            let asked = count;
            return Err(SplitError::NoRoom { asked, needed });
        }
        Ok(blocks)
    }

    /// As few blocks as the room allows, about equal in size.
    fn filling(&self, order: &[u32]) -> Result<Vec<Range<usize>>, SplitError> {
        let needs = || order.iter().map(|&chunk| self.pieces[chunk as usize].room);
        let (total, largest) = (needs().sum::<usize>(), needs().max().unwrap_or(0));
        // a block ends behind the chunk that takes it over the target, and must have room for that chunk
        let count = total.div_ceil(self.room.saturating_sub(largest).max(1));
        let target = total.div_ceil(count.max(1));
        let mut blocks = Vec::new();
        let (mut start, mut filled) = (0, 0);
        for (place, need) in needs().enumerate() {
            filled += need;
            if filled >= target || place + 1 == order.len() {
                blocks.try_reserve(1)?;
                blocks.push(start..place + 1);
                (start, filled) = (place + 1, 0);
            }
        }
        Ok(blocks)
    }

    /// The chunks, cell after cell; those of a cell shuffled where there are several cells.
    fn by_cell(&mut self) -> Result<Vec<u32>, TryReserveError> {
        let count = self.pieces.len();
        let mut all: Vec<u32> = Vec::new();
        all.try_reserve_exact(count)?;
        all.extend(0..count as u32);
        if self.cells == 1 {
            return Ok(all);
        }
        self.random.shuffle(&mut all);
        let mut order = Vec::new();
        order.try_reserve_exact(count)?;
        for cell in 0..self.cells {
            let of_cell = |chunk: &&u32| self.pieces[**chunk as usize].cell as usize == cell;
            order.extend(all.iter().filter(of_cell));
        }
        Ok(order)
    }
}
