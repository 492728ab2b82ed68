//! What is to be minimized and under which rules: parameters checked once, before any work starts.
//!
//! Built by the caller of the trainer (in whichever process that is) and passed on by value.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The loss of a margin m = y <w, x>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// max(0, 1 - m)
    Hinge,
    /// max(0, 1 - m)^2
    SquaredHinge,
}

/// When the trainer visits rows of its working set while rows keep arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// Whenever no fresh row waits: the result depends on timing within the tolerance.
    Timed,
    /// A fixed number of cached visits for each fresh row: a seed gives the same weights bit for bit.
    Lockstep,
}

/// How the working set is kept when the rows do not fit the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Every fresh row is visited once before it is kept or dropped; kept rows are swept in shuffled blocks.
    Cached,
    /// StreamSVM as published (Algorithms 1 and 2): random picks, random replacement of every row read.
    Paper,
}

/// Whether the proximal shift kappa/2 |w - z|^2 is added to the subproblems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proximal {
    /// kappa follows the scale of the dual variables.
    Auto,
    /// As `Auto`, but kappa never falls below 1.
    On,
    /// kappa = 0: plain dual coordinate descent.
    Off,
}

/// A checked training problem. See the crate's head for the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    loss: Loss,
    c: f64,
    intercept: bool,
    tolerance: f64,
    max_passes: u32,
    seed: u64,
    schedule: Schedule,
    policy: Policy,
    proximal: Proximal,
    trainers: usize,
}

/// Why a parameter was refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProblemError {
    /// C must be positive and finite.
    C(f64),
    /// The tolerance must lie strictly between 0 and 1.
    Tolerance(f64),
    /// At least one pass is needed.
    MaxPasses(u32),
    /// One trainer at least, and no more than [`Problem::MAX_TRAINERS`].
    Trainers(usize),
}

impl Problem {
    /// Passes over all rows after which training gives up unless told otherwise.
    pub const DEFAULT_MAX_PASSES: u32 = 1000;
    /// Trainers that a training may have.
    pub const MAX_TRAINERS: usize = 64;

    /// Checks the parameters that have a range: `c` > 0, 0 < `tolerance` < 1.
    ///
    /// The intercept is on, the seed 0, at most [`Self::DEFAULT_MAX_PASSES`] passes, timed schedule,
    /// cached policy, automatic proximal shift; the `with_` methods change these.
    pub fn new(loss: Loss, c: f64, tolerance: f64) -> Result<Self, ProblemError> {
        if !(c > 0.0 && c.is_finite()) {
            return Err(ProblemError::C(c));
        }
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(ProblemError::Tolerance(tolerance));
        }
        Ok(Self {
            loss,
            c,
            intercept: true,
            tolerance,
            max_passes: Self::DEFAULT_MAX_PASSES,
            seed: 0,
            schedule: Schedule::Timed,
            policy: Policy::Cached,
            proximal: Proximal::Auto,
            trainers: 1,
        })
    }

    /// Sets the number of passes over all rows after which training ends with the gap reached.
    pub fn with_max_passes(mut self, max_passes: u32) -> Result<Self, ProblemError> {
        if max_passes == 0 {
            return Err(ProblemError::MaxPasses(max_passes));
        }
        self.max_passes = max_passes;
        Ok(self)
    }

    /// Whether a constant feature 1 is appended to each row (its weight is regularized).
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// The seed of every shuffle and random pick.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// When cached rows are visited while rows keep arriving.
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// How the working set is kept.
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Whether the proximal shift is used.
    pub fn with_proximal(mut self, proximal: Proximal) -> Self {
        self.proximal = proximal;
        self
    }

    /// Sets the number of threads that train at the same time, at most [`Self::MAX_TRAINERS`]. They share the passes over
    /// rows that are all in the cache; where rows stream, one of them trains alone.
    pub fn with_trainers(mut self, trainers: usize) -> Result<Self, ProblemError> {
        if !(1..=Self::MAX_TRAINERS).contains(&trainers) {
            return Err(ProblemError::Trainers(trainers));
        }
        self.trainers = trainers;
        Ok(self)
    }

    /// The loss function.
    pub fn loss(&self) -> Loss {
        self.loss
    }
    /// The weight of the losses against the regularizer.
    pub fn c(&self) -> f64 {
        self.c
    }
    /// Whether a constant feature is appended.
    pub fn intercept(&self) -> bool {
        self.intercept
    }
    /// The relative gap (P - D) / P at which training stops.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }
    /// Passes over all rows after which training gives up.
    pub fn max_passes(&self) -> u32 {
        self.max_passes
    }
    /// The seed of every shuffle and random pick.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// When cached rows are visited.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }
    /// How the working set is kept.
    pub fn policy(&self) -> Policy {
        self.policy
    }
    /// Whether the proximal shift is used.
    pub fn proximal(&self) -> Proximal {
        self.proximal
    }
    /// Threads that train at the same time.
    pub fn trainers(&self) -> usize {
        self.trainers
    }
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::C(c) => write!(f, "c must be positive and finite, but is {c}"),
            Self::Tolerance(t) => write!(
                f,
                "tolerance must lie between 0 and 1 (exclusive), but is {t}"
            ),
            Self::MaxPasses(n) => write!(f, "max_passes must be at least 1, but is {n}"),
            Self::Trainers(n) => write!(
                f,
                "trainers must be between 1 and {}, but is {n}",
                Problem::MAX_TRAINERS
            ),
        }
    }
}

impl std::error::Error for ProblemError {}
