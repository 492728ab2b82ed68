//! All of a version as one text, out of this database's tables and into another's: features with their
//! categories and means, labels, heads with their probabilities, weights, and what is known of the training.
//! What belongs to the rows it was trained on stays behind: keys, dual variables, where the rows came from.

use crate::base::errors::{Code, Failure};
use crate::catalog::rights;
use crate::catalog::whole::StoredRows;
use crate::model::text::{self, Facts};
use crate::model::Model;
use crate::storing::versions::{self, spi_failure};
use pgrx::spi::{quote_identifier, SpiClient, SpiError};
use pgrx::{JsonB, Spi};
use serde_json::{Map, Value};

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

/// What the tables say of a model beside weights.
pub fn facts(schema: &str, model: &Model) -> Result<Facts, Failure> {
    let (name, version) = model.name.rsplit_once('@').unwrap_or((&model.name, ""));
    let version: Option<i32> = version.parse().ok();
    let found = Spi::connect(|client| {
        let rows = client.select(
            &format!(
                "SELECT pg_catalog.to_jsonb(v),
                     (SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(h) ORDER BY h.head) FROM {schema}.svm_head AS h
                      WHERE h.version_id OPERATOR(pg_catalog.=) v.id)
                 FROM {schema}.svm_model AS m
                 JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
                 WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2"
            ),
            Some(1),
            &[name.into(), version.into()],
        )?;
        let row = rows.first();
        Ok::<_, SpiError>((row.get::<JsonB>(1)?, row.get::<JsonB>(2)?))
    });
    let (version, heads) = found.map_err(spi_failure)?;
    let mut facts = text::facts_of(model)?;
    if let Some(JsonB(Value::Object(version))) = version {
        facts.version = version;
        facts.version.retain(|column, _| travels(column));
    }
    if let Some(JsonB(Value::Array(heads))) = heads {
        for (facts, head) in facts.heads.iter_mut().zip(heads) {
            if let Value::Object(head) = head {
                *facts = head;
                facts.retain(|column, _| column != "version_id");
            }
        }
    }
    Ok(facts)
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
    let (model, facts) = text::read(content)?;
    let name = name.unwrap_or_else(|| model.base_name()).to_owned();
    rights::check_name(&name).map_err(|failure| failure.hint("name => 'name'"))?;
    rights::check_owner(schema, &name, "Choose another name: name => 'name'")?;
    let stored_rows = stored_rows(&model)?;
    let id = Spi::connect_mut(|client| {
        let (model_id, version) = versions::next_version(client, schema, &name)?;
        let mut columns = facts.version;
        columns.retain(|column, _| travels(column));
        columns.insert("model_id".to_owned(), model_id.into());
        columns.insert("version".to_owned(), version.into());
        columns.insert("stored_rows".to_owned(), stored_rows);
        // a training here takes nothing over from it
        columns.insert("given".to_owned(), Value::Object(Map::new()));
        let id = insert(client, schema, "svm_version", columns, Some("id"))?;
        let id = id.expect("id is NOT NULL");
        for mut head in facts.heads {
            head.insert("version_id".to_owned(), id.into());
            insert(client, schema, "svm_head", head, None)?;
        }
        Ok(id)
    })
    .map_err(spi_failure)?;
    for head in 0..model.heads.len() {
        text::chunks(&model, head, |chunk| {
            versions::insert_weight_chunk(schema, id, &chunk).map_err(spi_failure)
        })?;
    }
    Ok(name)
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
    ]))
}

/// Inserts a row that is given by the names of its columns; names that the table here does not have are left
/// out, as another version of pgsvm may have written them. Returns what the column `returning` got.
fn insert(
    client: &mut SpiClient<'_>,
    schema: &str,
    table: &str,
    columns: Map<String, Value>,
    returning: Option<&str>,
) -> Result<Option<i64>, SpiError> {
    let known = client.select(
        "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute
         WHERE attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass AND attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
             AND NOT attisdropped AND pg_catalog.has_column_privilege(attrelid, attnum, 'INSERT')",
        None,
        &[format!("{schema}.{table}").into()],
    )?;
    let mut names = Vec::new();
    for row in known {
        if let Some(name) = row
            .get::<String>(1)?
            .filter(|name| columns.contains_key(name))
        {
            names.push(quote_identifier(name));
        }
    }
    let names = names.join(", ");
    let mut insert = format!(
        "INSERT INTO {schema}.{table} ({names})
         SELECT {names} FROM pg_catalog.jsonb_populate_record(NULL::{schema}.{table}, $1)"
    );
    if let Some(column) = returning {
        insert.push_str(&format!(" RETURNING {column}"));
    }
    let rows = client.update(&insert, None, &[JsonB(Value::Object(columns)).into()])?;
    match returning {
        Some(_) => rows.first().get_one::<i64>(),
        None => Ok(None),
    }
}
