//! What belongs to a model or a version: random ids by which rows find each other without foreign keys, triggers that
//! remove what belongs to a removed row, and how many rows a version has, by which one that is not whole is known.
//!
//! Foreign keys are out of the question: pg_restore fills an extension's tables in any order and several at once, and their
//! constraints are there before the rows.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::spi_failure;
use crate::pg::kept_statement::KeptStatement;
use crate::pg::trigger::Fired;
use crate::pg::{c_function, random, statement};
use pgrx::pg_sys;

c_function!(svm_new_id_wrapper, pg_finfo_svm_new_id_wrapper, svm_new_id);
c_function!(
    svm_remove_children_wrapper,
    pg_finfo_svm_remove_children_wrapper,
    svm_remove_children
);
c_function!(
    svm_owner_changed_wrapper,
    pg_finfo_svm_owner_changed_wrapper,
    svm_owner_changed
);
c_function!(
    svm_query_moves_wrapper,
    pg_finfo_svm_query_moves_wrapper,
    svm_query_moves
);

/// `svm_new_id() -> bigint`: never 0 and never negative.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_new_id(_: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    let id = random::bits()
        .ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_INTERNAL_ERROR,
                "could not generate a random id",
            )
        })
        .or_raise();
    pg_sys::Datum::from((id & i64::MAX as u64).max(1) as i64)
}

/// The trigger on `svm_model` and `svm_version` that removes what belongs to a removed row, or to any row where the
/// table was emptied.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_remove_children(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    if let Some(fired) = unsafe { Fired::of(fcinfo) } {
        let arguments = fired.arguments();
        let (column, tables) = arguments
            .split_first()
            .map_or(("", &[][..]), |(column, tables)| (column.as_str(), tables));
        let schema = statement::held_schema(fired.schema()).unwrap_or_default();
        for table in tables {
            let all = format!("DELETE FROM {schema}.{table}");
            match fired.bigint(c"id") {
                Some(id) => {
                    let of_one = format!("{all} WHERE {column} OPERATOR(pg_catalog.=) $1");
                    KeptStatement(&of_one).run(&[id.into()])
                }
                None => KeptStatement(&all).run(&[]),
            }
            .map_err(spi_failure)
            .or_raise();
        }
    }
    pg_sys::Datum::from(0)
}

/// The trigger on `svm_model` that tells grants about another owner.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_owner_changed(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    if let Some(fired) = unsafe { Fired::of(fcinfo) } {
        let schema = statement::held_schema(fired.schema()).unwrap_or_default();
        if let (Some(id), Some(owner)) = (fired.bigint(c"id"), fired.new_name(c"owner")) {
            KeptStatement(&format!(
                "UPDATE {schema}.svm_permission SET owner = $2::pg_catalog.name
                     WHERE model_id OPERATOR(pg_catalog.=) $1"
            ))
            .run(&[id.into(), owner.into()])
            .map_err(spi_failure)
            .or_raise();
        }
    }
    pg_sys::Datum::from(0)
}

/// The trigger on `svm_version` that moves the query of a version as 0.2.0 wrote it to where only the model's owner sees it.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_query_moves(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    if let Some(fired) = unsafe { Fired::of(fcinfo) } {
        let schema = statement::held_schema(fired.schema()).unwrap_or_default();
        if let Some(id) = fired.bigint(c"id") {
            KeptStatement(&format!(
                    "WITH moved AS (
                         INSERT INTO {schema}.svm_source (version_id, query)
                         SELECT id, source_query FROM {schema}.svm_version
                         WHERE id OPERATOR(pg_catalog.=) $1 AND source_query IS NOT NULL
                         RETURNING version_id)
                     UPDATE {schema}.svm_version AS version SET source_query = NULL,
                         stored_rows = version.stored_rows OPERATOR(pg_catalog.||) '{{\"svm_source\": 1}}'::pg_catalog.jsonb
                     FROM moved WHERE version.id OPERATOR(pg_catalog.=) moved.version_id"
                ))
            .run(&[id.into()])
            .map_err(spi_failure)
            .or_raise();
        }
    }
    pg_sys::Datum::from(0)
}
