//! `svm_expand`: the features that a model makes of a row, with their numbers, so that other programs see the same.

use super::{any_null, null, or_null, site};
use crate::base::errors::OrRaise;
use crate::features::FeatureBuffer;
use crate::model::Model;
use crate::pg::c_function;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use std::fmt::Write;

c_function!(svm_expand_wrapper, pg_finfo_svm_expand_wrapper, svm_expand);
c_function!(
    svm_row_libsvm_wrapper,
    pg_finfo_svm_row_libsvm_wrapper,
    svm_row_libsvm
);

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

/// `svm_row_libsvm(model, features, scaled) -> text`: what `svm_expand` tells, as a line of a LIBSVM file behind its label; `scaled`: dense
/// features to mean 0 and deviation 1 as the training had them. NULL for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three arguments that are not NULL.
unsafe fn svm_row_libsvm(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let scaled = (*fcinfo).args.as_slice(3)[2].value.value() & 0xff != 0;
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        let row = used.argument.row(&model, features).or_raise();
        let line = row.map(|row| line(&model, row, scaled).or_raise());
        or_null(fcinfo, line.map(|line| text_datum(&line)))
    }
}

/// Bytes of an index and a value at most.
const PAIR_BYTES: usize = 40;

fn line(model: &Model, row: &FeatureBuffer, scaled: bool) -> Result<String, OutOfMemory> {
    let mut line = String::new();
    let behind = row.dense.len() as u64 + 1;
    let kernel = model.features.kernel.as_ref();
    let scaling = kernel.and_then(|kernel| kernel.scaling.as_ref());
    let scaling = scaling.filter(|_| scaled);
    for (feature, raw) in row.dense.iter().enumerate() {
        let value = match scaling {
            Some(scaling) => scaling.scaled(feature, *raw),
            None if scaled => standardized(model, feature as u64, *raw),
            None => *raw,
        };
        if value != 0.0 {
            // writing into a String fails for lack of room alone
            let _ = write!(line.room(PAIR_BYTES)?, " {}:{value:?}", feature + 1);
        }
    }
    for (at, value) in row.sparse_index.iter().zip(&row.sparse_value) {
        let factor = scaling.map_or(1.0, |it| {
            it.factor_of(row.dense.len() + *at as usize) as f32
        });
        let value = factor * value;
        if value != 0.0 {
            let _ = write!(
                line.room(PAIR_BYTES)?,
                " {}:{value:?}",
                behind + u64::from(*at)
            );
        }
    }
    Ok(line)
}

/// A dense value as `scale => 'standard'` has it: 0 where all rows have the same.
fn standardized(model: &Model, feature: u64, raw: f64) -> f64 {
    let (mean, deviation) = (
        model.features.mean(feature),
        model.features.deviation(feature),
    );
    match (mean, deviation) {
        (Some(mean), Some(deviation)) if deviation > 0.0 => (raw - mean) / deviation,
        _ => 0.0,
    }
}
