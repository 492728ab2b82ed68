//! Which word has which number, and in how many texts it is: learned from all texts, and frozen with the model.
//!
//! Numbers are those of the words in the order of their characters, as scikit-learn's vocabulary has them. While texts are
//! counted up to [`Limits::most`] words are kept, those that come first; words behind those share `2^hash_bits` numbers by
//! their hash, unsigned: what meets in one counts as one word. Hashed numbers are behind those of the words.

use serde::{Serialize, Serializer};

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room};
use crate::collisions::Collisions;
use crate::hash;
use crate::kept::WordNumbers;
use crate::words::{Word, Words, LONGEST_WORD_BYTES, PLACED};

/// Bytes that the words may have while they are learned.
const KEPT_BYTES: usize = 64 << 20;
/// Most bits of hashed numbers.
pub const MOST_HASH_BITS: u32 = 24;

/// In how many texts a word is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Frequency {
    Texts(u64),
    /// Of all of them.
    Share(f64),
}

impl Frequency {
    /// As a number of texts.
    fn of(self, texts: u64) -> f64 {
        match self {
            Self::Texts(count) => count as f64,
            Self::Share(share) => share * texts as f64,
        }
    }
}

/// What a vocabulary may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Words with numbers of their own.
    pub most: u32,
    /// log2 of the hashed numbers of those that come later.
    pub hash_bits: u32,
    /// Words in fewer texts, and in more, have no number.
    pub least: Frequency,
    pub greatest: Frequency,
}

impl Limits {
    pub const MOST: u32 = 1 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most: Self::MOST,
            hash_bits: 18,
            least: Frequency::Texts(1),
            greatest: Frequency::Share(1.0),
        }
    }
}

/// Words with their numbers.
#[derive(Debug, Default, PartialEq)]
pub struct Vocabulary {
    words: Words,
    /// By number, hashed ones behind the others: in how many texts it is.
    texts: Vec<u32>,
    /// By number, the factor of how often it is in a text.
    idf: Vec<f64>,
    /// Texts that it was learned from; 0 where nothing was learned.
    all: u64,
    /// Of the distinct words that are hashed, the share that meet another.
    collisions: Option<f64>,
}

/// The form in which models store it.
#[derive(Serialize)]
struct WrittenVocabulary<'a> {
    words: &'a Words,
    texts: &'a [u32],
    all_texts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    collisions: Option<f64>,
}

impl Serialize for Vocabulary {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let written = WrittenVocabulary {
            words: &self.words,
            texts: &self.texts,
            all_texts: self.all,
            collisions: self.collisions,
        };
        written.serialize(to)
    }
}

impl Vocabulary {
    /// What was stored.
    ///
    /// # Errors
    /// Counts that are none of these words.
    pub fn stored(words: Words, texts: Vec<u32>, all: u64) -> Result<Self, String> {
        let hashed = texts.len().checked_sub(words.len());
        let fits = |hashed: usize| {
            hashed == 0 || (hashed.is_power_of_two() && hashed <= 1 << MOST_HASH_BITS)
        };
        let counted = texts.iter().all(|texts| u64::from(*texts) <= all);
        match hashed.is_some_and(fits) && counted {
            true => Self::of(words, texts, all).map_err(|error| error.to_string()),
            false => Err("a vocabulary without counts".to_owned()),
        }
    }

    fn of(words: Words, texts: Vec<u32>, all: u64) -> Result<Self, OutOfMemory> {
        let idf = gathered(texts.iter().map(|texts| idf(all, *texts)))?;
        Ok(Self {
            words,
            texts,
            idf,
            all,
            collisions: None,
        })
    }

    /// The same, with the share of hashed words that meet another.
    pub fn with_collisions(mut self, share: Option<f64>) -> Self {
        self.collisions = share;
        self
    }

    /// Of the distinct words met when it was learned that are hashed, the share whose number is that of another one; None where
    /// none is, or nobody counted.
    pub fn collisions(&self) -> Option<f64> {
        self.collisions
    }

    /// Whether a word with this number was met when it was learned.
    #[inline(always)]
    pub fn was_met(&self, number: u32) -> bool {
        // words with numbers of their own were
        (number as usize) < self.words.len()
            || self
                .texts
                .get(number as usize)
                .is_some_and(|texts| *texts > 0)
    }

    /// Whether it was learned.
    pub fn is_learned(&self) -> bool {
        self.all > 0
    }

    /// The number of a word; None where it has none.
    #[inline]
    pub fn number(&self, word: &str) -> Option<u32> {
        self.words.find(word).or_else(|| self.hashed_number(word))
    }

    /// Visits the numbers of those of some words, no more than [`crate::tokens::GROUP`], that have one.
    #[inline(always)]
    pub fn each_number(&self, words: &[Word<'_>], mut visit: impl FnMut(u32)) {
        let found = self.words.find_all(words);
        for (number, word) in found.into_iter().zip(words) {
            if let Some(number) = number.or_else(|| self.hashed_number(word.text())) {
                visit(number);
            }
        }
    }

    /// The number that a word shares with others.
    #[inline]
    fn hashed_number(&self, word: &str) -> Option<u32> {
        let hashed = self.is_hashed() && word.len() <= LONGEST_WORD_BYTES;
        hashed.then(|| {
            let bucket = hash::of_text(word) & (self.hashed() as u64 - 1);
            self.words.len() as u32 + bucket as u32
        })
    }

    /// The word with this number.
    pub fn word(&self, number: u64) -> Option<&str> {
        self.words.get(usize::try_from(number).ok()?)
    }

    /// The hashed number, from 0, that this number is.
    pub fn bucket(&self, number: u64) -> Option<u64> {
        let bucket = number.checked_sub(self.words.len() as u64)?;
        (bucket < self.hashed() as u64).then_some(bucket)
    }

    /// The factor of a number.
    #[inline]
    pub fn idf(&self, number: u32) -> f64 {
        self.idf.get(number as usize).copied().unwrap_or(0.0)
    }

    /// Words with numbers of their own.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Texts that it was learned from.
    pub fn texts(&self) -> u64 {
        self.all
    }

    /// Whether words without a number of their own share some.
    #[inline]
    pub fn is_hashed(&self) -> bool {
        self.texts.len() > self.words.len()
    }

    fn hashed(&self) -> usize {
        self.texts.len() - self.words.len()
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.words.bytes() + self.texts.len() * (size_of::<u32>() + size_of::<f64>())
    }
}

/// ln((1 + n) / (1 + df)) + 1, as scikit-learn has it.
fn idf(all: u64, texts: u32) -> f64 {
    ((1.0 + all as f64) / (1.0 + f64::from(texts))).ln() + 1.0
}

/// Counts in how many texts words are.
#[derive(Debug)]
pub struct Learner {
    limits: Limits,
    words: Words,
    counts: TextCounts,
    hashed: TextCounts,
    /// Words that are hashed, once there is one.
    met: Option<Collisions>,
    all: u32,
}

/// By number, in how many texts it is, and which text was the last.
#[derive(Debug, Default)]
struct TextCounts(Vec<(u32, u32)>);

impl TextCounts {
    #[inline]
    fn count(&mut self, number: usize, text: u32) {
        let (texts, last) = &mut self.0[number];
        if *last != text {
            (*texts, *last) = (*texts + 1, text);
        }
    }
}

impl Learner {
    /// Of no text as yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            words: Words::default(),
            counts: TextCounts::default(),
            hashed: TextCounts::default(),
            met: None,
            all: 0,
        }
    }

    /// Begins a text.
    pub fn begin(&mut self) -> Result<(), OutOfMemory> {
        self.all = self.all.checked_add(1).ok_or(OutOfMemory { bytes: 0 })?;
        Ok(())
    }

    /// Takes words of it, no more than [`crate::tokens::GROUP`] at once; visits the numbers under which they are counted.
    #[inline]
    pub fn take(
        &mut self,
        words: &[Word<'_>],
        mut visit: impl FnMut(u32),
    ) -> Result<(), OutOfMemory> {
        let found = self.words.find_all(words);
        for (number, word) in found.into_iter().zip(words) {
            match number {
                Some(number) => {
                    self.counts.count(number as usize, self.all);
                    visit(number);
                }
                None => self.take_new(word.text())?.into_iter().for_each(&mut visit),
            }
        }
        Ok(())
    }

    /// Whether so many words, if they are new, get numbers of their own in whatever order they come.
    pub fn has_room(&self, words: usize) -> bool {
        let bytes = words.saturating_mul(LONGEST_WORD_BYTES);
        self.words.len().saturating_add(words) <= self.limits.most as usize
            && self.words.text_bytes().saturating_add(bytes) <= KEPT_BYTES
    }

    /// Takes a word of it, and tells the number under which it is counted; None for one that is too long.
    pub fn take_word(&mut self, word: &str) -> Result<Option<u32>, OutOfMemory> {
        self.take_new(word)
    }

    /// Takes a word of it again, or of a text before, by the number under which it is counted.
    #[inline]
    pub fn take_number(&mut self, number: u32) {
        match number.checked_sub(WordNumbers::HASHED) {
            None => self.counts.count(number as usize, self.all),
            Some(bucket) => self.hashed.count(bucket as usize, self.all),
        }
    }

    /// Takes a word that was not known when the first of those that came with it was looked for.
    #[cold]
    fn take_new(&mut self, word: &str) -> Result<Option<u32>, OutOfMemory> {
        if let Some(number) = self.words.find(word) {
            self.counts.count(number as usize, self.all);
            return Ok(Some(number));
        }
        if word.len() > LONGEST_WORD_BYTES {
            return Ok(None);
        }
        let room = self.words.len() < self.limits.most as usize
            && self.words.text_bytes() + word.len() <= KEPT_BYTES;
        if room {
            let number = self.words.add(word)?;
            self.counts.0.room(1)?.push((1, self.all));
            return Ok(Some(number));
        }
        let hashed = 1 << self.limits.hash_bits;
        if self.hashed.0.is_empty() {
            self.hashed.0 = filled((0, 0), hashed)?;
            self.met = Some(Collisions::new(self.limits.hash_bits)?);
        }
        let hash = hash::of_text(word);
        if let Some(met) = &mut self.met {
            met.add(hash)?;
        }
        let bucket = hash & (hashed as u64 - 1);
        self.hashed.count(bucket as usize, self.all);
        Ok(Some(WordNumbers::HASHED + bucket as u32))
    }

    /// What was learned, and under which numbers the words are there.
    pub fn finish(mut self) -> Result<(Vocabulary, WordNumbers), OutOfMemory> {
        let all = u64::from(self.all);
        let mut met = self.met.take();
        let (least, greatest) = (self.limits.least.of(all), self.limits.greatest.of(all));
        let kept = |number: &u32| {
            let texts = f64::from(self.counts.0[*number as usize].0);
            texts >= least && texts <= greatest
        };
        let mut order = gathered((0..self.words.len() as u32).filter(kept))?;
        let word = |number: u32| self.words.get(number as usize).unwrap_or_default();
        order.sort_unstable_by(|a, b| {
            interrupts::worked(PLACED);
            word(*a).cmp(word(*b))
        });
        let mut words = Words::default();
        let mut texts = Vec::new();
        texts.room(order.len() + self.hashed.0.len())?;
        for number in &order {
            interrupts::worked(PLACED);
            words.add(word(*number))?;
            texts.push(self.counts.0[*number as usize].0);
        }
        texts.extend(self.hashed.0.iter().map(|(texts, _)| texts));
        if let Some(met) = &mut met {
            let others = (0..self.words.len() as u32).filter(|number| !kept(number));
            for number in others {
                interrupts::worked(PLACED);
                met.add(hash::of_text(word(number)))?;
            }
        }
        let share = met.as_ref().and_then(Collisions::share);
        let known = Vocabulary::of(words, texts, all)?.with_collisions(share);
        let numbers = self.numbers(&known, &order)?;
        Ok((known, numbers))
    }

    /// The numbers that the words have there, which are in this order there.
    fn numbers(&self, known: &Vocabulary, order: &[u32]) -> Result<WordNumbers, OutOfMemory> {
        let mut words = filled(WordNumbers::NONE, self.words.len())?;
        for (number, counted) in order.iter().enumerate() {
            words[*counted as usize] = number as u32;
        }
        if known.is_hashed() {
            // words in too few texts, or too many, are taken for ones that come later
            for (number, word) in words.iter_mut().zip(self.words.iter()) {
                interrupts::worked(PLACED);
                if *number == WordNumbers::NONE {
                    *number = known.hashed_number(word).unwrap_or(WordNumbers::NONE);
                }
            }
        }
        let hashed = known.words.len() as u32;
        Ok(WordNumbers { words, hashed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::GROUP;

    fn learned(texts: &[&str], limits: Limits) -> Vocabulary {
        let mut learner = Learner::new(limits);
        for text in texts {
            learner.begin().unwrap();
            let words: Vec<_> = text.split(' ').map(Word::new).collect();
            for words in words.chunks(GROUP) {
                learner.take(words, |_| ()).unwrap();
            }
        }
        learner.finish().unwrap().0
    }

    const TEXTS: [&str; 4] = ["b a b", "b c", "d b a", "b"];

    #[test]
    fn numbers_are_those_of_the_words_in_order() {
        let known = learned(&TEXTS, Limits::default());
        assert_eq!(
            known.words().iter().collect::<Vec<_>>(),
            ["a", "b", "c", "d"]
        );
        assert_eq!(known.number("c"), Some(2));
        assert_eq!(known.number("e"), None);
        assert_eq!(known.texts, [2, 4, 1, 1]);
        assert!((known.idf(0) - ((5.0f64 / 3.0).ln() + 1.0)).abs() < 1e-15);
        assert!((known.idf(1) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn words_in_too_few_or_too_many_texts_have_no_number() {
        let limits = |least, greatest| Limits {
            least,
            greatest,
            ..Limits::default()
        };
        let words = |limits| {
            let known = learned(&TEXTS, limits);
            known.words().iter().collect::<Vec<_>>().join("")
        };
        assert_eq!(
            words(limits(Frequency::Texts(2), Frequency::Share(1.0))),
            "ab"
        );
        assert_eq!(
            words(limits(Frequency::Texts(1), Frequency::Share(0.5))),
            "acd"
        );
        assert_eq!(
            words(limits(Frequency::Share(0.5), Frequency::Texts(2))),
            "a"
        );
        assert_eq!(
            words(limits(Frequency::Texts(9), Frequency::Share(1.0))),
            ""
        );
    }

    #[test]
    fn words_beyond_the_limit_are_hashed() {
        let limits = Limits {
            most: 2,
            hash_bits: 3,
            ..Limits::default()
        };
        let known = learned(&TEXTS, limits);
        assert_eq!(known.words().iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(known.len(), 10);
        let of = |word| u64::from(known.number(word).unwrap());
        assert_eq!(known.bucket(of("c")), Some(hash::of_text("c") & 7));
        assert!(known.number("never seen").is_some());
        assert_eq!(known.bucket(1), None);
        let counted: u32 = known.texts[2..].iter().sum();
        assert_eq!(counted, 2);
        // one bucket takes both
        let alone = Limits {
            hash_bits: 0,
            ..limits
        };
        assert_eq!(learned(&TEXTS, alone).collisions(), Some(1.0));
        assert_eq!(learned(&TEXTS, Limits::default()).collisions(), None);
        let met = |word| known.was_met(known.number(word).unwrap());
        assert!(met("a") && met("c") && met("d"));
        let empty = (2..10).filter(|number| !known.was_met(*number)).count();
        assert!(
            empty == 6 && known.collisions() == Some(0.0)
                || empty == 7 && known.collisions() == Some(1.0)
        );
    }

    #[test]
    fn too_long_a_word_has_no_number() {
        let long = "x".repeat(LONGEST_WORD_BYTES + 1);
        let known = learned(&[&long, "y"], Limits::default());
        assert_eq!((known.number(&long), known.len()), (None, 1));
    }

    fn stored(json: &serde_json::Value) -> Result<Vocabulary, String> {
        let words = serde_json::from_value(json["words"].clone()).unwrap();
        let texts = serde_json::from_value(json["texts"].clone()).unwrap();
        let known = Vocabulary::stored(words, texts, json["all_texts"].as_u64().unwrap())?;
        Ok(known.with_collisions(json["collisions"].as_f64()))
    }

    #[test]
    fn it_comes_back_from_json() {
        let limits = Limits {
            most: 2,
            hash_bits: 2,
            ..Limits::default()
        };
        for limits in [limits, Limits::default()] {
            let known = learned(&TEXTS, limits);
            let json = serde_json::to_value(&known).unwrap();
            assert_eq!(stored(&json).unwrap(), known);
        }
        for wrong in [
            serde_json::json!({"words": ["a"], "texts": [], "all_texts": 1}),
            serde_json::json!({"words": ["a"], "texts": [2], "all_texts": 1}),
            serde_json::json!({"words": [], "texts": [1, 1, 1], "all_texts": 1}),
        ] {
            assert!(stored(&wrong).is_err(), "{wrong}");
        }
    }
}
