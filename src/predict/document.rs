//! Features out of a jsonb object, field by field: each becomes a value of a type that the decoder of
//! rows takes, so that `to_jsonb(row)` predicts what the row does.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::features::{
    utf8, Decoder, FeatureBuffer, FeatureError, FeatureSet, LibsvmPart, ReadAs, ReadColumn,
    SparsevecPart,
};
use crate::model::Model;
use crate::pg::document::{Document, Elements, Field};
use crate::pg::query::Column;
use crate::pg::select::text_datum;
use crate::pg::value;
use crate::pg::word::without_padding;
use pgrx::{pg_sys, IntoDatum};
use pgsvm_core::memory::{filled, gathered, owned, OutOfMemory, Room};
use std::borrow::Cow;
use std::collections::HashMap;

/// How the fields of one model's objects are read.
pub struct DocumentReader {
    fields: Vec<NamedField>,
    decoder: Decoder,
    is_text: bool,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

struct NamedField {
    name: String,
    kind: FieldKind,
}

/// What a field is to the model.
#[derive(Clone, Copy)]
enum FieldKind {
    Number,
    /// A date or timestamp of this type, or another number that prints as a text.
    Time(pg_sys::Oid),
    Category,
    /// The same of a `char(n)`, where blanks at the end do not count.
    PaddedCategory,
    /// A number and a category at once, in the type that the column has.
    Both(pg_sys::Oid),
    Numbers,
    Indices,
    /// Text in LIBSVM notation, or as a sparsevec prints.
    Pairs,
    /// A text that is taken apart.
    Text,
    /// As a tsvector prints.
    Vector,
    Words,
}

impl FieldKind {
    fn type_oid(self) -> pg_sys::Oid {
        match self {
            Self::Number => pg_sys::FLOAT8OID,
            Self::Time(type_oid) | Self::Both(type_oid) => type_oid,
            Self::Category | Self::PaddedCategory | Self::Pairs | Self::Text => pg_sys::TEXTOID,
            Self::Vector => pg_sys::TSVECTOROID,
            Self::Words => pg_sys::TEXTARRAYOID,
            Self::Numbers => pg_sys::FLOAT8ARRAYOID,
            Self::Indices => pg_sys::INT8ARRAYOID,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Time(pg_sys::MONEYOID) => "an amount of money",
            Self::Time(pg_sys::INTERVALOID) => "an interval, as text",
            Self::Time(pg_sys::TIMEOID | pg_sys::TIMETZOID) => "a time of the day, as text",
            Self::Time(_) => "a date or a timestamp, as text",
            Self::Category | Self::PaddedCategory => "a text, a number or a boolean",
            Self::Both(pg_sys::BOOLOID) => "a boolean",
            Self::Both(_) => "an integer",
            Self::Numbers => "an array of numbers",
            Self::Indices => "an array of integers",
            Self::Pairs => "a text in LIBSVM notation",
            Self::Text => "a text",
            Self::Vector => "a tsvector, as text",
            Self::Words => "an array of texts",
        }
    }
}

/// What a category of this type is.
fn category(type_name: &str) -> FieldKind {
    match type_name.split('(').next() {
        Some("character" | "bpchar") => FieldKind::PaddedCategory,
        _ => FieldKind::Category,
    }
}

/// What a field is that is one of these to one part of the model and the other to another one; `type_name` is the column's.
fn together(one: FieldKind, other: FieldKind, type_name: Option<&str>) -> FieldKind {
    use FieldKind::{Category, Number};
    match (one, other) {
        (Number, Category) | (Category, Number) => FieldKind::Both(match type_name {
            Some("boolean") => pg_sys::BOOLOID,
            _ => pg_sys::INT8OID,
        }),
        _ => one,
    }
}

/// The type of a column that is a category.
fn category_type<'a>(features: &'a FeatureSet, column: &str) -> Option<&'a str> {
    let mut reads = features.parts.iter().flat_map(|part| part.reads());
    let found = reads.find(|it| it.by == ReadAs::Category && it.name == column);
    found.map(|it| it.type_name)
}

impl DocumentReader {
    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.decoder.bytes() + self.fields.len() * (size_of::<NamedField>() + 64)
    }

    /// For objects with the fields that `model` reads; json where `is_text`, else jsonb.
    pub fn new(model: &Model, is_text: bool) -> Result<Self, Failure> {
        let mut fields: Vec<NamedField> = Vec::new();
        let mut known = HashMap::new();
        let reads = model.features.parts.iter().flat_map(|part| part.reads());
        for column in reads {
            let (name, kind) = (column.name, kind(column));
            // a second part that reads the same column reads it in a way that suits both, or the decoder complains
            match known.get(name) {
                Some(at) => {
                    let field: &mut NamedField = &mut fields[*at];
                    let type_name = category_type(&model.features, name);
                    field.kind = together(field.kind, kind, type_name);
                }
                None => {
                    known.room(1)?.insert(name, fields.len());
                    fields.room(1)?.push(NamedField {
                        name: name.to_owned(),
                        kind,
                    });
                }
            }
        }
        let columns = gathered(fields.iter().map(|field| Column {
            name: field.name.clone(),
            type_oid: field.kind.type_oid(),
            typmod: -1,
            base: None,
        }))?;
        let decoder = Decoder::new(&as_read(&model.features)?, &columns, model.nulls)?;
        Ok(Self {
            values: filled(pg_sys::Datum::from(0), fields.len())?,
            nulls: filled(true, fields.len())?,
            fields,
            decoder,
            is_text,
        })
    }

    /// Reads an object's features into `out`. What it takes is the current memory context's, which
    /// PostgreSQL empties from row to row.
    ///
    /// # Safety
    /// `datum` is a jsonb or json, as `new` was told.
    pub unsafe fn read(
        &mut self,
        datum: pg_sys::Datum,
        out: &mut FeatureBuffer,
    ) -> Result<(), Failure> {
        // SAFETY: as the caller promises.
        let document = unsafe { Document::open(datum, self.is_text) };
        let document = document.map_err(Failure::about_bad_row)?;
        if !document.is_object() {
            return Err(Failure::new(
                Code::ERRCODE_DATATYPE_MISMATCH,
                "the features are JSON, but no object",
            )
            .about_bad_row());
        }
        for (at, named) in self.fields.iter().enumerate() {
            let found = document.field(&named.name);
            let Some(found) = found else {
                return Err(self.missing(&named.name, &document)?);
            };
            let value = value_of(&named.name, named.kind, &found)?;
            self.nulls[at] = value.is_none();
            self.values[at] = value.unwrap_or(pg_sys::Datum::from(0));
        }
        // SAFETY: the values are of the types that the decoder was made for.
        unsafe { self.decoder.decode(&self.values, &self.nulls, out) }.map_err(Failure::from)
    }

    /// Whether what was read is no object but JSON's null, which says as much as SQL's.
    ///
    /// # Safety
    /// As for `read`.
    #[cold]
    pub unsafe fn is_null(&self, datum: pg_sys::Datum) -> bool {
        // SAFETY: as the caller promises.
        let document = unsafe { Document::open(datum, self.is_text) };
        document.is_ok_and(|document| document.is_null())
    }

    /// What is wrong where an object has no field of this name; fields of names like it that nothing reads may be meant.
    fn missing(&self, name: &str, document: &Document) -> Result<Failure, Failure> {
        let mut others = document.names(MOST_NAMES)?;
        others.retain(|other| !self.fields.iter().any(|field| field.name == *other));
        let near = near::meant(name, &others.iter().map(String::as_str).collect::<Vec<_>>());
        let failure = Failure::new(
            Code::ERRCODE_UNDEFINED_COLUMN,
            format!("the object has no field \"{name}\""),
        );
        Ok(match near {
            Some(near) => failure.hint(format!(
                "It has a field \"{}\"; fields are called as the model's columns are.",
                shortened(&near)
            )),
            None => failure,
        })
    }
}

/// Fields of an object that are compared with one that it does not have.
const MOST_NAMES: usize = 1000;

/// What a column's field is.
fn kind(column: ReadColumn<'_>) -> FieldKind {
    let type_name = column.type_name;
    match column.by {
        ReadAs::Number => printed_type(type_name).map_or(FieldKind::Number, FieldKind::Time),
        ReadAs::Factor => FieldKind::Number,
        ReadAs::Time => FieldKind::Time(time_type(type_name)),
        ReadAs::Written | ReadAs::Category => category(type_name),
        ReadAs::Numbers => FieldKind::Numbers,
        ReadAs::Indices => FieldKind::Indices,
        ReadAs::Libsvm | ReadAs::Sparsevec => FieldKind::Pairs,
        ReadAs::Text => FieldKind::Text,
        ReadAs::Vector => FieldKind::Vector,
        ReadAs::Words => FieldKind::Words,
    }
}

/// A type in which a column of this name can be read; None where the model reads none of it.
pub fn column_type(features: &FeatureSet, column: &str) -> Option<pg_sys::Oid> {
    let all = features.parts.iter().flat_map(|part| part.reads());
    let own = all.filter(|it| it.name == column).map(kind);
    let both = |one, other| together(one, other, category_type(features, column));
    own.reduce(both).map(FieldKind::type_oid)
}

/// The type of a number that JSON has as it prints.
fn printed_type(type_name: &str) -> Option<pg_sys::Oid> {
    match type_name.split(['(', ' ']).next() {
        Some("money") => Some(pg_sys::MONEYOID),
        Some("interval") => Some(pg_sys::INTERVALOID),
        Some("time") if type_name.ends_with("with time zone") => Some(pg_sys::TIMETZOID),
        Some("time") => Some(pg_sys::TIMEOID),
        _ => None,
    }
}

/// The type that a time's text is read as: what the column was in training, or of another name the one
/// that takes all.
fn time_type(type_name: &str) -> pg_sys::Oid {
    match type_name {
        "date" => pg_sys::DATEOID,
        name if name.starts_with("timestamp") && name.ends_with("without time zone") => {
            pg_sys::TIMESTAMPOID
        }
        _ => pg_sys::TIMESTAMPTZOID,
    }
}

/// The same features, sparse vectors as the text they come as.
fn as_read(features: &FeatureSet) -> Result<FeatureSet, OutOfMemory> {
    let parts = features.parts.iter().map(|part| match part.as_one() {
        Some(SparsevecPart { name, .. }) => LibsvmPart::text(name).into(),
        None => part.clone(),
    });
    Ok(FeatureSet {
        means: features.means.clone(),
        ..FeatureSet::of(gathered(parts)?)
    })
}

/// A field's value in the type of its kind, in the current memory context; None for null.
fn value_of(
    name: &str,
    kind: FieldKind,
    field: &Field<'_>,
) -> Result<Option<pg_sys::Datum>, Failure> {
    let wrong = || wrong_field(name, kind, field);
    let because = |reason: String| wrong().detail(format!("{reason}."));
    Ok(match (kind, field) {
        (_, Field::Null) => None,
        (FieldKind::Number, Field::Number(number)) => number.to_f64().into_datum(),
        (FieldKind::Number, Field::Boolean(value)) => f64::from(u8::from(*value)).into_datum(),
        (FieldKind::Number, Field::Text(text)) => {
            printed_number(text).ok_or_else(wrong)?.into_datum()
        }
        (FieldKind::Time(type_oid), Field::Text(text)) => {
            Some(value::read(utf8(name, text)?, type_oid).map_err(because)?)
        }
        (FieldKind::Time(type_oid @ pg_sys::MONEYOID), Field::Number(number)) => {
            Some(value::read(&number.to_text()?, type_oid).map_err(because)?)
        }
        (FieldKind::Vector, Field::Text(text)) => {
            Some(value::read(utf8(name, text)?, pg_sys::TSVECTOROID).map_err(because)?)
        }
        (FieldKind::Words, Field::Array(elements)) => {
            let mut all = Vec::new();
            words(name, elements, MOST_DIMENSIONS, &mut all)?;
            all.into_datum()
        }
        (FieldKind::Category | FieldKind::Text, Field::Text(text)) => {
            Some(text_datum(utf8(name, text)?))
        }
        (FieldKind::PaddedCategory, Field::Text(text)) => {
            Some(text_datum(utf8(name, without_padding(text))?))
        }
        (FieldKind::Both(pg_sys::BOOLOID), Field::Boolean(value)) => value.into_datum(),
        (FieldKind::Both(pg_sys::INT8OID), Field::Number(number)) => {
            let whole = number.to_text()?.parse::<i64>();
            whole.map_err(|_| wrong())?.into_datum()
        }
        (FieldKind::Both(pg_sys::BOOLOID), Field::Text(text)) => {
            printed_truth(text).ok_or_else(wrong)?.into_datum()
        }
        (FieldKind::Both(pg_sys::INT8OID), Field::Text(text)) => {
            let whole = utf8(name, text)?.trim().parse::<i64>();
            whole.map_err(|_| wrong())?.into_datum()
        }
        (FieldKind::Category | FieldKind::PaddedCategory, Field::Boolean(value)) => {
            Some(text_datum(match value {
                true => "true",
                false => "false",
            }))
        }
        (FieldKind::Category | FieldKind::PaddedCategory, Field::Number(number)) => {
            Some(text_datum(&number.to_text()?))
        }
        (FieldKind::Numbers, Field::Array(elements)) => numbers(name, elements)?.into_datum(),
        // as pgvector's types print
        (FieldKind::Numbers, Field::Text(text)) => {
            printed_vector(text)?.ok_or_else(wrong)?.into_datum()
        }
        (FieldKind::Indices, Field::Array(elements)) => indices(name, elements)?.into_datum(),
        (FieldKind::Pairs, Field::Text(text)) => Some(text_datum(&pairs(utf8(name, text)?)?)),
        _ => return Err(wrong()),
    })
}

fn numbers(name: &str, elements: &Elements) -> Result<Vec<Option<f64>>, Failure> {
    let mut numbers = room(elements.len())?;
    for (at, element) in elements.iter().enumerate() {
        crate::pg::check_for_interrupts();
        numbers.push(match element {
            Field::Null => None,
            Field::Number(number) => Some(number.to_f64()),
            Field::Boolean(value) => Some(f64::from(u8::from(value))),
            Field::Text(text) if printed_number(text).is_some() => printed_number(text),
            Field::Array(inner) => {
                return Err(FeatureError::Dimensions {
                    column: name.to_owned(),
                    dimensions: 1 + dimensions(&inner, MOST_DIMENSIONS - 1),
                }
                .into())
            }
            other => {
                let place = format!("{name}[{}]", at + 1);
                return Err(wrong_field(&place, FieldKind::Number, &other));
            }
        });
    }
    Ok(numbers)
}

/// Most dimensions of PostgreSQL's arrays.
const MOST_DIMENSIONS: i32 = 6;

/// Dimensions of an array, of those that may be `most`.
fn dimensions(elements: &Elements, most: i32) -> i32 {
    match elements.iter().next() {
        Some(Field::Array(inner)) if most > 1 => 1 + dimensions(&inner, most - 1),
        _ => 1,
    }
}

/// Adds the texts of an array to `all`, as the words of a row's are read: those of up to so many dimensions one behind the other.
fn words(
    name: &str,
    elements: &Elements,
    dimensions: i32,
    all: &mut Vec<Option<String>>,
) -> Result<(), Failure> {
    all.room(elements.len())?;
    for (at, element) in elements.iter().enumerate() {
        crate::pg::check_for_interrupts();
        match element {
            Field::Null => all.push(None),
            Field::Text(text) => all.push(Some(owned(utf8(name, text)?)?)),
            Field::Array(inner) if dimensions > 1 => words(name, &inner, dimensions - 1, all)?,
            other => {
                let place = format!("{name}[{}]", at + 1);
                return Err(wrong_field(&place, FieldKind::Text, &other));
            }
        }
    }
    Ok(())
}

fn indices(name: &str, elements: &Elements) -> Result<Vec<Option<i64>>, Failure> {
    let mut indices = room(elements.len())?;
    for number in numbers(name, elements)? {
        // a cast clips what is too large, and the decoder then finds it out
        let whole = number.map(|number| number as i64);
        if let Some(index) = number.filter(|number| *number as i64 as f64 != *number) {
            return Err(FeatureError::Index {
                part: name.to_owned(),
                index,
            }
            .into());
        }
        indices.push(whole);
    }
    Ok(indices)
}

fn room<T>(count: usize) -> Result<Vec<T>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for an array of {count} elements"),
        )
    })?;
    Ok(room)
}

/// The number, or the boolean as one, that a text is as programs write them; None where it is none.
fn printed_number(text: &[u8]) -> Option<f64> {
    let number = core::str::from_utf8(text).ok()?.trim().parse().ok();
    number.or_else(|| printed_truth(text).map(|value| f64::from(u8::from(value))))
}

/// The boolean that a text is as PostgreSQL and JSON print it.
fn printed_truth(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"t" => Some(true),
        b"false" | b"f" => Some(false),
        _ => None,
    }
}

/// The numbers of a text such as `[1,2.5]`; None where it is none.
fn printed_vector(text: &[u8]) -> Result<Option<Vec<Option<f64>>>, Failure> {
    let inside = core::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().strip_prefix('[')?.strip_suffix(']'));
    let Some(inside) = inside else {
        return Ok(None);
    };
    let mut numbers = room(inside.split(',').count())?;
    for number in inside.split(',') {
        let Ok(number) = number.trim().parse() else {
            return Ok(None);
        };
        numbers.push(Some(number));
    }
    Ok(Some(numbers))
}

/// LIBSVM notation of a text that is in it, or in a sparsevec's: `{1:0.5,3:2}/7`.
fn pairs(text: &str) -> Result<Cow<'_, str>, Failure> {
    let inside = text
        .strip_prefix('{')
        .and_then(|rest| rest.rsplit_once('}'));
    let Some((inside, _)) = inside else {
        return Ok(Cow::Borrowed(text));
    };
    let mut pairs = String::new();
    pairs.room(inside.len())?;
    for pair in inside.split_inclusive(',') {
        match pair.strip_suffix(',') {
            Some(pair) => pairs.extend([pair, " "]),
            None => pairs.push_str(pair),
        }
    }
    Ok(Cow::Owned(pairs))
}

fn wrong_field(name: &str, kind: FieldKind, field: &Field<'_>) -> Failure {
    let failure = not_as_expected(name, kind, field);
    match field {
        Field::Text(text) if text.trim_ascii().is_empty() => failure.hint(format!(
            "An empty text is no value: send null, as in {}.",
            serde_json::json!({ name: null })
        )),
        Field::Text(text) => failure.hint(format!(
            "It holds {}; send {}, or null where there is none.",
            serde_json::Value::from(shortened(&String::from_utf8_lossy(text))),
            kind.expected()
        )),
        _ => failure,
    }
}

fn not_as_expected(name: &str, kind: FieldKind, field: &Field<'_>) -> Failure {
    let found = match field {
        Field::Null => "null",
        Field::Boolean(_) => "a boolean",
        Field::Number(_) => "a number",
        Field::Text(_) => "a text",
        Field::Array(_) => "an array",
        Field::Object => "an object",
    };
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!("field \"{name}\" is {found}, which cannot be used here"),
    )
    .about_bad_row()
    .detail(format!("It must be {}.", kind.expected()))
}
