//! Many words: their bytes one behind the other, and a table that finds a word's number. The table's hash has a key of its own,
//! drawn for each, so that nobody can choose words that all fall together.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::base::interrupts;
use crate::base::memory::{filled, owned, OutOfMemory, Room};
use crate::base::prefetch::fetch_line;
use crate::tokens::GROUP;

/// What it takes to find a word that lies anywhere, and to compare, hash or move it, in multiplications.
pub(crate) const PLACED: usize = 256;
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
    key: Key,
}

/// A place of the table: a short word is known by it alone, so that one line of the processor's cache tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    packed: [u64; 2],
    /// Bits of the hash, and the length up to 255.
    tag: u32,
    /// The number + 1; 0 where there is none.
    number: u32,
}

/// Most bytes of a word that is packed whole.
const PACKED_BYTES: usize = 16;

/// A word that is looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Word<'a> {
    text: &'a str,
    /// Its first bytes, 0 behind its end.
    packed: [u64; 2],
}

impl<'a> Word<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut bytes = [0; PACKED_BYTES];
        let length = text.len().min(PACKED_BYTES);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        let packed = halves(u128::from_le_bytes(bytes));
        Self { text, packed }
    }

    /// A part of a text: where enough of it follows, without a branch by the word's length.
    #[inline(always)]
    pub fn within(text: &'a str, begin: usize, end: usize) -> Self {
        let word = &text[begin..end];
        match text.as_bytes()[begin..].first_chunk::<PACKED_BYTES>() {
            None => Self::new(word),
            Some(bytes) => {
                let behind = 8 * PACKED_BYTES.saturating_sub(end - begin) as u32;
                let kept = u128::MAX.checked_shr(behind).unwrap_or(0);
                let packed = halves(u128::from_le_bytes(*bytes) & kept);
                Self { text: word, packed }
            }
        }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }
}

#[inline(always)]
fn halves(packed: u128) -> [u64; 2] {
    [packed as u64, (packed >> 64) as u64]
}

/// Numbers that nobody knows, for the hash of what is packed; and the hash of longer words.
#[derive(Debug)]
struct Key {
    numbers: [u64; 2],
    long: RandomState,
}

impl Default for Key {
    fn default() -> Self {
        let long = RandomState::default();
        Self {
            numbers: [long.hash_one(0), long.hash_one(1)],
            long,
        }
    }
}

impl Key {
    /// A product of 128 bits, folded, as foldhash has it for texts of up to 16 bytes.
    #[inline(always)]
    fn hash(&self, word: &Word<'_>) -> u64 {
        if word.text.len() > PACKED_BYTES {
            return self.long.hash_one(word.text.as_bytes());
        }
        let factor = |at: usize| u128::from(word.packed[at] ^ self.numbers[at]);
        let [low, high] = halves(factor(0) * factor(1));
        low ^ high
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

    /// The bytes of all words, one behind the other.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
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
        let word = Word::new(word);
        match self.slots.is_empty() {
            true => None,
            false => self.find_at(&word, self.place(&word)),
        }
    }

    /// The numbers of several words, whose slots are asked for before the first is looked at. Of no more than [`GROUP`] words.
    #[inline(always)]
    pub fn find_all(&self, words: &[Word<'_>]) -> [Option<u32>; GROUP] {
        let mut found = [None; GROUP];
        if self.slots.is_empty() {
            return found;
        }
        let mut places = [(Slot::default(), 0); GROUP];
        for (place, word) in places.iter_mut().zip(words) {
            *place = self.place(word);
            fetch_line::<Slot, true>(self.slots.as_ptr().wrapping_add(place.1));
        }
        for ((found, word), place) in found.iter_mut().zip(words).zip(places) {
            *found = self.find_at(word, place);
        }
        found
    }

    #[inline(always)]
    fn find_at(&self, word: &Word<'_>, (wanted, mut at): (Slot, usize)) -> Option<u32> {
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return None;
            }
            let number = slot.number - 1;
            if slot.packed == wanted.packed
                && slot.tag == wanted.tag
                && (word.text.len() <= PACKED_BYTES || self.get(number as usize) == Some(word.text))
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
        let (slot, at) = self.place(&Word::new(word));
        self.put(Slot { number, ..slot }, at);
        Ok(number - 1)
    }

    /// What a word's slot is but for its number, and the place from which it is looked for.
    #[inline(always)]
    fn place(&self, word: &Word<'_>) -> (Slot, usize) {
        let hash = self.key.hash(word);
        let slot = Slot {
            packed: word.packed,
            tag: (hash >> 32) as u32 & !0xff | word.text.len().min(0xff) as u32,
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
            interrupts::worked(PLACED);
            let word = self.get(number).unwrap_or_default();
            let (slot, at) = self.place(&Word::new(word));
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
                while let Some(Owned(word)) = items.next_element()? {
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
struct Owned(String);

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Owned;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a word")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Owned, E> {
                owned(word).map(Owned).map_err(E::custom)
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
    fn a_word_is_packed_the_same_wherever_it_lies() {
        let text = "a bc def ghijklmno 0123456789abcdef 0123456789abcdefg é the end";
        let mut words = Words::default();
        for word in text.split(' ') {
            let begin = word.as_ptr() as usize - text.as_ptr() as usize;
            let within = Word::within(text, begin, begin + word.len());
            assert_eq!(within.text(), word);
            assert_eq!(within.packed, Word::new(word).packed, "{word}");
            assert_eq!(words.find_all(&[within])[0], None);
            let number = words.add(word).unwrap();
            assert_eq!(words.find_all(&[within])[0], Some(number));
        }
    }

    #[test]
    fn words_that_are_packed_alike_are_told_apart() {
        let long = "0123456789abcdef";
        let alike = [
            "",
            "\0",
            "\0\0",
            "a",
            "a\0",
            long,
            "0123456789abcdef0",
            "0123456789abcdef1",
        ];
        let mut words = Words::default();
        for (number, word) in alike.iter().enumerate() {
            assert_eq!(words.find(word), None, "{word:?}");
            assert_eq!(words.add(word).unwrap(), number as u32);
        }
        for (number, word) in alike.iter().enumerate() {
            assert_eq!(words.find(word), Some(number as u32));
        }
    }

    /// The most slots that any of the words is looked for in.
    fn most_looked_at(words: &Words) -> usize {
        let slots = words.slots.len();
        let places = (0..words.len()).map(|number| {
            let (_, from) = words.place(&Word::new(words.get(number).unwrap()));
            let at = words.slots.iter();
            let at = at.clone().position(|slot| slot.number == number as u32 + 1);
            (at.unwrap() + slots - from) % slots + 1
        });
        places.max().unwrap_or(0)
    }

    #[test]
    fn chosen_words_do_not_fall_together() {
        use crate::hash::of_text;
        const MANY: usize = 2000;
        // what is known of the hash of hashed features, of packed words, and of tables with a key that is the same everywhere
        let low_bits: fn(&str) -> u64 = |word| of_text(word) & 0xff;
        let fixed: fn(&str) -> u64 = |word| {
            let key = foldhash::quality::FixedState::with_seed(0);
            key.hash_one(word.as_bytes()) & 0xff
        };
        let short = |number: u64| format!("{number:x}");
        let long = |number: u64| format!("a word of more bytes {number:x}");
        let alike = |number: u64| format!("12345678{number:08x}");
        let first = |number: u64| format!("{number:08x}12345678");
        let zeros = |number: u64| "\0".repeat(number as usize % 17) + &format!("{number:x}");
        let floods: [Box<dyn Iterator<Item = String>>; 7] = [
            Box::new((0..).map(short).filter(|word| low_bits(word) == 0)),
            Box::new((0..).map(long).filter(|word| low_bits(word) == 0)),
            Box::new((0..).map(short).filter(|word| fixed(word) == 0)),
            Box::new((0..).map(long).filter(|word| fixed(word) == 0)),
            Box::new((0..).map(alike)),
            Box::new((0..).map(first)),
            Box::new((0..).map(zeros)),
        ];
        for (number, flood) in floods.into_iter().enumerate() {
            let mut words = Words::default();
            for word in flood.take(MANY) {
                words.add(&word).unwrap();
            }
            // of words that are drawn about 20
            let most = most_looked_at(&words);
            assert!(most < 100, "flood {number}: {most}");
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
