//! The trainer role (skeleton).

use crate::{Cache, CacheError, Problem, Step};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One binary problem over the shared rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadSpec {
    /// By class id: -1, +1, or 0 for rows that take no part.
    pub signs: Vec<i8>,
    /// C of this head.
    pub c: f64,
}

impl HeadSpec {
    /// Class 0 against class 1: signs -1 and +1.
    pub fn binary(c: f64) -> Self {
        Self {
            signs: vec![-1, 1],
            c,
        }
    }
}

/// Primal, dual and relative gap (P - D) / P at the reported weights and dual variables.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    pub primal: f64,
    pub dual: f64,
    /// (primal - dual) / primal; 0 when the primal is 0.
    pub gap: f64,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// The verified gap is within the tolerance.
    Tolerance,
    /// The passes allowed are used up.
    MaxPasses,
    /// Somebody asked for the end.
    Requested,
}

/// How one head ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeadReport {
    pub certificate: Certificate,
    /// Share of rows on the right side at the reported weights.
    pub training_accuracy: f64,
    pub stop: StopReason,
    /// Rows whose dual variable is positive.
    pub support_vectors: u64,
    /// The proximal shift at the end.
    pub kappa: f64,
}

/// How training ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainerReport {
    pub heads: Vec<HeadReport>,
    pub rows: u64,
    pub resident: bool,
    /// Passes over all rows, verification included.
    pub passes: u32,
    pub visits: u64,
    pub updates: u64,
    pub evictions: u64,
    pub replaced: u64,
}

/// Why training cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainError {
    Cache(CacheError),
    /// Memory for dual variables or weights could not be had.
    OutOfMemory {
        bytes: u64,
    },
    /// A head without rows of both signs, or signs for fewer classes than there are.
    Head {
        head: usize,
    },
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache(e) => e.fmt(f),
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory while asking for {bytes} bytes")
            }
            Self::Head { head } => write!(f, "head {head} has no sign for a class of the data"),
        }
    }
}

impl std::error::Error for TrainError {}

/// Weights of one head, for scaled rows, by feature id.
pub struct Weights<'a> {
    values: &'a [f64],
    intercept: f64,
}

impl Weights<'_> {
    /// Number of features.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// Weight of a feature.
    pub fn get(&self, feature: usize) -> f64 {
        self.values[feature]
    }
    /// Weight of the constant feature, 0 without intercept.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }
}

/// The trainer role: see the crate's head.
pub struct Trainer {
    _cache: Cache,
}

impl Trainer {
    /// Claims the trainer's side of `cache`. Memory for the weights is asked for when loading ends.
    pub fn new(cache: Cache, _problem: Problem, _heads: Vec<HeadSpec>) -> Result<Self, TrainError> {
        Ok(Self { _cache: cache })
    }
    /// Visits rows with about `budget_values` stored values in all.
    pub fn step(&mut self, _budget_values: usize) -> Result<Step, TrainError> {
        todo!()
    }
    /// How training ended; before the end, how it stands.
    pub fn report(&self) -> TrainerReport {
        todo!()
    }
    /// The weights of a head: those of the certificate.
    pub fn weights(&self, _head: usize) -> Weights<'_> {
        todo!()
    }
    /// The dual variables of a head by ordinal: those of the certificate.
    pub fn duals(&self, _head: usize) -> &[f32] {
        todo!()
    }
}
