//! Whether columns differ so much in scale that the proximal shift needs a metric, and that metric.
//!
//! Learned in the first full pass, or in the verifying pass at the beginning, if there are many more rows than features. If that was a sample
//! and columns differed in it, it is learned once more in the next pass. m of a column is the mean square of its values other than 0: a mean
//! over all rows would let the weights of rare features explode.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::map::RowMap;
use crate::rows::row::Row;

/// Rows for each feature that occurs below which columns are left as they are.
const ROWS_PER_FEATURE: usize = 4;
/// Largest over smallest mean square, among common columns, from which the metric pays.
const SPREAD: f64 = 100.0;
/// A column is common when it is in one row of so many.
const COMMON: u64 = 20;

/// At first one block of rows in so many is looked at, if there are more rows than this.
const STRIDE: usize = 8;
const ENOUGH_ROWS: usize = 10_000;

pub struct Moments {
    sum: Vec<f64>,
    count: Vec<u32>,
    rows: u64,
    /// One block of rows in so many is looked at.
    stride: usize,
}

impl Moments {
    /// None where the metric cannot pay.
    pub fn new(facts: &Facts) -> Result<Option<Self>, OutOfMemory> {
        if facts.rows < ROWS_PER_FEATURE * facts.occurring || facts.features > facts.rows {
            return Ok(None);
        }
        Ok(Some(Self {
            sum: zeros(facts.features)?,
            count: zeros(facts.features)?,
            rows: 0,
            stride: if facts.rows > ENOUGH_ROWS { STRIDE } else { 1 },
        }))
    }

    /// Of the same form, with nothing learned yet.
    pub fn another(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            sum: zeros(self.sum.len())?,
            count: zeros(self.count.len())?,
            rows: 0,
            stride: self.stride,
        })
    }

    /// Of the same form, to learn from every row: None if it did so already, or sees columns that are alike.
    ///
    /// A sample costs little, and misses the few rows that hold a rare column's large values. So it may say that
    /// columns are alike, but not that they differ.
    pub fn second_look(&self, intercept: f64) -> Result<Option<Self>, OutOfMemory> {
        if self.stride == 1 || self.metric(intercept)?.is_none() {
            return Ok(None);
        }
        self.of_all_rows().map(Some)
    }

    /// Of the same form, to learn from every row.
    pub fn of_all_rows(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            stride: 1,
            ..self.another()?
        })
    }

    /// Adds what was learned from other rows.
    pub fn add(&mut self, other: &Moments) {
        for (sum, other) in self.sum.iter_mut().zip(&other.sum) {
            *sum += other;
        }
        for (count, other) in self.count.iter_mut().zip(&other.count) {
            *count += other;
        }
        self.rows += other.rows;
        self.stride = self.stride.min(other.stride);
    }

    /// Learns from the rows of these blocks, or from some of them.
    #[inline(always)]
    pub fn learn_blocks(&mut self, blocks: Blocks<'_, impl RowMap>) {
        for place in 0..blocks.numbers.len() {
            if !(blocks.numbers[place] as usize).is_multiple_of(self.stride) {
                continue;
            }
            let (first, rows) = blocks.rows(place);
            for slot in first..first + rows.count_ones() as usize {
                self.learn(&blocks.page.row(slot));
            }
        }
    }

    /// Learns from a row of those that come one by one, which are all looked at.
    #[inline(always)]
    pub fn learn_one(&mut self, row: &Row<'_>) {
        self.stride = 1;
        self.learn(row);
    }

    #[inline(always)]
    fn learn(&mut self, row: &Row<'_>) {
        self.rows += 1;
        for ((sum, count), x) in self.sum.iter_mut().zip(&mut self.count).zip(row.dense()) {
            *sum += f64::from(*x) * f64::from(*x);
            *count += u32::from(*x != 0.0);
        }
        for &[j, bits] in row.sparse() {
            let x = f64::from(f32::from_bits(bits));
            self.sum[j as usize] += x * x;
            self.count[j as usize] += u32::from(x != 0.0);
        }
    }

    /// The metric, one entry for each feature and 1 for the intercept, with the mean of x' M^-1 x; None when the
    /// columns are alike. `intercept`: 1 or 0.
    pub fn metric(&self, intercept: f64) -> Result<Option<ShiftMetric>, OutOfMemory> {
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        let mut moment: Vec<f32> = zeros(self.sum.len() + 1)?;
        let mut entries = 0u64;
        for ((moment, sum), count) in moment.iter_mut().zip(&self.sum).zip(&self.count) {
            *moment = 1.0;
            let mean = sum / f64::from(*count);
            if *count == 0 || !usable(mean) {
                continue;
            }
            *moment = mean as f32;
            entries += u64::from(*count);
            if u64::from(*count) * COMMON >= self.rows {
                least = mean.min(least);
                most = mean.max(most);
            }
        }
        let last = moment.len() - 1;
        moment[last] = 1.0;
        if most < SPREAD * least {
            return Ok(None);
        }
        let mean_norm = entries as f64 / self.rows.max(1) as f64 + intercept;
        Ok(Some(ShiftMetric {
            moment,
            whole: None,
            mean_norm,
            follows_duals: false,
        }))
    }

    /// The mean square of each column over the rows that were looked at.
    pub fn mean_squares(&self) -> Result<Vec<f32>, OutOfMemory> {
        let mut means: Vec<f32> = zeros(self.sum.len())?;
        let rows = self.rows.max(1) as f64;
        for (mean, sum) in means.iter_mut().zip(&self.sum) {
            *mean = (sum / rows) as f32;
        }
        Ok(means)
    }
}

/// Whether a mean square can be divided by in 32 bits.
pub(in crate::solver) fn usable(mean: f64) -> bool {
    (1e-30..1e30).contains(&mean)
}

pub struct ShiftMetric {
    pub moment: Vec<f32>,
    /// All of M, where that is known: see [`crate::solver::proximal::whole`].
    pub whole: Option<Vec<f64>>,
    /// Mean of x' M^-1 x over the rows it was learned from, each counted as there.
    pub mean_norm: f64,
    /// Whether it is that of [`crate::solver::proximal::dual_moments`], which changes as the dual variables do.
    pub follows_duals: bool,
}
