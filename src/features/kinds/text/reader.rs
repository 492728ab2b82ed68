//! Texts as features: a feature for each word, with its tf-idf weight. Words are those of `pgsvm_expand`, the lexemes of a text
//! search configuration or of a `tsvector`, or the elements of an array of texts. Called by the decoder.

use super::form::{TextForm, TextUnit};
use super::TextPart;
use crate::features::buffer::FeatureBuffer;
use crate::features::error::{utf8, FeatureError};
use crate::features::kept::{KeptText, WordNumbers};
use crate::features::kinds::pairs::SparseScratch;
use crate::features::part::TextKind;
use crate::features::row::{Decoded, Null, RowValues};
use crate::pg::text_array;
use crate::pg::text_search::{self, Lexemes};
use crate::pg::types::WordsKind;
use crate::pg::varlena::{stored_bytes, Varlena};
use crate::pg::word::unpadded;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::{Degree, KeptWords, NoLetter, Tokens, Vocabulary, Weigher, Word};
use std::ops::RangeInclusive;

/// Takes values apart into words, and words into weights; kept from row to row.
#[derive(Default)]
pub struct TextReader {
    tokens: Tokens,
    weigher: Weigher,
    /// By part, the words that an earlier pass over the rows has kept.
    pub kept: Vec<(usize, KeptWords)>,
    /// By part, the numbers in its vocabulary of the words that an index has kept.
    indexed: Vec<(usize, WordNumbers)>,
    /// Which row of that pass is next.
    pub row: u64,
    /// By form, how strings are read whose runs have places.
    degrees: Vec<(TextForm, Degree)>,
    /// Places of a vector's lexemes, and which ones stand there.
    places: Vec<(u16, u32)>,
}

impl TextReader {
    /// The words of a value, and runs of up to so many.
    ///
    /// # Safety
    /// `datum` is a value of this kind, not NULL, and stays where it is during the call.
    pub unsafe fn words(
        &mut self,
        column: &str,
        (datum, kind): (pg_sys::Datum, TextKind),
        runs: &RangeInclusive<u32>,
        visit: impl FnMut(&[Word<'_>]) -> Result<(), OutOfMemory>,
    ) -> Result<(), FeatureError> {
        // SAFETY: as the caller promises.
        unsafe { self.take_apart(column, (datum, kind), *runs.end()) }?;
        match kind {
            TextKind::Characters { .. } => self.tokens.each_gram(runs.clone(), visit)?,
            _ => self.tokens.each(*runs.end(), visit)?,
        }
        Ok(())
    }

    /// The words of a text that an index has kept, and runs of up to so many.
    pub fn kept_words(
        &mut self,
        text: &KeptText<'_>,
        longest: u32,
        visit: impl FnMut(&[Word<'_>]) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        self.tokens.clear();
        for word in text.words() {
            self.tokens.add(word)?;
        }
        self.tokens.each(longest, visit)
    }

    /// The words of a value, one by one; lexemes in the order of the text.
    ///
    /// # Safety
    /// As for `words`.
    pub unsafe fn tokens(
        &mut self,
        column: &str,
        value: (pg_sys::Datum, TextKind),
    ) -> Result<&Tokens, FeatureError> {
        // runs are of lexemes in the order of the text
        let longest = match value.1 {
            TextKind::Lexemes(_) => 2,
            _ => 1,
        };
        // SAFETY: as the caller promises.
        unsafe { self.take_apart(column, value, longest) }?;
        Ok(&self.tokens)
    }

    /// Has `tokens` hold the words of a value, or its characters.
    ///
    /// # Safety
    /// As for `words`.
    unsafe fn take_apart(
        &mut self,
        column: &str,
        (datum, kind): (pg_sys::Datum, TextKind),
        longest: u32,
    ) -> Result<(), FeatureError> {
        // SAFETY: as the caller promises; what is opened stays in place until it has been read.
        unsafe {
            match kind {
                TextKind::Words(WordsKind::Vector) => self.vector(column, datum, longest)?,
                TextKind::Words(WordsKind::Array) => self.array(column, datum)?,
                TextKind::Words(kind) => {
                    let value = Varlena::open(datum);
                    let text = unpadded(value.payload(), kind == WordsKind::Padded);
                    self.tokens.split(utf8(column, text)?)?;
                }
                TextKind::Lexemes(configuration) => {
                    let lexemes = text_search::lexemes(configuration, datum);
                    let read = self.vector(column, lexemes, longest);
                    pg_sys::pfree(lexemes.cast_mut_ptr());
                    read?;
                }
                TextKind::Characters {
                    padded,
                    as_they_are,
                } => {
                    let value = Varlena::open(datum);
                    let text = utf8(column, unpadded(value.payload(), padded))?;
                    self.tokens.split_characters(text, as_they_are)?;
                }
                TextKind::Places { .. } => self.tokens.clear(),
            }
        }
        Ok(())
    }

    /// # Safety
    /// As above, of a `tsvector`.
    unsafe fn vector(
        &mut self,
        column: &str,
        datum: pg_sys::Datum,
        runs: u32,
    ) -> Result<(), FeatureError> {
        let damaged = || damaged(column);
        // SAFETY: as the caller promises.
        let value = unsafe { Varlena::open(datum) };
        let lexemes = Lexemes::new(value.payload()).ok_or_else(damaged)?;
        self.tokens.clear();
        self.places.clear();
        for number in 0..lexemes.len() {
            let lexeme = lexemes.get(number).ok_or_else(damaged)?;
            let places = lexeme.places();
            if runs > 1 {
                self.places.room(places.len())?;
                self.places.extend(places.map(|it| (it, number as u32)));
                continue;
            }
            let word = utf8(column, lexeme.bytes)?;
            // without places it is there once
            for _ in 0..places.len().max(1) {
                self.tokens.add(word)?;
            }
        }
        self.places.sort_unstable();
        for (_, number) in &self.places {
            let lexeme = lexemes.get(*number as usize).ok_or_else(damaged)?;
            self.tokens.add(utf8(column, lexeme.bytes)?)?;
        }
        Ok(())
    }

    /// # Safety
    /// As above, of an array of texts.
    unsafe fn array(&mut self, column: &str, datum: pg_sys::Datum) -> Result<(), FeatureError> {
        self.tokens.clear();
        // SAFETY: as the caller promises; what is detoasted has a long header and lies as arrays do.
        unsafe {
            let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
            let length = pgrx::varlena::varsize_4b(array);
            let bytes = core::slice::from_raw_parts(array.cast::<u8>(), length);
            let read = text_array::for_each(bytes, |element| {
                self.tokens.add(utf8(column, element)?)?;
                Ok(())
            });
            if array != datum.cast_mut_ptr() {
                pg_sys::pfree(array.cast());
            }
            read.unwrap_or_else(|| Err(damaged(column)))
        }
    }

    /// The text in column `at` as sparse part `sparse_part`; by what is kept of it, where something is.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is of this kind.
    pub unsafe fn decode(
        &mut self,
        part: &TextPart,
        (part_number, sparse_part): (usize, i64),
        (row, at, kind, kept): (&RowValues<'_>, usize, TextKind, Option<KeptText<'_>>),
        (sparse, out): (&SparseScratch, &mut FeatureBuffer),
    ) -> Decoded {
        if row.nulls[at] {
            return Ok(Some(Null));
        }
        let TextPart {
            name,
            form,
            vocabulary: known,
            ..
        } = part;
        if let TextKind::Places { padded } = kind {
            // SAFETY: as the caller promises; the value stays in place until it has been read.
            let value = unsafe { Varlena::open(row.values[at]) };
            let text = unpadded(value.payload(), padded);
            let to = (sparse_part, sparse, out);
            return self.places(part, text, to).map(|()| None);
        }
        let mut weigher = core::mem::take(&mut self.weigher);
        weigher.clear();
        // SAFETY: as the caller promises.
        unsafe {
            let value = row.values[at];
            if let Some(text) = kept {
                self.read_indexed((part_number, form.runs), &text, known, &mut weigher)?;
            } else if !self.read_kept(part_number, value, &mut weigher)? {
                let runs = form.least..=form.runs;
                self.words(name, (value, kind), &runs, |words| {
                    weigher.take(known, words)
                })?;
            }
        }
        let weights = weigher.finish(known, (form.sublinear, form.unit == TextUnit::Spectrum))?;
        sparse.room(weights.len(), out)?;
        for (number, weight) in weights {
            sparse.push(part, (f64::from(*number), *weight), sparse_part, out)?;
        }
        for (all, own) in out.words.iter_mut().zip(weigher.words()) {
            *all += own;
        }
        self.weigher = weigher;
        Ok(None)
    }

    /// Takes the words of a part's value from what an index has kept, and runs of up to so many.
    fn read_indexed(
        &mut self,
        (part, longest): (usize, u32),
        text: &KeptText<'_>,
        known: &Vocabulary,
        weigher: &mut Weigher,
    ) -> Result<(), OutOfMemory> {
        if longest > 1 {
            return self.kept_words(text, longest, |words| weigher.take(known, words));
        }
        let place = self.indexed.iter().position(|(of, _)| *of == part);
        let place = match place {
            Some(place) => place,
            None => {
                let all = self.indexed.room(1)?;
                all.push((part, WordNumbers::default()));
                all.len() - 1
            }
        };
        let numbers = &mut self.indexed[place].1;
        numbers.begin(text)?;
        for word in text.numbers {
            let number = numbers.of(text, *word, |word| Ok(known.number(word)))?;
            number.map_or(Ok(()), |number| weigher.take_number(number))?;
        }
        Ok(())
    }

    /// Takes the words of a part's value from those that are kept; false where they are not.
    ///
    /// # Safety
    /// As for `words`.
    unsafe fn read_kept(
        &mut self,
        part: usize,
        value: pg_sys::Datum,
        weigher: &mut Weigher,
    ) -> Result<bool, OutOfMemory> {
        let kept = self.kept.iter_mut().find(|(of, _)| *of == part);
        // SAFETY: as the caller promises.
        match (kept, unsafe { stored_bytes(value) }) {
            (Some((_, kept)), Some(bytes)) => {
                kept.read(self.row, bytes, |number| weigher.take_number(number))
            }
            _ => Ok(false),
        }
    }

    /// The runs of letters of a string at their places.
    fn places(
        &mut self,
        part: &TextPart,
        text: &[u8],
        (sparse_part, sparse, out): (i64, &SparseScratch, &mut FeatureBuffer),
    ) -> Result<(), FeatureError> {
        let TextPart { name, form, .. } = part;
        if self.degrees.iter().all(|(known, _)| known != form) {
            let degree = form.degree().ok_or_else(|| damaged(name))?;
            self.degrees.room(1)?.push((form.clone(), degree));
        }
        let degree = self.degrees.iter().find(|(known, _)| known == form);
        let Some((_, degree)) = degree else {
            return Ok(());
        };
        sparse.room(text.len(), out)?;
        let push = |number: u64, weight| {
            let pair = (number as f64, weight);
            Ok::<_, Stopped>(sparse.push(part, pair, sparse_part, out)?)
        };
        degree.each(text, push).map_err(|stopped| match stopped {
            Stopped::Other(error) => error,
            Stopped::Letter(found) => FeatureError::Letter {
                column: name.to_owned(),
                place: found.place as u64 + 1,
                byte: found.byte,
                alphabet: form.alphabet.as_deref().unwrap_or(Degree::USUAL).to_owned(),
            },
        })
    }
}

/// Why a string is not read to its end.
enum Stopped {
    Letter(NoLetter),
    Other(FeatureError),
}

impl From<NoLetter> for Stopped {
    fn from(found: NoLetter) -> Self {
        Self::Letter(found)
    }
}

impl From<FeatureError> for Stopped {
    fn from(error: FeatureError) -> Self {
        Self::Other(error)
    }
}

fn damaged(column: &str) -> FeatureError {
    FeatureError::Damaged {
        column: column.to_owned(),
    }
}
