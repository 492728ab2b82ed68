//! The problem of all that is known, by an augmented Lagrangian method: where features are few enough for a matrix.
//!
//! primal    1/2 |w|^2 + sum u max(0, r) + max(0, max_j B_j - <F_j, w>),    r = 1 - y <w, x>
//! dual      that of [`crate::solver::bundle`]: 0 <= a <= u, b on the simplex with a plane of zeros behind the others
//!
//! | symbol | is | place |
//! |---|---|---|
//! | u | C c, the bound of a | `Held::bound` |
//! | a, b | the multipliers of the round before | `Held::a`, `Weighed::b` |
//! | k | how steep the loss is made around its kink: it is rounded over 1/k of the margin | `Augmented::steep` |
//! | a', b' | min(u, max(0, a + k u r)); b + k (B - <F, w>) / g projected onto the simplex, g a part of what w may be off | computed where they are needed |
//! | v | sum a' y x + sum b' F | `v` |
//!
//! A round minimizes 1/2 |w|^2 and the losses with their kinks rounded, whose gradient is w - v, by Newton's method: its matrix is
//! I and k sum u x x' over the rows with 0 < a' < u alone, which are few, and the same of the planes with b' > 0. A step goes
//! along to where the slope is 0. Where |w - v|^2 / 2 is no more than what else is left of the gap the multipliers become a' and
//! b', and k grows. a' and b' are feasible at any w, so each step says how far it is.
//! Stop: by the caller, at a gap of the known problem.
//!
//! Rockafellar, Mathematics of Operations Research 1, 1976. Li, Sun, Toh, SIAM Journal on Optimization 28, 2018. Yan, Li, Optimization
//! Methods and Software 35, 2020. It begins at any a and w, and neither how features are scaled nor C changes much.

mod loops;
mod simplex;

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::gram::Gram;
use crate::linalg::lower::Lower;
use crate::simd::Level;
use crate::solver::bundle::known::{Known, Solved};
use crate::solver::fixed_weights::product;
use loops::{Margins, Moving, SumUp};
use simplex::Simplex;

/// Features and the intercept at most: a matrix of 4 MB.
const MOST_LENGTH: usize = 1024;
/// Steps of a solution at most, and of a round.
const MOST_STEPS: u32 = 80;
const STEPS_A_ROUND: u32 = 12;
/// k of the first round, where multipliers are known or not, and how many times as much it is in the next.
const STEEP: f64 = 0.1;
const STEEP_AFRESH: f64 = 0.01;
const GROWTH: f64 = 3.0;
/// Planes are rounded over 1/k of this part of what the solution may be off.
const PART_OF_PLANES: f64 = 0.1;
/// A step goes over the rows so many times, and so many products of a matrix take the time of a value that is gone over.
const PASSES_A_STEP: u64 = 2;
const PRODUCTS_A_VALUE: u64 = 2;
/// Halvings of the way along a step, and doublings at most.
const HALVINGS: u32 = 16;
const DOUBLINGS: u32 = 12;

/// A solution under way.
pub(super) struct Augmented {
    /// By row r, and y <dw, x>.
    moving: Vec<Moving>,
    simplex: Simplex,
    steep: f64,
    gram: Gram,
    /// By column the root of what the matrix has on its diagonal, inverted.
    scales: Vec<f64>,
    v: Vec<f64>,
    step: Vec<f64>,
    steps: u32,
    /// Those of the round.
    of_round: u32,
    /// Whether multipliers are known from a solution before.
    is_known: bool,
    /// Values that all solutions have gone over.
    work: u64,
}

impl Augmented {
    /// Whether a matrix of so many columns is worth its while.
    pub(super) fn fits(length: usize) -> bool {
        length <= MOST_LENGTH
    }

    pub(super) fn new(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            moving: Vec::new(),
            simplex: Simplex::new(length)?,
            steep: STEEP_AFRESH,
            gram: Gram::new(length)?,
            scales: zeros(length)?,
            v: zeros(length)?,
            step: zeros(length)?,
            steps: 0,
            of_round: 0,
            is_known: false,
            work: 0,
        })
    }

    /// Values that it has gone over, of rows and of the matrix.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Begins another solution at the weights of what is known, which may be off by `off`.
    pub(super) fn begin(&mut self, known: &mut Known, off: f64) -> Result<(), OutOfMemory> {
        (self.steps, self.of_round) = (0, 0);
        self.steep = if self.is_known { STEEP } else { STEEP_AFRESH };
        self.is_known = true;
        let count = known.rows.len();
        self.moving.clear();
        self.moving.room(count)?.resize(count, Moving::default());
        Level::best().run(Margins {
            known,
            moving: &mut self.moving,
            at: &known.w,
            tell: Moving::stand,
        });
        self.simplex
            .begin(&known.planes, &known.w, PART_OF_PLANES * off)
    }

    /// Says how far it is, and unless that is enough takes a step.
    pub(super) fn step(&mut self, known: &mut Known, enough: impl Fn(&Solved) -> bool) -> Solved {
        self.steps += 1;
        let level = Level::best();
        self.simplex.project(self.steep);
        let mut found = level.run(SumUp { known, all: self });
        found.ended = enough(&found) || self.steps >= MOST_STEPS;
        if found.ended {
            self.take_multipliers(known);
            return found;
        }
        let off = 0.5 * self.distance(known);
        let is_near = self.of_round > 0 && 2.0 * off <= found.primal - found.dual;
        if is_near || self.of_round >= STEPS_A_ROUND {
            self.take_multipliers(known);
            (self.steep, self.of_round) = (GROWTH * self.steep, 0);
            self.gram.clear();
            return found;
        }
        self.work += PASSES_A_STEP * known.words.len() as u64;
        self.gram.finish(level);
        let planes = self
            .simplex
            .add_to_matrix(&known.planes, self.steep, self.gram.sums_mut());
        let length = self.step.len() as u64;
        self.work += planes * length * length / 2;
        self.solve(known, level);
        self.of_round += 1;
        level.run(Margins {
            known,
            moving: &mut self.moving,
            at: &self.step,
            tell: Moving::move_along,
        });
        self.simplex.along(&known.planes, &self.step);
        self.go(known);
        found
    }

    /// |w - v|^2
    fn distance(&self, known: &Known) -> f64 {
        let own = (0..known.w.len()).map(|column| known.own(column));
        let both = own.zip(&self.v);
        both.map(|(w, v)| (w - v) * (w - v)).sum()
    }

    /// The multipliers become a' and b'.
    fn take_multipliers(&mut self, known: &mut Known) {
        for (held, moving) in known.rows.iter_mut().zip(&self.moving) {
            held.a = moving.multiplier(held, self.steep, 0.0);
        }
        self.simplex.take_multipliers(&mut known.planes);
    }

    /// Newton's step, from the matrix in the scale in which its diagonal is 1.
    fn solve(&mut self, known: &Known, level: Level) {
        let mut matrix = std::mem::replace(self.gram.sums_mut(), Lower::NONE);
        for (column, scale) in self.scales.iter_mut().enumerate() {
            *scale = (1.0 + matrix.get(column, column)).sqrt().recip();
        }
        matrix.scale(&self.scales, 1.0);
        let sides = self.step.iter_mut().zip(&self.scales).enumerate();
        for (column, (side, scale)) in sides {
            matrix.set(column, column, 1.0);
            *side = scale * (self.v[column] - known.own(column));
        }
        let length = self.step.len() as u64;
        self.work += length * length * length / 6 / PRODUCTS_A_VALUE;
        let mut factor = Cholesky::new(matrix);
        while !factor.is_done() {
            factor.step(level);
        }
        factor.solve(&mut self.step);
        for (step, scale) in self.step.iter_mut().zip(&self.scales) {
            *step *= scale;
        }
        *self.gram.sums_mut() = factor.into_memory();
        self.gram.clear();
    }

    /// Goes along the step to where the slope is 0.
    fn go(&mut self, known: &mut Known) {
        let own = (
            product(&known.w, &self.step) - known.shift(&self.step),
            product(&self.step, &self.step),
        );
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..DOUBLINGS {
            if self.slope(known, own, high) >= 0.0 {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match self.slope(known, own, middle) < 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        let length = 0.5 * (low + high);
        for moving in &mut self.moving {
            moving.go(length);
        }
        self.simplex.go(length);
        for (w, step) in known.w.iter_mut().zip(&self.step) {
            *w += length * step;
        }
    }

    /// The slope of what a round minimizes, so far along the step.
    fn slope(&mut self, known: &Known, own: (f64, f64), length: f64) -> f64 {
        interrupts::worked(known.rows.len());
        let rows = known.rows.iter().zip(&self.moving);
        let steep = self.steep;
        let rows = rows.map(|(held, moving)| moving.slope(held, steep, length));
        own.0 + length * own.1 - rows.sum::<f64>() - self.simplex.slope(steep, length)
    }
}
