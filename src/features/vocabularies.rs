//! What is learned of texts before a training reads its rows: their vocabularies.

use super::by_name::ByName;
use super::error::FeatureError;
use super::kept::{KeptRow, KeptText, WantedParts, WordNumbers};
use super::kinds::made::MadeReader;
use super::kinds::text::reader::TextReader;
use super::kinds::{ArrayPart, FeatureKind, TextPart};
use super::part::{Part, TextKind};
use super::row::RowValues;
use super::set::FeatureSet;
use crate::pg::query::Column;
use crate::pg::varlena::stored_bytes;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::numbers::{count, How, Quantiles};
use pgsvm_expand::{Kept, KeptWords, Learner, Limits, Word};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Counts the words of texts, and finds the quantiles of numbers.
pub struct VocabularyLearner {
    texts: Vec<Counted>,
    reader: TextReader,
    numbers: Vec<RangeColumn>,
}

/// One column of numbers that are cut into ranges.
struct RangeColumn {
    number: usize,
    reader: MadeReader,
    name: String,
    values: Quantiles,
}

/// One column of texts.
struct Counted {
    /// Its part of the features.
    number: usize,
    at: usize,
    kind: TextKind,
    runs: RangeInclusive<u32>,
    name: String,
    learner: Learner,
    /// Its words for the pass that reads.
    kept: Kept,
    /// The numbers that the learner has for words that an index has kept, and whether it has kept some.
    indexed: WordNumbers,
    is_indexed: bool,
    /// Numbers of lexemes as a vector has them.
    lexemes: Vec<u32>,
}

impl Counted {
    /// Takes the words of a text that an index has kept.
    fn take_indexed(
        &mut self,
        text: &KeptText<'_>,
        reader: &mut TextReader,
    ) -> Result<(), OutOfMemory> {
        self.is_indexed = true;
        let (learner, kept) = (&mut self.learner, &mut self.kept);
        let longest = *self.runs.end();
        if longest > 1 {
            return reader.kept_words(text, longest, |words| {
                learner.take(words, |number| kept.take(number))
            });
        }
        // where not all have numbers of their own, those have that come first
        let has_room = learner.has_room(text.numbers.len());
        let text = match self.kind {
            TextKind::Lexemes(_) if !has_room => &text.as_vector(&mut self.lexemes)?,
            _ => text,
        };
        self.indexed.begin(text)?;
        for word in text.numbers {
            let number = self
                .indexed
                .of(text, *word, |word| learner.take_word(word))?;
            if let Some(number) = number {
                learner.take_number(number);
                kept.take(number);
            }
        }
        Ok(())
    }
}

impl VocabularyLearner {
    /// For rows with these columns; None where no vocabulary is to be learned. The words of texts are kept in up to so many bytes.
    pub fn new(
        features: &FeatureSet,
        columns: &[Column],
        limits: Limits,
        kept_bytes: usize,
    ) -> Result<Option<Self>, FeatureError> {
        let by_name = ByName::new(columns)?;
        let mut texts = Vec::new();
        let parts = features.parts.iter().enumerate();
        let parts = parts.filter_map(|(number, part)| Some((number, part.as_one::<TextPart>()?)));
        let unlearned = parts.filter(|(_, text)| text.is_unlearned());
        let columns = unlearned.clone().count();
        for (number, text) in unlearned {
            if let Part::Text { at, kind } = text.place(&by_name)? {
                texts.room(1)?.push(Counted {
                    number,
                    at,
                    kind,
                    runs: text.form.least..=text.form.runs,
                    name: text.name.clone(),
                    learner: Learner::new(limits),
                    kept: Kept::new(kept_bytes / columns),
                    indexed: WordNumbers::default(),
                    is_indexed: false,
                    lexemes: Vec::new(),
                });
            }
        }
        let this = Self {
            texts,
            reader: TextReader::default(),
            numbers: Self::spreads(features, &by_name)?,
        };
        let needed = !this.texts.is_empty() || !this.numbers.is_empty();
        Ok(needed.then_some(this))
    }

    /// Columns of numbers of which something is to be learned.
    fn spreads(
        features: &FeatureSet,
        by_name: &ByName<'_>,
    ) -> Result<Vec<RangeColumn>, FeatureError> {
        let mut all = Vec::new();
        for (number, part) in features.parts.iter().enumerate() {
            let unlearned = part.made().is_some_and(|made| !made.is_learned());
            if let Some(reader) = part.made_reader(by_name)?.filter(|_| unlearned) {
                all.room(1)?.push(RangeColumn {
                    number,
                    reader,
                    name: part.name(),
                    values: Quantiles::default(),
                });
            }
        }
        Ok(all)
    }

    /// What it wants of rows of which an index has kept something: the words of its texts.
    pub fn wanted(&self) -> Result<WantedParts, OutOfMemory> {
        let parts = self.texts.iter().map(|text| Part::Text {
            at: text.at,
            kind: text.kind,
        });
        WantedParts::of(parts, |_| false)
    }

    /// Takes the texts and numbers of row `number`, counted from 0, which counts as so many rows; what an index has kept of it, where
    /// it has.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn take(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        (number, rows): (u64, f64),
        indexed: Option<KeptRow<'_>>,
    ) -> Result<(), FeatureError> {
        let row = RowValues { values, nulls };
        for column in &mut self.numbers {
            // SAFETY: as the caller promises.
            let numbers = unsafe { column.reader.numbers(&column.name, &row) }?;
            if let Some([value, ..]) = numbers {
                column.values.take(*value, rows)?;
            }
        }
        for (place, text) in self.texts.iter_mut().enumerate() {
            text.learner.begin()?;
            if nulls[text.at] {
                continue;
            }
            let value = values[text.at];
            // SAFETY: as the caller promises.
            let bytes = unsafe { stored_bytes(value) };
            let words = indexed.as_ref().and_then(|row| row.words(place));
            if let (Some(words), Some(bytes)) = (words, bytes) {
                text.kept.begin(number);
                text.take_indexed(&words, &mut self.reader)?;
                text.kept.end(bytes);
                continue;
            }
            let (learner, kept) = (&mut text.learner, &mut text.kept);
            let kind = (value, text.kind);
            // SAFETY: as the caller promises.
            unsafe {
                let Some(bytes) = bytes else {
                    let take = |words: &[Word<'_>]| learner.take(words, |_| ());
                    self.reader.words(&text.name, kind, &text.runs, take)?;
                    continue;
                };
                kept.begin(number);
                let take = |words: &[Word<'_>]| learner.take(words, |number| kept.take(number));
                self.reader.words(&text.name, kind, &text.runs, take)?;
                kept.end(bytes);
            }
        }
        Ok(())
    }

    /// Gives the vocabularies to their parts; columns without a word, unless somebody `named` the features, go.
    pub fn finish(self, features: &mut FeatureSet, named: bool) -> Result<Finished, FeatureError> {
        for column in self.numbers {
            if let Some(ArrayPart {
                length,
                made: Some(made),
                ..
            }) = features.parts[column.number].as_one_mut()
            {
                let pieces = match made.how {
                    How::Bucket => made.number,
                    _ => made.number + 1,
                };
                made.knots = column.values.cuts(pieces)?;
                made.learned = true;
                *length = Some(made.knots.len() as u32 + 1);
            }
        }
        let mut finished = Finished::default();
        // from the last, as those behind a part that goes get another place
        for text in self.texts.into_iter().rev() {
            let (learned, numbers) = text.learner.finish()?;
            if learned.is_empty() && learned.is_learned() {
                if named {
                    return Err(FeatureError::NoWords { column: text.name });
                }
                features.parts.remove(text.number);
                for (behind, _) in &mut finished.kept {
                    *behind -= 1;
                }
                finished.without.room(1)?.push(text.name);
                continue;
            }
            // what an index has is read again rather than taken apart
            if text.kept.is_worth_it() && (!text.is_indexed || text.kept.is_whole()) {
                let kept = KeptWords::new(text.kept, numbers);
                finished.kept.room(1)?.push((text.number, kept));
            }
            if let Some(TextPart { vocabulary, .. }) = features.parts[text.number].as_one_mut() {
                *vocabulary = Rc::new(learned);
            }
        }
        Ok(finished)
    }
}

/// What is left when vocabularies have been learned.
#[derive(Default)]
pub struct Finished {
    /// Columns without a word, which are no features any more.
    pub without: Vec<String>,
    /// By part, words for the pass that reads.
    pub kept: Vec<(usize, KeptWords)>,
}

/// Finds arrays whose products are too many to be listed, before anything is read.
pub struct LengthGuess {
    /// Part and place of each array whose length is unknown.
    arrays: Vec<(usize, MadeReader)>,
}

impl LengthGuess {
    /// For rows with these columns; None where there is no such array. Products of several columns that are too many are hashed at once.
    pub fn new(
        features: &mut FeatureSet,
        columns: &[Column],
        hash_bits: u32,
    ) -> Result<Option<Self>, FeatureError> {
        let by_name = ByName::new(columns)?;
        let mut arrays = Vec::new();
        for (number, part) in features.parts.iter_mut().enumerate() {
            let Some(ArrayPart {
                length: None,
                made: Some(made),
                ..
            }) = part.as_one()
            else {
                continue;
            };
            match made.array {
                _ if made.how != How::Polynomial => {}
                None => part.hash_products(hash_bits),
                Some(_) => {
                    if let Some(reader) = part.made_reader(&by_name)? {
                        arrays.room(1)?.push((number, reader));
                    }
                }
            }
        }
        Ok((!arrays.is_empty()).then_some(Self { arrays }))
    }

    /// Looks at a row; whether there are arrays whose length no row has shown yet.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn take(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        (features, hash_bits): (&mut FeatureSet, u32),
    ) -> Result<(), FeatureError> {
        let row = RowValues { values, nulls };
        let mut at = 0;
        while let Some((number, reader)) = self.arrays.get_mut(at) {
            let part = &mut features.parts[*number];
            // SAFETY: as the caller promises.
            let numbers = unsafe { reader.numbers(&part.name(), &row) }?;
            let Some(numbers) = numbers.map(<[f64]>::len) else {
                at += 1;
                continue;
            };
            let degree = part.made().map_or(1, |made| made.number);
            if count(How::Polynomial, numbers, degree, &[]).is_none() {
                part.hash_products(hash_bits);
            }
            self.arrays.swap_remove(at);
        }
        Ok(())
    }
}
