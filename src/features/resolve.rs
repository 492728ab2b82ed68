//! From the `features` argument and the source's columns to a `FeatureSet`. Called once per training,
//! in the leader.

use super::by_name::{type_of, wrong_type, ByName};
use super::entry::{parse_form, rejoined, EntryForm};
use super::error::FeatureError;
use super::error_words::spread;
use super::kinds::category::dictionary::CategoryLimits;
use super::kinds::made::{made_input, MadeFeature};
use super::kinds::text::form::TextUnit;
use super::kinds::{
    ArrayPart, CategoryPart, FeaturePart, LibsvmPart, NumberPart, SparsePart, TextPart,
};
use super::part::number_kind;
use super::set::{FeatureSet, SkippedColumn};
use super::stored::MOST_PARTS;
use crate::pg::query::Column;
use crate::pg::types::{category_kind, type_kind, TypeKind};
use core::mem::{discriminant, Discriminant};
use pgsvm_core::memory::Room;
use pgsvm_expand::numbers::{count, How, MOST_DEGREE, MOST_KNOTS};
use std::collections::HashSet;

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
        false => Ok((FeatureSet::of(parts), skipped)),
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
        match FeaturePart::of_column(column) {
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
    if let Some(form) = parse_form(entry).filter(|_| !columns.has(entry)) {
        return form_part(entry, form, columns);
    }
    let column = columns.find(entry)?;
    match FeaturePart::of_column(column) {
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

/// What a word in front of parentheses makes of what stands between them.
fn form_part(
    entry: &str,
    form: EntryForm,
    columns: &ByName<'_>,
) -> Result<FeaturePart, FeatureError> {
    let names = form.names.as_slice();
    let characters = |unit| TextPart::of_characters(entry, unit, names, columns).map(Into::into);
    let made = |how| made_part(entry, how, names, columns);
    match (form.word.as_str(), names, form.bits) {
        ("sparse", [index, value], bits) => {
            let bits = bits.map(|bits| hash_bits(entry, &bits)).transpose()?;
            SparsePart::named(index, value, bits, columns).map(Into::into)
        }
        ("polynomial", [_, _, ..], Some(bits)) => {
            let mut part = made(How::Polynomial)?;
            part.hash_products(hash_bits(entry, &bits)?);
            Ok(part)
        }
        ("libsvm", [name], None) => LibsvmPart::named(name, columns).map(Into::into),
        ("category", [name], None) => CategoryPart::named(name, columns).map(Into::into),
        ("number", [name], None) => NumberPart::read(name, false, columns).map(Into::into),
        ("time", [name], None) => NumberPart::read(name, true, columns).map(Into::into),
        ("text", [_] | [_, _] | [_, _, _], None) => {
            TextPart::of_words(entry, names, columns).map(Into::into)
        }
        ("ngrams", [_, _, _], None) => characters(TextUnit::Ngrams),
        ("spectrum", [_, _], None) => characters(TextUnit::Spectrum),
        ("weighted_degree", [_, _] | [_, _, _], None) => characters(TextUnit::Degree),
        ("log", [_], None) => made(How::Log),
        ("polynomial", [_, _, ..], None) => made(How::Polynomial),
        ("bucket", [_, _], None) => made(How::Bucket),
        ("spline", [_, _], None) => made(How::Spline),
        ("parts", [_], None) => made(How::Parts),
        ("cross", [_, _, ..], None) => crossed_part(entry, names, columns),
        _ => Err(FeatureError::Entry {
            entry: entry.to_owned(),
        }),
    }
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
    let mut made = MadeFeature {
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
    for name in names {
        made_input(&made, columns.find(name)?)?;
    }
    Ok(ArrayPart {
        name: first.name.clone(),
        type_name: type_of(first),
        length,
        made: Some(made),
    }
    .into())
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
            Ok(CategoryPart::crossed(first, second, is_number(second)).into())
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
