//! Where examples come from and where encoded rows are spilled: the border to the caller.
//!
//! The caller implements [`Source`] and [`Spool`]; only the reader calls them, in its own process.

use std::fmt;

use pgsvm_base::memory::OutOfMemory;

/// One example as it comes from the source, before scaling.
///
/// Feature ids: the dense part is 0..dense.len(), the same length in every row; a sparse id i
/// is feature dense.len() + i.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// Group id: class * stride + fold, see `plan` of the crate objective; the class, by first appearance in the source, where rows have
    /// no folds.
    pub group: u32,
    /// Weight of this row's loss; positive and finite.
    pub cost: f32,
    /// How many rows it counts as where something is learned of all rows: means, deviations, sizes of classes. Positive and
    /// finite.
    pub rows: f64,
    /// What is added to its score, or the label that this follows from, see `targets` of the reader's job; finite. None: nothing.
    pub offset: Option<f64>,
    /// Values of the dense features.
    pub dense: &'a [f64],
    /// Sparse feature ids, strictly ascending, below 2^32 - dense.len().
    pub sparse_index: &'a [u32],
    /// Values of the sparse features, as many as ids.
    pub sparse_value: &'a [f32],
    /// Whether one of those has been rounded to 32 bits.
    pub rounded: bool,
}

/// Delivers every example once, in an order that becomes the ordinals 0, 1, ….
pub trait Source {
    /// What can go wrong, including the reader's complaints about a row.
    type Error: From<RowError>;

    /// Delivers up to about `rows` examples to `sink`; `Ok(false)` when there are no more.
    ///
    /// An error of `sink` must be passed on at once.
    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, Self::Error>;

    /// Features, by id, that have one value in all rows and are not to be trained on; asked for behind the last row.
    fn idle(&self) -> Result<Vec<u32>, OutOfMemory> {
        Ok(Vec::new())
    }

    /// The category column that a sparse feature belongs to, by a number that the source has for it; None for one of no such column.
    fn category_of(&self, _sparse: u32) -> Option<u32> {
        None
    }

    /// Of two classes, once all examples have been delivered, the one that scores take for positive.
    fn positive(&self) -> usize {
        1
    }

    /// Whether costs have what balancing classes makes of them already; asked for behind the last row.
    fn is_balanced(&self) -> bool {
        false
    }
}

/// A temporary file, used only when the rows do not fit the cache.
pub trait Spool {
    /// What can go wrong while writing or reading.
    type Error;

    /// Appends `bytes` and returns the position at which they start.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Self::Error>;

    /// Fills `bytes` from `position`, which an earlier [`Spool::append`] returned.
    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;
}

/// Why a row cannot be taken. `ordinal` counts delivered rows from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum RowError {
    /// A value is not finite, or not finite any more as a 32-bit float.
    NonFinite {
        ordinal: u64,
        feature: u64,
        value: f64,
    },
    /// The dense part changes its length.
    DenseLength {
        ordinal: u64,
        expected: usize,
        found: usize,
    },
    /// Sparse ids are not strictly ascending, at this position of the row.
    SparseOrder { ordinal: u64, position: usize },
    /// Not as many sparse values as ids.
    SparseLength {
        ordinal: u64,
        indexes: usize,
        values: usize,
    },
    /// A feature id beyond 2^32 - 2.
    FeatureTooLarge { ordinal: u64, feature: u64 },
    /// A cost that is not positive and finite.
    Cost { ordinal: u64, cost: f32 },
    /// An offset, or a label that is a number, that is not finite.
    Offset { ordinal: u64 },
    /// A group or a feature that no row had when all were looked at.
    Unknown { ordinal: u64 },
    /// A kernel value that is not finite as a 32-bit float.
    Kernel { ordinal: u64 },
    /// More rows than ordinals (2^32 - 2).
    TooManyRows { limit: u64 },
    /// The cache cannot hold this row and work with it.
    CacheTooSmall {
        ordinal: u64,
        row_bytes: u64,
        cache_bytes: u64,
        needed_cache_bytes: u64,
    },
    /// Memory for the reader's own tables could not be had.
    OutOfMemory { bytes: u64 },
}

impl From<OutOfMemory> for RowError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonFinite { ordinal, feature, value } => {
                write!(f, "row {ordinal}: feature {feature} is not a finite 32-bit number: {value:e}")
            }
            Self::DenseLength { ordinal, expected, found } => {
                write!(f, "row {ordinal} has {found} dense features, the rows before it {expected}")
            }
            Self::SparseOrder { ordinal, position } => {
                write!(f, "row {ordinal}: sparse feature ids are not strictly ascending at position {position}")
            }
            Self::SparseLength { ordinal, indexes, values } => {
                write!(f, "row {ordinal} has {indexes} sparse feature ids but {values} values")
            }
            Self::FeatureTooLarge { ordinal, feature } => {
                write!(f, "row {ordinal}: feature id {feature} is too large")
            }
            Self::Cost { ordinal, cost } => write!(f, "row {ordinal}: the cost {cost} is not positive and finite"),
            Self::Offset { ordinal } => write!(f, "row {ordinal}: the label is not a finite number"),
            Self::Unknown { ordinal } => write!(f, "row {ordinal} was not there when all rows were looked at"),
            Self::Kernel { ordinal } => {
                write!(f, "row {ordinal} has kernel values with landmarks that are not finite 32-bit numbers")
            }
            Self::TooManyRows { limit } => write!(f, "more than {limit} rows"),
            Self::CacheTooSmall { ordinal, row_bytes, cache_bytes, needed_cache_bytes } => write!(
                f,
                "row {ordinal} takes {row_bytes} bytes, for which a cache of {cache_bytes} bytes is too small \
                 (at least {needed_cache_bytes} are needed)"
            ),
            Self::OutOfMemory { bytes } => write!(f, "out of memory while asking for {bytes} bytes"),
        }
    }
}

impl std::error::Error for RowError {}
