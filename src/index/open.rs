//! A chunk of an index, unpacked.

use crate::base::errors::Failure;
use crate::index::lists::Lists;
use crate::index::packed::{NumberUnpacker, Numbers};
use crate::index::stored::StoredIndex;
use pgsvm_core::memory::{gathered, OutOfMemory};

/// What is read of a chunk.
pub struct Open {
    unpacker: NumberUnpacker,
    /// Row after row.
    pub numbers: Numbers,
    /// By number; those that were wanted.
    pub lists: Vec<Lists>,
}

impl Open {
    /// For chunks of this index; none is read as yet.
    pub fn new(stored: &StoredIndex) -> Result<Self, OutOfMemory> {
        Ok(Self {
            unpacker: NumberUnpacker::default(),
            numbers: Numbers::default(),
            lists: gathered(stored.lists.iter().map(|_| Lists::default()))?,
        })
    }

    /// Reads a chunk of so many rows: their numbers, where they are wanted, and these lists.
    pub fn read(
        &mut self,
        stored: &StoredIndex,
        (chunk, rows): (i32, usize),
        (has_numbers, lists): (bool, impl Iterator<Item = usize>),
    ) -> Result<(), Failure> {
        let (unpacker, numbers) = (&mut self.unpacker, &mut self.numbers);
        if has_numbers {
            let count = rows * stored.width();
            stored.part((chunk, 0), |bytes| unpacker.numbers(bytes, count, numbers))?;
        }
        for number in lists {
            let (kind, list) = (stored.lists[number].kind, &mut self.lists[number]);
            stored.part((chunk, 1 + number), |bytes| {
                list.read(kind, bytes, rows, unpacker)
            })?;
        }
        Ok(())
    }
}
