//! Newton's method for one head.
//!
//! primal    P(w) = 1/2 |w|^2 + C k/2 sum c max(0, 1 - y <w, x>)^2      x with the intercept's constant behind its features
//! gradient  g(w) = w - sum a y x,      a = C k c max(0, 1 - y <w, x>)
//! Hessian   H(w) = I + C k sum c x x'  over the rows within the margin, y <w, x> < 1
//! dual      at t a, a as above: D = t A - t^2 B with A = sum a, B = 1/2 |sum a y x|^2 + sum a^2 / (2 C k c);
//!           the best t = A / (2 B) gives A^2 / (4 B)
//!
//! | symbol | is |
//! |---|---|
//! | w, s | the weights of the pass under way, and the step that led to them |
//! | best | the weights of the smallest primal so far |
//! | k | the curvature of the loss below its breakpoint, 2 of the squared hinge |
//! | A, B | sums of the dual above; sum a^2 / (2 C k c) is the loss |
//!
//! Update: a pass over the rows gives P, g, D and perhaps H at w; H s = -g by Cholesky, w := w + s. Without a new H the factor
//! of an older one serves ([`super::pace`]). Rows that were within the margin in the pass before are in H too: a row that alone
//! holds a weight, and has just left the margin, would let go of it otherwise, and the step lead far beyond the margin again.
//! Where P rose all the same, another step is taken from the best: to the smallest point of the quadratic of the rows within
//! the margin at either end of the first, those beyond it at the best pulled back to it (their loss taken as (1 - m)^2 on both
//! sides). Without a new H, or where P rises again and again, a pass finds where on the way P is lowest ([`super::line`]), and
//! the step ends there.
//! Stop: (P - D) / P of a pass is within the tolerance. Every pass ends with a certificate of its own weights, in 64 bits and
//! with dual variables that are a function of w, so that it holds whatever the scale of the features.
//!
//! Where features are many the step comes from conjugate gradients instead ([`super::conjugate`]); then only the rows within the
//! margin are in H, and where P rises the step is shortened.
//!
//! Rows of a block, with the dual variables of all others held still, have v = sum a y x of those others in w whatever
//! their own are (`fixed`). Then it is the block's
//!
//! primal    1/2 |w - v|^2 + C k/2 sum c max(0, 1 - y <w, x>)^2
//! dual      at t a: D = t (A - <sum a y x, v>) - t^2 B
//!
//! which is the problem of all rows less what does not depend on the block (Yen, Chang, Lin, Lin, Lin, KDD 2013, equation 16).
//!
//! Where the loss is truncated, min(L, 1 + s), a row whose loss at w is more than 1 + s is an outlier of the pass: it costs
//! C c (1 + s) and is in no other sum. With the others, IN, P(w) is the truncated objective T(w), and T <= P_IN everywhere, so that a step
//! which lowers P_IN lowers T: which rows are outliers is found anew by each pass, one step a round of the relaxation (the same paper,
//! equation 5). Where that leads to a constant decision the convex problem is solved roughly first. The dual has the same constant, and the gap is that of the convex problem over the rows that are no outliers at w.
//!
//! Where the intercept is free its weight is not in the norm, and dual variables must balance, sum a y = 0: those of the
//! heavier side are multiplied by what makes them.
//!
//! Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 2005; Mangasarian,
//! A finite Newton method for classification, 2002. The dual value on the way and the Hessian of a part of the rows are ours.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::gram::Gram;
use crate::objective::minimized::Objective;
use crate::simd::Level;
use crate::solver::certificate::truncated::{is_constant, SOLVED};
use crate::solver::fixed_weights::product;
use crate::solver::newton::conjugate::Conjugate;
use crate::solver::newton::line::Line;
use crate::solver::newton::local::{Bringing, Local};
use crate::solver::newton::pace::{Costs, Pace};
use crate::solver::newton::sums::{meet, Sums};
use crate::solver::newton::value::Value;
use crate::solver::sums::tally::Tally;

/// Passes over all rows after which what was found is handed over as it is.
pub(in crate::solver) const MOST_PASSES: u32 = 100;
/// Steps from the same weights that may lead to a larger primal before one of them is shortened.
const MOST_RISES: i32 = 3;
/// A primal that is higher by no more than this part of itself has not risen: so much is rounding.
const ROUNDING: f64 = 1e-13;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A pass over the rows.
    Pass,
    /// A step of the factorization.
    Factor,
    /// A pass over the rows within the margin, for the product of the Hessian and a direction.
    Product,
    /// A pass over all rows, for where on the way to the last weights P is lowest.
    Line,
    /// A step of what is solved with the near rows of the last pass.
    Near,
    /// The sample has said what it can.
    Sampled,
    /// Nothing: the gap of the last pass is within the tolerance.
    Arrived,
    /// It does not get on, or no pass is left.
    GivenUp,
}

/// Whether the convex problem of all rows is solved first, where the loss is truncated: once where the rows that are left lead to no more
/// than a constant decision, as they do where one class is rare and all its rows are outliers of the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Convex {
    NotYet,
    UnderWay,
    Done,
}

/// A head that Newton's method is given.
pub struct Given {
    pub objective: Objective,
    pub tolerance: f64,
    pub max_passes: u32,
    /// Where it begins, the intercept last.
    pub w: Vec<f64>,
    /// Sum of a y x over rows that are not gone over, whose dual variables are fixed; none where there are no such rows.
    pub fixed: Vec<f64>,
}

/// The method for one head.
pub struct Newton {
    pub(super) objective: Objective,
    /// C where all rows are gone over: that of a sample is larger by what it leaves out.
    pub(super) c: f64,
    pub(super) tolerance: f64,
    max_passes: u32,
    /// Whether passes for products are among those.
    counts_products: bool,
    pub(super) w: Vec<f64>,
    /// The norm is that of w less this; empty: of w.
    pub(super) fixed: Vec<f64>,
    pub(super) step: Vec<f64>,
    pub(super) best: Vec<f64>,
    pub(super) best_primal: f64,
    /// At the weights of the pass, and at the best.
    pub(super) gradient: Vec<f64>,
    pub(super) best_gradient: Vec<f64>,
    /// Steps from the best that led to a larger primal, and whether the one under way is where that is lowest.
    pub(super) rises: i32,
    pub(super) is_shortened: bool,
    /// What is known of the way from the best, in a pass over it.
    pub(super) line: Option<Line>,
    /// What makes the diagonal of the Hessian 1; of conjugate gradients its square.
    pub(super) scales: Vec<f64>,
    pub(super) sums: Sums,
    pub(super) factor: Option<Cholesky>,
    /// Where steps are found by conjugate gradients, how far they are.
    pub(super) conjugate: Option<Conjugate>,
    /// Whether passes bring rows along, and what is being solved with those of the last one.
    pub(super) bringing: Option<Bringing>,
    pub(super) local: Option<Box<Local>>,
    /// Whether the pass gathers the Hessian.
    pub(super) gathers: bool,
    pub(super) samples: bool,
    pub(super) pace: Pace,
    convex: Convex,
    /// Whether the last pass was of the convex problem of all rows, or has led to it: of other rows than its outliers make.
    is_beside: bool,
    /// Rows of the smaller class, as far as passes have seen rows.
    smaller: u64,
    /// Rows of the last pass that were known without a look.
    pub(super) unseen: u64,
    /// Passes over all rows, and those of the sample under way.
    passes: u32,
    pub(super) sampled: u32,
    pub(super) state: Value,
}

impl Newton {
    pub fn new(given: Given, costs: Costs) -> Result<Self, OutOfMemory> {
        let length = given.w.len();
        Ok(Self {
            c: given.objective.c,
            objective: given.objective,
            tolerance: given.tolerance,
            max_passes: match costs.by_products && costs.streams {
                true => given.max_passes,
                false => given.max_passes.min(MOST_PASSES),
            },
            counts_products: costs.streams,
            w: given.w,
            fixed: given.fixed,
            step: zeros(length)?,
            best: zeros(length)?,
            best_primal: f64::INFINITY,
            gradient: zeros(length)?,
            best_gradient: zeros(length)?,
            rises: 0,
            is_shortened: false,
            line: None,
            scales: zeros(length)?,
            sums: Sums::new(length, !costs.by_products)?,
            factor: None,
            conjugate: costs.by_products.then(Conjugate::default),
            bringing: None,
            local: None,
            gathers: true,
            samples: false,
            pace: Pace::new(costs),
            convex: Convex::NotYet,
            is_beside: false,
            smaller: 0,
            unseen: 0,
            passes: 0,
            sampled: 0,
            state: Value {
                primal: f64::INFINITY,
                dual: 0.0,
                gap: 1.0,
                multiples: [1.0; 2],
            },
        })
    }

    /// Bytes that it takes where passes cost so much.
    pub fn bytes(costs: &Costs) -> usize {
        let matrix = match (costs.by_products, costs.scans) {
            (true, _) => 0,
            (false, false) => Gram::bytes(costs.length),
            // and the products of far rows, while what a scan knows is solved
            (false, true) => 2 * Gram::bytes(costs.length),
        };
        // six vectors of its own, what a pass is told and its sums, beside those of the pass before
        matrix + 8 * 16 * costs.length
    }

    /// Rows that are gone over have this part of what was fixed.
    pub fn take_from_fixed(&mut self, own: &[f64]) {
        for (fixed, own) in self.fixed.iter_mut().zip(own) {
            *fixed -= own;
        }
    }

    /// Adds what is fixed.
    pub fn add_fixed(&self, own: &mut [f64]) {
        for (own, fixed) in own.iter_mut().zip(&self.fixed) {
            *own += fixed;
        }
    }

    /// The dual of rows with this sum of a y x, of a (1 - y o) with offsets o, and of diag a^2.
    pub fn dual_of(&self, own: &[f64], linear: f64, diag: f64) -> f64 {
        linear - product(own, &self.fixed) - 0.5 * product(own, own) - 0.5 * diag
    }

    /// Begins to go over a part of the rows, one in `part`.
    pub fn begin_sample(&mut self, part: f64) {
        self.samples = true;
        self.sampled = 0;
        self.begin(self.c * part, 1);
    }

    /// Begins to go over all rows.
    pub fn begin_whole(&mut self) {
        self.samples = false;
        self.pace.begin(self.is_quadratic());
        let share = match self.conjugate {
            Some(_) => 1,
            None => self.pace.share,
        };
        self.begin(self.c, share);
    }

    fn begin(&mut self, c: f64, share: u32) {
        self.objective.c = c;
        (self.rises, self.is_shortened) = (0, false);
        self.best_primal = f64::INFINITY;
        self.pace.share = share;
        self.begin_pass(true);
    }

    pub(super) fn begin_pass(&mut self, gathers: bool) {
        self.gathers = gathers;
        self.unseen = 0;
        if let Some(gram) = self.sums.gram.as_mut().filter(|_| gathers) {
            if let Some(factor) = self.factor.take() {
                *gram.sums_mut() = factor.into_memory();
            }
        }
    }

    /// Whether rows are looked at at the best weights too.
    pub(super) fn looks_back(&self) -> bool {
        self.gathers && self.conjugate.is_none() && self.best_primal.is_finite()
    }

    /// Has it begin at these weights, the intercept's last; to be called before the first pass.
    pub fn begin_at(&mut self, w: &[f64]) {
        for (own, w) in self.w.iter_mut().zip(w) {
            *own = *w;
        }
    }

    /// Whether P is a quadratic: the sides of rows meet, and all are visited at once.
    pub fn is_quadratic(&self) -> bool {
        let meet = self.pace.between().is_some_and(meet);
        meet && !self.objective.is_truncated() && self.conjugate.is_none()
    }

    /// Whether it begins at other weights than 0.
    pub fn begins_elsewhere(&self) -> bool {
        self.w.iter().any(|w| *w != 0.0)
    }

    /// Rows and their losses in the last pass.
    pub fn tally(&self) -> Tally {
        self.sums.tally
    }

    /// What a pass like the last one would sum at weights of 0.
    pub fn at_zero(&self) -> Tally {
        self.sums.at_zero(self.objective.loss)
    }

    /// Rows that were known without a look in it.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Outliers in the last pass, and what their losses count beside C.
    pub fn outliers(&self) -> (u64, f64) {
        let sides = self.sums.sides.iter();
        sides.fold((0, 0.0), |(rows, cost), side| {
            (rows + side.outliers, cost + side.outside)
        })
    }

    /// Whether the intercept's weight is not in the norm.
    pub fn is_free(&self) -> bool {
        self.objective.free
    }

    /// What the last pass found.
    pub fn value(&self) -> Value {
        self.state
    }

    /// The weights of the smallest primal so far, or of the pass that arrived.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// Whether these are the weights of the last pass.
    pub fn is_at_best(&self) -> bool {
        self.best_primal == self.state.primal
    }

    /// Ends a pass of this kind.
    pub fn end(&mut self, pass: Next, level: Level) -> Next {
        match pass {
            Next::Product => {
                self.passes += u32::from(self.counts_products);
                self.end_product(self.passes + 1 >= self.max_passes)
            }
            Next::Line => self.end_line(),
            _ => self.end_pass(level),
        }
    }

    fn end_pass(&mut self, level: Level) -> Next {
        match self.samples {
            true => self.sampled += 1,
            false => self.passes += 1,
        }
        self.state = self.evaluate();
        let Value { primal, gap, .. } = self.state;
        if !primal.is_finite() {
            return self.give_up();
        }
        self.is_beside = self.convex == Convex::UnderWay;
        if let Some(convex) = self.turns(gap) {
            return self.turn(convex);
        }
        if !self.samples && gap <= self.tolerance {
            self.stand_here(primal);
            return self.arrive();
        }
        if !self.samples && self.passes >= self.max_passes {
            if primal < self.best_primal {
                self.stand_here(primal);
            }
            return self.give_up();
        }
        if let Some(gram) = self.sums.gram.as_mut().filter(|_| self.gathers) {
            gram.finish(level);
        }
        if primal > self.best_primal * (1.0 + ROUNDING) {
            self.rises += 1;
            self.pace.be_careful();
            let brings = self.sums.near.take().is_some();
            if !self.gathers || self.conjugate.is_some() || brings || self.rises > MOST_RISES {
                return match self.is_shortened {
                    // lower than where it was lowest is nothing that 64 bits can tell
                    true => self.give_up(),
                    false => self.begin_line(),
                };
            }
            for (step, (g, beyond)) in self
                .step
                .iter_mut()
                .zip(self.best_gradient.iter().zip(&self.sums.beyond))
            {
                *step = beyond - g;
            }
            return self.begin_factoring();
        }
        (self.rises, self.is_shortened) = (0, false);
        self.stand_here(primal);
        if let Some(next) = self.begin_local() {
            return next;
        }
        self.best_gradient.copy_from_slice(&self.gradient);
        for (step, g) in self.step.iter_mut().zip(&self.gradient) {
            *step = -g;
        }
        match self.gathers {
            true if self.conjugate.is_some() => self.begin_products(),
            true => self.begin_factoring(),
            false => self.take_step(),
        }
    }

    /// Whether rows are sorted otherwise from now on, at the weights of the pass that has ended: none is an outlier any more, or the
    /// convex problem is solved roughly.
    fn turns(&mut self, gap: f64) -> Option<Convex> {
        let is_last = self.passes + 2 >= self.max_passes;
        match self.convex {
            Convex::NotYet if self.samples || !self.objective.is_truncated() || is_last => None,
            Convex::NotYet => {
                let [negative, positive] = &self.sums.sides;
                self.smaller = self.smaller.max(negative.rows.min(positive.rows));
                let Tally { correct, rows, .. } = self.sums.tally;
                let turns = self.outliers().0 > 0 && is_constant(correct, rows, self.smaller);
                turns.then_some(Convex::UnderWay)
            }
            Convex::UnderWay => {
                (gap <= SOLVED.max(self.tolerance) || is_last).then_some(Convex::Done)
            }
            Convex::Done => None,
        }
    }

    /// Sorts rows so from now on, by the weights that are here: of what was found before nothing is about the same rows.
    fn turn(&mut self, convex: Convex) -> Next {
        self.convex = convex;
        self.objective.truncate(convex != Convex::UnderWay);
        self.is_beside = true;
        self.best_primal = f64::INFINITY;
        (self.rises, self.is_shortened) = (0, false);
        self.begin_pass(true);
        Next::Pass
    }

    /// What comes where the gap of the last pass is within the tolerance: where that was of the convex problem, its weights sort rows.
    pub(super) fn arrive(&mut self) -> Next {
        match self.convex {
            Convex::UnderWay => self.turn(Convex::Done),
            Convex::NotYet | Convex::Done => Next::Arrived,
        }
    }

    /// Whether what the last pass found is not to be taken: that of the convex problem of all rows, or what led to it.
    pub fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// The weights of the pass, with this primal, are the best.
    fn stand_here(&mut self, primal: f64) {
        self.best_primal = primal;
        self.best.copy_from_slice(&self.w);
    }

    /// It stays at the best weights, or where these are of the convex problem goes on with the outliers that they make.
    pub(super) fn give_up(&mut self) -> Next {
        let is_known = self.best_primal.is_finite();
        if is_known {
            self.w.copy_from_slice(&self.best);
        }
        let is_convex = self.convex == Convex::UnderWay && !self.samples;
        match is_convex && is_known && self.passes < self.max_passes {
            true => self.turn(Convex::Done),
            false => Next::GivenUp,
        }
    }
}
