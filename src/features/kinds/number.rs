//! Columns that are a number each: numbers, dates and timestamps as seconds since 1970-01-01 00:00 UTC, and texts that are read
//! as one of these.

use super::kind::{identifier, FeatureKind, Operand, Operands};
use super::reads::{ReadAs, ReadColumn};
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::error::FeatureError;
use crate::features::part::{check_words, Part};
use crate::features::quoted::quoted;
use crate::features::read_text::ReadText;
use crate::features::stored_part::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, words_kind, NumberKind, TypeKind, WordsKind};
use serde::Serialize;

/// A number: one dense feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumberPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    /// A date or timestamp.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub time: bool,
    /// Where the column is text, how that is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadText>,
}

impl NumberPart {
    fn of(column: &Column, time: bool, reading: Option<ReadText>) -> Self {
        Self {
            name: column.name.clone(),
            type_name: type_of(column),
            time,
            reading,
        }
    }

    /// A text as a number or a time; of a column that is one, the column.
    pub fn read(name: &str, time: bool, columns: &ByName<'_>) -> Result<Self, FeatureError> {
        let column = columns.find(name)?;
        if let Some(part) = Self::of_column(column).filter(|part| part.time == time) {
            return Ok(part);
        }
        check_words(column, true)?;
        let reading = ReadText {
            open: true,
            ..ReadText::first(time)
        };
        Ok(Self::of(column, time, Some(reading)))
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
            time: part.time,
            reading: part.reading,
        })
    }
}

impl FeatureKind for NumberPart {
    fn of_column(column: &Column) -> Option<Self> {
        match type_kind(column.type_oid) {
            TypeKind::Number(kind) if kind != NumberKind::Boolean => {
                Some(Self::of(column, kind.is_time(), None))
            }
            _ => None,
        }
    }

    fn reads(&self) -> Vec<ReadColumn<'_>> {
        let by = match (&self.reading, self.time) {
            (Some(_), _) => ReadAs::Written,
            (None, true) => ReadAs::Time,
            (None, false) => ReadAs::Number,
        };
        vec![by.of(&self.name, &self.type_name)]
    }

    fn name(&self) -> String {
        match (&self.reading, self.time) {
            (None, _) => self.name.clone(),
            (Some(_), true) => format!("time({})", quoted(&self.name)),
            (Some(_), false) => format!("number({})", quoted(&self.name)),
        }
    }

    fn treatment(&self) -> &'static str {
        match (&self.reading, self.time) {
            (Some(_), true) => "time in text",
            (Some(_), false) => "number in text",
            (None, true) => "time",
            (None, false) => "number",
        }
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        let words = words_kind(column.type_oid).filter(|_| self.reading.is_some());
        if let Some(kind @ (WordsKind::Text | WordsKind::Padded)) = words {
            let padded = kind == WordsKind::Padded;
            return Ok(Part::Parsed { at, padded });
        }
        match type_kind(column.type_oid) {
            TypeKind::Number(kind) if kind.is_time() == self.time => {
                Ok(Part::Columns { at, count: 1, kind })
            }
            _ if self.time => Err(wrong_type(column, "a date or a timestamp")),
            _ => Err(wrong_type(column, "a number or a boolean")),
        }
    }

    fn forget(&mut self) {
        if let Some(reading) = &mut self.reading {
            *reading = ReadText::first(self.time);
        }
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn width(&self) -> Option<u32> {
        Some(1)
    }

    fn is_one_value(&self) -> bool {
        true
    }

    fn may_be_indexed(&self) -> bool {
        self.reading.is_none()
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        if self.reading.is_some() {
            return Err("SQL has no short form for a text that is read as a number or a time.");
        }
        let column = identifier(&self.name);
        let is_clock = ["time", "interval"]
            .iter()
            .any(|it| self.type_name.starts_with(it));
        let sql = match self.time {
            true => seconds(&column, &self.type_name),
            false if self.type_name == "money" => format!("CAST({column} AS numeric)"),
            false if is_clock => format!("EXTRACT(EPOCH FROM {column})"),
            false => column,
        };
        let is_truth = !self.time && self.type_name == "boolean";
        Ok(Box::new(core::iter::once(Operand::Number(sql, is_truth))))
    }
}

/// A time as seconds. Of a time with time zone PostgreSQL calls them immutable, as an index wants it, only where the zone
/// is said.
fn seconds(column: &str, type_name: &str) -> String {
    match type_name.starts_with("timestamp") && type_name.ends_with("with time zone") {
        true => format!("EXTRACT(EPOCH FROM {column} AT TIME ZONE 'UTC')"),
        false => format!("EXTRACT(EPOCH FROM {column})"),
    }
}
