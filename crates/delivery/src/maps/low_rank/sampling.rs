//! The sample of the raw rows that landmarks are chosen of.

use pgsvm_kernels::kernel::scale_gamma;
use pgsvm_kernels::{centres::centres, Choice, Kernel, KernelError, LowRank, Pivots, Rows};

use crate::base::memory::{gathered, OutOfMemory};
use crate::base::random::{Random, Stream};
use crate::maps::low_rank::{LandmarkChoice, LowRankJob};
use crate::rows::facts::Facts;
use crate::rows::row::{Row, HEADER_WORDS};

/// Rows of the sample for each landmark at least, where a rank that is not given must fit the memory.
const LEAST_TIMES: usize = 4;

/// A sample under way.
pub(super) struct Sampling {
    random: Random,
    /// The rank wanted, and rows of the sample yet to be taken, out of rows yet to come.
    rank: usize,
    wanted: usize,
    coming: usize,
    pub(super) looked_at: u64,
    rows: Rows,
    /// Of all values.
    sum: f64,
    squares: f64,
}

impl Sampling {
    /// Of all rows.
    pub(super) fn new(job: &LowRankJob, facts: &Facts) -> Result<Self, KernelError> {
        Self::of_some(job, facts, facts.rows)
    }

    /// Of so many of the rows, which are at hand.
    pub(super) fn of_some(
        job: &LowRankJob,
        facts: &Facts,
        rows: usize,
    ) -> Result<Self, KernelError> {
        let entries = facts
            .mean_row_words
            .saturating_sub(HEADER_WORDS + facts.dense) as f64
            / 2.0;
        let width = Rows::suitable_width(facts.dense, facts.features, entries);
        let row_bytes = 4 * width
            + if width < facts.features {
                8 * entries as usize
            } else {
                0
            };
        let takes = |sample: usize, rank: usize| {
            let sampled = sample.saturating_mul(row_bytes + 12);
            Pivots::bytes(sample, rank) + LowRank::bytes(rank) + sampled
        };
        let rank = match job.rank {
            Some(rank) if rank > rows => return Err(KernelError::Rank { rank, rows }),
            Some(rank) => rank,
            None => {
                let all = facts.rows as f64;
                let worth = (2.0 * job.work / all.max(1.0)).sqrt().min(job.most as f64);
                let mut rank = (all.sqrt().ceil().max(worth) as usize).clamp(1, rows);
                while rank > 1 && takes(rows.min(LEAST_TIMES * rank), rank) > job.memory_bytes {
                    rank -= rank.div_ceil(16);
                }
                rank
            }
        };
        let mut wanted = rows.min(job.sample_times.saturating_mul(rank).max(job.least_sample));
        while wanted > rank && takes(wanted, rank) > job.memory_bytes {
            wanted = rank.max(wanted - wanted.div_ceil(16));
        }
        Ok(Self {
            random: Random::new(job.seed, Stream::Sample),
            rank,
            wanted,
            coming: rows,
            looked_at: 0,
            rows: Rows::new(width),
            sum: 0.0,
            squares: 0.0,
        })
    }

    /// Landmarks at most.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Takes a row with the chance that makes all samples of this size as likely (Knuth, TAOCP 2, 3.4.2, algorithm S).
    pub(super) fn look(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        let values = |bits: &[u32; 2]| f64::from(f32::from_bits(bits[1]));
        let dense = || row.dense().iter().map(|x| f64::from(*x));
        let entries = || row.sparse().iter().map(values);
        self.sum += dense().sum::<f64>() + entries().sum::<f64>();
        // Q of a row that was divided by its length says more than this
        let square: f64 = dense().chain(entries()).map(|x| x * x).sum();
        self.squares += f64::from(square as f32);
        if self.random.below(self.coming) < self.wanted {
            self.rows.push(row.dense(), row.sparse())?;
            self.wanted -= 1;
        }
        self.coming = self.coming.saturating_sub(1);
        self.looked_at += 1;
        Ok(())
    }

    /// The kernel, once all rows have been looked at.
    pub(super) fn kernel(&self, job: &LowRankJob, facts: &Facts) -> Result<Kernel, KernelError> {
        let values = facts.rows as f64 * facts.features as f64;
        let gamma = scale_gamma(facts.features, values, self.sum, self.squares);
        job.kernel.kernel(job.scale_times * gamma)
    }

    /// Begins to choose landmarks.
    pub(super) fn finish(
        mut self,
        kernel: Kernel,
        job: &LowRankJob,
    ) -> Result<Pivots, KernelError> {
        let (sample, choice) = match job.landmarks {
            LandmarkChoice::Pivots => (self.rows, Choice::Greatest),
            LandmarkChoice::Drawn => (self.rows, Choice::Drawn { seed: job.seed }),
            LandmarkChoice::Uniform => {
                let mut order = gathered(0..self.rows.len())?;
                self.random.shuffle(&mut order);
                let sample = joined(&Rows::new(self.rows.width()), &self.rows, &order)?;
                (sample, Choice::InOrder { given: 0 })
            }
            LandmarkChoice::Centres => {
                let means = centres(&self.rows, self.rank)?;
                let order = gathered(0..self.rows.len())?;
                let given = means.len();
                (
                    joined(&means, &self.rows, &order)?,
                    Choice::InOrder { given },
                )
            }
        };
        Pivots::new(kernel, sample, choice, self.rank, job.tolerance)
    }
}

/// Rows, and behind them others in this order.
fn joined(first: &Rows, others: &Rows, order: &[usize]) -> Result<Rows, OutOfMemory> {
    let mut all = Rows::new(others.width());
    for row in 0..first.len() {
        all.push_from(first, row)?;
    }
    for row in order {
        all.push_from(others, *row)?;
    }
    Ok(all)
}
