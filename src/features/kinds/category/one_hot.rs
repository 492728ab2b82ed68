//! The category columns of a row: from a value to its code, which a training learns on the way. Called
//! by the decoder.

use super::dictionary::{CategoryLimits, Codes, Dictionary, NoCode, ValueTally};
use super::CategoryPart;
use crate::features::buffer::{FeatureBuffer, Nulls};
use crate::features::error::{utf8, FeatureError};
use crate::features::error_words::MOST_TYPED;
use crate::features::kinds::number::columns;
use crate::features::kinds::pairs::{is_rounded, SparseScratch};
use crate::features::kinds::FeaturePart;
use crate::features::row::{Decoded, Null, RowValues};
use crate::features::set::FeatureSet;
use crate::pg::types::{CategoryKind, NumberKind};
use crate::pg::word;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use std::collections::HashMap;
use std::rc::Rc;

/// What is kept from row to row; the codes themselves are in the feature set's dictionaries.
pub struct OneHot {
    /// Codes of enum values met so far, by oid, for each part.
    enums: Vec<HashMap<u32, Option<u32>>>,
    /// Two values together.
    pair: Vec<u8>,
    /// While a training reads.
    learning: Option<Learning>,
}

/// What a training learns by.
struct Learning {
    limits: CategoryLimits,
    codes: Codes,
    /// One a part.
    tallies: Vec<ValueTally>,
    /// Whether new values of the row at hand get codes.
    row_teaches: bool,
}

impl OneHot {
    /// For rows with that many parts.
    pub fn new(parts: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            enums: gathered((0..parts).map(|_| HashMap::default()))?,
            pair: Vec::new(),
            learning: None,
        })
    }

    /// From now on new values get codes, below `end` and behind those that `features` have already.
    pub fn learn(
        &mut self,
        features: &FeatureSet,
        limits: CategoryLimits,
        end: u64,
    ) -> Result<(), OutOfMemory> {
        let mut codes = Codes::below(end);
        let known = features.parts.iter().filter_map(FeaturePart::dictionary);
        known.for_each(|dictionary| codes.skip(dictionary));
        self.learning = Some(Learning {
            limits,
            codes,
            tallies: gathered(self.enums.iter().map(|_| ValueTally::default()))?,
            row_teaches: true,
        });
        Ok(())
    }

    pub fn is_learning(&self) -> bool {
        self.learning.is_some()
    }

    /// Whether something is learned of the row at hand.
    pub fn teaches(&self) -> bool {
        self.learning.as_ref().is_some_and(|it| it.row_teaches)
    }

    /// Whether new values of the next row get codes.
    pub fn row_teaches(&mut self, teaches: bool) {
        if let Some(learning) = self.learning.as_mut() {
            learning.row_teaches = teaches;
        }
    }

    /// Refuses columns that look like keys; `excluded` are left out already.
    pub fn check_keys(
        &self,
        features: &FeatureSet,
        excluded: &[String],
    ) -> Result<(), FeatureError> {
        let learning = self.learning.as_ref();
        let Some(learning) = learning.filter(|learning| !learning.limits.hash_keys) else {
            return Ok(());
        };
        let (mut keys, mut numbers, mut units) = (Vec::new(), Vec::new(), Vec::new());
        for (part, tally) in features.parts.iter().zip(&learning.tallies) {
            let Some(category) = part.as_one::<CategoryPart>() else {
                continue;
            };
            let Some(count) = tally.key(&category.dictionary) else {
                continue;
            };
            match category.looks_like_numbers() {
                Some(others) => numbers.push((part.name(), others)),
                None => {
                    let unit = part.dictionary().and_then(Dictionary::unit);
                    units.extend(unit.map(|unit| (part.name(), unit)));
                    keys.push((part.name(), count));
                }
            }
        }
        let refused_keys: Vec<_> = keys.iter().map(|(name, _)| name.clone()).collect();
        // what one of them says to leave out, the next one does too: of two such arguments one counts
        let mut left_out = (!learning.limits.named).then(|| excluded.to_vec());
        let mut refused = Vec::new();
        if !keys.is_empty() {
            refused.push(FeatureError::Keys {
                keys,
                units,
                left_out: left_out.clone(),
            });
            left_out
                .iter_mut()
                .for_each(|all| all.extend_from_slice(&refused_keys));
        }
        let are_few = features.parts.len() <= MOST_TYPED;
        let but = |left: &[&String]| match are_few {
            true => read_as_numbers(features, &numbers, left),
            false => Vec::new(),
        };
        let keys: Vec<&String> = refused_keys.iter().collect();
        for (column, others) in &numbers {
            refused.push(FeatureError::Numbers {
                column: column.clone(),
                others: others.clone(),
                read: but(&keys),
                without: but(&[keys.as_slice(), &[column]].concat()),
                left_out: left_out.clone(),
            });
            left_out.iter_mut().for_each(|all| all.push(column.clone()));
        }
        match refused.len() {
            0 => Ok(()),
            1 => Err(refused.remove(0)),
            _ => Err(FeatureError::Several(refused)),
        }
    }

    /// Notes in category part `number` how many of its values that were hashed meet.
    pub fn note_collisions(
        &self,
        part: &mut CategoryPart,
        number: usize,
    ) -> Result<(), OutOfMemory> {
        if let Some(share) = self.tally(number).and_then(ValueTally::collisions) {
            own(&mut part.dictionary)?.note_collisions(share);
        }
        Ok(())
    }

    fn tally(&self, number: usize) -> Option<&ValueTally> {
        self.learning.as_ref().map(|it| &it.tallies[number])
    }

    /// Whether all values of part `number`, with these categories, were UUIDs, which are none.
    pub fn only_uuids(&self, known: &Dictionary, number: usize) -> bool {
        self.tally(number).is_some_and(|it| it.only_uuids(known))
    }

    /// Whether its values differ from row to row.
    pub fn are_different(&self, known: &Dictionary, number: usize) -> bool {
        self.tally(number).is_some_and(|it| it.are_different(known))
    }

    /// Whether it was NULL in all rows, where that is a category.
    pub fn only_null(&self, known: &Dictionary, number: usize) -> bool {
        self.tally(number).is_some_and(|it| it.only_null(known))
    }

    /// Decodes the category of `kind` in column `at` of part `number`.
    ///
    /// # Safety
    /// As for `Decoder::decode`; the column is of that kind.
    #[inline]
    pub unsafe fn decode(
        &mut self,
        (part, number): (&mut CategoryPart, usize),
        row: &RowValues<'_>,
        (at, kind): (usize, CategoryKind),
        nulls: Nulls,
        (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
    ) -> Decoded {
        let null = row.nulls[at];
        if null && self.only_uuids(&part.dictionary, number) {
            return Ok(None);
        }
        let code = match null {
            true => self.null_code(part, nulls)?,
            // SAFETY: as the caller promises.
            false => unsafe { self.code(part, number, row.values[at], kind) }?,
        };
        add(part, (code, 1.0), null, (sparse, out))
    }

    /// The same of the values of two columns together; NULL where one of them is.
    ///
    /// # Safety
    /// As for `Decoder::decode`; the columns hold categories of these kinds.
    #[inline]
    pub unsafe fn decode_pair(
        &mut self,
        (part, number): (&mut CategoryPart, usize),
        row: &RowValues<'_>,
        pair: [(usize, CategoryKind); 2],
        nulls: Nulls,
        (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
    ) -> Decoded {
        let null = pair.iter().any(|(at, _)| row.nulls[*at]);
        let code = match null {
            true => self.null_code(part, nulls)?,
            false => {
                let values = pair.map(|(at, kind)| (row.values[at], kind));
                // SAFETY: as the caller promises.
                unsafe { self.pair_code(part, number, values) }?
            }
        };
        add(part, (code, 1.0), null, (sparse, out))
    }

    /// The same of a category with a number for its value; NULL where one of the two is.
    ///
    /// # Safety
    /// As for `Decoder::decode`; the columns hold categories and numbers of these kinds.
    #[inline]
    pub unsafe fn decode_weighted(
        &mut self,
        (part, number): (&mut CategoryPart, usize),
        row: &RowValues<'_>,
        ((at, kind), (by, by_kind)): ((usize, CategoryKind), (usize, NumberKind)),
        nulls: Nulls,
        (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
    ) -> Decoded {
        let null = row.nulls[at] || row.nulls[by];
        if null {
            let code = self.null_code(part, nulls)?;
            return add(part, (code, 1.0), null, (sparse, out));
        }
        // behind the row's dense values for a moment
        // SAFETY: as the caller promises.
        let code = unsafe {
            columns(number, row, by..by + 1, by_kind, out)?;
            self.code(part, number, row.values[at], kind)
        }?;
        let value = out.dense.pop().unwrap_or(0.0);
        if !(value as f32).is_finite() {
            let crossed = part.crossed.as_ref();
            return Err(FeatureError::NotFinite {
                column: crossed.map_or_else(String::new, |(name, _)| name.clone()),
                element: None,
                value,
            });
        }
        out.rounded |= is_rounded(value);
        match code {
            Some(_) if value as f32 == 0.0 => Ok(None),
            code => add(part, (code, value as f32), null, (sparse, out)),
        }
    }

    /// The code of the value of category part `number`; None where it is none of those known.
    ///
    /// # Safety
    /// `datum` is a category of `kind`, not NULL, and stays where it is during the call.
    #[inline]
    unsafe fn code(
        &mut self,
        part: &mut CategoryPart,
        number: usize,
        datum: pg_sys::Datum,
        kind: CategoryKind,
    ) -> Result<Option<u32>, FeatureError> {
        if kind != CategoryKind::Enum {
            // SAFETY: as the caller promises.
            return unsafe { self.text_code(part, number, datum, kind) };
        }
        let value = word::enum_value(datum).to_u32();
        if let Some(code) = self.enums[number].get(&value) {
            return Ok(*code);
        }
        // SAFETY: as the caller promises.
        let code = unsafe { self.text_code(part, number, datum, kind) }?;
        // a value that a row left out did not teach may come again in one that does
        if code.is_some() || !self.is_learning() {
            self.enums[number].room(1)?.insert(value, code);
        }
        Ok(code)
    }

    /// The same by the value's text.
    ///
    /// # Safety
    /// As for `code`.
    #[inline]
    unsafe fn text_code(
        &mut self,
        part: &mut CategoryPart,
        number: usize,
        datum: pg_sys::Datum,
        kind: CategoryKind,
    ) -> Result<Option<u32>, FeatureError> {
        // an enum's values are few by their type
        let counts = kind != CategoryKind::Enum;
        let find = |bytes: &[u8]| self.bytes_code(part, number, bytes, counts);
        // SAFETY: as the caller promises.
        unsafe { word::with_text(datum, kind, find) }
    }

    /// The same of the bytes of the text. `counts`: whether there may be so many values that they are a key.
    #[inline]
    fn bytes_code(
        &mut self,
        part: &mut CategoryPart,
        number: usize,
        bytes: &[u8],
        counts: bool,
    ) -> Result<Option<u32>, FeatureError> {
        let CategoryPart {
            name, dictionary, ..
        } = part;
        let value = utf8(name, bytes)?;
        let learning = self.learning.as_mut();
        let Some(learning) = learning.filter(|learning| learning.row_teaches) else {
            return Ok(dictionary.code(value));
        };
        let tally = &mut learning.tallies[number];
        if counts {
            tally.count();
        }
        match dictionary.known(value) {
            Some(code) => Ok(Some(code)),
            None => own(dictionary)?
                .learn(value, &learning.limits, tally, &mut learning.codes)
                .map_err(|reason| no_code(name, bytes.len(), reason)),
        }
    }

    /// The code of two values together: a comma and a blank between them, a backslash before commas and backslashes of the
    /// first.
    ///
    /// # Safety
    /// As for `code`, of both.
    unsafe fn pair_code(
        &mut self,
        part: &mut CategoryPart,
        number: usize,
        values: [(pg_sys::Datum, CategoryKind); 2],
    ) -> Result<Option<u32>, FeatureError> {
        let mut pair = core::mem::take(&mut self.pair);
        pair.clear();
        for (at, (datum, kind)) in values.into_iter().enumerate() {
            let add = |bytes: &[u8]| {
                pair.room(2 * bytes.len() + 2)?;
                for byte in bytes {
                    if at == 0 && matches!(byte, b',' | b'\\') {
                        pair.push(b'\\');
                    }
                    pair.push(*byte);
                }
                if at == 0 {
                    pair.extend(b", ");
                }
                Ok::<_, OutOfMemory>(())
            };
            // SAFETY: as the caller promises.
            unsafe { word::with_text(datum, kind, add) }?;
        }
        let code = self.bytes_code(part, number, &pair, true);
        self.pair = pair;
        code
    }

    /// The code of NULL in a category part, where it is a category of its own.
    #[cold]
    fn null_code(
        &mut self,
        part: &mut CategoryPart,
        nulls: Nulls,
    ) -> Result<Option<u32>, FeatureError> {
        if nulls != Nulls::Mean {
            return Ok(None);
        }
        let CategoryPart {
            name, dictionary, ..
        } = part;
        let learning = self.learning.as_mut();
        match learning.filter(|learning| learning.row_teaches) {
            Some(learning) => own(dictionary)?
                .learn_null(&mut learning.codes)
                .map(Some)
                .map_err(|reason| no_code(name, 0, reason)),
            None => Ok(dictionary.null_code()),
        }
    }
}

/// Adds the feature of a code, with its value; a value without one is counted.
#[inline]
fn add(
    part: &CategoryPart,
    (code, value): (Option<u32>, f32),
    null: bool,
    (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
) -> Decoded {
    match code {
        Some(code) => sparse.code(part, (code, value), out)?,
        None => out.unseen_categories += u64::from(!null),
    }
    Ok(null.then_some(Null))
}

/// The dictionary, as one that nobody else has.
fn own(dictionary: &mut Rc<Dictionary>) -> Result<&mut Dictionary, OutOfMemory> {
    if Rc::get_mut(dictionary).is_none() {
        *dictionary = Rc::new(dictionary.copied()?);
    }
    // nobody has what has just been made
    Ok(Rc::get_mut(dictionary).unwrap_or_else(|| unreachable!("it is shared with nobody")))
}

/// The entries of all features but those left, with texts that look like numbers read as such.
fn read_as_numbers(
    features: &FeatureSet,
    numbers: &[(String, Vec<String>)],
    left: &[&String],
) -> Vec<String> {
    let is_number = |name: &String| numbers.iter().any(|(column, _)| column == name);
    let parts = features.parts.iter().map(|part| (part, part.name()));
    let parts = parts.filter(|(_, name)| !left.contains(&name));
    let entries = parts.map(|(part, name)| match is_number(&name) {
        true => part.as_number(),
        false => part.entry(),
    });
    entries.collect()
}

fn no_code(name: &str, bytes: usize, reason: NoCode) -> FeatureError {
    let column = name.to_owned();
    match reason {
        NoCode::Exhausted => FeatureError::TooManyCategories { column },
        NoCode::Long => FeatureError::LongCategory { column, bytes },
        NoCode::Memory(error) => FeatureError::OutOfMemory(error),
    }
}
