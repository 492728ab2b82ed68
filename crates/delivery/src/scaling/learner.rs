//! What pass 1 learns about the features. It also packs the dense values, since both look at each value once.

use std::collections::TryReserveError;

use serde::{Deserialize, Serialize};

use super::precision::Precision;
use super::spread::{moments, SpreadSums, MOST_FEATURES};
use super::{Scale, Scaling, Spread};
use crate::base::bits::Bits;
use crate::base::memory::{copied, list, OutOfMemory, Room};
use crate::rows::facts::Rounding;
use crate::simd::{Isa, Level, Work};

/// Sums over the rows seen so far, each of which counts as so many rows.
///
/// Dense values are kept relative to the first row's, so that 32 bits suffice for large means. Sums of deviations from
/// that row are exact enough: it is one of the n rows, so its distance from the mean is at most sqrt(n) deviations and
/// the variance loses at most a factor n of the 53 bits.
///
/// Imputing, a dense value that is not a number is missing: it is left out of the sums, and the first row's value is that
/// of the first row that has one. What is learned is what would be learned from rows with their column's mean in its
/// place.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScaleLearner {
    scale: Scale,
    #[serde(skip, default = "Level::best")]
    level: Level,
    rows: f64,
    /// The first row's dense values when standardizing, else empty.
    #[serde(deserialize_with = "list")]
    first: Vec<f64>,
    /// Sums of x - first (standardizing only) and of their squares (of x otherwise), largest magnitude of x.
    #[serde(deserialize_with = "list")]
    sums: Vec<f64>,
    #[serde(deserialize_with = "list")]
    squares: Vec<f64>,
    #[serde(deserialize_with = "list")]
    largest: Vec<f64>,
    /// Least and largest x, where they become 0 and 1, else empty.
    #[serde(deserialize_with = "list")]
    lowest: Vec<f64>,
    #[serde(deserialize_with = "list")]
    highest: Vec<f64>,
    /// Rows that have a value, from the first on that lacks one; empty: all have.
    #[serde(deserialize_with = "list")]
    present: Vec<f64>,
    impute: bool,
    precision: Precision,
    spread: SpreadSums,
    /// Sparse features: largest magnitude and sum of squares, when they are scaled.
    #[serde(deserialize_with = "list")]
    sparse_largest: Vec<f32>,
    #[serde(deserialize_with = "list")]
    sparse_squares: Vec<f32>,
    /// Sum of squares of sparse values that are not scaled.
    plain_squares: f64,
    /// Sparse features that occur.
    seen: Bits,
    /// Largest sparse id + 1.
    sparse: usize,
    /// Whether dense values are no 32-bit numbers as they are packed, some at least, and sparse ones have been rounded to such.
    rounds: [bool; 2],
}

/// What rounding may change is not counted up to this share of the primal.
const NOT_COUNTED: f64 = 1e-5;
/// What the sum of a product of some lanes of terms loses in 64 bits, in units of 2^-24: 16 roundings.
const SUMMED: f64 = 1.0 / (1 << 25) as f64;
/// What folding a centre into weights, and taking a product with them, lose in 64 bits, in units of 2^-24.
const FOLDED: f64 = 1.0 / (1 << 26) as f64;

impl ScaleLearner {
    pub fn new(scale: Scale, impute: bool) -> Self {
        Self {
            scale,
            level: Level::best(),
            rows: 0.0,
            first: Vec::new(),
            sums: Vec::new(),
            squares: Vec::new(),
            largest: Vec::new(),
            lowest: Vec::new(),
            highest: Vec::new(),
            present: Vec::new(),
            impute,
            precision: Precision::default(),
            spread: SpreadSums::default(),
            sparse_largest: Vec::new(),
            sparse_squares: Vec::new(),
            plain_squares: 0.0,
            seen: Bits::default(),
            sparse: 0,
            rounds: [false; 2],
        }
    }

    /// What becomes of values in 32 bits by this scaling, and where rows are divided by their length, and of the sums of their products in 64.
    pub fn rounding(&self, scaling: &Scaling, unit_rows: bool) -> Rounding {
        let times = |rounds: bool, scaled: bool| {
            let times = f64::from(u8::from(rounds) + u8::from(scaled));
            match unit_rows {
                // a length is off by as much as its values, and a quotient is rounded too
                true => 2.0 * times + 1.0,
                false => times,
            }
        };
        let [dense, sparse] = self.rounds;
        let shift = |j: usize| {
            let (centre, factor) = (scaling.centre_of(j), scaling.factor_of(j));
            let away = match dense {
                true => centre - self.first.get(j).copied().unwrap_or(0.0),
                false => 0.0,
            };
            factor * (away.abs() + FOLDED * centre.abs())
        };
        let shifts = (0..scaling.centre.len()).map(|j| shift(j) * shift(j));
        let scaled = |factor: f64| factor != 0.0 && factor != 1.0;
        let mut sparse_factors = scaling.sparse_factor.iter();
        Rounding {
            dense: times(dense, scaling.factor.iter().any(|it| scaled(*it))),
            sparse: times(sparse, sparse_factors.any(|it| scaled(f64::from(*it)))),
            shift: shifts.sum::<f64>().sqrt(),
            shift_by_row: false,
            sums: SUMMED,
            least: NOT_COUNTED,
        }
    }

    /// Prepares for rows like this first one.
    pub fn begin(&mut self, dense: &[f64]) -> Result<(), TryReserveError> {
        for column in [&mut self.sums, &mut self.squares, &mut self.largest] {
            column.try_reserve_exact(dense.len())?;
            column.resize(dense.len(), 0.0);
        }
        self.precision.begin(dense.len())?;
        // a value may be missing later, where there is no way to fail
        if self.impute {
            self.present.try_reserve_exact(dense.len())?;
        }
        if self.scale == Scale::MinMax {
            for (column, from) in [
                (&mut self.lowest, f64::INFINITY),
                (&mut self.highest, f64::NEG_INFINITY),
            ] {
                column.try_reserve_exact(dense.len())?;
                column.resize(dense.len(), from);
            }
        }
        if matches!(self.scale, Scale::Standard | Scale::MinMax) {
            self.first.try_reserve_exact(dense.len())?;
            self.first
                .extend(dense.iter().map(|x| if x.is_finite() { *x } else { 0.0 }));
            return Ok(());
        }
        self.spread.begin(dense, self.impute)
    }

    /// What is subtracted from dense values on their way into a row; empty means nothing.
    pub fn provisional(&self) -> &[f64] {
        &self.first
    }

    /// The bits of a dense value that is missing, in a row that is not scaled yet.
    pub fn is_missing(&self, bits: u32) -> bool {
        self.impute && f32::from_bits(bits).is_nan()
    }

    /// Means of the dense features over the rows that have them, 0 where none has; empty unless imputing.
    pub fn means(&self) -> Result<Vec<f64>, TryReserveError> {
        let mut means = Vec::new();
        if !self.impute {
            return Ok(means);
        }
        means.try_reserve_exact(self.sums.len())?;
        means.extend(self.sums.iter().enumerate().map(|(j, sum)| {
            let provisional = self.first.get(j).copied().unwrap_or(0.0);
            match self.present.get(j).copied().unwrap_or(self.rows) {
                0.0 => 0.0,
                present => provisional + sum / present,
            }
        }));
        Ok(means)
    }

    /// Learns from the dense part of a row that counts as so many, and packs it into `out`. False when a value is not finite,
    /// before or after, and not missing.
    pub fn take_dense(&mut self, dense: &[f64], rows: f64, out: &mut [u32]) -> bool {
        let lacks = self.impute && dense.iter().fold(false, |lacks, x| lacks | x.is_nan());
        if lacks && self.present.is_empty() {
            self.present.resize(dense.len(), self.rows);
            self.spread.count_present();
            // means are in their place
            self.rounds[0] = true;
        }
        self.rows += rows;
        let good = if !self.present.is_empty() {
            self.spread.take_present(dense, rows);
            self.take_present(dense, rows, out)
        } else {
            self.spread.take_dense(self.level, dense, rows);
            // the means of rows before the first that lacks a value
            if self.impute && self.first.is_empty() {
                let sums = self.sums.iter_mut().zip(dense);
                sums.for_each(|(sum, x)| *sum += rows * x);
            }
            self.level.run(TakeDense {
                dense,
                rows,
                out,
                first: &self.first,
                sums: &mut self.sums,
                squares: &mut self.squares,
                largest: &mut self.largest,
                rounds: &mut self.rounds[0],
            })
        };
        // a value that is missing is neither
        for ((x, lowest), highest) in dense.iter().zip(&mut self.lowest).zip(&mut self.highest) {
            *lowest = lowest.min(*x);
            *highest = highest.max(*x);
        }
        self.precision.take(dense, &self.first, out);
        good
    }

    /// The dense features whose values lose more of their digits in 32 bits than their spread bears.
    pub fn imprecise(&self) -> impl Iterator<Item = u64> + '_ {
        self.precision.imprecise()
    }

    /// The same where values may be missing: those become NaN.
    fn take_present(&mut self, dense: &[f64], rows: f64, out: &mut [u32]) -> bool {
        let mut good = true;
        for (j, (&x, out)) in dense.iter().zip(out).enumerate() {
            if x.is_nan() {
                *out = f32::NAN.to_bits();
                continue;
            }
            if let (Some(first), true, true) =
                (self.first.get_mut(j), self.present[j] == 0.0, x.is_finite())
            {
                *first = x;
            }
            let away = x - self.first.get(j).copied().unwrap_or(0.0);
            *out = (away as f32).to_bits();
            good &= (away as f32).is_finite();
            self.present[j] += rows;
            self.sums[j] += rows * away;
            self.squares[j] += rows * away * away;
            self.largest[j] = self.largest[j].max(x.abs());
        }
        good
    }

    /// Whether its sums are those of rows with so many dense features; those that came as bytes may not be.
    pub fn is_sound(&self, dense: usize) -> bool {
        let has = |column: &[f64], wanted: bool| column.len() == if wanted { dense } else { 0 };
        let scales_sparse = if self.scales_sparse() { self.sparse } else { 0 };
        let centred = matches!(self.scale, Scale::Standard | Scale::MinMax);
        let spans = self.scale == Scale::MinMax;
        has(&self.first, centred)
            && has(&self.sums, true)
            && has(&self.squares, true)
            && has(&self.largest, true)
            && has(&self.lowest, spans)
            && has(&self.highest, spans)
            && (self.present.is_empty() || has(&self.present, self.impute))
            && self.precision.is_sound(dense)
            && self.spread.are_sound(dense, self.sparse)
            && self.sparse_largest.len() == scales_sparse
            && self.sparse_squares.len() == scales_sparse
            && self.seen.is_sound(self.sparse)
    }

    /// Whether others were learned as these are; both are sound, of as many dense features.
    pub fn fits(&self, more: &Self) -> bool {
        self.scale == more.scale && self.impute == more.impute && self.spread.fits(&more.spread)
    }

    /// Joins what was learned of other rows, some at least in both. Gives back what is to be added to their dense values as
    /// they were packed, so that they are relative to what these are; nothing where they are already.
    pub fn join(&mut self, more: &Self) -> Result<Vec<f64>, OutOfMemory> {
        self.spread.join(&more.spread)?;
        self.precision.join(&more.precision);
        if self.present.is_empty() && !more.present.is_empty() {
            self.present.try_reserve_exact(more.present.len())?;
            self.present.resize(more.present.len(), self.rows);
        }
        let shift = self.join_dense(more)?;
        self.rows += more.rows;
        for (j, own) in self.present.iter_mut().enumerate() {
            *own += more.present.get(j).copied().unwrap_or(more.rows);
        }
        for (own, more) in self.rounds.iter_mut().zip(more.rounds) {
            *own |= more;
        }
        // what is packed anew may be rounded anew
        self.rounds[0] |= shift.iter().any(|by| *by != 0.0);
        self.join_sparse(more)?;
        Ok(shift)
    }

    fn join_dense(&mut self, more: &Self) -> Result<Vec<f64>, OutOfMemory> {
        let mut shift = copied(&more.first)?;
        for (j, by) in shift.iter_mut().enumerate() {
            if self.present.get(j) == Some(&0.0) {
                self.first[j] = more.first[j];
            }
            *by = match more.present.get(j) == Some(&0.0) {
                true => 0.0,
                false => more.first[j] - self.first[j],
            };
        }
        for j in 0..self.sums.len() {
            let by = shift.get(j).copied().unwrap_or(0.0);
            let theirs = more.rows_with(j);
            self.squares[j] += more.squares[j] + by * (2.0 * more.sums[j] + by * theirs);
            self.sums[j] += more.sums[j] + by * theirs;
            self.largest[j] = self.largest[j].max(more.largest[j]);
        }
        for (own, more) in self.lowest.iter_mut().zip(&more.lowest) {
            *own = own.min(*more);
        }
        for (own, more) in self.highest.iter_mut().zip(&more.highest) {
            *own = own.max(*more);
        }
        Ok(shift)
    }

    fn join_sparse(&mut self, more: &Self) -> Result<(), TryReserveError> {
        self.plain_squares += more.plain_squares;
        self.seen.join(&more.seen)?;
        self.sparse = self.sparse.max(more.sparse);
        if !self.scales_sparse() {
            return Ok(());
        }
        for column in [&mut self.sparse_largest, &mut self.sparse_squares] {
            column.try_reserve(self.sparse - column.len())?;
            column.resize(self.sparse, 0.0);
        }
        for (own, more) in self.sparse_largest.iter_mut().zip(&more.sparse_largest) {
            *own = own.max(*more);
        }
        for (own, more) in self.sparse_squares.iter_mut().zip(&more.sparse_squares) {
            *own += more;
        }
        Ok(())
    }

    /// Rows that have a dense feature, 1 where there are none.
    fn rows_with(&self, j: usize) -> f64 {
        some(self.present.get(j).copied().unwrap_or(self.rows))
    }

    /// Sum of the squares of a column whose missing values are its mean.
    fn completed_squares(&self, j: usize) -> f64 {
        let (n, present) = (self.rows, self.rows_with(j));
        let mean = self.sums[j] / present;
        self.squares[j]
            + if self.impute {
                (n - present) * mean * mean
            } else {
                0.0
            }
    }

    /// Whether sparse features are divided by their largest magnitudes.
    fn scales_sparse(&self) -> bool {
        matches!(self.scale, Scale::MaxAbs | Scale::MinMax)
    }

    /// Learns from the sparse part of a row that counts as so many, of values that were rounded or not.
    pub fn take_sparse(
        &mut self,
        index: &[u32],
        value: &[f32],
        (rows, rounded): (f64, bool),
    ) -> Result<(), TryReserveError> {
        self.rounds[1] |= rounded;
        let Some(&last) = index.last() else {
            return Ok(());
        };
        let end = last as usize + 1;
        self.spread.take_sparse(index, value, rows)?;
        if end > self.sparse {
            self.sparse = end;
            self.seen.grow(end)?;
            if self.scales_sparse() {
                for column in [&mut self.sparse_largest, &mut self.sparse_squares] {
                    column.try_reserve(end - column.len())?;
                    column.resize(end, 0.0);
                }
            }
        }
        for (&j, &x) in index.iter().zip(value) {
            let j = j as usize;
            if x != 0.0 {
                self.seen.set(j, true);
            }
            if self.scales_sparse() {
                self.sparse_largest[j] = self.sparse_largest[j].max(x.abs());
                self.sparse_squares[j] += rows as f32 * x * x;
            } else {
                self.plain_squares += rows * f64::from(x) * f64::from(x);
            }
        }
        Ok(())
    }

    /// Length of the sparse part: its largest id + 1.
    pub fn sparse(&self) -> usize {
        self.sparse
    }

    /// Means and deviations of the features so far, where they are kept.
    pub fn spread(&self) -> Result<Spread, OutOfMemory> {
        let mut out = Spread::default();
        let (rows, dense) = (self.rows, self.squares.len());
        if dense > MOST_FEATURES {
            return Ok(out);
        }
        for (j, first) in self.first.iter().enumerate() {
            let present = self.rows_with(j);
            let (mean, variance) = moments(self.sums[j], self.squares[j], present, rows);
            out.push(first + mean, variance)?;
        }
        self.spread.dense(&mut out)?;
        self.spread.sparse(self.sparse, &mut out)?;
        Ok(out)
    }

    /// The scaling learned so far, the number of features that occur after it, and the mean of Q. `idle` features, by id,
    /// which have one value in all rows, become 0.
    pub fn finish(&self, idle: &[u32]) -> Result<(Scaling, usize, f64), OutOfMemory> {
        let dense = self.squares.len();
        let mut learned = Learned {
            scaling: Scaling::none(dense),
            squares: self.plain_squares,
            occurring: self.seen.ones(),
        };
        match self.scale {
            Scale::None => {
                learned.squares += (0..dense).map(|j| self.completed_squares(j)).sum::<f64>();
                let occurs = |largest: &&f64| **largest > 0.0;
                learned.occurring += self.largest.iter().filter(occurs).count();
            }
            Scale::Standard => self.standardize(&mut learned)?,
            Scale::MaxAbs => {
                let factors = learned.scaling.factor.room(dense)?;
                factors.extend(self.largest.iter().map(|largest| inverse(*largest)));
                for (j, factor) in factors.iter().enumerate() {
                    learned.occurring += usize::from(*factor > 0.0);
                    learned.squares += self.completed_squares(j) * factor * factor;
                }
            }
            Scale::MinMax => self.span(&mut learned)?,
        }
        if self.scales_sparse() {
            self.divide_sparse(&mut learned)?;
        }
        for id in idle {
            self.leave_out(*id as usize, &mut learned)?;
        }
        let mean_q = learned.squares.max(0.0) / some(self.rows);
        Ok((
            learned.scaling,
            learned.occurring.max(1),
            if mean_q.is_finite() {
                mean_q
            } else {
                f64::from(f32::MAX)
            },
        ))
    }

    /// Mean 0 and deviation 1.
    fn standardize(&self, learned: &mut Learned) -> Result<(), OutOfMemory> {
        let n = some(self.rows);
        let Scaling { centre, factor, .. } = &mut learned.scaling;
        let (centre, factors) = (
            centre.room(self.first.len())?,
            factor.room(self.first.len())?,
        );
        let columns = self.first.iter().zip(&self.sums).zip(&self.squares);
        for (j, ((first, sum), square)) in columns.enumerate() {
            // missing values add nothing: they are at the mean
            let (shift, variance) = moments(*sum, *square, self.rows_with(j), n);
            let factor = inverse(variance.max(0.0).sqrt());
            centre.push(first + shift);
            factors.push(factor);
            learned.occurring += usize::from(factor > 0.0);
            learned.squares += if factor > 0.0 { n } else { 0.0 };
        }
        Ok(())
    }

    /// From 0 to 1.
    fn span(&self, learned: &mut Learned) -> Result<(), OutOfMemory> {
        let n = self.rows;
        let Scaling { centre, factor, .. } = &mut learned.scaling;
        let (centre, factors) = (
            centre.room(self.first.len())?,
            factor.room(self.first.len())?,
        );
        for (j, first) in self.first.iter().enumerate() {
            let (lowest, highest) = (self.lowest[j], self.highest[j]);
            let known = lowest <= highest;
            let lowest = if known { lowest } else { 0.0 };
            let factor = if known {
                inverse(highest - lowest)
            } else {
                0.0
            };
            let (present, away) = (self.rows_with(j), first - lowest);
            let mean = away + self.sums[j] / present;
            let square = self.squares[j]
                + away * (2.0 * self.sums[j] + away * present)
                + (n - present).max(0.0) * mean * mean;
            centre.push(lowest);
            factors.push(factor);
            learned.occurring += usize::from(factor > 0.0);
            learned.squares += square * factor * factor;
        }
        Ok(())
    }

    /// Sparse features by their largest magnitudes.
    fn divide_sparse(&self, learned: &mut Learned) -> Result<(), OutOfMemory> {
        let factors = learned.scaling.sparse_factor.room(self.sparse)?;
        for (&largest, &square) in self.sparse_largest.iter().zip(&self.sparse_squares) {
            let factor = if (1.0 / largest).is_finite() {
                1.0 / largest
            } else {
                1.0
            };
            learned.squares += f64::from(square) * f64::from(factor) * f64::from(factor);
            factors.push(factor);
        }
        Ok(())
    }

    /// Makes a feature 0 in all rows.
    fn leave_out(&self, id: usize, learned: &mut Learned) -> Result<(), OutOfMemory> {
        let (dense, n) = (self.squares.len(), self.rows);
        let scaling = &mut learned.scaling;
        let Some(sparse) = id.checked_sub(dense) else {
            if scaling.factor.is_empty() {
                scaling.factor.room(dense)?.resize(dense, 1.0);
            }
            let factor = std::mem::take(&mut scaling.factor[id]);
            if self.first.is_empty() && factor > 0.0 {
                learned.squares -= self.completed_squares(id) * factor * factor;
                learned.occurring -= usize::from(self.largest[id] > 0.0);
            }
            return Ok(());
        };
        if scaling.sparse_factor.is_empty() {
            let factors = scaling.sparse_factor.room(self.sparse)?;
            factors.resize(self.sparse, 1.0);
        }
        if let Some(factor) = scaling.sparse_factor.get_mut(sparse) {
            // a category, of 1 in each row
            *factor = 0.0;
            learned.squares -= n;
            learned.occurring -= 1;
        }
        Ok(())
    }
}

/// What follows from the sums over all rows.
struct Learned {
    scaling: Scaling,
    /// Sum of Q.
    squares: f64,
    occurring: usize,
}

/// So many rows to divide by, 1 where there are none.
pub(super) fn some(rows: f64) -> f64 {
    match rows > 0.0 {
        true => rows,
        false => 1.0,
    }
}

/// 1 / x, or 0 where that is no finite number: a constant feature is dropped.
fn inverse(x: f64) -> f64 {
    let inverse = 1.0 / x;
    if inverse.is_finite() {
        inverse
    } else {
        0.0
    }
}

struct TakeDense<'a> {
    dense: &'a [f64],
    /// How many rows the row counts as.
    rows: f64,
    out: &'a mut [u32],
    first: &'a [f64],
    sums: &'a mut [f64],
    squares: &'a mut [f64],
    largest: &'a mut [f64],
    rounds: &'a mut bool,
}

/// The exponent bits of an f32; all set means infinite or not a number.
const EXPONENT: u32 = 0x7f80_0000;

impl Work for TakeDense<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Isa>(self) -> bool {
        let (mut bad, mut lost) = (0u32, 0u32);
        let cells = self
            .dense
            .iter()
            .zip(self.out.iter_mut())
            .zip(self.squares.iter_mut());
        if self.first.is_empty() {
            for (((x, out), square), largest) in cells.zip(self.largest.iter_mut()) {
                let kept = *x as f32;
                let bits = kept.to_bits();
                bad |= u32::from(bits & EXPONENT == EXPONENT);
                lost |= u32::from(f64::from(kept) != *x);
                *out = bits;
                *square += self.rows * x * x;
                *largest = largest.max(x.abs());
            }
        } else {
            for ((((x, out), square), first), sum) in
                cells.zip(self.first).zip(self.sums.iter_mut())
            {
                let away = x - first;
                let kept = away as f32;
                let bits = kept.to_bits();
                bad |= u32::from(bits & EXPONENT == EXPONENT);
                lost |= u32::from(f64::from(kept) != away);
                *out = bits;
                *sum += self.rows * away;
                *square += self.rows * away * away;
            }
        }
        *self.rounds |= lost != 0;
        bad == 0
    }
}
