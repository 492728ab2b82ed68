//! Reads a model from its tables, through SPI with the caller's rights. What is stored may have been
//! written by anybody who owns a model, so nothing is taken for granted: nonsense is an error.

use super::cache::Key;
use super::weights::{OutOfMemory, SparseWeights};
use super::Model;
use crate::errors::{Code, Failure};
use crate::features::{FeatureSet, Nulls};
use crate::pg::array::NumberArray;
use crate::pg::select::{Parameter, Prepared, ResultRow};
use crate::pg::statement;
use crate::pg::types::NumberKind;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ffi::CString;

/// The SELECTs, planned once per session.
#[derive(Clone)]
pub(super) struct Plans {
    pub schema: pg_sys::Oid,
    /// Its name: a renamed schema needs new plans.
    schema_name: String,
    look_up: Prepared,
    names: Prepared,
    version: Prepared,
    weights: Prepared,
}

/// The version that a name stands for.
pub(super) struct VersionRow {
    pub key: Key,
    pub version: i32,
}

thread_local! {
    static PLANS: RefCell<Option<Plans>> = const { RefCell::new(None) };
}

impl Plans {
    /// The plans for the extension in `schema`; SPI is connected.
    pub fn of(schema: pg_sys::Oid) -> Result<Self, Failure> {
        let schema_name = statement::quoted_schema(schema).ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_INVALID_SCHEMA_NAME,
                "the schema of extension pgsvm does not exist any more",
            )
        })?;
        let known = PLANS.with_borrow(|plans| {
            plans
                .as_ref()
                .filter(|plans| plans.schema == schema && plans.schema_name == schema_name)
                .cloned()
        });
        if let Some(plans) = known {
            return Ok(plans);
        }
        let plans = Self::prepare(schema, schema_name);
        PLANS.with_borrow_mut(|kept| *kept = Some(plans.clone()));
        Ok(plans)
    }

    fn prepare(schema: pg_sys::Oid, schema_name: String) -> Self {
        let prepare = |sql: &str, types: &[pg_sys::Oid]| {
            let sql = CString::new(sql.replace("{s}", &schema_name)).unwrap_or_default();
            Prepared::new(&sql, types)
        };
        Self {
            schema,
            look_up: prepare(
                "SELECT v.id, v.xmin, v.version FROM {s}.svm_model AS m JOIN {s}.svm_version AS v
                 ON v.model_id OPERATOR(pg_catalog.=) m.id
                 AND v.version OPERATOR(pg_catalog.=) COALESCE($2, m.current_version)
                 WHERE m.name OPERATOR(pg_catalog.=) $1",
                &[pg_sys::TEXTOID, pg_sys::INT4OID],
            ),
            names: prepare(
                "SELECT m.name, m.current_version FROM {s}.svm_model AS m
                 WHERE pg_catalog.lower(m.name) OPERATOR(pg_catalog.=) pg_catalog.lower($1)",
                &[pg_sys::TEXTOID],
            ),
            version: prepare(
                "SELECT v.features::pg_catalog.text, v.nulls, v.label_type, v.label_values[1],
                 v.label_values[2], v.intercept, v.feature_count
                 FROM {s}.svm_version AS v WHERE v.id OPERATOR(pg_catalog.=) $1",
                &[pg_sys::INT8OID],
            ),
            weights: prepare(
                "SELECT w.first_feature, w.features, w.weights FROM {s}.svm_weight AS w
                 WHERE w.version_id OPERATOR(pg_catalog.=) $1 AND w.head OPERATOR(pg_catalog.=) 0
                 ORDER BY w.first_feature",
                &[pg_sys::INT8OID],
            ),
            schema_name,
        }
    }
}

/// The version that a name and perhaps a number stand for.
pub(super) fn look_up(
    plans: &Plans,
    models: pg_sys::Oid,
    name: &str,
    version: Option<i32>,
) -> Option<VersionRow> {
    let mut found = None;
    let parameters = [Parameter::Text(name), Parameter::Int4(version)];
    plans.look_up.for_each(&parameters, |row| {
        found = row.int8(1).zip(row.datum(2)).map(|(id, xmin)| VersionRow {
            key: Key {
                models,
                version: id,
                xmin: xmin.value() as u32,
            },
            version: row.datum(3).map_or(0, |version| version.value() as i32),
        });
        false
    });
    found
}

/// The current version of the model with exactly this name.
pub(super) fn current_version(plans: &Plans, name: &str) -> Option<i32> {
    let mut found = None;
    plans.names.for_each(&[Parameter::Text(name)], |row| {
        if row.text(1).as_deref() == Some(name) {
            found = row.datum(2).map(|version| version.value() as i32);
        }
        found.is_none()
    });
    found
}

/// A model whose name differs from this one in upper and lower case only.
pub(super) fn near_name(plans: &Plans, name: &str) -> Option<String> {
    let mut found = None;
    plans.names.for_each(&[Parameter::Text(name)], |row| {
        found = row.text(1);
        false
    });
    found
}

/// Reads a version.
pub(super) fn load(plans: &Plans, name: &str, row: &VersionRow) -> Result<Model, Failure> {
    let name = format!("{name}@{}", row.version);
    let parameters = [Parameter::Int8(row.key.version)];
    let mut header = None;
    plans.version.for_each(&parameters, |row| {
        header = Some(read_version(&name, row));
        false
    });
    let (mut model, feature_count) = header.unwrap_or_else(|| Err(damaged(&name, "is gone")))?;
    let mut problem = None;
    let mut next = 0;
    plans.weights.for_each(&parameters, |row| {
        match read_chunk(row, &mut model, &mut next, feature_count) {
            Ok(()) => true,
            Err(reason) => {
                problem = Some(reason);
                false
            }
        }
    });
    match problem {
        None => Ok(model),
        Some(Bad::Memory) => Err(out_of_memory(&name)),
        Some(Bad::Chunk(what)) => Err(damaged(&name, what)),
    }
}

/// The model without its weights, and the number of its features.
fn read_version(name: &str, row: &ResultRow) -> Result<(Model, u64), Failure> {
    let wrong = |what| damaged(name, what);
    let features = row
        .text(1)
        .and_then(|json| FeatureSet::from_json(&json))
        .ok_or_else(|| wrong("has no readable list of features"))?;
    let nulls = row
        .text(2)
        .and_then(|word| Nulls::from_word(&word))
        .ok_or_else(|| wrong("has an unknown rule for NULL"))?;
    let label_type = row.text(3).unwrap_or_default();
    let labels = row
        .text(4)
        .zip(row.text(5))
        .ok_or_else(|| wrong("lacks a label"))?;
    let intercept = row
        .float8(6)
        .filter(|intercept| intercept.is_finite())
        .ok_or_else(|| wrong("has an intercept that is not finite"))?;
    let count = row.int8(7).and_then(|count| u64::try_from(count).ok());
    let count = count.ok_or_else(|| wrong("has a negative number of features"))?;
    let dense_count = features
        .dense_count()
        .filter(|dense| *dense as u64 <= count)
        .ok_or_else(|| wrong("has fewer features than its columns"))?;
    if nulls == Nulls::Mean && features.means.len() != dense_count {
        return Err(wrong("lacks the means that stand for NULL"));
    }
    let mut dense = Vec::new();
    dense
        .try_reserve_exact(dense_count)
        .map_err(|_| out_of_memory(name))?;
    dense.resize(dense_count, 0.0);
    let model = Model {
        name: name.to_owned(),
        features,
        nulls,
        numbers: numeric_labels(&label_type, [&labels.0, &labels.1]),
        label_type,
        labels: [labels.0, labels.1],
        intercept,
        dense,
        sparse: SparseWeights::default(),
    };
    Ok((model, count))
}

/// The labels as numbers: 0 and 1 for a boolean, None for text and enums.
fn numeric_labels(label_type: &str, labels: [&str; 2]) -> Option<[f64; 2]> {
    let bare = label_type.split('(').next().unwrap_or_default();
    let number = |label: &str| match bare {
        "boolean" => Some(f64::from(u8::from(label.starts_with('t')))),
        "smallint" | "integer" | "bigint" | "real" | "double precision" | "numeric" => {
            label.parse().ok()
        }
        _ => None,
    };
    Some([number(labels[0])?, number(labels[1])?])
}

/// Why a chunk of weights is refused.
enum Bad {
    Memory,
    Chunk(&'static str),
}

impl From<OutOfMemory> for Bad {
    fn from(_: OutOfMemory) -> Self {
        Self::Memory
    }
}

/// Reads one chunk into the model. `next` is the lowest id that may still come.
fn read_chunk(
    row: &ResultRow,
    model: &mut Model,
    next: &mut u64,
    feature_count: u64,
) -> Result<(), Bad> {
    let first = row.int8(1).and_then(|first| u64::try_from(first).ok());
    let first = first.ok_or(Bad::Chunk("has a chunk of weights without a place"))?;
    let weights =
        numbers(row, 3, NumberKind::Float8)?.ok_or(Bad::Chunk("has a chunk without weights"))?;
    let offsets = numbers(row, 2, NumberKind::Int4)?;
    if offsets
        .as_ref()
        .is_some_and(|all| all.len() != weights.len())
    {
        return Err(Bad::Chunk(
            "has a chunk with more or fewer features than weights",
        ));
    }
    let dense_count = model.dense.len() as u64;
    for (at, weight) in weights.iter().enumerate() {
        let offset = offsets.as_ref().map_or(at as f64, |all| all[at]);
        let id = first.saturating_add(offset as u64);
        if offset < 0.0 || id < *next || id >= feature_count {
            return Err(Bad::Chunk("has weights out of order"));
        }
        if !weight.is_finite() {
            return Err(Bad::Chunk("has a weight that is not finite"));
        }
        *next = id + 1;
        match id.checked_sub(dense_count) {
            None => model.dense[id as usize] = *weight,
            Some(id) => {
                let id = u32::try_from(id).map_err(|_| Bad::Chunk("has too many features"))?;
                if *weight != 0.0 {
                    model.sparse.push(id, *weight)?;
                }
            }
        }
    }
    Ok(())
}

/// An array column's numbers, None for NULL.
fn numbers(row: &ResultRow, column: i32, kind: NumberKind) -> Result<Option<Vec<f64>>, Bad> {
    let Some(datum) = row.datum(column) else {
        return Ok(None);
    };
    // SAFETY: the column is an array of this kind, as the table says.
    let value = unsafe { Varlena::open(datum) };
    let array = NumberArray::new(value.payload(), kind)
        .map_err(|_| Bad::Chunk("has a chunk with several dimensions"))?;
    let mut numbers = Vec::new();
    numbers
        .try_reserve_exact(array.len())
        .map_err(|_| Bad::Memory)?;
    match array.append_to(&mut numbers) {
        Ok(false) => Ok(Some(numbers)),
        _ => Err(Bad::Chunk("has a chunk with a NULL in it")),
    }
}

fn damaged(name: &str, what: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("model \"{name}\" is damaged: it {what}"),
    )
    .hint("Train it again, or use an older version: name@1.")
}

fn out_of_memory(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        format!("out of memory while loading model \"{name}\""),
    )
}
