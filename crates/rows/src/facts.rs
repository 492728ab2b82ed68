//! What is known of all rows when the last one has been read.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::row::Row;

/// How far visited values may be from those that they have been rounded from, in units of 2^-24: each by so many times itself, and the
/// dense ones of a row, as a vector, by this length beside. Where rows are divided by their lengths that is what it comes to in the middle, and
/// each row says by how much it is off ([`Row::unit_off`]). Sums of products with weights lose so many times each product beside. What that
/// makes of primal and dual is not counted where it is no more than this least share of the primal.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rounding {
    pub dense: f64,
    pub sparse: f64,
    pub shift: f64,
    pub shift_by_row: bool,
    pub sums: f64,
    pub least: f64,
}

impl Rounding {
    /// A 32-bit number is off by so much of itself at most.
    pub const UNIT: f64 = 1.0 / (1 << 24) as f64;

    /// By how much <w, x> of such a row may be off at most, but for the shift.
    #[inline(always)]
    pub fn off(&self, row: &Row<'_>, w: &[f64]) -> f64 {
        let [dense, sparse] = self.products();
        dense * size_dense(row.dense(), w) + sparse * size_sparse(row.sparse(), w)
    }

    /// By how much the product of a dense value, or a sparse one, with a weight may be off at most, times itself; but for the shift.
    pub fn products(&self) -> [f64; 2] {
        [self.dense, self.sparse].map(|times| Self::UNIT * (times + self.sums))
    }

    /// The length of what such a row is off by at most.
    #[inline(always)]
    pub fn length_off(&self, row: &Row<'_>) -> f64 {
        // the squared norm is a sum in 32 bits
        const SUMMED: f64 = 1.0 + 1e-3;
        let length = SUMMED * f64::from(row.q()).sqrt();
        self.off_of_length(length) + self.shift_off(row)
    }

    /// The same of a row of this length, but for the shift.
    fn off_of_length(&self, length: f64) -> f64 {
        Self::UNIT * self.dense.max(self.sparse) * length
    }

    /// By how much every row may be off beside, as a vector.
    pub fn all_off(&self) -> f64 {
        Self::UNIT * self.shift
    }

    /// The same once rows are divided by their lengths, which are about so long: see [`unit_q`](crate::row::unit_q).
    pub fn divided(self, length: f64) -> Self {
        Self {
            shift: match self.shift > 0.0 {
                true => 2.0 * self.shift / length,
                false => 0.0,
            },
            shift_by_row: self.shift > 0.0,
            ..self
        }
    }

    /// By how much it is off beside, as a vector; times the length of w <w, x> is.
    #[inline(always)]
    pub fn shift_off(&self, row: &Row<'_>) -> f64 {
        match self.shift_by_row {
            true => row.unit_off(),
            false => self.all_off(),
        }
    }
}

/// sum |x w|, in sums of their own that wait for nobody.
#[inline(always)]
fn size_dense(x: &[f32], w: &[f64]) -> f64 {
    const SUMS: usize = 8;
    let ((x_wide, x), (w_wide, w)) = (x.as_chunks::<SUMS>(), w[..x.len()].as_chunks::<SUMS>());
    let mut sums = [0.0; SUMS];
    for (x, w) in x_wide.iter().zip(w_wide) {
        for k in 0..SUMS {
            sums[k] += (f64::from(x[k]) * w[k]).abs();
        }
    }
    let rest = x.iter().zip(w).map(|(x, w)| (f64::from(*x) * w).abs());
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// sum |x w|
#[inline(always)]
fn size_sparse(x: &[[u32; 2]], w: &[f64]) -> f64 {
    let size = |[feature, bits]: &[u32; 2]| f64::from(f32::from_bits(*bits)) * w[*feature as usize];
    x.iter().map(|entry| size(entry).abs()).sum()
}

/// What the reader knows at the end of pass 1 and the trainer needs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Facts {
    /// Rows in all.
    pub rows: usize,
    /// Length of the dense part.
    pub dense: usize,
    /// Largest feature id + 1.
    pub features: usize,
    /// Features that differ from 0 in some row, at least 1.
    pub occurring: usize,
    /// Group ids in use: 0..groups.
    pub groups: usize,
    /// A bit for each fold that has rows.
    pub folds: u64,
    /// Rows whose class differs from the row before.
    pub class_changes: usize,
    /// Words of the longest row.
    pub max_row_words: usize,
    /// Words of a row on average when it is visited.
    pub mean_row_words: usize,
    /// The same as it is stored.
    pub stored_row_words: usize,
    /// Words of the longest compact row when it is visited; 0 where there is none.
    pub most_visited_words: usize,
    /// Mean of Q over all rows.
    pub mean_q: f64,
    /// Classes of which the weights as positives follow, see `positive_weights` of the cache; 0: all are 1.
    pub weighed: usize,
    /// Of two classes, the one that scores take for positive.
    pub positive: usize,
    /// What rounding has made of values.
    pub rounding: Rounding,
    /// The costs of all rows come to no more.
    pub costs: f64,
    /// Whether rows have offsets.
    pub offsets: bool,
    /// Where these are of targets, by how much a score may be off without a loss.
    pub epsilon: Option<f64>,
    /// Where rows have targets, the standard deviation of these; 0 where that is not known.
    pub deviation: f64,
}

impl Facts {
    pub const FIELDS: usize = 24;

    pub fn store(&self, fields: &[AtomicU64; Self::FIELDS]) {
        let values = [
            self.rows as u64,
            self.dense as u64,
            self.features as u64,
            self.occurring as u64,
            self.groups as u64,
            self.folds,
            self.class_changes as u64,
            self.max_row_words as u64,
            self.mean_row_words as u64,
            self.mean_q.to_bits(),
            self.weighed as u64,
            self.positive as u64,
            self.stored_row_words as u64,
            self.most_visited_words as u64,
            self.rounding.dense.to_bits(),
            self.rounding.sparse.to_bits(),
            self.rounding.shift.to_bits(),
            self.costs.to_bits(),
            self.rounding.least.to_bits(),
            self.rounding.sums.to_bits(),
            u64::from(self.rounding.shift_by_row),
            u64::from(self.offsets),
            self.epsilon.unwrap_or(f64::NAN).to_bits(),
            self.deviation.to_bits(),
        ];
        for (field, value) in fields.iter().zip(values) {
            field.store(value, Ordering::Relaxed);
        }
    }

    /// Where rows have targets, how far these are apart: 1 where that is not known, as of targets that are standardized.
    pub fn spread(&self) -> Option<f64> {
        self.epsilon.map(|_| match self.deviation > 0.0 {
            true => self.deviation,
            false => 1.0,
        })
    }

    /// By how much scores may be off in the root mean square for what rounding has made of rows, times |w|.
    pub fn most_off(&self) -> f64 {
        self.most_length_off() + Rounding::UNIT * self.rounding.sums * self.mean_q.sqrt()
    }

    /// The length of what rows are off by in the root mean square.
    pub fn most_length_off(&self) -> f64 {
        self.rounding.off_of_length(self.mean_q.sqrt()) + self.rounding.all_off()
    }

    pub fn load(fields: &[AtomicU64; Self::FIELDS]) -> Self {
        let get = |k: usize| fields[k].load(Ordering::Relaxed);
        let number = |k: usize| f64::from_bits(get(k));
        Self {
            rows: get(0) as usize,
            dense: get(1) as usize,
            features: get(2) as usize,
            occurring: get(3) as usize,
            groups: get(4) as usize,
            folds: get(5),
            class_changes: get(6) as usize,
            max_row_words: get(7) as usize,
            mean_row_words: get(8) as usize,
            mean_q: number(9),
            weighed: get(10) as usize,
            positive: get(11) as usize,
            stored_row_words: get(12) as usize,
            most_visited_words: get(13) as usize,
            rounding: Rounding {
                dense: number(14),
                sparse: number(15),
                shift: number(16),
                shift_by_row: get(20) != 0,
                least: number(18),
                sums: number(19),
            },
            costs: number(17),
            offsets: get(21) != 0,
            epsilon: Some(number(22)).filter(|epsilon| !epsilon.is_nan()),
            deviation: number(23),
        }
    }
}
