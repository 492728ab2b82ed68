//! `svm_interval`: between which numbers the label lies that a regression predicts.

use super::{null, site};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::trained_by::training;
use crate::combinations::{models, novelty, regression};
use crate::model::Model;
use crate::pg::c_function;
use crate::pg::composite::ResultShape;
use crate::pg::result_set::float8;
use pgrx::pg_sys;
use pgsvm_core::ConformalResiduals;

c_function!(
    svm_interval_wrapper,
    pg_finfo_svm_interval_wrapper,
    svm_interval
);

/// The option of a training that has them.
const WITH_INTERVALS: &str = "options => '{\"intervals\": true}'";

/// `svm_interval(model, features, coverage) -> (lower float8, upper float8)`. NULL for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three arguments that are not NULL, of which the third is a float8.
unsafe fn svm_interval(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let coverage = f64::from_bits((*fcinfo).args.as_slice(3)[2].value.value() as u64);
        let (used, features) = site::current(fcinfo);
        let residuals = residuals(&used.model, coverage).or_raise();
        let half_width = residuals.half_width(coverage);
        let Some(number) = used.decision(features).or_raise() else {
            return null(fcinfo);
        };
        let bounds = [number - half_width, number + half_width];
        ResultShape::of_columns(fcinfo).row(&bounds.map(|bound| Some(float8(bound))))
    }
}

/// How far predictions of a model are off; refuses what is no coverage, and models that do not know.
fn residuals(model: &Model, coverage: f64) -> Result<&ConformalResiduals, Failure> {
    // NaN is none either
    if !(coverage > 0.0 && coverage < 1.0) {
        return Err(Failure::new(
            Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("coverage must be above 0 and below 1, not {coverage}"),
        )
        .hint("coverage => 0.9: the label lies between the two numbers in 9 of 10 rows"));
    }
    if model.finds_novelties {
        return Err(novelty::probability());
    }
    if !model.regresses {
        let name = model.base_name().replace('\'', "''");
        return Err(models::interval_classes(&model.name, name));
    }
    if !model.quantiles.is_empty() {
        return Err(regression::intervals_of_quantiles());
    }
    let residuals = model.residuals.as_ref();
    residuals.ok_or_else(|| models::interval(&model.name, training(&model.name, WITH_INTERVALS)))
}
