//! SQL face of training: `svm_train` and `svm_train_query`. Checks the arguments, looks at the source,
//! lets the leader train, stores the model and says what was decided. Runs in the calling backend.

use crate::errors::{Code, Failure, OrRaise};
use crate::features::{self, FeatureSet};
use crate::job::Job;
use crate::labels::{self, LabelKind};
use crate::leader::{self, Trained};
use crate::models::{self, Labelled};
use crate::pg::query::{self, Column};
use crate::request::{Arguments, Request};
use crate::source::Source;
use crate::{model, settings};
use pgrx::prelude::*;
use pgrx::{pg_sys, JsonB};
use pgsvm_core::{Scale, StopReason};
use std::time::Instant;

/// `svm_train(relation, label, …)`: see sql/ for names and defaults. Returns the model's name.
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)]
fn svm_train(
    relation: Option<pg_sys::Oid>,
    label: Option<String>,
    features: Option<Vec<Option<String>>>,
    model: Option<String>,
    c: Option<f64>,
    loss: Option<String>,
    intercept: Option<bool>,
    scale: Option<String>,
    nulls: Option<String>,
    tolerance: Option<f64>,
    max_passes: Option<i32>,
    solver: Option<String>,
    seed: Option<i32>,
    options: Option<JsonB>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let arguments = Arguments {
        source: relation.map(Source::Relation),
        label,
        features,
        model,
        c,
        loss,
        intercept,
        scale,
        nulls,
        tolerance,
        max_passes,
        solver,
        seed,
        options,
    };
    train(arguments, &model::schema_of_call(fcinfo)).or_raise()
}

/// `svm_train_query(query, label, …)`: the same for the rows of a SELECT.
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments)]
fn svm_train_query(
    query: Option<String>,
    label: Option<String>,
    features: Option<Vec<Option<String>>>,
    model: Option<String>,
    c: Option<f64>,
    loss: Option<String>,
    intercept: Option<bool>,
    scale: Option<String>,
    nulls: Option<String>,
    tolerance: Option<f64>,
    max_passes: Option<i32>,
    solver: Option<String>,
    seed: Option<i32>,
    options: Option<JsonB>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let arguments = Arguments {
        source: query.map(Source::Query),
        label,
        features,
        model,
        c,
        loss,
        intercept,
        scale,
        nulls,
        tolerance,
        max_passes,
        solver,
        seed,
        options,
    };
    train(arguments, &model::schema_of_call(fcinfo)).or_raise()
}

fn train(arguments: Arguments, schema: &str) -> Result<String, Failure> {
    let started = Instant::now();
    // SAFETY: raises PostgreSQL's own error in a read-only transaction and on a standby.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"svm_train()".as_ptr()) };
    let request = arguments.check()?;
    models::check_owner(schema, &request.model)?;
    let columns = request.source.columns()?;
    let label = label_column(&request, &columns)?;
    let kind = LabelKind::of_type(&label.name, label.type_oid)?;
    let (features, skipped) = resolve_features(&request, &columns)?;
    let job = plan_job(&request, &features, kind)?;
    let mut trained = leader::train(&job);
    let values = order_classes(&mut trained);
    let labelled = Labelled {
        label_type: &labels::qualified_type_name(label.type_oid),
        values: [&values[0], &values[1]],
        scale: scale_word(job.scale),
        cache_bytes: job.cache_bytes,
        seconds: started.elapsed().as_secs_f64(),
    };
    let version = models::store(schema, &request, &trained, &labelled)?;
    announce(
        &request,
        &trained,
        &labelled,
        version,
        job.trainers,
        &skipped,
    );
    Ok(request.model)
}

fn resolve_features(
    request: &Request,
    columns: &[Column],
) -> Result<(FeatureSet, Vec<String>), Failure> {
    let (set, skipped) = features::resolve(request.features.as_deref(), columns, &request.label)?;
    let skipped = skipped.into_iter().map(|column| column.name).collect();
    Ok((set, skipped))
}

fn label_column<'a>(request: &Request, columns: &'a [Column]) -> Result<&'a Column, Failure> {
    columns
        .iter()
        .find(|column| column.name == request.label)
        .ok_or_else(|| {
            let known: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            Failure::new(
                Code::ERRCODE_UNDEFINED_COLUMN,
                format!("label column \"{}\" does not exist", request.label),
            )
            .hint(format!("The source has the columns {}", known.join(", ")))
        })
}

fn plan_job(request: &Request, features: &FeatureSet, kind: LabelKind) -> Result<Job, Failure> {
    let names = features.columns();
    let select = request.source.select(&request.label, kind, &names)?;
    let planned = query::plan(&select);
    let roles = leader::assign_roles(&planned, features);
    Ok(Job {
        select,
        label: request.label.clone(),
        label_kind: kind,
        features: features.to_json(),
        nulls: request.nulls,
        categories: request.categories,
        scale: request.scale.resolve(features.dense_parts() > 0),
        terms: request.terms.clone(),
        schedule: leader::schedule(&roles),
        trainers: settings::trainers(),
        roles,
        cache_bytes: settings::cache_bytes(),
    })
}

/// Makes the larger label value the positive class; returns negative and positive value.
fn order_classes(trained: &mut Trained) -> [String; 2] {
    let [first, second] = &trained.reader.classes;
    let texts = [first.text.clone(), second.text.clone()];
    if labels::second_is_positive(&trained.reader.classes) {
        return texts;
    }
    trained.weights.flip();
    let [first, second] = texts;
    [second, first]
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "none",
        Scale::Standard => "standard",
        Scale::MaxAbs => "maxabs",
    }
}

/// One NOTICE with what was decided; a WARNING instead when the tolerance was not reached.
fn announce(
    request: &Request,
    trained: &Trained,
    labelled: &Labelled<'_>,
    version: i32,
    trainers: usize,
    skipped: &[String],
) {
    let reader = &trained.reader.report;
    let report = &trained.trainer.report;
    let head = &report.heads[0];
    let mut text = format!(
        "model {}@{version}: solver {}, scale {}, {} rows used, {} skipped, {} features, {} passes, gap {:.1e}, \
         {}, {}, {:.2} s",
        request.model,
        request.terms.solver(),
        labelled.scale,
        reader.rows,
        trained.reader.rows_skipped,
        reader.features,
        report.passes,
        head.certificate.gap,
        memory(trained, labelled.cache_bytes),
        processes(trained, trainers),
        labelled.seconds,
    );
    if !skipped.is_empty() {
        text += &format!("; columns not used: {}", skipped.join(", "));
    }
    match head.stop {
        Some(StopReason::Tolerance) => notice!("{text}"),
        _ => warning!(
            "{text}; stopped before the tolerance {:e} was reached ({})",
            request.terms.tolerance,
            models::stop_word(head.stop)
        ),
    }
}

fn processes(trained: &Trained, trainers: usize) -> String {
    let mut text = match trained.workers {
        0 => "no workers".to_owned(),
        1 => "1 worker".to_owned(),
        many => format!("{many} workers"),
    };
    // rows that stream have one trainer
    if trainers > 1 && trained.trainer.report.resident {
        text += &format!(", {trainers} trainers");
    }
    text
}

fn memory(trained: &Trained, cache_bytes: usize) -> String {
    let reader = &trained.reader.report;
    let rows = readable_bytes(reader.bytes);
    let cache = readable_bytes(cache_bytes as u64);
    match reader.resident {
        true => format!("{rows} of the {cache} cache"),
        false => format!("{rows} through a {cache} cache"),
    }
}

/// Bytes as PostgreSQL's settings write them, with one decimal.
fn readable_bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (unit, name) = [
        (1e0, "B"),
        (1024.0, "kB"),
        (1048576.0, "MB"),
        (1073741824.0, "GB"),
    ]
    .into_iter()
    .rfind(|(unit, _)| bytes >= *unit)
    .unwrap_or((1.0, "B"));
    let number = format!("{:.1}", bytes / unit);
    format!("{} {name}", number.trim_end_matches(".0"))
}
