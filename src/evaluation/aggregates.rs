//! The aggregates' functions, as sql/evaluation.sql declares them. A row with a NULL in one of the
//! arguments is left out.

use super::counts::{self, ConfusionCounts};
use super::loss::LogLoss;
use super::ranking::ScoreRanking;
use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::aggregate::{self, argument};
use crate::pg::c_function;
use crate::pg::composite::ResultShape;
use crate::pg::result_set::float8;
use crate::pg::written::{self, ValueWriter};
use pgrx::{pg_sys, PgMemoryContexts};

c_function!(
    svm_metrics_add_wrapper,
    pg_finfo_svm_metrics_add_wrapper,
    metrics_add
);
c_function!(
    svm_metrics_combine_wrapper,
    pg_finfo_svm_metrics_combine_wrapper,
    aggregate::combine::<ConfusionCounts>
);
c_function!(
    svm_metrics_serialize_wrapper,
    pg_finfo_svm_metrics_serialize_wrapper,
    aggregate::serialize::<ConfusionCounts>
);
c_function!(
    svm_metrics_deserialize_wrapper,
    pg_finfo_svm_metrics_deserialize_wrapper,
    aggregate::deserialize::<ConfusionCounts>
);
c_function!(
    svm_metrics_final_wrapper,
    pg_finfo_svm_metrics_final_wrapper,
    metrics_final
);
c_function!(
    svm_ranking_add_wrapper,
    pg_finfo_svm_ranking_add_wrapper,
    ranking_add
);
c_function!(
    svm_ranking_combine_wrapper,
    pg_finfo_svm_ranking_combine_wrapper,
    aggregate::combine::<ScoreRanking>
);
c_function!(
    svm_ranking_serialize_wrapper,
    pg_finfo_svm_ranking_serialize_wrapper,
    aggregate::serialize::<ScoreRanking>
);
c_function!(
    svm_ranking_deserialize_wrapper,
    pg_finfo_svm_ranking_deserialize_wrapper,
    aggregate::deserialize::<ScoreRanking>
);
c_function!(
    svm_auc_final_wrapper,
    pg_finfo_svm_auc_final_wrapper,
    auc_final
);
c_function!(
    svm_roc_points_final_wrapper,
    pg_finfo_svm_roc_points_final_wrapper,
    roc_points_final
);
c_function!(
    svm_median_add_wrapper,
    pg_finfo_svm_median_add_wrapper,
    median_add
);
c_function!(
    svm_median_final_wrapper,
    pg_finfo_svm_median_final_wrapper,
    median_final
);
c_function!(
    svm_log_loss_add_wrapper,
    pg_finfo_svm_log_loss_add_wrapper,
    log_loss_add
);
c_function!(
    svm_log_loss_combine_wrapper,
    pg_finfo_svm_log_loss_combine_wrapper,
    aggregate::combine::<LogLoss>
);
c_function!(
    svm_log_loss_serialize_wrapper,
    pg_finfo_svm_log_loss_serialize_wrapper,
    aggregate::serialize::<LogLoss>
);
c_function!(
    svm_log_loss_deserialize_wrapper,
    pg_finfo_svm_log_loss_deserialize_wrapper,
    aggregate::deserialize::<LogLoss>
);
c_function!(
    svm_log_loss_final_wrapper,
    pg_finfo_svm_log_loss_final_wrapper,
    log_loss_final
);

/// `svm_metrics_add(internal, actual, predicted [, positive])`.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with the arguments declared in SQL; so for all functions here.
unsafe fn metrics_add(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; all classes are of the type for which the writer is made, or texts where `classes` says so.
    unsafe {
        let counts = aggregate::state::<ConfusionCounts>(fcinfo);
        let pair = argument(fcinfo, 1).zip(argument(fcinfo, 2));
        if let Some((actual, predicted)) = pair {
            let ClassesOfCall { writer, are_text } = classes(fcinfo);
            if (*fcinfo).nargs > 3 && counts.positive.is_none() {
                counts.positive = argument(fcinfo, 3)
                    .map(|positive| writer.with_text(positive, counts::name).or_raise());
            }
            let mut place = |class, is_text: bool| {
                let place = |text: &[u8]| counts.place(text);
                let place = match is_text {
                    true => writer.with_text_read(class, place),
                    false => writer.with_text(class, place),
                };
                place.or_raise()
            };
            let (actual, predicted) = (place(actual, are_text[0]), place(predicted, are_text[1]));
            counts.add(actual, predicted, 1).or_raise();
        }
        aggregate::returned(counts)
    }
}

/// How the classes of a call are written.
struct ClassesOfCall {
    writer: ValueWriter,
    /// Whether the actual class, and the predicted one, comes as a text while the other is of another type.
    are_text: [bool; 2],
}

/// The type of the classes, and which of the actual and the predicted one is a text to be read as that type.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn type_of_classes(fcinfo: pg_sys::FunctionCallInfo) -> (pg_sys::Oid, [bool; 2]) {
    // SAFETY: as the caller promises.
    let types = unsafe {
        let info = (*fcinfo).flinfo;
        [1, 2].map(|at| pg_sys::get_fn_expr_argtype(info, at))
    };
    match types {
        [actual, predicted] if actual == predicted => (actual, [false; 2]),
        [pg_sys::TEXTOID, predicted] => (predicted, [true, false]),
        [actual, _] => (actual, [false, true]),
    }
}

/// The writer of the call's classes, made at the first call.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn classes<'a>(fcinfo: pg_sys::FunctionCallInfo) -> &'a mut ClassesOfCall {
    // SAFETY: only this function sets `fn_extra`; what it sets lives as long as the function's memory.
    unsafe {
        let info = (*fcinfo).flinfo;
        if (*info).fn_extra.is_null() {
            let (type_oid, are_text) = type_of_classes(fcinfo);
            let writer = ValueWriter::new(type_oid, (*info).fn_mcxt);
            let classes = ClassesOfCall { writer, are_text };
            let classes = PgMemoryContexts::For((*info).fn_mcxt).leak_and_drop_on_delete(classes);
            (*info).fn_extra = classes.cast();
        }
        &mut *(*info).fn_extra.cast()
    }
}

/// `svm_metrics_final(internal, actual, predicted [, positive]) -> svm_metric_values`; but for the
/// state the arguments say types only.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn metrics_final(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (type_oid, _) = type_of_classes(fcinfo);
        let metrics = aggregate::finished::<ConfusionCounts>(fcinfo).and_then(|counts| {
            let positive = counts.positive_class(|a, b| written::compare(type_oid, a, b).is_gt());
            counts.metrics(positive.as_deref()).or_raise()
        });
        let rows = metrics.as_ref().map_or(0, |metrics| metrics.rows);
        let mut values = vec![Some(pg_sys::Datum::from(rows))];
        match metrics {
            Some(found) => values.extend(
                [
                    found.accuracy,
                    found.balanced_accuracy,
                    found.precision,
                    found.recall,
                    found.f1,
                ]
                .map(|value| Some(float8(value))),
            ),
            None => values.extend([None; 5]),
        }
        ResultShape::of_call(fcinfo).row(&values)
    }
}

/// `svm_ranking_add(internal, decision, positive)`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn ranking_add(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let ranking = aggregate::state::<ScoreRanking>(fcinfo);
        if let Some((decision, positive)) = number_and_truth(fcinfo) {
            ranking.add(decision, positive).or_raise();
        }
        aggregate::returned(ranking)
    }
}

/// `svm_auc_final(internal) -> float8`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn auc_final(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let ranking = aggregate::finished::<ScoreRanking>(fcinfo);
        let area = ranking.and_then(|ranking| ranking.area().or_raise());
        area.map_or_else(|| aggregate::null(fcinfo), float8)
    }
}

/// `svm_median_add(internal, value)`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn median_add(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let ranking = aggregate::state::<ScoreRanking>(fcinfo);
        if let Some(value) = argument(fcinfo, 1) {
            let value = f64::from_bits(value.value() as u64);
            ranking.add(value, true).or_raise();
        }
        aggregate::returned(ranking)
    }
}

/// `svm_median_final(internal) -> float8`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn median_final(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let ranking = aggregate::finished::<ScoreRanking>(fcinfo);
        let median = ranking.and_then(|ranking| ranking.median().or_raise());
        // of numbers that are none, or beyond all
        let median = median.filter(|it| it.is_finite());
        median.map_or_else(|| aggregate::null(fcinfo), float8)
    }
}

/// `svm_roc_points_final(internal) -> svm_roc_point[]`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn roc_points_final(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let ranking = aggregate::finished::<ScoreRanking>(fcinfo);
        let curve = ranking.map(|ranking| ranking.curve().or_raise());
        let Some(points) = curve.filter(|points| !points.is_empty()) else {
            return aggregate::null(fcinfo);
        };
        let shape = ResultShape::of_call(fcinfo);
        let mut rows: Vec<_> = points
            .iter()
            .map(|point| {
                let values = [
                    point.threshold,
                    point.false_positive_rate,
                    point.true_positive_rate,
                ];
                shape.row(&values.map(|value| Some(float8(value))))
            })
            .collect();
        shape.array(&mut rows)
    }
}

/// `svm_log_loss_add(internal, probability, positive)`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn log_loss_add(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let loss = aggregate::state::<LogLoss>(fcinfo);
        if let Some((probability, positive)) = number_and_truth(fcinfo) {
            if !(0.0..=1.0).contains(&probability) {
                no_probability(probability).raise();
            }
            loss.add(probability, positive);
        }
        aggregate::returned(loss)
    }
}

/// `svm_log_loss_final(internal) -> float8`.
///
/// # Safety
/// As for `metrics_add`.
unsafe fn log_loss_final(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let mean = aggregate::finished::<LogLoss>(fcinfo).and_then(|loss| loss.mean());
        mean.map_or_else(|| aggregate::null(fcinfo), float8)
    }
}

/// The second and third argument where neither is NULL.
///
/// # Safety
/// As for `metrics_add`; the arguments are a double precision and a boolean.
#[inline]
unsafe fn number_and_truth(fcinfo: pg_sys::FunctionCallInfo) -> Option<(f64, bool)> {
    // SAFETY: as the caller promises.
    let (number, truth) = unsafe { argument(fcinfo, 1).zip(argument(fcinfo, 2)) }?;
    Some((
        f64::from_bits(number.value() as u64),
        truth.value() & 0xff != 0,
    ))
}

fn no_probability(given: f64) -> Failure {
    Failure::new(
        Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{given} is no probability: it lies outside 0 to 1"),
    )
    .hint("svm_log_loss takes what svm_probability returns; svm_auc takes decisions.")
}
