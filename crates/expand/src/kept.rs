//! The words of texts as numbers, kept from the pass that learns a vocabulary for the one that reads the rows: each text is taken
//! apart once. A text is known by its row and by a hash of the value that it stands in, so that rows which come in another order,
//! or with other texts, are taken apart again.
//!
//! A number below 2^15 takes two bytes, others four. What does not fit the room that is given is not kept, nor anything behind it.
//! The memory of rows that have been read is given up as the pass goes on.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use crate::base::memory::{OutOfMemory, Room};

/// What the hash of a text that is kept is never.
const NOT_KEPT: u64 = 0;
/// Units of a piece, after which another is begun.
const PIECE: usize = 1 << 18;
/// Set in the first of a number's two units.
const TWO: u16 = 1 << 15;
/// Texts that are not what was kept, one after the other, after which nobody looks any more.
const MOST_OTHERS: u32 = 100;

/// One text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    units: u32,
    /// Whether they are the first of a piece.
    begins: bool,
}

/// The words of one column's texts, by row.
#[derive(Debug, Default)]
pub struct Kept {
    /// By row, from the one that is to be read next.
    entries: VecDeque<Entry>,
    pieces: VecDeque<Vec<u16>>,
    hash: RandomState,
    /// Bytes that may be taken yet.
    left: usize,
    /// Units of the piece in front that are behind, or of the last one when the text began.
    at: usize,
    texts: u64,
    /// Texts that were to be kept.
    all: u64,
    /// Rows that are behind.
    rows: u64,
    others: u32,
}

impl Kept {
    /// Of no text as yet, in so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            left: bytes,
            ..Self::default()
        }
    }

    /// Whether at least half of the texts are kept.
    pub fn is_worth_it(&self) -> bool {
        self.texts > 0 && 2 * self.texts >= self.all
    }

    /// Whether all texts are kept.
    pub fn is_whole(&self) -> bool {
        self.texts == self.all
    }

    /// Begins the text in row `row`, counted from 0.
    pub fn begin(&mut self, row: u64) {
        self.all += 1;
        // where it ends up forgotten, all before it stays
        self.at = self.pieces.back().map_or(0, Vec::len);
        if self.left == 0 {
            return;
        }
        let missing = (row as usize).saturating_sub(self.entries.len());
        let bytes = (missing + 1) * size_of::<Entry>();
        if self.left <= bytes || self.entries.try_reserve(missing + 1).is_err() {
            self.left = 0;
            return;
        }
        self.left -= bytes;
        let none = Entry {
            hash: NOT_KEPT,
            units: 0,
            begins: false,
        };
        self.entries.extend(core::iter::repeat_n(none, missing));
        if self.pieces.back().is_none_or(|piece| piece.len() >= PIECE) {
            let mut piece = Vec::new();
            // what lies behind the limit is seldom needed
            if self.pieces.try_reserve(1).is_err() || piece.room(PIECE + PIECE / 16).is_err() {
                self.left = 0;
                return;
            }
            self.pieces.push_back(piece);
        }
        self.at = self.pieces.back().map_or(0, Vec::len);
    }

    /// Takes the number of a word, below 2^31.
    #[inline]
    pub fn take(&mut self, number: u32) {
        let Some(piece) = self.pieces.back_mut().filter(|_| self.left > 0) else {
            return;
        };
        if self.left < 4 || piece.room(2).is_err() {
            self.left = 0;
        } else if number < u32::from(TWO) {
            piece.push(number as u16);
            self.left -= 2;
        } else {
            piece.push((number >> 16) as u16 | TWO);
            piece.push(number as u16);
            self.left -= 4;
        }
    }

    /// Ends a text, which stands in this value; one that did not fit is forgotten.
    pub fn end(&mut self, value: &[u8]) {
        let Some(piece) = self.pieces.back_mut() else {
            return;
        };
        if self.left == 0 {
            piece.truncate(self.at);
            return;
        }
        let units = piece.len() - self.at;
        let entry = Entry {
            hash: self.hash.hash_one(value).max(NOT_KEPT + 1),
            units: units as u32,
            begins: self.at == 0,
        };
        self.entries.push_back(entry);
        self.texts += 1;
    }

    /// Goes on to row `row`, behind those before it; visits the words of the text that stands in this value, and tells true, where
    /// they are kept.
    pub fn read(
        &mut self,
        row: u64,
        value: &[u8],
        mut visit: impl FnMut(u32) -> Result<(), OutOfMemory>,
    ) -> Result<bool, OutOfMemory> {
        if row < self.rows || self.entries.is_empty() {
            return Ok(false);
        }
        while self.rows < row {
            self.pass();
        }
        let Some(entry) = self.entries.front().filter(|it| it.hash != NOT_KEPT) else {
            return Ok(false);
        };
        if entry.hash != self.hash.hash_one(value).max(NOT_KEPT + 1) {
            self.others += 1;
            if self.others > MOST_OTHERS {
                *self = Self::default();
            }
            return Ok(false);
        }
        self.others = 0;
        let (begins, units) = (entry.begins, entry.units as usize);
        let from = if begins { 0 } else { self.at };
        let piece = &self.pieces[usize::from(begins && self.at > 0)];
        let mut units = piece[from..from + units].iter();
        while let Some(unit) = units.next() {
            let number = match unit & TWO {
                0 => u32::from(*unit),
                _ => {
                    let low = units.next().copied().unwrap_or(0);
                    u32::from(unit & !TWO) << 16 | u32::from(low)
                }
            };
            visit(number)?;
        }
        Ok(true)
    }

    /// Puts the row in front behind.
    fn pass(&mut self) {
        self.rows += 1;
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        if entry.hash == NOT_KEPT {
            return;
        }
        if entry.begins && self.at > 0 {
            self.pieces.pop_front();
            self.at = 0;
        }
        self.at += entry.units as usize;
    }

    /// Has reading begin with the first row.
    fn rewind(&mut self) {
        self.at = 0;
    }
}

/// The same when the vocabulary is known, with the numbers that its words have there.
#[derive(Debug, Default)]
pub struct KeptWords {
    kept: Kept,
    numbers: WordNumbers,
}

/// Which number a word that was counted has in the vocabulary.
#[derive(Debug, Default)]
pub struct WordNumbers {
    /// By the number under which it was counted; [`WordNumbers::NONE`] where it has none.
    pub(crate) words: Vec<u32>,
    /// The first of the hashed numbers.
    pub(crate) hashed: u32,
}

impl WordNumbers {
    pub(crate) const NONE: u32 = u32::MAX;
    /// Under which words that share a number are counted, from here on.
    pub(crate) const HASHED: u32 = 1 << 24;

    #[inline]
    fn of(&self, counted: u32) -> Option<u32> {
        match counted.checked_sub(Self::HASHED) {
            Some(bucket) => Some(self.hashed + bucket),
            None => {
                let known = self.words.get(counted as usize).copied();
                known.filter(|number| *number != Self::NONE)
            }
        }
    }
}

impl KeptWords {
    pub fn new(mut kept: Kept, numbers: WordNumbers) -> Self {
        kept.rewind();
        Self { kept, numbers }
    }

    /// Visits the numbers of the words of the text in row `row` that stands in this value, and tells true, where they are kept.
    pub fn read(
        &mut self,
        row: u64,
        value: &[u8],
        mut visit: impl FnMut(u32) -> Result<(), OutOfMemory>,
    ) -> Result<bool, OutOfMemory> {
        let Self { kept, numbers } = self;
        kept.read(row, value, |counted| match numbers.of(counted) {
            Some(number) => visit(number),
            None => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a row's text, some of them with large numbers.
    fn words(row: u64) -> impl Iterator<Item = u32> {
        (0..row % 50).map(move |at| ((row * 7919 + at * 104_729) % (1 << 17)) as u32)
    }

    fn kept(rows: u64, bytes: usize) -> Kept {
        let mut kept = Kept::new(bytes);
        for row in (0..rows).filter(|row| row % 10 != 3) {
            kept.begin(row);
            words(row).for_each(|number| kept.take(number));
            kept.end(&row.to_le_bytes());
        }
        kept.rewind();
        kept
    }

    fn read(kept: &mut Kept, row: u64, value: u64) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let visit = |number| {
            found.push(number);
            Ok(())
        };
        kept.read(row, &value.to_le_bytes(), visit)
            .unwrap()
            .then_some(found)
    }

    #[test]
    fn words_come_back_row_after_row() {
        let rows = 40_000;
        let mut kept = kept(rows, 1 << 30);
        assert!(kept.pieces.len() > 3 && kept.is_worth_it());
        for row in (0..rows).filter(|row| row % 7 != 2) {
            let wanted = (row % 10 != 3).then(|| words(row).collect::<Vec<_>>());
            assert_eq!(read(&mut kept, row, row), wanted, "{row}");
        }
        assert_eq!(kept.pieces.len(), 1);
        assert_eq!(read(&mut kept, 0, 0), None);
        assert_eq!(read(&mut kept, rows, rows), None);
    }

    #[test]
    fn memory_may_end_with_any_byte() {
        for bytes in 0..3000 {
            let mut kept = kept(60, bytes);
            for row in (0..60).filter(|row| row % 10 != 3) {
                let found = read(&mut kept, row, row);
                assert!(
                    found.is_none_or(|found| found.into_iter().eq(words(row))),
                    "{bytes} bytes, row {row}"
                );
            }
        }
    }

    #[test]
    fn another_text_in_a_row_is_not_taken_for_the_one_kept() {
        let mut kept = kept(1000, 1 << 30);
        assert_eq!(read(&mut kept, 10, 11), None);
        assert_eq!(read(&mut kept, 12, 12), Some(words(12).collect()));
        for row in 20..200 {
            assert_eq!(read(&mut kept, row, 7), None);
        }
        // nobody looks any more
        assert_eq!(read(&mut kept, 300, 300), None);
        assert!(kept.pieces.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let mut kept = kept(20_000, 1 << 19);
        let mut last = 0;
        for row in (0..20_000).filter(|row| row % 10 != 3) {
            match read(&mut kept, row, row) {
                Some(found) => {
                    assert_eq!(found, words(row).collect::<Vec<_>>());
                    assert_eq!(last + if row % 10 == 4 { 2 } else { 1 }, row.max(1));
                    last = row;
                }
                None => assert!(row > 1000),
            }
        }
        assert!(last > 1000 && last < 15_000 && !kept.is_worth_it());
        assert!(!self::kept(0, 100).is_worth_it() && !self::kept(100, 10).is_worth_it());
    }
}
