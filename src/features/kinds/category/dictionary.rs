//! The categories of a column: which text has which code, learned while a training reads and frozen
//! with the model. Pure.
//!
//! Codes are shared by all category columns of a model and given in the order in which their values
//! first appear, so the sparse ids that they become are dense. A column's first values have codes of
//! their own. What comes when the limit is reached, or the memory for all columns is used up, and
//! values too long to be kept fall into one of `2^bits` hashed codes, a block that the column gets when
//! it first needs it; two values that meet there count as one. A value that training did not see has no
//! code, or the hashed one where the column has such a block.

use crate::base::keyed_hash::TextHash;
use pgsvm_core::memory::{copied, gathered, OutOfMemory, Room};
use pgsvm_expand::reading::of_thousands;
use pgsvm_expand::{hash, Collisions};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::rc::Rc;

/// Longest value that a dictionary keeps.
pub const LONGEST_VALUE_BYTES: usize = 1000;
/// Bytes that the dictionaries of all columns may take, as much as the words of texts.
const KEPT_BYTES: usize = 8 << 20;
/// Bytes that a value takes in a dictionary beside its text, about.
const VALUE_BYTES: usize = 96;
/// A column with no more distinct values than this never looks like a key.
const FEW_VALUES: u64 = 100;
/// Values are told to differ from row to row from so many on, of which one in so many may be another row's.
const SOME_VALUES: u64 = 20;
const SAME_ONE_IN: u64 = 10;

/// How categories are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryLimits {
    /// Values of a column that have codes of their own.
    pub most: u32,
    /// log2 of the hashed codes of a column.
    pub hash_bits: u32,
    /// Whether columns that look like keys, and values too long to be kept, are hashed, not refused.
    pub hash_keys: bool,
    /// Whether the user named the features. Of columns that nobody named, values that are UUIDs are no categories.
    pub named: bool,
}

impl Default for CategoryLimits {
    fn default() -> Self {
        Self {
            most: Self::MOST,
            hash_bits: 18,
            hash_keys: false,
            named: true,
        }
    }
}

impl CategoryLimits {
    pub const MOST: u32 = 1 << 20;
    pub const MOST_HASH_BITS: u32 = 24;

    /// Whether a value that looks like a UUID is no category.
    fn leaves_out_uuids(&self) -> bool {
        !self.named && !self.hash_keys
    }
}

/// The codes of a column's values.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Dictionary {
    /// Values with a code of their own, in the order of their codes.
    values: Vec<Rc<str>>,
    codes: Vec<u32>,
    #[serde(skip)]
    by_value: HashMap<Rc<str>, u32, TextHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    null_code: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hashed: Option<Hashed>,
}

/// The hashed codes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hashed {
    first_code: u32,
    bits: u32,
    /// Of the distinct values that training met, the share whose code is that of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collisions: Option<f64>,
}

/// What a code of a dictionary stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category<'a> {
    Value(&'a str),
    Null,
    /// A hashed code, from 0.
    Hashed(u32),
}

/// What all columns share: gives out codes below a limit, and memory for values.
#[derive(Debug, Clone, Copy)]
pub struct Codes {
    next: u64,
    end: u64,
    bytes_left: usize,
}

/// Why a value gets no code while a training reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCode {
    /// All codes are given away.
    Exhausted,
    /// It is too long.
    Long,
    Memory(OutOfMemory),
}

impl From<OutOfMemory> for NoCode {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

/// What a training counts of a column's values.
#[derive(Default)]
pub struct ValueTally {
    rows: u64,
    /// Whether one was a UUID and therefore left out.
    uuids: bool,
    /// Of the values without a code of their own.
    others: Option<Collisions>,
}

/// Rows with a value, and the distinct values in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyCount {
    pub rows: u64,
    pub values: u64,
    /// Whether `values` is an estimate.
    pub estimated: bool,
}

impl Codes {
    /// Codes from 0 to `end`, which is left out.
    pub fn below(end: u64) -> Self {
        Self {
            next: 0,
            end,
            bytes_left: KEPT_BYTES,
        }
    }

    /// Gives out no code that the dictionary has already.
    pub fn skip(&mut self, known: &Dictionary) {
        let hashed = known.hashed.map_or(0, |hashed| {
            u64::from(hashed.first_code) + u64::from(hashed.count())
        });
        let values = known.codes.last().into_iter().chain(&known.null_code);
        let behind = values.map(|code| u64::from(*code) + 1).max();
        self.next = self.next.max(hashed).max(behind.unwrap_or(0));
        self.bytes_left = self.bytes_left.saturating_sub(known.bytes());
    }

    /// Whether there is memory to keep a value.
    fn keep(&mut self, value: &str) -> bool {
        let left = self.bytes_left.checked_sub(value.len() + VALUE_BYTES);
        self.bytes_left = left.unwrap_or(self.bytes_left);
        left.is_some()
    }

    fn take(&mut self, count: u32) -> Result<u32, NoCode> {
        let first = self.next;
        if first + u64::from(count) > self.end.min(u64::from(u32::MAX)) {
            return Err(NoCode::Exhausted);
        }
        self.next += u64::from(count);
        Ok(first as u32)
    }
}

impl Hashed {
    fn code(self, hash: u64) -> u32 {
        self.first_code + (hash & ((1 << self.bits) - 1)) as u32
    }

    fn count(self) -> u32 {
        1 << self.bits
    }
}

impl Dictionary {
    /// The code of a value.
    #[inline]
    pub fn code(&self, value: &str) -> Option<u32> {
        match self.by_value.get(value) {
            Some(code) => Some(*code),
            None => Some(self.hashed?.code(hash::of_text(value))),
        }
    }

    /// The code of NULL, where it is a category of its own.
    pub fn null_code(&self) -> Option<u32> {
        self.null_code
    }

    /// The code of NULL, given out when it is new.
    pub fn learn_null(&mut self, codes: &mut Codes) -> Result<u32, NoCode> {
        match self.null_code {
            Some(code) => Ok(code),
            None => Ok(*self.null_code.insert(codes.take(1)?)),
        }
    }

    /// The code of a value that `by_value` does not know, given out where there is room for one more; None where it is left
    /// out.
    #[cold]
    pub fn learn(
        &mut self,
        value: &str,
        limits: &CategoryLimits,
        tally: &mut ValueTally,
        codes: &mut Codes,
    ) -> Result<Option<u32>, NoCode> {
        if limits.leaves_out_uuids() && is_uuid(value) {
            tally.uuids = true;
            return Ok(None);
        }
        let long = value.len() > LONGEST_VALUE_BYTES;
        if long && !limits.hash_keys {
            return Err(NoCode::Long);
        }
        if !long && self.values.len() < limits.most as usize && codes.keep(value) {
            return self.add(value, codes.take(1)?).map(Some);
        }
        self.hashed_code(value, limits, tally, codes).map(Some)
    }

    /// The code of a value that has none of its own.
    fn hashed_code(
        &mut self,
        value: &str,
        limits: &CategoryLimits,
        tally: &mut ValueTally,
        codes: &mut Codes,
    ) -> Result<u32, NoCode> {
        let hashed = match self.hashed {
            Some(hashed) => hashed,
            None => *self.hashed.insert(Hashed {
                first_code: codes.take(1 << limits.hash_bits)?,
                bits: limits.hash_bits,
                collisions: None,
            }),
        };
        let hash = hash::of_text(value);
        let others = match &mut tally.others {
            Some(others) => others,
            None => tally.others.insert(Collisions::new(hashed.bits)?),
        };
        others.add(hash)?;
        Ok(hashed.code(hash))
    }

    /// Adds a value with this code.
    fn add(&mut self, value: &str, code: u32) -> Result<u32, NoCode> {
        let value: Rc<str> = value.into();
        self.by_value.room(1)?.insert(Rc::clone(&value), code);
        self.values.room(1)?.push(value);
        self.codes.room(1)?.push(code);
        Ok(code)
    }

    /// The code of a value with one of its own.
    #[inline]
    pub fn known(&self, value: &str) -> Option<u32> {
        self.by_value.get(value).copied()
    }

    /// What a code stands for; None for one of another column.
    pub fn category(&self, code: u32) -> Option<Category<'_>> {
        if let Ok(at) = self.codes.binary_search(&code) {
            return Some(Category::Value(&self.values[at]));
        }
        if self.null_code == Some(code) {
            return Some(Category::Null);
        }
        let hashed = self.hashed?;
        let bucket = code.checked_sub(hashed.first_code)?;
        (bucket < hashed.count()).then_some(Category::Hashed(bucket))
    }

    /// The values with codes of their own, in order of first appearance.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// The same, each with its code.
    pub fn coded(&self) -> impl Iterator<Item = (&str, u32)> {
        self.values().zip(self.codes.iter().copied())
    }

    /// Whether it has hashed codes.
    pub fn is_hashed(&self) -> bool {
        self.hashed.is_some()
    }

    /// Of the distinct values that training met and hashed, the share whose code is that of another one, where that is known.
    pub fn collisions(&self) -> Option<f64> {
        self.hashed.and_then(|hashed| hashed.collisions)
    }

    /// Notes that share.
    pub fn note_collisions(&mut self, share: f64) {
        if let Some(hashed) = &mut self.hashed {
            hashed.collisions = Some(share);
        }
    }

    /// How many codes it has.
    pub fn len(&self) -> u64 {
        let hashed = self.hashed.map_or(0, |hashed| u64::from(hashed.count()));
        self.values.len() as u64 + u64::from(self.null_code.is_some()) + hashed
    }

    /// The code of its only value; of a column that is NULL in all rows, that of NULL.
    pub fn only_code(&self) -> Option<u32> {
        match self.codes.as_slice() {
            [only] => Some(*only),
            [] if self.hashed.is_none() => self.null_code,
            _ => None,
        }
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.values.iter().map(|value| value.len()).sum();
        texts + self.values.len() * VALUE_BYTES
    }
}

impl ValueTally {
    /// Counts a value that is not NULL.
    #[inline]
    pub fn count(&mut self) {
        self.rows += 1;
    }

    /// Whether all values so far were UUIDs that were left out.
    pub fn only_uuids(&self, dictionary: &Dictionary) -> bool {
        self.uuids && dictionary.len() == 0
    }

    /// Whether no row so far had a value.
    pub fn only_null(&self, dictionary: &Dictionary) -> bool {
        !self.uuids && dictionary.null_code.is_some() && dictionary.len() == 1
    }

    /// Of the distinct values without a code of their own, the share whose code is that of another one.
    pub fn collisions(&self) -> Option<f64> {
        self.others.as_ref().and_then(Collisions::share)
    }

    /// Whether nearly all values were different, and there were some.
    pub fn are_different(&self, dictionary: &Dictionary) -> bool {
        let values = dictionary.values.len() as u64;
        values >= SOME_VALUES && values * SAME_ONE_IN >= self.rows * (SAME_ONE_IN - 1)
    }

    /// How many distinct values there were, where the column looks like a key: more than half as many
    /// as rows with a value.
    pub fn key(&self, dictionary: &Dictionary) -> Option<KeyCount> {
        let others = self.others.as_ref().map_or(0, Collisions::distinct);
        let values = (dictionary.values.len() as u64 + others).min(self.rows);
        (values > FEW_VALUES && values > self.rows / 2).then_some(KeyCount {
            rows: self.rows,
            values,
            estimated: self.others.as_ref().is_some_and(|it| !it.is_exact()),
        })
    }
}

/// Whether a text is a UUID as PostgreSQL or others write it.
fn is_uuid(value: &str) -> bool {
    let value = value.trim();
    let bare = value
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or(value)
        .as_bytes();
    let hyphens = [8, 13, 18, 23];
    match bare.len() {
        32 => bare.iter().all(u8::is_ascii_hexdigit),
        36 => bare
            .iter()
            .enumerate()
            .all(|(at, byte)| match hyphens.contains(&at) {
                true => *byte == b'-',
                false => byte.is_ascii_hexdigit(),
            }),
        _ => false,
    }
}

/// A unit behind numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberUnit {
    /// With the blank in front of it.
    pub name: String,
    /// Where points may part thousands as well: a value, and the two numbers that it may be.
    pub thousands: Option<(String, [f64; 2])>,
}

/// Most characters of a unit.
const LONGEST_UNIT: usize = 12;
/// Least values of a column of numbers, and one in how many may be none.
const LEAST_NUMBERS: usize = 5;
const FEW_OTHERS: usize = 10;

impl Dictionary {
    /// The values that are no numbers, where nearly all are numbers.
    pub fn but_numbers(&self) -> Option<Vec<String>> {
        let is_number = |value: &str| value.trim().parse::<f64>().is_ok_and(f64::is_finite);
        let most = (self.values.len() / FEW_OTHERS).max(1);
        let others: Vec<_> = self
            .values()
            .filter(|value| !is_number(value))
            .take(most + 1)
            .map(|value| value.chars().take(20).collect::<String>())
            .collect();
        let numbers = self.values.len() - others.len();
        (others.len() <= most && numbers >= LEAST_NUMBERS).then_some(others)
    }

    /// The unit behind the numbers that all values are, with the blank in front of it, as of `994 kg`; None where some value is none.
    pub fn unit(&self) -> Option<NumberUnit> {
        if self.values.len() < LEAST_NUMBERS {
            return None;
        }
        let split = |value: &'_ str| {
            let at = value.find(|c: char| c.is_alphabetic() || c == '°')?;
            let number = value[..at].trim_end();
            let is_number = number.trim_start().parse::<f64>().is_ok();
            is_number.then_some(number.len())
        };
        let mut values = self.values();
        let first = values.next()?;
        let unit = &first[split(first)?..];
        let is_unit =
            unit.chars().count() <= LONGEST_UNIT && !unit.contains(|c: char| c.is_ascii_digit());
        let mut others = values.map(|value| split(value).map(|at| &value[at..]));
        let is_unit = is_unit && others.all(|other| other == Some(unit));
        let numbers = self
            .values()
            .map(|value| value[..value.len() - unit.len()].trim());
        is_unit.then(|| NumberUnit {
            name: unit.to_owned(),
            thousands: of_thousands(numbers).map(|(text, both)| (format!("{text}{unit}"), both)),
        })
    }

    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Self::of(
            gathered(self.values.iter().cloned())?,
            copied(&self.codes)?,
            self.null_code,
            self.hashed,
        )
    }

    /// What was stored.
    ///
    /// # Errors
    /// Codes that are none.
    pub fn stored(
        values: Vec<Rc<str>>,
        codes: Vec<u32>,
        null_code: Option<u32>,
        hashed: Option<Hashed>,
    ) -> Result<Self, String> {
        let ascending = codes.is_sorted_by(|a, b| a < b);
        if codes.len() != values.len() || !ascending {
            return Err("categories without codes".to_owned());
        }
        let fits = |hashed: Hashed| {
            hashed.bits <= CategoryLimits::MOST_HASH_BITS
                && hashed.first_code.checked_add(hashed.count()).is_some()
        };
        if !hashed.is_none_or(fits) {
            return Err("hashed categories without codes".to_owned());
        }
        Self::of(values, codes, null_code, hashed).map_err(|error| error.to_string())
    }

    fn of(
        values: Vec<Rc<str>>,
        codes: Vec<u32>,
        null_code: Option<u32>,
        hashed: Option<Hashed>,
    ) -> Result<Self, OutOfMemory> {
        let mut by_value = HashMap::default();
        by_value.room(values.len())?;
        by_value.extend(values.iter().cloned().zip(codes.iter().copied()));
        Ok(Self {
            values,
            codes,
            by_value,
            null_code,
            hashed,
        })
    }
}
