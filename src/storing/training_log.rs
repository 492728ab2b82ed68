//! The log of a training: from the trainer's entries to a row of svm_log, from which `svm_training_log` makes rows again
//! in SQL. Runs in the calling backend.

use crate::base::errors::OrRaise;
use crate::model;
use crate::pg::kept_statement::KeptStatement;
use crate::pg::memory_ends::prepared;
use crate::pg::statement;
use crate::training::outcome::Tested;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::{SpiClient, SpiError};
use pgsvm_core::{Event, LogEntry};

/// `svm_internal.svm_version_id(model) -> bigint`: the version that a name stands for.
#[pg_extern(sql = false)]
fn svm_version_id(model: &str, fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    let _prepared = prepared();
    // SAFETY: PostgreSQL called with this argument.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    model::find_id(schema, model).or_raise()
}

/// Stores the log of a version.
pub fn insert(
    client: &mut SpiClient<'_>,
    schema: &str,
    version_id: i64,
    (log, tested): (&[LogEntry], &[Tested]),
) -> Result<(), SpiError> {
    fn all<T>(log: &[LogEntry], value: impl Fn(&LogEntry) -> T) -> Vec<T> {
        log.iter().map(value).collect()
    }
    let of = |entry: &LogEntry| tested.iter().find(|it| it.seconds == entry.seconds);
    let watched = |all: Vec<Option<f64>>| (!tested.is_empty()).then_some(all);
    let values: [DatumWithOid<'_>; 17] = [
        version_id.into(),
        all(log, |entry| event_word(entry.event)).into(),
        all(log, |entry| entry.seconds).into(),
        all(log, |entry| entry.pass as i32).into(),
        all(log, |entry| entry.block.map(|block| block as i32)).into(),
        all(log, |entry| entry.heads as i32).into(),
        all(log, |entry| entry.rows_read as i64).into(),
        all(log, |entry| entry.visits as i64).into(),
        all(log, |entry| entry.updates as i64).into(),
        all(log, |entry| entry.dual).into(),
        all(log, |entry| entry.primal).into(),
        all(log, |entry| entry.gap).into(),
        all(log, |entry| entry.cache_rows as i64).into(),
        all(log, |entry| entry.evictions as i64).into(),
        all(log, |entry| entry.projected_gradient).into(),
        watched(all(log, |entry| of(entry).map(|it| it.error))).into(),
        watched(all(log, |entry| of(entry).and_then(|it| it.auc))).into(),
    ];
    client.update(
        KeptStatement(&format!(
            "INSERT INTO {schema}.svm_log (version_id, event, seconds, pass, block, heads, rows_read, visits, updates,
                 dual, primal, gap, cache_rows, evictions, projected_gradient, test_error, test_auc)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
        )),
        None,
        &values,
    )?;
    Ok(())
}

fn event_word(event: Event) -> &'static str {
    match event {
        Event::Load => "load",
        Event::Pass => "pass",
        Event::Verify => "verify",
        Event::Active => "active",
        Event::Block => "block",
        Event::Factor => "factor",
    }
}
