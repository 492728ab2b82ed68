//! The one entrance to training. A [`Request`] is planned, and what is planned is trained: by scans, or on rows that are kept or stream.
//! Whether scans are worth it, whether they give way to rows that stream, and whether they finish what those rows left, is decided here
//! and nowhere else. Runs in the calling backend.
//!
//! | who comes in | by |
//! |---|---|
//! | `svm_train`, a refresh of a model without a key | [`plan`], then [`train`] |
//! | follow-ups of a model with a key | [`plan`], then [`run`], again with other rows where screened rows matter |
//! | comparisons, which store nothing | [`prepare`], then [`train_as_planned`] |
//! | `svm_suspects` with folds, whose features are known | [`prepare`], then [`run`] |

use crate::base::errors::{Failure, OrRaise};
use crate::combinations::choosing;
use crate::pg::snapshot::with_latest;
use crate::planning;
use crate::planning::job::Role;
pub use crate::planning::prepare::prepare;
use crate::planning::prepare::{Continuing, Prepared};
use crate::planning::task;
use crate::reading::vocabularies;
use crate::request::{regression, scans, Request};
use crate::training::by_scans::{self, ScanOutcome};
use crate::training::epsilons::Epsilons;
use crate::training::failures::say_how_long;
use crate::training::leader;
use crate::training::outcome::Trained;
use crate::warm_start::following::Following;
use pgsvm_core::{Purpose, Scale, StopReason};
use std::time::Instant;

/// Looks at the source and plans the training, by scans where that may be and pays; `continuing`: the version that it continues.
pub fn plan(request: &mut Request, continuing: Option<&Continuing>) -> Result<Prepared, Failure> {
    scans::choose(request)?;
    let prepared = prepare_as_labelled(request, continuing)?;
    if scans::may_choose(request) && planning::scans::pays(&prepared) {
        request.terms.parameters.solver = request.terms.solver().by_scans();
        return prepare(request, continuing);
    }
    Ok(prepared)
}

/// Looks at the source, whose label says what is predicted where nobody does.
pub fn prepare_as_labelled(
    request: &mut Request,
    continuing: Option<&Continuing>,
) -> Result<Prepared, Failure> {
    let prepared = prepare(request, continuing)?;
    if regression::may_be(request) {
        if let Some(amount) = with_latest(|| task::of_label(&prepared))? {
            regression::take(request, amount)?;
            return prepare(request, continuing);
        }
    }
    Ok(prepared)
}

/// Trains what is planned, with the latest snapshot. `following`: what it begins from.
pub fn train(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    following: Option<Following>,
) -> Result<Trained, Failure> {
    with_latest(|| {
        with_best_epsilon(request, prepared, continuing, |request, prepared| {
            vocabularies::learn(prepared, request)?;
            match prepared.job.terms.scans() {
                true => scan(request, prepared, continuing, following.as_ref()),
                false => {
                    let trained = run(prepared, following);
                    let may = scans::may_choose(request);
                    match may && may_finish(prepared, &trained) {
                        true => scan_after(request, prepared, continuing, trained),
                        false => Ok(trained),
                    }
                }
            }
        })
    })
}

/// Trains by `train`, where epsilon is to be chosen with the one whose machines are the best on rows held out: before that each has
/// trainings of its own.
fn with_best_epsilon(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    train: impl FnOnce(&mut Request, &mut Prepared) -> Result<Trained, Failure>,
) -> Result<Trained, Failure> {
    if request.epsilons.is_empty() {
        return train(request, prepared);
    }
    if !prepared.planned.repeats {
        return Err(choosing::epsilons_of_others());
    }
    vocabularies::learn(prepared, request)?;
    let purpose = request.plan.purpose;
    let mut compared = Epsilons::new(request.plan.scoring);
    let mut last = None;
    let started = Instant::now();
    for (at, epsilon) in request.epsilons.iter().enumerate() {
        let trained = validate(prepared, *epsilon);
        let trained = last.insert(trained);
        compared.take(*epsilon, &mut trained.trainer.report)?;
        if at == 0 {
            let seconds = started.elapsed().as_secs_f64();
            say_how_long(seconds, (request.epsilons.len(), "epsilon"));
        }
    }
    let mut trained = match last {
        Some(trained) if purpose == Purpose::Validate => trained,
        _ => {
            let asked = compared.settle(request)?;
            *prepared = prepare(request, continuing)?;
            let trained = train(request, prepared)?;
            asked.restore(request);
            trained
        }
    };
    compared.complete(&mut trained.trainer.report, purpose);
    Ok(trained)
}

/// Compares what there is to choose from beside this epsilon.
fn validate(prepared: &mut Prepared, epsilon: f64) -> Trained {
    let job = &mut prepared.job;
    if let Some(targets) = &mut job.terms.targets {
        targets.set_width(epsilon);
    }
    if let Some(plan) = job.chooses.take() {
        job.plan = plan;
    }
    job.plan.purpose = Purpose::Validate;
    run(prepared, None)
}

/// Trains by scans, and where that gives way goes on with rows that stream.
fn scan(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    following: Option<&Following>,
) -> Result<Trained, Failure> {
    let unfinished = match by_scans::train(&prepared.job, &prepared.planned, true, following)? {
        ScanOutcome::Trained(trained) => return Ok(*trained),
        ScanOutcome::GaveWay(unfinished) => unfinished,
    };
    request.terms.parameters.solver = request.terms.solver().without_scans();
    let anew = prepare(request, continuing)?;
    let before = std::mem::replace(prepared, anew);
    if following.is_some() {
        // with the categories that the model knows, whose weights these are
        prepared.job.features = before.job.features;
        prepared.guessed = before.guessed;
    }
    prepared.job.roles.retain(|role| *role == Role::Helper);
    vocabularies::learn(prepared, request)?;
    let scans = unfinished.scans;
    let trained = leader::go_on(&prepared.job, &prepared.planned, unfinished);
    Ok(Trained {
        gave_way: Some(scans),
        followed: following.map(Following::followed),
        ..trained
    })
}

/// Whether scans may come to the tolerance that rows that stream have missed: their dual variables have 64 bits, which columns far from 1 in
/// size take. Only where the rows are few.
fn may_finish(prepared: &Prepared, trained: &Trained) -> bool {
    let job = &prepared.job;
    let stop = trained.trainer.report.summary().stop;
    !stop.is_some_and(StopReason::arrived)
        && trained.reader.report.resident
        && !job.terms.loss().is_smooth()
        && job.terms.truncation().is_none()
        && job.scale == Scale::None
        && job.kernel.is_none()
        && job.terms.nu.is_none()
        && !job.plan.holds_out()
        && prepared.planned.repeats
}

/// Trains by scans what rows that stream have left unfinished, and takes what is nearer to the tolerance.
fn scan_after(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    trained: Trained,
) -> Result<Trained, Failure> {
    let report = &trained.trainer.report;
    let (streamed, gap) = (Some(report.passes), report.summary().gap);
    let before = *request.terms.solver();
    request.terms.parameters.solver = before.by_scans();
    let mut anew = prepare(request, continuing)?;
    vocabularies::learn(&mut anew, request)?;
    match by_scans::train(&anew.job, &anew.planned, true, None)? {
        ScanOutcome::Trained(found) if found.trainer.report.summary().gap < gap => {
            *prepared = anew;
            Ok(Trained { streamed, ..*found })
        }
        ScanOutcome::Trained(_) | ScanOutcome::GaveWay(_) => {
            request.terms.parameters.solver = before;
            Ok(Trained {
                streamed,
                ..trained
            })
        }
    }
}

/// Trains what is planned, with the active snapshot and no change of mind: scans go on to their end.
pub fn run(prepared: &Prepared, following: Option<Following>) -> Trained {
    let (job, planned) = (&prepared.job, &prepared.planned);
    match job.terms.scans() {
        true => by_scans::to_the_end(job, planned, following.as_ref()).or_raise(),
        false => leader::train(job, planned, following),
    }
}

/// Learns the words of texts and trains as planned, with the latest snapshot: what stores no model keeps to its solver.
pub fn train_as_planned(
    request: &mut Request,
    prepared: &mut Prepared,
) -> Result<Trained, Failure> {
    with_latest(|| {
        with_best_epsilon(request, prepared, None, |request, prepared| {
            vocabularies::learn(prepared, request)?;
            Ok(run(prepared, None))
        })
    })
}
