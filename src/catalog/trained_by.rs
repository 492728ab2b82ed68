//! The call that trained a version, for hints that type it again: which function, on what, with which label. Looked up when there is
//! something to say, with the rights of whoever is told: the text of a query is its owner's to see, and nothing is told out of a function that
//! runs with its owner's rights. Runs in any backend or parallel worker.

use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::pg::statement;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;

/// Longest query that a hint shows.
const MOST_CHARACTERS: usize = 500;

/// SQL that trains a model again, with its key where it has one, and `with` these arguments, the rest as it was. `model`: its name, with
/// its version or of the deployed one.
pub fn training(model: &str, with: &str) -> String {
    let (name, version) = match model.rsplit_once('@') {
        Some((name, version)) => (name, version.parse().ok()),
        None => (model, None),
    };
    let (call, key) = call_of(name, version).unwrap_or_else(|| ("svm_train(…".to_owned(), None));
    let mut arguments = vec![format!("model => {}", quote_literal(name))];
    let keyed = key.filter(|_| !with.contains("key => "));
    arguments.extend(keyed.map(|key| format!("key => {}", quote_literal(key))));
    arguments.extend((!with.is_empty()).then(|| with.to_owned()));
    format!("SELECT {call}, {})", arguments.join(", "))
}

/// The call up to its label, and the key; None of what nobody knows the training of.
fn call_of(name: &str, version: Option<i32>) -> Option<(String, Option<String>)> {
    let extension = statement::extension_schema();
    // SAFETY: a catalog look-up.
    let sources = unsafe { pg_sys::get_relname_relid(c"svm_source".as_ptr(), extension) };
    // until the update, tables of earlier releases do not say
    if sources == pg_sys::InvalidOid {
        return None;
    }
    let schema = statement::quoted_schema(extension)?;
    let query = format!(
        "SELECT v.label_column, v.source_relation, v.key_column, pg_catalog.left(s.query, {}),
             v.stored_rows OPERATOR(pg_catalog.->) 'svm_source' IS NOT NULL
         FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         LEFT JOIN {schema}.svm_source AS s ON s.version_id OPERATOR(pg_catalog.=) v.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) COALESCE($2, m.current_version)",
        MOST_CHARACTERS + 1
    );
    let mut found = None;
    select::connected(|| {
        let parameters = [Parameter::Text(name), Parameter::Int4(version)];
        PreparedSelect::kept(&query, &[pg_sys::TEXTOID, pg_sys::INT4OID])
            .for_each_at_once(&parameters, |row| found = call(row));
    });
    found
}

fn call(row: &ResultRow) -> Option<(String, Option<String>)> {
    let label = quote_literal(row.text(1)?);
    let (relation, query) = (row.text(2), row.text(4));
    let is_query = relation.is_none() && row.datum(5).is_some_and(|it| it.value() != 0);
    // whoever calls such a function need not be allowed to see what its owner trained on
    if !statement::is_callers_own() {
        let function = if is_query {
            "svm_train_query"
        } else {
            "svm_train"
        };
        return Some((format!("{function}(…"), None));
    }
    let call = match (relation, query) {
        (Some(relation), _) => format!("svm_train({}, {label}", quote_literal(relation)),
        (None, Some(query)) if query.chars().count() <= MOST_CHARACTERS => {
            format!("svm_train_query({}, {label}", quote_literal(query))
        }
        (None, None) if !is_query => return None,
        (None, _) => format!("svm_train_query('SELECT …', {label}"),
    };
    Some((call, row.text(3)))
}
