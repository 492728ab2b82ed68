//! `svm_weights`: every weight of a model that is not zero, under its feature's name. Rows go out as
//! they are made, as a model may have many millions; SQL puts them in order.

use crate::base::errors::OrRaise;
use crate::model::{self, KernelMachine, Model};
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

/// `svm_weights_unordered(model) -> TABLE(head, class, feature, weight, standardized, importance, index, "position")`, the
/// intercepts among them; of 0.2.0 only the first four columns.
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
        let mut out = Listing {
            rows: &mut rows,
            model: &model,
            totals: totals(&model),
        };
        for (number, head) in model.heads.iter().enumerate() {
            out.put(number, None, "(intercept)", head.intercept);
        }
        if let Some(machine) = &model.kernel {
            out.landmarks(machine);
            return pg_sys::Datum::from(0);
        }
        for feature in 0..model.dense_count {
            let weights = || (0..model.heads.len()).map(|head| model.dense_of(head)[feature]);
            out.feature(feature as u64, weights);
        }
        for (id, weights) in model.sparse.iter() {
            let feature = model.dense_count as u64 + u64::from(id);
            out.feature(feature, || weights.iter().copied());
        }
    }
    pg_sys::Datum::from(0)
}

/// By head the standardized weights summed up by amount, as far as deviations are known.
fn totals(model: &Model) -> Vec<f64> {
    let mut totals = vec![0.0; model.heads.len()];
    if model.kernel.is_some() {
        return totals;
    }
    let mut add = |feature: u64, head: usize, weight: f64| {
        if let Some(deviation) = model.features.deviation(feature) {
            totals[head] += (weight * deviation).abs();
        }
    };
    for head in 0..model.heads.len() {
        let weights = (0..).zip(model.dense_of(head));
        weights.for_each(|(feature, weight)| add(feature, head, *weight));
    }
    for (id, weights) in model.sparse.iter() {
        crate::pg::check_for_interrupts();
        let feature = model.dense_count as u64 + u64::from(id);
        let weights = weights.iter().enumerate();
        weights.for_each(|(head, weight)| add(feature, head, *weight));
    }
    totals
}

struct Listing<'a> {
    rows: &'a mut ResultSet,
    model: &'a Model,
    totals: Vec<f64>,
}

impl Listing<'_> {
    /// Adds the factors of a kernel machine, under its landmarks' numbers.
    ///
    /// # Safety
    /// The rows are those of `svm_weights_unordered`.
    unsafe fn landmarks(&mut self, machine: &KernelMachine) {
        for head in 0..self.model.heads.len() {
            let against = self.model.classes_of_head(head).1;
            let against = against.map(|it| format!(" against {}", self.model.labels[it]));
            let against = against.unwrap_or_default();
            for (number, factor) in machine.factors(head).iter().enumerate() {
                crate::pg::check_for_interrupts();
                let name = format!("landmark {}{against}", number + 1);
                // SAFETY: as the caller promises.
                unsafe { self.put(head, None, &name, *factor) };
            }
        }
    }

    /// Adds a feature's weights, by head.
    ///
    /// # Safety
    /// The rows are those of `svm_weights_unordered`.
    unsafe fn feature<W: Iterator<Item = f64>>(&mut self, feature: u64, weights: impl Fn() -> W) {
        crate::pg::check_for_interrupts();
        if weights().all(|weight| weight == 0.0) {
            return;
        }
        let name = self.model.features.feature_name(feature);
        for (head, weight) in weights().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { self.put(head, Some(feature), &name, weight) };
        }
    }

    /// # Safety
    /// As for `feature`; no feature is the intercept.
    unsafe fn put(&mut self, head: usize, feature: Option<u64>, name: &str, weight: f64) {
        if weight == 0.0 {
            return;
        }
        let features = &self.model.features;
        let deviation = feature.and_then(|feature| features.deviation(feature));
        // what a damaged model holds may be beyond what numbers hold
        let standardized = deviation
            .map(|deviation| weight * deviation)
            .filter(|weight| weight.is_finite());
        let total = self.totals[head];
        let importance = standardized.map(|weight| match total > 0.0 {
            true => weight.abs() / total,
            false => 0.0,
        });
        let index = feature.and_then(|feature| features.feature(feature).index());
        let quantile = match self.model.quantiles.as_slice() {
            [] | [_] => None,
            several => Some(several[head].to_string()),
        };
        let class = match self.model.regresses {
            true => quantile.as_deref(),
            false => Some(self.model.labels[self.model.classes_of_head(head).0].as_str()),
        };
        // SAFETY: the values are of the declared types.
        unsafe {
            self.rows.put_first(|| {
                [
                    Some(pg_sys::Datum::from(head as i32)),
                    class.map(text_datum),
                    Some(text_datum(name)),
                    Some(float8(weight)),
                    standardized.map(float8),
                    importance.map(float8),
                    index.map(|index| pg_sys::Datum::from(index as i64)),
                    feature.map(|feature| pg_sys::Datum::from(feature as i64)),
                ]
            });
        }
    }
}
