//! How good decisions are, and probabilities from them: plain functions of numbers.
//!
//! A decision is <w, x> + b of a head; rows count alike, whatever their costs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, TryReserveError};

use serde::{Deserialize, Serialize};

/// Whether a margin is on the right side. One of 0 counts for the positive side, as in prediction.
#[inline(always)]
pub fn right_side(margin: f64, y: f64) -> bool {
    margin > 0.0 || (margin == 0.0 && y > 0.0)
}

/// The class that the decisions of a classifier's heads say. One head: class 1 from 0 up, else class 0. Several, one a
/// class: the class of the largest decision, the first of equals.
pub fn predicted_class(decisions: &[f32]) -> usize {
    if let [decision] = decisions {
        return usize::from(*decision >= 0.0);
    }
    largest(decisions.iter())
}

/// Which one is the largest, of equals the first.
pub fn largest<T: PartialOrd>(values: impl Iterator<Item = T>) -> usize {
    largest_by_rank(values, &[])
}

/// The same where of equals the one with the smallest rank comes first; without ranks they come as they are.
pub fn largest_by_rank<T: PartialOrd>(values: impl Iterator<Item = T>, ranks: &[u32]) -> usize {
    let rank = |place: usize| ranks.get(place).map_or(place, |rank| *rank as usize);
    let mut best: Option<(usize, T)> = None;
    for (place, value) in values.enumerate() {
        let is_better = best
            .as_ref()
            .is_none_or(|(at, best)| value > *best || (value == *best && rank(place) < rank(*at)));
        if is_better {
            best = Some((place, value));
        }
    }
    best.map_or(0, |(place, _)| place)
}

/// The area under the ROC curve of these decisions, see [`Ranking`].
pub fn auc(
    decisions: impl ExactSizeIterator<Item = (f32, bool)>,
) -> Result<Option<f64>, TryReserveError> {
    let mut ranking = Ranking::new(decisions.len())?;
    ranking.add(decisions);
    while !ranking.step() {}
    Ok(ranking.area())
}

/// The area under the ROC curve: the share of pairs of a positive and a negative row in which the positive one has the
/// greater decision, ties counting half (the Mann-Whitney U statistic over the number of pairs). Takes eight bytes a row,
/// and is found in steps of milliseconds: runs are sorted one by one, and then merged as they are counted.
pub struct Ranking {
    /// The order of a row's decision above a bit that says whether it is positive.
    keys: Vec<u64>,
    /// The keys sorted so far, from the first.
    sorted: usize,
    /// Of each sorted run the first key not counted, the least on top, and its place.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// The order of the rows counted last, and how many of them are positive and negative.
    tied: u64,
    ties: [u64; 2],
    won: f64,
    /// Rows below them, negative and positive.
    below: [u64; 2],
}

impl Ranking {
    /// Keys of a run, and those counted in a step: some ten milliseconds.
    const RUN: usize = 1 << 17;

    /// Of so many rows, which are yet to be added.
    pub fn new(rows: usize) -> Result<Self, TryReserveError> {
        let (mut keys, mut heads) = (Vec::new(), BinaryHeap::new());
        keys.try_reserve_exact(rows)?;
        heads.try_reserve_exact(rows.div_ceil(Self::RUN))?;
        Ok(Self {
            keys,
            sorted: 0,
            heads,
            tied: 0,
            ties: [0; 2],
            won: 0.0,
            below: [0; 2],
        })
    }

    /// Takes the next rows, decision and whether it is positive, before the first step.
    pub fn add(&mut self, rows: impl Iterator<Item = (f32, bool)>) {
        self.keys.extend(
            rows.map(|(decision, positive)| order_key(decision) << 1 | u64::from(positive)),
        );
    }

    /// Sorts or counts the next keys; true when all have been counted.
    pub fn step(&mut self) -> bool {
        if self.sorted < self.keys.len() {
            let end = self.keys.len().min(self.sorted + Self::RUN);
            let run = &mut self.keys[self.sorted..end];
            run.sort_unstable();
            self.heads.push(Reverse((run[0], self.sorted)));
            self.sorted = end;
            return false;
        }
        for _ in 0..Self::RUN {
            let Some(&Reverse((key, place))) = self.heads.peek() else {
                self.settle();
                return true;
            };
            let next = self.keys.get(place + 1);
            match next.filter(|_| (place + 1) % Self::RUN != 0) {
                Some(next) => {
                    if let Some(mut least) = self.heads.peek_mut() {
                        *least = Reverse((*next, place + 1));
                    }
                }
                None => drop(self.heads.pop()),
            }
            if key >> 1 != self.tied {
                self.settle();
                self.tied = key >> 1;
            }
            self.ties[(key & 1) as usize] += 1;
        }
        false
    }

    /// Adds up the rows that are tied.
    fn settle(&mut self) {
        let [negative, positive] = std::mem::take(&mut self.ties);
        self.won += positive as f64 * (self.below[0] as f64 + 0.5 * negative as f64);
        self.below[0] += negative;
        self.below[1] += positive;
    }

    /// The area, when all have been counted; None where there is no pair.
    pub fn area(&self) -> Option<f64> {
        let pairs = self.below[0] as f64 * self.below[1] as f64;
        (pairs > 0.0).then(|| self.won / pairs)
    }
}

/// A number of 32 bits that is ordered as decisions are.
pub fn order_key(decision: f32) -> u64 {
    // 0 and -0 are equal decisions
    let bits = (decision + 0.0).to_bits();
    let negative = bits >> 31 == 1;
    u64::from(if negative { !bits } else { bits | 1 << 31 })
}

/// The decision of which such a number says the order.
pub fn of_order_key(key: u64) -> f32 {
    let key = key as u32;
    let negative = key >> 31 == 0;
    f32::from_bits(if negative { !key } else { key & !(1 << 31) })
}

/// Platt's sigmoid: P(positive | decision d) = 1 / (1 + exp(a d + b)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// Slope; negative where larger decisions are likelier positive.
    pub a: f64,
    /// Offset.
    pub b: f64,
}

impl Sigmoid {
    /// The probability at a decision.
    pub fn probability(&self, decision: f64) -> f64 {
        self.probabilities(decision).0
    }

    /// The probabilities of the positive side and of the negative one, each as exact as it can be.
    pub fn probabilities(&self, decision: f64) -> (f64, f64) {
        let z = self.a * decision + self.b;
        // exp of a large number must not be reached
        let e = (-z.abs()).exp();
        let (less, more) = (e / (1.0 + e), 1.0 / (1.0 + e));
        match z >= 0.0 {
            true => (less, more),
            false => (more, less),
        }
    }

    /// The sigmoid of maximum likelihood for these decisions and whether each row is positive, see [`SigmoidFit`].
    pub fn fit(rows: impl Iterator<Item = (f64, bool)> + Clone) -> Self {
        let mut fit = SigmoidFit::new();
        loop {
            fit.take(rows.clone());
            if fit.end_of_rows() {
                return fit.found();
            }
        }
    }
}

/// The fit of a sigmoid by Newton's method with backtracking: Lin, Lin, Weng, "A note on Platt's probabilistic outputs
/// for support vector machines" (Machine Learning 68, 2007), Algorithm 1.
///
/// Minimizes the cross entropy of the probabilities against the targets (N+ + 1) / (N+ + 2) for the N+ positive rows and
/// 1 / (N- + 2) for the N- others. It reads the rows again and again: they are given in portions of any size, in the
/// same order each time, and behind the last comes [`Self::end_of_rows`].
///
/// A larger decision is no reason for a smaller probability: where that would fit best, as may be with decisions that tell nothing,
/// a is 0, and of all that are so the one is taken that the share of positive rows makes.
pub struct SigmoidFit {
    sigmoid: Sigmoid,
    /// The b of a = 0.
    constant: f64,
    /// Targets of negative and positive rows.
    targets: [f64; 2],
    /// Cross entropy at the sigmoid.
    value: f64,
    steps: u32,
    sums: SigmoidSums,
}

/// What is summed while the fit reads the rows.
enum SigmoidSums {
    /// Rows, negative and positive.
    Counts([f64; 2]),
    /// The cross entropy at the first sigmoid.
    First(f64),
    /// Gradient and Hessian.
    Slopes(Slopes),
    /// The cross entropy at the end of a step tried.
    Trial(Trial, f64),
}

#[derive(Clone, Copy)]
struct Slopes {
    a: f64,
    b: f64,
    aa: f64,
    bb: f64,
    ab: f64,
}

/// A step tried: a share of Newton's.
#[derive(Clone, Copy)]
struct Trial {
    a: f64,
    b: f64,
    /// The decrease that the gradient promises for all of it.
    promised: f64,
    length: f64,
}

impl Trial {
    fn from(self, sigmoid: Sigmoid) -> Sigmoid {
        Sigmoid {
            a: sigmoid.a + self.length * self.a,
            b: sigmoid.b + self.length * self.b,
        }
    }
}

impl SigmoidFit {
    /// Steps after which the fit ends where it is.
    const MOST_STEPS: u32 = 100;
    /// It ends when both derivatives are smaller than this for so many rows together.
    const EPSILON: f64 = 1e-5;
    /// The shortest step tried.
    const LEAST_STEP: f64 = 1e-10;
    /// Added to the diagonal of the Hessian.
    const RIDGE: f64 = 1e-12;
    /// Share of the decrease that the gradient promises with which a step is content.
    const SUFFICIENT: f64 = 1e-4;

    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            sigmoid: Sigmoid { a: 0.0, b: 0.0 },
            constant: 0.0,
            targets: [0.0; 2],
            value: 0.0,
            steps: 0,
            sums: SigmoidSums::Counts([0.0; 2]),
        }
    }

    /// Reads the next rows: decisions, and whether they are positive.
    pub fn take(&mut self, rows: impl Iterator<Item = (f64, bool)>) {
        let (sigmoid, targets) = (self.sigmoid, self.targets);
        match &mut self.sums {
            SigmoidSums::Counts(counts) => {
                rows.for_each(|(_, positive)| counts[usize::from(positive)] += 1.0)
            }
            SigmoidSums::First(sum) => *sum = cross_entropy(*sum, sigmoid, targets, rows),
            SigmoidSums::Trial(trial, sum) => {
                *sum = cross_entropy(*sum, trial.from(sigmoid), targets, rows)
            }
            SigmoidSums::Slopes(slopes) => {
                for (decision, positive) in rows {
                    let p = sigmoid.probability(decision);
                    let curvature = p * (1.0 - p);
                    slopes.aa += decision * decision * curvature;
                    slopes.bb += curvature;
                    slopes.ab += decision * curvature;
                    let off = targets[usize::from(positive)] - p;
                    slopes.a += decision * off;
                    slopes.b += off;
                }
            }
        }
    }

    /// Takes what was summed over all rows; true when the fit has ended.
    pub fn end_of_rows(&mut self) -> bool {
        match self.sums {
            SigmoidSums::Counts([negatives, positives]) => {
                self.constant = f64::ln((negatives + 1.0) / (positives + 1.0));
                self.sigmoid.b = self.constant;
                self.targets = [
                    1.0 / (negatives + 2.0),
                    (positives + 1.0) / (positives + 2.0),
                ];
                self.sums = SigmoidSums::First(0.0);
                false
            }
            SigmoidSums::First(value) => {
                self.value = value;
                self.begin_step();
                false
            }
            SigmoidSums::Slopes(slopes) => self.try_step(slopes),
            SigmoidSums::Trial(trial, value) => self.judge(trial, value),
        }
    }

    /// The sigmoid, once the fit has ended.
    pub fn found(&self) -> Sigmoid {
        match self.sigmoid.a > 0.0 {
            true => Sigmoid {
                a: 0.0,
                b: self.constant,
            },
            false => self.sigmoid,
        }
    }

    fn begin_step(&mut self) {
        self.steps += 1;
        self.sums = SigmoidSums::Slopes(Slopes {
            a: 0.0,
            b: 0.0,
            aa: Self::RIDGE,
            bb: Self::RIDGE,
            ab: 0.0,
        });
    }

    /// Newton's step is to be tried; true where the gradient vanishes.
    fn try_step(&mut self, Slopes { a, b, aa, bb, ab }: Slopes) -> bool {
        if a.abs() < Self::EPSILON && b.abs() < Self::EPSILON {
            return true;
        }
        let determinant = aa * bb - ab * ab;
        let step_a = -(bb * a - ab * b) / determinant;
        let step_b = -(aa * b - ab * a) / determinant;
        let trial = Trial {
            a: step_a,
            b: step_b,
            promised: a * step_a + b * step_b,
            length: 1.0,
        };
        self.sums = SigmoidSums::Trial(trial, 0.0);
        false
    }

    /// Takes a step that gains enough, else tries half of it; true at the last step, and where none gains.
    fn judge(&mut self, trial: Trial, value: f64) -> bool {
        if value < self.value + Self::SUFFICIENT * trial.length * trial.promised {
            (self.sigmoid, self.value) = (trial.from(self.sigmoid), value);
            if self.steps >= Self::MOST_STEPS {
                return true;
            }
            self.begin_step();
            return false;
        }
        let length = trial.length / 2.0;
        self.sums = SigmoidSums::Trial(Trial { length, ..trial }, 0.0);
        length < Self::LEAST_STEP
    }
}

/// `sum` and the cross entropy of these rows.
fn cross_entropy(
    mut sum: f64,
    at: Sigmoid,
    targets: [f64; 2],
    rows: impl Iterator<Item = (f64, bool)>,
) -> f64 {
    for (decision, positive) in rows {
        let (z, target) = (at.a * decision + at.b, targets[usize::from(positive)]);
        sum += if z >= 0.0 {
            target * z + (-z).exp().ln_1p()
        } else {
            (target - 1.0) * z + z.exp().ln_1p()
        };
    }
    sum
}
