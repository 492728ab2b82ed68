//! How much dense values lose when they are packed into 32 bits, compared with how far they spread.
//!
//! Looking at a row costs about as much as packing it. So after the first rows only some are looked at.

use std::collections::TryReserveError;

use serde::{Deserialize, Serialize};

use crate::base::memory::list;

/// Rows that are all looked at, and of those behind them one in so many.
const FIRST_ROWS: u64 = 1 << 10;
const ONE_IN: u64 = 64;
/// A column loses too much where its values are off by more than this share of their standard deviation, in the root mean
/// square. Plain 32-bit numbers of mean 0 lose less than a thirtieth of it.
const MOST_LOST: f64 = 1e-6;

/// Sums over the rows looked at.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Precision {
    rows: u64,
    #[serde(deserialize_with = "list")]
    columns: Vec<ColumnPrecision>,
}

/// Of a column: a value of it, the values that were there, the sums of what they are away from that one and of its square,
/// and that of the square of what is lost.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct ColumnPrecision {
    base: f64,
    values: f64,
    away: f64,
    square: f64,
    lost: f64,
}

impl Precision {
    /// Prepares for rows with so many dense values.
    pub(super) fn begin(&mut self, dense: usize) -> Result<(), TryReserveError> {
        self.columns.try_reserve_exact(dense)?;
        self.columns.resize(dense, ColumnPrecision::default());
        Ok(())
    }

    /// Takes a row that was packed relative to these values, empty for 0; what is no number is missing.
    #[inline]
    pub(super) fn take(&mut self, dense: &[f64], first: &[f64], packed: &[u32]) {
        self.rows += 1;
        if self.rows <= FIRST_ROWS || self.rows.is_multiple_of(ONE_IN) {
            self.look(dense, first, packed);
        }
    }

    #[cold]
    fn look(&mut self, dense: &[f64], first: &[f64], packed: &[u32]) {
        let values = dense.iter().zip(packed);
        for (j, ((&x, &bits), column)) in values.zip(&mut self.columns).enumerate() {
            if !x.is_finite() {
                continue;
            }
            if column.values == 0.0 {
                column.base = x;
            }
            let kept = f64::from(f32::from_bits(bits));
            let lost = x - first.get(j).copied().unwrap_or(0.0) - kept;
            let away = x - column.base;
            column.values += 1.0;
            column.away += away;
            column.square += away * away;
            column.lost += lost * lost;
        }
    }

    /// Whether it knows so many columns; one that came as bytes may not.
    pub(super) fn is_sound(&self, dense: usize) -> bool {
        self.columns.len() == dense
    }

    /// Joins what was seen of other rows.
    pub(super) fn join(&mut self, more: &Self) {
        self.rows += more.rows;
        for (own, more) in self.columns.iter_mut().zip(&more.columns) {
            own.join(more);
        }
    }

    /// The columns that lose too much.
    pub(super) fn imprecise(&self) -> impl Iterator<Item = u64> + '_ {
        let columns = (0..).zip(&self.columns);
        columns
            .filter(|(_, column)| column.loses())
            .map(|(at, _)| at)
    }
}

impl ColumnPrecision {
    fn join(&mut self, more: &Self) {
        if self.values == 0.0 {
            *self = *more;
            return;
        }
        // what is away from their value, from ours
        let by = more.base - self.base;
        self.square += more.square + by * (2.0 * more.away + by * more.values);
        self.away += more.away + by * more.values;
        self.values += more.values;
        self.lost += more.lost;
    }

    fn loses(&self) -> bool {
        let variance = self.square - self.away * self.away / self.values.max(1.0);
        variance > 0.0 && self.lost > MOST_LOST * MOST_LOST * variance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loses(values: impl Iterator<Item = f64>, first: &[f64]) -> bool {
        let mut precision = Precision::default();
        precision.begin(1).unwrap();
        for x in values {
            let away = x - first.first().copied().unwrap_or(0.0);
            precision.take(&[x], first, &[(away as f32).to_bits()]);
        }
        precision.imprecise().eq([0])
    }

    #[test]
    fn what_is_lost_is_told_from_what_is_only_large() {
        let ints = |from: f64, step: f64| (0..5000).map(move |i| from + step * f64::from(i % 7));
        // 2^24 + 1 is no 32-bit number, and all whole numbers below are
        assert!(loses(ints(16_777_216.0, 1.0), &[]));
        assert!(!loses(ints(16_777_000.0, 1.0), &[]));
        assert!(!loses(ints(16_777_216.0, 1.0), &[16_777_216.0]));
        assert!(!loses(ints(1e15, 1.0), &[1e15 + 3.0]));
        // tenths lose a little everywhere, much beside a large mean
        assert!(!loses(ints(0.0, 0.1), &[]));
        assert!(!loses(ints(5.0, 0.1), &[]));
        assert!(loses(ints(1000.0, 0.1), &[]));
        assert!(!loses(ints(1000.0, 0.1), &[1000.3]));
        // a first value far from all others takes their digits
        assert!(loses(ints(0.0, 0.1), &[1e6]));
        // what does not vary has nothing to lose, and what is missing neither
        assert!(!loses(ints(0.1, 0.0), &[]));
        assert!(!loses((0..9).map(|_| f64::NAN), &[]));
        assert!(!loses(std::iter::empty(), &[]));
    }
}
