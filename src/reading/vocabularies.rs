//! Texts before a training reads its rows: one pass over them learns their vocabularies, so that a row becomes the same numbers in training
//! and in prediction. For text columns that nobody named, a look at the first rows decides between texts and categories.

use crate::base::errors::Failure;
use crate::features::{
    Decoder, FeatureBuffer, FeatureError, FeaturePart, FeatureSet, Finished, LengthGuess, Nulls,
    TextGuess, UsualLengths, VocabularyLearner, LOOKED_AT,
};
use crate::index::kept::KeptIndex;
use crate::pg::executor::{each_row, RunningQuery};
use crate::pg::origin::KnownColumns;
use crate::pg::query::Planned;
use crate::planning::bad_rows::with_hint;
use crate::planning::job::{Job, Role};
use crate::planning::prepare::{self, Prepared};
use crate::planning::roles::timing;
use crate::request::Request;
use crate::targets::costs::RowCosts;
use crate::targets::labels::{LabelColumn, Labels};
use pgsvm_expand::KeptWords;
use std::cell::RefCell;

/// The part of the cache's bytes that words may take from the pass that learns them to the one that reads. They go as rows come.
const KEPT_PART: usize = 4;

/// Learns what the training's texts are, as far as it is not known yet; with the snapshot by which it will read.
pub fn learn(prepared: &mut Prepared, request: &Request) -> Result<(), Failure> {
    let width = prepared.job.statement.columns.features.end;
    guess(prepared, request)?;
    measure_arrays(prepared, width)?;
    hash_long_polynomials(prepared, request, width)?;
    let Prepared { job, planned, .. } = prepared;
    let mut limits = request.texts.limits;
    limits.hash_bits = request.rows.categories.hash_bits;
    let columns = &planned.columns[..width];
    let Some(mut learner) = VocabularyLearner::new(
        &job.features,
        columns,
        limits,
        job.resources.cache_bytes / KEPT_PART,
    )?
    else {
        return Ok(());
    };
    let costs = RowCosts::new(job.statement.columns.weight.as_ref(), &[])?;
    let features = job.statement.columns.features.clone();
    let nulls = job.rows.nulls;
    let index = job.index.as_ref().filter(|index| index.has_words());
    let mut running = RunningQuery::start_knowing(
        planned,
        KnownColumns {
            origins: None,
            derived: index.map(|_| features.clone()),
        },
    );
    let mut kept = match index {
        None => None,
        Some(index) => {
            let (wanted, names) = (learner.wanted()?, job.features.columns());
            let columns = (features.start, &names[..]);
            Some(KeptIndex::open(
                index.clone(),
                &mut running,
                &wanted,
                columns,
            )?)
        }
    };
    let label_at = job.statement.columns.label.at;
    // of a row that is left out no word counts
    let mut tried = match job.rows.skips_bad_rows {
        true => Some(Decoder::new(&job.features, columns, nulls)?),
        false => None,
    };
    let mut buffer = FeatureBuffer::default();
    running.each(u64::MAX, |row, number| {
        if row.nulls[label_at] {
            return Ok(());
        }
        if let Some(decoder) = &mut tried {
            // SAFETY: the executor's row has the columns of the plan for which the decoder was made.
            let decoded = unsafe { decoder.decode(row.values, row.nulls, &mut buffer) };
            match decoded {
                Err(FeatureError::OutOfMemory(error)) => return Err(error.into()),
                Err(_) => return Ok(()),
                Ok(()) => {}
            }
        }
        let lacks = row.nulls[features.clone()].contains(&true);
        let weight = costs.weight(row, number)?;
        if (nulls == Nulls::Skip && lacks) || weight == 0.0 {
            return Ok(());
        }
        let kept = match &mut kept {
            None => None,
            Some(kept) => kept.row(row.tuple)?,
        };
        // SAFETY: the executor's row has the columns of the plan for which the learner was made.
        unsafe { learner.take(row.values, row.nulls, (number - 1, weight), kept) }
            .map_err(|error| with_hint(error.in_row(number).into(), false))
    })?;
    let named = job.rows.categories.named;
    let Finished { without, kept } = learner.finish(&mut job.features, named)?;
    keep(job, kept);
    let without = without.into_iter().map(|name| format!("{name} (no words)"));
    prepared.left_out.identifiers.extend(without);
    match prepared.job.features.parts.is_empty() {
        true => Err(FeatureError::Nothing {
            columns: Vec::new(),
        }
        .into()),
        false => Ok(()),
    }
}

/// Has the process that plays the reader take over words, which is this one then. Where it needs no texts, it needs no helpers.
fn keep(job: &mut Job, kept: Vec<(usize, KeptWords)>) {
    if kept.is_empty() || job.terms.scans() {
        return;
    }
    let is_cheap = |(number, part): (usize, &FeaturePart)| {
        let is_kept = kept.iter().any(|(kept, _)| *kept == number);
        is_kept || part.is_column()
    };
    job.roles.retain(|role| *role != Role::Reader);
    if job.features.parts.iter().enumerate().all(is_cheap) {
        job.roles.retain(|role| *role != Role::Helper);
        job.statement.cut = None;
    }
    job.timing = timing(&job.roles);
    job.kept = RefCell::new(kept);
}

/// Finds out how long arrays are, where the first row may not tell.
fn measure_arrays(prepared: &mut Prepared, width: usize) -> Result<(), Failure> {
    /// Rows by which a length is known that no row has twice.
    const FEW: u64 = 64;
    let Prepared { job, planned, .. } = prepared;
    // to begin a query may cost as much as to read all of it
    let needed =
        job.rows.skips_bad_rows || (job.statement.in_table && job.rows.nulls != Nulls::Error);
    let columns = &planned.columns[..width];
    let Some(mut lengths) = UsualLengths::new(&job.features, columns)?.filter(|_| needed) else {
        return Ok(());
    };
    let rows = if job.rows.skips_bad_rows {
        LOOKED_AT
    } else {
        FEW
    };
    each_row(planned, rows, |row, _| {
        // SAFETY: the executor's row has the columns of the plan for which they were made.
        unsafe { lengths.take(row.values, row.nulls) }.map_err(Failure::from)
    })?;
    lengths.finish(&mut job.features, job.rows.skips_bad_rows);
    Ok(())
}

/// Has products hashed that are too many to be listed: of arrays the first rows tell.
fn hash_long_polynomials(
    prepared: &mut Prepared,
    request: &Request,
    width: usize,
) -> Result<(), Failure> {
    let Prepared { job, planned, .. } = prepared;
    let bits = request.rows.categories.hash_bits;
    let columns = &planned.columns[..width];
    let Some(mut guess) = LengthGuess::new(&mut job.features, columns, bits)? else {
        return Ok(());
    };
    each_row(planned, LOOKED_AT, |row, _| {
        let to = (&mut job.features, bits);
        // SAFETY: the executor's row has the columns of the plan for which the guess was made.
        match unsafe { guess.take(row.values, row.nulls, to) } {
            Err(FeatureError::OutOfMemory(error)) => Err(error.into()),
            // for whoever reads the row to say
            Err(_) | Ok(()) => Ok(()),
        }
    })
}

/// Finds out what text columns hold that nobody named, and how texts are written that are numbers or times.
pub fn guess(prepared: &mut Prepared, request: &Request) -> Result<(), Failure> {
    if prepared.guessed {
        return Ok(());
    }
    prepared.guessed = true;
    let Prepared { job, planned, .. } = prepared;
    let width = job.statement.columns.features.end;
    let named = job.rows.categories.named;
    let labels = Some(&job.statement.columns.label);
    find_texts(
        (planned, width, labels),
        &mut job.features,
        (named, request.texts.sublinear),
    )?;
    prepare::settle(prepared, request);
    Ok(())
}

/// Tells numbers, times, texts and categories apart by the first rows of a plan, whose first columns, so many, the features are
/// read from. `named`: whether somebody named them.
pub fn find_texts(
    (planned, width, label): (&Planned, usize, Option<&LabelColumn>),
    features: &mut FeatureSet,
    (named, sublinear): (bool, bool),
) -> Result<(), Failure> {
    let Some(mut guess) = TextGuess::new(features, &planned.columns[..width], named)? else {
        return Ok(());
    };
    let mut labels = label.map(|it| (it.at, Labels::new(it)));
    each_row(planned, LOOKED_AT, |row, _| {
        let class = match &mut labels {
            None => None,
            Some((at, _)) if row.nulls[*at] => return Ok(()),
            // a label that is none is for whoever reads the row to say
            Some((at, labels)) => labels.class_of(row.values[*at], false).ok().flatten(),
        };
        // SAFETY: the executor's row has the columns of the plan for which the guess was made.
        unsafe { guess.take(row.values, row.nulls, class) }
            .map_err(|error| FeatureError::from(error).into())
    })?;
    guess.finish(features, sublinear);
    Ok(())
}
