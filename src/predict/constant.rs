//! A model that a function holds, and how the features of a call come to it: in arguments of their own, or all in one array. It is
//! read from its text (`model::text`) once per call site, and no table is.

use super::answered::{are_answer, has_answer};
use super::argument::RowArgument;
use super::check_probabilities;
use super::complaints::{null_feature, Called};
use crate::base::errors::{Code, Failure};
use crate::features::{Decoder, FeatureBuffer, FeatureError, Nulls};
use crate::model::{text, Model};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, TypeKind};
use pgrx::pg_sys;

/// The model, and what is kept from call to call.
pub(super) struct ConstantModel {
    pub model: Model,
    form: ConstantForm,
    decisions: Vec<f64>,
}

/// How the features come.
enum ConstantForm {
    /// In one array; where that is a column of the model's, what a NULL in its place needs.
    Array(RowArgument, Option<Box<ConstantColumns>>),
    /// In arguments of their own, in the order of the model's columns.
    ConstantColumns(Box<ConstantColumns>),
}

struct ConstantColumns {
    decoder: Decoder,
    buffer: FeatureBuffer,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

impl ConstantModel {
    /// The model of this text, for arguments of these types.
    pub fn read(written: &str, types: &[pg_sys::Oid]) -> Result<Self, Failure> {
        let (mut model, _) = text::read(written)?;
        if model.nulls == Nulls::Error {
            // a setting may not change what an index holds
            model.nulls = Nulls::Skip;
        }
        Ok(Self {
            form: form(&model, types)?,
            model,
            decisions: Vec::new(),
        })
    }

    /// Refuses a model that has no one decision or, where that is asked for, no one probability.
    pub fn check_two_classes(&self, probability: bool) -> Result<(), Failure> {
        if self.model.heads.len() != 1 && !self.model.regresses {
            return Err(self
                .model
                .too_many_classes("a number", "svm_decision", ", …"));
        }
        match probability {
            true => check_probabilities(&self.model),
            false => Ok(()),
        }
    }

    /// The decision about a plain array. Neither panics nor raises an error; None leaves it to `decide`.
    ///
    /// # Safety
    /// As for `decide`.
    #[inline(always)]
    pub unsafe fn decide_at_once(&self, features: &[pg_sys::NullableDatum]) -> Option<f64> {
        match (&self.form, features) {
            (ConstantForm::Array(argument, _), [array]) if !array.isnull => {
                // SAFETY: as the caller promises.
                unsafe { argument.plain_array_decision(&self.model, array.value) }
            }
            _ => None,
        }
    }

    /// Whether there is an answer; the decision of each of the model's heads is in `decisions` then.
    ///
    /// # Safety
    /// The features are of the types given to `read`.
    pub unsafe fn decide(&mut self, features: &[pg_sys::NullableDatum]) -> Result<bool, Failure> {
        let (model, out) = (&self.model, &mut self.decisions);
        // SAFETY: as the caller promises.
        let answered = unsafe {
            match &mut self.form {
                ConstantForm::Array(argument, _) if !features[0].isnull => {
                    argument.decisions(model, features[0].value, out)?
                }
                ConstantForm::Array(_, Some(columns)) | ConstantForm::ConstantColumns(columns) => {
                    columns.decisions(model, features, out)?
                }
                ConstantForm::Array(_, None) => false,
            }
        };
        Ok(answered && are_answer(model, out)?)
    }

    pub fn decisions(&self) -> &[f64] {
        &self.decisions
    }
}

impl ConstantColumns {
    fn new(model: &Model, names: &[&str], types: &[pg_sys::Oid]) -> Result<Self, Failure> {
        let columns: Vec<Column> = names
            .iter()
            .zip(types)
            .map(|(name, type_oid)| Column {
                name: (*name).to_owned(),
                type_oid: *type_oid,
                typmod: -1,
                base: None,
            })
            .collect();
        Ok(Self {
            decoder: Decoder::new(&model.features, &columns, model.nulls)?,
            buffer: FeatureBuffer::default(),
            values: Vec::with_capacity(types.len()),
            nulls: Vec::with_capacity(types.len()),
        })
    }

    /// # Safety
    /// The arguments are of the types that the decoder was made for.
    unsafe fn decisions(
        &mut self,
        model: &Model,
        arguments: &[pg_sys::NullableDatum],
        out: &mut Vec<f64>,
    ) -> Result<bool, Failure> {
        self.values.clear();
        self.nulls.clear();
        self.values
            .extend(arguments.iter().map(|argument| argument.value));
        self.nulls
            .extend(arguments.iter().map(|argument| argument.isnull));
        let buffer = &mut self.buffer;
        // SAFETY: as the caller promises.
        let read = unsafe { self.decoder.decode(&self.values, &self.nulls, buffer) };
        let read = read.map_err(|error| about(model, error));
        if !has_answer(model, read, buffer, || null_feature(model, buffer, true))? {
            return Ok(false);
        }
        model.prepare(buffer);
        model.decisions(buffer, out);
        Ok(true)
    }
}

fn about(model: &Model, error: FeatureError) -> Failure {
    let failure = Failure::from(error);
    match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    }
}

fn form(model: &Model, types: &[pg_sys::Oid]) -> Result<ConstantForm, Failure> {
    let names = model.features.columns();
    let columns = match names.len() == types.len() {
        true => Some(Box::new(ConstantColumns::new(model, &names, types)?)),
        false => None,
    };
    if let [only] = types {
        let all_in_one = names.len() > 1 || model.features.dense_parts() == 1;
        if all_in_one && matches!(type_kind(*only), TypeKind::Array(_)) {
            return Ok(ConstantForm::Array(
                RowArgument::new(model, Called::without_row(*only))?,
                columns,
            ));
        }
    }
    columns.map(ConstantForm::ConstantColumns).ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "model \"{}\" reads {} columns, not {}",
                model.name,
                names.len(),
                types.len()
            ),
        )
        .hint("svm_create_function(model, name, immutable => true) makes a function that holds it.")
    })
}
