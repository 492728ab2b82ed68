//! Columns that are a number each: numbers, dates and timestamps as seconds since 1970-01-01 00:00 UTC, and texts that are read
//! as one of these.

use super::kind::{identifier, FeatureKind, Operand, Operands, ReadAs, ReadColumn};
use crate::features::buffer::FeatureBuffer;
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::entry::quoted;
use crate::features::error::{utf8, FeatureError};
use crate::features::part::{check_words, Part};
use crate::features::read_text::ReadText;
use crate::features::row::{Decoded, Null, RowValues};
use crate::features::stored::{given, StoredPart};
use crate::pg::numeric;
use crate::pg::query::Column;
use crate::pg::types::{type_kind, words_kind, NumberKind, TypeKind, WordsKind};
use crate::pg::varlena::Varlena;
use crate::pg::word::unpadded;
use core::ops::Range;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;
use serde::Serialize;

const SECONDS_PER_DAY: f64 = 86_400.0;
/// From 1970-01-01 00:00 UTC, where seconds count from, to 2000-01-01, where PostgreSQL's times do.
const SECONDS_TO_2000: f64 = 10_957.0 * SECONDS_PER_DAY;

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

    /// Decodes the text in column `at`; one that says nothing counts as NULL, which is noted where the row teaches.
    ///
    /// # Safety
    /// As for `Decoder::decode`; the column is text, of `char(n)` where `padded`.
    #[inline]
    pub unsafe fn parse(
        &mut self,
        row: &RowValues<'_>,
        (at, padded): (usize, bool),
        teaches: bool,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let Some(reading) = &mut self.reading else {
            unreachable!("a text that nobody reads");
        };
        let mut value = None;
        if !row.nulls[at] {
            // SAFETY: as the caller promises; the value stays in place until it has been read.
            let text = unsafe { Varlena::open(row.values[at]) };
            let text = utf8(&self.name, unpadded(text.payload(), padded))?;
            value = reading.by.read(text);
            if value.is_none() && teaches {
                reading.note(text)?;
            }
        }
        if value.is_none() {
            out.missing.room(1)?.push(out.dense.len());
        }
        out.dense.room(1)?.push(value.unwrap_or(0.0));
        Ok(value.is_none().then_some(Null))
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
            true => epoch(&column, &self.type_name),
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
fn epoch(column: &str, type_name: &str) -> String {
    match type_name.starts_with("timestamp") && type_name.ends_with("with time zone") {
        true => format!("EXTRACT(EPOCH FROM {column} AT TIME ZONE 'UTC')"),
        false => format!("EXTRACT(EPOCH FROM {column})"),
    }
}

/// Decodes columns side by side, the first of which is part number `part`.
///
/// # Safety
/// As for `Decoder::decode`; the columns are of `kind`.
#[inline]
pub unsafe fn columns(
    part: usize,
    row: &RowValues<'_>,
    at: Range<usize>,
    kind: NumberKind,
    out: &mut FeatureBuffer,
) -> Result<(), FeatureError> {
    out.dense.room(at.len())?;
    let (values, nulls) = (&row.values[at.clone()], &row.nulls[at]);
    if nulls.iter().fold(false, |any, null| any | null) {
        // SAFETY: as the caller promises.
        return unsafe { with_nulls(part, values, nulls, kind, out) };
    }
    let dense = &mut out.dense;
    // SAFETY: as the caller promises. One loop a type, so that none asks for the type in each step.
    unsafe {
        match kind {
            NumberKind::Boolean => append(values, dense, |v| number(v, NumberKind::Boolean)),
            NumberKind::Int2 => append(values, dense, |v| number(v, NumberKind::Int2)),
            NumberKind::Int4 => append(values, dense, |v| number(v, NumberKind::Int4)),
            NumberKind::Int8 => append(values, dense, |v| number(v, NumberKind::Int8)),
            NumberKind::Float4 => append(values, dense, |v| number(v, NumberKind::Float4)),
            NumberKind::Float8 => append(values, dense, |v| number(v, NumberKind::Float8)),
            NumberKind::Numeric => append(values, dense, |v| number(v, NumberKind::Numeric)),
            NumberKind::Date => append(values, dense, |v| number(v, NumberKind::Date)),
            NumberKind::Timestamp => append(values, dense, |v| number(v, NumberKind::Timestamp)),
            other => append(values, dense, |v| number(v, other)),
        }
    }
    Ok(())
}

/// The same where some are NULL, which decode to 0; there is room for the numbers.
///
/// # Safety
/// As for `columns`.
unsafe fn with_nulls(
    part: usize,
    values: &[pg_sys::Datum],
    nulls: &[bool],
    kind: NumberKind,
    out: &mut FeatureBuffer,
) -> Result<(), FeatureError> {
    for (place, (value, null)) in values.iter().zip(nulls).enumerate() {
        if *null {
            out.null_parts.room(1)?.push(part + place);
            out.missing.room(1)?.push(out.dense.len());
        }
        // SAFETY: as the caller promises.
        let value = || unsafe { number(*value, kind) };
        out.dense.push(if *null { 0.0 } else { value() });
    }
    Ok(())
}

#[inline(always)]
fn append(values: &[pg_sys::Datum], out: &mut Vec<f64>, read: impl Fn(pg_sys::Datum) -> f64) {
    out.extend(values.iter().map(|value| read(*value)));
}

/// A number's value.
///
/// # Safety
/// `datum` is a valid value of `kind`.
#[inline(always)]
unsafe fn number(datum: pg_sys::Datum, kind: NumberKind) -> f64 {
    let word = datum.value();
    match kind {
        NumberKind::Boolean => f64::from(u8::from(word & 0xff != 0)),
        NumberKind::Int2 => f64::from(word as i16),
        NumberKind::Int4 => f64::from(word as i32),
        NumberKind::Int8 => word as i64 as f64,
        NumberKind::Float4 => f64::from(f32::from_bits(word as u32)),
        NumberKind::Float8 => f64::from_bits(word as u64),
        NumberKind::Numeric => {
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(datum) };
            numeric::to_f64(value.payload()).unwrap_or(f64::NAN)
        }
        NumberKind::Date => match word as i32 {
            i32::MAX => f64::INFINITY,
            i32::MIN => f64::NEG_INFINITY,
            days => f64::from(days) * SECONDS_PER_DAY + SECONDS_TO_2000,
        },
        NumberKind::Timestamp => match word as i64 {
            i64::MAX => f64::INFINITY,
            i64::MIN => f64::NEG_INFINITY,
            microseconds => microseconds as f64 / 1e6 + SECONDS_TO_2000,
        },
        NumberKind::Money(digits) => word as i64 as f64 / 10f64.powi(i32::from(digits)),
        // SAFETY: as the caller promises, by reference.
        NumberKind::Interval => seconds(unsafe { &*datum.cast_mut_ptr::<pg_sys::Interval>() }),
        NumberKind::Clock => word as i64 as f64 / 1e6,
        NumberKind::ZonedClock => {
            // SAFETY: as above.
            let clock = unsafe { &*datum.cast_mut_ptr::<pg_sys::TimeTzADT>() };
            clock.time as f64 / 1e6 + f64::from(clock.zone)
        }
    }
}

/// The seconds of an interval as EXTRACT(EPOCH FROM …) has them: a year has 365.25 days, a month 30.
fn seconds(interval: &pg_sys::Interval) -> f64 {
    match (interval.time, interval.day, interval.month) {
        // infinite ones, from PostgreSQL 17 on
        (i64::MAX, i32::MAX, i32::MAX) => return f64::INFINITY,
        (i64::MIN, i32::MIN, i32::MIN) => return f64::NEG_INFINITY,
        _ => {}
    }
    let (years, months) = (interval.month / 12, interval.month % 12);
    let days = f64::from(years) * 365.25 + f64::from(months) * 30.0 + f64::from(interval.day);
    days * SECONDS_PER_DAY + interval.time as f64 / 1e6
}
