//! What is to be minimized and under which rules: parameters checked once, before any work starts.
//!
//! Built by the caller of the trainer (in whichever process that is) and passed on by value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::task::loss::Loss;
use crate::task::objective::Intercept;

/// When the trainer visits rows of its working set while rows keep arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// Whenever no fresh row waits: the result depends on timing within the tolerance.
    Timed,
    /// A fixed number of cached visits for each fresh row: a seed gives the same weights bit for bit.
    Lockstep,
}

/// What stays in the cache when the rows do not fit, and when it is visited: the trainer's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Every fresh row is visited once before it is kept or dropped; kept rows are swept in shuffled blocks.
    Cached,
    /// StreamSVM as published (Algorithms 1 and 2): random picks, random replacement of every row read.
    Paper,
    /// Block minimization: rows are split at random into blocks that fit the cache, trained one after the other.
    Block,
    /// Selective block minimization: half the cache keeps the most informative rows of earlier blocks.
    SelectiveBlock,
}

impl Policy {
    /// Whether rows are trained block by block.
    pub(crate) fn has_blocks(self) -> bool {
        self.block_share().is_some()
    }

    /// Whether it is a form that its authors published, with its own stop rule.
    pub fn is_published(self) -> bool {
        self != Self::Cached
    }

    /// A block's share of the working set's room, as one in so many; None where rows are not split into blocks.
    pub(crate) fn block_share(self) -> Option<usize> {
        match self {
            Self::Cached | Self::Paper => None,
            Self::Block => Some(1),
            Self::SelectiveBlock => Some(2),
        }
    }
}

/// How the subproblem of a block is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inner {
    /// Rounds of dual coordinate descent (Yu, Hsieh, Chang, Lin, KDD 2010, Algorithm 2).
    CoordinateDescent,
    /// Pegasos on the primal (the same, Algorithm 3).
    Pegasos(Updates),
    /// Newton's method on the primal, with what the other blocks have of the weights fixed (Yen, Chang, Lin, Lin, Lin, KDD 2013,
    /// section 3.4); of the squared hinge, and for [`Policy::SelectiveBlock`] too.
    Newton,
}

/// What one update of Pegasos is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Updates {
    /// A whole block.
    Block,
    /// A row.
    Row,
    /// One of so many sets, about equal in size, into which a block is split: the paper's r.
    Sets(u32),
}

/// Members of the cache that StreamSVM's trainer picks, for [`Policy::Paper`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Picks {
    /// Two for each row that arrives, and where timing has a say more while none waits.
    Usual,
    /// So many for each row that arrives, whoever is faster.
    Each(u32),
    /// As many as it makes while no row waits. Where timing has no say, as [`Picks::Usual`].
    Free,
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

/// In which order things come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Drawn anew each time.
    Random,
    /// As they came first.
    Sequential,
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

/// What begins to solve the heads: Newton's method where the loss is smooth, scans, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leader {
    /// Where that is expected to be faster than coordinate descent.
    Auto,
    /// Wherever it can.
    Newton,
    /// Alone, by scans over rows that nobody keeps.
    Scans,
    /// Never.
    Nobody,
}

/// Which planes stand for rows in a training by scans with the hinge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Cuts {
    /// Those of the rows that are not held.
    BesideHeld,
    /// Those of all rows, at a point between the best weights and the newest, lambda of the way: OCAS as published (Franc and
    /// Sonnenburg, ICML 2008, Algorithm 1).
    Ocas(f64),
    /// Those of all rows at the newest weights, without a look along the line: the cutting plane algorithm that it is compared with.
    Newest,
}

/// A metric forest by which rows are filed in chunks, and what a query asks of it (Yen, Chang, Lin, Lin and Lin, KDD 2013, Algorithm 1 and
/// section 4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForestShape {
    /// Rows of a tree, at most; at least 1. A tree has no more than fit the memory for rows on their way into chunks.
    pub tree_size: u32,
    /// K, the pivots of a node, from 2 on.
    pub tree_width: u32,
    /// n, the rows that a query is to find which matter and are not among those trained on. None: a hundredth of all rows, and 1000 at
    /// least.
    pub query_size: Option<u32>,
    /// n_eps: queries end where they find fewer rows, or in proportion fewer than this of all rows. None: a hundredth of the former.
    pub query_end: Option<u32>,
    /// T: rows whose margin is above 1 + T are asked for no more, until a proof has looked at them again.
    pub shrink_above: f64,
}

impl ForestShape {
    pub const USUAL: Self = Self {
        tree_size: 10_000,
        tree_width: 10,
        query_size: None,
        query_end: None,
        shrink_above: 0.3,
    };
    pub const MOST_TREE_SIZE: u32 = 1_000_000;
    pub const MOST_TREE_WIDTH: u32 = 100;
    pub const MOST_QUERY_SIZE: u32 = 1_000_000_000;
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
    timing: Timing,
    policy: Policy,
    proximal: Proximal,
    trainers: usize,
    inner_rounds: u32,
    inner: Inner,
    blocks: Option<u32>,
    picks: Picks,
    stop: StopRule,
    leader: Leader,
    free_intercept: bool,
    cuts: Cuts,
    together: bool,
    truncation: Option<f64>,
    indexed: bool,
    forest: Option<ForestShape>,
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
    /// Rounds over a block must be between 1 and [`Problem::MOST_INNER_ROUNDS`].
    InnerRounds(u32),
    /// Sets that a block is split into, from 1 to [`Problem::MOST_INNER_UPDATES`].
    InnerUpdates(u32),
    /// Blocks, from 1 to [`Problem::MOST_BLOCKS`].
    Blocks(u32),
    /// Picks for each row, from 1 to [`Problem::MOST_PICKS`].
    Picks(u32),
    /// Projected gradients are those of the dual that is solved: Pegasos has none, and a shift others.
    NoProjectedGradient,
    /// s must be positive and finite.
    Truncation(f64),
    /// Truncated losses are for coordinate descent over rows that are kept or stream by the cached policy.
    CannotTruncate,
}

impl Problem {
    /// Passes over all rows after which training gives up unless another number is given.
    pub const DEFAULT_MAX_PASSES: u32 = 1000;
    /// Trainers that a training may have.
    pub const MAX_TRAINERS: usize = 64;
    /// Rounds over a block unless another number is given.
    pub const DEFAULT_INNER_ROUNDS: u32 = 10;
    /// Most rounds over a block, as many as LIBLINEAR makes over all rows.
    pub const MOST_INNER_ROUNDS: u32 = 1000;
    /// Most updates of Pegasos by sets of a block: beyond, rows by themselves are the same.
    pub const MOST_INNER_UPDATES: u32 = 1_000_000;
    /// Most blocks that can be asked for.
    pub const MOST_BLOCKS: u32 = 1000;
    /// Most picks for each row that arrives.
    pub const MOST_PICKS: u32 = 1000;

    /// Checks the parameters that have a range: `c` > 0, 0 < `tolerance` < 1.
    ///
    /// The intercept is on, the seed 0, at most [`Self::DEFAULT_MAX_PASSES`] passes, timed schedule,
    /// cached policy, automatic proximal shift, [`Self::DEFAULT_INNER_ROUNDS`]; the `with_` methods change these.
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
            timing: Timing::Timed,
            policy: Policy::Cached,
            proximal: Proximal::Auto,
            trainers: 1,
            inner_rounds: Self::DEFAULT_INNER_ROUNDS,
            inner: Inner::CoordinateDescent,
            blocks: None,
            picks: Picks::Usual,
            stop: StopRule::Gap,
            leader: Leader::Nobody,
            free_intercept: false,
            cuts: Cuts::BesideHeld,
            together: false,
            truncation: None,
            indexed: false,
            forest: None,
        })
    }

    /// Whether its parameters are some that it takes; those of bytes that came from elsewhere may not be.
    pub(crate) fn is_sound(&self) -> bool {
        let again = || {
            Self::new(self.loss, self.c, self.tolerance)?
                .with_max_passes(self.max_passes)?
                .with_trainers(self.trainers)?
                .with_inner_rounds(self.inner_rounds)?
                .with_inner(self.inner)?
                .with_blocks(self.blocks)?
                .with_picks(self.picks)
        };
        let positive = |s: f64| s > 0.0 && s.is_finite();
        again().is_ok() && self.truncation.is_none_or(positive) && self.forest.is_none()
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
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// The trainer's schedule when the rows do not fit.
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Whether the proximal shift is used.
    pub fn with_proximal(mut self, proximal: Proximal) -> Self {
        self.proximal = proximal;
        self
    }

    /// Sets the number of threads that train at the same time, at most [`Self::MAX_TRAINERS`]. They share the heads, or else the
    /// rows; with the policies that are as published, and with Pegasos, one of them trains alone where rows stream.
    pub fn with_trainers(mut self, trainers: usize) -> Result<Self, ProblemError> {
        if !(1..=Self::MAX_TRAINERS).contains(&trainers) {
            return Err(ProblemError::Trainers(trainers));
        }
        self.trainers = trainers;
        Ok(self)
    }

    /// Sets the number of rounds over a block, for the policies that have blocks.
    pub fn with_inner_rounds(mut self, rounds: u32) -> Result<Self, ProblemError> {
        if !(1..=Self::MOST_INNER_ROUNDS).contains(&rounds) {
            return Err(ProblemError::InnerRounds(rounds));
        }
        self.inner_rounds = rounds;
        Ok(self)
    }

    /// How the subproblem of a block is solved, for [`Policy::Block`].
    pub fn with_inner(mut self, inner: Inner) -> Result<Self, ProblemError> {
        if let Inner::Pegasos(Updates::Sets(sets)) = inner {
            if !(1..=Self::MOST_INNER_UPDATES).contains(&sets) {
                return Err(ProblemError::InnerUpdates(sets));
            }
        }
        self.inner = inner;
        Ok(self)
    }

    /// Sets the number of blocks, for the policies that have blocks; None: as many as the cache asks for.
    pub fn with_blocks(mut self, blocks: Option<u32>) -> Result<Self, ProblemError> {
        if let Some(blocks) = blocks.filter(|blocks| !(1..=Self::MOST_BLOCKS).contains(blocks)) {
            return Err(ProblemError::Blocks(blocks));
        }
        self.blocks = blocks;
        Ok(self)
    }

    /// How many members of the cache are picked, for [`Policy::Paper`].
    pub fn with_picks(mut self, picks: Picks) -> Result<Self, ProblemError> {
        if let Picks::Each(count) = picks {
            if !(1..=Self::MOST_PICKS).contains(&count) {
                return Err(ProblemError::Picks(count));
            }
        }
        self.picks = picks;
        Ok(self)
    }

    /// When training ends. Policy, inner solver, shift and truncation are to be set before.
    pub fn with_stop(mut self, stop: StopRule) -> Result<Self, ProblemError> {
        // the paper's policy has no shift whatever is asked for
        let shifts = self.policy != Policy::Paper && self.proximal == Proximal::On;
        let visits = self.pegasos().is_none() && !self.block_newton();
        // of a truncated loss they are those of one round
        let has = self.policy.is_published() && !shifts && visits && self.truncation.is_none();
        if stop == StopRule::ProjectedGradient && !has {
            return Err(ProblemError::NoProjectedGradient);
        }
        self.stop = stop;
        Ok(self)
    }

    /// Whether Newton's method begins to solve the heads; unless this says so, it does not.
    pub fn with_leader(mut self, leader: Leader) -> Self {
        self.leader = leader;
        self
    }

    /// Which planes a training by scans makes.
    pub fn with_cuts(mut self, cuts: Cuts) -> Self {
        self.cuts = cuts;
        self
    }

    /// Its intercept.
    pub(crate) fn kind_of_intercept(&self) -> Intercept {
        match (self.intercept(), self.free_intercept()) {
            (false, _) => Intercept::None,
            (true, false) => Intercept::InNorm,
            (true, true) => Intercept::Free,
        }
    }

    /// Has several classes told apart together, by one problem (Crammer and Singer, JMLR 2, 2001), not each from all others: of cutting
    /// planes of all rows.
    pub fn with_classes_together(mut self, together: bool) -> Self {
        self.together = together;
        self
    }

    /// Whether several classes are told apart together.
    pub fn together(&self) -> bool {
        self.together && self.leader == Leader::Scans && self.cuts != Cuts::BesideHeld
    }

    /// Truncates the loss at 1 + s. Policy, inner solver and leader are to be set before.
    pub fn with_truncation(mut self, s: Option<f64>) -> Result<Self, ProblemError> {
        if let Some(s) = s {
            if !(s > 0.0 && s.is_finite()) {
                return Err(ProblemError::Truncation(s));
            }
            let by_newton_or_scans =
                matches!(self.leader, Leader::Newton | Leader::Scans) && !self.loss.is_smooth();
            if by_newton_or_scans || self.policy == Policy::Paper || self.pegasos().is_some() {
                return Err(ProblemError::CannotTruncate);
            }
        }
        self.truncation = s;
        Ok(self)
    }

    /// Has rows that do not fit the cache lie in chunks that passes may leave out, of [`Policy::Cached`]. One trainer.
    pub fn with_index(mut self, indexed: bool) -> Self {
        self.indexed = indexed;
        self
    }

    /// Has rows of [`Problem::with_index`] filed by a metric forest, which full passes ask for chunks. None: by how far they are from mattering.
    pub fn with_forest(mut self, forest: Option<ForestShape>) -> Self {
        self.forest = forest;
        self
    }

    /// The metric forest by which rows are filed; none where Newton's method solves the heads.
    pub fn forest(&self) -> Option<ForestShape> {
        let visits = self.leader == Leader::Nobody;
        self.forest.filter(|_| visits && self.indexed())
    }

    /// Whether rows that do not fit the cache lie in chunks that passes may leave out.
    pub fn indexed(&self) -> bool {
        let leads = matches!(self.leader, Leader::Nobody | Leader::Newton);
        self.indexed && self.policy == Policy::Cached && leads
    }

    /// s, where losses are min(L, 1 + s).
    pub fn truncation(&self) -> Option<f64> {
        self.truncation
    }

    /// Which planes a training by scans makes.
    pub fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// Leaves the intercept's weight out of the norm, which only Newton's method can: [`Leader::Newton`] is to be chosen too.
    pub fn with_free_intercept(mut self, free: bool) -> Self {
        self.free_intercept = free;
        self
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
    pub fn timing(&self) -> Timing {
        self.timing
    }
    /// The trainer's schedule when the rows do not fit.
    pub fn policy(&self) -> Policy {
        self.policy
    }
    /// Whether the proximal shift is used. Block minimization has none as published, so there only if asked for or where the
    /// loss is truncated, and Pegasos and Newton's method never.
    pub fn proximal(&self) -> Proximal {
        if self.pegasos().is_some() || self.block_newton() {
            return Proximal::Off;
        }
        match (self.policy, self.proximal) {
            (Policy::Block | Policy::SelectiveBlock, Proximal::Auto)
                if self.truncation.is_none() =>
            {
                Proximal::Off
            }
            (_, proximal) => proximal,
        }
    }
    /// Rounds over a block, for the policies that have blocks.
    pub fn inner_rounds(&self) -> u32 {
        self.inner_rounds
    }
    /// The number of blocks; None where the cache decides, and where there are none.
    pub fn blocks(&self) -> Option<u32> {
        self.blocks.filter(|_| self.policy.has_blocks())
    }
    /// How many members of the cache are picked, for [`Policy::Paper`].
    pub fn picks(&self) -> Picks {
        self.picks
    }
    /// When training ends.
    pub fn stop(&self) -> StopRule {
        self.stop
    }
    /// What an update of Pegasos is about; None where blocks are not solved by it.
    pub fn pegasos(&self) -> Option<Updates> {
        match (self.policy, self.inner) {
            (Policy::Block, Inner::Pegasos(updates)) => Some(updates),
            _ => None,
        }
    }
    /// Whether blocks are solved by Newton's method.
    pub fn block_newton(&self) -> bool {
        self.policy.has_blocks() && self.inner == Inner::Newton
    }
    /// Whether there is an intercept whose weight is not in the norm.
    pub fn free_intercept(&self) -> bool {
        self.intercept && self.free_intercept
    }
    /// Whether Newton's method begins to solve the heads.
    pub fn leader(&self) -> Leader {
        self.leader
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
            Self::InnerRounds(n) => write!(
                f,
                "inner_rounds must lie between 1 and {}, but is {n}",
                Problem::MOST_INNER_ROUNDS
            ),
            Self::InnerUpdates(n) => write!(
                f,
                "updates for a block must lie between 1 and {}, but are {n}",
                Problem::MOST_INNER_UPDATES
            ),
            Self::Blocks(n) => write!(
                f,
                "blocks must be between 1 and {}, but are {n}",
                Problem::MOST_BLOCKS
            ),
            Self::Picks(n) => write!(
                f,
                "picks must lie between 1 and {}, but are {n}",
                Problem::MOST_PICKS
            ),
            Self::Truncation(s) => {
                write!(f, "truncation must be positive and finite, but is {s}")
            }
            Self::CannotTruncate => {
                write!(f, "truncated losses are solved by coordinate descent, and that of the squared hinge by Newton's method")
            }
            Self::NoProjectedGradient => {
                write!(f, "there is no projected gradient of the dual to stop by")
            }
        }
    }
}

impl std::error::Error for ProblemError {}
