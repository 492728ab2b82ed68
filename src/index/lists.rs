//! Lists: what rows have any number of, indices with values or words. Their bytes are those of a part of a chunk: a stored
//! format, little endian, which must never change. Pure.
//!
//! | bytes | hold |
//! |---|---|
//! | 1 | [`STEPS`] where an index is what it is more than the one before it in its row, 0 where it is itself |
//! | a section | for each row how many entries it has, and one more; 0 where its list is not kept |
//! | a section | of pairs the indices of all entries; of words their numbers, in the order in which they come first |
//! | a section | of pairs the values |
//! | 4, a section | of words how many there are, and the bytes of each |
//! | 4, a section | and how many bytes they have together, and these |
//!
//! A section is four bytes that say how many bytes follow, and these, as [`packed`](super::packed) has them.

use super::packed::{Integers, NumberPacker, NumberRun, NumberUnpacker, Numbers};
use crate::features::{KeptPairs, KeptText, ListKind, Listed, Narrowed, WordList};
use pgsvm_core::memory::{copied, gathered, OutOfMemory, Room};
use pgsvm_expand::Words;

const STEPS: u8 = 1;

/// Entries of a row's list, at most; longer ones are not kept.
pub const MOST_ENTRIES: usize = 1 << 24;
/// Entries of a chunk, at most, and bytes of its words: those of a row beyond what makes it full.
const MOST_OF_CHUNK: usize = 1 << 28;
/// Words in texts, and bytes of distinct ones, that count as an entry: in longer chunks fewer words are there again.
const WORDS_AN_ENTRY: usize = 4;
const BYTES_AN_ENTRY: usize = 8;

/// A list on its way into a chunk.
pub struct ListBuilder {
    kind: ListKind,
    lengths: Vec<u64>,
    /// Indices, or numbers of words.
    entries: Vec<u64>,
    values: Vec<f64>,
    words: Words,
    /// By the number of a word in the chunk that rows come from its number here, or [`NEW`].
    renumbered: Vec<u32>,
    packers: [NumberPacker; 4],
}

/// Not met as yet; numbers of words are smaller.
const NEW: u32 = u32::MAX;

impl ListBuilder {
    /// Of no row as yet.
    pub fn new(kind: ListKind) -> Self {
        Self {
            kind,
            lengths: Vec::new(),
            entries: Vec::new(),
            values: Vec::new(),
            words: Words::default(),
            renumbered: Vec::new(),
            packers: Default::default(),
        }
    }

    /// Takes the list of the next row; None where it is not kept.
    pub fn push(&mut self, list: Option<Listed<'_>>) -> Result<(), OutOfMemory> {
        let is_index = |index: &f64| *index >= 0.0 && *index < i64::MAX as f64;
        let length = match list {
            Some(Listed::Pairs(indices, values))
                if indices.len() <= MOST_ENTRIES && indices.iter().all(is_index) =>
            {
                let room = self.entries.room(indices.len())?;
                room.extend(indices.iter().map(|index| *index as u64));
                self.values.room(values.len())?.extend_from_slice(values);
                Some(indices.len())
            }
            Some(Listed::Words(words)) if words.count() <= MOST_ENTRIES => {
                self.entries.room(words.count())?;
                for word in words.words() {
                    let number = number_of(word, &mut self.words)?;
                    self.entries.push(u64::from(number));
                }
                Some(words.count())
            }
            _ => None,
        };
        self.end_row(length)
    }

    /// Begins with rows of another chunk.
    pub fn begin_kept(&mut self, lists: &Lists) -> Result<(), OutOfMemory> {
        let words = lists.words.len();
        self.renumbered.clear();
        self.renumbered.room(words)?.resize(words, NEW);
        Ok(())
    }

    /// Takes the list of a row of the chunk with which it has begun.
    pub fn push_kept(&mut self, lists: &Lists, row: usize) -> Result<(), OutOfMemory> {
        let length = match self.kind {
            ListKind::Pairs => match lists.pairs(row) {
                None => None,
                Some((indices, values)) => {
                    match indices {
                        Narrowed::Narrow(indices) => {
                            let room = self.entries.room(indices.len())?;
                            room.extend(indices.iter().copied().map(u64::from));
                        }
                        Narrowed::Wide(indices) => {
                            let room = self.entries.room(indices.len())?;
                            room.extend_from_slice(indices);
                        }
                    }
                    let before = self.values.len();
                    values.append(&mut self.values)?;
                    Some(self.values.len() - before)
                }
            },
            ListKind::Words => match lists.words(row, 0) {
                None => None,
                Some(text) => {
                    self.entries.room(text.numbers.len())?;
                    for word in text.numbers {
                        let number = &mut self.renumbered[*word as usize];
                        if *number == NEW {
                            *number = number_of(text.list.get(*word), &mut self.words)?;
                        }
                        self.entries.push(u64::from(*number));
                    }
                    Some(text.numbers.len())
                }
            },
        };
        self.end_row(length)
    }

    /// Ends a row with so many entries; None where its list is not kept.
    fn end_row(&mut self, length: Option<usize>) -> Result<(), OutOfMemory> {
        let length = length.map_or(0, |length| length as u64 + 1);
        self.lengths.room(1)?.push(length);
        Ok(())
    }

    /// Entries taken since the last chunk, or so many as words are worth.
    pub fn entries(&self) -> usize {
        match self.kind {
            ListKind::Pairs => self.entries.len(),
            ListKind::Words => {
                let bytes = self.words.text_bytes() / BYTES_AN_ENTRY;
                self.entries.len() / WORDS_AN_ENTRY + bytes
            }
        }
    }

    /// The lists taken as the part of a chunk.
    pub fn take(&mut self) -> Result<Vec<u8>, OutOfMemory> {
        let is_pairs = self.kind == ListKind::Pairs;
        let steps = is_pairs && rows(&self.lengths, &mut self.entries).all(|row| row.is_sorted());
        if steps {
            for row in rows(&self.lengths, &mut self.entries) {
                let mut before = 0;
                for index in row {
                    (*index, before) = (*index - before, *index);
                }
            }
        }
        let mut out = Vec::new();
        out.room(1)?.push(if steps { STEPS } else { 0 });
        let [lengths, entries, values, bytes] = &mut self.packers;
        section(&mut out, |out| lengths.integers(&self.lengths, out))?;
        section(&mut out, |out| entries.integers(&self.entries, out))?;
        match self.kind {
            ListKind::Pairs => section(&mut out, |out| values.numbers(&self.values, out))?,
            ListKind::Words => {
                let words = core::mem::take(&mut self.words);
                self.renumbered.fill(NEW);
                let ends = gathered(words.iter().map(|word| word.len() as u64))?;
                count(&mut out, words.len())?;
                section(&mut out, |out| values.integers(&ends, out))?;
                count(&mut out, words.text_bytes())?;
                section(&mut out, |out| bytes.bytes(words.text(), out))?;
            }
        }
        self.lengths.clear();
        self.entries.clear();
        self.values.clear();
        Ok(out)
    }
}

/// The number of a word, which gets one if it has none.
fn number_of(word: &str, words: &mut Words) -> Result<u32, OutOfMemory> {
    match words.find(word) {
        Some(number) => Ok(number),
        None => words.add(word),
    }
}

/// The entries of the rows that have such lengths, and one more.
fn rows<'a>(lengths: &'a [u64], entries: &'a mut [u64]) -> impl Iterator<Item = &'a mut [u64]> {
    let mut rest = entries;
    lengths.iter().map(move |length| {
        let length = length.saturating_sub(1) as usize;
        let (row, behind) = core::mem::take(&mut rest).split_at_mut(length);
        rest = behind;
        row
    })
}

fn section(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    let start = out.len();
    count(out, 0)?;
    write(out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn count(out: &mut Vec<u8>, count: usize) -> Result<(), OutOfMemory> {
    out.room(4)?
        .extend_from_slice(&(count as u32).to_le_bytes());
    Ok(())
}

/// The bytes of a list that have not been read.
struct StoredList<'a>(&'a [u8]);

impl<'a> StoredList<'a> {
    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        let count = u32::from_le_bytes(*count) as usize;
        (count <= MOST_OF_CHUNK).then_some(count)
    }

    fn section(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (section, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(section)
    }
}

/// The lists of a chunk.
#[derive(Default)]
pub struct Lists {
    lengths: Integers,
    /// By row where its entries begin, and how many there are; None where they are not kept.
    places: Vec<Option<(u32, u32)>>,
    entries: Integers,
    values: Numbers,
    words: WordList,
}

impl Lists {
    /// Reads those of so many rows; false where the bytes are not those. Then there are no rows.
    pub fn read(
        &mut self,
        kind: ListKind,
        stored: &[u8],
        rows: usize,
        unpacker: &mut NumberUnpacker,
    ) -> Result<bool, OutOfMemory> {
        self.places.clear();
        let whole = self.read_all(kind, stored, rows, unpacker)?;
        if !whole {
            self.places.clear();
        }
        Ok(whole)
    }

    /// The same, which may leave rows behind.
    fn read_all(
        &mut self,
        kind: ListKind,
        stored: &[u8],
        rows: usize,
        unpacker: &mut NumberUnpacker,
    ) -> Result<bool, OutOfMemory> {
        let Some((form, stored)) = stored.split_first() else {
            return Ok(false);
        };
        let mut stored = StoredList(stored);
        let (Some(lengths), Some(entries)) = (stored.section(), stored.section()) else {
            return Ok(false);
        };
        if !unpacker.integers(lengths, rows, &mut self.lengths)? {
            return Ok(false);
        }
        let Some(count) = self.place(rows)? else {
            return Ok(false);
        };
        if !unpacker.integers(entries, count, &mut self.entries)? {
            return Ok(false);
        }
        let whole = match kind {
            ListKind::Pairs => match stored.section() {
                Some(values) => unpacker.numbers(values, count, &mut self.values)?,
                None => false,
            },
            ListKind::Words => self.read_words(&mut stored, unpacker)?,
        };
        if form & STEPS != 0 {
            match &mut self.entries {
                NumberRun::Narrow(indices) => add_up(&self.places, indices, u32::wrapping_add),
                NumberRun::Wide(indices) => add_up(&self.places, indices, u64::wrapping_add),
            }
        }
        Ok(whole && stored.0.is_empty())
    }

    /// Reads the words; whether the entries are numbers of such.
    fn read_words(
        &mut self,
        stored: &mut StoredList<'_>,
        unpacker: &mut NumberUnpacker,
    ) -> Result<bool, OutOfMemory> {
        let (Some(words), Some(lengths)) = (stored.count(), stored.section()) else {
            return Ok(false);
        };
        let (Some(count), Some(bytes)) = (stored.count(), stored.section()) else {
            return Ok(false);
        };
        if !unpacker.integers(lengths, words, &mut self.lengths)? {
            return Ok(false);
        }
        let (NumberRun::Narrow(lengths), NumberRun::Narrow(entries)) =
            (&self.lengths, &self.entries)
        else {
            return Ok(false);
        };
        let Some(bytes) = unpacker.bytes(bytes, count)? else {
            return Ok(false);
        };
        let Some(list) = WordList::new(copied(bytes)?, lengths)? else {
            return Ok(false);
        };
        self.words = list;
        Ok(entries.iter().all(|number| (*number as usize) < words))
    }

    /// Finds the entries of the rows; how many there are, None where they are more than may be.
    fn place(&mut self, rows: usize) -> Result<Option<usize>, OutOfMemory> {
        let NumberRun::Narrow(lengths) = &self.lengths else {
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
        Ok((entries <= MOST_OF_CHUNK).then_some(entries))
    }

    fn range(&self, row: usize) -> Option<core::ops::Range<usize>> {
        let (start, length) = (*self.places.get(row)?)?;
        Some(start as usize..(start + length) as usize)
    }

    /// The pairs of a row.
    #[inline]
    pub fn pairs(&self, row: usize) -> Option<KeptPairs<'_>> {
        let range = self.range(row)?;
        Some((self.entries.part(range.clone()), self.values.part(range)))
    }

    /// The words of a row of the chunk at this place.
    #[inline]
    pub fn words(&self, row: usize, chunk: usize) -> Option<KeptText<'_>> {
        match self.entries.part(self.range(row)?) {
            Narrowed::Narrow(numbers) => Some(KeptText {
                numbers,
                list: &self.words,
                chunk,
            }),
            Narrowed::Wide(_) => None,
        }
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
