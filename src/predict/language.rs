//! The language in which `svm_create_function` writes functions that hold a model: the body's first line says what they answer, and
//! behind it stands the model as `svm_export` writes it (`model::text`). PostgreSQL calls the handler with the function's own
//! arguments, so a plan shows the call and not the model, which is read once per call site.

use super::constant::ConstantModel;
use super::{as_type, or_null};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::model::Model;
use crate::pg::result_set::float8;
use crate::pg::select::text_datum;
use crate::pg::{c_function, procedure, value};
use pgrx::{pg_sys, PgMemoryContexts};

c_function!(
    svm_language_call_wrapper,
    pg_finfo_svm_language_call_wrapper,
    svm_language_call,
    first svm_language_call_at_once
);
c_function!(
    svm_language_check_wrapper,
    pg_finfo_svm_language_check_wrapper,
    svm_language_check
);

/// What a function answers, by the word in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Class,
    Decision,
    Probability,
}

/// What a call site remembers.
struct Site {
    answer: Answer,
    constant: ConstantModel,
    result: pg_sys::Oid,
    /// By class, the label in the type of the result, once it has been asked for.
    labels: Vec<Option<pg_sys::Datum>>,
}

/// A function's body: what it answers, and the model's text.
fn parts(body: &str) -> Option<(Answer, &str)> {
    let (word, model) = body.split_once('\n')?;
    let answer = match word.trim_end() {
        "class" => Answer::Class,
        "decision" => Answer::Decision,
        "probability" => Answer::Probability,
        _ => return None,
    };
    Some((answer, model))
}

impl Site {
    /// Of a function by its oid.
    fn of(function: pg_sys::Oid) -> Result<Self, Failure> {
        let found = procedure::find(function)?;
        let (answer, written) = parts(&found.body).ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_INVALID_FUNCTION_DEFINITION,
                "the body of the function holds no model",
            )
            .hint("svm_create_function(model, name, immutable => true) writes such functions.")
        })?;
        let constant = ConstantModel::read(written, &found.arguments)?;
        let fits = match answer {
            Answer::Class => true,
            Answer::Decision | Answer::Probability => found.result == pg_sys::FLOAT8OID,
        };
        if !fits {
            return Err(Failure::new(
                Code::ERRCODE_INVALID_FUNCTION_DEFINITION,
                "a decision and a probability are double precision",
            ));
        }
        if answer != Answer::Class {
            constant.check_two_classes(answer == Answer::Probability)?;
        }
        let labels = vec![None; constant.model.labels.len()];
        Ok(Self {
            answer,
            constant,
            result: found.result,
            labels,
        })
    }

    /// What the decisions at hand come to; None of what has no probability.
    fn answer(&mut self, context: pg_sys::MemoryContext) -> Result<Option<pg_sys::Datum>, Failure> {
        let (model, decisions) = (&self.constant.model, self.constant.decisions());
        match self.answer {
            Answer::Decision if model.regresses => Ok(Some(float8(model.number(decisions)))),
            Answer::Decision => Ok(Some(float8(decisions[0]))),
            Answer::Probability => Ok(model.probability(1, decisions).map(float8)),
            Answer::Class if model.regresses => {
                number_as(model, model.number(decisions), self.result).map(Some)
            }
            Answer::Class => {
                let class = model.class(decisions);
                self.label(class, context).map(Some)
            }
        }
    }

    /// The label of a class as the result.
    fn label(
        &mut self,
        class: usize,
        context: pg_sys::MemoryContext,
    ) -> Result<pg_sys::Datum, Failure> {
        if let Some(known) = self.labels[class] {
            return Ok(known);
        }
        let (label, result) = (&self.constant.model.labels[class], self.result);
        // SAFETY: the context is that of the call site, which outlives the calls.
        let read = unsafe {
            PgMemoryContexts::For(context).switch_to(|_| match result {
                pg_sys::TEXTOID => Ok(text_datum(label)),
                result => value::read(label, result),
            })
        };
        let read = read.map_err(|reason| no_value(&self.constant.model, label, &reason))?;
        self.labels[class] = Some(read);
        Ok(read)
    }
}

/// A prediction of a regression as the result.
fn number_as(model: &Model, number: f64, result: pg_sys::Oid) -> Result<pg_sys::Datum, Failure> {
    let text = as_type(number, result);
    let read = match result {
        pg_sys::FLOAT8OID => return Ok(float8(number)),
        pg_sys::TEXTOID => return Ok(text_datum(&text)),
        result => value::read(&text, result),
    };
    read.map_err(|reason| no_value(model, &text, &reason))
}

fn no_value(model: &Model, label: &str, reason: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "label \"{label}\" of model \"{}\" is no value of the function's type",
            model.name
        ),
    )
    .detail(format!("{reason}."))
}

/// The decision about a plain array. Neither panics nor raises an error; None leaves the call to the function below.
///
/// # Safety
/// As for `svm_language_call`.
#[inline(always)]
unsafe fn svm_language_call_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises; `fn_extra` is set by the function below alone.
    unsafe {
        let site = (*(*fcinfo).flinfo).fn_extra.cast::<Site>().as_ref()?;
        if site.answer != Answer::Decision {
            return None;
        }
        let arguments = (*fcinfo).args.as_slice((*fcinfo).nargs as usize);
        site.constant.decide_at_once(arguments).map(float8)
    }
}

/// The handler of the language.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a function in this language.
unsafe fn svm_language_call(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; only this function sets `fn_extra`, and to a site, which lives as long as the function's memory
    // context.
    unsafe {
        let info = (*fcinfo).flinfo;
        let context = (*info).fn_mcxt;
        let site = match (*info).fn_extra.cast::<Site>().as_mut() {
            Some(site) => site,
            None => {
                let made = Site::of((*info).fn_oid).or_raise();
                let made = PgMemoryContexts::For(context).leak_and_drop_on_delete(made);
                (*info).fn_extra = made.cast();
                &mut *made
            }
        };
        let arguments = (*fcinfo).args.as_slice((*fcinfo).nargs as usize);
        let result = match site.constant.decide(arguments).or_raise() {
            false => None,
            true => site.answer(context).or_raise(),
        };
        or_null(fcinfo, result)
    }
}

/// `svm_language_check(function)`: the validator of the language.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with an oid.
unsafe fn svm_language_check(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let function = pg_sys::Oid::from((*fcinfo).args.as_slice(1)[0].value.value() as u32);
        if procedure::is_to_be_checked((*(*fcinfo).flinfo).fn_oid, function) {
            Site::of(function).or_raise();
        }
    }
    pg_sys::Datum::from(0)
}
