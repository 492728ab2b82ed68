//! Whether a row has an answer. A NULL can make the answer NULL; so does a bad value where the training left such rows out. All forms of
//! prediction ask this file.

use super::complaints::out_of_range;
use crate::base::errors::Failure;
use crate::base::settings::{self, PredictNulls};
use crate::features::{FeatureBuffer, Nulls};
use crate::model::Model;

/// Whether the row that was `read` into `row` has an answer. `refused`: what is said where a NULL is an error.
#[inline]
pub fn has_answer(
    model: &Model,
    read: Result<(), Failure>,
    row: &FeatureBuffer,
    refused: impl FnOnce() -> Failure,
) -> Result<bool, Failure> {
    if let Err(failure) = read {
        return left_out(model, failure).map(|()| false);
    }
    if model.features.skips_bad_rows && row.out_of_range().is_some() {
        return Ok(false);
    }
    if row.null_parts.is_empty() {
        return Ok(true);
    }
    match model.nulls {
        Nulls::Zero | Nulls::Mean => Ok(true),
        Nulls::Skip => Ok(false),
        Nulls::Error if settings::predict_nulls() == PredictNulls::Null => Ok(false),
        Nulls::Error => Err(refused()),
    }
}

/// Whether these decisions of all heads are an answer: they are numbers.
#[inline]
pub fn are_answer(model: &Model, decisions: &[f64]) -> Result<bool, Failure> {
    match decisions.iter().all(|decision| decision.is_finite()) {
        true => Ok(true),
        false => left_out(model, out_of_range(model)).map(|()| false),
    }
}

/// Passes a failure on, but for one about a row that the training had left out.
#[cold]
fn left_out(model: &Model, failure: Failure) -> Result<(), Failure> {
    match model.features.skips_bad_rows && failure.is_of_bad_row() {
        true => Ok(()),
        false => Err(failure),
    }
}
