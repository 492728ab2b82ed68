//! `svm_expand`: the features that a model makes of a row, with their numbers, so that other programs see the same.

use super::{any_null, null, site};
use crate::base::errors::OrRaise;
use crate::pg::c_function;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use pgrx::pg_sys;

c_function!(svm_expand_wrapper, pg_finfo_svm_expand_wrapper, svm_expand);

/// `svm_expand(model, features) -> TABLE("position", feature, value)`: all that are not zero, in the order of their positions, which
/// count from 1. No rows for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with two arguments.
unsafe fn svm_expand(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut rows = ResultSet::begin(fcinfo);
        if any_null(fcinfo, 2) {
            return null(fcinfo);
        }
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        let Some(row) = used.argument.row(&model, features).or_raise() else {
            return null(fcinfo);
        };
        let sparse = row.sparse_index.iter().zip(&row.sparse_value);
        let behind = row.dense.len() as u64;
        let sparse = sparse.map(|(at, value)| (behind + u64::from(*at), f64::from(*value)));
        let dense = (0u64..).zip(row.dense.iter().copied());
        for (feature, value) in dense.chain(sparse).filter(|(_, value)| *value != 0.0) {
            rows.put(|| {
                [
                    Some(pg_sys::Datum::from(feature as i64 + 1)),
                    Some(text_datum(&model.features.feature_name(feature))),
                    Some(float8(value)),
                ]
            });
        }
        null(fcinfo)
    }
}
