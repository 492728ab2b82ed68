//! Texts before a training reads its rows: one pass over them that learns their vocabularies, so that a row becomes the same
//! numbers in training and in prediction. And a look at the first rows, which tells texts that nobody named from categories.

use crate::base::errors::Failure;
use crate::features::{FeatureError, Nulls, TextGuess, VocabularyLearner, LOOKED_AT};
use crate::pg::executor::each_row;
use crate::planning::prepare::Prepared;
use crate::request::Request;
use crate::targets::costs::Costs;

/// Learns what the training's texts are, as far as it is not known yet; with the snapshot by which it will read.
pub fn learn(prepared: &mut Prepared, request: &Request) -> Result<(), Failure> {
    let width = prepared.job.columns.features.end;
    guess(prepared, request, width)?;
    let Prepared { job, planned, .. } = prepared;
    let mut limits = request.texts.limits;
    limits.hash_bits = request.categories.hash_bits;
    let columns = &planned.columns[..width];
    let Some(mut learner) = VocabularyLearner::new(&job.features, columns, limits)? else {
        return Ok(());
    };
    let costs = Costs::new(job.columns.weight.as_ref(), &[])?;
    let features = job.columns.features.clone();
    let nulls = job.nulls;
    each_row(planned, u64::MAX, |row, number| {
        let lacks = row.nulls[features.clone()].contains(&true);
        if (nulls == Nulls::Skip && lacks) || costs.weight(row, number)? == 0.0 {
            return Ok(());
        }
        // SAFETY: the executor's row has the columns of the plan for which the learner was made.
        unsafe { learner.take(row.values, row.nulls) }.map_err(|error| error.in_row(number).into())
    })?;
    let named = job.categories.named;
    let without = learner.finish(&mut job.features, named)?;
    let without = without.into_iter().map(|name| format!("{name} (no words)"));
    prepared.left_out.identifiers.extend(without);
    match prepared.job.features.parts.is_empty() {
        true => Err(FeatureError::Nothing.into()),
        false => Ok(()),
    }
}

/// Has text columns that nobody named read as texts where they hold such.
fn guess(prepared: &mut Prepared, request: &Request, width: usize) -> Result<(), Failure> {
    let Prepared { job, planned, .. } = prepared;
    if job.categories.named || job.categories.hash_keys {
        return Ok(());
    }
    let Some(mut guess) = TextGuess::new(&job.features, &planned.columns[..width])? else {
        return Ok(());
    };
    each_row(planned, LOOKED_AT, |row, _| {
        // SAFETY: the executor's row has the columns of the plan for which the guess was made.
        unsafe { guess.take(row.values, row.nulls) }
            .map_err(|error| FeatureError::from(error).into())
    })?;
    guess.finish(&mut job.features, request.texts.sublinear);
    Ok(())
}
