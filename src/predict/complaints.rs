//! What is wrong with the features that a prediction was given, in words about its model.

use crate::base::errors::{Code, Failure};
use crate::base::text::counted;
use crate::features::{FeatureBuffer, FeatureError};
use crate::model::Model;
use crate::pg::statement::{argument_count, function_name};
use crate::pg::types::{type_kind, type_name, TypeKind};
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use pgrx::spi::quote_identifier;

/// Most columns that a hint lists.
const HINTED_COLUMNS: usize = 10;

pub fn out_of_range(model: &Model) -> Failure {
    Failure::new(
        Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("the decision of model \"{}\" is out of range", model.name),
    )
    .about_bad_row()
}

pub fn row_failure(model: &Model, called: &Called, error: FeatureError) -> Failure {
    let missing = matches!(&error, FeatureError::MissingColumn { near, .. } if near.is_empty());
    let failure = Failure::from(error);
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    match missing {
        true => failure.hint(call_hint(model, called)),
        false => failure,
    }
}

pub fn document_failure(model: &Model, failure: Failure) -> Failure {
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    let unknown = match failure.code {
        Code::ERRCODE_UNDEFINED_COLUMN => "; one that is not known is null",
        _ => "",
    };
    match failure.hint {
        Some(_) => failure,
        None => failure.hint(format!(
            "Pass an object with the fields {}{unknown}.",
            hinted_columns(model)
        )),
    }
}

/// # Safety
/// `datum` is the argument.
pub unsafe fn argument_failure(
    model: &Model,
    called: &Called,
    error: FeatureError,
    datum: pg_sys::Datum,
) -> Failure {
    let features = model.dense_count;
    match &error {
        FeatureError::Length { .. } | FeatureError::Empty { .. } => {
            Failure::from(error).detail(format!(
                "Model \"{}\" has {}.",
                model.name,
                counted(features as u64, "feature")
            ))
        }
        FeatureError::LibsvmSyntax { .. } => {
            // SAFETY: LIBSVM notation is read from text arguments only.
            let text = unsafe { Varlena::open(datum) };
            let failure = Failure::from(error);
            match text.payload() {
                text if is_object(text) => failure.hint(object_hint(model, called)),
                [b'{', ..] => failure.hint("An array literal needs its type: '{1,2}'::float8[]."),
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

pub fn wrong_type(model: &Model, called: &Called) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "features of type {} cannot be predicted from",
            type_name(called.type_id, -1)
        ),
    )
    .detail("Features are a row, a jsonb object, an array of numbers, a vector of pgvector, or a text in LIBSVM notation.")
    .hint(call_hint(model, called))
}

/// Says that a number which looks like a threshold is none for svm_predict, unless it is one of the labels.
pub fn share_is_no_threshold(model: &Model, share: &str, type_id: pg_sys::Oid) {
    if model.class_named(share).is_some() {
        return;
    }
    let name = model.base_name().replace('\'', "''");
    let by_threshold = match model.heads.len() {
        1 => format!("svm_classify('{name}', …, threshold => {share})"),
        _ => format!(
            "svm_probability('{name}', …, '{}') >= {share}",
            model.labels[0].replace('\'', "''")
        ),
    };
    let type_name = type_name(type_id, -1);
    Failure::new(
        Code::ERRCODE_SUCCESSFUL_COMPLETION,
        format!("svm_predict takes no threshold: {share} only says that the label is to be of type {type_name}"),
    )
    .hint(format!(
        "With a threshold: {by_threshold}. For the type alone: svm_predict('{name}', …, NULL::{type_name})"
    ))
    .notice();
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
pub fn call_hint(model: &Model, called: &Called) -> String {
    if called.is_object {
        return object_hint(model, called);
    }
    // of a column of that name it would be the column
    let columns = model.features.columns();
    let names = ["t", "r", "whole_row"];
    let name = names.into_iter().find(|name| !columns.contains(name));
    let name = name.unwrap_or(names[0]);
    match called.call(model, name) {
        Some(call) => format!(
            "Pass a whole row with the columns {}: SELECT {call} FROM … AS {name}.",
            hinted_columns(model)
        ),
        None => format!(
            "Rows need the columns {}; SELECT … AS {} names one so.",
            hinted_columns(model),
            model
                .features
                .columns()
                .first()
                .map_or("…".into(), quote_identifier)
        ),
    }
}

/// How to call it with a JSON object that has no type.
fn object_hint(model: &Model, called: &Called) -> String {
    match called.call(model, "'{…}'::jsonb") {
        Some(call) => format!("A JSON object needs its type: SELECT {call}."),
        None => "A JSON object needs its type: make the column jsonb.".to_owned(),
    }
}

/// Whether a text looks like a JSON object.
fn is_object(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let inside = text
        .strip_prefix(b"{")
        .and_then(|text| text.strip_suffix(b"}"));
    inside.is_some_and(|inside| {
        matches!(inside.trim_ascii_start(), [] | [b'"', ..]) && inside.contains(&b':')
    })
}

/// The call that an answer is for, as what is wrong with it is said.
pub struct Called {
    function: pg_sys::Oid,
    /// Of the features.
    pub type_id: pg_sys::Oid,
    /// Whether they are a text that looks like a JSON object.
    is_object: bool,
}

impl Called {
    /// # Safety
    /// `fcinfo` is PostgreSQL's, with a model's name and features first, neither of them NULL.
    pub unsafe fn at(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let info = (*fcinfo).flinfo;
            let features = (*fcinfo).args.as_slice(2)[1].value;
            Self::new(
                (*info).fn_oid,
                pg_sys::get_fn_expr_argtype(info, 1),
                features,
            )
        }
    }

    /// For rows that a query has, or an array given to a function that holds its model: neither is called with a row.
    pub fn without_row(type_id: pg_sys::Oid) -> Self {
        Self {
            function: pg_sys::InvalidOid,
            type_id,
            is_object: false,
        }
    }

    /// # Safety
    /// `features` is a value of the type.
    pub unsafe fn new(
        function: pg_sys::Oid,
        type_id: pg_sys::Oid,
        features: pg_sys::Datum,
    ) -> Self {
        let is_text = matches!(type_kind(type_id), TypeKind::Text);
        Self {
            function,
            type_id,
            // SAFETY: as the caller promises.
            is_object: is_text && is_object(unsafe { Varlena::open(features) }.payload()),
        }
    }

    /// The same call with these features.
    ///
    /// # Safety
    /// As for `new`.
    pub unsafe fn with(&self, type_id: pg_sys::Oid, features: pg_sys::Datum) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::new(self.function, type_id, features) }
    }

    /// The call with these features as SQL writes it; None for functions that only queries of ours call.
    fn call(&self, model: &Model, features: &str) -> Option<String> {
        let name = function_name(self.function)?;
        if OURS.iter().any(|ours| name.starts_with(ours)) {
            return None;
        }
        let more = if argument_count(self.function) == 3 {
            ", …"
        } else {
            ""
        };
        let model = model.base_name().replace('\'', "''");
        Some(format!("{name}('{model}', {features}{more})"))
    }
}

/// What the names of functions begin with that evaluations call for rows of a relation.
const OURS: [&str; 1] = ["svm_row_"];
