//! From the `features` argument and the source's columns to a `FeatureSet`. Called once per training,
//! in the leader.

use super::category::CategoryLimits;
use super::entry::{parse_form, rejoined, unquoted, EntryForm};
use super::error::FeatureError;
use super::error_words::spread;
use super::made_form::Made;
use super::part::{
    array_kind, check_category, check_text, check_words, find_configuration, index_kind,
    made_input, number_kind,
};
use super::set::{FeaturePart, FeatureSet, ReadText, SkippedColumn, MOST_PARTS};
use super::text_form::{TextForm, Unit, MOST_CHARACTERS};
use crate::base::near;
use crate::pg::query::Column;
use crate::pg::types::{
    category_kind, type_kind, type_name, words_kind, CategoryKind, NumberKind, TypeKind,
};
use crate::pg::vector::VectorKind;
use core::mem::{discriminant, Discriminant};
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::numbers::{count, How, MOST_DEGREE, MOST_KNOTS};
use pgsvm_expand::{Degree, Reading, MOST_RUN};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Chooses the features: `entries` in their order, or without entries every usable column but the
/// label, in the order of the source. Also returns the columns that were left out because of their
/// types. Array lengths stay open until the first row.
pub fn resolve(
    entries: Option<&[String]>,
    columns: &[Column],
    label: &str,
) -> Result<(FeatureSet, Vec<SkippedColumn>), FeatureError> {
    let columns = ByName::new(columns)?;
    let (parts, skipped) = match entries {
        Some(entries) if entries.len() > MOST_PARTS => {
            return Err(FeatureError::TooMany {
                entries: entries.len(),
            })
        }
        Some(entries) => {
            let named = named_parts(entries, &columns, label);
            let named = named.map_err(|error| split(entries, &columns).unwrap_or(error));
            (named?, Vec::new())
        }
        None => all_parts(&columns, label)?,
    };
    match parts.is_empty() {
        true => Err(FeatureError::Nothing {
            columns: skipped.iter().map(ToString::to_string).collect(),
        }),
        false => {
            let features = FeatureSet {
                parts,
                ..FeatureSet::default()
            };
            Ok((features, skipped))
        }
    }
}

fn all_parts(
    columns: &ByName<'_>,
    label: &str,
) -> Result<(Vec<FeaturePart>, Vec<SkippedColumn>), FeatureError> {
    let mut parts = Vec::new();
    let mut skipped = Vec::new();
    for column in columns.all {
        if column.name.is_empty() || column.name == label {
            continue;
        }
        match column_part(column) {
            Some(part) => parts.room(1)?.push(part),
            None => skipped.room(1)?.push(SkippedColumn {
                name: column.name.clone(),
                type_name: type_of(column),
            }),
        }
    }
    for part in &parts {
        for column in part.columns() {
            columns.find(column)?;
        }
    }
    Ok((parts, skipped))
}

/// Features without a column that one error names.
const MOST_MISSING: usize = 10;

fn named_parts(
    entries: &[String],
    columns: &ByName<'_>,
    label: &str,
) -> Result<Vec<FeaturePart>, FeatureError> {
    let mut parts: Vec<FeaturePart> = Vec::new();
    parts.room(entries.len())?;
    let mut known = HashSet::new();
    known.room(entries.len())?;
    let mut missing = Vec::new();
    for entry in entries {
        match named_part(entry, columns, label) {
            Ok(part) => {
                check_entry(entry, &part, label, known.insert(identity(&part)))?;
                parts.push(part);
            }
            Err(error @ FeatureError::MissingColumn { .. }) if missing.len() < MOST_MISSING => {
                missing.push(error);
            }
            Err(_) if missing.len() == MOST_MISSING => break,
            Err(error) => return Err(error),
        }
    }
    match missing.len() {
        0 => Ok(parts),
        1 => Err(missing.remove(0)),
        _ => Err(FeatureError::Several(missing)),
    }
}

/// What is wrong where commas have split entries.
fn split(entries: &[String], columns: &ByName<'_>) -> Option<FeatureError> {
    let whole = rejoined(entries, |entry| columns.has(entry))?;
    let torn = entries
        .iter()
        .zip(&whole)
        .find(|(one, whole)| one.trim() != *whole);
    Some(FeatureError::Split {
        entry: torn?.0.clone(),
        entries: whole.iter().flat_map(|entry| spread(entry)).collect(),
    })
}

/// Refuses an entry that reads the label, or that is not new.
fn check_entry(
    entry: &str,
    part: &FeaturePart,
    label: &str,
    is_new: bool,
) -> Result<(), FeatureError> {
    if part.columns().any(|column| column == label) {
        return Err(FeatureError::Label {
            column: label.to_owned(),
        });
    }
    match is_new {
        true => Ok(()),
        false => Err(FeatureError::Duplicate {
            entry: entry.to_owned(),
        }),
    }
}

/// By which a part that has learned nothing is told from all others of the same columns.
fn identity(part: &FeaturePart) -> (Discriminant<FeaturePart>, Vec<String>) {
    let columns = part.columns().map(str::to_owned);
    // of one text there may be words, and words of another kind
    let words = part.vocabulary().map(|_| part.name());
    let words = words.or_else(|| part.made().map(|_| part.name()));
    (discriminant(part), columns.chain(words).collect())
}

fn named_part(entry: &str, columns: &ByName<'_>, label: &str) -> Result<FeaturePart, FeatureError> {
    if !columns.has(entry) {
        match parse_form(entry) {
            EntryForm::Sparse(index, value) => return sparse_part(&index, &value, columns),
            EntryForm::Libsvm(name) => return libsvm_part(&name, columns),
            EntryForm::Category(name) => return category_part(&name, columns),
            EntryForm::Read { name, time } => return read_part(&name, time, columns),
            EntryForm::Text(arguments) => return text_part(entry, &arguments, columns),
            EntryForm::Characters(unit, arguments) => {
                return characters_part(entry, unit, &arguments, columns)
            }
            EntryForm::Made(How::Product, arguments) => {
                return crossed_part(entry, &arguments, columns)
            }
            EntryForm::Made(how, arguments) => return made_part(entry, how, &arguments, columns),
            EntryForm::HashedProducts(arguments, bits) => {
                let mut part = made_part(entry, How::Polynomial, &arguments, columns)?;
                part.hash_products(hash_bits(entry, &bits)?);
                return Ok(part);
            }
            EntryForm::Hashed(index, value, bits) => {
                return hashed_part(entry, (&index, &value), &bits, columns)
            }
            EntryForm::Unknown => {
                return Err(FeatureError::Entry {
                    entry: entry.to_owned(),
                })
            }
            EntryForm::Name => {}
        }
    }
    let column = columns.find(entry)?;
    match column_part(column) {
        Some(part) => Ok(part),
        None if column.name == label => Err(FeatureError::Label {
            column: label.to_owned(),
        }),
        None => Err(wrong_type(
            column,
            "a number, a date, a boolean, text, an enum, a tsvector or an array of numbers or texts",
        )),
    }
}

/// What a column is by its type alone.
fn column_part(column: &Column) -> Option<FeaturePart> {
    let name = column.name.clone();
    let type_name = type_of(column);
    match type_kind(column.type_oid) {
        TypeKind::Number(kind) if kind != NumberKind::Boolean => Some(FeaturePart::Column {
            name,
            type_name,
            time: kind.is_time(),
            reading: None,
        }),
        TypeKind::Vector(VectorKind::Sparsevec) => Some(FeaturePart::Sparsevec { name, type_name }),
        TypeKind::Array(_) | TypeKind::Vector(_) => Some(FeaturePart::Array {
            name,
            type_name,
            length: None,
            made: None,
        }),
        _ if category_kind(column.type_oid).is_some() => Some(FeaturePart::Category {
            name,
            type_name,
            asked: false,
            crossed: None,
            by_number: false,
            dictionary: Rc::default(),
        }),
        _ => words_kind(column.type_oid).map(|_| FeaturePart::Text {
            name,
            type_name,
            form: TextForm::default(),
            vocabulary: Rc::default(),
        }),
    }
}

/// A text as a number or a time; of a column that is one, the column.
fn read_part(name: &str, time: bool, columns: &ByName<'_>) -> Result<FeaturePart, FeatureError> {
    let column = columns.find(name)?;
    if let Some(part @ FeaturePart::Column { time: is_time, .. }) = column_part(column) {
        if is_time == time {
            return Ok(part);
        }
    }
    check_words(column, true)?;
    Ok(FeaturePart::Column {
        name: column.name.clone(),
        type_name: type_of(column),
        time,
        reading: Some(ReadText {
            open: true,
            ..ReadText::new(match time {
                true => Reading::Ymd,
                false => Reading::Number,
            })
        }),
    })
}

fn category_part(name: &str, columns: &ByName<'_>) -> Result<FeaturePart, FeatureError> {
    let column = columns.find(name)?;
    Ok(FeaturePart::Category {
        name: column.name.clone(),
        type_name: type_of(column),
        asked: matches!(check_category(column)?, CategoryKind::Integer(_)),
        crossed: None,
        by_number: false,
        dictionary: Rc::default(),
    })
}

/// Words of a text: `text(column)`, `text(column, configuration)`, and with a number behind runs of so many words.
fn text_part(
    entry: &str,
    arguments: &[String],
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let column = columns.find(&arguments[0])?;
    check_words(column, true)?;
    let (mut configuration, mut runs) = (None, 1);
    for argument in &arguments[1..] {
        match argument.parse::<i64>() {
            Ok(number) => {
                let known = u32::try_from(number).ok();
                let known = known.filter(|runs| (1..=MOST_RUN).contains(runs));
                runs = known.ok_or_else(|| FeatureError::Runs {
                    entry: entry.to_owned(),
                    given: number,
                })?;
            }
            Err(_) => configuration = Some(find_configuration(argument)?.name),
        }
    }
    Ok(FeaturePart::Text {
        name: column.name.clone(),
        type_name: type_of(column),
        form: TextForm {
            configuration,
            runs,
            asked: true,
            ..TextForm::default()
        },
        vocabulary: Rc::default(),
    })
}

/// Runs of characters: `ngrams(column, least, most)`, `spectrum(column, length)`, `weighted_degree(column, most, letters)`.
fn characters_part(
    entry: &str,
    unit: Unit,
    arguments: &[String],
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let column = columns.find(&arguments[0])?;
    check_words(column, true)?;
    let refused = || FeatureError::Characters {
        entry: entry.to_owned(),
    };
    let number = |at: usize| -> Result<u32, FeatureError> {
        let number = arguments[at].parse().map_err(|_| refused())?;
        match (1..=MOST_CHARACTERS).contains(&number) {
            true => Ok(number),
            false => Err(refused()),
        }
    };
    let (least, runs) = match unit {
        Unit::Ngrams => (number(1)?, number(2)?),
        Unit::Spectrum => (number(1)?, number(1)?),
        _ => (1, number(1)?),
    };
    let form = TextForm {
        unit,
        least,
        runs,
        alphabet: arguments
            .get(2)
            .filter(|letters| unit == Unit::Degree && *letters != Degree::USUAL)
            .cloned(),
        asked: true,
        ..TextForm::default()
    };
    if least > runs || (unit == Unit::Degree && form.degree().is_none()) {
        return Err(refused());
    }
    Ok(FeaturePart::Text {
        name: column.name.clone(),
        type_name: type_of(column),
        form,
        vocabulary: Rc::default(),
    })
}

/// Numbers made of numbers.
fn made_part(
    entry: &str,
    how: How,
    arguments: &[String],
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let (names, number) = match (how, arguments.split_last()) {
        (How::Polynomial | How::Bucket | How::Spline, Some((last, names))) => {
            let most = match how {
                How::Polynomial => MOST_DEGREE,
                _ => MOST_KNOTS,
            };
            let number = last.parse().ok().filter(|it| (1..=most).contains(it));
            let number = number.ok_or_else(|| FeatureError::Making {
                entry: entry.to_owned(),
            })?;
            (names, number)
        }
        _ => (arguments, 0),
    };
    let first = columns.find(&names[0])?;
    let takes_arrays = names.len() == 1 && matches!(how, How::Log | How::Polynomial);
    let is_array = takes_arrays && matches!(type_kind(first.type_oid), TypeKind::Array(_));
    let mut made = Made {
        how,
        number,
        others: Vec::new(),
        knots: Vec::new(),
        array: is_array.then_some(0),
        learned: false,
    };
    for name in &names[1..] {
        let column = columns.find(name)?;
        let others = made.others.room(1)?;
        others.push((column.name.clone(), type_of(column)));
    }
    // of an array the first row tells, of what is cut into ranges all of them
    let length = match is_array || !made.is_learned() {
        true => None,
        false => {
            // what is more than can be listed is hashed, once it is known into how many features
            count(how, names.len(), number, &[]).map(|count| count as u32)
        }
    };
    let part = FeaturePart::Array {
        name: first.name.clone(),
        type_name: type_of(first),
        length,
        made: Some(made),
    };
    for name in names {
        if let Some(made) = part.made() {
            made_input(made, columns.find(name)?)?;
        }
    }
    Ok(part)
}

/// Columns that are crossed: the product of numbers, or pairs of categories.
fn crossed_part(
    entry: &str,
    names: &[String],
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let mut all = Vec::new();
    for name in names {
        all.room(1)?.push(columns.find(name)?);
    }
    let is_number = |column: &&Column| number_kind(column).is_ok();
    let is_category =
        |column: &Column| number_kind(column).is_err() && category_kind(column.type_oid).is_some();
    if all.iter().all(is_number) {
        return made_part(entry, How::Product, names, columns);
    }
    let pair = match all.as_slice() {
        [first, second] if is_category(first) => Some((first, second)),
        // the category stands first
        [second, first] if is_category(first) => Some((first, second)),
        _ => None,
    };
    match pair {
        Some((first, second)) if is_category(second) || is_number(second) => {
            Ok(FeaturePart::Category {
                name: first.name.clone(),
                type_name: type_of(first),
                asked: true,
                crossed: Some((second.name.clone(), type_of(second))),
                by_number: is_number(second),
                dictionary: Rc::default(),
            })
        }
        _ => Err(FeatureError::Crossed {
            entry: entry.to_owned(),
        }),
    }
}

fn hash_bits(entry: &str, bits: &str) -> Result<u32, FeatureError> {
    let bits = bits.parse().ok();
    let bits = bits.filter(|bits| (1..=CategoryLimits::MOST_HASH_BITS).contains(bits));
    bits.ok_or_else(|| FeatureError::HashBits {
        entry: entry.to_owned(),
    })
}

/// A sparse part whose indices are hashed.
fn hashed_part(
    entry: &str,
    (index, value): (&str, &str),
    bits: &str,
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let bits = hash_bits(entry, bits)?;
    let mut part = sparse_part(index, value, columns)?;
    if let FeaturePart::Sparse { hash_bits, .. } = &mut part {
        *hash_bits = Some(bits);
    }
    Ok(part)
}

fn sparse_part(
    index: &str,
    value: &str,
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let index = columns.find(index)?;
    let value = columns.find(value)?;
    index_kind(index)?;
    array_kind(value)?;
    Ok(FeaturePart::Sparse {
        index: index.name.clone(),
        index_type: type_of(index),
        value: value.name.clone(),
        value_type: type_of(value),
        hash_bits: None,
        collisions: None,
    })
}

fn libsvm_part(name: &str, columns: &ByName<'_>) -> Result<FeaturePart, FeatureError> {
    let column = columns.find(name)?;
    check_text(column)?;
    Ok(FeaturePart::Libsvm {
        name: column.name.clone(),
        type_name: type_of(column),
    })
}

/// The columns of a source, found by name without going through all of them each time.
pub(super) struct ByName<'a> {
    all: &'a [Column],
    /// Where the first of each name stands, and whether it is the only one.
    places: HashMap<&'a str, (usize, bool)>,
}

impl<'a> ByName<'a> {
    pub fn new(all: &'a [Column]) -> Result<Self, OutOfMemory> {
        let mut places = HashMap::new();
        places.room(all.len())?;
        for (at, column) in all.iter().enumerate() {
            places
                .entry(column.name.as_str())
                .and_modify(|(_, only)| *only = false)
                .or_insert((at, true));
        }
        Ok(Self { all, places })
    }

    fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The only column of that name.
    pub fn find(&self, name: &str) -> Result<&'a Column, FeatureError> {
        Ok(&self.all[self.place(name)?])
    }

    /// Where it stands.
    pub fn place(&self, name: &str) -> Result<usize, FeatureError> {
        match self.places.get(name) {
            Some((at, true)) => Ok(*at),
            Some((_, false)) => Err(FeatureError::AmbiguousColumn {
                column: name.to_owned(),
            }),
            None => {
                let known = self.all.iter().map(|column| column.name.as_str());
                Err(FeatureError::MissingColumn {
                    column: name.to_owned(),
                    near: near::names(&unquoted(name), known),
                })
            }
        }
    }
}

/// The type's name as SQL writes it.
fn type_of(column: &Column) -> String {
    type_name(column.type_oid, column.typmod)
}

pub(super) fn wrong_type(column: &Column, expected: &'static str) -> FeatureError {
    FeatureError::Type {
        column: column.name.clone(),
        type_name: type_of(column),
        expected,
    }
}
