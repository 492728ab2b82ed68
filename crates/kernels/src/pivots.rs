//! Landmarks by an incomplete Cholesky factorization of the kernel matrix of a sample.
//!
//! ```text
//! sought   H with K ≈ H H', K_ij = k(x_i, x_j) over the m rows of the sample, H m x p; rows of H belong to rows of the sample
//! v        diagonal of K - H H', the residuals: v_i = |phi(x_i)|² of what the landmarks do not say of row i
//! step     a pivot i with v_i > 0;  h_j = (K_ji - sum_l H_jl H_il) / sqrt(v_i) for all rows j is the next column of H;
//!          v_j -= h_j²                           PSVM (Chang and others, NIPS 2007), Algorithm 1, equations 3 to 5
//! stop     p columns, or sum v <= tolerance sum k(x, x), or no residual above rounding
//! factor   L = the pivots' rows of H, lower triangular: K of the landmarks = L L'
//! ```
//!
//! The paper takes the greatest residual each time ([`Choice::Greatest`]). Its columns of K are then products of the sample with one row. Here the
//! rows with the [`BLOCK`] greatest residuals are taken together, K and the earlier columns of H meet them in two matrix
//! products, and they become pivots in the order of what is left of them, as long as that is [`CLOSE`] to the greatest of all:
//! one that the others of the block have already said is left for later.
//!
//! The greatest residuals belong to outliers where the kernel is narrow. With [`Choice::Drawn`] rows are drawn with chances in
//! proportion to their residuals (Chen, Epperly, Tropp, Webber: Randomly pivoted Cholesky, Communications on Pure and Applied
//! Mathematics 78, 2025), a block of them together: each becomes a pivot with the chance that is left of its residual in
//! its turn, as if it had been drawn only then. With [`Choice::InOrder`] rows become pivots as they stand in the sample,
//! those of them that say something.
//!
//! The sample stands for all rows: v of its rows says what the map leaves out, as a part of the trace. (Where K itself is
//! approximated so, the dual objective is off by at most C² l e / 2 with l support vectors and e the trace left out of their
//! matrix: Fine and Scheinberg, JMLR 2, 2001.)
//!
//! Residuals below 0 by more than rounding say that the kernel is no inner product, and end it.
//!
//! A step takes m BLOCK (d + p) multiplications and looks for interrupts on its way. Memory: 8 m (p + BLOCK) bytes besides
//! the sample, asked for at the beginning.

use serde::{Deserialize, Serialize};

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, list, OutOfMemory, Room as _};
use crate::base::random::{Random, Stream};
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::products::Landmarks;
use crate::rows::Rows;
use crate::simd::panels::{pack, packed_len, Lines, Multiply};
use crate::simd::Level;

/// Rows that are taken together.
pub const BLOCK: usize = 32;
/// A pivot's residual, as a part of the greatest at the time, at least.
const CLOSE: f64 = 0.9;
/// Residuals, as a part of the largest k(x, x), that are no more than what 32 bits lose in kernel values.
pub const ROUNDING: f64 = 2e-6;
/// Residuals below 0 by so much are not rounding.
pub const NEGATIVE: f64 = -1e-3;
/// Rows of the sample that a product takes at a time.
const ROWS_AT_ONCE: usize = 1024;

/// Which rows become pivots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Those of which the others say least.
    Greatest,
    /// Drawn, a row with a chance in proportion to its residual.
    Drawn { seed: u64 },
    /// The first of the sample that say something; so a random sample gives uniform landmarks. The first `given` of them are
    /// no rows of the data but means, and the trace does not count them.
    InOrder { given: usize },
}

/// A factorization under way.
pub struct Pivots {
    kernel: Kernel,
    level: Level,
    sample: Rows,
    choice: Choice,
    rank: usize,
    tolerance: f64,
    /// Columns so far.
    columns: usize,
    /// H, with rows of `rank` numbers.
    factor: Vec<f64>,
    residuals: Vec<f64>,
    /// Of the kernel values, the sum over the diagonal, and the largest.
    trace: f64,
    largest: f64,
    pivots: Vec<usize>,
    /// The next row, where they come in order.
    next: usize,
    random: Random,
    /// Residuals of the candidates when they were drawn.
    proposed: Vec<f64>,
    block: Vec<f64>,
}

/// What it comes to; all that a map is made of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    pub(crate) kernel: Kernel,
    pub(crate) landmarks: Rows,
    /// L, row after row.
    #[serde(deserialize_with = "list")]
    pub(crate) lower: Vec<f64>,
    /// Where the landmarks stood in the sample.
    #[serde(deserialize_with = "list")]
    pub(crate) pivots: Vec<usize>,
    /// The part of the trace that is left out.
    pub(crate) left_out: f64,
}

/// The same where it is, on its way to another process.
#[derive(Debug, Serialize)]
pub struct FactorView<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) landmarks: &'a Rows,
    pub(crate) lower: &'a [f64],
    pub(crate) pivots: &'a [usize],
    pub(crate) left_out: f64,
}

impl Factor {
    /// Whether its parts fit one another; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self) -> bool {
        let rank = self.landmarks.len();
        rank > 0
            && self.lower.len() == rank.saturating_mul(rank)
            && self.pivots.len() == rank
            && self.landmarks.is_sound()
            && self.kernel.is_sound()
    }

    /// Landmarks.
    pub fn rank(&self) -> usize {
        self.landmarks.len()
    }

    /// Of landmarks that stood at `pivots`, with K of them = L L' and L's rows one after the other, each as many numbers as
    /// there are landmarks; None where they are not.
    pub fn of(
        kernel: Kernel,
        landmarks: Rows,
        lower: Vec<f64>,
        pivots: Vec<usize>,
        left_out: f64,
    ) -> Option<Self> {
        let this = Self {
            kernel,
            landmarks,
            lower,
            pivots,
            left_out,
        };
        this.is_sound().then_some(this)
    }
}

impl Pivots {
    /// Begins with up to `rank` pivots of the sample, until no more than `tolerance` of the trace is left out.
    pub fn new(
        kernel: Kernel,
        sample: Rows,
        choice: Choice,
        rank: usize,
        tolerance: f64,
    ) -> Result<Self, KernelError> {
        let rows = sample.len();
        if rank == 0 {
            return Err(KernelError::NoRank);
        }
        if rank > rows {
            return Err(KernelError::Rank { rank, rows });
        }
        let mut this = Self {
            kernel,
            level: Level::best(),
            choice,
            rank,
            tolerance,
            columns: 0,
            factor: filled(0.0, rows.saturating_mul(rank))?,
            residuals: filled(0.0, rows)?,
            trace: 0.0,
            largest: 0.0,
            pivots: Vec::new(),
            next: 0,
            random: Random::new(
                match choice {
                    Choice::Drawn { seed } => seed,
                    Choice::Greatest | Choice::InOrder { .. } => 0,
                },
                Stream::Landmarks,
            ),
            proposed: Vec::new(),
            block: filled(0.0, rows * BLOCK)?,
            sample,
        };
        this.pivots.room(rank)?;
        for row in 0..rows {
            let value = kernel.own_value(this.sample.wide_square(row));
            if !(value as f32).is_finite() {
                return Err(KernelError::NotFinite { row });
            }
            this.residuals[row] = value;
            this.largest = this.largest.max(value.abs());
        }
        if this.largest == 0.0 {
            return Err(KernelError::Zero);
        }
        this.trace = this.counted();
        this.check()?;
        Ok(this)
    }

    /// Bytes for a sample of so many rows, besides the rows themselves.
    pub fn bytes(rows: usize, rank: usize) -> usize {
        8 * rows.saturating_mul(rank + BLOCK + 1)
    }

    /// Pivots so far.
    pub fn taken(&self) -> usize {
        self.columns
    }

    /// The part of the trace that they leave out.
    pub fn left_out(&self) -> f64 {
        match self.trace > 0.0 {
            true => (self.counted() / self.trace).max(0.0),
            false => 0.0,
        }
    }

    /// What is left of the trace, of the rows that count.
    fn counted(&self) -> f64 {
        let given = match self.choice {
            Choice::Greatest | Choice::Drawn { .. } => 0,
            Choice::InOrder { given } => given,
        };
        self.residuals.iter().skip(given).sum()
    }

    /// Takes another block of pivots; true when there are no more to take.
    pub fn step(&mut self) -> Result<bool, KernelError> {
        if self.columns == self.rank || self.left_out() <= self.tolerance {
            return Ok(true);
        }
        let candidates = self.candidates()?;
        if candidates.is_empty() {
            return Ok(true);
        }
        let width = candidates.len();
        self.meet(&candidates)?;
        let begun = self.columns;
        let mut waiting: Vec<usize> = (0..width).collect();
        while self.columns < self.rank && self.left_out() > self.tolerance {
            let Some(place) = self.best(&candidates, &mut waiting) else {
                break;
            };
            let column = waiting.remove(place);
            self.take(&candidates, column, width, begun)?;
        }
        Ok(false)
    }

    /// Rows that may become pivots now.
    fn candidates(&mut self) -> Result<Vec<usize>, OutOfMemory> {
        let floor = self.floor();
        let most = BLOCK.min(self.rank - self.columns);
        let says = |row: &usize| self.residuals[*row] > floor;
        match self.choice {
            Choice::Greatest => {
                let mut all = gathered((0..self.residuals.len()).filter(says))?;
                let order =
                    |a: &usize, b: &usize| self.residuals[*b].total_cmp(&self.residuals[*a]);
                if all.len() > most {
                    all.select_nth_unstable_by(most - 1, order);
                    all.truncate(most);
                }
                all.sort_unstable_by(|a, b| order(a, b).then(a.cmp(b)));
                Ok(all)
            }
            Choice::Drawn { .. } => self.drawn(most),
            Choice::InOrder { .. } => {
                let found = gathered((self.next..self.residuals.len()).filter(says).take(most))?;
                self.next = found.last().map_or(self.residuals.len(), |last| last + 1);
                Ok(found)
            }
        }
    }

    /// So many rows drawn in proportion to their residuals, each once, with the residuals of that moment.
    fn drawn(&mut self, most: usize) -> Result<Vec<usize>, OutOfMemory> {
        let floor = self.floor();
        let mut sum = 0.0;
        let sums = gathered(self.residuals.iter().map(|residual| {
            sum += if *residual > floor { *residual } else { 0.0 };
            sum
        }))?;
        let mut found = Vec::new();
        self.proposed.clear();
        for _ in 0..if sum > 0.0 { most } else { 0 } {
            let aim = self.random.unit() * sum;
            let row = sums.partition_point(|until| *until <= aim);
            if row < sums.len() && !found.contains(&row) {
                found.room(1)?.push(row);
                self.proposed.room(1)?.push(self.residuals[row]);
            }
        }
        Ok(found)
    }

    fn floor(&self) -> f64 {
        ROUNDING * self.largest
    }

    /// What the columns of K and of H so far make of the candidates: `block` = K - H H', a column for each.
    fn meet(&mut self, candidates: &[usize]) -> Result<(), KernelError> {
        let (rows, width, columns) = (self.sample.len(), candidates.len(), self.columns);
        let mut own = Rows::new(self.sample.width());
        let mut factors: Vec<f64> = Vec::new();
        factors.room(width * columns)?;
        for row in candidates {
            own.push_from(&self.sample, *row)?;
            factors.extend_from_slice(&self.factor[row * self.rank..][..columns]);
        }
        let own = Landmarks::new(own)?;
        let mut packed = filled(0.0, packed_len(width, columns))?;
        if columns > 0 {
            let theirs = Lines::close(&factors[..], columns, width);
            pack(theirs, columns, &mut packed, |number| number);
        }
        for first in (0..rows).step_by(ROWS_AT_ONCE) {
            let count = ROWS_AT_ONCE.min(rows - first);
            let block = &mut self.block[first * width..(first + count) * width];
            own.wide_values(&self.kernel, self.level, (&self.sample, first), block);
            if columns > 0 {
                self.level.run(Multiply {
                    rows: Lines::close(&self.factor[first * self.rank..], self.rank, count),
                    width: columns,
                    packed: &packed,
                    others: width,
                    out: Lines::close(block, width, count),
                    subtract: true,
                });
                interrupts::worked(count * width * columns / 4);
            }
        }
        Ok(())
    }

    /// Where among those that wait the next pivot stands, if one may be taken.
    fn best(&mut self, candidates: &[usize], waiting: &mut Vec<usize>) -> Option<usize> {
        if let Choice::Drawn { .. } = self.choice {
            let floor = self.floor();
            while let Some(column) = waiting.first() {
                let residual = self.residuals[candidates[*column]];
                let chance = residual / self.proposed[*column];
                if residual > floor && self.random.unit() < chance {
                    return Some(0);
                }
                waiting.remove(0);
            }
            return None;
        }
        let residual = |place: &usize| self.residuals[candidates[waiting[*place]]];
        if let Choice::InOrder { .. } = self.choice {
            return (0..waiting.len()).find(|place| residual(place) > self.floor());
        }
        let greatest = self.residuals.iter().copied().fold(0.0, f64::max);
        let least = self.floor().max(CLOSE * greatest);
        (0..waiting.len())
            .max_by(|a, b| residual(a).total_cmp(&residual(b)))
            .filter(|place| residual(place) > least)
    }

    /// Makes a candidate a pivot. Columns of H from `begun` on are those of its block, which `block` does not know yet.
    fn take(
        &mut self,
        candidates: &[usize],
        column: usize,
        width: usize,
        begun: usize,
    ) -> Result<(), KernelError> {
        let (rank, pivot, next) = (self.rank, candidates[column], self.columns);
        let scale = 1.0 / self.residuals[pivot].sqrt();
        let mut own = [0.0; BLOCK];
        let own = &mut own[..next - begun];
        own.copy_from_slice(&self.factor[pivot * rank..][begun..next]);
        let rows = self
            .factor
            .chunks_exact_mut(rank)
            .zip(self.block.chunks_exact(width));
        for ((factor, block), residual) in rows.zip(&mut self.residuals) {
            let known: f64 = factor[begun..next]
                .iter()
                .zip(&*own)
                .map(|(a, b)| a * b)
                .sum();
            let value = (block[column] - known) * scale;
            factor[next] = value;
            *residual -= value * value;
        }
        interrupts::worked(self.residuals.len() * (own.len() + 8));
        // what is known of it exactly: nothing is left, and what comes before it does not know it
        for (pivot, column) in self.pivots.iter().zip(0..) {
            debug_assert!(column < next);
            self.factor[pivot * rank + next] = 0.0;
        }
        self.factor[pivot * rank + next] = 1.0 / scale;
        self.residuals[pivot] = 0.0;
        self.pivots
            .iter()
            .for_each(|pivot| self.residuals[*pivot] = 0.0);
        self.pivots.push(pivot);
        self.columns += 1;
        self.check()
    }

    fn check(&self) -> Result<(), KernelError> {
        let least = NEGATIVE * self.largest;
        match self.residuals.iter().position(|v| *v < least || v.is_nan()) {
            None => Ok(()),
            Some(row) => Err(KernelError::NotPositive {
                row,
                residual: self.residuals[row] / self.largest,
            }),
        }
    }

    /// The landmarks and their factor.
    pub fn finish(self) -> Result<Factor, KernelError> {
        if self.columns == 0 {
            return Err(KernelError::Zero);
        }
        let mut landmarks = Rows::new(self.sample.width());
        let mut lower: Vec<f64> = Vec::new();
        lower.room(self.columns.saturating_mul(self.columns))?;
        for pivot in &self.pivots {
            landmarks.push_from(&self.sample, *pivot)?;
            lower.extend_from_slice(&self.factor[pivot * self.rank..][..self.columns]);
            interrupts::worked(self.columns);
        }
        let left_out = self.left_out();
        Ok(Factor {
            kernel: self.kernel,
            landmarks,
            lower,
            pivots: self.pivots,
            left_out,
        })
    }
}
