//! What options choose by word, and nothing but a request knows. Pure.

use serde::{Deserialize, Serialize};

/// A column of `svm_evaluate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    Accuracy,
    BalancedAccuracy,
    F1,
    Auc,
    LogLoss,
}

impl Metric {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("accuracy", Self::Accuracy),
        ("balanced_accuracy", Self::BalancedAccuracy),
        ("f1", Self::F1),
        ("auc", Self::Auc),
        ("log_loss", Self::LogLoss),
    ];

    /// Its name there.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, metric)| *metric == self);
        found.map_or("accuracy", |(name, _)| name)
    }

    /// Whether `one` is better than `other`; a version without a value is better than none.
    pub fn is_better(self, one: Option<f64>, other: Option<f64>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) if self == Self::LogLoss => one < other,
            (Some(one), Some(other)) => one > other,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

/// The word for `deploy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Never,
    IfBetter,
}

/// How a kernel machine is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Exactly where that takes about a minute and memory allows; else by low rank.
    Auto,
    LowRank,
    Exact,
}

/// The words for the option `method`.
pub(super) const METHODS: [(&str, Method); 3] = [
    ("auto", Method::Auto),
    ("low_rank", Method::LowRank),
    ("exact", Method::Exact),
];

/// How more than two classes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Multiclass {
    OneVsRest,
    OneVsOne,
    /// By one machine, of planes.
    Together,
}

/// Several classes told apart by one problem; and the loss of models that are trained so.
pub const CRAMMER_SINGER: &str = "crammer_singer";

pub(super) const ONE_VS_ONE: &str = "one_vs_one";

/// What rows are filed by, so that passes leave chunks of them unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunksWord {
    Slack,
    Forest,
}

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachinesWord {
    /// So many, together.
    Count(usize),
    /// Each process that holds rows, alone; the weights found are averaged.
    Average,
    /// The processes that hold rows, together: each sums up its own, a scan at a time.
    Scans,
}

/// The word given for `inner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InnerWord {
    Dual,
    Newton,
    Pegasos,
}

/// When the features of a string are made of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// When a row is visited, wherever that can be.
    #[default]
    Auto,
    /// When it is read.
    Stored,
    /// When it is visited; what cannot be is an error.
    Visit,
}

/// What is given for `truncation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TruncationWord {
    Is(f64),
    /// Chosen by cross-validation.
    Auto,
}

/// The word for what is chosen by cross-validation.
pub(super) const AUTO: &str = "auto";
