//! Reads a model from its tables, through SPI with the caller's rights. What is stored may have been
//! written by anybody who owns a model, so nothing is taken for granted: nonsense is an error.

use super::assemble::{self, BadChunk, Header, LoadingModel, Probabilities};
use super::version::Model;
use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::json::{self, JsonError};
use crate::base::near;
use crate::catalog::whole::StoredRows;
use crate::features::{FeatureSet, KernelForm};
use crate::pg::array::NumberArray;
use crate::pg::select::{Parameter, PreparedSelect, ResultRow};
use crate::pg::statement;
use crate::pg::types::NumberKind;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use pgsvm_core::kernels::Rows;
use pgsvm_core::memory::{gathered, OutOfMemory};
use std::cell::RefCell;
use std::ffi::CString;

/// Identifies a stored version for good: `xmin` tells rows apart that have one id after a restore.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct VersionKey {
    pub models: pg_sys::Oid,
    pub version: i64,
    pub xmin: u32,
}

/// The SELECTs, planned once per session.
#[derive(Clone)]
pub(super) struct Plans {
    pub schema: pg_sys::Oid,
    /// Its name: a renamed schema needs new plans.
    schema_name: String,
    /// Whether there is a table of heads; the tables of 0.1.0, until they are updated, have none.
    has_heads: bool,
    /// Whether versions say how many rows they have; until the update those of 0.2.0 do not.
    has_counts: bool,
    look_up: PreparedSelect,
    names: PreparedSelect,
    version: PreparedSelect,
    heads: PreparedSelect,
    weights: PreparedSelect,
}

/// The version that a name stands for.
pub(super) struct VersionRow {
    pub key: VersionKey,
    pub version: i32,
}

/// Most names that one that does not exist is compared with.
const MOST_COMPARED: usize = 10_000;

thread_local! {
    static PLANS: RefCell<Option<Plans>> = const { RefCell::new(None) };
}

impl Plans {
    /// The table of models.
    pub fn models(&self) -> pg_sys::Oid {
        // SAFETY: a catalog look-up.
        unsafe { pg_sys::get_relname_relid(c"svm_model".as_ptr(), self.schema) }
    }

    /// The plans for the extension in `schema`; SPI is connected.
    pub fn of(schema: pg_sys::Oid) -> Result<Self, Failure> {
        let schema_name = statement::quoted_schema(schema).ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_INVALID_SCHEMA_NAME,
                "the schema of extension pgsvm does not exist any more",
            )
        })?;
        // SAFETY: catalog look-ups.
        let (heads, counts) = unsafe {
            let versions = pg_sys::get_relname_relid(c"svm_version".as_ptr(), schema);
            (
                pg_sys::get_relname_relid(c"svm_head".as_ptr(), schema),
                pg_sys::get_attnum(versions, c"stored_rows".as_ptr()),
            )
        };
        let has_heads = heads != pg_sys::InvalidOid;
        let has_counts = counts > 0;
        let fits = |plans: &&Self| {
            plans.schema == schema
                && plans.schema_name == schema_name
                && plans.has_heads == has_heads
                && plans.has_counts == has_counts
        };
        let known = PLANS.with_borrow(|plans| plans.as_ref().filter(fits).cloned());
        if let Some(plans) = known {
            return Ok(plans);
        }
        let plans = Self::prepare(schema, schema_name, has_heads, has_counts);
        PLANS.with_borrow_mut(|kept| *kept = Some(plans.clone()));
        Ok(plans)
    }

    fn prepare(
        schema: pg_sys::Oid,
        schema_name: String,
        has_heads: bool,
        has_counts: bool,
    ) -> Self {
        let [counts, classes_by] = match has_counts {
            true => [
                "v.stored_rows::pg_catalog.text",
                "v.classes_by, v.task, v.quantiles, v.interval_rows, v.interval_residuals",
            ],
            false => ["NULL::pg_catalog.text"; 2],
        };
        // which came with the counts
        let added = match has_counts {
            true => "h.isotonic_decisions, h.isotonic_probabilities, h.against",
            false => "NULL::pg_catalog.float8[], NULL::pg_catalog.float8[], NULL::pg_catalog.text",
        };
        let prepare = |sql: &str, types: &[pg_sys::Oid]| {
            let sql = CString::new(sql.replace("{s}", &schema_name)).unwrap_or_default();
            PreparedSelect::new(&sql, types)
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
                "SELECT m.name FROM {s}.svm_model AS m ORDER BY m.name",
                &[],
            ),
            version: prepare(
                &format!(
                    "SELECT v.features::pg_catalog.text, v.nulls, v.label_type,
                     pg_catalog.array_to_json(v.label_values)::pg_catalog.text, v.intercept, v.feature_count,
                     v.label_column, {counts},
                     v.dual OPERATOR(pg_catalog.>) 0 OR v.solver OPERATOR(pg_catalog.=) 'imported', {classes_by}
                     FROM {{s}}.svm_version AS v WHERE v.id OPERATOR(pg_catalog.=) $1"
                ),
                &[pg_sys::INT8OID],
            ),
            heads: prepare(
                &match has_heads {
                    true => format!(
                        "SELECT h.head, h.class, h.intercept, h.sigmoid_slope, h.sigmoid_offset, {added}
                         FROM {{s}}.svm_head AS h WHERE h.version_id OPERATOR(pg_catalog.=) $1 ORDER BY h.head"
                    ),
                    false => format!(
                        "SELECT 0, NULL::pg_catalog.text, 0::pg_catalog.float8, NULL::pg_catalog.float8,
                         NULL::pg_catalog.float8, {added} WHERE $1 IS NULL"
                    ),
                },
                &[pg_sys::INT8OID],
            ),
            weights: prepare(
                "SELECT w.first_feature, w.features, w.weights, w.head FROM {s}.svm_weight AS w
                 WHERE w.version_id OPERATOR(pg_catalog.=) $1 ORDER BY w.head, w.first_feature",
                &[pg_sys::INT8OID],
            ),
            schema_name,
            has_heads,
            has_counts,
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
            key: VersionKey {
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
    let select = format!(
        "SELECT m.current_version FROM {}.svm_model AS m WHERE m.name OPERATOR(pg_catalog.=) $1",
        plans.schema_name
    );
    let mut found = None;
    let select = PreparedSelect::kept(&select, &[pg_sys::TEXTOID]);
    select.for_each(&[Parameter::Text(name)], |row| {
        found = row.int4(1);
        false
    });
    found
}

/// The names of models, of those that may be used, that are like this one: spelt nearly so, or else longer, as the name that
/// svm_train makes of a table and its label.
pub(super) fn near_names(plans: &Plans, name: &str) -> Vec<String> {
    let mut known = Vec::new();
    plans.names.for_each(&[], |row| {
        known.extend(row.text(1));
        known.len() < MOST_COMPARED
    });
    let near = near::names(name, known.iter().map(String::as_str));
    match near.is_empty() {
        true => known
            .into_iter()
            .filter(|longer| {
                longer
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('_'))
            })
            .take(near::SHOWN)
            .collect(),
        false => near,
    }
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
    read_heads(plans, &parameters, &mut model)?;
    let landmarks = match model.features.kernel.clone() {
        Some(form) => Some(read_landmarks(plans, &parameters, &model, &form)?),
        None => None,
    };
    let mut loading =
        LoadingModel::new(&mut model, feature_count).map_err(|_| out_of_memory(&name))?;
    let mut outcome = Ok(());
    let mut chunks = 0;
    plans.weights.for_each(&parameters, |row| {
        chunks += 1;
        outcome = read_chunk(&mut loading, row);
        outcome.is_ok()
    });
    match outcome.and_then(|()| loading.finish(landmarks)) {
        Ok(()) => model
            .stored_rows
            .check(&model.name, "svm_weight", chunks)
            .map(|()| model),
        Err(bad) => Err(bad_part(&name, bad)),
    }
}

/// The model without heads and weights, and the number of its features.
fn read_version(name: &str, row: &ResultRow) -> Result<(Model, u64), Failure> {
    let header = Header {
        features: row
            .text(1)
            .and_then(|json| FeatureSet::from_json(&json).or_raise()),
        nulls: row.text(2).unwrap_or_default(),
        label_type: row.text(3).unwrap_or_default(),
        labels: match row.text(4) {
            Some(json) => names(&json).map_err(|_| out_of_memory(name))?,
            None => Vec::new(),
        },
        intercept: row.float8(5).unwrap_or(f64::NAN),
        feature_count: row.int8(6).unwrap_or(-1),
        label_column: row.text(7).unwrap_or_default(),
        classes_by: row.text(10),
        task: row.text(11),
        quantiles: match numbers(row, 12, NumberKind::Float8) {
            Ok(quantiles) => quantiles.unwrap_or_default(),
            Err(bad) => return Err(bad_part(name, bad)),
        },
        residuals: (
            row.int8(13),
            numbers(row, 14, NumberKind::Float8).map_err(|bad| bad_part(name, bad))?,
        ),
    };
    let stored_rows = StoredRows::read(
        row.text(8).as_deref(),
        row.datum(9).is_some_and(|it| it.value() != 0),
    );
    let (mut model, count) = header.model(name).map_err(|what| damaged(name, what))?;
    model.stored_rows =
        stored_rows.ok_or_else(|| damaged(name, "says nothing readable of its rows"))?;
    Ok((model, count))
}

/// A list of texts, as JSON; empty where it is none, or holds longer ones than a training stores.
fn names(json: &str) -> Result<Vec<String>, OutOfMemory> {
    match json::read_received(json) {
        Ok(names) => Ok(names),
        Err(JsonError::OutOfMemory(error)) => Err(error),
        Err(JsonError::Refused(_)) => Ok(Vec::new()),
    }
}

/// Reads the heads into the model. A version of two classes may have no row: its head is what the
/// version itself says.
fn read_heads(
    plans: &Plans,
    parameters: &[Parameter<'_>],
    model: &mut Model,
) -> Result<(), Failure> {
    let (mut outcome, mut heads) = (Ok(()), assemble::ModelHeads::default());
    plans.heads.for_each(parameters, |row| {
        outcome = read_head(row, model, &mut heads);
        outcome.is_ok()
    });
    outcome.map_err(|bad| bad_part(&model.name, bad))?;
    if model.stored_rows.are_counted() {
        model
            .stored_rows
            .check(&model.name, "svm_head", model.heads.len())?;
    }
    heads
        .complete(model)
        .map_err(|bad| bad_part(&model.name, bad))
}

/// Reads the head behind those read before.
fn read_head(
    row: &ResultRow,
    model: &mut Model,
    heads: &mut assemble::ModelHeads,
) -> Result<(), BadChunk> {
    let number = row.datum(1).map(|head| head.value() as i32);
    if number.is_none() || number != i32::try_from(model.heads.len()).ok() {
        return Err(BadChunk::Chunk(assemble::HEADS_OUT_OF_ORDER));
    }
    let class = row.text(2).unwrap_or_default();
    let intercept = row.float8(3).unwrap_or(f64::NAN);
    let points = |column| numbers(row, column, NumberKind::Float8);
    let probabilities = Probabilities {
        sigmoid: (row.float8(4), row.float8(5)),
        isotonic: (points(6)?, points(7)?),
    };
    let against = row.text(8);
    heads.add(
        model,
        (&class, against.as_deref()),
        intercept,
        probabilities,
    )
}

/// Reads the landmarks of a kernel machine.
fn read_landmarks(
    plans: &Plans,
    parameters: &[Parameter<'_>],
    model: &Model,
    form: &KernelForm,
) -> Result<Rows, Failure> {
    let select = format!(
        "SELECT l.landmark, l.dense, l.sparse_index, l.sparse_value FROM {}.svm_landmark AS l
         WHERE l.version_id OPERATOR(pg_catalog.=) $1 ORDER BY l.landmark",
        plans.schema_name
    );
    let (mut rows, mut outcome, mut found) = (Rows::new(form.width), Ok(()), 0);
    PreparedSelect::kept(&select, &[pg_sys::INT8OID]).for_each(parameters, |row| {
        found += 1;
        if outcome.is_ok() {
            outcome = read_landmark(row, form, &mut rows);
        }
        true
    });
    model
        .stored_rows
        .check(&model.name, "svm_landmark", found)?;
    match outcome {
        Ok(()) => Ok(rows),
        Err(bad) => Err(bad_part(&model.name, bad)),
    }
}

/// Reads the landmark behind those read before.
fn read_landmark(row: &ResultRow, form: &KernelForm, rows: &mut Rows) -> Result<(), BadChunk> {
    if row.int4(1).and_then(|number| usize::try_from(number).ok()) != Some(rows.len()) {
        return Err(BadChunk::Chunk(
            "has landmarks that are not numbered one after the other",
        ));
    }
    let column = |at, kind| Ok::<_, BadChunk>(numbers(row, at, kind)?.unwrap_or_default());
    let dense = column(2, NumberKind::Float4)?;
    let (ids, values) = (column(3, NumberKind::Int8)?, column(4, NumberKind::Float4)?);
    if ids.len() != values.len() {
        return Err(BadChunk::Chunk(
            "has a landmark with more or fewer features than values",
        ));
    }
    let dense = gathered(dense.iter().map(|number| *number as f32));
    // what is no such number comes out of order
    let entries = ids.iter().zip(&values);
    let entries = gathered(entries.map(|(id, value)| [*id as u32, (*value as f32).to_bits()]));
    match (dense, entries) {
        (Ok(dense), Ok(entries)) => assemble::add_landmark(form, rows, &dense, &entries),
        _ => Err(BadChunk::Memory),
    }
}

/// Reads a chunk of weights.
fn read_chunk(loading: &mut LoadingModel<'_>, row: &ResultRow) -> Result<(), BadChunk> {
    let head = row.datum(4).map_or(-1, |head| head.value() as i32);
    let first = row.int8(1).unwrap_or(-1);
    let weights = numbers(row, 3, NumberKind::Float8)?
        .ok_or(BadChunk::Chunk("has a chunk without weights"))?;
    let offsets = numbers(row, 2, NumberKind::Int4)?;
    loading.chunk(head, first, offsets.as_deref(), &weights)
}

/// An array column's numbers, None for NULL.
fn numbers(row: &ResultRow, column: i32, kind: NumberKind) -> Result<Option<Vec<f64>>, BadChunk> {
    let Some(datum) = row.datum(column) else {
        return Ok(None);
    };
    // SAFETY: the column is an array of this kind, as the table says.
    let value = unsafe { Varlena::open(datum) };
    let array = NumberArray::new(value.payload(), kind)
        .map_err(|_| BadChunk::Chunk("has a chunk with several dimensions"))?;
    let mut numbers = Vec::new();
    numbers
        .try_reserve_exact(array.len())
        .map_err(|_| BadChunk::Memory)?;
    match array.append_to(&mut numbers) {
        Ok(false) => Ok(Some(numbers)),
        _ => Err(BadChunk::Chunk("has a chunk with a NULL in it")),
    }
}

fn bad_part(name: &str, bad: BadChunk) -> Failure {
    match bad {
        BadChunk::Memory => out_of_memory(name),
        BadChunk::Chunk(what) => damaged(name, what),
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
