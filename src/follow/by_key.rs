//! Values by key, of any number of rows, in many small hash tables: one large table would take a second to grow, in which
//! nothing could end the statement. In whichever process reads.

use super::digest::BuildKeyHasher;
use std::collections::{HashMap, TryReserveError};
use std::hash::BuildHasher;

/// Tables, a power of two; of a hundred million rows each grows within some ten milliseconds.
const TABLES: usize = 128;

/// A map from keys to values.
pub struct ByKey<V> {
    tables: Vec<HashMap<u128, V, BuildKeyHasher>>,
    len: usize,
}

impl<V> Default for ByKey<V> {
    fn default() -> Self {
        Self {
            tables: (0..TABLES).map(|_| HashMap::default()).collect(),
            len: 0,
        }
    }
}

impl<V> ByKey<V> {
    /// The table of a key, by bits of its hash that a table of less than 2^40 values has no use for.
    fn table(key: u128) -> usize {
        (BuildKeyHasher::default().hash_one(key) >> 48) as usize % TABLES
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, key: u128) -> Option<&V> {
        self.tables[Self::table(key)].get(&key)
    }

    /// Takes a value in place of that which the key had; false where it had one.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn insert(&mut self, key: u128, value: V) -> Result<bool, TryReserveError> {
        let table = &mut self.tables[Self::table(key)];
        table.try_reserve(1)?;
        let new = table.insert(key, value).is_none();
        self.len += usize::from(new);
        Ok(new)
    }

    /// Forgets a key; false where it was not known.
    pub fn remove(&mut self, key: u128) -> bool {
        let known = self.tables[Self::table(key)].remove(&key).is_some();
        self.len -= usize::from(known);
        known
    }
}
