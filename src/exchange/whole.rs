//! All of a version as one text, out of this database's tables and into another's: features with their
//! categories and means, labels, heads with their probabilities, weights, and what is known of the training.
//! What belongs to the rows it was trained on stays behind: keys, dual variables, where the rows came from.

use crate::base::errors::{Code, Failure};
use crate::catalog::rights;
use crate::catalog::spi_failure;
use crate::catalog::whole::StoredRows;
use crate::model::text::{self, Facts, Told, SAID_OF_HEAD, SAID_OF_VERSION};
use crate::model::Model;
use crate::pg::json::Jsonb;
use crate::pg::select::{self, Parameter, PreparedSelect};
use crate::storing::{chunks, versions};
use pgrx::spi::{quote_identifier, SpiClient, SpiError};
use pgrx::{pg_sys, JsonB, Spi};
use pgsvm_core::memory::Room;
use serde_json::{json, Value};
use std::ffi::CString;

/// Columns of svm_version that do not travel: what the other database gives, and what is about the rows.
const LEFT_BEHIND: [&str; 7] = [
    "id",
    "model_id",
    "version",
    "stored_rows",
    "search_path",
    "trained_by",
    "given",
];
const LEFT_BEHIND_BY_BEGINNING: [&str; 4] = ["source", "key_", "followed", "origin"];

fn travels(column: &str) -> bool {
    !LEFT_BEHIND.contains(&column)
        && !LEFT_BEHIND_BY_BEGINNING
            .iter()
            .any(|beginning| column.starts_with(beginning))
}

/// What the tables say of a model beside weights and what it says itself.
pub fn facts(schema: &str, model: &Model) -> Result<Facts, Failure> {
    let (name, version) = model.name_and_version();
    let given = [Parameter::Text(name), Parameter::Int4(version)];
    let types = [pg_sys::TEXTOID, pg_sys::INT4OID];
    let mut facts = Facts {
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
    let begins = LEFT_BEHIND_BY_BEGINNING
        .map(|beginning| format!("pg_catalog.starts_with(key, '{beginning}')"));
    let sql = format!(
        "SELECT (SELECT pg_catalog.jsonb_object_agg(key, value)
             FROM pg_catalog.jsonb_each(pg_catalog.to_jsonb(v) OPERATOR(pg_catalog.-) {}) WHERE NOT ({}))::pg_catalog.text
         FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2",
        text_array(&[&LEFT_BEHIND[..], SAID_OF_VERSION].concat()),
        begins.join(" OR ")
    );
    CString::new(sql).unwrap_or_default()
}

/// The same of svm_head.
fn facts_of_heads(schema: &str) -> CString {
    let sql = format!(
        "SELECT (pg_catalog.to_jsonb(h) OPERATOR(pg_catalog.-) {})::pg_catalog.text
         FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         JOIN {schema}.svm_head AS h ON h.version_id OPERATOR(pg_catalog.=) v.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2 ORDER BY h.head",
        text_array(&[&["version_id"][..], SAID_OF_HEAD].concat())
    );
    CString::new(sql).unwrap_or_default()
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
    let (model, told) = text::read(content)?;
    let name = name.unwrap_or_else(|| model.base_name()).to_owned();
    rights::check_name(&name).map_err(|failure| failure.hint("name => 'name'"))?;
    rights::check_owner(schema, &name, "Choose another name: name => 'name'")?;
    let stored_rows = stored_rows(&model)?;
    let (model_id, version, id) =
        Spi::connect_mut(|client| store(client, schema, &name, &told, stored_rows))
            .map_err(spi_failure)?;
    if let Some(machine) = &model.kernel {
        chunks::insert_landmarks(schema, id, machine.landmarks()).map_err(spi_failure)?;
    }
    for head in 0..model.heads.len() {
        text::chunks(&model, head, |chunk| {
            chunks::insert_weight_chunk(schema, id, &chunk).map_err(spi_failure)
        })?;
    }
    versions::deploy(schema, model_id, version)?;
    Ok(name)
}

/// Stores what the text says of a version and its heads, but for weights; returns the model, the version and its id.
fn store(
    client: &mut SpiClient<'_>,
    schema: &str,
    name: &str,
    told: &Told<'_>,
    stored_rows: Value,
) -> Result<(i64, i32, i64), SpiError> {
    let (model_id, version) = versions::next_version(client, schema, name)?;
    // a training here takes nothing over from it
    let own = json!({
        "model_id": model_id, "version": version, "stored_rows": stored_rows, "given": {},
    });
    let given = (told.version, &own);
    let id = insert(client, schema, "svm_version", given, Some("id"))?;
    let id = id.expect("id is NOT NULL");
    for head in &told.heads {
        let own = json!({"version_id": id});
        insert(client, schema, "svm_head", (head, &own), None)?;
    }
    Ok((model_id, version, id))
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

/// Inserts a row that is given by the names of its columns, `told` in the text and `own` ones; names that the table here
/// does not have are left out, as another version of pgsvm may have written them. Returns what the column `returning` got.
fn insert(
    client: &mut SpiClient<'_>,
    schema: &str,
    table: &str,
    (told, own): (&str, &Value),
    returning: Option<&str>,
) -> Result<Option<i64>, SpiError> {
    let table = format!("{schema}.{table}");
    let names = columns_told(client, &table, (told, own))?.join(", ");
    let mut insert = format!(
        "INSERT INTO {table} ({names})
         SELECT {names} FROM pg_catalog.jsonb_populate_record(NULL::{table}, $1 OPERATOR(pg_catalog.||) $2)"
    );
    if let Some(column) = returning {
        insert.push_str(&format!(" RETURNING {column}"));
    }
    let given = [Jsonb(told).into(), JsonB(own.clone()).into()];
    let rows = client.update(&insert, None, &given)?;
    match returning {
        Some(_) => rows.first().get_one::<i64>(),
        None => Ok(None),
    }
}

/// The columns of the table that such a row gives, as SQL writes them.
fn columns_told(
    client: &SpiClient<'_>,
    table: &str,
    (told, own): (&str, &Value),
) -> Result<Vec<String>, SpiError> {
    let known = client.select(
        "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute
         WHERE attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass AND attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
             AND NOT attisdropped AND pg_catalog.has_column_privilege(attrelid, attnum, 'INSERT')
             AND pg_catalog.jsonb_exists($2 OPERATOR(pg_catalog.||) $3, attname::pg_catalog.text)",
        None,
        &[
            table.into(),
            Jsonb(told).into(),
            JsonB(own.clone()).into(),
        ],
    )?;
    let mut names = Vec::new();
    for row in known {
        let name = row.get::<String>(1)?.unwrap_or_default();
        if own.get(&name).is_some() || travels(&name) {
            names.push(quote_identifier(name));
        }
    }
    Ok(names)
}
