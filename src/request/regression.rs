//! What a regression does not go with, and how a training becomes one whose label says so. Pure.

use crate::base::errors::{Code, Failure};
use crate::combinations::{refuse, regression};
use crate::request::deploy::Deploy;
use crate::request::options::table;
use crate::request::{scoring_words, Request, SolvingTerms};
use pgsvm_core::Scoring;

/// What says that a label is a number to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Some value has a fraction.
    Fractions,
    /// There are more values than there may be classes.
    ManyValues,
}

impl Amount {
    /// What the label's values are.
    pub fn reason(self, label: &str) -> String {
        match self {
            Self::Fractions => format!("values of {label} have fractions"),
            Self::ManyValues => format!("{label} has more than 1000 values"),
        }
    }
}

/// What is said of a label that asked for a regression, before rows held out are scored.
pub fn said(request: &Request) -> Option<Failure> {
    let label = &request.columns.label;
    let message = format!(
        "predicts a number, as {}; scores are {}",
        request.call.amount?.reason(label),
        scoring_words(request.plan.scoring).1
    );
    let failure = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message);
    Some(failure.hint("task => 'classification' takes each value for a class"))
}

/// Refuses what a regression cannot have, or has not yet, and what only a regression has.
pub fn check(request: &Request) -> Result<(), Failure> {
    if request.terms.targets.is_some() {
        check_others(request)?;
        let by_quantile = measures(request).any(|metric| metric == Scoring::Pinball);
        return match by_quantile && request.terms.quantiles.is_empty() {
            true => Err(regression::metric_of_quantiles()),
            false => Ok(()),
        };
    }
    match measures(request).find(|metric| metric.is_of_targets()) {
        Some(metric) => Err(regression::metric_of_numbers(scoring_words(metric).0)),
        None if request.plan.intervals => Err(regression::intervals()),
        None => Ok(()),
    }
}

/// The metrics that were given: the one that something is chosen by, and the one by which versions are compared before one is deployed.
fn measures(request: &Request) -> impl Iterator<Item = Scoring> {
    let chosen_by = (request.call.names_metric).then_some(request.plan.scoring);
    let compared_by = match &request.deploy {
        Deploy::IfBetter { metric, .. } => Some(*metric),
        _ => None,
    };
    chosen_by.into_iter().chain(compared_by)
}

/// Has it be a regression as usual.
fn begin(terms: &mut SolvingTerms) {
    terms.targets = Some(SolvingTerms::usual_targets(terms.loss()));
}

/// What is measured by the distance from a number is one, and what is to have intervals; and where nobody says by what it is chosen, it is by
/// the variance explained, or by the loss of a quantile.
pub fn settle(request: &mut Request) {
    let is_of_targets = measures(request).any(Scoring::is_of_targets) || request.plan.intervals;
    let terms = &mut request.terms;
    let is_regression = terms.targets.is_some() || (is_of_targets && !terms.names_task);
    if is_regression && request.call.holds_out {
        (request.plan.probability, request.plan.intervals) = (false, true);
    }
    if is_of_targets && !terms.names_task {
        terms.names_task = true;
        begin(terms);
    }
    if terms.targets.is_some() && !request.call.names_metric {
        request.plan.scoring = match terms.quantiles.is_empty() {
            true => Scoring::R2,
            false => Scoring::Pinball,
        };
    }
}

/// Whether the label is asked what is predicted: nobody said it, and nothing that was asked for is of classes alone.
pub fn may_be(request: &Request) -> bool {
    !request.terms.names_task && check_of_classes(request).is_ok()
}

/// Refuses what only classes have.
fn check_of_classes(request: &Request) -> Result<(), Failure> {
    let terms = &request.terms;
    if let Some(metric) = measures(request).find(|metric| !metric.is_of_targets()) {
        return Err(regression::metric_of_classes(scoring_words(metric).0));
    }
    refuse(&[
        (!request.class_weight.is_equal(), regression::class_weight),
        (asks_for_probabilities(request), regression::probability),
        (terms.truncation().is_some(), regression::truncation),
    ])?;
    let several = [table::MULTICLASS.name(), table::CLASSES_FROM.name()];
    let options = &request.call.options;
    match several.iter().find(|name| options.get(name).is_some()) {
        Some(option) => Err(regression::together(option)),
        None => Ok(()),
    }
}

/// Whether probabilities are asked for: where rows are held out in any case, by an option that is about them.
fn asks_for_probabilities(request: &Request) -> bool {
    let about_them = [table::CALIBRATION.name(), table::CLASSES_FROM.name()];
    match request.call.holds_out {
        true => about_them
            .iter()
            .any(|it| request.call.options.get(it).is_some()),
        false => request.plan.probability,
    }
}

/// Has it be a regression, as the label says.
pub fn take(request: &mut Request, amount: Amount) -> Result<(), Failure> {
    begin(&mut request.terms);
    request.call.amount = Some(amount);
    settle(request);
    check_others(request)
}

/// Has the next version of a model predict what the one before does, unless another task is asked for.
pub fn follow(request: &mut Request, regresses: bool) -> Result<(), Failure> {
    if request.terms.names_task {
        return Ok(());
    }
    keep(request, regresses);
    match regresses {
        true => check_others(request),
        false => Ok(()),
    }
}

/// Has a training that follows a version predict what that does.
pub fn keep(request: &mut Request, regresses: bool) {
    let terms = &mut request.terms;
    terms.names_task = true;
    if regresses && terms.targets.is_none() {
        begin(terms);
    }
    settle(request);
}

fn check_others(request: &Request) -> Result<(), Failure> {
    let (plan, terms) = (&request.plan, &request.terms);
    check_of_classes(request)?;
    refuse(&[
        (
            plan.intervals && !terms.quantiles.is_empty() && !request.call.holds_out,
            regression::intervals_of_quantiles,
        ),
        (terms.is_published(), regression::published),
    ])
}
