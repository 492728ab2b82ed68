//! The margin slacks of a version's rows, as they are stored: the scaling and the metrics in which they were measured, and by row
//! what its version is known by and a code.

use crate::base::errors::Failure;
use crate::keys::chunks::CHUNK_ROWS;
use crate::model::Model;
use crate::pg::select::ResultRow;
use crate::pg::transactions;
use crate::pg::types::NumberKind;
use crate::warm_start::screening::RowSlacks;
use crate::warm_start::stored_rows::{damaged, each_row, numbers, wide_numbers};
use pgsvm_core::leeway::{Metric, MOST_FEATURES};
use pgsvm_core::memory::Room;
use pgsvm_core::Scaling;

/// Reads what is known of the slacks of `rows` rows of version `id`; None where nothing is, or it is not what a training stored
/// here: a row says which transaction inserted it, so one that was changed, or brought from elsewhere, is found out.
pub fn load(
    schema: &str,
    id: i64,
    model: &Model,
    rows: usize,
) -> Result<Option<RowSlacks>, Failure> {
    let tables = Tables { schema, id, model };
    let Some(scaling) = tables.scaling()? else {
        return Ok(None);
    };
    let metrics = tables.metrics()?;
    if metrics.len() != 2 {
        return Ok(None);
    }
    let mut found = RowSlacks {
        metrics,
        versions: Vec::new(),
        codes: Vec::new(),
        scaling,
    };
    tables.read_codes(&mut found)?;
    match found.codes.len() == rows {
        true => Ok(Some(found)),
        false => Err(damaged(&model.name)),
    }
}

/// What the tables say of a version.
struct Tables<'a> {
    schema: &'a str,
    id: i64,
    model: &'a Model,
}

impl Tables<'_> {
    /// Calls `visit` with each row of the version; None where it makes no sense.
    fn each_row(
        &self,
        select: &str,
        table: &str,
        order: &str,
        mut visit: impl FnMut(&ResultRow) -> Result<Option<()>, Failure>,
    ) -> Result<(), Failure> {
        let schema = self.schema;
        let sql = format!(
            "{select} FROM {schema}.{table} WHERE version_id OPERATOR(pg_catalog.=) $1 {order}"
        );
        each_row(&sql, self.id, |row| {
            visit(row)?.ok_or_else(|| damaged(&self.model.name))
        })
    }

    /// The scaling of the rows; None where a training did not store it here.
    fn scaling(&self) -> Result<Option<Scaling>, Failure> {
        let (mut scaling, mut stored_here) = (None, false);
        self.each_row(
            "SELECT as_of, dense, centre, factor, sparse_factor, xmin::pg_catalog.text::pg_catalog.int8",
            "svm_key_scaling",
            "",
            |row| {
                stored_here = is_stored_here(row);
                scaling = read_scaling(row)?;
                Ok(scaling.is_some().then_some(()))
            },
        )?;
        Ok(scaling.filter(|_| stored_here))
    }

    /// Reads what is known of each row.
    fn read_codes(&self, found: &mut RowSlacks) -> Result<(), Failure> {
        self.each_row(
            "SELECT first_row, versions, leeways",
            "svm_key_leeway",
            "ORDER BY first_row",
            |row| read_codes(row, found),
        )
    }

    /// The metrics of the labels.
    fn metrics(&self) -> Result<Vec<(String, Metric)>, Failure> {
        let features = self.model.dense_count..=MOST_FEATURES;
        let mut metrics = Vec::new();
        self.each_row(
            "SELECT class, centre, spread, constant",
            "svm_key_metric",
            "ORDER BY class",
            |row| {
                let metric = read_metric(row)?;
                match metric.filter(|(_, metric)| features.contains(&metric.centre.len())) {
                    Some(metric) => metrics.room(1)?.push(metric),
                    None => return Ok(None),
                }
                Ok(Some(()))
            },
        )?;
        Ok(metrics)
    }
}

/// Whether a row of svm_key_scaling was inserted by the transaction that it names.
fn is_stored_here(row: &ResultRow) -> bool {
    row.int8(1)
        .zip(row.int8(6))
        .is_some_and(|(as_of, shown)| transactions::shows_as(as_of as u64, shown as u32))
}

/// A row of svm_key_scaling; None where it makes no sense.
fn read_scaling(row: &ResultRow) -> Result<Option<Scaling>, Failure> {
    let dense = row.int4(2).and_then(|dense| usize::try_from(dense).ok());
    let wide = |column| wide_numbers(row, column, NumberKind::Float8);
    let (Some(dense), Some(centre), Some(factor), Some(sparse_factor)) =
        (dense, wide(3)?, wide(4)?, numbers(row, 5)?)
    else {
        return Ok(None);
    };
    let scaling = Scaling {
        centre,
        factor,
        sparse_factor,
        dense,
    };
    Ok(Some(scaling).filter(Scaling::is_sound))
}

/// A row of svm_key_metric: a label and its metric; None where it makes no sense.
fn read_metric(row: &ResultRow) -> Result<Option<(String, Metric)>, Failure> {
    let constant = row.datum(4);
    let constant = constant.map(|datum| f32::from_bits(datum.value() as u32));
    let (Some(class), Some(centre), Some(spread), Some(constant)) =
        (row.text(1), numbers(row, 2)?, numbers(row, 3)?, constant)
    else {
        return Ok(None);
    };
    let metric = Metric {
        centre,
        spread,
        constant,
    };
    Ok(metric.is_sound().then_some((class, metric)))
}

/// Takes a row of svm_key_leeway; None where it does not go on where the one before ended.
fn read_codes(row: &ResultRow, found: &mut RowSlacks) -> Result<Option<()>, Failure> {
    let (Some(versions), Some(codes)) = (row.varlena(2), row.varlena(3)) else {
        return Ok(None);
    };
    let (codes, (versions, rest)) = (codes.payload(), versions.payload().as_chunks());
    let follows = row.int8(1) == Some(found.codes.len() as i64);
    let fits = rest.is_empty() && versions.len() == codes.len() && codes.len() <= CHUNK_ROWS;
    if !(follows && fits) {
        return Ok(None);
    }
    let known = found.versions.room(versions.len())?;
    known.extend(versions.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    found.codes.room(codes.len())?.extend_from_slice(codes);
    Ok(Some(()))
}
