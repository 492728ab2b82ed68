//! From the `features` argument and the source's columns to a `FeatureSet`. Called once per training,
//! in the leader.

use super::part::{array_kind, check_category, check_text, index_kind};
use super::{FeatureError, FeaturePart, FeatureSet, SkippedColumn};
use crate::pg::query::Column;
use crate::pg::types::{category_kind, type_kind, type_name, CategoryKind, NumberKind, TypeKind};
use crate::pg::vector::VectorKind;
use std::rc::Rc;

/// Chooses the features: `entries` in their order, or without entries every usable column but the
/// label, in the order of the source. Also returns the columns that were left out because of their
/// types. Array lengths stay open until the first row.
pub fn resolve(
    entries: Option<&[String]>,
    columns: &[Column],
    label: &str,
) -> Result<(FeatureSet, Vec<SkippedColumn>), FeatureError> {
    let (parts, skipped) = match entries {
        Some(entries) => (named_parts(entries, columns, label)?, Vec::new()),
        None => all_parts(columns, label)?,
    };
    match parts.is_empty() {
        true => Err(FeatureError::Nothing),
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
    columns: &[Column],
    label: &str,
) -> Result<(Vec<FeaturePart>, Vec<SkippedColumn>), FeatureError> {
    let mut parts = Vec::new();
    let mut skipped = Vec::new();
    for column in columns {
        if column.name.is_empty() || column.name == label {
            continue;
        }
        match column_part(column) {
            Some(part) => parts.push(part),
            None => skipped.push(SkippedColumn {
                name: column.name.clone(),
                type_name: type_of(column),
            }),
        }
    }
    for part in &parts {
        for column in part.columns() {
            find(column, columns)?;
        }
    }
    Ok((parts, skipped))
}

fn named_parts(
    entries: &[String],
    columns: &[Column],
    label: &str,
) -> Result<Vec<FeaturePart>, FeatureError> {
    let mut parts: Vec<FeaturePart> = Vec::with_capacity(entries.len());
    for entry in entries {
        let part = named_part(entry, columns, label)?;
        if parts.contains(&part) {
            return Err(FeatureError::Duplicate {
                entry: entry.clone(),
            });
        }
        if part.columns().any(|column| column == label) {
            return Err(FeatureError::Label {
                column: label.to_owned(),
            });
        }
        parts.push(part);
    }
    Ok(parts)
}

fn named_part(entry: &str, columns: &[Column], label: &str) -> Result<FeaturePart, FeatureError> {
    if !columns.iter().any(|column| column.name == entry) {
        match parse_form(entry) {
            Form::Sparse(index, value) => return sparse_part(&index, &value, columns),
            Form::Libsvm(name) => return libsvm_part(&name, columns),
            Form::Category(name) => return category_part(&name, columns),
            Form::Unknown => {
                return Err(FeatureError::Entry {
                    entry: entry.to_owned(),
                })
            }
            Form::Name => {}
        }
    }
    let column = find(entry, columns)?;
    match column_part(column) {
        Some(part) => Ok(part),
        None if column.name == label => Err(FeatureError::Label {
            column: label.to_owned(),
        }),
        None => Err(wrong_type(
            column,
            "a number, a date, a boolean, text, an enum or an array of numbers",
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
        }),
        TypeKind::Vector(VectorKind::Sparsevec) => Some(FeaturePart::Sparsevec { name, type_name }),
        TypeKind::Array(_) | TypeKind::Vector(_) => Some(FeaturePart::Array {
            name,
            type_name,
            length: None,
        }),
        _ => category_kind(column.type_oid).map(|_| FeaturePart::Category {
            name,
            type_name,
            asked: false,
            dictionary: Rc::default(),
        }),
    }
}

fn category_part(name: &str, columns: &[Column]) -> Result<FeaturePart, FeatureError> {
    let column = find(name, columns)?;
    Ok(FeaturePart::Category {
        name: column.name.clone(),
        type_name: type_of(column),
        asked: matches!(check_category(column)?, CategoryKind::Integer(_)),
        dictionary: Rc::default(),
    })
}

fn sparse_part(index: &str, value: &str, columns: &[Column]) -> Result<FeaturePart, FeatureError> {
    let index = find(index, columns)?;
    let value = find(value, columns)?;
    index_kind(index)?;
    array_kind(value)?;
    Ok(FeaturePart::Sparse {
        index: index.name.clone(),
        index_type: type_of(index),
        value: value.name.clone(),
        value_type: type_of(value),
    })
}

fn libsvm_part(name: &str, columns: &[Column]) -> Result<FeaturePart, FeatureError> {
    let column = find(name, columns)?;
    check_text(column)?;
    Ok(FeaturePart::Libsvm {
        name: column.name.clone(),
        type_name: type_of(column),
    })
}

/// The only column of that name.
pub(super) fn find<'a>(name: &str, columns: &'a [Column]) -> Result<&'a Column, FeatureError> {
    let mut found = columns.iter().filter(|column| column.name == name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => Err(FeatureError::AmbiguousColumn {
            column: name.to_owned(),
        }),
        (None, _) => {
            let bare = unquoted(name);
            let near = columns
                .iter()
                .find(|column| column.name.eq_ignore_ascii_case(&bare))
                .map(|column| column.name.clone());
            Err(FeatureError::MissingColumn {
                column: name.to_owned(),
                near,
            })
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

/// An entry as written.
enum Form {
    Sparse(String, String),
    Libsvm(String),
    Category(String),
    /// No parentheses: a column's name.
    Name,
    /// Parentheses, and nothing that is known in front of or between them.
    Unknown,
}

fn parse_form(entry: &str) -> Form {
    let entry = entry.trim();
    let Some((word, rest)) = entry.split_once('(') else {
        return Form::Name;
    };
    let Some(inside) = rest.strip_suffix(')') else {
        return Form::Name;
    };
    let word = word.trim().to_ascii_lowercase();
    let Some(names) = parse_names(inside) else {
        return Form::Unknown;
    };
    match (word.as_str(), names.as_slice()) {
        ("sparse", [index, value]) => Form::Sparse(index.clone(), value.clone()),
        ("libsvm", [name]) => Form::Libsvm(name.clone()),
        ("category", [name]) => Form::Category(name.clone()),
        _ => Form::Unknown,
    }
}

/// Splits `a, "b,c"` at the commas outside quotes and takes the quotes off. None where a quote is
/// open or a name empty.
fn parse_names(inside: &str) -> Option<Vec<String>> {
    let mut pieces = vec![String::new()];
    let mut quoted = false;
    for character in inside.chars() {
        quoted ^= character == '"';
        match character {
            ',' if !quoted => pieces.push(String::new()),
            _ => pieces.last_mut()?.push(character),
        }
    }
    let names: Vec<String> = pieces.iter().map(|piece| unquoted(piece.trim())).collect();
    (!quoted && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// A name without its double quotes.
fn unquoted(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(inside) => inside.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}

/// A name as the forms take it: in double quotes where it would not be read as it is.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.trim() == name && !name.contains(['"', ',', '(', ')']);
    match plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
