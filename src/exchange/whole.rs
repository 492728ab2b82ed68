//! All of a version as one text, out of this database's tables and into another's: features with their
//! categories and means, labels, heads with their probabilities, weights, and what is known of the training.
//! What belongs to the rows it was trained on stays behind: keys, dual variables, where the rows came from.

use super::facts::{self, RowObject, FACTS_OF_HEAD, FACTS_OF_VERSION};
use crate::base::errors::{Code, Failure};
use crate::catalog::rights;
use crate::catalog::spi_failure;
use crate::catalog::whole::StoredRows;
use crate::model::text::{self, VersionFacts, VersionLines};
use crate::model::{ClassesBy, Model};
use crate::pg::json::{JsonText, Jsonb};
use crate::pg::select::{self, Parameter, PreparedSelect};
use crate::storing::heads::HeadRow;
use crate::storing::together::RowsOfVersion;
use crate::storing::{chunks, versions};
use pgrx::spi::{SpiClient, SpiError};
use pgrx::{pg_sys, Spi};
use pgsvm_core::memory::Room;
use serde_json::Value;
use std::ffi::CString;

/// What the tables say of a model beside weights and what it says itself.
pub fn facts(schema: &str, model: &Model) -> Result<VersionFacts, Failure> {
    let (name, version) = model.name_and_version();
    let given = [Parameter::Text(name), Parameter::Int4(version)];
    let types = [pg_sys::TEXTOID, pg_sys::INT4OID];
    let mut facts = VersionFacts {
        version: String::new(),
        heads: Vec::new(),
    };
    let mut failed = Ok(());
    select::connected(|| {
        let of_version = PreparedSelect::once(&facts_of_version(schema), &types);
        of_version.for_each(&given, |row| {
            facts.version = row.text(1).unwrap_or_default();
            false
        });
        let of_heads = PreparedSelect::once(&facts_of_heads(schema), &types);
        of_heads.for_each(&given, |row| {
            failed = facts
                .heads
                .room(1)
                .map(|heads| heads.push(row.text(1).unwrap_or_default()));
            failed.is_ok()
        });
    });
    failed?;
    Ok(facts)
}

/// The query for what svm_version says of the model $1, version $2.
fn facts_of_version(schema: &str) -> CString {
    let sql = format!(
        "SELECT {}
         FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2",
        object_of("v", FACTS_OF_VERSION)
    );
    CString::new(sql).unwrap_or_default()
}

/// The same of svm_head.
fn facts_of_heads(schema: &str) -> CString {
    let sql = format!(
        "SELECT {}
         FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         JOIN {schema}.svm_head AS h ON h.version_id OPERATOR(pg_catalog.=) v.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2 ORDER BY h.head",
        object_of("h", FACTS_OF_HEAD)
    );
    CString::new(sql).unwrap_or_default()
}

/// These columns of a row, as many of them as its table has, as a JSON object in SQL.
fn object_of(row: &str, columns: &[&str]) -> String {
    format!(
        "(SELECT pg_catalog.jsonb_object_agg(key, value) FROM pg_catalog.jsonb_each(pg_catalog.to_jsonb({row}))
             WHERE key OPERATOR(pg_catalog.=) ANY ({}))::pg_catalog.text",
        text_array(columns)
    )
}

/// Names of columns, of ours, as an array.
fn text_array(names: &[&str]) -> String {
    format!("'{{{}}}'::pg_catalog.text[]", names.join(","))
}

/// Stores the model of a text as a new version of the model `name`, or of one that is called as it was.
pub fn import(
    schema: &str,
    name: Option<&str>,
    content: &str,
    classes: bool,
) -> Result<String, Failure> {
    if classes {
        return Err(Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            "a model of pgsvm's own has its classes with it",
        )
        .hint("Leave classes out: svm_import('name', …)."));
    }
    let (model, lines) = text::read(content)?;
    let name = name.unwrap_or_else(|| model.base_name()).to_owned();
    rights::check_name(&name).map_err(|failure| failure.hint("name => 'name'"))?;
    rights::check_owner(schema, &name, "Choose another name: name => 'name'")?;
    let (version_row, columns) = version_row(&model, &lines)?;
    let (model_id, version, id) =
        Spi::connect_mut(|client| store(client, schema, &name, (&version_row, &columns)))
            .map_err(spi_failure)?;
    insert_heads(schema, id, &model, &lines)?;
    if let Some(machine) = &model.kernel {
        chunks::insert_landmarks(schema, id, machine.landmarks()).map_err(spi_failure)?;
    }
    let mut weights = RowsOfVersion::of(schema, id);
    for head in 0..model.heads.len() {
        text::chunks(&model, head, |chunk| {
            weights.put(chunk).map_err(spi_failure)
        })?;
    }
    weights.finish().map_err(spi_failure)?;
    versions::deploy(schema, model_id, version)?;
    Ok(name)
}

/// The row of svm_version as JSON, and its columns, but for its place among those of its model.
fn version_row(
    model: &Model,
    lines: &VersionLines<'_>,
) -> Result<(String, Vec<&'static str>), Failure> {
    let mut row = RowObject::default();
    let (line, version) = lines.version;
    facts::put_version(&mut row, line, version)?;
    let names = [
        ("label_column", &model.label_column),
        ("label_type", &model.label_type),
    ];
    for (column, name) in names {
        // rows without labels have no column of them
        if name.is_empty() && !(model.finds_novelties && column == "label_column") {
            return Err(text::malformed(line, &format!("lacks its {column}")));
        }
        row.put(column, JsonText::of(name)?.as_str())?;
    }
    row.put("features", &model.features.to_json()?)?;
    row.put("nulls", JsonText::of(&model.nulls.word())?.as_str())?;
    row.put("label_values", JsonText::of(&model.labels)?.as_str())?;
    row.put("intercept", &format!("{:e}", model.intercept))?;
    row.put("feature_count", &lines.feature_count.to_string())?;
    if model.classes_by == ClassesBy::Probability {
        let word = JsonText::of(&model.classes_by.word())?;
        row.put("classes_by", word.as_str())?;
    }
    if let Some(task) = model.task() {
        row.put("task", JsonText::of(&task)?.as_str())?;
    }
    if !model.quantiles.is_empty() {
        row.put("quantiles", JsonText::of(&model.quantiles)?.as_str())?;
    }
    if let Some(residuals) = &model.residuals {
        row.put("interval_rows", &residuals.rows().to_string())?;
        row.put(
            "interval_residuals",
            JsonText::of(&residuals.sizes())?.as_str(),
        )?;
    }
    row.put("stored_rows", &stored_rows(model)?.to_string())?;
    // a training here takes nothing over from it
    row.put("given", "{}")?;
    Ok(row.finish()?)
}

/// Stores the row of svm_version; returns the model, the version and its id.
fn store(
    client: &mut SpiClient<'_>,
    schema: &str,
    name: &str,
    (row, columns): (&str, &[&str]),
) -> Result<(i64, i32, i64), SpiError> {
    let (model_id, version) = versions::next_version(client, schema, name)?;
    let columns = columns.join(", ");
    let insert = format!(
        "INSERT INTO {schema}.svm_version (model_id, version, {columns})
         SELECT $2, $3, {columns} FROM pg_catalog.jsonb_populate_record(NULL::{schema}.svm_version, $1)
         RETURNING id"
    );
    let given = [Jsonb(row).into(), model_id.into(), version.into()];
    let rows = client.update(&insert, None, &given)?;
    let id = rows.first().get_one::<i64>()?.expect("id is NOT NULL");
    Ok((model_id, version, id))
}

/// Stores the rows of svm_head.
fn insert_heads(
    schema: &str,
    version_id: i64,
    model: &Model,
    lines: &VersionLines<'_>,
) -> Result<(), Failure> {
    let mut rows = RowsOfVersion::of(schema, version_id);
    for (place, head) in model.heads.iter().enumerate() {
        let (class, against) = model.classes_of_head(place);
        let calibration = head.calibration.as_ref();
        let isotonic = calibration.and_then(|it| it.isotonic.as_ref());
        let row = HeadRow {
            number: place as i32,
            class: &model.labels[class],
            against: against.map(|it| model.labels[it].as_str()),
            intercept: head.intercept,
            sigmoid: calibration.map(|it| (it.sigmoid.a, it.sigmoid.b)),
            isotonic: isotonic.map(|it| it.points()),
            ..HeadRow::default()
        };
        let row = match lines.heads.get(place) {
            Some((line, facts)) => facts::of_head(row, *line, facts)?,
            None => row,
        };
        rows.put(row).map_err(spi_failure)?;
    }
    rows.finish().map_err(spi_failure)
}

/// How many rows the version gets in each table.
fn stored_rows(model: &Model) -> Result<Value, Failure> {
    let mut chunks = 0;
    for head in 0..model.heads.len() {
        text::chunks(model, head, |_| {
            chunks += 1;
            Ok(())
        })?;
    }
    let heads = model.heads.len();
    Ok(StoredRows::to_json(&[
        ("svm_head", heads),
        ("svm_weight", chunks),
        (
            "svm_landmark",
            model
                .kernel
                .as_ref()
                .map_or(0, |machine| machine.landmarks().len()),
        ),
    ]))
}
