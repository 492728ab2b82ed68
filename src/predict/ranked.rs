//! `svm_predict_set`: every class of a model, the one that it predicts first.

use super::{any_null, null, site};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::c_function;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use pgrx::pg_sys;

c_function!(
    svm_predict_set_wrapper,
    pg_finfo_svm_predict_set_wrapper,
    svm_predict_set
);

/// `svm_predict_set(model, features, top_n) -> TABLE(rank, class, decision, probability)`. No rows for
/// a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three arguments.
unsafe fn svm_predict_set(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut rows = ResultSet::begin(fcinfo);
        if any_null(fcinfo, 2) {
            return null(fcinfo);
        }
        let count = top_n(fcinfo, 1);
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        model.check_classes().or_raise();
        let Some(decisions) = used.decisions(features).or_raise() else {
            return null(fcinfo);
        };
        let classes = model.ranking(decisions);
        let [all, probabilities] = model.about_classes(decisions).or_raise();
        for (place, class) in classes.into_iter().take(count).enumerate() {
            rows.put(|| {
                [
                    Some(pg_sys::Datum::from(place as i32 + 1)),
                    Some(text_datum(&model.labels[class])),
                    Some(float8(all[class])),
                    probabilities.get(class).copied().map(float8),
                ]
            });
        }
        null(fcinfo)
    }
}

/// The third argument, how many rows the caller wants, at least so many: NULL for all.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with an int for the third argument.
pub unsafe fn top_n(fcinfo: pg_sys::FunctionCallInfo, least: usize) -> usize {
    // SAFETY: as the caller promises.
    let argument = unsafe { (*fcinfo).args.as_slice(3)[2] };
    match argument.isnull {
        true => usize::MAX,
        false => checked_count("top_n", argument.value.value() as i32, least).or_raise(),
    }
}

/// How many rows are wanted; refuses what no count is.
pub fn checked_count(argument: &str, count: i32, least: usize) -> Result<usize, Failure> {
    let wanted = usize::try_from(count).ok().filter(|count| *count >= least);
    wanted.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            match least {
                0 => format!("{argument} must not be negative, not {count}"),
                _ => format!("{argument} must be positive, not {count}"),
            },
        )
        .hint(format!("{argument} => 3; {argument} => NULL gives all"))
    })
}
