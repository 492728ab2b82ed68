//! `svm_repair`: what restoring a dump in part, or with its triggers disabled, leaves behind. Runs in the calling backend with
//! the caller's rights, which must be those of the tables' owner. The view `svm_problems` says what there is.

use crate::base::errors::{Failure, OrRaise};
use crate::catalog::rights;
use crate::catalog::spi_failure;
use crate::model;
use crate::pg::kept_statement::read_one;
use crate::pg::memory_ends::prepared;
use pgrx::prelude::*;
use pgrx::spi::SpiError;

/// Tables whose rows belong to a row of another: table, column, and the other table. Parents come first.
const BELONGING: [(&str, &str, &str); 14] = [
    ("svm_permission", "model_id", "svm_model"),
    ("svm_version", "model_id", "svm_model"),
    ("svm_head", "version_id", "svm_version"),
    ("svm_weight", "version_id", "svm_version"),
    ("svm_dual", "version_id", "svm_version"),
    ("svm_key", "version_id", "svm_version"),
    ("svm_key_dual", "version_id", "svm_version"),
    ("svm_key_leeway", "version_id", "svm_version"),
    ("svm_key_scaling", "version_id", "svm_version"),
    ("svm_key_metric", "version_id", "svm_version"),
    ("svm_log", "version_id", "svm_version"),
    ("svm_source", "version_id", "svm_version"),
    ("svm_landmark", "version_id", "svm_version"),
    ("svm_index_chunk", "index_id", "svm_index"),
];

/// Triggers that CREATE EXTENSION does not leave as PostgreSQL makes them, and all others: ENABLE TRIGGER ALL changes the
/// former, DISABLE TRIGGER ALL both.
const TRIGGERS: [(&str, &str, &str); 19] = [
    ("svm_model", "svm_model_changed", "ENABLE ALWAYS"),
    ("svm_model", "svm_model_children", "ENABLE"),
    ("svm_model", "svm_model_emptied", "ENABLE"),
    ("svm_model", "svm_model_owner", "ENABLE"),
    ("svm_model", "svm_model_told", "ENABLE"),
    ("svm_model", "svm_model_gone", "ENABLE"),
    ("svm_model", "svm_model_all_gone", "ENABLE"),
    ("svm_version", "svm_version_changed", "ENABLE ALWAYS"),
    ("svm_version", "svm_version_children", "ENABLE"),
    ("svm_version", "svm_version_emptied", "ENABLE"),
    ("svm_version", "svm_version_gone", "ENABLE"),
    ("svm_permission", "svm_permission_changed", "ENABLE ALWAYS"),
    ("svm_permission", "svm_permission_told", "ENABLE"),
    ("svm_permission", "svm_permission_all_gone", "ENABLE"),
    ("svm_head", "svm_head_changed", "ENABLE REPLICA"),
    ("svm_weight", "svm_weight_changed", "ENABLE REPLICA"),
    ("svm_landmark", "svm_landmark_changed", "ENABLE REPLICA"),
    ("svm_index", "svm_index_children", "ENABLE"),
    ("svm_index", "svm_index_emptied", "ENABLE"),
];

/// `svm_repair(remove_orphans) -> setof text`: what was done.
#[pg_extern(sql = false)]
fn svm_repair(
    remove_orphans: Option<bool>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, String> {
    let _prepared = prepared();
    let repair = || {
        rights::check_writable("svm_repair()")?;
        let schema = model::schema_of_call(fcinfo);
        let mut done = enable_triggers(&schema).map_err(spi_failure)?;
        if remove_orphans == Some(true) {
            done.extend(remove_all_orphans(&schema).map_err(spi_failure)?);
        }
        Ok::<_, Failure>(done)
    };
    SetOfIterator::new(repair().or_raise())
}

/// Enables each trigger that is not enabled as it was made; others are left alone, as that locks their table.
fn enable_triggers(schema: &str) -> Result<Vec<String>, SpiError> {
    let mut done = Vec::new();
    for (table, trigger, enable) in TRIGGERS {
        let wrong = read_one::<bool>(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger
                 WHERE tgrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass AND tgname OPERATOR(pg_catalog.=) $2
                     AND tgenabled OPERATOR(pg_catalog.<>) CASE
                         WHEN $3 OPERATOR(pg_catalog.=) 'ENABLE ALWAYS' THEN 'A'
                         WHEN $3 OPERATOR(pg_catalog.=) 'ENABLE REPLICA' THEN 'R' ELSE 'O' END::pg_catalog.\"char\")",
            &[
                format!("{schema}.{table}").into(),
                trigger.into(),
                enable.into(),
            ],
        )?;
        if wrong == Some(true) {
            let statement = format!("ALTER TABLE {schema}.{table} {enable} TRIGGER {trigger}");
            Spi::run(&statement)?;
            done.push(statement);
        }
    }
    Ok(done)
}

/// Removes rows that belong to nothing; those of versions go with their version.
fn remove_all_orphans(schema: &str) -> Result<Vec<String>, SpiError> {
    let mut done = Vec::new();
    for (table, column, parent) in BELONGING {
        crate::pg::check_for_interrupts();
        let removed = Spi::connect_mut(|client| {
            client
                .update(
                    &format!(
                        "DELETE FROM {schema}.{table} AS child WHERE NOT EXISTS (SELECT FROM {schema}.{parent} AS parent
                             WHERE parent.id OPERATOR(pg_catalog.=) child.{column})"
                    ),
                    None,
                    &[],
                )
                .map(|rows| rows.len())
        })?;
        if removed > 0 {
            done.push(format!(
                "removed {removed} rows of {table} that belonged to nothing"
            ));
        }
    }
    Ok(done)
}
