//! A machine's rows of H: in memory, row after row, or where that is too much in a spool, column after column, as they come.
//!
//! In a spool a column is cut into blocks of rows. To read the rows, the blocks of all columns so far are read and turned into rows again,
//! a block of rows at a time; a column that is made costs a pass over those before it.

use std::cell::RefCell;
use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::base::zeros::zeros;
use crate::interior::exchange::Halt;

/// Numbers of a block, about.
const BLOCK: usize = 1 << 20;
/// Rows of one, at most and at least, and the part of all rows that it is at most.
const MOST_ROWS: usize = 1 << 14;
const LEAST_ROWS: usize = 64;
const PARTS: usize = 8;

/// Where columns of H go that are too many for memory.
pub trait FactorSpool {
    /// Keeps the bytes, and says where.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Halt>;

    /// Gives some of those that are kept there again, from this one on.
    fn read(&mut self, position: u64, from: usize, bytes: &mut [u8]) -> Result<(), Halt>;
}

/// The rows of H, of so many columns at most.
pub(super) struct Values {
    rows: usize,
    stride: usize,
    kept: Kept,
}

enum Kept {
    Memory(Vec<f32>),
    Spooled(RefCell<Spooled>),
}

struct Spooled {
    spool: Box<dyn FactorSpool>,
    block_rows: usize,
    /// Column after column of each block where it is.
    positions: Vec<u64>,
    /// A block, row after row, and a column of it.
    block: Vec<f32>,
    column: Vec<u8>,
}

impl Values {
    /// Room for so many rows and columns; in the spool where there is one.
    pub(super) fn new(
        rows: usize,
        stride: usize,
        spool: Option<Box<dyn FactorSpool>>,
    ) -> Result<Self, OutOfMemory> {
        let kept = match spool {
            None => Kept::Memory(zeros(rows.saturating_mul(stride))?),
            Some(spool) => {
                let block_rows = block_rows(rows, stride);
                Kept::Spooled(RefCell::new(Spooled {
                    spool,
                    block_rows,
                    positions: Vec::new(),
                    block: filled(0.0, block_rows * stride)?,
                    column: filled(0, 4 * block_rows)?,
                }))
            }
        };
        Ok(Self { rows, stride, kept })
    }

    /// Room of a row.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.kept {
            Kept::Memory(values) => 4 * values.len(),
            Kept::Spooled(spooled) => spooled.borrow().bytes(),
        }
    }

    /// Bytes that a machine takes in memory for so many rows and columns in a spool.
    pub(super) fn spooled_bytes(rows: usize, stride: usize) -> usize {
        let block_rows = block_rows(rows, stride);
        4 * block_rows * (stride + 1) + 8 * stride * rows.div_ceil(block_rows)
    }

    /// Calls `work` with runs of at most so many rows, and their values in the first `columns` columns, a row each `stride`.
    pub(super) fn in_runs(
        &self,
        columns: usize,
        at_once: usize,
        mut work: impl FnMut(Range<usize>, &[f32]),
    ) -> Result<(), Halt> {
        let stride = self.stride;
        let mut runs = |first: usize, values: &[f32]| {
            let rows = values.len() / stride.max(1);
            for from in (0..rows).step_by(at_once) {
                let to = rows.min(from + at_once);
                work(
                    first + from..first + to,
                    &values[from * stride..to * stride],
                );
                interrupts::check();
            }
        };
        match &self.kept {
            Kept::Memory(values) => runs(0, values),
            Kept::Spooled(spooled) => {
                let mut spooled = spooled.borrow_mut();
                for first in (0..self.rows).step_by(spooled.block_rows) {
                    let count = spooled.load(self.rows, first, columns, stride)?;
                    runs(first, &spooled.block[..count * stride]);
                }
            }
        }
        Ok(())
    }

    /// Has `make` write column `column` of runs of at most so many rows, of which it sees the columns before; `end` may then
    /// change what was written, run by run in the spool, at the end in memory.
    pub(super) fn add_column(
        &mut self,
        column: usize,
        at_once: usize,
        mut make: impl FnMut(Range<usize>, &mut [f32]) -> Result<(), Halt>,
        end: impl Fn(Range<usize>, &mut dyn FnMut(usize, f32)),
    ) -> Result<(), Halt> {
        let stride = self.stride;
        let mut runs = |first: usize, values: &mut [f32]| {
            let rows = values.len() / stride;
            (0..rows).step_by(at_once).try_for_each(|from| {
                let to = rows.min(from + at_once);
                let made = make(
                    first + from..first + to,
                    &mut values[from * stride..to * stride],
                );
                interrupts::check();
                made
            })
        };
        match &mut self.kept {
            Kept::Memory(values) => {
                runs(0, values)?;
                end(0..self.rows, &mut |row, value| {
                    values[row * stride + column] = value;
                });
            }
            Kept::Spooled(spooled) => {
                let spooled = spooled.get_mut();
                for first in (0..self.rows).step_by(spooled.block_rows) {
                    let count = spooled.load(self.rows, first, column, stride)?;
                    runs(first, &mut spooled.block[..count * stride])?;
                    let block = &mut spooled.block;
                    end(first..first + count, &mut |row, value| {
                        block[(row - first) * stride + column] = value;
                    });
                    spooled.keep(count, column, stride)?;
                }
            }
        }
        Ok(())
    }

    /// The first so many values of a row.
    pub(super) fn row(&self, row: usize, columns: usize) -> Result<Vec<f32>, Halt> {
        let mut found = Vec::new();
        let room = found.room(columns)?;
        match &self.kept {
            Kept::Memory(values) => {
                room.extend_from_slice(&values[row * self.stride..][..columns]);
            }
            Kept::Spooled(spooled) => {
                let mut spooled = spooled.borrow_mut();
                for column in 0..columns {
                    let value = spooled.value(self.rows, row, column)?;
                    room.push(value);
                }
            }
        }
        Ok(found)
    }
}

fn block_rows(rows: usize, stride: usize) -> usize {
    let part = (rows / PARTS).max(LEAST_ROWS);
    (BLOCK / stride.max(1)).min(part).clamp(1, MOST_ROWS)
}

impl Spooled {
    fn bytes(&self) -> usize {
        4 * self.block.len() + self.column.len() + 8 * self.positions.len()
    }

    fn blocks(&self, rows: usize) -> usize {
        rows.div_ceil(self.block_rows)
    }

    /// Reads the block that begins at this row; how many rows it has.
    fn load(
        &mut self,
        rows: usize,
        first: usize,
        columns: usize,
        stride: usize,
    ) -> Result<usize, Halt> {
        let count = self.block_rows.min(rows - first);
        let (blocks, block) = (self.blocks(rows), first / self.block_rows);
        for column in 0..columns {
            let bytes = &mut self.column[..4 * count];
            let position = self.positions[column * blocks + block];
            self.spool.read(position, 0, bytes)?;
            let values = self.block[column..].iter_mut().step_by(stride);
            for (value, bytes) in values.zip(bytes.as_chunks::<4>().0) {
                *value = f32::from_ne_bytes(*bytes);
            }
        }
        interrupts::check();
        Ok(count)
    }

    /// Writes a column of the block at hand.
    fn keep(&mut self, count: usize, column: usize, stride: usize) -> Result<(), Halt> {
        let bytes = &mut self.column[..4 * count];
        let values = self.block[column..].iter().step_by(stride);
        for (bytes, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            *bytes = value.to_ne_bytes();
        }
        let position = self.spool.append(bytes)?;
        self.positions.room(1)?.push(position);
        Ok(())
    }

    fn value(&mut self, rows: usize, row: usize, column: usize) -> Result<f32, Halt> {
        let (blocks, block) = (self.blocks(rows), row / self.block_rows);
        let mut bytes = [0; 4];
        let position = self.positions[column * blocks + block];
        self.spool
            .read(position, 4 * (row % self.block_rows), &mut bytes)?;
        Ok(f32::from_ne_bytes(bytes))
    }
}
