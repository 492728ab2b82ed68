//! What is held out, and the C that are tried on it: `c`, `folds`, `fold_column`, `fold_order`, `metric`. Pure.

use crate::base::errors::Failure;
use crate::combinations::choosing;
use crate::request::class_weight::ClassWeight;
use crate::request::numbers::{Numbers, C};
use crate::request::words::{invalid, sql_float, word};
use core::ops::RangeInclusive;
use pgsvm_core::plan::{Folds, MOST_FOLDS};
use pgsvm_core::Scoring;

/// C, what is held out to choose it and others on, and by what, as it came.
#[derive(Clone, Default)]
pub struct ChoiceArguments {
    /// One C, or those to choose from.
    pub c: Numbers,
    pub folds: Option<i32>,
    pub fold_column: Option<String>,
    pub fold_order: Option<String>,
    pub metric: Option<String>,
}

/// C where nothing is given.
const USUAL_COST: f64 = 1.0;
/// The C that are tried where none is given: decades, as most searches do.
const USUAL_COSTS: [f64; 5] = [0.001, 0.01, 0.1, 1.0, 10.0];
/// Values of C beyond the usual ones that may be tried, each ten times the one before or a tenth.
pub(super) const MOST_BEYOND: u32 = 3;
/// Folds where nothing says how many.
const USUAL_FOLDS: i32 = 5;

/// The C to train with, or those to choose from, and whether `options` gave them.
pub(super) fn costs(c: Numbers, choices: Option<Vec<f64>>) -> Result<(Vec<f64>, bool), Failure> {
    let chosen = choices.is_some();
    let costs = match (c, choices) {
        (Numbers::Auto, None) => USUAL_COSTS.to_vec(),
        (Numbers::Auto, Some(costs)) => costs,
        (Numbers::Default | Numbers::Scale | Numbers::Are(_), Some(costs)) => {
            let costs: Vec<_> = costs.into_iter().map(sql_float).collect();
            return Err(choosing::costs_without_choice(costs.join(", ")));
        }
        (Numbers::Default | Numbers::Scale, None) => vec![USUAL_COST],
        (Numbers::Are(given), None) => {
            let given = given.into_iter().map(|c| C.number_of(c));
            given.collect::<Result<Vec<_>, _>>()?
        }
    };
    check_costs(&costs)?;
    Ok((costs, chosen))
}

fn check_costs(costs: &[f64]) -> Result<(), Failure> {
    C.check_count(costs.len())?;
    for (at, c) in costs.iter().enumerate() {
        if !(c.is_finite() && *c > 0.0) {
            return Err(invalid(format!(
                "c must be a positive finite number, not {}",
                sql_float(*c)
            ))
            .hint("c => 1.0 is where most searches start"));
        }
        if costs[..at].contains(c) {
            return Err(invalid(format!("c has the value {} twice", sql_float(*c))));
        }
    }
    Ok(())
}

/// What C is chosen by; of a regression another one where nothing is given, [`super::regression`].
pub(super) fn scoring(given: Option<&str>, class_weight: &ClassWeight) -> Result<Scoring, Failure> {
    match given {
        Some(given) => word("metric", given, &METRICS),
        None if class_weight.is_balanced() => Ok(Scoring::BalancedAccuracy),
        None => Ok(Scoring::Accuracy),
    }
}

/// The words for what C is chosen by and versions are compared by; each is a column of `svm_evaluate`.
pub(super) const METRICS: [(&str, Scoring); 9] = [
    ("accuracy", Scoring::Accuracy),
    ("balanced_accuracy", Scoring::BalancedAccuracy),
    ("f1", Scoring::F1),
    ("auc", Scoring::Auc),
    ("log_loss", Scoring::LogLoss),
    ("rmse", Scoring::Rmse),
    ("mae", Scoring::Mae),
    ("r2", Scoring::R2),
    ("pinball", Scoring::Pinball),
];

/// The words for a metric, as an argument and in a message.
pub fn scoring_words(scoring: Scoring) -> (&'static str, &'static str) {
    let mut known = METRICS.iter().filter(|(_, it)| *it == scoring);
    let word = known.next().map_or("", |(word, _)| word);
    let words = match scoring {
        Scoring::BalancedAccuracy => "balanced accuracy",
        Scoring::F1 => "F1",
        Scoring::Auc => "AUC",
        Scoring::LogLoss => "log loss",
        Scoring::Rmse => "RMSE",
        Scoring::Mae => "MAE",
        Scoring::R2 => "R2",
        Scoring::Accuracy | Scoring::Pinball => word,
    };
    (word, words)
}

pub(super) fn folds(
    count: Option<i32>,
    column: Option<&str>,
    order: Option<&str>,
) -> Result<Folds, Failure> {
    let count = count.unwrap_or(USUAL_FOLDS);
    match (column, order) {
        (Some(column), Some(_)) => Err(choosing::fold_column_and_order(column)),
        (Some(_), None) => Ok(Folds::Column),
        // the first piece is only trained on
        (None, Some(_)) => fold_count("folds in the order of a column", count, 1..=MOST_FOLDS - 1)
            .map(|count| Folds::Forward(count + 1)),
        (None, None) => fold_count("folds", count, 2..=MOST_FOLDS).map(Folds::Count),
    }
}

fn fold_count(what: &str, count: i32, range: RangeInclusive<u32>) -> Result<u32, Failure> {
    let known = u32::try_from(count).ok();
    known.filter(|it| range.contains(it)).ok_or_else(|| {
        let (least, most) = range.into_inner();
        let message = format!("{what} must lie between {least} and {most}, not {count}");
        invalid(message).hint("5 and 10 are usual")
    })
}
