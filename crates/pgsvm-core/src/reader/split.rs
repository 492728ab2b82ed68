//! The split of the rows into blocks for block minimization (Yu, Hsieh, Chang, Lin, KDD 2010, section 5.3,
//! Algorithm 4).
//!
//! The paper draws a block for each row as it is first read, from a number of blocks that follows from the size of
//! the file. Here the size is not known before the last row has been read. So each row is drawn into one of
//! [`CELLS`] cells, and at the end blocks are put together: whole cells while these are small, parts of one (chunks
//! at random) when they have grown larger than a block. Either way a block is a random sample of all rows, and no
//! run of one class.
//!
//! Without the draw (for comparison) there is one cell, and a block is a piece of the file. Rows that are not to be
//! split are one cell and one block.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::base::random::Random;
use crate::task::problem::Order;

/// Cells drawn from, each with a chunk of its own being filled: tables of up to 64 blocks are split as in the paper.
const CELLS: usize = 64;

/// What the split knows of a chunk.
struct Piece {
    cell: u32,
    /// Words that its rows take in the trainer's page, slots included.
    room: usize,
}

pub(super) struct Split {
    cells: usize,
    /// The chunks written, in the order of writing.
    pieces: Vec<Piece>,
    /// Words that a block may take in the trainer's page, slots included.
    room: usize,
    random: Random,
}

impl Split {
    /// `room`: words of a block; None when rows are not to be split. `order`: how rows come into blocks.
    pub(super) fn new(room: Option<usize>, order: Order, random: Random) -> Self {
        Self {
            cells: match (room, order) {
                (Some(_), Order::Random) => CELLS,
                _ => 1,
            },
            pieces: Vec::new(),
            room: room.unwrap_or(usize::MAX),
            random,
        }
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
        self.pieces.push(Piece {
            cell: cell as u32,
            room: words + rows,
        });
        Ok(())
    }

    /// Puts blocks together, about equal in size: gives the chunks in a new order, and each block's part of it.
    pub(super) fn blocks(mut self) -> Result<(Vec<u32>, Vec<Range<usize>>), TryReserveError> {
        let order = self.by_cell()?;
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
        Ok((order, blocks))
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
