//! Columns that are one number each. Called by the decoder.

use super::buffer::FeatureBuffer;
use super::error::FeatureError;
use super::row::RowValues;
use crate::pg::numeric;
use crate::pg::types::NumberKind;
use crate::pg::varlena::Varlena;
use core::ops::Range;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;

const SECONDS_PER_DAY: f64 = 86_400.0;
/// From 1970-01-01 00:00 UTC, where seconds count from, to 2000-01-01, where PostgreSQL's times do.
const SECONDS_TO_2000: f64 = 10_957.0 * SECONDS_PER_DAY;

/// Decodes columns side by side, the first of which is part number `part`.
///
/// # Safety
/// As for `Decoder::decode`; the columns are of `kind`.
#[inline]
pub(super) unsafe fn columns(
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
