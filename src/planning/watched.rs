//! The relation of `options => '{"watch": "relation"}'`, checked before the training, so that an error comes before the work.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::pg::query::{self, Planned};
use crate::planning::columns::{differing, WantedColumns};
use crate::planning::job::Job;
use crate::request::source::{relation_named, GivenSource};
use crate::targets::labels::LabelColumn;
use pgrx::pg_sys;
use pgrx::spi::quote_identifier;

/// What is read of the relation.
pub fn wanted<'a>(label: &'a LabelColumn, features: Vec<&'a str>) -> WantedColumns<'a> {
    WantedColumns {
        label: &label.name,
        label_kind: label.kind,
        classed: &label.classed,
        features,
        weight: None,
        fold: None,
        order: None,
        key: None,
        added: None,
    }
}

/// The relation of this name, whose rows are to have the label and the features of the source.
pub fn watched(name: &str, job: &Job, planned: &Planned) -> Result<pg_sys::Oid, Failure> {
    let relation = relation_named(name)?.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_UNDEFINED_TABLE,
            format!("relation {} to watch does not exist", shortened(name)),
        )
        .detail("What is watched is a table or a view, by its name.")
        .hint(
            "options => '{\"watch\": \"schema.relation\"}'; of a query: CREATE VIEW … AS SELECT …",
        )
    })?;
    let source = GivenSource::Relation(relation);
    let columns = source.columns()?;
    let label = &job.statement.columns.label;
    let wanted = wanted(label, job.features.columns());
    for name in wanted.features.iter().chain([&wanted.label]) {
        if !columns.iter().any(|column| column.name == *name) {
            let failure = Failure::new(
                Code::ERRCODE_UNDEFINED_COLUMN,
                format!("column \"{name}\" does not exist"),
            )
            .detail("The relation to watch has the label and the features of the source.");
            let known = columns.iter().map(|column| column.name.as_str());
            let near = near::names(name, known);
            let meant = near.first().map_or("…".to_owned(), quote_identifier);
            return Err(failure.hint(format!(
                "Watch a view that has it: SELECT *, {meant} AS {} FROM …",
                quote_identifier(name)
            )));
        }
    }
    let (list, places) = wanted.list();
    let others = query::plan(&source.select(&list)?);
    let features = places.features.zip(job.features.columns());
    // the label is the first one of both
    let all = core::iter::once((places.label.at, label.name.as_str())).chain(features);
    match differing(all, [&others, planned]) {
        Some((name, [now, before])) => Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!("column \"{name}\" to watch has type {now}, that of the source {before}"),
        )
        .hint(format!(
            "Watch a view that casts it: SELECT {}::{before} …",
            quote_identifier(name)
        ))),
        None => Ok(relation),
    }
}
