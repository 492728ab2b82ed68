//! A head whose weights are the average of those that parts of the rows have found, each by itself: one-shot averaging.
//!
//! A part p with n_p of n rows minimizes 1/2 |w|^2 + C n / n_p sum of its losses, so that C means in a part what it means over all
//! rows. Its dual variables a_p are within C n / n_p. With L the part of its dual that is linear or of each variable alone (for the
//! hinge sum a, for the squared hinge sum a - sum a^2 / (4 C n / n_p c)) and v = sum a y x:
//!
//! | of the average | is |
//! |---|---|
//! | weights | sum n_p / n w_p |
//! | dual variables | n_p / n a_p, which are within C: feasible over all rows |
//! | dual | sum n_p / n L_p - 1/2 \|sum n_p / n v_p\|^2, since n_p / n a_p has the L of n_p / n L_p for both losses |
//!
//! Where the intercept is free each part's a are balanced once more in 64 bits: those at hand are rounded to 32, and where rows lie far
//! from 0 what their signed sum is off by shows in v.
//!
//! Stop: after one pass over all rows at the average, which says the primal there. The gap is what it is: no bound says that it is small.
//!
//! Matsushima, Vishwanathan, Smola, KDD 2012, section 1.3; Mann, McDonald, Mohri, Silberman, Walker, NIPS 2009.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::objective::heads::HeadSpec;
use crate::objective::loss::Loss;
use crate::objective::minimized::{balanced, Intercept, Objective};
use crate::objective::report::relative_gap;
use crate::rows::batch::Batch;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::head::{FoundByPass, GivenHead};
use crate::solver::bundle::pass::{BundlePass, BundleSums};
use crate::solver::fixed_weights::{add_row, product};
use crate::solver::newton::pass::{HeadPass, HeadSums};
use crate::solver::sums::tally::Tally;
use crate::solver::weights::Duals;

/// A head between the parts and the pass that judges their average.
pub struct AveragedHead {
    objective: Objective,
    tolerance: f64,
    w: Vec<f64>,
    dual: f64,
}

impl AveragedHead {
    /// With the averages of w, v and L.
    pub fn new(given: GivenHead, w: Vec<f64>, v: &[f64], linear: f64) -> Self {
        Self {
            dual: (linear - 0.5 * norm(&given.objective, v)).max(0.0),
            objective: given.objective,
            tolerance: given.tolerance,
            w,
        }
    }

    /// The average.
    pub fn w(&self) -> &[f64] {
        &self.w
    }

    /// The pass that judges it, for a straight loss, over rows of so many dense features.
    pub fn look_straight(&self, dense: usize) -> Result<BundlePass, OutOfMemory> {
        BundlePass::looking(&self.objective, &self.w, dense)
    }

    /// The same for a smooth loss.
    pub fn look_smooth(&self) -> Result<HeadPass, OutOfMemory> {
        HeadPass::looking(&self.objective, &self.w)
    }

    /// What the pass has found.
    pub fn judge_straight(&self, sums: &BundleSums) -> FoundByPass {
        self.judge(sums.losses())
    }

    /// The same for a smooth loss; None of other sums.
    pub fn judge_smooth(&self, sums: &HeadSums) -> Option<FoundByPass> {
        let (squares, tally) = sums.squares()?;
        Some(self.judge((0.5 * self.objective.loss.curvature() * squares, tally)))
    }

    fn judge(&self, (loss, tally): (f64, Tally)) -> FoundByPass {
        let primal = 0.5 * norm(&self.objective, &self.w) + self.objective.c * loss;
        let dual = self.dual.min(primal);
        let arrived = relative_gap(primal, dual) <= self.tolerance;
        FoundByPass {
            primal,
            dual,
            tally,
            summed: true,
            arrived,
            gives_up: !arrived,
        }
    }
}

/// |w|^2, without a free intercept.
fn norm(objective: &Objective, w: &[f64]) -> f64 {
    let counted = &w[..w.len() - usize::from(objective.free)];
    product(counted, counted)
}

/// A head of a part that has been trained.
pub struct TrainedPart<'a> {
    pub loss: Loss,
    pub intercept: Intercept,
    pub spec: &'a HeadSpec,
    pub duals: Duals<'a>,
    /// n / n_p
    pub stands_for: f64,
}

impl TrainedPart<'_> {
    /// v, of so many columns, and L, from the rows in their order.
    pub fn dual(&self, rows: Batch<'_>, length: usize) -> Result<(Vec<f64>, f64), OutOfMemory> {
        let of_positive = match self.intercept {
            Intercept::Free => length,
            _ => 0,
        };
        let side = |length| {
            Ok::<_, OutOfMemory>(Side {
                v: zeros(length)?,
                ..Side::default()
            })
        };
        let mut sum = Sum {
            part: self,
            sides: [side(length)?, side(of_positive)?],
        };
        Level::best().run(Summing(&mut sum, rows));
        Ok(sum.balanced())
    }
}

struct Sum<'a> {
    part: &'a TrainedPart<'a>,
    /// Of negative rows and of positive ones where the intercept is free, else the first of all.
    sides: [Side; 2],
}

/// Sums over some rows: v and L, and what L becomes where the a are scaled.
#[derive(Default)]
struct Side {
    v: Vec<f64>,
    linear: f64,
    alpha: f64,
    diag: f64,
}

impl Side {
    /// All dual variables are multiplied by this factor.
    fn scale(&mut self, factor: f64) {
        self.v.iter_mut().for_each(|v| *v *= factor);
        self.linear = factor * (self.linear + 0.5 * (1.0 - factor) * self.diag);
    }
}

impl Sum<'_> {
    /// v and L, of dual variables that are balanced where the intercept is free.
    fn balanced(self) -> (Vec<f64>, f64) {
        let [mut all, mut positive] = self.sides;
        if self.part.intercept == Intercept::Free {
            let [of_negative, of_positive] = balanced(all.alpha, positive.alpha);
            all.scale(of_negative);
            positive.scale(of_positive);
            all.linear += positive.linear;
            let both = all.v.iter_mut().zip(&positive.v);
            both.for_each(|(v, positive)| *v += positive);
        }
        (all.v, all.linear)
    }
}

struct Summing<'a, 'b>(&'a mut Sum<'b>, Batch<'a>);

impl Work for Summing<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let Self(sum, rows) = self;
        let part = sum.part;
        for (ordinal, row) in rows.enumerate() {
            let y = f64::from(part.spec.signs.of(row.group()));
            // a dual variable is never above its bound
            let positive_weight = match y > 0.0 {
                true => f64::from(part.spec.positive_weight),
                false => 1.0,
            };
            let weight = part.spec.c * f64::from(row.cost()) * positive_weight * part.stands_for;
            let a = f64::from(part.duals.get(ordinal));
            if y == 0.0 || a <= 0.0 {
                continue;
            }
            let (linear, curvature, high) = part.loss.dual_terms(weight);
            let a = a.min(high);
            let is_apart = part.intercept == Intercept::Free && y > 0.0;
            let side = &mut sum.sides[usize::from(is_apart)];
            side.linear += a * (linear - y * row.offset() - 0.5 * curvature * a);
            side.alpha += a;
            side.diag += curvature * a * a;
            add_row::<K>(&mut side.v, a * y, &row, part.intercept.constant());
        }
    }
}
