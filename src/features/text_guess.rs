//! What text columns that nobody named hold: numbers, times, texts or categories. Decided from some rows, before all are read.

use super::by_name::ByName;
use super::error::FeatureError;
use super::kinds::category::dictionary::LONGEST_VALUE_BYTES;
use super::kinds::text::form::TextForm;
use super::kinds::{FeaturePart, NumberPart, TextPart};
use super::read_text::ReadText;
use super::set::FeatureSet;
use crate::pg::query::Column;
use crate::pg::types::{words_kind, WordsKind};
use crate::pg::value::{date_order, DateOrder};
use crate::pg::varlena::Varlena;
use crate::pg::word::unpadded;
use pgrx::pg_sys;
use pgsvm_core::are_codes;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::hash::of_text;
use pgsvm_expand::reading::{of_thousands, Reading, LONGEST};
use std::collections::HashMap;
use std::rc::Rc;

/// Rows by which that is decided.
pub const LOOKED_AT: u64 = 2000;
/// A column of texts has more distinct values than this, and more than half as many as rows, ...
const FEW_VALUES: usize = 100;
/// ... and in the mean so many words at least; or two of which one in five at least comes in other rows too, and not in most.
const LEAST_WORDS: u64 = 5;
const LEAST_SHARED_WORDS: u64 = 2;
const SHARED_ONE_IN: u64 = 5;

/// Looks at text columns.
pub struct TextGuess {
    columns: Vec<Guessed>,
}

struct Guessed {
    number: usize,
    at: usize,
    padded: bool,
    /// Whether numbers or times were asked for; None where nobody said what it is.
    asked: Option<AskedText>,
    rows: u64,
    longest: usize,
    /// How many rows have each word, by its hash, and words in all.
    words: HashMap<u64, u64>,
    all_words: u64,
    /// Distinct values that are longer than a number is, by their hash.
    long: HashMap<u64, ()>,
    /// The others, and how many rows have each.
    short: HashMap<String, u64>,
    /// Numbers, as one who reads them would, with the class of their row.
    classes: Vec<(String, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AskedText {
    Number,
    Time,
}

impl TextGuess {
    /// For rows with these columns; None where there is none to be looked at. `named`: whether somebody named the features.
    pub fn new(
        features: &FeatureSet,
        columns: &[Column],
        named: bool,
    ) -> Result<Option<Self>, FeatureError> {
        let by_name = ByName::new(columns)?;
        let mut guessed = Vec::new();
        for (number, part) in features.parts.iter().enumerate() {
            let asked = match (part.reading(), part.dictionary()) {
                (Some(reading), _) if reading.open => Some(match part.is_number() {
                    true => AskedText::Number,
                    false => AskedText::Time,
                }),
                // what a model before has learned stays
                (_, Some(known)) if !named && known.len() == 0 && part.crossed().is_none() => None,
                _ => continue,
            };
            let at = by_name.place(part.column())?;
            let kind = words_kind(columns[at].type_oid);
            if let Some(kind @ (WordsKind::Text | WordsKind::Padded)) = kind {
                guessed.room(1)?.push(Guessed {
                    number,
                    at,
                    padded: kind == WordsKind::Padded,
                    asked,
                    rows: 0,
                    longest: 0,
                    words: HashMap::new(),
                    all_words: 0,
                    long: HashMap::new(),
                    short: HashMap::new(),
                    classes: Vec::new(),
                });
            }
        }
        Ok((!guessed.is_empty()).then_some(Self { columns: guessed }))
    }

    /// Looks at a row, of this class where that is known.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn take(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        class: Option<u32>,
    ) -> Result<(), OutOfMemory> {
        for column in &mut self.columns {
            if nulls[column.at] {
                continue;
            }
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(values[column.at]) };
            let bytes = unpadded(value.payload(), column.padded);
            let text = core::str::from_utf8(bytes).unwrap_or_default();
            column.take(text, class)?;
        }
        Ok(())
    }

    /// Has columns of numbers, times and texts read as such.
    pub fn finish(self, features: &mut FeatureSet, sublinear: bool) {
        for column in self.columns {
            let part = &mut features.parts[column.number];
            if let Some(reading) = column.reading() {
                become_number(part, reading);
                if let (Reading::Number, Some(read)) = (reading, part.reading_mut()) {
                    read.thousands = column.thousands();
                }
            } else if column.asked.is_none() && column.holds_texts() {
                become_text(part, sublinear);
            }
        }
    }
}

/// Has a part read as numbers or times.
fn become_number(part: &mut FeaturePart, by: Reading) {
    match part.reading_mut() {
        Some(reading) => (reading.by, reading.open) = (by, false),
        None => {
            *part = NumberPart {
                name: part.column().to_owned(),
                type_name: part.type_name().to_owned(),
                time: by.is_time(),
                reading: Some(ReadText::new(by)),
            }
            .into();
        }
    }
}

/// Has a category column read as texts.
fn become_text(part: &mut FeaturePart, sublinear: bool) {
    *part = TextPart {
        name: part.column().to_owned(),
        type_name: part.type_name().to_owned(),
        form: TextForm {
            sublinear,
            asked: true,
            ..TextForm::default()
        },
        vocabulary: Rc::default(),
    }
    .into();
}

/// How dates are read that are written alike in two orders.
pub fn preferred_order() -> Reading {
    match date_order() {
        DateOrder::Ymd => Reading::Ymd,
        DateOrder::Dmy => Reading::Dmy,
        DateOrder::Mdy => Reading::Mdy,
    }
}

impl Guessed {
    fn take(&mut self, text: &str, class: Option<u32>) -> Result<(), OutOfMemory> {
        self.rows += 1;
        self.longest = self.longest.max(text.len());
        let is_new = match text.len() <= LONGEST {
            true => match self.short.get_mut(text) {
                Some(rows) => {
                    *rows += 1;
                    false
                }
                None => self.short.room(1)?.insert(text.to_owned(), 1).is_none(),
            },
            false => self.long.room(1)?.insert(of_text(text), ()).is_none(),
        };
        if let Some(class) = class.filter(|_| text.len() <= LONGEST) {
            self.classes.room(1)?.push((text.to_owned(), class));
        }
        for word in text.split_ascii_whitespace() {
            self.all_words += 1;
            if is_new {
                *self.words.room(1)?.entry(of_text(word)).or_default() += 1;
            }
        }
        Ok(())
    }

    /// How its values are read as numbers or times; None where they are not.
    fn reading(&self) -> Option<Reading> {
        let preferred = preferred_order();
        let values = self.short.iter();
        let values = values.map(|(text, rows)| (text.as_str(), *rows));
        if let Some(asked) = self.asked {
            let is_one = |by: Reading| by.is_time() == (asked == AskedText::Time);
            return Reading::most_of(values, preferred, is_one);
        }
        // a long text is no number
        if !self.long.is_empty() {
            return None;
        }
        let read = Reading::of(values, preferred)?;
        (!read.may_be_codes || !self.are_codes(read.reading)).then_some(read.reading)
    }

    /// A text whose point may part thousands, where all points may.
    fn thousands(&self) -> Option<String> {
        let (text, _) = of_thousands(self.short.keys().map(String::as_str))?;
        Some(text.to_owned())
    }

    fn are_codes(&self, by: Reading) -> bool {
        let read = self.classes.iter();
        let read = read.filter_map(|(text, class)| Some((by.read(text)? as f32, *class)));
        let mut column: Vec<_> = read.collect();
        column.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        are_codes(&column).unwrap_or(false)
    }

    fn holds_texts(&self) -> bool {
        let distinct = self.short.len() + self.long.len();
        let many = distinct > FEW_VALUES && 2 * distinct as u64 > self.rows;
        let long = self.all_words >= LEAST_WORDS * self.rows || self.longest > LONGEST_VALUE_BYTES;
        many && (long || self.shares_words(distinct as u64))
    }

    /// Whether values have words that come in others too, as titles have and keys have not.
    fn shares_words(&self, distinct: u64) -> bool {
        let all: u64 = self.words.values().sum();
        let shared = self
            .words
            .values()
            .filter(|rows| (2..=distinct / 2).contains(rows));
        let shared: u64 = shared.sum();
        self.all_words >= LEAST_SHARED_WORDS * self.rows && shared * SHARED_ONE_IN >= all
    }
}
