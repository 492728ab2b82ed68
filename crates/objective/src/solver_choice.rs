//! Which solver trains, each with its own parameters: what SQL's argument `solver` says, and the options that belong to one solver.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The solver of a training, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SolverChoice {
    /// As [`Self::Stream`], and Newton's method where that is expected to be faster.
    Auto,
    /// Coordinate descent over all rows, kept ones and those that stream.
    Stream,
    /// StreamSVM as published (Algorithms 1 and 2): random picks, random replacement of every row read.
    StreamSvm(Picks),
    /// Newton's method, wherever it can.
    Newton,
    /// Block minimization: rows are split into blocks that fit the cache, trained one after the other.
    Block(Blocks),
    /// Selective block minimization: half the cache keeps the most informative rows of earlier blocks.
    SelectiveBlock(Blocks),
    /// Rows that do not fit the cache lie in chunks that passes may leave out. One trainer.
    Indexed(Indexed),
    /// Scans over rows that nobody keeps: Newton's method, or planes of the hinge.
    Scan(Cuts),
    /// Each process that holds rows trains on them alone, and a scan averages the weights found.
    Average,
    /// PSVM: interior points on a factor of the kernel matrix of all rows.
    InteriorPoint(InteriorChoice),
}

/// When rows that do not fit the cache are visited: the trainer's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Every fresh row is visited once before it is kept or dropped; kept rows are swept in shuffled blocks.
    Cached,
    /// That of [`SolverChoice::StreamSvm`].
    Paper,
    /// That of [`SolverChoice::Block`].
    Block,
    /// That of [`SolverChoice::SelectiveBlock`].
    SelectiveBlock,
}

impl Policy {
    /// Whether it is a form that its authors published, with its own stop rule.
    pub fn is_published(self) -> bool {
        self != Self::Cached
    }

    /// A block's share of the working set's room, as one in so many; None where rows are not split into blocks.
    pub fn block_share(self) -> Option<usize> {
        match self {
            Self::Cached | Self::Paper => None,
            Self::Block => Some(1),
            Self::SelectiveBlock => Some(2),
        }
    }
}

/// The usual solver of a schedule.
impl From<Policy> for SolverChoice {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Cached => Self::Stream,
            Policy::Paper => Self::StreamSvm(Picks::Usual),
            Policy::Block => Self::Block(Blocks::USUAL),
            Policy::SelectiveBlock => Self::SelectiveBlock(Blocks::USUAL),
        }
    }
}

impl SolverChoice {
    /// The trainer's schedule.
    pub fn policy(&self) -> Policy {
        match self {
            Self::StreamSvm(_) => Policy::Paper,
            Self::Block(_) => Policy::Block,
            Self::SelectiveBlock(_) => Policy::SelectiveBlock,
            Self::Auto
            | Self::Stream
            | Self::Newton
            | Self::Indexed(_)
            | Self::Scan(_)
            | Self::Average
            | Self::InteriorPoint(_) => Policy::Cached,
        }
    }

    /// What blocks are like, where rows are split into some.
    pub fn blocks(&self) -> Option<Blocks> {
        match self {
            Self::Block(blocks) | Self::SelectiveBlock(blocks) => Some(*blocks),
            _ => None,
        }
    }

    /// The same with other blocks, where there are some.
    pub fn solved_in(self, blocks: Blocks) -> Self {
        match self {
            Self::Block(_) => Self::Block(blocks),
            Self::SelectiveBlock(_) => Self::SelectiveBlock(blocks),
            other => other,
        }
    }

    /// How the subproblem of a block is solved, where there are blocks.
    pub fn inner(&self) -> Option<Inner> {
        self.blocks().map(|blocks| blocks.inner)
    }

    /// Whether the training is one by scans over rows that nobody keeps.
    pub fn scans(&self) -> bool {
        match self {
            Self::Scan(_) | Self::Average => true,
            Self::InteriorPoint(choice) => choice.machines == Machines::Scans,
            _ => false,
        }
    }

    /// Whether planes of all rows stand for the rows.
    pub fn by_planes(&self) -> bool {
        matches!(self, Self::Scan(Cuts::Ocas(_) | Cuts::Newest))
    }

    /// Whether blocks are solved by Pegasos.
    pub fn descends(&self) -> bool {
        matches!(self.inner(), Some(Inner::Pegasos(_)))
    }

    /// The same by scans, where nobody has said otherwise.
    pub fn by_scans(self) -> Self {
        match self {
            Self::InteriorPoint(choice) => Self::InteriorPoint(InteriorChoice {
                machines: Machines::Scans,
                ..choice
            }),
            _ => Self::Scan(Cuts::BesideHeld),
        }
    }

    /// The same over rows that are read, where it is one by scans.
    pub fn without_scans(self) -> Self {
        match self {
            Self::Scan(_) | Self::Average => Self::Stream,
            Self::InteriorPoint(choice) if choice.machines == Machines::Scans => {
                Self::InteriorPoint(InteriorChoice {
                    machines: Machines::Usual,
                    ..choice
                })
            }
            other => other,
        }
    }

    /// What is wrong with its parameters, if anything is.
    pub fn check(&self) -> Result<(), SolverError> {
        let within = |count: u32, most: u32, error: fn(u32) -> SolverError| match (1..=most)
            .contains(&count)
        {
            true => Ok(()),
            false => Err(error(count)),
        };
        if let Self::StreamSvm(Picks::Each(count)) = self {
            within(*count, Picks::MOST, SolverError::Picks)?;
        }
        let Some(blocks) = self.blocks() else {
            return Ok(());
        };
        if let Some(count) = blocks.count {
            within(count, Blocks::MOST, SolverError::Blocks)?;
        }
        match blocks.inner {
            Inner::CoordinateDescent(rounds) => {
                within(rounds, Inner::MOST_ROUNDS, SolverError::InnerRounds)
            }
            Inner::Pegasos(Updates::Sets(sets)) => {
                within(sets, Updates::MOST_SETS, SolverError::InnerUpdates)
            }
            Inner::Pegasos(_) | Inner::Newton => Ok(()),
        }
    }
}

/// A parameter of a solver that is out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolverError {
    /// Rounds over a block must be between 1 and [`Inner::MOST_ROUNDS`].
    InnerRounds(u32),
    /// Sets that a block is split into, from 1 to [`Updates::MOST_SETS`].
    InnerUpdates(u32),
    /// Blocks, from 1 to [`Blocks::MOST`].
    Blocks(u32),
    /// Picks for each row, from 1 to [`Picks::MOST`].
    Picks(u32),
}

impl fmt::Display for SolverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, most, given) = match self {
            Self::InnerRounds(n) => ("inner_rounds must lie", Inner::MOST_ROUNDS, n),
            Self::InnerUpdates(n) => ("updates for a block must lie", Updates::MOST_SETS, n),
            Self::Blocks(n) => ("blocks must lie", Blocks::MOST, n),
            Self::Picks(n) => ("picks must lie", Picks::MOST, n),
        };
        write!(f, "{what} between 1 and {most}, not at {given}")
    }
}

/// Blocks into which rows are split, and how each is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many; None: as few as fit the cache.
    pub count: Option<u32>,
    /// How rows come into blocks: drawn, or as they were read.
    pub split: Order,
    /// In which order blocks are delivered in each pass.
    pub order: Order,
    pub inner: Inner,
}

impl Blocks {
    /// Rows drawn into as few blocks as fit, in a new order each pass, solved by a few rounds of coordinate descent.
    pub const USUAL: Self = Self {
        count: None,
        split: Order::Random,
        order: Order::Random,
        inner: Inner::USUAL,
    };
    /// Most blocks that can be asked for.
    pub const MOST: u32 = 1000;

    /// The usual ones, solved so.
    pub fn solved_by(inner: Inner) -> Self {
        Self {
            inner,
            ..Self::USUAL
        }
    }
}

/// How the subproblem of a block is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inner {
    /// So many rounds of dual coordinate descent (Yu, Hsieh, Chang, Lin, KDD 2010, Algorithm 2).
    CoordinateDescent(u32),
    /// Pegasos on the primal (the same, Algorithm 3), of [`SolverChoice::Block`].
    Pegasos(Updates),
    /// Newton's method on the primal, with what the other blocks have of the weights fixed (Yen, Chang, Lin, Lin, Lin, KDD 2013,
    /// section 3.4); of the squared hinge.
    Newton,
}

impl Inner {
    pub const USUAL_ROUNDS: u32 = 10;
    pub const USUAL: Self = Self::CoordinateDescent(Self::USUAL_ROUNDS);
    /// Most rounds over a block, as many as LIBLINEAR makes over all rows.
    pub const MOST_ROUNDS: u32 = 1000;
}

impl Updates {
    /// Most updates of Pegasos by sets of a block: beyond, rows by themselves are the same.
    pub const MOST_SETS: u32 = 1_000_000;
}

impl Picks {
    /// Most picks for each row that arrives.
    pub const MOST: u32 = 1000;
}

/// By what rows are filed in chunks, and which method reads them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Indexed {
    /// By how far they are from mattering, for coordinate descent.
    Slack,
    /// By a metric forest, which full passes ask for chunks, for coordinate descent.
    Forest(ForestShape),
    /// By how far they are from mattering, for Newton's method.
    Newton,
}

/// What is asked of interior points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InteriorChoice {
    pub machines: Machines,
    pub rank: InteriorRank,
    /// The part of the trace below which the factor takes no more columns.
    pub trace_tolerance: f64,
    /// Whether the intercept is in the norm, which PSVM's is not.
    pub in_norm: bool,
}

/// Who works on the factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Machines {
    /// As many as there are trainers.
    Usual,
    Count(usize),
    /// The processes that hold rows: each sums up its own, a scan at a time.
    Scans,
}

/// How many columns the factor has at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum InteriorRank {
    Given(usize),
    /// n to this power.
    Power(f64),
}

impl InteriorRank {
    /// For so many rows.
    pub fn of(self, rows: usize) -> usize {
        match self {
            Self::Given(rank) => rank,
            Self::Power(power) => ((rows as f64).powf(power).ceil() as usize).clamp(1, rows.max(1)),
        }
    }
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

/// Members of the cache that StreamSVM's trainer picks, for [`SolverChoice::StreamSvm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Picks {
    /// Two for each row that arrives, and where timing has a say more while none waits.
    Usual,
    /// So many for each row that arrives, whoever is faster.
    Each(u32),
    /// As many as it makes while no row waits. Where timing has no say, as [`Picks::Usual`].
    Free,
}

/// In which order things come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Drawn anew each time.
    Random,
    /// As they came first.
    Sequential,
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
