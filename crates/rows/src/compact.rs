//! Rows that hold a string in the place of the runs of its letters ([`pgsvm_expand::degree`]): their entries are made when they
//! are visited. 200 letters of four kinds with their runs of up to 8 take 80 bytes in place of 12,600.
//!
//! The string stands where other rows have entries, an even number of words:
//!
//! | word | holds |
//! |---|---|
//! | 0 | how many letters there are, and in bits 8 to 15 those of the longest run |
//! | 1 | length of the string |
//! | 2 .. | its letters from the lowest bits on, each with as many bits as the largest needs |
//!
//! So a row says itself how it is made, and rows of both kinds may lie side by side. What is made lies in a few places that each
//! thread has, and uses in turns.

use std::cell::RefCell;

use pgsvm_base::memory::{OutOfMemory, Room};
use pgsvm_expand::Runs;
use serde::{Deserialize, Serialize};

use crate::row::{begin_visited, row_words, Row};

/// Rows that a thread may have in hand at once: those of a tile and the one that is asked for ahead of them, and as many again.
const IN_HAND: usize = 10;
/// The latest of them, which may be asked for once more.
const LATEST: usize = 3;
/// Longer strings are stored as their entries: a thread's places take as many megabytes.
const MOST_ENTRIES: usize = 1 << 14;
/// Words in front of the letters.
const HEAD: usize = 2;
const WORD_BITS: usize = 32;

/// What the strings of a training are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringForm {
    /// How many letters there are.
    pub letters: u8,
    /// Letters of the longest run.
    pub longest: u8,
}

/// Numbers of runs, ready for making entries.
#[derive(Debug)]
struct Maker {
    form: StringForm,
    runs: Runs,
    /// Bits of a letter in a string.
    bits: usize,
    /// By length of a run, what is added to the run's letters as a number in base a.
    offsets: Vec<u32>,
    /// For strings of this length, the bits of the values by length of a run.
    length: usize,
    values: Vec<u32>,
    letters: Vec<u8>,
}

impl Maker {
    /// None where there are no such runs.
    fn new(form: StringForm) -> Option<Self> {
        let runs = Runs::new(usize::from(form.letters), u32::from(form.longest))?;
        Some(Self {
            form,
            bits: form.letters.next_power_of_two().ilog2() as usize,
            offsets: runs.offsets().iter().map(|it| *it as u32).collect(),
            runs,
            length: 0,
            values: Vec::new(),
            letters: Vec::new(),
        })
    }

    /// Words of a string of so many letters.
    fn words(&self, length: usize) -> usize {
        (HEAD + (self.bits * length).div_ceil(WORD_BITS)).next_multiple_of(2)
    }

    fn suit(&mut self, length: usize) {
        if self.length != length {
            self.values.clear();
            let values = self.runs.values(length).map(|it| (it as f32).to_bits());
            self.values.extend(values);
            self.length = length;
        }
    }

    /// Takes the letters of a string.
    fn unpack(&mut self, string: &[u32]) -> Result<(), OutOfMemory> {
        let (length, mask) = (string[1] as usize, (1 << self.bits) - 1);
        let each = WORD_BITS / self.bits;
        self.letters.clear();
        self.letters.room(length + each)?;
        // a letter may lie across two words where its bits do not divide them
        if WORD_BITS.is_multiple_of(self.bits) {
            for word in &string[HEAD..] {
                let letters = (0..each).map(|at| (word >> (at * self.bits) & mask) as u8);
                self.letters.extend(letters);
            }
        } else {
            self.letters.extend((0..length).map(|at| {
                let (word, bit) = (
                    HEAD + at * self.bits / WORD_BITS,
                    at * self.bits % WORD_BITS,
                );
                let next = string.get(word + 1).copied().unwrap_or(0);
                let two = u64::from(string[word]) | u64::from(next) << WORD_BITS;
                (two >> bit) as u8 & mask as u8
            }));
        }
        self.letters.truncate(length);
        Ok(())
    }

    /// The sum of the squares of a string's values.
    fn q(&mut self, length: usize) -> f32 {
        self.suit(length);
        let squares = self.values.iter().enumerate().map(|(at, bits)| {
            let value = f64::from(f32::from_bits(*bits));
            length.saturating_sub(at) as f64 * value * value
        });
        squares.sum::<f64>() as f32
    }

    /// Writes the entries of the letters; `first` is the number of the first run at the first place.
    fn make(&mut self, first: u32, out: &mut [[u32; 2]]) {
        self.suit(self.letters.len());
        let (longest, bits) = (self.offsets.len(), self.bits as u32);
        let shifts_do = self.runs.letters().is_power_of_two() && longest * self.bits <= 32;
        let at_a_place = self.runs.at_a_place() as u32;
        let (mut base, mut rest) = (first, out);
        let whole = (self.letters.len() + 1).saturating_sub(longest);
        for place in 0..self.letters.len() {
            let here = longest.min(self.letters.len() - place);
            let (entries, behind) = rest.split_at_mut(here);
            let letters = &self.letters[place..place + here];
            let of_length = self.offsets.iter().zip(&self.values);
            if shifts_do && place < whole {
                let window = letters
                    .iter()
                    .fold(0u32, |sum, it| sum << bits | u32::from(*it));
                let mut shift = bits * longest as u32;
                for (entry, (offset, value)) in entries.iter_mut().zip(of_length) {
                    shift -= bits;
                    *entry = [base + offset + (window >> shift), *value];
                }
            } else {
                let (mut code, base_of_codes) = (0, self.runs.letters() as u32);
                for ((entry, letter), (offset, value)) in
                    entries.iter_mut().zip(letters).zip(of_length)
                {
                    code = code * base_of_codes + u32::from(*letter);
                    *entry = [base + offset + code, *value];
                }
            }
            base = base.wrapping_add(at_a_place);
            rest = behind;
        }
    }
}

/// Finds the strings of rows of such a form by their entries.
#[derive(Debug)]
pub struct Compactor {
    maker: Maker,
    string: Vec<u32>,
    made: Vec<[u32; 2]>,
    /// The sum of the squares of the string's entries, where one was found last.
    q: Option<f32>,
}

impl Compactor {
    /// None where there are no such runs.
    pub fn new(form: StringForm) -> Option<Self> {
        Some(Self {
            maker: Maker::new(form)?,
            string: Vec::new(),
            made: Vec::new(),
            q: None,
        })
    }

    /// Looks for the string that these entries are made of.
    pub fn take(
        &mut self,
        index: &[u32],
        value: &[f32],
    ) -> Result<Option<(&[u32], f32)>, OutOfMemory> {
        self.q = None;
        self.q = self.look(index, value)?;
        Ok(self.found())
    }

    /// The string that was found last, and the sum of the squares of its entries; None where they are not just those of a string, or
    /// the string would not be shorter.
    pub fn found(&self) -> Option<(&[u32], f32)> {
        self.q.map(|q| (&self.string[..], q))
    }

    fn look(&mut self, index: &[u32], value: &[f32]) -> Result<Option<f32>, OutOfMemory> {
        if index.len() > MOST_ENTRIES || !self.find_letters(index)? {
            return Ok(None);
        }
        let length = self.maker.letters.len();
        if self.maker.words(length) >= 2 * index.len() {
            return Ok(None);
        }
        if self.made.len() < index.len() {
            let missing = index.len() - self.made.len();
            self.made.room(missing)?.resize(index.len(), [0; 2]);
        }
        let made = &mut self.made[..index.len()];
        self.maker.make(0, made);
        let given = index.iter().zip(value);
        let same = made
            .iter()
            .zip(given)
            .all(|(made, (index, value))| *made == [*index, value.to_bits()]);
        if !same {
            return Ok(None);
        }
        self.pack()?;
        Ok(Some(self.maker.q(length)))
    }

    /// Takes the letters of the runs of one letter; false where there are none such.
    fn find_letters(&mut self, index: &[u32]) -> Result<bool, OutOfMemory> {
        let Maker { runs, letters, .. } = &mut self.maker;
        let longest = runs.longest();
        // runs of a long string, or of one that has not the longest run
        let corner = longest * (longest - 1) / 2;
        let length = match index.len() >= corner + longest {
            true => (index.len() + corner) / longest,
            false => (1..longest)
                .find(|it| runs.count(*it) == index.len())
                .unwrap_or(0),
        };
        if length == 0 || runs.count(length) != index.len() {
            return Ok(false);
        }
        letters.clear();
        letters.room(length)?;
        let (mut at, mut base) = (0, 0u64);
        for place in 0..length {
            let letter = u64::from(index[at]).checked_sub(base);
            match letter.filter(|it| *it < runs.letters() as u64) {
                Some(letter) => letters.push(letter as u8),
                None => return Ok(false),
            }
            at += longest.min(length - place);
            base += runs.at_a_place();
        }
        Ok(true)
    }

    fn pack(&mut self) -> Result<(), OutOfMemory> {
        let Maker {
            form,
            letters,
            bits,
            ..
        } = &self.maker;
        let words = self.maker.words(letters.len());
        self.string.clear();
        self.string.room(words)?.resize(words, 0);
        self.string[0] = u32::from(form.letters) | u32::from(form.longest) << 8;
        self.string[1] = letters.len() as u32;
        for (at, letter) in letters.iter().enumerate() {
            let (word, bit) = (HEAD + at * bits / WORD_BITS, at * bits % WORD_BITS);
            let two = u64::from(*letter) << bit;
            self.string[word] |= two as u32;
            if two >> WORD_BITS != 0 {
                self.string[word + 1] |= (two >> WORD_BITS) as u32;
            }
        }
        Ok(())
    }
}

fn form_of(string: &[u32]) -> StringForm {
    StringForm {
        letters: string[0] as u8,
        longest: (string[0] >> 8) as u8,
    }
}

/// Words of a compact row when it is visited.
pub(crate) fn visited_words(row: &Row<'_>) -> usize {
    let string = row.string();
    let (length, longest) = (string[1] as usize, usize::from(form_of(string).longest));
    // at the end of the string runs are shorter; that does not count here
    row_words(row.dense().len(), length * longest)
}

/// A row that was made, and of which.
#[derive(Debug, Default)]
struct Made {
    stored: Vec<u32>,
    words: Vec<u32>,
}

/// The places of a thread.
#[derive(Debug, Default)]
struct Places {
    made: [Made; IN_HAND],
    /// The place of the row that was made last.
    last: usize,
    maker: Option<Maker>,
}

thread_local! {
    static PLACES: RefCell<Places> = RefCell::default();
}

/// The row that is visited in the place of a compact one.
#[inline(never)]
pub(crate) fn visited(stored: Row<'_>) -> Row<'_> {
    let made = PLACES.with_borrow_mut(|places| {
        let made = places.made(&stored);
        let words = made.unwrap_or_else(|error| panic!("{error} of a row's features"));
        core::ptr::slice_from_raw_parts(words.as_ptr(), words.len())
    });
    // SAFETY: the words are the thread's, which uses the same place again only behind IN_HAND - LATEST rows more: whoever visits rows has
    // no more of them in hand, and in this thread.
    Row::new(unsafe { &*made }, stored.dense().len())
}

impl Places {
    fn made(&mut self, stored: &Row<'_>) -> Result<&[u32], OutOfMemory> {
        for back in 0..LATEST {
            let place = (self.last + IN_HAND - back) % IN_HAND;
            if self.made[place].stored == stored.words() {
                return Ok(&self.made[place].words);
            }
        }
        self.last = (self.last + 1) % IN_HAND;
        let (string, made) = (stored.string(), &mut self.made[self.last]);
        made.stored.clear();
        let form = form_of(string);
        if self.maker.as_ref().is_none_or(|known| known.form != form) {
            self.maker = Maker::new(form);
        }
        let Some(maker) = &mut self.maker else {
            unreachable!("the string is of a form that there is");
        };
        maker.unpack(string)?;
        let (dense, entries) = (stored.dense().len(), maker.runs.count(maker.letters.len()));
        let words = row_words(dense, entries);
        if made.words.len() < words {
            let missing = words - made.words.len();
            made.words.room(missing)?.resize(words, 0);
        }
        made.words.truncate(words);
        let out = begin_visited(stored, entries, &mut made.words);
        maker.make(dense as u32, out);
        made.stored.room(stored.words().len())?;
        made.stored.extend_from_slice(stored.words());
        Ok(&made.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Identity, RowMap};
    use crate::row::{write_compact, RowHead};
    use pgsvm_expand::{Degree, NoLetter};

    fn entries(alphabet: &str, longest: u32, text: &str) -> (Vec<u32>, Vec<f32>) {
        let degree = Degree::new(alphabet, longest).unwrap();
        let (mut index, mut value) = (Vec::new(), Vec::new());
        let take = |number: u64, weight: f64| {
            index.push(number as u32);
            value.push(weight as f32);
            Ok::<_, NoLetter>(())
        };
        degree.each(text.as_bytes(), take).unwrap();
        (index, value)
    }

    /// A text of so many letters.
    fn text(alphabet: &str, length: usize, seed: usize) -> String {
        let letters: Vec<_> = alphabet.chars().collect();
        let pick = |at: usize| letters[(at * at * 7 + at * seed + seed) % letters.len()];
        (0..length).map(pick).collect()
    }

    const FORMS: [(&str, u32); 5] = [
        ("ACGT", 8),
        ("ACGT", 3),
        ("01", 5),
        ("abc", 4),
        ("ABCDEFGHIJKLMNOPQRST", 3),
    ];

    #[test]
    fn entries_come_back_from_the_string() {
        for (alphabet, longest) in FORMS {
            let form = StringForm {
                letters: alphabet.len() as u8,
                longest: longest as u8,
            };
            let mut compactor = Compactor::new(form).unwrap();
            for length in [4usize, 7, 8, 20, 33, 200, 500] {
                let (index, value) = entries(alphabet, longest, &text(alphabet, length, 3));
                let Some((string, q)) = compactor.take(&index, &value).unwrap() else {
                    assert!(length < 8, "{alphabet} {longest} {length}");
                    continue;
                };
                assert!(string.len() < index.len());
                assert!((q - 1.0).abs() < 1e-6);
                let (dense, head) = (
                    2,
                    RowHead {
                        ordinal: 7,
                        group: 1,
                        cost: 2.0,
                    },
                );
                let mut words = vec![9; row_words(dense, string.len() / 2)];
                write_compact(&mut words, head, dense, (string, q)).copy_from_slice(&[5, 6]);
                let stored = Row::new(&words, dense);
                assert!(stored.is_compact() && stored.words().len() == words.len());
                let row = Identity.visited(stored);
                assert!(!row.is_compact());
                assert_eq!(
                    (row.ordinal(), row.group(), row.cost(), row.q()),
                    (7, 1, 2.0, q)
                );
                assert_eq!(row.dense()[1].to_bits(), 6);
                let wanted: Vec<_> = index
                    .iter()
                    .zip(&value)
                    .map(|(j, x)| [j + 2, x.to_bits()])
                    .collect();
                assert_eq!(row.sparse(), wanted);
                assert!(stored.visited_values() >= row.values());
            }
        }
    }

    #[test]
    fn rows_in_hand_stay_as_they_are() {
        let mut compactor = Compactor::new(StringForm {
            letters: 4,
            longest: 3,
        })
        .unwrap();
        let stored: Vec<_> = (0..20)
            .map(|number| {
                let (index, value) = entries("ACGT", 3, &text("ACGT", 30 + number, number));
                let (string, q) = compactor.take(&index, &value).unwrap().unwrap();
                let head = RowHead {
                    ordinal: number as u32,
                    group: 0,
                    cost: 1.0,
                };
                let mut words = vec![0; row_words(0, string.len() / 2)];
                write_compact(&mut words, head, 0, (string, q));
                (words, index)
            })
            .collect();
        for rows in stored.windows(6) {
            // one of them is asked for twice
            let made: Vec<_> = rows
                .iter()
                .chain(&rows[5..])
                .map(|it| Identity.visited(Row::new(&it.0, 0)))
                .collect();
            for (row, (_, index)) in made.iter().zip(rows) {
                assert!(row.sparse().iter().map(|it| &it[0]).eq(index));
            }
            assert_eq!(made[5].words().as_ptr(), made[6].words().as_ptr());
        }
    }

    #[test]
    fn what_is_no_string_stays_as_it_is() {
        let mut compactor = Compactor::new(StringForm {
            letters: 4,
            longest: 3,
        })
        .unwrap();
        let (index, value) = entries("ACGT", 3, "ACGTACGTACGT");
        assert!(compactor.take(&index, &value).unwrap().is_some());
        for at in 0..index.len() {
            let (mut other, mut weights) = (index.clone(), value.clone());
            other[at] += 1;
            assert!(compactor.take(&other, &value).unwrap().is_none(), "{at}");
            weights[at] *= 1.001;
            assert!(compactor.take(&index, &weights).unwrap().is_none());
            assert!(compactor
                .take(&index[..at], &value[..at])
                .unwrap()
                .is_none_or(|it| it.0[1] < 12));
        }
        assert!(compactor.take(&[], &[]).unwrap().is_none());
        assert!(Compactor::new(StringForm {
            letters: 200,
            longest: 200
        })
        .is_none());
    }
}
