//! Which keys have been met. In whichever process reads.
//!
//! Rows mostly come in the order of their keys, and keys are mostly numbered through. So keys that ascend are kept as runs
//! of consecutive ones, and the next key is compared with the last run only; a set holds those that come out of order.

use super::digest::BuildKeyHasher;
use std::collections::{HashSet, TryReserveError};

/// The keys met so far.
#[derive(Default)]
pub struct Seen {
    /// Ascending.
    runs: Vec<Run>,
    others: HashSet<u128, BuildKeyHasher>,
}

/// All keys from the first to the last.
struct Run {
    first: u128,
    last: u128,
}

impl Seen {
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
                self.runs.push(Run {
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
        self.others.try_reserve(1)?;
        Ok(self.others.insert(key))
    }
}
