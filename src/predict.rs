//! `svm_decision`, `svm_predict`, `svm_classify` and `svm_probability`: one row in, one answer out.
//! Called for each row, in any backend or parallel worker. What is learned once hangs on the call site
//! (`site`); what has several rows for an answer is in `ranked` and `contributions`, what has two numbers in `interval`.

pub mod answered;
mod argument;
pub mod complaints;
mod constant;
mod contributions;
mod document;
mod expanded;
mod forms;
pub mod held;
mod interval;
mod kernel_contributions;
mod language;
pub mod ranked;
pub mod row_name;
mod row_reader;
mod site;

use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::trained_by::training;
use crate::combinations::models;
use crate::model::{self, Model};
use crate::pg::result_set::float8;
use crate::pg::select::text_datum;
use crate::pg::types::{type_kind, type_name, NumberKind, TypeKind};
use crate::pg::{array, c_function, value};
use crate::targets::labels::own_type;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;
use pgsvm_core::quantiles::MOST_QUANTILES;

/// # Safety
/// `fcinfo` is PostgreSQL's.
#[inline]
pub unsafe fn null(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { (*fcinfo).isnull = true };
    pg_sys::Datum::from(0)
}

/// The result: NULL for None.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
#[inline]
unsafe fn or_null(
    fcinfo: pg_sys::FunctionCallInfo,
    result: Option<pg_sys::Datum>,
) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    result.unwrap_or_else(|| unsafe { null(fcinfo) })
}

/// Whether one of the first `count` arguments is NULL, for functions that are not STRICT.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with at least as many arguments.
pub unsafe fn any_null(fcinfo: pg_sys::FunctionCallInfo, count: usize) -> bool {
    // SAFETY: as the caller promises.
    let arguments = unsafe { (*fcinfo).args.as_slice(count) };
    arguments.iter().any(|argument| argument.isnull)
}

c_function!(
    svm_decision_wrapper,
    pg_finfo_svm_decision_wrapper,
    svm_decision,
    first svm_decision_at_once
);
c_function!(
    svm_predict_wrapper,
    pg_finfo_svm_predict_wrapper,
    svm_predict,
    first svm_predict_at_once
);
c_function!(
    svm_predict_quantiles_wrapper,
    pg_finfo_svm_predict_quantiles_wrapper,
    svm_predict_quantiles
);
c_function!(
    svm_classify_wrapper,
    pg_finfo_svm_classify_wrapper,
    svm_classify
);
c_function!(
    svm_classify_by_threshold_wrapper,
    pg_finfo_svm_classify_by_threshold_wrapper,
    svm_classify_by_threshold
);
c_function!(
    svm_predict_as_wrapper,
    pg_finfo_svm_predict_as_wrapper,
    svm_predict_as
);
c_function!(
    svm_decision_for_wrapper,
    pg_finfo_svm_decision_for_wrapper,
    svm_decision_for
);
c_function!(
    svm_answers_wrapper,
    pg_finfo_svm_answers_wrapper,
    svm_answers
);
c_function!(
    svm_row_unseen_wrapper,
    pg_finfo_svm_row_unseen_wrapper,
    svm_row_unseen
);
c_function!(svm_margin_wrapper, pg_finfo_svm_margin_wrapper, svm_margin);
c_function!(
    svm_probability_wrapper,
    pg_finfo_svm_probability_wrapper,
    svm_probability
);
c_function!(
    svm_probability_for_wrapper,
    pg_finfo_svm_probability_for_wrapper,
    svm_probability_for
);

/// `svm_decision(model, features) -> float8`: weights times features plus intercept, of a model with
/// two classes.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with two arguments that are not NULL.
unsafe fn svm_decision(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        if used.model.regresses {
            let number = used.number(features).or_raise();
            return or_null(fcinfo, number.map(float8));
        }
        if used.model.heads.len() != 1 {
            let model = &used.model;
            model
                .too_many_classes("a decision", "svm_decision", ", …")
                .raise()
        }
        let decision = used.decision(features).or_raise();
        or_null(fcinfo, decision.map(float8))
    }
}

/// # Safety
/// As for `svm_decision`.
#[inline(always)]
unsafe fn svm_decision_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises.
    unsafe { site::decision_at_once(fcinfo) }.map(|(decision, _)| float8(decision))
}

/// `svm_decision(model, features, class) -> float8`: how far the model speaks for a class.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three arguments that are not NULL.
unsafe fn svm_decision_for(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { about_class(fcinfo, |model, class, all| model.decision_for(class, all)) }
}

/// `svm_margin(model, features, class) -> float8`: how clearly the model speaks for a class and no
/// other.
///
/// # Safety
/// As for `svm_decision_for`.
unsafe fn svm_margin(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { about_class(fcinfo, |model, class, all| model.margin(class, all)) }
}

/// `svm_answers(model, features) -> float8[]`: the number of the predicted class from 1, then the decision for each class, then, where
/// there are probabilities, the probability of each class; of two classes of the second alone.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_answers(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        model.check_classes().or_raise();
        let Some(decisions) = used.decisions(features).or_raise() else {
            return null(fcinfo);
        };
        let mut answers = Vec::new();
        let room = answers.room(1 + 2 * model.labels.len()).or_raise();
        room.push(1.0 + model.class(decisions) as f64);
        model.put_decisions(decisions, room);
        model.put_probabilities(decisions, room);
        array::made(&answers, pg_sys::FLOAT8OID)
    }
}

/// `svm_row_unseen(model, features) -> int8[]`: how many words the texts of a row have, how many of them the model's vocabularies do
/// not have, and how many of its categories the model has not seen.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_row_unseen(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        let row = used.argument.row(&model, features).or_raise();
        let counts = row.map(|row| {
            let [words, unseen] = row.words;
            [words, unseen, row.unseen_categories].map(|count| count as i64)
        });
        or_null(
            fcinfo,
            counts.map(|counts| array::made(&counts, pg_sys::INT8OID)),
        )
    }
}

/// A number that follows from a class and the decisions of all heads.
///
/// # Safety
/// As for `svm_decision_for`.
unsafe fn about_class(
    fcinfo: pg_sys::FunctionCallInfo,
    number: impl FnOnce(&Model, usize, &[f64]) -> f64,
) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        used.model.check_classes().or_raise();
        let class = used.class.read(&used.model, fcinfo, 2).or_raise();
        let model = used.model.clone();
        let decisions = used.decisions(features).or_raise();
        let result = decisions.map(|all| float8(number(&model, class, all)));
        or_null(fcinfo, result)
    }
}

/// `svm_probability(model, features) -> float8`: of the positive label of a model with two classes.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_probability(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        model.check_classes().or_raise();
        check_probabilities(&model).or_raise();
        if model.heads.len() != 1 {
            model
                .too_many_classes("a probability", "svm_probability", ", …")
                .raise()
        }
        let decisions = used.decisions(features).or_raise();
        let probability = decisions.and_then(|all| model.probability(1, all));
        or_null(fcinfo, probability.map(float8))
    }
}

/// `svm_probability(model, features, class) -> float8`.
///
/// # Safety
/// As for `svm_decision_for`.
unsafe fn svm_probability_for(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, _) = site::current(fcinfo);
        used.model.check_classes().or_raise();
        check_probabilities(&used.model).or_raise();
        about_class(fcinfo, |model, class, all| {
            model.probability(class, all).unwrap_or(f64::NAN)
        })
    }
}

/// `svm_predict(model, features) -> float8`: the label, where labels are numbers or booleans.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_predict(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        if used.model.regresses {
            let number = used.number(features).or_raise();
            return or_null(fcinfo, number.map(float8));
        }
        let model = used.model.clone();
        let Some(numbers) = &model.numbers else {
            label_is_no_number(&model).raise()
        };
        let class = used.predicted(features).or_raise();
        or_null(fcinfo, class.map(|class| float8(numbers[class])))
    }
}

/// # Safety
/// As for `svm_decision`.
#[inline(always)]
unsafe fn svm_predict_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises.
    let (decision, used) = unsafe { site::decision_at_once(fcinfo) }?;
    if used.model.regresses {
        return Some(float8(decision));
    }
    let [negative, positive] = *used.model.numbers.as_deref()?.first_chunk()?;
    Some(float8([negative, positive][model::side(decision)]))
}

/// `svm_predict_quantiles(model, features) -> float8[]`: the quantiles of the label, ascending.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_predict_quantiles(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        if model.quantiles.is_empty() {
            models::no_quantiles(&model.name, model.base_name().replace('\'', "''")).raise()
        }
        let decisions = used.decisions(features).or_raise();
        let sorted = decisions.map(|all| model.sorted(all));
        let made = |all: [f64; MOST_QUANTILES]| {
            array::made(&all[..model.quantiles.len()], pg_sys::FLOAT8OID)
        };
        or_null(fcinfo, sorted.map(made))
    }
}

/// `svm_classify(model, features) -> text`: the label as text.
///
/// # Safety
/// As for `svm_decision`.
unsafe fn svm_classify(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (used, features) = site::current(fcinfo);
        used.model.check_classes().or_raise();
        let class = used.predicted(features).or_raise();
        let context = (*(*fcinfo).flinfo).fn_mcxt;
        let label = class.map(|class| used.label(class, context, text_datum));
        or_null(fcinfo, label)
    }
}

/// `svm_classify(model, features, threshold float8) -> text`: of a model with two classes the larger
/// label where its probability is at least the threshold.
///
/// # Safety
/// As for `svm_decision`, with a float8 as third argument.
unsafe fn svm_classify_by_threshold(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let threshold = f64::from_bits((*fcinfo).args.as_slice(3)[2].value.value() as u64);
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        check_threshold(&model, threshold).or_raise();
        let decisions = used.decisions(features).or_raise();
        let probability = decisions.and_then(|all| model.probability(1, all));
        let context = (*(*fcinfo).flinfo).fn_mcxt;
        let label = probability.map(|probability| {
            used.label(usize::from(probability >= threshold), context, text_datum)
        });
        or_null(fcinfo, label)
    }
}

/// Refuses a threshold that is none, and models that have no one probability to compare with it.
fn check_threshold(model: &Model, threshold: f64) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&threshold) {
        return Err(Failure::new(
            Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("threshold {threshold} is no probability"),
        )
        .hint("It is compared with the probability of the larger label: threshold => 0.3."));
    }
    model.check_classes()?;
    let name = model.base_name().replace('\'', "''");
    if model.heads.len() != 1 {
        let (classes, class) = (model.labels.len(), model.labels[0].replace('\'', "''"));
        return Err(models::threshold_classes(
            &model.name,
            classes,
            name,
            class,
            threshold,
        ));
    }
    if model.heads[0].calibration.is_none() {
        model.check_labels()?;
        let again = training(&model.name, "probability => true");
        return Err(models::threshold_probability(&model.name, again, name));
    }
    Ok(())
}

/// `svm_predict(model, features, type anycompatible) -> anycompatible`: the label as a value of the
/// third argument's type.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three arguments.
unsafe fn svm_predict_as(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        if any_null(fcinfo, 2) {
            return null(fcinfo);
        }
        let info = (*fcinfo).flinfo;
        let is_first = (*info).fn_extra.is_null();
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        if model.regresses {
            let number = used.number(features).or_raise();
            let type_id = pg_sys::get_fn_expr_rettype(info);
            let made = number.map(|number| {
                let text = as_type(number, type_id);
                value::read(&text, type_id)
                    .unwrap_or_else(|reason| label_is_no_value(&model, &text, type_id, &reason))
            });
            return or_null(fcinfo, made);
        }
        if is_first {
            if let Some(share) = share_for_type(fcinfo, 2) {
                complaints::share_is_no_threshold(
                    &model,
                    &share,
                    pg_sys::get_fn_expr_rettype(info),
                );
            }
        }
        let class = used.predicted(features).or_raise();
        let label = class.map(|class| {
            used.label(class, (*info).fn_mcxt, |label| {
                let type_id = pg_sys::get_fn_expr_rettype(info);
                value::read(label, type_id)
                    .unwrap_or_else(|reason| label_is_no_value(&model, label, type_id, &reason))
            })
        });
        or_null(fcinfo, label)
    }
}

/// A number as a value of this type reads; whole where the type is one of whole numbers.
fn as_type(number: f64, type_id: pg_sys::Oid) -> String {
    match type_id {
        pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => number.round().to_string(),
        _ => number.to_string(),
    }
}

/// Argument `number` (from 0) as SQL writes it, where it is one number above 0 and below 1, the same for all rows.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with so many arguments.
unsafe fn share_for_type(fcinfo: pg_sys::FunctionCallInfo, number: usize) -> Option<String> {
    // SAFETY: as the caller promises; a value that is not NULL is one of the argument's type.
    unsafe {
        let info = (*fcinfo).flinfo;
        let argument = (*fcinfo).args.as_slice(number + 1)[number];
        if argument.isnull || !pg_sys::get_fn_expr_arg_stable(info, number as i32) {
            return None;
        }
        let type_id = pg_sys::get_fn_expr_argtype(info, number as i32);
        let TypeKind::Number(NumberKind::Float4 | NumberKind::Float8 | NumberKind::Numeric) =
            type_kind(type_id)
        else {
            return None;
        };
        let text = value::printed(argument.value, type_id);
        let is_share = text.parse().is_ok_and(|it: f64| it > 0.0 && it < 1.0);
        is_share.then_some(text)
    }
}

fn check_probabilities(model: &Model) -> Result<(), Failure> {
    if model.heads.iter().all(|head| head.calibration.is_some()) {
        return Ok(());
    }
    model.check_labels()?;
    let again = training(&model.name, "probability => true");
    Err(models::probability(&model.name, again))
}

fn label_is_no_value(model: &Model, label: &str, type_id: pg_sys::Oid, reason: &str) -> ! {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "label \"{label}\" of model \"{}\" is no value of type {}",
            model.name,
            type_name(type_id, -1)
        ),
    )
    .detail(format!(
        "The labels are of type {}: {reason}.",
        model.label_type
    ))
    .hint(format!(
        "Ask for the type of the labels: svm_predict('{}', …, NULL::{}).",
        model.base_name().replace('\'', "''"),
        // a hint is there to be typed, and what else a model says of its labels is not for that
        own_type(&model.label_type).map_or("text", |_| &model.label_type)
    ))
    .raise()
}

fn label_is_no_number(model: &Model) -> Failure {
    let name = model.base_name();
    let message = match model.labels_are_numbers() {
        true => format!(
            "model \"{name}\" predicts labels of type {} that are one number in double precision",
            model.label_type
        ),
        false => format!(
            "model \"{name}\" predicts labels of type {}, not numbers",
            model.label_type
        ),
    };
    Failure::new(Code::ERRCODE_DATATYPE_MISMATCH, message).hint(format!(
        "svm_classify returns the label as text: SELECT svm_classify('{}', …).",
        name.replace('\'', "''")
    ))
}
