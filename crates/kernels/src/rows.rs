//! Rows one after the other: a dense part of the same width each, sparse entries, and squared norms.
//!
//! Features are numbered as in packed rows, dense ones first. What lies below the width is dense, whichever way it came: so
//! rows whose sparse features are few become dense as they are taken.

use serde::{Deserialize, Serialize};

use crate::base::interrupts;
use crate::base::memory::{copied, filled, list, OutOfMemory, Room};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    width: usize,
    #[serde(deserialize_with = "list")]
    dense: Vec<f32>,
    /// Pairs of feature and value bits, row after row, and where each row's end.
    #[serde(deserialize_with = "list")]
    entries: Vec<[u32; 2]>,
    #[serde(deserialize_with = "list")]
    ends: Vec<usize>,
    #[serde(deserialize_with = "list")]
    squares: Vec<f32>,
}

impl Rows {
    /// None yet.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// Makes room for so many more rows and no others; sparse entries find room as they come.
    pub fn room_for(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        self.dense
            .try_reserve_exact(self.width.saturating_mul(rows))?;
        self.ends.try_reserve_exact(rows)?;
        self.squares.try_reserve_exact(rows)?;
        Ok(())
    }

    /// The width that suits rows with so many dense features, features in all and sparse entries a row: all of them where
    /// products of sparse entries would take longer than those of the zeros between them.
    pub fn suitable_width(dense: usize, features: usize, mean_entries: f64) -> usize {
        /// A multiplication in a matrix product is faster than one of a sparse entry by this.
        const SPARSE_COST: f64 = 16.0;
        /// Dense rows are no wider, whatever they hold.
        const WIDEST: usize = 1 << 14;
        let between = features.saturating_sub(dense);
        match features <= WIDEST && between as f64 <= SPARSE_COST * mean_entries {
            true => features,
            false => dense,
        }
    }

    /// Another row: dense values, no more than the width, and sparse entries in ascending order.
    pub fn push(&mut self, dense: &[f32], sparse: &[[u32; 2]]) -> Result<(), OutOfMemory> {
        let start = self.dense.len();
        self.dense.room(self.width)?.resize(start + self.width, 0.0);
        let own = &mut self.dense[start..];
        let known = dense.len().min(own.len());
        own[..known].copy_from_slice(&dense[..known]);
        let split = sparse.partition_point(|[feature, _]| (*feature as usize) < self.width);
        for [feature, bits] in &sparse[..split] {
            own[*feature as usize] = f32::from_bits(*bits);
        }
        let dense_square = squares(own);
        let rest = &sparse[split..];
        let sparse_square: f64 = rest
            .iter()
            .map(|[_, bits]| square(f32::from_bits(*bits)))
            .sum();
        self.entries.room(rest.len())?.extend_from_slice(rest);
        self.ends.room(1)?.push(self.entries.len());
        self.squares
            .room(1)?
            .push((dense_square + sparse_square) as f32);
        Ok(())
    }

    /// A row of others of the same width.
    pub fn push_from(&mut self, rows: &Rows, row: usize) -> Result<(), OutOfMemory> {
        self.push(rows.dense(row), rows.sparse(row))
    }

    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            width: self.width,
            dense: copied(&self.dense)?,
            entries: copied(&self.entries)?,
            ends: copied(&self.ends)?,
            squares: copied(&self.squares)?,
        })
    }

    /// None any more; the memory stays.
    pub fn clear(&mut self) {
        self.dense.clear();
        self.entries.clear();
        self.ends.clear();
        self.squares.clear();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn dense(&self, row: usize) -> &[f32] {
        &self.dense[row * self.width..(row + 1) * self.width]
    }

    /// Pairs of feature and value bits, none of them below the width.
    pub fn sparse(&self, row: usize) -> &[[u32; 2]] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[start..self.ends[row]]
    }

    /// The sum of the rows, each times its factor, over so many features: the w of sum a_j <z_j, x>.
    pub fn combined(&self, factors: &[f64], features: usize) -> Result<Vec<f64>, OutOfMemory> {
        let mut sums = filled(0.0, features.max(self.width))?;
        for (row, factor) in factors.iter().enumerate().take(self.len()) {
            for (sum, value) in sums.iter_mut().zip(self.dense(row)) {
                *sum += factor * f64::from(*value);
            }
            for [feature, bits] in self.sparse(row) {
                sums[*feature as usize] += factor * f64::from(f32::from_bits(*bits));
            }
            interrupts::worked(self.width + self.sparse(row).len());
        }
        Ok(sums)
    }

    /// Squared norms of all rows.
    pub fn squares(&self) -> &[f32] {
        &self.squares
    }

    /// Dense values of all rows, one row after the other.
    pub fn all_dense(&self) -> &[f32] {
        &self.dense
    }

    /// Sparse entries of all rows.
    pub fn all_sparse(&self) -> &[[u32; 2]] {
        &self.entries
    }

    /// Whether each row has its values, entries and square; rows that came as bytes may not.
    pub(crate) fn is_sound(&self) -> bool {
        let begins = std::iter::once(&0).chain(&self.ends);
        let entries_fit = begins.zip(&self.ends).all(|(begin, end)| begin <= end)
            && self.ends.last().copied().unwrap_or(0) == self.entries.len();
        let behind = |[feature, _]: &[u32; 2]| *feature as usize >= self.width;
        entries_fit
            && self.entries.iter().all(behind)
            && self.dense.len() == self.width.saturating_mul(self.ends.len())
            && self.squares.len() == self.ends.len()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        4 * self.dense.len() + 8 * self.entries.len() + 12 * self.ends.len()
    }
}

/// Their sum, in partial sums that need not wait for each other.
fn squares(values: &[f32]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (values, last) = values.as_chunks::<LANES>();
    for values in values {
        for lane in 0..LANES {
            sums[lane] += square(values[lane]);
        }
    }
    sums.iter().sum::<f64>() + last.iter().map(|x| square(*x)).sum::<f64>()
}

#[inline(always)]
fn square(x: f32) -> f64 {
    f64::from(x) * f64::from(x)
}
