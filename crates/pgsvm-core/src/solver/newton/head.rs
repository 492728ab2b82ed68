//! Newton's method for one head.
//!
//! primal    P(w) = 1/2 |w|^2 + C sum c max(0, 1 - y <w, x>)^2          x with the intercept's constant behind its features
//! gradient  g(w) = w - sum a y x,      a = 2 C c max(0, 1 - y <w, x>)
//! Hessian   H(w) = I + 2 C sum c x x'  over the rows within the margin, y <w, x> < 1
//! dual      at t a, a as above: D = t A - t^2 B with A = sum a, B = 1/2 |sum a y x|^2 + sum a^2 / (4 C c);
//!           the best t = A / (2 B) gives A^2 / (4 B)
//!
//! | symbol | is |
//! |---|---|
//! | w, s | the weights of the pass under way, and the step that led to them |
//! | best | the weights of the smallest primal so far |
//! | A, B | sums of the dual above; sum a^2 / (4 C c) is the loss |
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
//! Where the intercept is free its weight is not in the norm, and dual variables must balance, sum a y = 0: those of the
//! heavier side are multiplied by what makes them.
//!
//! Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 2005; Mangasarian,
//! A finite Newton method for classification, 2002. The dual value on the way and the Hessian of a part of the rows are ours.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::gram::Gram;
use crate::linalg::lower::Lower;
use crate::rows::row::Row;
use crate::simd::{Isa, Level};
use crate::solver::newton::conjugate::Conjugate;
use crate::solver::newton::line::Line;
use crate::solver::newton::pace::{Costs, Pace};
use crate::solver::newton::part::picks;
use crate::solver::newton::sums::{Order, Places, Side, Sums};
use crate::solver::still::Visited;
use crate::solver::sums::tally::Tally;
use crate::task::report::relative_gap;

/// A sample ends with a step that is expected to lower P by less than this part: what is left is less than the sample is off;
/// and passes over it at most.
const SAMPLE_GAIN: f64 = 0.005;
const SAMPLE_PASSES: u32 = 12;
/// What rounding may put a dual objective above the primal one, relatively.
const DUAL_ROUNDING: f64 = 1e-12;
/// Passes over all rows after which what was found is handed over as it is.
pub(super) const MOST_PASSES: u32 = 100;
/// Steps from the same weights that may lead to a larger primal before one of them is shortened.
const MOST_RISES: i32 = 3;
/// A primal that is higher by no more than this part of itself has not risen: so much is rounding.
const ROUNDING: f64 = 1e-13;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A pass over the rows.
    Pass,
    /// A step of the factorization.
    Factor,
    /// A pass over the rows within the margin, for the product of the Hessian and a direction.
    Product,
    /// A pass over all rows, for where on the way to the last weights P is lowest.
    Line,
    /// The sample has said what it can.
    Sampled,
    /// Nothing: the gap of the last pass is within the tolerance.
    Arrived,
    /// It does not get on, or no pass is left.
    GivenUp,
}

/// A head that Newton's method is given.
pub(crate) struct Given {
    /// By group id: -1, +1, or 0 for rows that take no part.
    pub(crate) signs: Vec<i8>,
    pub(crate) c: f64,
    pub(crate) positive_weight: f64,
    /// The constant behind a row's features, 0 without an intercept.
    pub(crate) intercept: f64,
    /// Whether the intercept's weight is not in the norm.
    pub(crate) free: bool,
    pub(crate) tolerance: f64,
    pub(crate) max_passes: u32,
    /// Where it begins, the intercept last.
    pub(crate) w: Vec<f64>,
}

/// The method for one head.
pub(crate) struct Newton {
    pub(super) visited: Visited,
    /// C where all rows are gone over: that of a sample is larger by what it leaves out.
    c: f64,
    pub(super) free: bool,
    pub(super) tolerance: f64,
    max_passes: u32,
    /// Whether passes for products are among those.
    counts_products: bool,
    pub(super) w: Vec<f64>,
    pub(super) step: Vec<f64>,
    pub(super) best: Vec<f64>,
    pub(super) best_primal: f64,
    /// At the weights of the pass, and at the best.
    pub(super) gradient: Vec<f64>,
    pub(super) best_gradient: Vec<f64>,
    /// Steps from the best that led to a larger primal, and whether the one under way is where that is lowest.
    pub(super) rises: i32,
    is_shortened: bool,
    /// What is known of the way from the best, in a pass over it.
    pub(super) line: Option<Line>,
    /// What makes the diagonal of the Hessian 1; of conjugate gradients its square.
    pub(super) scales: Vec<f64>,
    pub(super) sums: Sums,
    factor: Option<Cholesky>,
    /// Where steps are found by conjugate gradients, how far they are.
    pub(super) conjugate: Option<Conjugate>,
    /// Whether the pass gathers the Hessian.
    pub(super) gathers: bool,
    samples: bool,
    pub(super) pace: Pace,
    /// Passes over all rows, and those of the sample under way.
    passes: u32,
    sampled: u32,
    state: Value,
}

/// What a pass has found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) primal: f64,
    pub(crate) dual: f64,
    pub(crate) gap: f64,
    /// What dual variables of negative and of positive rows are multiplied by to have this dual.
    pub(crate) multiples: [f64; 2],
}

impl Newton {
    pub(crate) fn new(given: Given, costs: Costs) -> Result<Self, OutOfMemory> {
        let length = given.w.len();
        Ok(Self {
            visited: Visited {
                signs: given.signs,
                c: given.c,
                positive_weight: given.positive_weight,
                intercept: given.intercept,
            },
            c: given.c,
            free: given.free,
            tolerance: given.tolerance,
            max_passes: match costs.by_products && costs.streams {
                true => given.max_passes,
                false => given.max_passes.min(MOST_PASSES),
            },
            counts_products: costs.streams,
            w: given.w,
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
            gathers: true,
            samples: false,
            pace: Pace::new(costs),
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
    pub(crate) fn bytes(costs: &Costs) -> usize {
        let matrix = match costs.by_products {
            true => 0,
            false => Gram::bytes(costs.length),
        };
        matrix + 8 * 10 * costs.length
    }

    /// Begins to go over a part of the rows, one in `part`.
    pub(crate) fn begin_sample(&mut self, part: f64) {
        self.samples = true;
        self.sampled = 0;
        self.begin(self.c * part, 1);
    }

    /// Begins to go over all rows.
    pub(crate) fn begin_whole(&mut self) {
        self.samples = false;
        self.pace.begin();
        let share = match self.conjugate {
            Some(_) => 1,
            None => self.pace.share,
        };
        self.begin(self.c, share);
    }

    fn begin(&mut self, c: f64, share: u32) {
        self.visited.c = c;
        (self.rises, self.is_shortened) = (0, false);
        self.best_primal = f64::INFINITY;
        self.pace.share = share;
        self.begin_pass(true);
    }

    fn begin_pass(&mut self, gathers: bool) {
        self.gathers = gathers;
        let needs_squares = self.pace.share > 1 || self.conjugate.is_some();
        self.sums.squares = match gathers && needs_squares {
            // the room is there already, or the Hessian does without
            true => self
                .sums
                .squares
                .take()
                .or_else(|| zeros(self.w.len()).ok()),
            false => None,
        };
        self.sums.clear();
        if let Some(gram) = self.sums.gram.as_mut().filter(|_| gathers) {
            if let Some(factor) = self.factor.take() {
                *gram.sums_mut() = factor.into_memory();
            }
            gram.clear();
        }
    }

    /// Whether the rows of this block are gathered.
    #[inline(always)]
    pub(crate) fn order(&self, block: u32) -> Order {
        match self.gathers && picks(block, self.pace.share) {
            true => Order::Second,
            false => Order::First,
        }
    }

    /// A row of the pass: its dual variable at these weights, with the sign of the row, and how many multiplications of
    /// matrices that took. `before`: whether it was within the margin in the pass before.
    #[inline(always)]
    pub(crate) fn visit<K: Isa>(
        &mut self,
        row: &Row<'_>,
        order: Order,
        before: bool,
    ) -> (f64, usize) {
        let looks_back = self.gathers && self.conjugate.is_none();
        let at = Places {
            w: &self.w,
            best: (looks_back && self.best_primal.is_finite()).then_some(&self.best),
            again: self.rises > 0,
        };
        self.sums
            .visit::<K>(&self.visited, at, row, (order, before))
    }

    /// Whether it begins at other weights than 0.
    pub(crate) fn begins_elsewhere(&self) -> bool {
        self.w.iter().any(|w| *w != 0.0)
    }

    /// Rows and their losses in the last pass.
    pub(crate) fn tally(&self) -> Tally {
        self.sums.tally
    }

    /// What a pass like the last one would sum at weights of 0.
    pub(crate) fn at_zero(&self) -> Tally {
        self.sums.at_zero()
    }

    /// Whether the intercept's weight is not in the norm.
    pub(crate) fn is_free(&self) -> bool {
        self.free
    }

    /// What the last pass found.
    pub(crate) fn value(&self) -> Value {
        self.state
    }

    /// The weights of the smallest primal so far, or of the pass that arrived.
    pub(crate) fn best(&self) -> &[f64] {
        &self.best
    }

    /// Whether these are the weights of the last pass.
    pub(crate) fn is_at_best(&self) -> bool {
        self.best_primal == self.state.primal
    }

    /// Ends a pass of this kind.
    pub(crate) fn end(&mut self, pass: Next, level: Level) -> Next {
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
        if !self.samples && gap <= self.tolerance {
            self.stand_here(primal);
            return Next::Arrived;
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
            if !self.gathers || self.conjugate.is_some() || self.rises > MOST_RISES {
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

    /// The weights of the pass, with this primal, are the best.
    fn stand_here(&mut self, primal: f64) {
        self.best_primal = primal;
        self.best.copy_from_slice(&self.w);
    }

    /// It stays at the best weights.
    pub(super) fn give_up(&mut self) -> Next {
        if self.best_primal.is_finite() {
            self.w.copy_from_slice(&self.best);
        }
        Next::GivenUp
    }

    /// The primal at w, the best dual of its dual variables, and the gradient.
    fn evaluate(&mut self) -> Value {
        let c = self.visited.c;
        let [negative, positive] = &self.sums.sides;
        let ends = self.w.len() - usize::from(self.free);
        let balance = match self.free {
            true => balanced(negative.duals, positive.duals),
            false => [1.0; 2],
        };
        let (mut norm, mut of_duals) = (0.0, 0.0);
        for column in 0..self.w.len() {
            let (w, v) = (self.w[column], [negative.v[column], positive.v[column]]);
            let own = if column < ends { w } else { 0.0 };
            self.gradient[column] = own - (v[1] - v[0]);
            norm += own * own;
            if column < ends {
                let sum = balance[1] * v[1] - balance[0] * v[0];
                of_duals += sum * sum;
            }
        }
        let sum = |of: fn(&Side) -> f64, factors: [f64; 2]| {
            factors[0] * of(negative) + factors[1] * of(positive)
        };
        let primal = 0.5 * norm + c * sum(|side| side.loss, [1.0; 2]);
        let a = sum(|side| side.duals, balance);
        let b = 0.5 * of_duals + c * sum(|side| side.loss, balance.map(|of| of * of));
        let (dual, multiple) = match b > 0.0 {
            true => (a / b * (a / 4.0), 0.5 * a / b),
            false => (0.0, 0.0),
        };
        let dual = match dual {
            dual if !dual.is_finite() => 0.0,
            // at the optimum both are the same, but for rounding; what lies further above shows an error and is left to be seen
            dual if dual > primal && dual <= primal * (1.0 + DUAL_ROUNDING) => primal,
            dual => dual,
        };
        Value {
            primal,
            dual,
            gap: relative_gap(primal, dual),
            multiples: balance.map(|of| of * multiple),
        }
    }

    /// P rose: a pass says where on the way from the best it is lowest.
    fn begin_line(&mut self) -> Next {
        // the room of a few thousand numbers
        match Line::new() {
            Ok(line) => {
                self.line = Some(line);
                Next::Line
            }
            Err(_) => self.give_up(),
        }
    }

    /// Adds a row to what is known of the way from the best.
    #[inline(always)]
    pub(crate) fn add_to_line<K: Isa>(&mut self, row: &Row<'_>) {
        if let Some(line) = &mut self.line {
            self.visited
                .add_to_line::<K>(line, (&self.best, &self.step), row);
        }
    }

    /// Ends the pass over the way from the best: the step is shortened, and the next pass has the Hessian of all rows.
    fn end_line(&mut self) -> Next {
        let ends = self.w.len() - usize::from(self.free);
        let (best, step) = (&self.best[..ends], &self.step[..ends]);
        let own = (product(best, step), product(step, step));
        let line = self.line.take();
        let Some(part) = line.and_then(|line| line.lowest(own, self.visited.c)) else {
            return self.give_up();
        };
        for ((w, step), best) in self.w.iter_mut().zip(&mut self.step).zip(&self.best) {
            *step *= part;
            *w = best + *step;
        }
        self.is_shortened = true;
        self.begin_pass(true);
        Next::Pass
    }

    /// H in the scale in which its diagonal is 1, so that columns of any size are alike.
    fn begin_factoring(&mut self) -> Next {
        let last = self.w.len() - 1;
        let sums = &mut self.sums;
        let Some(gram) = &mut sums.gram else {
            return Next::GivenUp;
        };
        let share = match sums.gathered > 0.0 {
            true => sums.costs / sums.gathered,
            false => 1.0,
        };
        let curvature = 2.0 * self.visited.c;
        let constant = sums.costs * self.visited.intercept * self.visited.intercept;
        let mut matrix = std::mem::replace(gram.sums_mut(), Lower::NONE);
        for (column, scale) in self.scales.iter_mut().enumerate() {
            let mut square = share * matrix.get(column, column);
            if let Some(squares) = &sums.squares {
                square = square.max(squares[column]);
            }
            let regular = !(self.free && column == last);
            if column == last {
                square = square.max(constant);
            }
            let diagonal = curvature * square + f64::from(u8::from(regular));
            *scale = if diagonal > 0.0 {
                diagonal.sqrt().recip()
            } else {
                1.0
            };
        }
        matrix.scale(&self.scales, curvature * share);
        for column in 0..=last {
            matrix.set(column, column, 1.0);
        }
        self.factor = Some(Cholesky::new(matrix));
        self.pace.renew();
        Next::Factor
    }

    /// Multiplications of the next step of the factorization.
    pub(crate) fn products(&self) -> usize {
        self.factor.as_ref().map_or(0, Cholesky::products)
    }

    /// Goes on with the factorization, and takes the step behind it.
    pub(crate) fn factor(&mut self, level: Level) -> Next {
        if let Some(factor) = &mut self.factor {
            if !factor.is_done() {
                factor.step(level);
                return Next::Factor;
            }
        }
        self.take_step()
    }

    /// s of H s = r, whose place r has, and what the next pass is to sum up.
    fn take_step(&mut self) -> Next {
        let Some(factor) = &self.factor else {
            return Next::GivenUp;
        };
        // what it holds is the right side; the room of a gradient that is not needed any more holds it meanwhile
        for (step, scale) in self.step.iter_mut().zip(&self.scales) {
            *step *= scale;
        }
        self.gradient.copy_from_slice(&self.step);
        factor.solve(&mut self.step);
        let gain = 0.5 * product(&self.gradient, &self.step);
        for (step, scale) in self.step.iter_mut().zip(&self.scales) {
            *step *= scale;
        }
        self.go(gain)
    }

    /// Takes the step from the best, which is expected to lower P by `gain`, and says what the next pass is to sum up.
    pub(super) fn go(&mut self, gain: f64) -> Next {
        for ((w, step), best) in self.w.iter_mut().zip(&self.step).zip(&self.best) {
            *w = best + step;
        }
        if !(gain > 0.0 && gain.is_finite()) {
            return self.give_up();
        }
        let ends = self.sampled >= SAMPLE_PASSES || gain <= SAMPLE_GAIN * self.best_primal;
        if self.samples && ends {
            return Next::Sampled;
        }
        self.pace.note(gain);
        // what the gap is where dual variables are not multiplied: unlike it not bounded, so that it falls from the start
        let left = 0.5 * product(&self.best_gradient, &self.best_gradient) / self.best_primal;
        let within = self.sums.tally.support;
        let gathers = self.samples
            || self.conjugate.is_some()
            || self.pace.gathers(self.tolerance, left, within);
        self.begin_pass(gathers);
        Next::Pass
    }
}

/// By what sums of dual variables are multiplied so that both are the same.
fn balanced(negative: f64, positive: f64) -> [f64; 2] {
    match negative > positive {
        true => [positive / negative, 1.0],
        false => [
            1.0,
            if positive > 0.0 {
                negative / positive
            } else {
                1.0
            },
        ],
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
