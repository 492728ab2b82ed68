//! What the reader is asked, and what it answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::alone::Alone;
use crate::base::memory::{copied, list, OutOfMemory};
use crate::objective::problem::{Compression, Problem};
use crate::objective::solver_choice::{Blocks, SolverChoice};
use crate::rows::compact::CompactForm;
use crate::rows::source::RowError;
use crate::scaling::{Scale, Scaling, Spread, TargetJob, TargetScale};

/// What the reader is to do with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReaderJob {
    /// How features are scaled.
    pub scale: Scale,
    /// Seed of the order of each pass.
    pub seed: u64,
    /// What becomes of rows that do not fit the cache.
    pub beyond: Beyond,
    /// Whether they are compressed in the spool.
    pub compression: Compression,
    /// [`crate::objective::plan::Plan::stride`]: the class of a group is group / stride, its fold the rest.
    pub stride: u32,
    /// Whether classes are balanced.
    pub balance: Balance,
    /// Whether a dense value that is not a number is missing, and taken as the mean of its column.
    pub impute: bool,
    /// Whether scaled rows are divided by their length.
    pub unit_rows: bool,
    /// Whether certificates are to hold for rows as they come, and not as 32 bits have them.
    pub as_they_come: bool,
    /// Whether features are looked at that may tell the classes apart alone.
    pub looks: bool,
    /// Where sparse features have a short form: rows keep that, and the features are made when a row is visited.
    pub expansion: Option<Expanding>,
    /// Where labels are numbers, what is to become of them: every row comes twice then, of the classes 0 and 1.
    pub targets: Option<TargetJob>,
    /// Where rows have offsets of targets already, by how much a score may be off without a loss.
    pub epsilon: Option<f64>,
}

/// How rows whose sparse features have a short form are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expanding {
    pub form: CompactForm,
    /// None: in their short form. Else of so many rows expected as is faster, measured on the first ones.
    pub measured: Option<u64>,
}

/// What is multiplied by n / (K n_class): n rows, n_class of them of this class, K classes; a row counts as
/// [`crate::rows::source::Example::rows`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Balance {
    /// Nothing.
    None,
    /// The cost of each row of the class.
    Examples,
    /// Of more classes than so many the same in the head that takes the class for positive, as LIBLINEAR has it; of fewer, which have
    /// both sides in a head, that of each row.
    PositivesBeyond(usize),
}

/// What becomes of rows that do not fit the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Beyond {
    /// They stream, pass after pass.
    Streams,
    /// They are split into blocks, each of this share of the cache's room, as one in so many.
    Blocks(Blocks, usize),
    /// They are filed as the trainer says, so that passes can leave chunks out.
    Chunks,
}

impl Beyond {
    /// What a solver needs.
    pub fn of(solver: &SolverChoice) -> Self {
        match (solver, solver.blocks(), solver.policy().block_share()) {
            (SolverChoice::Indexed(_), ..) => Self::Chunks,
            (_, Some(blocks), Some(share)) => Self::Blocks(blocks, share),
            _ => Self::Streams,
        }
    }
}

impl ReaderJob {
    /// What the trainer of `problem` needs.
    pub fn new(scale: Scale, problem: &Problem) -> Self {
        Self {
            scale,
            seed: problem.seed(),
            beyond: Beyond::of(problem.solver()),
            compression: Compression::Auto,
            stride: 1,
            balance: Balance::None,
            impute: false,
            unit_rows: false,
            as_they_come: false,
            looks: false,
            expansion: None,
            targets: None,
            epsilon: None,
        }
    }

    /// The same for rows that have been scaled already, all values filled in.
    pub fn of_scaled_rows(self) -> Self {
        Self {
            scale: Scale::None,
            impute: false,
            unit_rows: false,
            looks: false,
            targets: None,
            epsilon: self.targets.map(|it| it.epsilon),
            ..self
        }
    }
}

/// What the reader saw in pass 1.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct ReaderReport {
    /// Rows in all.
    pub rows: u64,
    /// Bytes of encoded rows.
    pub bytes: u64,
    /// Length of the dense part.
    pub dense_features: u64,
    /// Largest feature id + 1, dense part included.
    pub features: u64,
    /// The scaling learned; empty while loading.
    pub scaling: Scaling,
    /// What dense values are kept relative to in 32 bits before they are scaled; empty for 0.
    #[serde(deserialize_with = "list")]
    pub provisional: Vec<f64>,
    /// Rows of each group id.
    #[serde(deserialize_with = "list")]
    pub group_counts: Vec<u64>,
    /// Mean of each dense feature over the rows that have it, 0 where none has; empty unless imputing, and while loading.
    #[serde(deserialize_with = "list")]
    pub means: Vec<f64>,
    /// Means and deviations of the features, where they are kept; empty while loading.
    pub spread: Spread,
    /// What tells the classes apart alone, where that was looked for; nothing while loading.
    pub alone: Alone,
    /// What made targets of labels that are numbers; None while loading.
    pub targets: Option<TargetScale>,
    /// Features whose values lose more than a millionth of their spread by being kept as 32-bit numbers, the first of
    /// them, and how many there are; none while loading.
    #[serde(deserialize_with = "list")]
    pub imprecise: Vec<u64>,
    pub imprecise_features: u64,
    /// Whether every row fitted the cache.
    pub resident: bool,
    /// Bytes written to the spool, compressed or not.
    pub spool_bytes: u64,
}

impl ReaderReport {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            scaling: self.scaling.copied()?,
            provisional: copied(&self.provisional)?,
            group_counts: copied(&self.group_counts)?,
            means: copied(&self.means)?,
            spread: self.spread.copied()?,
            alone: self.alone.copied()?,
            imprecise: copied(&self.imprecise)?,
            ..*self
        })
    }

    /// With further imprecise features.
    pub fn with_imprecise(mut self, features: impl Iterator<Item = u64>) -> Self {
        for feature in features {
            if self.imprecise.len() < IMPRECISE_NAMED {
                self.imprecise.push(feature);
            }
            self.imprecise_features += 1;
        }
        self
    }
}

/// Of many imprecise features a report names so many.
const IMPRECISE_NAMED: usize = 5;

/// Why reading ended early.
#[derive(Debug, PartialEq)]
pub enum ReadError<S, P> {
    /// The source failed, or passed on a complaint about a row.
    Source(S),
    /// A row cannot be taken, found out after the source delivered it.
    Row(RowError),
    /// The spool failed.
    Spool(P),
    /// A block has no room in the cache if there are as many as were asked for; if there are so many, each should have.
    Blocks { asked: usize, needed: usize },
    /// What the spool gave back is not what was written to it.
    SpoolCorrupt,
    /// The trainer gave up.
    TrainerFailed,
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for ReadError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Row(error) => error.fmt(f),
            Self::Spool(error) => error.fmt(f),
            Self::Blocks { asked, needed } => write!(
                f,
                "the cache has no room for a block, one of {asked}: about {needed} blocks fit"
            ),
            Self::SpoolCorrupt => write!(f, "rows read from the spool are not those written to it"),
            Self::TrainerFailed => write!(f, "the trainer has failed"),
        }
    }
}

impl<S: fmt::Debug + fmt::Display, P: fmt::Debug + fmt::Display> std::error::Error
    for ReadError<S, P>
{
}
