//! `svm_select_features`: recursive elimination. Each step trains on the columns that are left, with rows held out, in one
//! reading of the source, and takes away those whose standardized weights are least. SQL face; in the calling backend.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::FeatureSet;
use crate::pg::call::Call;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::request::source::GivenSource;
use crate::request::{regression, Arguments, ColumnArguments};
use crate::sql::train;
use crate::training::entrance;
use crate::training::outcome::Trained;
use crate::training::validation;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::memory::{filled, gathered, OutOfMemory};
use pgsvm_core::Scoring;

/// What a training is called that stores nothing.
const NAMELESS: &str = "svm_select_features";

/// What a step found out.
struct SelectionStep {
    removed: Option<Vec<String>>,
    features: Vec<String>,
    score: Option<f64>,
}

/// `svm_select_features(relation, label, …)`: see sql/ for names and defaults. A row a step.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn svm_select_features(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(step, i32),
        name!(removed, Option<Vec<String>>),
        name!(features, Vec<String>),
        name!(score, Option<f64>),
        name!(best, bool),
    ),
> {
    let _prepared = prepared();
    // SAFETY: PostgreSQL calls the function by its SQL declaration.
    let call = unsafe { Call::of(fcinfo) };
    let (steps, scoring) = cut_off(|| eliminate(&call)).or_raise();
    let best = best(&steps, scoring);
    let rows = (0..)
        .zip(steps)
        .map(move |(number, step): (i32, SelectionStep)| {
            let is_best = usize::try_from(number) == Ok(best);
            (number, step.removed, step.features, step.score, is_best)
        });
    TableIterator::new(rows)
}

/// The step of the best score, of equals the one with the fewest features.
fn best(steps: &[SelectionStep], scoring: Scoring) -> usize {
    let mut best = 0;
    for (number, step) in steps.iter().enumerate() {
        if !scoring.is_better(steps[best].score, step.score) {
            best = number;
        }
    }
    best
}

fn eliminate(call: &Call) -> Result<(Vec<SelectionStep>, Scoring), Failure> {
    let keep = count(call, "keep")?;
    let remove = count(call, "remove")?;
    let mut steps: Vec<SelectionStep> = Vec::new();
    let (mut left, mut removed) = (None, None);
    loop {
        let (trained, scoring) = train_on(call, left.take())?;
        let features = &trained.reader.features;
        let names = gathered(features.parts.iter().map(|part| part.name()))?;
        steps.push(SelectionStep {
            removed: removed.take(),
            features: gathered(names.iter().cloned())?,
            score: validation::best_score(&trained.trainer.report),
        });
        let going = remove.min(names.len().saturating_sub(keep));
        if going == 0 {
            return Ok((steps, scoring));
        }
        let mut order = gathered(0..names.len())?;
        let importance = importance(&trained, features)?;
        // of equals the last ones go first
        order.sort_by(|a, b| importance[*a].total_cmp(&importance[*b]).then(b.cmp(a)));
        let (gone, staying) = order.split_at_mut(going);
        staying.sort_unstable();
        let named = |places: &[usize]| gathered(places.iter().map(|at| names[*at].clone()));
        (removed, left) = (Some(named(gone)?), Some(named(staying)?));
    }
}

/// An argument that says how many columns.
fn count(call: &Call, name: &str) -> Result<usize, Failure> {
    // SAFETY: the arguments have the types that sql/ gives them.
    let given = unsafe { call.get::<i32>(name) }.unwrap_or(1);
    let count = usize::try_from(given).ok().filter(|count| *count > 0);
    count.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{name} must be positive, not {given}"),
        )
        .hint("keep => 5, remove => 1 takes one column away at a time until 5 are left")
    })
}

/// Trains on these features, or those that the call says, with rows held out.
fn train_on(call: &Call, features: Option<Vec<String>>) -> Result<(Trained, Scoring), Failure> {
    let is_first = features.is_none();
    // SAFETY: the arguments have the types that sql/ gives them.
    let given = unsafe {
        Arguments {
            source: call.get("relation").map(GivenSource::Relation),
            model: Some(NAMELESS.to_owned()),
            holds_out: true,
            ..train::arguments(call)
        }
    };
    let arguments = match features {
        None => given,
        Some(features) => Arguments {
            columns: ColumnArguments {
                features: Some(gathered(features.into_iter().map(Some))?),
                exclude: None,
                ..given.columns
            },
            ..given
        },
    };
    let mut request = arguments.check()?;
    // no model is stored
    request.model.clear();
    let mut prepared = entrance::prepare_as_labelled(&mut request, None)?;
    if is_first {
        let said = regression::said(&request);
        said.into_iter().for_each(Failure::notice);
    }
    let mut trained = entrance::train_as_planned(&mut request, &mut prepared)?;
    trained.in_label_units(request.plan.scoring)?;
    match trained.is_finite() {
        true => Ok((trained, request.plan.scoring)),
        false => Err(train::out_of_range()),
    }
}

/// By part the sum of the squares of its features' standardized weights; as they are where deviations are not known.
fn importance(trained: &Trained, features: &FeatureSet) -> Result<Vec<f64>, OutOfMemory> {
    let mut importance = filled(0.0, features.parts.len())?;
    for chunk in trained.heads.iter().flat_map(|head| &head.weights.chunks) {
        for (at, weight) in chunk.weights.iter().enumerate() {
            crate::pg::check_for_interrupts();
            let offset = match &chunk.offsets {
                None => at as u64,
                Some(offsets) => offsets[at] as u64,
            };
            let id = chunk.first_feature as u64 + offset;
            let standardized = weight * features.deviation(id).unwrap_or(1.0);
            let feature = features.feature(id);
            let of = features.parts.iter().position(|part| feature.is_of(part));
            if let Some(of) = of {
                importance[of] += standardized * standardized;
            }
        }
    }
    Ok(importance)
}
