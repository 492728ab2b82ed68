//! What is wrong with the features that a prediction was given, in words about its model.

use crate::base::errors::{Code, Failure};
use crate::features::{FeatureBuffer, FeatureError};
use crate::model::Model;
use crate::pg::types::type_name;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;

/// Most columns that a hint lists.
const HINTED_COLUMNS: usize = 10;

pub fn out_of_range(model: &Model) -> Failure {
    Failure::new(
        Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("the decision of model \"{}\" is out of range", model.name),
    )
}

pub fn row_failure(model: &Model, error: FeatureError) -> Failure {
    let missing = matches!(&error, FeatureError::MissingColumn { near, .. } if near.is_empty());
    let failure = Failure::from(error);
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    match missing {
        true => failure.hint(call_hint(model)),
        false => failure,
    }
}

pub fn document_failure(model: &Model, failure: Failure) -> Failure {
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    match failure.hint {
        Some(_) => failure,
        None => failure.hint(format!(
            "Pass an object with the fields {}.",
            hinted_columns(model)
        )),
    }
}

/// # Safety
/// `datum` is the argument.
pub unsafe fn argument_failure(
    model: &Model,
    error: FeatureError,
    datum: pg_sys::Datum,
) -> Failure {
    let features = model.dense_count;
    match &error {
        FeatureError::Length { .. } | FeatureError::Empty { .. } => Failure::from(error)
            .detail(format!("Model \"{}\" has {features} features.", model.name)),
        FeatureError::LibsvmSyntax { .. } => {
            // SAFETY: LIBSVM notation is read from text arguments only.
            let text = unsafe { Varlena::open(datum) };
            let failure = Failure::from(error);
            match text.payload().first() {
                Some(b'{') => failure.hint("An array literal needs its type: '{1,2}'::float8[]."),
                _ => failure,
            }
        }
        _ => error.into(),
    }
}

pub fn null_feature(model: &Model, row: &FeatureBuffer, by_name: bool) -> Failure {
    let part = row
        .null_parts
        .first()
        .filter(|_| by_name)
        .and_then(|at| model.features.parts.get(*at));
    let what = match part {
        Some(part) => format!("feature \"{}\" contains NULL", part.name()),
        None => "the features contain NULL".to_owned(),
    };
    Failure::new(Code::ERRCODE_NULL_VALUE_NOT_ALLOWED, what)
    .detail(format!(
        "Model \"{}\" was trained with nulls => 'error', and pgsvm.predict_nulls is 'error'.",
        model.name
    ))
    .hint("SET pgsvm.predict_nulls = 'null' predicts NULL; nulls => 'mean' or 'zero' in training puts a value in its place.")
}

pub fn wrong_type(model: &Model, type_id: pg_sys::Oid) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "features of type {} cannot be predicted from",
            type_name(type_id, -1)
        ),
    )
    .detail("Features are a row, a jsonb object, an array of numbers, a vector of pgvector, or a text in LIBSVM notation.")
    .hint(call_hint(model))
}

/// The columns that the model reads, or the first of them.
fn hinted_columns(model: &Model) -> String {
    let mut columns = model.features.columns();
    if columns.len() > HINTED_COLUMNS {
        columns.truncate(HINTED_COLUMNS);
        columns.push("…");
    }
    columns.join(", ")
}

/// How to call the model so that it works.
pub fn call_hint(model: &Model) -> String {
    format!(
        "Pass a whole row with the columns {}: SELECT svm_decision('{}', t) FROM … AS t.",
        hinted_columns(model),
        model.base_name().replace('\'', "''")
    )
}
