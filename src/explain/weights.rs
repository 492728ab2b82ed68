//! `svm_weights`: every weight of a model that is not zero, under its feature's name. Rows go out as
//! they are made, as a model may have many millions; SQL puts them in order.

use crate::base::errors::OrRaise;
use crate::model::{self, Model};
use crate::pg::c_function;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use crate::pg::statement;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;

c_function!(
    svm_weights_unordered_wrapper,
    pg_finfo_svm_weights_unordered_wrapper,
    svm_weights_unordered
);

/// `svm_weights_unordered(model) -> TABLE(head, class, feature, weight)`, the intercepts among them.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with one argument that is not NULL.
unsafe fn svm_weights_unordered(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let mut rows = ResultSet::begin(fcinfo);
        let model = {
            let name = Varlena::open((*fcinfo).args.as_slice(1)[0].value);
            let name = String::from_utf8_lossy(name.payload());
            model::find(statement::extension_schema(), &name).or_raise()
        };
        for (number, head) in model.heads.iter().enumerate() {
            put(&mut rows, &model, number, "(intercept)", head.intercept);
        }
        for feature in 0..model.dense_count {
            crate::pg::check_for_interrupts();
            let heads = 0..model.heads.len();
            if heads
                .clone()
                .all(|head| model.dense_of(head)[feature] == 0.0)
            {
                continue;
            }
            let name = model.features.feature_name(feature as u64);
            for number in heads {
                put(
                    &mut rows,
                    &model,
                    number,
                    &name,
                    model.dense_of(number)[feature],
                );
            }
        }
        for (id, weights) in model.sparse.iter() {
            crate::pg::check_for_interrupts();
            let feature = model.dense_count as u64 + u64::from(id);
            let name = model.features.feature_name(feature);
            for (number, weight) in weights.iter().enumerate() {
                put(&mut rows, &model, number, &name, *weight);
            }
        }
    }
    pg_sys::Datum::from(0)
}

/// # Safety
/// The rows are those of `svm_weights_unordered`.
unsafe fn put(rows: &mut ResultSet, model: &Model, head: usize, feature: &str, weight: f64) {
    if weight == 0.0 {
        return;
    }
    // SAFETY: the values are of the declared types.
    unsafe {
        rows.put(|| {
            [
                Some(pg_sys::Datum::from(head as i32)),
                Some(text_datum(&model.labels[model.class_of_head(head)])),
                Some(text_datum(feature)),
                Some(float8(weight)),
            ]
        });
    }
}
