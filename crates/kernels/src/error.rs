//! What can be wrong with a kernel, or with what is asked of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::memory::OutOfMemory;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum KernelError {
    /// gamma is not positive and finite.
    Gamma {
        gamma: f64,
    },
    /// The degree of a polynomial is 0 or above the largest, see [`crate::kernel::MOST_DEGREE`].
    Degree {
        degree: i64,
        most: u32,
    },
    /// The constant is not finite.
    Constant {
        coef0: f64,
    },
    /// A rank of 0.
    NoRank,
    /// More landmarks than rows.
    Rank {
        rank: usize,
        rows: usize,
    },
    /// The kernel of these rows is no inner product: a row of the sample has a residual below 0, as a part of the largest
    /// k(x, x).
    NotPositive {
        row: usize,
        residual: f64,
    },
    /// k(x, x) of a row is no finite 32-bit number.
    NotFinite {
        row: usize,
    },
    /// k(x, x) is 0 for all rows of the sample: no landmark says anything.
    Zero,
    /// Means are taken of dense values alone.
    SparseCentres,
    OutOfMemory {
        bytes: u64,
    },
}

impl From<OutOfMemory> for KernelError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes: error.bytes }
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gamma { gamma } => write!(f, "gamma is {gamma}, it must be positive and finite"),
            Self::Degree { degree, most } => write!(f, "the degree is {degree}, it must be from 1 to {most}"),
            Self::Constant { coef0 } => write!(f, "coef0 is {coef0}, it must be finite"),
            Self::NoRank => write!(f, "the rank is 0"),
            Self::Rank { rank, rows } => write!(f, "the rank {rank} is larger than the number of rows, {rows}"),
            Self::NotPositive { row, residual } => write!(
                f,
                "the kernel matrix of these rows is not positive semidefinite: row {row} of the sample leaves {residual:.3e}"
            ),
            Self::NotFinite { row } => write!(f, "k(x, x) of row {row} of the sample is not a finite 32-bit number"),
            Self::Zero => write!(f, "k(x, x) is 0 for all rows"),
            Self::SparseCentres => write!(f, "landmarks cannot be centres where features are sparse"),
            Self::OutOfMemory { bytes } => OutOfMemory { bytes: *bytes }.fmt(f),
        }
    }
}

impl std::error::Error for KernelError {}
