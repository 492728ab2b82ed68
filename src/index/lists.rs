//! Lists: what rows have any number of, indices with values. Their bytes are those of a part of a chunk: a stored format, little
//! endian, which must never change. Pure.
//!
//! | bytes | hold |
//! |---|---|
//! | 1 | [`STEPS`] where an index is what it is more than the one before it in its row, 0 where it is itself |
//! | a section | for each row how many entries it has, and one more; 0 where its list is not kept |
//! | a section | the indices of all entries |
//! | a section | their values |
//!
//! A section is four bytes that say how many bytes follow, and these, as [`packed`](super::packed) has them.

use super::packed::{Integers, Numbers, Packer, Run, Unpacker};
use crate::features::{KeptPairs, Pairs};
use pgsvm_core::memory::{OutOfMemory, Room};

const STEPS: u8 = 1;

/// Entries of a row's list, at most; longer ones are not kept.
pub const MOST_ENTRIES: usize = 1 << 24;
/// Entries of a chunk, at most: those of a row beyond what makes it full.
const MOST_ENTRIES_OF_CHUNK: usize = 2 * MOST_ENTRIES;

/// A list on its way into a chunk.
#[derive(Default)]
pub struct ListBuilder {
    lengths: Vec<u64>,
    indices: Vec<u64>,
    values: Vec<f64>,
    packers: [Packer; 3],
}

impl ListBuilder {
    /// Takes the list of the next row; None where it is not kept.
    pub fn push(&mut self, list: Option<Pairs<'_>>) -> Result<(), OutOfMemory> {
        let is_index = |index: &f64| *index >= 0.0 && *index < i64::MAX as f64;
        let kept = list
            .filter(|(indices, _)| indices.len() <= MOST_ENTRIES && indices.iter().all(is_index));
        let length = kept.map_or(0, |(indices, _)| indices.len() as u64 + 1);
        self.lengths.room(1)?.push(length);
        if let Some((indices, values)) = kept {
            let room = self.indices.room(indices.len())?;
            room.extend(indices.iter().map(|index| *index as u64));
            self.values.room(values.len())?.extend_from_slice(values);
        }
        Ok(())
    }

    /// Entries taken since the last chunk.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The lists taken as the part of a chunk.
    pub fn take(&mut self) -> Result<Vec<u8>, OutOfMemory> {
        let steps = rows(&self.lengths, &mut self.indices).all(|row| row.is_sorted());
        if steps {
            for row in rows(&self.lengths, &mut self.indices) {
                let mut before = 0;
                for index in row {
                    (*index, before) = (*index - before, *index);
                }
            }
        }
        let mut out = Vec::new();
        out.room(1)?.push(if steps { STEPS } else { 0 });
        let [lengths, indices, values] = &mut self.packers;
        section(&mut out, |out| lengths.integers(&self.lengths, out))?;
        section(&mut out, |out| indices.integers(&self.indices, out))?;
        section(&mut out, |out| values.numbers(&self.values, out))?;
        self.lengths.clear();
        self.indices.clear();
        self.values.clear();
        Ok(out)
    }
}

/// The entries of the rows that have such lengths, and one more.
fn rows<'a>(lengths: &'a [u64], entries: &'a mut [u64]) -> impl Iterator<Item = &'a mut [u64]> {
    let mut rest = entries;
    lengths.iter().map(move |length| {
        let (row, behind) =
            core::mem::take(&mut rest).split_at_mut(length.saturating_sub(1) as usize);
        rest = behind;
        row
    })
}

fn section(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    let start = out.len();
    out.room(4)?.extend_from_slice(&[0; 4]);
    write(out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The section in front, and what is behind it.
fn split(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stored.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The lists of a chunk.
#[derive(Default)]
pub struct Lists {
    lengths: Integers,
    /// By row where its entries begin, and how many there are; None where they are not kept.
    places: Vec<Option<(u32, u32)>>,
    indices: Integers,
    values: Numbers,
}

impl Lists {
    /// Reads those of so many rows; false where the bytes are not those. Then there are no rows.
    pub fn read(
        &mut self,
        stored: &[u8],
        rows: usize,
        unpacker: &mut Unpacker,
    ) -> Result<bool, OutOfMemory> {
        self.places.clear();
        let whole = self.read_all(stored, rows, unpacker)?;
        if !whole {
            self.places.clear();
        }
        Ok(whole)
    }

    fn read_all(
        &mut self,
        stored: &[u8],
        rows: usize,
        unpacker: &mut Unpacker,
    ) -> Result<bool, OutOfMemory> {
        let sections = stored.split_first().and_then(|(form, rest)| {
            let (lengths, rest) = split(rest)?;
            let (indices, rest) = split(rest)?;
            let (values, rest) = split(rest)?;
            rest.is_empty().then_some((*form, lengths, indices, values))
        });
        let Some((form, lengths, indices, values)) = sections else {
            return Ok(false);
        };
        if !unpacker.integers(lengths, rows, &mut self.lengths)? {
            return Ok(false);
        }
        let Some(entries) = self.place(rows)? else {
            return Ok(false);
        };
        if !unpacker.integers(indices, entries, &mut self.indices)?
            || !unpacker.numbers(values, entries, &mut self.values)?
        {
            return Ok(false);
        }
        if form & STEPS != 0 {
            match &mut self.indices {
                Run::Narrow(indices) => add_up(&self.places, indices, u32::wrapping_add),
                Run::Wide(indices) => add_up(&self.places, indices, u64::wrapping_add),
            }
        }
        Ok(true)
    }

    /// Finds the entries of the rows; how many there are, None where they are more than may be.
    fn place(&mut self, rows: usize) -> Result<Option<usize>, OutOfMemory> {
        let Run::Narrow(lengths) = &self.lengths else {
            return Ok(None);
        };
        let mut end = 0u32;
        let room = self.places.room(rows)?;
        for length in lengths {
            let length = length.checked_sub(1);
            room.push(length.map(|length| (end, length)));
            end = end.saturating_add(length.unwrap_or(0));
        }
        let entries = end as usize;
        Ok((entries <= MOST_ENTRIES_OF_CHUNK).then_some(entries))
    }

    /// The pairs of a row.
    #[inline]
    pub fn pairs(&self, row: usize) -> Option<KeptPairs<'_>> {
        let (start, length) = (*self.places.get(row)?)?;
        let range = start as usize..(start + length) as usize;
        Some((self.indices.part(range.clone()), self.values.part(range)))
    }
}

/// Has each entry be what it is more than the one before it in its row.
fn add_up<T: Copy + Default>(
    places: &[Option<(u32, u32)>],
    entries: &mut [T],
    add: impl Fn(T, T) -> T,
) {
    for (start, length) in places.iter().flatten() {
        let row = &mut entries[*start as usize..(start + length) as usize];
        let mut sum = T::default();
        for entry in row {
            sum = add(sum, *entry);
            *entry = sum;
        }
    }
}
