//! What is to be minimized and under which rules: parameters checked once, before any work starts.
//!
//! Built by the caller of the trainer (in whichever process that is) and passed on by value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::loss::Loss;
use crate::minimized::Intercept;
use crate::solver_choice::{Blocks, ForestShape};
use crate::solver_choice::{
    Cuts, Indexed, Inner, Picks, Policy, SolverChoice, SolverError, Updates,
};

/// When the trainer visits rows of its working set while rows keep arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// Whenever no fresh row waits: the result depends on timing within the tolerance.
    Timed,
    /// A fixed number of cached visits for each fresh row: a seed gives the same weights bit for bit.
    Lockstep,
}

/// When a training ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopRule {
    /// The relative gap is within the tolerance.
    #[default]
    Gap,
    /// The projected gradients of the visits during one scan of the reader lie within the tolerance of each other (StreamSVM,
    /// equation 10).
    ProjectedGradient,
    /// What primal and dual differ by, over C times the rows, is within the tolerance: how much the mean loss may be lowered at most, as
    /// SVMperf has it (Joachims, KDD 2006). Of bundles and cutting planes.
    MeanLoss,
}

/// Whether rows are compressed in the spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// While that is faster, as measured.
    #[default]
    Auto,
    /// Every chunk that becomes smaller.
    On,
    /// None.
    Off,
}

/// Whether the proximal shift kappa/2 |w - z|^2 is added to the subproblems.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proximal {
    /// kappa follows the scale of the dual variables.
    #[default]
    Auto,
    /// As `Auto`, but kappa never falls below 1.
    On,
    /// kappa = 0: plain dual coordinate descent.
    Off,
}

/// What is minimized, but for C. See the crate's head for the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Formulation {
    pub loss: Loss,
    /// s, where losses are min(L, 1 + s).
    pub truncation: Option<f64>,
    pub intercept: Intercept,
    /// Whether several classes are told apart together, by one problem (Crammer and Singer, JMLR 2, 2001), not each from all others: of
    /// cutting planes of all rows.
    pub together: bool,
}

/// When training ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    pub rule: StopRule,
    /// What the rule's measure is to come below: the relative gap (P - D) / P, or what the rule names.
    pub tolerance: f64,
    /// Passes over all rows after which training ends all the same; None: [`Problem::DEFAULT_MAX_PASSES`].
    pub max_passes: Option<u32>,
}

impl Stopping {
    /// Passes over all rows after which training gives up.
    pub fn most_passes(&self) -> u32 {
        self.max_passes.unwrap_or(Problem::DEFAULT_MAX_PASSES)
    }
}

/// What a training was asked for, whichever C it is for and on how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    pub formulation: Formulation,
    pub solver: SolverChoice,
    pub proximal: Proximal,
    pub stopping: Stopping,
    /// The seed of every shuffle and random pick.
    pub seed: u64,
}

impl Parameters {
    /// With an intercept in the norm, for coordinate descent as usual.
    pub fn usual(loss: Loss, tolerance: f64) -> Self {
        Self {
            formulation: Formulation {
                loss,
                truncation: None,
                intercept: Intercept::InNorm,
                together: false,
            },
            solver: SolverChoice::Stream,
            proximal: Proximal::Auto,
            stopping: Stopping {
                rule: StopRule::Gap,
                tolerance,
                max_passes: None,
            },
            seed: 0,
        }
    }

    /// Whether the proximal shift is used. Block minimization has none as published, so there only if asked for or where the
    /// loss is truncated, and Pegasos and Newton's method on blocks never. StreamSVM as published has none whatever is asked for.
    fn proximal(&self) -> Proximal {
        match (self.solver, self.solver.inner()) {
            (_, Some(Inner::Pegasos(_) | Inner::Newton)) => Proximal::Off,
            (SolverChoice::Block(_) | SolverChoice::SelectiveBlock(_), _)
                if self.proximal == Proximal::Auto && self.formulation.truncation.is_none() =>
            {
                Proximal::Off
            }
            _ => self.proximal,
        }
    }

    /// Refuses what is out of its range, and what does not go together.
    fn check(&self) -> Result<(), ProblemError> {
        let Stopping {
            rule, tolerance, ..
        } = self.stopping;
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(ProblemError::Tolerance(tolerance));
        }
        if self.stopping.max_passes == Some(0) {
            return Err(ProblemError::MaxPasses(0));
        }
        self.solver.check().map_err(ProblemError::Solver)?;
        if let Some(s) = self.formulation.truncation {
            if !(s > 0.0 && s.is_finite()) {
                return Err(ProblemError::Truncation(s));
            }
            if !self.truncates() {
                return Err(ProblemError::CannotTruncate);
            }
        }
        if self.solver.descends() && self.formulation.intercept == Intercept::Free {
            return Err(ProblemError::NoFreeIntercept);
        }
        match rule == StopRule::ProjectedGradient && !self.has_projected_gradient() {
            true => Err(ProblemError::NoProjectedGradient),
            false => Ok(()),
        }
    }

    /// Whether its solver takes truncated losses.
    fn truncates(&self) -> bool {
        match self.solver {
            SolverChoice::StreamSvm(_) | SolverChoice::Average => false,
            SolverChoice::Newton | SolverChoice::Indexed(Indexed::Newton) => {
                self.formulation.loss.is_parabola()
            }
            other if other.by_planes() => !self.formulation.together,
            other => !other.descends(),
        }
    }

    /// Whether the dual that it solves has projected gradients to stop by.
    fn has_projected_gradient(&self) -> bool {
        // of a truncated loss they are those of one round, and with a free intercept they say nothing of the sum of a y
        let of_dual = self.solver.policy().is_published()
            && self.formulation.truncation.is_none()
            && self.formulation.intercept != Intercept::Free;
        let visits = !matches!(self.solver.inner(), Some(Inner::Pegasos(_) | Inner::Newton));
        // the paper's policy has no shift whatever is asked for
        let shifts = self.solver.policy() != Policy::Paper && self.proximal == Proximal::On;
        of_dual && visits && !shifts
    }
}

/// A checked training problem: parameters with a C, and who trains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    parameters: Parameters,
    c: f64,
    timing: Timing,
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
    /// The solver's parameters.
    Solver(SolverError),
    /// Projected gradients are those of the dual that is solved: Pegasos has none, and a shift others.
    NoProjectedGradient,
    /// Pegasos has steps that grow short as the norm asks, and a free intercept is in none.
    NoFreeIntercept,
    /// s must be positive and finite.
    Truncation(f64),
    /// StreamSVM, averages, Pegasos and classes together solve convex problems, and Newton's method needs a smooth loss.
    CannotTruncate,
}

impl Problem {
    /// Passes over all rows after which training gives up unless another number is given.
    pub const DEFAULT_MAX_PASSES: u32 = 1000;
    /// Trainers that a training may have.
    pub const MAX_TRAINERS: usize = 64;

    /// With [`Parameters::usual`], see [`Self::of`].
    pub fn new(loss: Loss, c: f64, tolerance: f64) -> Result<Self, ProblemError> {
        Self::of(Parameters::usual(loss, tolerance), c)
    }

    /// Checks parameters and C. One thread trains, whenever no fresh row waits; the `with_` methods say otherwise.
    pub fn of(parameters: Parameters, c: f64) -> Result<Self, ProblemError> {
        let problem = Self {
            parameters,
            c,
            timing: Timing::Timed,
            trainers: 1,
        };
        problem.checked()
    }

    /// Trained by so many threads at the same time, at most [`Self::MAX_TRAINERS`]. They share the heads, or else the rows; with the
    /// policies that are as published, and with Pegasos, one of them trains alone where rows stream.
    pub fn with_trainers(self, trainers: usize) -> Result<Self, ProblemError> {
        Self { trainers, ..self }.checked()
    }

    /// When cached rows are visited while rows keep arriving.
    pub fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// With other parameters.
    pub fn with(self, change: impl FnOnce(&mut Parameters)) -> Result<Self, ProblemError> {
        let mut problem = self;
        change(&mut problem.parameters);
        problem.checked()
    }

    fn checked(self) -> Result<Self, ProblemError> {
        if !(self.c > 0.0 && self.c.is_finite()) {
            return Err(ProblemError::C(self.c));
        }
        if !(1..=Self::MAX_TRAINERS).contains(&self.trainers) {
            return Err(ProblemError::Trainers(self.trainers));
        }
        self.parameters.check().map(|()| self)
    }

    /// Whether its parameters are some that it takes; those of bytes that came from elsewhere may not be.
    pub fn is_sound(&self) -> bool {
        self.checked().is_ok() && self.forest().is_none()
    }

    /// What is minimized, but for C.
    pub fn formulation(&self) -> &Formulation {
        &self.parameters.formulation
    }
    /// The solver, with its parameters.
    pub fn solver(&self) -> &SolverChoice {
        &self.parameters.solver
    }
    /// The loss function.
    pub fn loss(&self) -> Loss {
        self.formulation().loss
    }
    /// s, where losses are min(L, 1 + s).
    pub fn truncation(&self) -> Option<f64> {
        self.formulation().truncation
    }
    /// The weight of the losses against the regularizer.
    pub fn c(&self) -> f64 {
        self.c
    }
    /// Whether a constant feature is appended.
    pub fn intercept(&self) -> bool {
        self.kind_of_intercept() != Intercept::None
    }
    /// Whether there is an intercept whose weight is not in the norm.
    pub fn free_intercept(&self) -> bool {
        self.kind_of_intercept() == Intercept::Free
    }
    /// Its intercept.
    pub fn kind_of_intercept(&self) -> Intercept {
        self.formulation().intercept
    }
    /// Whether several classes are told apart together.
    pub fn together(&self) -> bool {
        self.formulation().together && self.solver().by_planes()
    }
    /// The tolerance of [`Self::stop`].
    pub fn tolerance(&self) -> f64 {
        self.parameters.stopping.tolerance
    }
    /// Passes over all rows after which training gives up.
    pub fn max_passes(&self) -> u32 {
        self.parameters.stopping.most_passes()
    }
    /// When training ends.
    pub fn stop(&self) -> StopRule {
        self.parameters.stopping.rule
    }
    /// The seed of every shuffle and random pick.
    pub fn seed(&self) -> u64 {
        self.parameters.seed
    }
    /// When cached rows are visited.
    pub fn timing(&self) -> Timing {
        self.timing
    }
    /// Threads that train at the same time.
    pub fn trainers(&self) -> usize {
        self.trainers
    }
    /// The trainer's schedule when the rows do not fit.
    pub fn policy(&self) -> Policy {
        self.solver().policy()
    }
    /// Whether the proximal shift is used.
    pub fn proximal(&self) -> Proximal {
        self.parameters.proximal()
    }
    /// Whether rows that do not fit the cache lie in chunks that passes may leave out.
    pub fn indexed(&self) -> bool {
        matches!(self.solver(), SolverChoice::Indexed(_))
    }
    /// The metric forest by which rows are filed.
    pub fn forest(&self) -> Option<ForestShape> {
        match self.solver() {
            SolverChoice::Indexed(Indexed::Forest(shape)) => Some(*shape),
            _ => None,
        }
    }
    /// Which planes a training by scans makes.
    pub fn cuts(&self) -> Cuts {
        match self.solver() {
            SolverChoice::Scan(cuts) => *cuts,
            _ => Cuts::BesideHeld,
        }
    }
    /// What blocks are like, where rows are split into some.
    pub fn blocks(&self) -> Option<Blocks> {
        self.solver().blocks()
    }
    /// The number of blocks; None where the cache decides, and where there are none.
    pub fn block_count(&self) -> Option<u32> {
        self.blocks()?.count
    }
    /// How many members of the cache are picked, for StreamSVM as published.
    pub fn picks(&self) -> Picks {
        match self.solver() {
            SolverChoice::StreamSvm(picks) => *picks,
            _ => Picks::Usual,
        }
    }
    /// What an update of Pegasos is about; None where blocks are not solved by it.
    pub fn pegasos(&self) -> Option<Updates> {
        match self.solver().inner() {
            Some(Inner::Pegasos(updates)) => Some(updates),
            _ => None,
        }
    }
    /// Rounds of coordinate descent over a block, where there are blocks.
    pub fn inner_rounds(&self) -> u32 {
        match self.solver().inner() {
            Some(Inner::CoordinateDescent(rounds)) => rounds,
            _ => Inner::USUAL_ROUNDS,
        }
    }
    /// Whether blocks are solved by Newton's method.
    pub fn block_newton(&self) -> bool {
        self.solver().inner() == Some(Inner::Newton)
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
            Self::Solver(error) => error.fmt(f),
            Self::Truncation(s) => {
                write!(f, "truncation must be positive and finite, but is {s}")
            }
            Self::CannotTruncate => {
                write!(f, "the solver does not minimize truncated losses")
            }
            Self::NoFreeIntercept => write!(f, "Pegasos knows no free intercept"),
            Self::NoProjectedGradient => {
                write!(f, "there is no projected gradient of the dual to stop by")
            }
        }
    }
}

impl std::error::Error for ProblemError {}
