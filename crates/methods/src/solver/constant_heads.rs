//! Heads that end with a constant decision, told apart by the means of their classes.
//!
//! With many classes, w = 0 minimizes P of some heads, and their decision is the same for every row. Something must decide between such heads
//! all the same. P is flat there: weights so small that P rises by a quarter of the tolerance at most stay within the tolerance. They point
//! from the mean of all rows to the mean of the class,
//!
//! ```text
//! w_k = t (m_k - m)    b_k = b + t/2 (|m|^2 - |m_k|^2) + t s ln p_k
//! ```
//!
//! m_k the mean of their positive rows, p_k the part that these are of all rows, m the mean of all, weighted by costs. That is the
//! logarithm of the class's probability, were each class normal with variance s in every direction, as linear discriminant
//! analysis has it: where features say nothing, the most frequent class is the largest. s is a direction's variance on
//! average, the sum of the features' squared variances over that of the variances. One pass over the rows sums up the means (of
//! rows that stream a sample does), another the loss at many t; of those the largest is taken that all heads with the same C
//! allow, and with it its P, which is exact.

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::heads::{HeadSpec, Signs};
use crate::objective::loss::{by_loss, LossFunction};
use crate::objective::problem::Problem;
use crate::rows::facts::Facts;
use crate::rows::row::{entries, Row};
use crate::simd::{Isa, Real};
use crate::solver::driver::{decision, Visits};
use crate::solver::scans::Scans;
use crate::solver::sums::terms::Terms;
use crate::solver::{Heads, Solver};

/// Steps of t that are tried, each half of the one before.
const TRIALS: usize = 24;
/// Means of all such heads together: with more they keep their constant decisions.
const MOST_BYTES: usize = 24 << 20;

/// A sum of rows, each times its cost, and that of the costs.
struct Mean {
    sum: Vec<f64>,
    cost: f64,
}

/// Those of all rows, and of their squares.
struct Everything {
    mean: Mean,
    squares: Vec<f64>,
}

impl Everything {
    fn add(&mut self, row: &Row<'_>) {
        self.mean.add(row);
        for (feature, value) in entries(row) {
            self.squares[feature] += f64::from(row.cost()) * value * value;
        }
    }

    /// s, when the mean is known.
    fn variance(&self) -> f64 {
        let squares = self.squares.iter().map(|sum| sum / self.mean.cost);
        let variances = squares.zip(&self.mean.sum);
        let (sum, squares) = variances.fold((0.0, 0.0), |(sum, squares), (square, mean)| {
            let variance = (square - mean * mean).max(0.0);
            (sum + variance, squares + variance * variance)
        });
        match sum > 0.0 {
            true => squares / sum,
            false => 0.0,
        }
    }
}

impl Mean {
    fn new(features: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            sum: zeros(features)?,
            cost: 0.0,
        })
    }

    fn add(&mut self, row: &Row<'_>) {
        let cost = f64::from(row.cost());
        self.cost += cost;
        for (feature, value) in entries(row) {
            self.sum[feature] += cost * value;
        }
    }

    fn end(&mut self) {
        if self.cost > 0.0 {
            self.sum.iter_mut().for_each(|sum| *sum /= self.cost);
        }
    }

    fn square(&self) -> f64 {
        self.sum.iter().map(|value| value * value).sum()
    }
}

/// One of the heads.
struct Constant {
    head: usize,
    signs: Signs,
    terms: Terms,
    /// Its decision so far, and the P that it may have.
    intercept: f64,
    most_primal: f64,
    mean: Mean,
    /// |w|^2 and the intercept's part at t = 1.
    square: f64,
    offset: f64,
    /// Losses at each t, and the largest magnitude of <w, x> and the intercept's part at t = 1.
    losses: [f64; TRIALS],
    largest: f64,
}

impl Constant {
    /// Its means are known: what it has of weights at t = 1.
    fn end_means(&mut self, all: &Mean, center: f64, variance: f64) {
        if self.mean.cost == 0.0 {
            // none of its rows was seen
            self.mean.sum.copy_from_slice(&all.sum);
            self.mean.cost = 1.0;
        }
        let share = self.mean.cost / all.cost;
        self.mean.end();
        self.offset = 0.5 * (center - self.mean.square()) + variance * share.ln();
        for (mean, all) in self.mean.sum.iter_mut().zip(&all.sum) {
            *mean -= all;
        }
        self.square = self.mean.square();
    }

    /// P at this t.
    fn primal(&self, trial: usize, t: f64) -> f64 {
        let intercept = self.intercept + t * self.offset;
        let norm = t * t * self.square + intercept * intercept;
        0.5 * norm + self.terms.c * self.losses[trial]
    }

    /// Whether it may have this t: no row changes sides, and P rises by little.
    fn allows(&self, trial: usize, t: f64) -> bool {
        2.0 * t * self.largest <= self.intercept.abs() && self.primal(trial, t) <= self.most_primal
    }
}

/// What the passes are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Means,
    Losses,
}

/// The heads with a constant decision, while they are told apart.
pub struct ConstantHeads<T> {
    heads: Vec<Constant>,
    all: Everything,
    /// By head, at t = 1, the intercept's part behind; made of the means.
    weights: Vec<Vec<T>>,
    /// The largest t.
    unit: f64,
    stage: Stage,
}

impl<T: Real> ConstantHeads<T> {
    /// Those of the first heads, which these are, that have ended so; None where there are not two of them, or too many features for their means.
    pub fn of(
        solver: &Solver<T>,
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
    ) -> Result<Option<Self>, OutOfMemory> {
        let constant = |head: &usize| solver.state(*head).ledger.constant().is_some();
        let count = (0..specs.len()).filter(constant).count();
        let bytes = (count + 1).saturating_mul(facts.features * 2 * size_of::<f64>());
        if count < 2 || bytes > MOST_BYTES || problem.free_intercept() {
            return Ok(None);
        }
        let mut heads = Vec::new();
        heads.room(count)?;
        for (head, spec) in specs.iter().enumerate() {
            if let Some(intercept) = solver.state(head).ledger.plain_constant() {
                heads.push(Constant {
                    head,
                    signs: spec.signs.clone(),
                    terms: solver.state(head).ledger.terms,
                    intercept,
                    most_primal: solver.state(head).ledger.most_primal(),
                    mean: Mean::new(facts.features)?,
                    square: 0.0,
                    offset: 0.0,
                    losses: [0.0; TRIALS],
                    largest: 0.0,
                });
            }
        }
        Ok(Some(Self {
            heads,
            all: Everything {
                mean: Mean::new(facts.features)?,
                squares: zeros(facts.features)?,
            },
            weights: Vec::new(),
            unit: 0.0,
            stage: Stage::Means,
        }))
    }

    /// Whether the rows that come are for the means, for which a sample does.
    pub fn wants_means(&self) -> bool {
        self.stage == Stage::Means
    }

    /// A pass over the rows has ended. True when another one is due.
    pub fn end_pass(&mut self, facts: &Facts) -> Result<bool, OutOfMemory> {
        if self.stage == Stage::Losses {
            return Ok(false);
        }
        self.stage = Stage::Losses;
        self.all.mean.end();
        let (center, variance) = (self.all.mean.square(), self.all.variance());
        let mut longest = 0f64;
        for head in &mut self.heads {
            interrupts::check();
            head.end_means(&self.all.mean, center, variance);
            longest = longest.max(head.square);
        }
        self.weights.room(self.heads.len())?;
        for head in &self.heads {
            let all = head.mean.sum.iter().chain([&head.offset]);
            self.weights.push(gathered(all.map(|value| T::of(*value)))?);
        }
        let reach = (longest * facts.mean_q.max(f64::MIN_POSITIVE)).sqrt();
        self.unit = reach.recip();
        Ok(reach > 0.0 && self.unit.is_finite())
    }

    fn at(&self, trial: usize) -> f64 {
        self.unit * 0.5f64.powi(trial as i32)
    }

    /// The largest t that every head with this C allows.
    fn largest(&self, c: f64) -> Option<usize> {
        let fits = |trial: &usize| {
            let mut heads = self.heads.iter().filter(|head| head.terms.c == c);
            heads.all(|head| head.allows(*trial, self.at(*trial)))
        };
        (0..TRIALS).find(fits)
    }

    /// Gives the heads their weights.
    pub fn put(&self, solver: &mut Solver<T>) -> Result<(), OutOfMemory> {
        for (head, weights) in self.heads.iter().zip(&self.weights) {
            interrupts::check();
            if let Some(trial) = self.largest(head.terms.c) {
                let t = self.at(trial);
                let scaled = weights.iter().map(|weight| T::of(t * weight.to()));
                let mut scaled = gathered(scaled)?;
                if let Some(last) = scaled.last_mut() {
                    *last = T::of(head.intercept + t * head.offset);
                }
                solver.put_apart(head.head, scaled, head.primal(trial, t))?;
            }
        }
        Ok(())
    }

    fn add_to_means(&mut self, row: &Row<'_>) -> usize {
        let mut values = row.values();
        self.all.add(row);
        for head in &mut self.heads {
            if head.signs.of(row.group()) > 0 {
                head.mean.add(row);
                values += row.values();
            }
        }
        values + self.heads.len()
    }

    #[inline(always)]
    fn add_losses<K: Isa>(&mut self, row: &Row<'_>) -> usize {
        for (head, weights) in self.heads.iter_mut().zip(&self.weights) {
            let y = f64::from(head.signs.of(row.group()));
            if y == 0.0 {
                continue;
            }
            let score = f64::from(decision::<K, T>(weights, row, 1.0));
            head.largest = head.largest.max(score.abs());
            let cost = head.terms.cost(row.cost(), y);
            let mut moved = self.unit * score;
            by_loss!(head.terms.loss, loss => {
                for sum in &mut head.losses {
                    *sum += cost * loss.value(y * (head.intercept + moved));
                    moved *= 0.5;
                }
            });
        }
        self.heads.len() * (row.values() + TRIALS)
    }
}

impl<T: Real> Scans<Solver<T>> for ConstantHeads<T> {
    #[inline(always)]
    fn add<K: Isa>(&mut self, _: &Solver<T>, row: &Row<'_>) -> usize {
        match self.stage {
            Stage::Means => self.add_to_means(row),
            Stage::Losses => self.add_losses::<K>(row),
        }
    }
}

impl<T: Real> Solver<T> {
    /// The weights of a head with a constant decision, the intercept behind, and their P.
    fn put_apart(&mut self, head: usize, weights: Vec<T>, primal: f64) -> Result<(), OutOfMemory> {
        match &mut self.heads {
            Heads::Single(singles) => singles.heads[head].put_apart(weights),
            Heads::Joint(joint) => {
                let narrow = weights.iter().map(|weight| weight.to() as f32);
                joint.put_apart(head, gathered(narrow)?);
            }
        }
        ask!(&mut self.heads, heads => heads.state_mut(head))
            .ledger
            .take_apart(primal);
        Ok(())
    }
}
