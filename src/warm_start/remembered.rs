//! The rows that a version was trained on, by key. In the leader.
//!
//! A table is mostly read in the order in which it was read before: the next key is compared with the next one
//! remembered, and only where they differ is a row looked up. The index for that is made when it is wanted first.

use crate::base::errors::Failure;
use crate::base::keyed_hash::NumberHash;
use crate::keys::out_of_memory;
use crate::pg::check_for_interrupts;

/// A millisecond of filling the index.
const ROWS_BETWEEN_INTERRUPTS: usize = 1 << 16;

/// Keys and digests in the order in which the rows were trained on.
#[derive(Default)]
pub struct Remembered {
    keys: Vec<u128>,
    digests: Vec<u64>,
    /// Whether a row is forgotten; empty while none is.
    forgotten: Vec<bool>,
    /// Rows not forgotten.
    left: usize,
    /// The row behind the one found last.
    next: usize,
    /// Places of keys, each a row + 1 or 0, twice as many as rows or more; empty until a row is looked up.
    index: Vec<u32>,
    hash: NumberHash,
}

impl Remembered {
    /// Takes the keys and digests of the rows that follow.
    pub fn extend(&mut self, rows: &[(u128, u64)]) -> Result<(), Failure> {
        let out_of_memory = |_| out_of_memory();
        self.keys.try_reserve(rows.len()).map_err(out_of_memory)?;
        self.digests
            .try_reserve(rows.len())
            .map_err(out_of_memory)?;
        self.keys.extend(rows.iter().map(|(key, _)| key));
        self.digests.extend(rows.iter().map(|(_, digest)| digest));
        self.left = self.keys.len();
        Ok(())
    }

    /// Rows, forgotten ones too.
    pub fn all(&self) -> usize {
        self.keys.len()
    }

    /// Rows that are not forgotten.
    pub fn len(&self) -> usize {
        self.left
    }

    /// The row with this key.
    pub fn find(&mut self, key: u128) -> Result<Option<u32>, Failure> {
        let row = if self.keys.get(self.next) == Some(&key) {
            self.next
        } else {
            match self.look_up(key)? {
                Some(row) => row,
                None => return Ok(None),
            }
        };
        self.next = row + 1;
        let forgotten = self.forgotten.get(row).copied().unwrap_or(false);
        Ok((!forgotten).then_some(row as u32))
    }

    /// The digest of a row.
    pub fn digest(&self, row: u32) -> u64 {
        self.digests[row as usize]
    }

    /// Forgets a row; false where it was not known.
    pub fn forget(&mut self, key: u128) -> Result<bool, Failure> {
        let Some(row) = self.find(key)? else {
            return Ok(false);
        };
        if self.forgotten.is_empty() {
            self.forgotten
                .try_reserve_exact(self.keys.len())
                .map_err(|_| out_of_memory())?;
            self.forgotten.resize(self.keys.len(), false);
        }
        self.forgotten[row as usize] = true;
        self.left -= 1;
        Ok(true)
    }

    fn look_up(&mut self, key: u128) -> Result<Option<usize>, Failure> {
        if self.index.is_empty() {
            self.fill_index()?;
        }
        let mut place = self.place(key);
        while let Some(row) = (self.index[place] as usize).checked_sub(1) {
            if self.keys[row] == key {
                return Ok(Some(row));
            }
            place = (place + 1) & (self.index.len() - 1);
        }
        Ok(None)
    }

    fn fill_index(&mut self) -> Result<(), Failure> {
        let places = (2 * self.keys.len()).next_power_of_two();
        self.index
            .try_reserve_exact(places)
            .map_err(|_| out_of_memory())?;
        self.index.resize(places, 0);
        for row in 0..self.keys.len() {
            if row % ROWS_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            let mut place = self.place(self.keys[row]);
            while self.index[place] != 0 {
                place = (place + 1) & (places - 1);
            }
            self.index[place] = row as u32 + 1;
        }
        Ok(())
    }

    /// Where a key is looked for first.
    fn place(&self, key: u128) -> usize {
        self.hash.of(key) as usize & (self.index.len() - 1)
    }
}
