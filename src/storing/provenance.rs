//! Where a version's rows came from: a relation by name, or a query, whose text is its owner's to see. Tables of one name in
//! different schemas have the same default name for their model, and are not to become versions of one model. Runs in the
//! calling backend.

use crate::base::errors::{Code, Failure};
use crate::catalog::spi_failure;
use crate::pg::kept_statement::KeptStatement;
use crate::request::source::{self, GivenSource};
use crate::request::Request;
use pgrx::spi::{SpiClient, SpiError};
use pgrx::Spi;

/// A relation's name as it is stored: temporary ones have the same in every session.
pub fn relation(source: &GivenSource) -> Option<String> {
    match source {
        GivenSource::Relation(oid) => source::qualified_relation(*oid).map(same_in_sessions),
        GivenSource::Query(_) => None,
    }
}

/// Whether a source is the relation of that name, as it was stored.
pub fn is_relation(stored: &str, source: &GivenSource) -> bool {
    relation(source).is_some_and(|now| now == same_in_sessions(stored.to_owned()))
}

fn same_in_sessions(name: String) -> String {
    let number = name.strip_prefix("pg_temp_").unwrap_or_default();
    match number.split_once('.') {
        Some((digits, bare)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("pg_temp.{bare}")
        }
        _ => name,
    }
}

/// Stores the text of a query that was trained on.
pub fn insert_query(
    client: &mut SpiClient<'_>,
    schema: &str,
    version_id: i64,
    source: &GivenSource,
) -> Result<(), SpiError> {
    if let GivenSource::Query(text) = source {
        client.update(
            KeptStatement(&format!(
                "INSERT INTO {schema}.svm_source (version_id, query) VALUES ($1, $2)"
            )),
            None,
            &[version_id.into(), text.as_str().into()],
        )?;
    }
    Ok(())
}

/// Refuses a name that the user did not give, where the deployed version of that model came from something else. One that
/// does not say where it came from, of 0.2.0 or imported, may have come from here.
pub fn check(schema: &str, request: &Request) -> Result<(), Failure> {
    let now = match relation(&request.source) {
        Some(now) if !request.call.named => now,
        _ => return Ok(()),
    };
    let before = match source_before(schema, &request.model).map_err(spi_failure)? {
        (Some(before), _) => same_in_sessions(before),
        (None, Some(true)) => "a query".to_owned(),
        _ => return Ok(()),
    };
    if before == now {
        return Ok(());
    }
    let name = &request.model;
    Err(Failure::new(
        Code::ERRCODE_DUPLICATE_OBJECT,
        format!("model \"{name}\" was trained on {before}, not on {now}"),
    )
    .detail("Without an argument model, the name of a model is made of its table's and its label's, without the schema.")
    .hint(format!(
        "Give this one a name: model => 'another_name'; model => '{}' makes it a version of that model",
        name.replace('\'', "''")
    )))
}

/// Says that a training makes a version of a model that has learned something else before: another label, or other rows. What
/// was imported does not say what it learned.
pub fn say_what_differs(schema: &str, request: &Request) -> Result<(), Failure> {
    let Some(before) = before(schema, request).map_err(spi_failure)? else {
        return Ok(());
    };
    let Some(label) = before.label else {
        return Ok(());
    };
    let was = before.relation.map(same_in_sessions);
    let rows = match (was, relation(&request.source)) {
        (Some(was), Some(is)) if was == is => None,
        (Some(was), is) => Some((was, is.unwrap_or_else(|| "a query".to_owned()))),
        // of neither it is not known what it was
        (None, _) if before.same_query.is_none() => None,
        (None, Some(is)) => Some(("a query".to_owned(), is)),
        (None, None) if before.same_query == Some(false) => {
            Some(("a query".to_owned(), "another query".to_owned()))
        }
        (None, None) => None,
    };
    if rows.is_none() && label == request.columns.label {
        return Ok(());
    }
    let (was, is) = rows.map_or_else(Default::default, |(was, is)| {
        (format!(" of {was}"), format!(" of {is}"))
    });
    let named = |label: &str| match label {
        "" => "without a label".to_owned(),
        label => format!("label \"{label}\""),
    };
    let message = format!(
        "version {} of model \"{}\" learned {}{was}, the new one learns {}{is}",
        before.version,
        request.model,
        named(&label),
        named(&request.columns.label)
    );
    Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message)
        .detail("It keeps no settings of that version.")
        .hint("Another name makes another model: model => 'another_name'")
        .notice();
    Ok(())
}

/// What the model's deployed version learned.
struct LearnedBefore {
    version: i32,
    label: Option<String>,
    relation: Option<String>,
    /// Whether its query is the one that is trained on now; None where it had none.
    same_query: Option<bool>,
}

/// None of a model that is not there, or was imported.
fn before(schema: &str, request: &Request) -> Result<Option<LearnedBefore>, SpiError> {
    let query = match &request.source {
        GivenSource::Query(text) => text.as_str(),
        GivenSource::Relation(_) => "",
    };
    Spi::connect(|client| {
        let rows = client.select(
            KeptStatement(&format!(
                "SELECT v.version, v.label_column, v.source_relation,
                     coalesce((SELECT s.query FROM {schema}.svm_source AS s
                         WHERE s.version_id OPERATOR(pg_catalog.=) v.id), v.source_query) OPERATOR(pg_catalog.=) $2
                 FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v
                     ON v.model_id OPERATOR(pg_catalog.=) m.id AND v.version OPERATOR(pg_catalog.=) m.current_version
                 WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.solver OPERATOR(pg_catalog.<>) 'imported'"
            )),
            Some(1),
            &[request.model.as_str().into(), query.into()],
        )?;
        if rows.is_empty() {
            return Ok(None);
        }
        let row = rows.first();
        let version = row.get::<i32>(1)?;
        let (label, relation, same_query) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(version.map(|version| LearnedBefore {
            version,
            label,
            relation,
            same_query,
        }))
    })
}

/// The relation that the model's deployed version was trained on, and whether it was a query.
fn source_before(schema: &str, model: &str) -> Result<(Option<String>, Option<bool>), SpiError> {
    Spi::connect(|client| {
        let rows = client.select(
            KeptStatement(&format!(
                "SELECT v.source_relation, v.source_query IS NOT NULL OR EXISTS (
                     SELECT FROM {schema}.svm_source AS s WHERE s.version_id OPERATOR(pg_catalog.=) v.id)
                 FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v
                     ON v.model_id OPERATOR(pg_catalog.=) m.id
                 WHERE m.name OPERATOR(pg_catalog.=) $1
                 -- the deployed one; while a version is being stored, the one before
                 ORDER BY v.version OPERATOR(pg_catalog.=) m.current_version DESC, v.version DESC"
            )),
            Some(1),
            &[model.into()],
        )?;
        match rows.is_empty() {
            true => Ok((None, None)),
            false => rows.first().get_two::<String, bool>(),
        }
    })
}
