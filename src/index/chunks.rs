//! What an index keeps of its rows, in the bytes of `svm_index_chunk`: a stored format, little endian, which must never change.
//! Pure.
//!
//! | column | holds, for up to [`MOST_ROWS`] rows |
//! |---|---|
//! | `tuples` | 8 bytes a row: what it is known by |
//! | `numbers` | a byte: [`WIDE`] where numbers have 64 bits, else 32; [`PACKED`] where they are compressed, and from [`ROUNDS_AT`] on the rounds of transposition behind which they are; then row after row |

use pgsvm_core::memory::{filled, OutOfMemory, Room};
use pgsvm_core::Packing;

/// Rows of a chunk, at most.
pub const MOST_ROWS: usize = 16384;
/// Numbers of a chunk, about.
const NUMBERS: usize = 1 << 18;

/// Numbers that 32 bits do not hold.
const WIDE: u8 = 1;
const PACKED: u8 = 2;
const ROUNDS_AT: u32 = 2;
/// Rounds to choose from: none, bytes of equal place in 32 bits, in 64 bits together.
const ROUNDS: [u32; 3] = [0, 2, 3];
/// What compression must save to be worth unpacking: a part in so many.
const LEAST_SAVED: usize = 8;

/// Rows of a chunk whose rows have so many numbers.
pub fn chunk_rows(width: usize) -> usize {
    (NUMBERS / width.max(1)).clamp(1, MOST_ROWS)
}

/// Rows on their way into a chunk.
#[derive(Default)]
pub struct ChunkBuilder {
    tuples: Vec<u64>,
    numbers: Vec<f64>,
    bytes: Vec<u8>,
    packed: Vec<u8>,
    packing: Packing,
    /// Once the first chunk has chosen.
    rounds: Option<u32>,
}

/// A row of `svm_index_chunk`.
pub struct Chunk {
    pub rows: usize,
    pub tuples: Vec<u8>,
    pub numbers: Vec<u8>,
}

impl ChunkBuilder {
    /// Takes a row; all have as many numbers.
    pub fn push(&mut self, tuple: u64, numbers: &[f64]) -> Result<(), OutOfMemory> {
        self.tuples.room(1)?.push(tuple);
        self.numbers.room(numbers.len())?.extend_from_slice(numbers);
        Ok(())
    }

    /// Rows taken since the last chunk.
    pub fn rows(&self) -> usize {
        self.tuples.len()
    }

    /// The rows taken first, `most` of them at most, as a chunk.
    pub fn take(&mut self, most: usize) -> Result<Chunk, OutOfMemory> {
        let rows = most.min(self.tuples.len());
        let width = self.numbers.len() / self.tuples.len().max(1);
        let taken = &self.numbers[..rows * width];
        let is_wide = taken.iter().any(|x| f64::from(*x as f32) != *x);
        self.bytes.clear();
        let room = self.bytes.room(size_of_val(taken))?;
        match is_wide {
            true => room.extend(taken.iter().flat_map(|x| x.to_le_bytes())),
            false => room.extend(taken.iter().flat_map(|x| (*x as f32).to_le_bytes())),
        }
        let (length, rounds) = self.pack()?;
        let is_packed = length < self.bytes.len() - self.bytes.len() / LEAST_SAVED;
        let body = match is_packed {
            true => &self.packed[..length],
            false => &self.bytes[..],
        };
        let mut numbers = Vec::new();
        let packed = PACKED | (rounds as u8) << ROUNDS_AT;
        let form = if is_wide { WIDE } else { 0 } | if is_packed { packed } else { 0 };
        numbers.room(1 + body.len())?.push(form);
        numbers.extend_from_slice(body);
        let mut tuples = Vec::new();
        let taken = self.tuples.drain(..rows);
        let room = tuples.room(rows * size_of::<u64>())?;
        room.extend(taken.flat_map(u64::to_le_bytes));
        self.numbers.drain(..rows * width);
        Ok(Chunk {
            rows,
            tuples,
            numbers,
        })
    }

    /// Compresses the bytes, behind the rounds that made the first chunk smallest; the length, and the rounds.
    fn pack(&mut self) -> Result<(usize, u32), OutOfMemory> {
        let (bytes, packed) = (&self.bytes[..], &mut self.packed);
        let mut pack = |rounds| {
            let length = self.packing.pack(bytes, rounds, packed);
            length.map_err(|_| out_of_memory(bytes.len()))
        };
        if self.rounds.is_none() {
            let mut best = (usize::MAX, 0);
            for rounds in ROUNDS {
                best = best.min((pack(rounds)?, rounds));
            }
            self.rounds = Some(best.1);
        }
        let rounds = self.rounds.unwrap_or(0);
        Ok((pack(rounds)?, rounds))
    }
}

fn out_of_memory(bytes: usize) -> OutOfMemory {
    OutOfMemory {
        bytes: bytes as u64,
    }
}

/// Numbers as a chunk holds them.
#[derive(Debug)]
pub enum Numbers {
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Numbers {
    /// Room for numbers of 32 bits: what was there is gone.
    fn narrow(&mut self) -> &mut Vec<f32> {
        if matches!(self, Self::Wide(_)) {
            *self = Self::default();
        }
        match self {
            Self::Narrow(numbers) => {
                numbers.clear();
                numbers
            }
            Self::Wide(_) => unreachable!("it has been replaced"),
        }
    }

    /// The same of 64.
    fn wide(&mut self) -> &mut Vec<f64> {
        if matches!(self, Self::Narrow(_)) {
            *self = Self::Wide(Vec::new());
        }
        match self {
            Self::Wide(numbers) => {
                numbers.clear();
                numbers
            }
            Self::Narrow(_) => unreachable!("it has been replaced"),
        }
    }
}

/// Reads what chunks hold.
#[derive(Default)]
pub struct ChunkReader {
    bytes: Vec<u8>,
    packing: Packing,
}

impl ChunkReader {
    /// Reads the `count` numbers of a chunk into `out`; false where the bytes are not those.
    pub fn read(
        &mut self,
        stored: &[u8],
        count: usize,
        out: &mut Numbers,
    ) -> Result<bool, OutOfMemory> {
        let Some((form, body)) = stored.split_first() else {
            return Ok(false);
        };
        let is_wide = form & WIDE != 0;
        let bytes = count.saturating_mul(if is_wide { 8 } else { 4 });
        let body = match form & PACKED {
            0 => body,
            _ => {
                if self.bytes.len() < bytes {
                    self.bytes = filled(0, bytes)?;
                }
                let rounds = u32::from(form >> ROUNDS_AT);
                let into = &mut self.bytes[..bytes];
                let whole = match ROUNDS.contains(&rounds) {
                    true => self.packing.unpack(body, rounds, into),
                    false => Ok(false),
                };
                if !whole.map_err(|_| out_of_memory(bytes))? {
                    return Ok(false);
                }
                &self.bytes[..bytes]
            }
        };
        if body.len() != bytes {
            return Ok(false);
        }
        match is_wide {
            true => {
                let words = body.as_chunks().0.iter();
                let numbers = out.wide();
                let room = numbers.room(count)?;
                room.extend(words.map(|x| f64::from_le_bytes(*x)));
            }
            false => {
                let words = body.as_chunks().0.iter();
                let numbers = out.narrow();
                let room = numbers.room(count)?;
                room.extend(words.map(|x| f32::from_le_bytes(*x)));
            }
        }
        Ok(true)
    }
}

/// What the rows of a chunk are known by; None where the bytes are not those of so many rows.
pub fn tuples(stored: &[u8], rows: usize) -> Option<impl Iterator<Item = u64> + '_> {
    let (words, rest) = stored.as_chunks();
    let whole = rest.is_empty() && words.len() == rows && (1..=MOST_ROWS).contains(&rows);
    whole.then(|| words.iter().map(|word| u64::from_le_bytes(*word)))
}
