//! The result of a cross-validation, as rows of SQL. In the calling backend.

use crate::request::scoring_words;
use crate::training::outcome::Trained;
use pgsvm_core::memory::{gathered, OutOfMemory, Written};
use pgsvm_core::{Scoring, TrainerReport, Validation};
use serde::Serialize;

/// One C on one fold, of a kernel machine at one gamma, of a regression at one epsilon: a row of `svm_cross_validate`, and an entry of `svm_version.validation`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validated {
    pub c: f64,
    /// Of a kernel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// s of a truncated loss, where it was to be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<f64>,
    /// Of a regression, where it was to be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The fold column's value, or the number from 1 of a fold that was drawn.
    pub fold: String,
    /// Rows held out.
    pub rows: i64,
    /// Share of them whose class was predicted; None without rows, and where numbers are predicted.
    pub accuracy: Option<f64>,
    /// Area under the curve on them, of more than two classes the mean of each against the rest; None where rows of
    /// one side are missing.
    pub auc: Option<f64>,
    /// The primal of the training on the other rows, summed over the classes.
    pub objective: f64,
    /// By which measure C was chosen, and how good these rows are by it, and all held-out rows at this C.
    pub metric: &'static str,
    pub score: Option<f64>,
    pub overall: Option<f64>,
    /// Whether this C is the best by that.
    pub best: bool,
}

/// Every C on every fold.
pub fn rows(trained: &Trained, scoring: Scoring) -> Result<Vec<Validated>, OutOfMemory> {
    let report = &trained.trainer.report;
    let names = &trained.reader.fold_values;
    let fold_name = |fold: u32| match names.get(fold as usize) {
        Some(name) => name.clone(),
        None => (fold + 1).to_string(),
    };
    let row = |found: &Validation| Validated {
        c: found.c,
        gamma: found.gamma,
        truncation: found.truncation,
        epsilon: found.epsilon,
        fold: fold_name(found.fold),
        rows: found.rows as i64,
        accuracy: (found.rows > 0 && !scoring.is_of_targets()).then_some(found.accuracy),
        auc: found.auc,
        objective: found.objective,
        metric: scoring_words(scoring).0,
        score: found.score,
        overall: found.overall,
        best: is_chosen(report, found),
    };
    gathered(report.validation.iter().map(row))
}

/// The same as svm_version keeps it.
pub fn json(trained: &Trained, scoring: Scoring) -> Result<String, OutOfMemory> {
    let mut written = Written::default();
    let done = serde_json::to_writer(&mut written, &rows(trained, scoring)?);
    // nothing else can go wrong with plain values
    let text = done.ok().and_then(|()| String::from_utf8(written.0).ok());
    text.ok_or(OutOfMemory { bytes: 0 })
}

/// Whether it is about the C chosen, and the gamma and so on.
fn is_chosen(report: &TrainerReport, found: &Validation) -> bool {
    Some(found.c) == report.c && is_beside_c(report, found) && found.gamma == report.gamma
}

/// Whether all is as chosen but C and gamma.
fn is_beside_c(report: &TrainerReport, found: &Validation) -> bool {
    found.truncation == report.truncation && found.epsilon == report.epsilon
}

/// The score of the best C, gamma and so on, on all held-out rows.
pub fn best_score(report: &TrainerReport) -> Option<f64> {
    let mut found = report.validation.iter();
    found.find(|it| is_chosen(report, it))?.overall
}

/// Every C that was tried at the gamma chosen, ascending, and its score on all held-out rows.
pub fn scores(report: &TrainerReport) -> Vec<(f64, Option<f64>)> {
    let own = |it: &&Validation| it.gamma == report.gamma && is_beside_c(report, it);
    of_each(report.validation.iter().filter(own), |it| Some(it.c))
}

/// The same of every gamma at the C chosen.
pub fn scores_of_gammas(report: &TrainerReport) -> Vec<(f64, Option<f64>)> {
    let own = |it: &&Validation| Some(it.c) == report.c && is_beside_c(report, it);
    of_each(report.validation.iter().filter(own), |it| it.gamma)
}

/// The same of every epsilon at the C and gamma chosen.
pub fn scores_of_epsilons(report: &TrainerReport) -> Vec<(f64, Option<f64>)> {
    let own = |it: &&Validation| Some(it.c) == report.c && it.gamma == report.gamma;
    of_each(report.validation.iter().filter(own), |it| it.epsilon)
}

fn of_each<'a>(
    found: impl Iterator<Item = &'a Validation>,
    tried: impl Fn(&Validation) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let mut all: Vec<_> = found
        .filter_map(|it| Some((tried(it)?, it.overall)))
        .collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    all.dedup_by_key(|(c, _)| *c);
    all
}
