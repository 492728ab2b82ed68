//! Which keys have been met. In whichever process reads.
//!
//! Rows mostly come in the order of their keys, and keys are mostly numbered through. So keys that ascend are kept as runs
//! of consecutive ones, and the next key is compared with the last run only. Those that come out of order are in many
//! small sets: one large set would take a second to grow, in which nothing could end the statement.

use crate::base::keyed_hash::NumberHash;
use std::collections::{HashSet, TryReserveError};

/// Sets of the keys out of order; of a hundred million keys each grows within some ten milliseconds.
const SETS: usize = 128;

/// The keys met so far.
#[derive(Default)]
pub struct SeenKeys {
    /// Ascending.
    runs: Vec<KeyRun>,
    /// `SETS` of them, or none while all keys ascend.
    others: Vec<HashSet<u128, NumberHash>>,
    /// The hash of all sets, by which each key has its own.
    hash: NumberHash,
}

/// All keys from the first to the last.
struct KeyRun {
    first: u128,
    last: u128,
}

impl SeenKeys {
    /// Notes a key; false where it has been met before.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn insert(&mut self, key: u128) -> Result<bool, TryReserveError> {
        match self.runs.last_mut() {
            Some(run) if key <= run.last => self.insert_behind(key),
            Some(run) if key == run.last + 1 => {
                run.last = key;
                Ok(true)
            }
            _ => {
                self.runs.try_reserve(1)?;
                self.runs.push(KeyRun {
                    first: key,
                    last: key,
                });
                Ok(true)
            }
        }
    }

    fn insert_behind(&mut self, key: u128) -> Result<bool, TryReserveError> {
        let begun = self.runs.partition_point(|run| run.first <= key);
        if self.runs[..begun].last().is_some_and(|run| key <= run.last) {
            return Ok(false);
        }
        if self.others.is_empty() {
            self.others.try_reserve_exact(SETS)?;
            let hash = &self.hash;
            let set = || HashSet::with_hasher(hash.clone());
            self.others.resize_with(SETS, set);
        }
        let set = self.set_of(key);
        let others = &mut self.others[set];
        others.try_reserve(1)?;
        Ok(others.insert(key))
    }

    /// The set of a key, by bits of its hash that a set of less than 2^40 keys has no use for.
    fn set_of(&self, key: u128) -> usize {
        (self.hash.of(key) >> 48) as usize % SETS
    }
}
