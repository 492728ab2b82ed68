//! What a model with a key keeps of its rows, in the bytes of `svm_key` and `svm_key_dual`: a stored format, little
//! endian, which must never change. Pure; in whichever process reads, and in the leader.
//!
//! | column | holds, for up to [`CHUNK_ROWS`] consecutive rows |
//! |---|---|
//! | `keys` | integers: the difference from the row before (the first from 0), zigzag, seven bits a byte, the lowest first, the eighth bit where more follow; text: 16 bytes of hash a row |
//! | `digests` | 8 bytes a row |
//! | `states`, `common`, `duals` | see sql/tables.sql |

use pgsvm_core::memory::{filled, gathered, list, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Rows a chunk spans.
pub const CHUNK_ROWS: usize = 16384;

/// What a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyKind {
    Integer,
    /// Known by a hash.
    Text,
}

/// Keys and digests of consecutive rows, as a row of `svm_key` holds them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyChunk {
    pub first_row: i64,
    pub rows: i32,
    #[serde(deserialize_with = "list")]
    pub keys: Vec<u8>,
    #[serde(deserialize_with = "list")]
    pub digests: Vec<u8>,
}

/// Takes keys and digests row after row.
#[derive(Debug)]
pub struct KeyChunks {
    kind: KeyKind,
    chunks: Vec<KeyChunk>,
    /// The integer key of the last row of the last chunk.
    last: i64,
}

impl KeyChunks {
    pub fn new(kind: KeyKind) -> Self {
        Self {
            kind,
            chunks: Vec::new(),
            last: 0,
        }
    }

    /// Takes the next row's key, an integer in its lowest 64 bits, and digest.
    pub fn push(&mut self, key: u128, digest: u64) -> Result<(), OutOfMemory> {
        let full = |chunk: &KeyChunk| chunk.rows as usize == CHUNK_ROWS;
        if self.chunks.last().is_none_or(full) {
            let first_row = (self.chunks.len() * CHUNK_ROWS) as i64;
            self.chunks.room(1)?.push(KeyChunk {
                first_row,
                rows: 0,
                keys: Vec::new(),
                digests: Vec::new(),
            });
            self.last = 0;
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return Ok(());
        };
        // a difference takes ten bytes at most
        chunk.keys.room(size_of::<u128>())?;
        chunk.digests.room(size_of::<u64>())?;
        chunk.rows += 1;
        chunk.digests.extend(digest.to_le_bytes());
        match self.kind {
            KeyKind::Text => chunk.keys.extend(key.to_le_bytes()),
            KeyKind::Integer => {
                let key = key as u64 as i64;
                put_difference(key.wrapping_sub(self.last), &mut chunk.keys);
                self.last = key;
            }
        }
        Ok(())
    }

    /// Gives the chunks away.
    pub fn take(&mut self) -> Vec<KeyChunk> {
        std::mem::take(&mut self.chunks)
    }

    /// The chunks taken.
    pub fn chunks(&self) -> &[KeyChunk] {
        &self.chunks
    }
}

fn put_difference(difference: i64, out: &mut Vec<u8>) {
    let mut left = (difference << 1 ^ difference >> 63) as u64;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

fn take_difference(bytes: &mut &[u8]) -> Option<i64> {
    let mut found = 0u64;
    for place in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        found |= u64::from(byte & 0x7f) << place;
        if byte & 0x80 == 0 {
            return Some((found >> 1) as i64 ^ -((found & 1) as i64));
        }
    }
    None
}

/// The keys and digests of a chunk's `rows` rows; None where the bytes are not those.
pub fn read_keys(
    kind: KeyKind,
    rows: usize,
    mut keys: &[u8],
    digests: &[u8],
) -> Result<Option<Vec<(u128, u64)>>, OutOfMemory> {
    let (digests, rest) = digests.as_chunks();
    if rows > CHUNK_ROWS || digests.len() != rows || !rest.is_empty() {
        return Ok(None);
    }
    let mut last = 0i64;
    let mut next = || match kind {
        KeyKind::Integer => {
            last = last.wrapping_add(take_difference(&mut keys)?);
            Some(u128::from(last as u64))
        }
        KeyKind::Text => {
            let (key, rest) = keys.split_first_chunk()?;
            keys = rest;
            Some(u128::from_le_bytes(*key))
        }
    };
    let mut found = Vec::new();
    found.room(rows)?;
    for digest in digests {
        let Some(key) = next() else {
            return Ok(None);
        };
        found.push((key, u64::from_le_bytes(*digest)));
    }
    Ok(keys.is_empty().then_some(found))
}

/// Dual variables of consecutive rows that are not all 0, as a row of `svm_key_dual` holds them.
#[derive(Debug, Clone, PartialEq)]
pub struct StateChunk {
    pub first_row: i64,
    pub states: Vec<u8>,
    pub common: Vec<f32>,
    pub duals: Vec<f32>,
}

/// Takes dual variables row after row.
#[derive(Debug, Default)]
pub struct StateChunks {
    chunks: Vec<StateChunk>,
    pending: Vec<f32>,
    rows: usize,
}

impl StateChunks {
    /// Takes the next row's dual variable.
    pub fn push(&mut self, dual: f32) -> Result<(), OutOfMemory> {
        self.pending.room(1)?.push(dual);
        match self.pending.len() == CHUNK_ROWS {
            true => self.close(),
            false => Ok(()),
        }
    }

    /// How many chunks there will be.
    pub fn count(&self) -> usize {
        self.chunks.len() + usize::from(self.is_more_pending())
    }

    /// All chunks but those of zeros.
    pub fn finish(mut self) -> Result<Vec<StateChunk>, OutOfMemory> {
        self.close()?;
        Ok(self.chunks)
    }

    fn close(&mut self) -> Result<(), OutOfMemory> {
        let first_row = self.rows as i64;
        self.rows += self.pending.len();
        if self.is_more_pending() {
            let chunk = pack(first_row, &self.pending)?;
            self.chunks.room(1)?.push(chunk);
        }
        self.pending.clear();
        Ok(())
    }

    fn is_more_pending(&self) -> bool {
        self.pending.iter().any(|dual| *dual != 0.0)
    }
}

fn pack(first_row: i64, all: &[f32]) -> Result<StateChunk, OutOfMemory> {
    let common = most_frequent(all)?;
    let mut chunk = StateChunk {
        first_row,
        states: filled(0, all.len().div_ceil(4))?,
        common: Vec::new(),
        duals: Vec::new(),
    };
    for (row, dual) in all.iter().enumerate() {
        let state = match common.iter().position(|value| value == dual) {
            _ if *dual == 0.0 => 0,
            Some(place) => place as u8 + 1,
            None => {
                chunk.duals.room(1)?.push(*dual);
                3
            }
        };
        chunk.states[row / 4] |= state << (2 * (row % 4));
    }
    chunk.common = common;
    Ok(chunk)
}

/// At most two values that several rows have, the most frequent first.
fn most_frequent(all: &[f32]) -> Result<Vec<f32>, OutOfMemory> {
    let mut sorted = gathered(all.iter().copied().filter(|dual| *dual != 0.0))?;
    sorted.sort_unstable_by(f32::total_cmp);
    let mut best: Vec<(usize, f32)> = Vec::new();
    for run in sorted.chunk_by(|a, b| a == b).filter(|run| run.len() > 1) {
        best.push((run.len(), run[0]));
        best.sort_by_key(|(rows, _)| Reverse(*rows));
        best.truncate(2);
    }
    Ok(best.into_iter().map(|(_, value)| value).collect())
}

/// Writes a chunk's dual variables to `out`, where its rows start; None where it is none for so many rows. `signed`: whether they may be
/// below 0, as those of numbers are that predictions are to fall to.
pub fn read_states(
    (states, signed): (&[u8], bool),
    common: &[f32],
    duals: &[f32],
    out: &mut [f32],
) -> Option<()> {
    let mut duals = duals.iter();
    let mut next = |state| match state {
        0 => Some(0.0),
        3 => duals.next().copied(),
        place => common.get(place as usize - 1).copied(),
    };
    for (row, state) in (0..4 * states.len()).map(|row| (row, states[row / 4] >> (2 * (row % 4)))) {
        let dual = next(state & 3)?;
        let feasible = dual.is_finite() && (signed || dual >= 0.0);
        match out.get_mut(row) {
            Some(place) if feasible => *place = dual,
            None if dual == 0.0 => {}
            _ => return None,
        }
    }
    duals.next().is_none().then_some(())
}
