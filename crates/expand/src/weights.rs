//! The words of a text as numbers with weights: tf-idf, divided by the length of all of them. One buffer for all texts.

use crate::base::memory::{OutOfMemory, Room};
use crate::vocabulary::Vocabulary;
use crate::words::Word;

/// Numbers of the words of one text.
#[derive(Debug, Default)]
pub struct Weigher {
    /// In any order, each as often as it is there.
    numbers: Vec<u32>,
    /// Ascending, each once, with its weight.
    weights: Vec<(u32, f64)>,
    /// How many words were taken, and how many of them the vocabulary has.
    words: u64,
    known: u64,
}

impl Weigher {
    /// Begins a text.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.weights.clear();
        (self.words, self.known) = (0, 0);
    }

    /// Takes those words that have a number, of no more than [`crate::tokens::GROUP`].
    #[inline]
    pub fn take(&mut self, known: &Vocabulary, words: &[Word<'_>]) -> Result<(), OutOfMemory> {
        let numbers = self.numbers.room(words.len())?;
        let mut met = 0;
        known.each_number(words, |number| {
            met += u64::from(known.was_met(number));
            numbers.push(number);
        });
        self.words += words.len() as u64;
        self.known += met;
        Ok(())
    }

    /// How many words were taken, and how many of them the vocabulary does not have.
    pub fn words(&self) -> [u64; 2] {
        [self.words, self.words - self.known]
    }

    /// Takes the number of a word.
    #[inline]
    pub fn take_number(&mut self, number: u32) -> Result<(), OutOfMemory> {
        self.numbers.room(1)?.push(number);
        Ok(())
    }

    /// Numbers and weights of the text, ascending. `sublinear`: 1 + ln tf in place of tf, how often a word is there;
    /// `counted`: without idf.
    pub fn finish(
        &mut self,
        known: &Vocabulary,
        (sublinear, counted): (bool, bool),
    ) -> Result<&[(u32, f64)], OutOfMemory> {
        self.numbers.sort_unstable();
        let mut squares = 0.0;
        for same in self.numbers.chunk_by(|a, b| a == b) {
            let times = same.len() as f64;
            let frequency = match sublinear {
                true => 1.0 + times.ln(),
                false => times,
            };
            let weight = match counted {
                true => frequency,
                false => frequency * known.idf(same[0]),
            };
            squares += weight * weight;
            self.weights.room(1)?.push((same[0], weight));
        }
        if squares > 0.0 {
            let length = squares.sqrt();
            self.weights
                .iter_mut()
                .for_each(|(_, weight)| *weight /= length);
        }
        Ok(&self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Learner, Limits};

    fn vocabulary() -> Vocabulary {
        let mut learner = Learner::new(Limits::default());
        for text in [&["a", "b"][..], &["a"], &["a", "c", "c"]] {
            learner.begin().unwrap();
            let words: Vec<_> = text.iter().copied().map(Word::new).collect();
            learner.take(&words, |_| ()).unwrap();
        }
        learner.finish().unwrap().0
    }

    fn weights(words: &[&str], sublinear: bool) -> Vec<(u32, f64)> {
        let (known, mut weigher) = (vocabulary(), Weigher::default());
        weigher.take(&known, &[Word::new("b")]).unwrap();
        weigher.clear();
        let words: Vec<_> = words.iter().copied().map(Word::new).collect();
        weigher.take(&known, &words).unwrap();
        weigher.finish(&known, (sublinear, false)).unwrap().to_vec()
    }

    #[test]
    fn weights_are_tf_idf_of_length_one() {
        let found = weights(&["c", "a", "c", "unseen"], false);
        // idf of a is 1, that of c 1 + ln 2
        let (a, c) = (1.0, 2.0 * (1.0 + 2f64.ln()));
        let length = f64::hypot(a, c);
        assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [0, 2]);
        assert!((found[0].1 - a / length).abs() < 1e-15);
        assert!((found[1].1 - c / length).abs() < 1e-15);
        let (known, mut weigher) = (vocabulary(), Weigher::default());
        for word in ["c", "unseen", "c"] {
            weigher.take(&known, &[Word::new(word)]).unwrap();
        }
        assert_eq!(weigher.words(), [3, 1]);
        weigher.clear();
        assert_eq!(weigher.words(), [0, 0]);
    }

    #[test]
    fn a_word_that_comes_often_may_count_less() {
        let found = weights(&["c", "a", "c"], true);
        let ratio = (1.0 + 2f64.ln()) * (1.0 + 2f64.ln());
        assert!((found[1].1 / found[0].1 - ratio).abs() < 1e-12);
    }

    #[test]
    fn a_text_of_unknown_words_has_no_weights() {
        assert!(weights(&["unseen"], false).is_empty());
        assert!(weights(&[], false).is_empty());
    }
}
