//! The rows of an index by the hashes that they are known by. A table is read in the order in which it was read before. So the next row is
//! compared with the next one known, and looked up only where they differ. The table for looking up is made when it is first wanted.

use crate::base::keyed_hash::NumberHash;
use crate::pg::check_for_interrupts;
use pgsvm_core::memory::{filled, OutOfMemory, Room};

/// A millisecond of filling the places.
const ROWS_BETWEEN_INTERRUPTS: usize = 1 << 16;

/// What rows are known by, in their order.
#[derive(Default)]
pub struct Tuples {
    known: Vec<u64>,
    /// The row behind the one found last.
    next: usize,
    /// Places of rows, each a row + 1 or 0, twice as many as rows or more; empty until a row is looked up.
    places: Vec<u32>,
    hash: NumberHash,
}

impl Tuples {
    /// Takes the rows that follow.
    pub fn extend(&mut self, tuples: impl Iterator<Item = u64>) -> Result<(), OutOfMemory> {
        self.known.room(tuples.size_hint().0)?.extend(tuples);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// What a row is known by.
    pub fn get(&self, row: usize) -> u64 {
        self.known[row]
    }

    /// The row that is known by this.
    #[inline]
    pub fn find(&mut self, tuple: u64) -> Result<Option<usize>, OutOfMemory> {
        let row = match self.known.get(self.next) {
            Some(next) if *next == tuple => Some(self.next),
            _ => self.look_up(tuple)?,
        };
        if let Some(row) = row {
            self.next = row + 1;
        }
        Ok(row)
    }

    #[cold]
    fn look_up(&mut self, tuple: u64) -> Result<Option<usize>, OutOfMemory> {
        if self.known.is_empty() {
            return Ok(None);
        }
        if self.places.is_empty() {
            self.fill()?;
        }
        let mut place = self.place(tuple);
        while let Some(row) = (self.places[place] as usize).checked_sub(1) {
            if self.known[row] == tuple {
                return Ok(Some(row));
            }
            place = (place + 1) & (self.places.len() - 1);
        }
        Ok(None)
    }

    fn fill(&mut self) -> Result<(), OutOfMemory> {
        self.places = filled(0, (2 * self.known.len()).next_power_of_two())?;
        for row in 0..self.known.len() {
            if row % ROWS_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            let mut place = self.place(self.known[row]);
            // one that comes twice is found where it comes first
            let other = |known: usize| self.known[known - 1] != self.known[row];
            while self.places[place] != 0 && other(self.places[place] as usize) {
                place = (place + 1) & (self.places.len() - 1);
            }
            if self.places[place] == 0 {
                self.places[place] = row as u32 + 1;
            }
        }
        Ok(())
    }

    /// Where a row is looked for first.
    fn place(&self, tuple: u64) -> usize {
        self.hash.of(u128::from(tuple)) as usize & (self.places.len() - 1)
    }
}
