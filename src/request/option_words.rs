//! What options choose by word, and nothing but a request knows. Pure.

use serde::{Deserialize, Serialize};

/// The word for `deploy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Never,
    IfBetter,
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// One of some classes.
    Classification,
    /// A number.
    Regression,
    /// Whether a row is strange, of rows that have no label.
    Novelty,
}

impl Task {
    pub(super) const WORDS: [(&'static str, Self); 3] = [
        ("classification", Self::Classification),
        ("regression", Self::Regression),
        ("novelty", Self::Novelty),
    ];
}

/// How a kernel machine is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KernelMethod {
    /// Exactly where that takes about a minute and memory allows; else by low rank.
    Auto,
    LowRank,
    Exact,
}

/// The words for the option `method`.
pub(super) const METHODS: [(&str, KernelMethod); 3] = [
    ("auto", KernelMethod::Auto),
    ("low_rank", KernelMethod::LowRank),
    ("exact", KernelMethod::Exact),
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
pub enum ExpansionTime {
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

/// What is given for `epsilon`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EpsilonWord {
    Is(f64),
    /// One of these, chosen by cross-validation.
    Among(Vec<f64>),
    /// One of the usual ones, likewise.
    Auto,
}

/// The word for what is chosen by cross-validation.
pub(super) const AUTO: &str = "auto";
