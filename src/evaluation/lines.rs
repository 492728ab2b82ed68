//! `svm_export_rows`: the rows of a relation as a model was trained on such, as lines that LIBLINEAR and LIBSVM read. One query in
//! the calling backend, with the caller's rights.

use super::subject::{literal, Subject};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::text::{joined, written};
use crate::combinations::models;
use crate::model::Model;
use crate::pg::c_function;
use crate::pg::call::Call;
use crate::pg::executor::each_row;
use crate::pg::kept_statement::read_one;
use crate::pg::long_errors::cut_off;
use crate::pg::query;
use crate::pg::result_set::ResultSet;
use crate::pg::snapshot::with_latest;
use crate::predict::null;
use pgrx::pg_sys;

c_function!(
    svm_export_rows_wrapper,
    pg_finfo_svm_export_rows_wrapper,
    svm_export_rows
);

/// `svm_export_rows(model, relation, label, features, scaled) -> TABLE(row_number, line)`.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with arguments as the declaration has them.
unsafe fn svm_export_rows(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut results = ResultSet::begin(fcinfo);
        let call = Call::of(fcinfo);
        let scaled = call.get::<bool>("scaled").unwrap_or(true);
        cut_off(|| {
            let subject = Subject::of_call(fcinfo)?;
            subject.model.check_classes()?;
            let scaled = scaled && is_scaled(&subject)?;
            let planned = query::plan(&lines(&subject, scaled)?);
            with_latest(|| {
                each_row(&planned, u64::MAX, |row, number| {
                    let line = row.values[0];
                    results.put(|| [Some(pg_sys::Datum::from(number as i64)), Some(line)]);
                    Ok(())
                })
            })
        })
        .or_raise();
        null(fcinfo)
    }
}

/// Whether the model's rows were scaled in a way that can be repeated.
fn is_scaled(subject: &Subject) -> Result<bool, Failure> {
    let model = &subject.model;
    // rows that are divided by their length come scaled as they are
    if model.features.unit_rows.is_some() {
        return Ok(false);
    }
    // what compares rows knows how they are scaled, whichever way that is
    if let Some(kernel) = &model.features.kernel {
        return Ok(kernel.scaling.is_some());
    }
    let scale = scale_of(subject)?;
    let known = model.features.spread.deviation.len() >= model.dense_count;
    match scale.as_str() {
        "none" => Ok(false),
        "standard" if model.dense_count == 0 => Ok(false),
        "standard" if known => Ok(true),
        _ => Err(models::scaled_rows(&model.name)),
    }
}

/// The word that the training was given for `scale`.
fn scale_of(subject: &Subject) -> Result<String, Failure> {
    let model: &Model = &subject.model;
    let (name, version) = model.name_and_version();
    let schema = &subject.schema;
    let query = format!(
        "SELECT v.scale FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2"
    );
    let found = read_one::<String>(&query, &[name.into(), version.into()]);
    found.map(Option::unwrap_or_default).map_err(|error| {
        Failure::new(
            Code::ERRCODE_INTERNAL_ERROR,
            format!("could not read the model's scale: {error}"),
        )
    })
}

/// The query of the lines: of two classes the larger is +1 and the other -1, of more each has its number from 1. Rows without a label
/// that the model knows, and those without an answer, are left out.
fn lines(subject: &Subject, scaled: bool) -> Result<String, Failure> {
    let model = literal(&subject.model.name);
    let row = &subject.row_value;
    let asked = format!("svm_internal.svm_row_libsvm({model}, {row}, {scaled}) AS line");
    let labels = &subject.model.labels;
    let class = |at: usize| match labels.len() {
        2 => ["-1", "+1"][at].to_owned(),
        _ => (at + 1).to_string(),
    };
    let cases = labels.iter().enumerate().map(|(at, label)| {
        format!(
            "WHEN row.actual OPERATOR(pg_catalog.=) {} THEN {} ",
            literal(label),
            literal(&class(at))
        )
    });
    let cases = joined(cases, "")?;
    Ok(written(format_args!(
        "SELECT found.class OPERATOR(pg_catalog.||) found.line
         FROM (SELECT CASE {cases}END AS class, row.line FROM {} AS row) AS found
         WHERE found.class IS NOT NULL AND found.line IS NOT NULL",
        subject.rows_asked(&asked)?
    ))?)
}
