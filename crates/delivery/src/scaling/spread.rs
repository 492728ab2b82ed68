//! Mean and standard deviation of each feature over the rows, by which weights of different features can be compared.
//!
//! Sources with very many features have none, so that models stay small. If the scaling needs no sums of its own and rows are very many, a
//! part of the rows is enough: adding up a row costs about as much as packing it.

use std::collections::TryReserveError;

use serde::{Deserialize, Serialize};

use super::learner::some;
use super::Scaling;
use crate::base::memory::{copied, gathered, list, OutOfMemory, Room};
use crate::simd::{Isa, Level, Work};

/// Most dense features, and most sparse ones, whose spread is kept.
pub(super) const MOST_FEATURES: usize = 4096;

/// Rows that are all looked at, and of those behind them one in so many: an odd number, so that tables with a rhythm are
/// looked at all over.
const FIRST_ROWS: u64 = 1 << 14;
const ONE_IN: u64 = 17;

/// By feature id, as far as they are known: the dense features where they are few enough, and behind them the sparse ones
/// where those are too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spread {
    #[serde(deserialize_with = "list")]
    pub mean: Vec<f64>,
    /// Over n, not n - 1.
    #[serde(deserialize_with = "list")]
    pub deviation: Vec<f64>,
}

impl Spread {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            mean: copied(&self.mean)?,
            deviation: copied(&self.deviation)?,
        })
    }

    /// Whether nothing is known of any feature.
    pub fn is_empty(&self) -> bool {
        self.deviation.is_empty()
    }

    /// As deviations are behind a scaling, without means: those of rows that are divided by their length behind it are not known.
    pub fn scaled(&self, scaling: &Scaling) -> Result<Self, OutOfMemory> {
        let deviations = self.deviation.iter().enumerate();
        let scaled = deviations.map(|(j, deviation)| deviation * scaling.factor_of(j));
        Ok(Self {
            mean: Vec::new(),
            deviation: gathered(scaled)?,
        })
    }

    /// Adds the next feature.
    pub(super) fn push(&mut self, mean: f64, variance: f64) -> Result<(), OutOfMemory> {
        self.mean.room(1)?.push(mean);
        self.deviation.room(1)?.push(variance.max(0.0).sqrt());
        Ok(())
    }
}

/// Sums over the rows seen so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SpreadSums {
    /// Rows that have come, as how many those count that are looked at, and whether the last one is.
    rows: u64,
    taken: f64,
    looks: bool,
    /// Of dense features that the scaling sums nothing up of: the first value, and sums of what values are away from it and
    /// of the squares of that. So large means cost no digits.
    #[serde(deserialize_with = "list")]
    origin: Vec<f64>,
    #[serde(deserialize_with = "list")]
    away: Vec<f64>,
    #[serde(deserialize_with = "list")]
    squares: Vec<f64>,
    /// As how many those count that have each of them, from the first row on that lacks one; empty: all have.
    #[serde(deserialize_with = "list")]
    present: Vec<f64>,
    /// Of sparse features sums of values and of squares; nothing any more where they are too many.
    #[serde(deserialize_with = "list")]
    sparse: Vec<[f64; 2]>,
    too_many: bool,
}

impl SpreadSums {
    /// Prepares for rows like this first one; `impute`: whether values may be missing.
    pub(super) fn begin(&mut self, dense: &[f64], impute: bool) -> Result<(), TryReserveError> {
        if dense.len() > MOST_FEATURES {
            return Ok(());
        }
        self.origin.try_reserve_exact(dense.len())?;
        self.origin.extend_from_slice(dense);
        for column in [&mut self.away, &mut self.squares] {
            column.try_reserve_exact(dense.len())?;
            column.resize(dense.len(), 0.0);
        }
        // a value may be missing later, where there is no way to fail
        if impute {
            self.present.try_reserve_exact(dense.len())?;
        }
        Ok(())
    }

    /// The next row is the first that lacks a value.
    pub(super) fn count_present(&mut self) {
        self.present.resize(self.origin.len(), self.taken);
    }

    /// Whether its sums are those of so many dense features and so many sparse ones at most; those that came as bytes may not be.
    pub(super) fn are_sound(&self, dense: usize, sparse: usize) -> bool {
        let columns = [&self.origin, &self.away, &self.squares];
        let of_dense = |length: usize| columns.iter().all(|column| column.len() == length);
        let counts = self.present.is_empty() || self.present.len() == self.origin.len();
        (of_dense(0) || of_dense(dense)) && counts && self.sparse.len() <= sparse
    }

    /// Whether others sum up as many dense features.
    pub(super) fn fits(&self, more: &Self) -> bool {
        self.origin.len() == more.origin.len()
    }

    /// Begins a row that counts as so many, whose dense values are all there.
    pub(super) fn take_dense(&mut self, level: Level, dense: &[f64], rows: f64) {
        if self.looks_at_next(rows) {
            let sums = self;
            level.run(TakeSums { dense, rows, sums });
        }
    }

    /// Whether the next row, which counts as so many, is looked at.
    fn looks_at_next(&mut self, rows: f64) -> bool {
        self.rows += 1;
        self.looks = self.rows <= FIRST_ROWS || self.rows.is_multiple_of(ONE_IN);
        if self.looks {
            self.taken += rows;
        }
        self.looks
    }

    /// The same once a value has been missing.
    pub(super) fn take_present(&mut self, dense: &[f64], rows: f64) {
        if !self.looks_at_next(rows) {
            return;
        }
        for (j, (x, origin)) in dense.iter().zip(&mut self.origin).enumerate() {
            if x.is_nan() {
                continue;
            }
            if origin.is_nan() || self.present[j] == 0.0 {
                *origin = *x;
            }
            self.present[j] += rows;
            let away = x - *origin;
            self.away[j] += rows * away;
            self.squares[j] += rows * away * away;
        }
    }

    pub(super) fn take_sparse(
        &mut self,
        index: &[u32],
        value: &[f32],
        rows: f64,
    ) -> Result<(), TryReserveError> {
        let Some(&last) = index.last() else {
            return Ok(());
        };
        let end = last as usize + 1;
        if self.too_many || end > MOST_FEATURES {
            self.too_many = true;
            self.sparse = Vec::new();
            return Ok(());
        }
        if end > self.sparse.len() {
            self.sparse.try_reserve(end - self.sparse.len())?;
            self.sparse.resize(end, [0.0; 2]);
        }
        if !self.looks {
            return Ok(());
        }
        for (&j, &x) in index.iter().zip(value) {
            let x = f64::from(x);
            let [sum, square] = &mut self.sparse[j as usize];
            *sum += rows * x;
            *square += rows * x * x;
        }
        Ok(())
    }

    /// Joins sums over other rows.
    pub(super) fn join(&mut self, more: &Self) -> Result<(), TryReserveError> {
        if self.present.is_empty() && !more.present.is_empty() {
            self.present.try_reserve_exact(more.present.len())?;
            self.present.resize(more.present.len(), self.taken);
        }
        for (j, (origin, other)) in self.origin.iter_mut().zip(&more.origin).enumerate() {
            let theirs = more.rows_with(j);
            let own = self.present.get(j).copied().unwrap_or(self.taken);
            if origin.is_nan() || own == 0.0 {
                *origin = *other;
            }
            let by = if theirs > 0.0 { other - *origin } else { 0.0 };
            self.squares[j] += more.squares[j] + by * (2.0 * more.away[j] + by * theirs);
            self.away[j] += more.away[j] + by * theirs;
        }
        for (j, own) in self.present.iter_mut().enumerate() {
            *own += more.rows_with(j);
        }
        self.rows += more.rows;
        self.taken += more.taken;
        self.too_many |= more.too_many;
        if self.too_many {
            self.sparse = Vec::new();
            return Ok(());
        }
        let longer = more.sparse.len().saturating_sub(self.sparse.len());
        self.sparse.try_reserve(longer)?;
        self.sparse.resize(self.sparse.len() + longer, [0.0; 2]);
        for (own, more) in self.sparse.iter_mut().zip(&more.sparse) {
            own[0] += more[0];
            own[1] += more[1];
        }
        Ok(())
    }

    /// As how many rows those count that have a dense feature, of those that were looked at.
    fn rows_with(&self, j: usize) -> f64 {
        self.present.get(j).copied().unwrap_or(self.taken)
    }

    /// Adds the dense features.
    pub(super) fn dense(&self, out: &mut Spread) -> Result<(), OutOfMemory> {
        let rows = self.taken;
        for (j, origin) in self.origin.iter().enumerate() {
            let present = self.rows_with(j);
            let (mean, variance) = moments(self.away[j], self.squares[j], present, rows);
            let origin = if origin.is_nan() { 0.0 } else { *origin };
            out.push(origin + mean, variance)?;
        }
        Ok(())
    }

    /// Adds the sparse features, which are `count`.
    pub(super) fn sparse(&self, count: usize, out: &mut Spread) -> Result<(), OutOfMemory> {
        let rows = self.taken;
        if self.too_many || self.sparse.len() != count {
            return Ok(());
        }
        for [sum, square] in &self.sparse {
            let (mean, variance) = moments(*sum, *square, rows, rows);
            out.push(mean, variance)?;
        }
        Ok(())
    }
}

/// Mean and variance from the sum and the sum of squares over those of the rows that have a value; the others lie at the mean.
pub(super) fn moments(sum: f64, squares: f64, present: f64, rows: f64) -> (f64, f64) {
    let (present, rows) = (some(present), some(rows));
    let mean = sum / present;
    (mean, squares / rows - mean * mean * (present / rows))
}

struct TakeSums<'a> {
    dense: &'a [f64],
    rows: f64,
    sums: &'a mut SpreadSums,
}

impl Work for TakeSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let SpreadSums {
            origin,
            away,
            squares,
            ..
        } = self.sums;
        let columns = origin.iter().zip(away.iter_mut().zip(squares.iter_mut()));
        for (x, (origin, (sum, square))) in self.dense.iter().zip(columns) {
            let away = x - origin;
            *sum += self.rows * away;
            *square += self.rows * away * away;
        }
    }
}
