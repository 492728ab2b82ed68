//! `svm_constant_decision`, `svm_constant_class` and `svm_constant_probability`: predictions with a model
//! that is an argument, a constant in the body of a function that `svm_create_function` has made. They
//! read no table, so indexes and generated columns may be made of them; the model is read from its text
//! once per call site.

use super::argument::Argument;
use super::{null, or_null};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::{Decoder, FeatureBuffer, FeatureError, Nulls};
use crate::model::{text, Model};
use crate::pg::query::Column;
use crate::pg::result_set::float8;
use crate::pg::select::text_datum;
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::varlena::Varlena;
use crate::pg::{c_function, statement};
use pgrx::{pg_sys, PgMemoryContexts};
use pgsvm_core::memory::copied;

c_function!(
    svm_constant_decision_wrapper,
    pg_finfo_svm_constant_decision_wrapper,
    svm_constant_decision,
    first svm_constant_decision_at_once
);
c_function!(
    svm_constant_class_wrapper,
    pg_finfo_svm_constant_class_wrapper,
    svm_constant_class
);
c_function!(
    svm_constant_probability_wrapper,
    pg_finfo_svm_constant_probability_wrapper,
    svm_constant_probability
);

/// What a call site remembers from row to row.
struct ConstantSite {
    /// The model's text, where it may be another one at the next call; else empty.
    text: Vec<u8>,
    is_constant: bool,
    model: Model,
    form: ConstantForm,
    decisions: Vec<f64>,
}

/// How the features come.
enum ConstantForm {
    /// In one array; where that is a column of the model's, what a NULL in its place needs.
    Array(Argument, Option<Box<ConstantColumns>>),
    /// In arguments of their own, in the order of the model's columns.
    ConstantColumns(Box<ConstantColumns>),
}

struct ConstantColumns {
    decoder: Decoder,
    buffer: FeatureBuffer,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

/// `svm_constant_decision(model text, VARIADIC "any") -> float8`, of a model of two classes.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with the model first; so for all functions here.
unsafe fn svm_constant_decision(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let decided = decisions(fcinfo).or_raise();
        let decision = decided.map(|(model, all)| {
            check_two_classes(model).or_raise();
            float8(all[0])
        });
        or_null(fcinfo, decision)
    }
}

/// The decision about a plain array. Neither panics nor raises an error; None leaves the call to the function above.
///
/// # Safety
/// As for `svm_constant_decision`.
#[inline(always)]
unsafe fn svm_constant_decision_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises; `fn_extra` is set by `site` alone.
    unsafe {
        let site = (*(*fcinfo).flinfo)
            .fn_extra
            .cast::<ConstantSite>()
            .as_ref()?;
        let ConstantForm::Array(argument, _) = &site.form else {
            return None;
        };
        let features = (*fcinfo).args.as_ptr().add(1).read();
        if !site.is_constant || features.isnull {
            return None;
        }
        let decision = argument.plain_array_decision(&site.model, features.value)?;
        Some(float8(decision))
    }
}

/// `svm_constant_class(model text, VARIADIC "any") -> text`.
///
/// # Safety
/// As for `svm_constant_decision`.
unsafe fn svm_constant_class(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let decided = decisions(fcinfo).or_raise();
        let label = decided.map(|(model, all)| text_datum(&model.labels[model.class(all)]));
        or_null(fcinfo, label)
    }
}

/// `svm_constant_probability(model text, VARIADIC "any") -> float8`: of the larger label of two.
///
/// # Safety
/// As for `svm_constant_decision`.
unsafe fn svm_constant_probability(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let decided = decisions(fcinfo).or_raise();
        let probability = decided.and_then(|(model, all)| {
            check_two_classes(model).or_raise();
            super::check_probabilities(model).or_raise();
            model.probability(1, all)
        });
        match probability {
            Some(probability) => float8(probability),
            None => null(fcinfo),
        }
    }
}

fn check_two_classes(model: &Model) -> Result<(), Failure> {
    match model.heads.len() {
        1 => Ok(()),
        _ => Err(model.too_many_classes("a number", "svm_decision", ", …")),
    }
}

/// The model and the decision of each of its heads; None where a NULL makes them NULL.
///
/// # Safety
/// As for `svm_constant_decision`.
unsafe fn decisions<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<Option<(&'a Model, &'a [f64])>, Failure> {
    // SAFETY: as the caller promises.
    unsafe {
        let count = (*fcinfo).nargs as usize;
        let arguments = (*fcinfo).args.as_slice(count);
        let [name, features @ ..] = arguments else {
            return Ok(None);
        };
        if name.isnull {
            return Ok(None);
        }
        let site = site(fcinfo, name.value)?;
        let (model, out) = (&site.model, &mut site.decisions);
        let answered = match &mut site.form {
            ConstantForm::Array(argument, _) if !features[0].isnull => {
                argument.decisions(model, features[0].value, out)?
            }
            ConstantForm::Array(_, Some(columns)) | ConstantForm::ConstantColumns(columns) => {
                columns.decisions(model, features, out)?
            }
            ConstantForm::Array(_, None) => false,
        };
        if answered && !out.iter().all(|decision| decision.is_finite()) {
            return Err(Failure::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("the decision of model \"{}\" is out of range", model.name),
            ));
        }
        Ok(answered.then_some((model, out.as_slice())))
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
        unsafe { self.decoder.decode(&self.values, &self.nulls, buffer) }
            .map_err(|error| about(model, error))?;
        if !buffer.null_parts.is_empty() && model.nulls == Nulls::Skip {
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

/// What the call site remembers, made at the first call and where the model is another one.
///
/// # Safety
/// As for `svm_constant_decision`; `name` is the first argument.
unsafe fn site<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
    name: pg_sys::Datum,
) -> Result<&'a mut ConstantSite, Failure> {
    // SAFETY: only this function sets `fn_extra`, and to a call site, which lives as long as the
    // function's memory context.
    unsafe {
        let info = (*fcinfo).flinfo;
        if let Some(site) = (*info).fn_extra.cast::<ConstantSite>().as_mut() {
            if site.is_constant || Varlena::open(name).payload() == site.text.as_slice() {
                return Ok(site);
            }
            *site = make(fcinfo, name)?;
            return Ok(site);
        }
        let made = make(fcinfo, name)?;
        let made = PgMemoryContexts::For((*info).fn_mcxt).leak_and_drop_on_delete(made);
        (*info).fn_extra = made.cast();
        Ok(&mut *made)
    }
}

/// # Safety
/// As for `site`.
unsafe fn make(
    fcinfo: pg_sys::FunctionCallInfo,
    name: pg_sys::Datum,
) -> Result<ConstantSite, Failure> {
    // SAFETY: as the caller promises; the first argument is a text.
    unsafe {
        let info = (*fcinfo).flinfo;
        let value = Varlena::open(name);
        let written = crate::features::utf8("model", value.payload())?;
        let (mut model, _) = text::read(written)?;
        if model.nulls == Nulls::Error {
            // a setting may not change what an index holds
            model.nulls = Nulls::Skip;
        }
        let is_constant = statement::argument_is_constant(info, 0);
        let types: Vec<pg_sys::Oid> = (1..i32::from((*fcinfo).nargs))
            .map(|at| pg_sys::get_fn_expr_argtype(info, at))
            .collect();
        let form = form(&model, &types)?;
        Ok(ConstantSite {
            text: match is_constant {
                true => Vec::new(),
                false => copied(value.payload())?,
            },
            is_constant,
            model,
            form,
            decisions: Vec::new(),
        })
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
            return Ok(ConstantForm::Array(Argument::new(model, *only)?, columns));
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
        .hint("svm_create_function(model, name, immutable => true) makes a function that calls this one.")
    })
}
