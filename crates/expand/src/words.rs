//! Many words: their bytes one behind the other, and a table that finds a word's number. The table's hash has a key of its own,
//! drawn for each, so that nobody can choose words that all fall together.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::base::memory::{filled, owned, OutOfMemory, Room};

/// Longest word that has a number.
pub const LONGEST_WORD_BYTES: usize = 1000;
/// Most bytes of all words together: places are 32-bit numbers.
const MOST_BYTES: usize = 1 << 30;

/// Words by number.
#[derive(Debug, Default)]
pub struct Words {
    text: String,
    /// Where each word ends.
    ends: Vec<u32>,
    /// As many as a power of two, at most half of them taken.
    slots: Vec<Slot>,
    hash: RandomState,
}

/// A place of the table: a short word is known by it alone, so that one line of the processor's cache tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    packed: u64,
    /// Bits of the hash, and the length up to 255.
    tag: u32,
    /// The number + 1; 0 where there is none.
    number: u32,
}

/// Most bytes of a word that is packed whole.
const PACKED_BYTES: usize = 8;

/// The first bytes of a word in one number; all of a short one, so far that it is told from others of its length.
#[inline(always)]
fn packed(word: &[u8]) -> u64 {
    let four = |at: usize| {
        let bytes = [word[at], word[at + 1], word[at + 2], word[at + 3]];
        u64::from(u32::from_le_bytes(bytes))
    };
    match word.len() {
        0 => 0,
        length @ 1..4 => {
            let [first, middle, last] = [0, length / 2, length - 1].map(|at| u64::from(word[at]));
            first | middle << 8 | last << 16
        }
        length @ 4..=PACKED_BYTES => four(0) | four(length - 4) << 32,
        _ => four(0) | four(4) << 32,
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Words {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all words.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.ends.capacity() * size_of::<u32>()
            + self.slots.capacity() * size_of::<Slot>()
    }

    /// The word with this number.
    pub fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)? as usize;
        let begin = match number {
            0 => 0,
            _ => self.ends[number - 1] as usize,
        };
        self.text.get(begin..end)
    }

    /// All of them in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|number| self.get(number))
    }

    /// The number of a word.
    #[inline]
    pub fn find(&self, word: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let (wanted, mut at) = self.place(word);
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return None;
            }
            let number = slot.number - 1;
            if slot.packed == wanted.packed
                && slot.tag == wanted.tag
                && (word.len() <= PACKED_BYTES || self.get(number as usize) == Some(word))
            {
                return Some(number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a word that is not among them; gives its number.
    pub fn add(&mut self, word: &str) -> Result<u32, OutOfMemory> {
        let bytes = self.text.len() + word.len();
        if bytes > MOST_BYTES {
            return Err(OutOfMemory {
                bytes: bytes as u64,
            });
        }
        if 2 * (self.len() + 1) > self.slots.len() {
            self.widen()?;
        }
        self.text.room(word.len())?.push_str(word);
        self.ends.room(1)?.push(self.text.len() as u32);
        let number = self.ends.len() as u32;
        let (slot, at) = self.place(word);
        self.put(Slot { number, ..slot }, at);
        Ok(number - 1)
    }

    /// What a word's slot is but for its number, and the place from which it is looked for.
    #[inline(always)]
    fn place(&self, word: &str) -> (Slot, usize) {
        let mut hasher = self.hash.build_hasher();
        hasher.write(word.as_bytes());
        let hash = hasher.finish();
        let slot = Slot {
            packed: packed(word.as_bytes()),
            tag: (hash >> 32) as u32 & !0xff | word.len().min(0xff) as u32,
            number: 0,
        };
        (slot, hash as usize & (self.slots.len() - 1))
    }

    fn put(&mut self, slot: Slot, mut at: usize) {
        while self.slots[at].number != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }

    #[cold]
    fn widen(&mut self) -> Result<(), OutOfMemory> {
        let slots = (2 * self.slots.len()).max(16);
        self.slots = filled(Slot::default(), slots)?;
        for number in 0..self.len() {
            let word = self.get(number).unwrap_or_default();
            let (slot, at) = self.place(word);
            let number = number as u32 + 1;
            self.put(Slot { number, ..slot }, at);
        }
        Ok(())
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Words;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of words")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Words, A::Error> {
                let mut words = Words::default();
                while let Some(Word(word)) = items.next_element()? {
                    if words.find(&word).is_some() {
                        return Err(A::Error::custom("a word stands twice"));
                    }
                    words.add(&word).map_err(A::Error::custom)?;
                }
                Ok(words)
            }
        }
        from.deserialize_seq(List)
    }
}

/// One of a list.
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Word;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a word")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Word, E> {
                owned(word).map(Word).map_err(E::custom)
            }
        }
        from.deserialize_str(One)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_number_it_was_given() {
        let mut words = Words::default();
        assert_eq!(words.find("none"), None);
        let made = |number: u32| format!("w{}", number.wrapping_mul(2_654_435_761));
        for number in 0..10_000 {
            assert_eq!(words.add(&made(number)).unwrap(), number);
        }
        for number in 0..10_000 {
            assert_eq!(words.find(&made(number)), Some(number));
            assert_eq!(words.get(number as usize), Some(&*made(number)));
        }
        assert_eq!(words.find("w"), None);
        assert_eq!(words.len(), 10_000);
    }

    #[test]
    fn short_words_are_told_apart_by_what_is_packed() {
        let mut all = vec![String::new()];
        for length in 1..=5 {
            let longer = all.iter().filter(|word| word.len() == length - 1);
            let longer: Vec<_> = longer
                .flat_map(|word| ["a", "b", "\0"].map(|letter| format!("{word}{letter}")))
                .collect();
            all.extend(longer);
        }
        let mut seen = std::collections::HashSet::new();
        for word in &all {
            assert!(
                seen.insert((packed(word.as_bytes()), word.len())),
                "{word:?}"
            );
        }
    }

    #[test]
    fn they_come_back_from_json() {
        let mut words = Words::default();
        for word in ["", "a b", "é\"\\\n", "z"] {
            words.add(word).unwrap();
        }
        let json = serde_json::to_string(&words).unwrap();
        let back: Words = serde_json::from_str(&json).unwrap();
        assert_eq!(back, words);
        assert_eq!(back.find("é\"\\\n"), Some(2));
        assert!(serde_json::from_str::<Words>("[\"a\", \"a\"]").is_err());
    }
}
