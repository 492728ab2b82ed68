//! What a cross-validation found, in the words of the table. In the calling backend.

use crate::training::leader::Trained;
use pgsvm_core::memory::{gathered, OutOfMemory, Written};
use serde::Serialize;

/// One C on one fold: a row of `svm_cross_validate`, and an entry of `svm_version.validation`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validated {
    pub c: f64,
    /// The fold column's value, or the number from 1 of a fold that was drawn.
    pub fold: String,
    /// Rows held out.
    pub rows: i64,
    /// Share of them whose class was predicted; None without rows.
    pub accuracy: Option<f64>,
    /// Area under the curve on them, of more than two classes the mean of each against the rest; None where rows of
    /// one side are missing.
    pub auc: Option<f64>,
    /// The primal of the training on the other rows, summed over the classes.
    pub objective: f64,
    /// Whether this C is the one of the highest accuracy over all folds.
    pub best: bool,
}

/// Every C on every fold.
pub fn rows(trained: &Trained) -> Result<Vec<Validated>, OutOfMemory> {
    let report = &trained.trainer.report;
    let names = &trained.reader.fold_values;
    let fold_name = |fold: u32| match names.get(fold as usize) {
        Some(name) => name.clone(),
        None => (fold + 1).to_string(),
    };
    let row = |found: &pgsvm_core::Validation| Validated {
        c: found.c,
        fold: fold_name(found.fold),
        rows: found.rows as i64,
        accuracy: (found.rows > 0).then_some(found.accuracy),
        auc: found.auc,
        objective: found.objective,
        best: Some(found.c) == report.c,
    };
    gathered(report.validation.iter().map(row))
}

/// The same as svm_version keeps it.
pub fn json(trained: &Trained) -> Result<String, OutOfMemory> {
    let mut written = Written::default();
    let done = serde_json::to_writer(&mut written, &rows(trained)?);
    // nothing else can go wrong with plain values
    let text = done.ok().and_then(|()| String::from_utf8(written.0).ok());
    text.ok_or(OutOfMemory { bytes: 0 })
}

/// Share of all held-out rows whose class the best C predicted.
pub fn best_accuracy(rows: &[Validated]) -> f64 {
    let best = rows.iter().filter(|row| row.best);
    let (right, all) = best.fold((0.0, 0.0), |(right, all), row| {
        let count = row.rows as f64;
        (right + row.accuracy.unwrap_or(0.0) * count, all + count)
    });
    right / f64::max(all, 1.0)
}
