//! The rows of a version's heads, whether it was trained here, came as a text, or from another program.

use super::together::StoredRow;
use pgrx::datum::DatumWithOid;
use std::borrow::Cow;

/// A row of svm_head. What nobody knows is None.
#[derive(Default)]
pub struct HeadRow<'a> {
    /// Its place among the heads.
    pub number: i32,
    /// The positive label, and the negative one if it is not the rest.
    pub class: &'a str,
    pub against: Option<&'a str>,
    /// For raw rows.
    pub intercept: f64,
    pub primal: Option<f64>,
    pub dual: Option<f64>,
    pub gap: Option<f64>,
    pub training_accuracy: Option<f64>,
    pub support_vectors: Option<i64>,
    pub stop_reason: Option<Cow<'a, str>>,
    /// Slope and offset.
    pub sigmoid: Option<(f64, f64)>,
    /// Decisions and probabilities.
    pub isotonic: Option<(&'a [f64], &'a [f64])>,
    pub updates: Option<i64>,
    pub truncated_primal: Option<f64>,
    pub outliers: Option<i64>,
}

impl StoredRow for HeadRow<'_> {
    const TABLE: &'static str = "svm_head";
    const COLUMNS: &'static [&'static str] = &[
        "head",
        "class",
        "against",
        "intercept",
        "primal",
        "dual",
        "gap",
        "training_accuracy",
        "support_vectors",
        "stop_reason",
        "sigmoid_slope",
        "sigmoid_offset",
        "isotonic_decisions",
        "isotonic_probabilities",
        "updates",
        "truncated_primal",
        "outliers",
    ];

    fn values(&self) -> Vec<DatumWithOid<'_>> {
        vec![
            self.number.into(),
            self.class.into(),
            self.against.into(),
            self.intercept.into(),
            self.primal.into(),
            self.dual.into(),
            self.gap.into(),
            self.training_accuracy.into(),
            self.support_vectors.into(),
            self.stop_reason.as_deref().into(),
            self.sigmoid.map(|(slope, _)| slope).into(),
            self.sigmoid.map(|(_, offset)| offset).into(),
            self.isotonic.map(|(decisions, _)| decisions).into(),
            self.isotonic.map(|(_, probabilities)| probabilities).into(),
            self.updates.into(),
            self.truncated_primal.into(),
            self.outliers.into(),
        ]
    }

    fn bytes(&self) -> usize {
        let points = self.isotonic.map_or(0, |(decisions, _)| decisions.len());
        // numbers, and labels of a few letters
        256 + self.class.len() + 2 * points * size_of::<f64>()
    }
}
