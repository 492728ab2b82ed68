//! Why a training cannot go on.

use std::fmt;

use crate::base::memory::OutOfMemory;
use crate::cache::CacheError;
use crate::objective::plan::PlanError;
use crate::objective::problem::ProblemError;

/// Why training cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainError {
    /// The region cannot be claimed.
    Cache(CacheError),
    /// Memory for dual variables or weights could not be had.
    OutOfMemory { bytes: u64 },
    /// A head without a sign for each group of the data.
    Head { head: usize },
    /// A start that does not have one dual variable for each row of the final head, or a weight for each feature.
    Start { head: usize },
    /// Newton's method was asked for, with a loss that it does not minimize.
    NewtonLoss,
    /// The plan cannot be carried out.
    Plan(PlanError),
    /// The problem is none that can be trained this way.
    Problem(ProblemError),
    /// A class of which so few rows are in the sample that none can be held out.
    Sample { class: usize, rows: u64 },
    /// No plane parts all rows but this share of them from the origin, as far as can be seen: this is the least share.
    NoPlane { nu: f64, least: f64 },
    /// The reader gave up.
    ReaderFailed,
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory while asking for {bytes} bytes")
            }
            Self::Head { head } => write!(f, "head {head} has no sign for a group of the data"),
            Self::Start { head } => {
                write!(f, "what is to begin from does not fit head {head}")
            }
            Self::NewtonLoss => write!(f, "Newton's method minimizes the squared hinge loss only"),
            Self::Plan(error) => error.fmt(f),
            Self::Problem(error) => error.fmt(f),
            Self::Sample { class, rows } => {
                write!(f, "class {class} has {rows} row(s) in the sample")
            }
            Self::NoPlane { nu, least } => {
                write!(f, "no plane parts all rows but {nu} of them from the origin, but {least} at least")
            }
            Self::ReaderFailed => write!(f, "the reader has failed"),
        }
    }
}

impl std::error::Error for TrainError {}

impl From<OutOfMemory> for TrainError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

impl From<PlanError> for TrainError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::OutOfMemory(error) => error.into(),
            error => Self::Plan(error),
        }
    }
}
