//! What an index keeps of its rows, in the bytes of `svm_index_chunk`: a stored format, little endian, which must never change.
//! Pure.
//!
//! A chunk is of up to [`MOST_ROWS`] rows, and has several parts:
//!
//! | `part` | `tuples` holds | `numbers` holds |
//! |---|---|---|
//! | 0 | 8 bytes a row: what it is known by | the numbers of all columns that have a fixed number of them, row after row, as [`packed`] says |
//! | 1, 2, … | nothing | the first, second, … list ([`lists`]) |
//!
//! [`packed`]: super::packed
//! [`lists`]: super::lists

use super::lists::ListBuilder;
use super::open::Open;
use super::packed::NumberPacker;
use crate::features::ListKind;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};

/// Rows of a chunk, at most.
pub const MOST_ROWS: usize = 16384;
/// Numbers of a chunk, and entries of its lists, about.
const NUMBERS: usize = 1 << 18;

/// Rows on their way into a chunk.
pub struct ChunkBuilder {
    tuples: Vec<u64>,
    numbers: Vec<f64>,
    pub lists: Vec<ListBuilder>,
    packer: NumberPacker,
}

/// Rows of `svm_index_chunk`.
pub struct Chunk {
    pub rows: usize,
    pub tuples: Vec<u8>,
    /// By part.
    pub numbers: Vec<Vec<u8>>,
}

impl ChunkBuilder {
    /// For rows with lists of these kinds.
    pub fn new(lists: impl Iterator<Item = ListKind>) -> Result<Self, OutOfMemory> {
        Ok(Self {
            tuples: Vec::new(),
            numbers: Vec::new(),
            lists: gathered(lists.map(ListBuilder::new))?,
            packer: NumberPacker::default(),
        })
    }

    /// Takes a row, whose lists are taken already; all have as many numbers.
    pub fn push(&mut self, tuple: u64, numbers: &[f64]) -> Result<(), OutOfMemory> {
        self.tuples.room(1)?.push(tuple);
        self.numbers.room(numbers.len())?.extend_from_slice(numbers);
        Ok(())
    }

    /// Begins with rows of another chunk.
    pub fn begin_kept(&mut self, open: &Open) -> Result<(), OutOfMemory> {
        let mut lists = self.lists.iter_mut().zip(&open.lists);
        lists.try_for_each(|(list, kept)| list.begin_kept(kept))
    }

    /// Takes a row of the chunk with which it has begun, of so many numbers a row.
    pub fn push_kept(
        &mut self,
        tuple: u64,
        (open, row, width): (&Open, usize, usize),
    ) -> Result<(), OutOfMemory> {
        for (list, kept) in self.lists.iter_mut().zip(&open.lists) {
            list.push_kept(kept, row)?;
        }
        self.tuples.room(1)?.push(tuple);
        let numbers = open.numbers.part(row * width..(row + 1) * width);
        numbers.append(&mut self.numbers)
    }

    /// Whether no row was taken since the last chunk.
    pub fn is_empty(&self) -> bool {
        self.tuples.is_empty()
    }

    /// Whether the rows are a chunk.
    pub fn is_full(&self) -> bool {
        let entries: usize = self.lists.iter().map(ListBuilder::entries).sum();
        self.tuples.len() == MOST_ROWS || self.numbers.len() + entries >= NUMBERS
    }

    /// The rows taken as a chunk.
    pub fn take(&mut self) -> Result<Chunk, OutOfMemory> {
        let rows = self.tuples.len();
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        self.packer.numbers(&self.numbers, &mut numbers)?;
        parts.room(1 + self.lists.len())?.push(numbers);
        for list in &mut self.lists {
            parts.push(list.take()?);
        }
        let mut tuples = Vec::new();
        let taken = self.tuples.drain(..);
        let room = tuples.room(rows * size_of::<u64>())?;
        room.extend(taken.flat_map(u64::to_le_bytes));
        self.numbers.clear();
        Ok(Chunk {
            rows,
            tuples,
            numbers: parts,
        })
    }
}

impl Chunk {
    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.tuples.len() + self.numbers.iter().map(Vec::len).sum::<usize>()
    }
}

/// What the rows of a chunk are known by; None where the bytes are not those of so many rows.
pub fn tuples(stored: &[u8], rows: usize) -> Option<impl Iterator<Item = u64> + '_> {
    let (words, rest) = stored.as_chunks();
    let whole = rest.is_empty() && words.len() == rows && (1..=MOST_ROWS).contains(&rows);
    whole.then(|| words.iter().map(|word| u64::from_le_bytes(*word)))
}
