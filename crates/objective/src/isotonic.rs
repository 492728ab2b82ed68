//! Isotonic regression: probabilities that rise with the decision, and need have no other form.
//!
//! Among all functions that never fall the one of maximum likelihood is piecewise constant, and *pool adjacent violators*
//! (Ayer, Brunk, Ewing, Reid, Silverman, "An empirical distribution function for sampling with incomplete information", Annals of
//! Mathematical Statistics 26, 1955) finds it: rows in the order of their decisions, neighbours pooled into blocks until the shares
//! of positive rows rise from block to block. For probabilities of classifiers: Zadrozny and Elkan, "Transforming classifier scores
//! into accurate multiclass probability estimates" (KDD 2002).
//!
//! Here a block is one point, at the mean of its decisions, and the function is linear between points and constant beyond them:
//! *centred* isotonic regression (Oron and Flournoy, Statistics in Biopharmaceutical Research 9, 2017). Its error is smaller where the
//! true function rises everywhere, and rows within a block keep their order; ties are only beyond the points at either end.

use serde::{Deserialize, Serialize};

use crate::base::interrupts;
use crate::base::memory::{copied, gathered, list, OutOfMemory, Room};

/// A function from decisions to probabilities: points that rise, linear between them and constant beyond.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Isotonic {
    /// 1 to [`Self::MOST_POINTS`], finite, each larger than the one before.
    #[serde(deserialize_with = "list")]
    decisions: Vec<f64>,
    /// As many, above 0 and below 1, none smaller than the one before.
    #[serde(deserialize_with = "list")]
    probabilities: Vec<f64>,
}

/// Neighbours in the order of decisions.
#[derive(Debug, Clone, Copy)]
struct Block {
    rows: f64,
    positives: f64,
    /// Smallest and largest decision, and the sum of all.
    first: f32,
    last: f32,
    sum: f64,
    /// Rows that the sum is over.
    summed: f64,
}

impl Isotonic {
    /// Most points of one.
    pub const MOST_POINTS: usize = 100;

    /// The function through these points; None where they are none of such a function.
    pub fn new(decisions: Vec<f64>, probabilities: Vec<f64>) -> Option<Self> {
        let rise = decisions.windows(2).all(|two| two[0] < two[1]);
        let never_fall = probabilities.windows(2).all(|two| two[0] <= two[1]);
        let are_probabilities = probabilities.iter().all(|it| *it > 0.0 && *it < 1.0);
        // so that no difference of two is infinite
        let span = decisions.last()? - decisions.first()?;
        let sound = decisions.len() == probabilities.len()
            && decisions.len() <= Self::MOST_POINTS
            && decisions.iter().all(|it| it.is_finite())
            && span.is_finite();
        (sound && rise && never_fall && are_probabilities).then_some(Self {
            decisions,
            probabilities,
        })
    }

    /// Decisions and probabilities of the points.
    pub fn points(&self) -> (&[f64], &[f64]) {
        (&self.decisions, &self.probabilities)
    }

    /// The probability at a decision.
    pub fn probability(&self, decision: f64) -> f64 {
        let above = self.decisions.partition_point(|it| *it <= decision);
        let last = self.decisions.len() - 1;
        if above == 0 {
            return self.probabilities[0];
        }
        if above > last {
            return self.probabilities[last];
        }
        let [x, p] = [&self.decisions, &self.probabilities].map(|all| [all[above - 1], all[above]]);
        let part = (decision - x[0]) / (x[1] - x[0]);
        // rounding must not lift it above the next point
        (p[0] + part * (p[1] - p[0])).min(p[1])
    }

    /// The function of these rows, decisions and whether they are positive, in ascending order of decisions; None where there
    /// are none, and where a decision is not finite.
    ///
    /// No share is 0 or 1: the blocks at either end count a positive and a negative row more, Laplace's rule of succession
    /// (n+ + 1) / (n + 2), which is the mean of what the share may be when each was as likely before. Rows that are added
    /// before blocks are pooled leave the shares rising.
    pub fn fit(rows: impl Iterator<Item = (f32, bool)>) -> Result<Option<Self>, OutOfMemory> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut under_way: Option<Block> = None;
        for (decision, positive) in rows {
            if !decision.is_finite() {
                return Ok(None);
            }
            let row = Block::of(decision, positive);
            under_way = Some(match under_way {
                None => row.smoothed(),
                // rows of one decision are never apart
                Some(tied) if tied.last == decision => tied.pooled(row),
                Some(whole) => {
                    pool(&mut blocks, whole)?;
                    row
                }
            });
        }
        let Some(last) = under_way else {
            return Ok(None);
        };
        pool(&mut blocks, last.smoothed())?;
        thin(&mut blocks);
        let decisions = gathered(blocks.iter().map(Block::centre))?;
        let probabilities = gathered(blocks.iter().map(|it| it.positives / it.rows))?;
        Ok(Self::new(decisions, probabilities))
    }

    /// Has the other class be the positive one: decisions change their signs.
    pub fn swap_sides(&mut self) {
        self.decisions.reverse();
        self.probabilities.reverse();
        self.decisions.iter_mut().for_each(|it| *it = 0.0 - *it);
        self.probabilities.iter_mut().for_each(|it| *it = 1.0 - *it);
    }

    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            decisions: copied(&self.decisions)?,
            probabilities: copied(&self.probabilities)?,
        })
    }
}

impl Block {
    fn of(decision: f32, positive: bool) -> Self {
        Self {
            rows: 1.0,
            positives: f64::from(u8::from(positive)),
            first: decision,
            last: decision,
            sum: f64::from(decision),
            summed: 1.0,
        }
    }

    /// With a positive and a negative row more.
    fn smoothed(self) -> Self {
        Self {
            rows: self.rows + 2.0,
            positives: self.positives + 1.0,
            ..self
        }
    }

    /// With the block behind it.
    fn pooled(self, next: Self) -> Self {
        Self {
            rows: self.rows + next.rows,
            positives: self.positives + next.positives,
            last: next.last,
            sum: self.sum + next.sum,
            summed: self.summed + next.summed,
            ..self
        }
    }

    /// Whether its share of positive rows is no smaller than that of the block behind it. Counts are whole numbers, and their products
    /// exact.
    fn violates(&self, next: &Self) -> bool {
        self.positives * next.rows >= next.positives * self.rows
    }

    /// The mean of the decisions, which rounding must not move out of the block.
    fn centre(&self) -> f64 {
        (self.sum / self.summed).clamp(self.first.into(), self.last.into())
    }

    /// The logarithm of the likelihood at its own share.
    fn likelihood(&self) -> f64 {
        let share = self.positives / self.rows;
        self.positives * share.ln() + (self.rows - self.positives) * (-share).ln_1p()
    }
}

/// Puts a block behind the others, pooled with those that it violates.
fn pool(blocks: &mut Vec<Block>, mut block: Block) -> Result<(), OutOfMemory> {
    while let Some(before) = blocks.pop_if(|before| before.violates(&block)) {
        block = before.pooled(block);
    }
    blocks.room(1)?.push(block);
    Ok(())
}

/// Pools neighbours until there are no more blocks than points there may be: each time those two that cost the least likelihood.
fn thin(blocks: &mut Vec<Block>) {
    let cost = |at: usize, blocks: &[Block]| {
        let [one, next] = [blocks[at], blocks[at + 1]];
        one.likelihood() + next.likelihood() - one.pooled(next).likelihood()
    };
    while blocks.len() > Isotonic::MOST_POINTS {
        interrupts::worked(blocks.len() << 6);
        let pairs = (0..blocks.len() - 1).map(|at| (cost(at, blocks), at));
        let cheapest = pairs.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let Some((_, at)) = cheapest else {
            return;
        };
        let next = blocks.remove(at + 1);
        blocks[at] = blocks[at].pooled(next);
    }
}
