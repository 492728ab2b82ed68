//! What a text says of a training beside its model, by columns of svm_version and svm_head. Anybody may have written it: each value is
//! read as what its column holds, so that a text which is damaged is refused as one, before anything is stored. Pure.

use crate::base::errors::Failure;
use crate::base::json;
use crate::model::text::{malformed, unreadable};
use crate::storing::heads::HeadRow;
use core::ops::RangeInclusive;
use pgsvm_core::memory::{owned, OutOfMemory, Room};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Declares columns of a table.
macro_rules! columns {
    ($(#[$of:meta])+ $columns:ident, $(#[$named:meta])+ $names:ident: $($column:ident),+) => {
        $(#[$of])+
        #[derive(Deserialize)]
        struct $columns<'a> {
            $(#[serde(borrow)] $column: Option<&'a RawValue>,)+
        }

        impl<'a> $columns<'a> {
            /// The columns that are there and not null.
            fn said(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
                let all = [$((stringify!($column), self.$column)),+];
                all.into_iter().filter_map(|(name, value)| Some((name, value?.get())))
            }
        }

        $(#[$named])+
        pub const $names: &[&str] = &[$(stringify!($column)),+];
    };
}

columns! {
    /// Columns of svm_version that travel beside those of which the model is made. What the other database gives stays behind (ids,
    /// numbers, counts of rows, who trained), and what is about the rows trained on: where they are from, keys, what was followed.
    VersionFacts,
    /// Their names.
    FACTS_OF_VERSION:
    trained_at, loss, c, scale, solver, intercept_used, tolerance, seed, rows_used, rows_skipped, passes, primal, dual, gap,
    training_accuracy, seconds, cache_bytes, workers, stop_reason, options, class_weight, weight_column, validation, max_passes,
    training_auc, server_version, decision_deviation, truncation, solver_used, label_centre, label_deviation, epsilon, training_rmse,
    training_r2, nu, training_novel
}

columns! {
    /// The same of svm_head.
    HeadFacts,
    /// Their names.
    FACTS_OF_HEAD:
    head, primal, dual, gap, training_accuracy, support_vectors, stop_reason, updates, truncated_primal, outliers
}

/// Columns of svm_version that no version is without, and those that versions are without that another program has trained.
const NEEDED: [&str; 4] = ["loss", "scale", "solver", "intercept_used"];
const NEEDED_OF_TRAINED: [&str; 3] = ["c", "tolerance", "seed"];
const IMPORTED: &str = "\"imported\"";

const INTEGERS: RangeInclusive<i64> = i32::MIN as i64..=i32::MAX as i64;
const COUNTS: RangeInclusive<i64> = 0..=i64::MAX;

/// A row of a table as a JSON object.
#[derive(Default)]
pub struct RowObject {
    json: String,
    columns: Vec<&'static str>,
}

impl RowObject {
    /// Gives a column a value, which is JSON.
    pub fn put(&mut self, column: &'static str, value: &str) -> Result<(), OutOfMemory> {
        let before = if self.columns.is_empty() { '{' } else { ',' };
        self.columns.room(1)?.push(column);
        let json = self.json.room(column.len() + value.len() + 4)?;
        json.extend([before, '"']);
        json.push_str(column);
        json.push_str("\":");
        json.push_str(value);
        Ok(())
    }

    /// The object, and its columns.
    pub fn finish(mut self) -> Result<(String, Vec<&'static str>), OutOfMemory> {
        self.json.room(1)?.push('}');
        Ok((self.json, self.columns))
    }
}

/// Gives a row what a text says of its version, in line `line`.
pub fn put_version(row: &mut RowObject, line: usize, version: &str) -> Result<(), Failure> {
    let facts: VersionFacts<'_> = object(line, version)?;
    let is_imported = facts.solver.is_some_and(|it| it.get() == IMPORTED);
    for (column, value) in facts.said() {
        let value = ColumnValue {
            line,
            column,
            json: value,
        };
        row.put(column, &value.read()?)?;
    }
    let of_trained = NEEDED_OF_TRAINED.iter().filter(|_| !is_imported);
    let mut needed = NEEDED.iter().chain(of_trained);
    match needed.find(|needed| !row.columns.contains(needed)) {
        None => Ok(()),
        Some(missing) => Err(malformed(line, &format!("lacks its {missing}"))),
    }
}

/// A row with what a text says of its head, in line `line`.
pub fn of_head<'a>(
    mut row: HeadRow<'a>,
    line: usize,
    head: &'a str,
) -> Result<HeadRow<'a>, Failure> {
    let facts: HeadFacts<'_> = object(line, head)?;
    for (column, json) in facts.said() {
        let value = ColumnValue { line, column, json };
        match column {
            "head" if value.whole(INTEGERS)? != i64::from(row.number) => {
                return Err(malformed(line, &format!("is not of head {}", row.number)));
            }
            "head" => {}
            "primal" => row.primal = Some(value.number()?),
            "dual" => row.dual = Some(value.number()?),
            "gap" => row.gap = Some(value.number()?),
            "training_accuracy" => row.training_accuracy = Some(value.number()?),
            "support_vectors" => row.support_vectors = Some(value.whole(COUNTS)?),
            "stop_reason" => row.stop_reason = Some(value.text()?.into()),
            "updates" => row.updates = Some(value.whole(COUNTS)?),
            "truncated_primal" => row.truncated_primal = Some(value.number()?),
            _ => row.outliers = Some(value.whole(COUNTS)?),
        }
    }
    Ok(row)
}

/// An object's values by columns.
fn object<'a, T: Deserialize<'a>>(line: usize, json: &'a str) -> Result<T, Failure> {
    // a list would be read too, column after column
    if !json.starts_with('{') {
        return Err(malformed(line, "holds no columns"));
    }
    json::read(json).map_err(|error| unreadable(line, error))
}

/// A value of a column.
struct ColumnValue<'a> {
    line: usize,
    column: &'static str,
    json: &'a str,
}

impl ColumnValue<'_> {
    /// The value of a column of svm_version as JSON that PostgreSQL reads.
    fn read(&self) -> Result<String, Failure> {
        match self.column {
            "loss" | "scale" | "solver" | "stop_reason" | "weight_column" | "server_version"
            | "solver_used" => {
                self.text()?;
                Ok(owned(self.json)?)
            }
            "seed" | "passes" | "workers" | "max_passes" => Ok(self.whole(INTEGERS)?.to_string()),
            "rows_used" | "rows_skipped" | "cache_bytes" => Ok(self.whole(COUNTS)?.to_string()),
            "intercept_used" => match self.json {
                "true" | "false" => Ok(owned(self.json)?),
                _ => Err(self.is_no("truth value")),
            },
            "trained_at" => match is_time(&self.text()?) {
                true => Ok(owned(self.json)?),
                false => Err(self.is_no("time")),
            },
            "options" if !self.json.starts_with('{') => Err(self.is_no("object")),
            "options" | "class_weight" | "validation" => {
                json::again(self.json).map_err(|error| unreadable(self.line, error))
            }
            "label_centre" | "label_deviation" | "epsilon" | "training_rmse" => {
                let number = self.number()?;
                let sound = match self.column {
                    "label_centre" => number.is_finite(),
                    "label_deviation" => number > 0.0 && number.is_finite(),
                    _ => (0.0..f64::INFINITY).contains(&number),
                };
                match sound {
                    true => Ok(format!("{number:e}")),
                    false => Err(self.is_no("number that it can be")),
                }
            }
            _ => {
                let number = self.number()?;
                Ok(match number.is_finite() {
                    true => format!("{number:e}"),
                    // a text in JSON
                    false => owned(self.json)?,
                })
            }
        }
    }

    fn text(&self) -> Result<String, Failure> {
        json::read_received(self.json).map_err(|_| self.is_no("text"))
    }

    /// A number in 64 bits, or one of those that are texts in JSON.
    fn number(&self) -> Result<f64, Failure> {
        match self.json {
            "\"NaN\"" => Ok(f64::NAN),
            "\"Infinity\"" => Ok(f64::INFINITY),
            "\"-Infinity\"" => Ok(f64::NEG_INFINITY),
            json => json::read(json).map_err(|_| self.is_no("number of 64 bits")),
        }
    }

    fn whole(&self, range: RangeInclusive<i64>) -> Result<i64, Failure> {
        let number = self.json.parse().ok().filter(|it| range.contains(it));
        number.ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.is_no(&format!("whole number from {least} to {most}"))
        })
    }

    fn is_no(&self, kind: &str) -> Failure {
        malformed(self.line, &format!("has no {kind} for {}", self.column))
    }
}

/// Whether a text is a time as PostgreSQL writes it in JSON: "2026-01-31T23:59:59.5+01:00".
fn is_time(text: &str) -> bool {
    let found = || {
        let (date, rest) = text.split_once('T')?;
        let (year, day) = date.split_once('-')?;
        let (month, day) = day.split_once('-')?;
        let [year, month, day] = [
            digits(year, 4..=6)?,
            digits(month, 2..=2)?,
            digits(day, 2..=2)?,
        ];
        let sign = rest.find(['+', '-'])?;
        let (time, zone) = (&rest[..sign], &rest[sign + 1..]);
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        digits(fraction, 1..=6)?;
        let zone_is_sound = zone.split(':').count() <= 3 && clock(zone)? < 16 * 3600;
        let is_sound = time.split(':').count() == 3 && clock(time)? < 24 * 3600 && zone_is_sound;
        let days = match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        Some(is_sound && (1..=LAST_YEAR).contains(&year) && (1..=days).contains(&day))
    };
    found().unwrap_or(false)
}

/// The last whole year of a timestamp.
const LAST_YEAR: u32 = 294_275;

/// Seconds of hours, minutes and seconds, of which the last may be missing.
fn clock(text: &str) -> Option<u32> {
    let mut seconds = 0;
    for (part, (most, unit)) in text.split(':').zip([(23, 3600), (59, 60), (59, 1)]) {
        seconds += unit * digits(part, 2..=2).filter(|it| *it <= most)?;
    }
    Some(seconds)
}

/// The number that so many digits are.
fn digits(text: &str, count: RangeInclusive<usize>) -> Option<u32> {
    let sound = count.contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}
