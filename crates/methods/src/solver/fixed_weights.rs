//! Sums over rows at fixed weights, and vectors that are sent as messages.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::linalg::gram::Added;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};

/// Rows of a block, which are gathered or not with one another: those of a few lines of the cache.
pub const BLOCK: usize = 16;

/// sum += by x, with the intercept's constant behind the features.
#[inline(always)]
pub(in crate::solver) fn add_row<K: Isa>(sum: &mut [f64], by: f64, row: &Row<'_>, intercept: f64) {
    let dense = row.dense();
    f64::add_dense::<K>(&mut sum[..dense.len()], by, dense);
    f64::add_sparse::<K>(sum, by, row.sparse());
    if let Some(last) = sum.last_mut() {
        *last += by * intercept;
    }
}

/// A row as products take it, with the intercept's constant behind the features.
#[inline(always)]
pub(in crate::solver) fn added<'a>(row: &Row<'a>, weight: f64, constant: f64) -> Added<'a> {
    Added {
        dense: row.dense(),
        sparse: row.sparse(),
        constant,
        weight,
    }
}

/// sums += more
pub(in crate::solver) fn add(sums: &mut [f64], more: &[f64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// <a, b>
pub(in crate::solver) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weights, or sums of as many columns.
#[derive(Serialize, Deserialize)]
pub(in crate::solver) struct Numbers(
    #[serde(deserialize_with = "list")] pub(in crate::solver) Vec<f64>,
);

impl Numbers {
    pub(in crate::solver) fn of(numbers: &[f64]) -> Result<Self, OutOfMemory> {
        copied(numbers).map(Self)
    }
}
