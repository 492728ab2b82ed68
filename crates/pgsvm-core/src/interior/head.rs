//! One head on the factor: a primal-dual interior point in alpha, xi, lambda and nu, as PSVM has it. Each machine has the parts
//! of the vectors that belong to its rows.
//!
//! ```text
//! problem    min 1/2 a'Qa - 1'a,  0 <= a_i <= C_i, y'a = 0,   Q = Y H H' Y
//! conditions Qa - 1 + nu y - xi + lambda = 0,  a_i xi_i = 1/t,  (C_i - a_i) lambda_i = 1/t,  y'a = 0
//! D          xi / a + lambda / (C - a)                                                     equation 9
//! z          -Qa + 1 - nu y + (1/a - 1/(C - a)) / t                                        equation 12
//! d nu       (y'S z + y'a) / y'S y,   S = (D + Q)^-1                                       equation 8
//! d a        S (z - y d nu)                                                                equation 10
//! d xi       -xi + 1/(t a) - (xi / a) d a                                                  equation 7
//! d lambda   -lambda + 1/(t (C - a)) + lambda / (C - a) d a                                equation 6
//! S v        D^-1 v - D^-1 Y H (I + H' D^-1 H)^-1 H' Y D^-1 v, for z and y by one Cholesky factor
//! gap        eta = a'xi + (C - a)'lambda, the surrogate; t = 10 * 2n / eta
//! ```
//!
//! The beginning is 1/2 C, as much of the heavier side as makes y'a = 0, and shorter where that gives a larger dual; xi and lambda
//! meet the first condition there. Steps are as long for all variables, 99 hundredths of the way to the nearest bound at
//! most, so y'a and the first condition stay what they are but for rounding.
//!
//! What is told at the end is a feasible a: entries that go to a bound are put there, and of the heavier side all shrink by what makes
//! y'a = 0. w = H'Ya, and b is the mean of y - <w, h> over up to [`MEAN_OF`] rows between the bounds; where there are none, the
//! middle of the interval in which b meets the conditions of the others. P at w and b, D at a.

use crate::base::memory::{filled, gathered, OutOfMemory};
use crate::interior::exchange::{combined, zeroed, Combine, Exchange, Halt};
use crate::interior::factoring::{Factored, Share};
use crate::interior::sums::{Decide, Gather, Normal};
use crate::simd::Level;
use crate::task::evaluation::right_side;
use crate::task::heads::HeadSpec;
use crate::task::report::{Certificate, HeadReport, StopReason};

/// Rows over which b is averaged, at most.
const MEAN_OF: usize = 1000;
/// The surrogate gap is to become smaller by this at each step.
const CENTRING: f64 = 10.0;
/// The part of the way to the nearest bound that a step goes.
const SHORT_OF: f64 = 0.99;
/// A step so short says that rounding is all that is left, after so many of them in turn.
const STUCK: f64 = 1e-4;
const STUCK_STEPS: u32 = 5;
/// What xi and lambda are at least at the beginning.
const BEGIN: f64 = 1.0;

/// How a head is to be solved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) intercept: bool,
    pub(super) tolerance: f64,
    pub(super) max_steps: u32,
}

/// How a step has left a head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepState {
    pub primal: f64,
    pub dual: f64,
    /// The surrogate gap, as a part of the primal.
    pub surrogate: f64,
    /// The length of the residual of the first condition.
    pub residual: f64,
    /// |y'a|
    pub balance: f64,
}

/// What a head comes to.
#[derive(Debug)]
pub(super) struct Solved {
    pub(super) weights: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) report: HeadReport,
    pub(super) steps: u32,
    /// By row of this machine.
    pub(super) duals: Vec<f64>,
    pub(super) decisions: Vec<f64>,
}

/// Where entries of a feasible a go that go to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    AtBounds,
    /// They stay where they are.
    Between,
}

/// A head under way on a machine.
pub(super) struct Head<'a> {
    factored: &'a Factored,
    rules: Rules,
    level: Level,
    /// By row: its side, 0 where it takes no part, and its bound.
    sides: Vec<f64>,
    bounds: Vec<f64>,
    a: Vec<f64>,
    xi: Vec<f64>,
    lambda: Vec<f64>,
    nu: f64,
    /// <w, h> by row, with w of all machines.
    decisions: Vec<f64>,
    w: Vec<f64>,
    /// Of the step: 1 / D, z and then da, y by S.
    inverse: Vec<f64>,
    along: Vec<f64>,
    balance: Vec<f64>,
    /// Room for one number a row.
    factors: Vec<f64>,
    /// Of a feasible a, whether it is between the bounds.
    between: Vec<bool>,
    /// Rows of all machines that take part.
    rows: f64,
    state: StepState,
}

impl<'a> Head<'a> {
    pub(super) fn new(
        spec: &HeadSpec,
        rules: Rules,
        share: &Share,
        factored: &'a Factored,
    ) -> Result<Self, OutOfMemory> {
        let rows = share.groups.iter().zip(&share.costs);
        let side = |group: u32, bound: f64| match bound > 0.0 {
            true => f64::from(spec.signs.of(group as usize)),
            false => 0.0,
        };
        let bounds = gathered(rows.map(|(group, cost)| {
            let weight = match spec.signs.of(*group as usize) {
                0 => 0.0,
                1 => f64::from(spec.positive_weight),
                _ => 1.0,
            };
            spec.c * f64::from(*cost) * weight
        }))?;
        let all = share.groups.iter().zip(&bounds);
        let count = share.len();
        let none = || filled(0.0, count);
        Ok(Self {
            sides: gathered(all.map(|(group, bound)| side(*group, *bound)))?,
            bounds,
            factored,
            rules,
            level: Level::best(),
            a: none()?,
            xi: none()?,
            lambda: none()?,
            nu: 0.0,
            decisions: none()?,
            w: filled(0.0, factored.rank())?,
            inverse: none()?,
            along: none()?,
            balance: none()?,
            factors: none()?,
            between: filled(false, count)?,
            rows: 0.0,
            state: StepState {
                primal: f64::INFINITY,
                dual: 0.0,
                surrogate: f64::INFINITY,
                residual: 0.0,
                balance: 0.0,
            },
        })
    }

    /// Bytes of a machine with so many rows, besides H.
    pub(super) fn bytes(rows: usize) -> usize {
        96 * rows
    }

    /// The greatest C of a row of this machine.
    pub(super) fn largest_bound(&self) -> f64 {
        self.bounds.iter().copied().fold(0.0, f64::max)
    }

    /// Solves it; `log` is told of each step.
    pub(super) fn solve<E: Exchange>(
        mut self,
        normal: &mut Normal,
        exchange: &mut E,
        mut log: impl FnMut(&StepState),
    ) -> Result<Solved, Halt> {
        if !self.begin(exchange)? {
            return self.settle(Ends::AtBounds, 0, exchange);
        }
        let (mut steps, mut short) = (0, 0);
        loop {
            let gap = self.look(exchange)?;
            log(&self.state);
            if self.is_near() {
                let found = self.settle(Ends::AtBounds, steps, exchange)?;
                if found.report.stop == Some(StopReason::Tolerance) {
                    return Ok(found);
                }
            }
            if steps == self.rules.max_steps || short == STUCK_STEPS || gap == 0.0 {
                return self.give_up(steps, exchange);
            }
            let length = self.step(gap, normal, exchange)?;
            steps += 1;
            short = if length < STUCK { short + 1 } else { 0 };
        }
    }

    /// Whether surrogate gap and residuals are within the tolerance.
    fn is_near(&self) -> bool {
        let (tolerance, state) = (self.rules.tolerance, &self.state);
        state.surrogate <= tolerance
            && state.residual <= tolerance * self.rows.sqrt()
            && state.balance <= 1e-3 * tolerance * state.primal.max(1.0)
    }

    /// What there is where it comes no nearer: entries at bounds, unless that is worse than those between them.
    fn give_up<E: Exchange>(mut self, steps: u32, exchange: &mut E) -> Result<Solved, Halt> {
        let at_bounds = self.settle(Ends::AtBounds, steps, exchange)?;
        let between = self.settle(Ends::Between, steps, exchange)?;
        let gap = |found: &Solved| found.report.certificate.gap;
        match gap(&between) < gap(&at_bounds) {
            true => Ok(between),
            false => Ok(at_bounds),
        }
    }

    fn takes_part(&self, row: usize) -> bool {
        self.sides[row] != 0.0
    }

    fn count(&self) -> usize {
        self.sides.len()
    }

    /// Where it begins; false where one side has no rows, so that nothing is to be solved.
    fn begin<E: Exchange>(&mut self, exchange: &mut E) -> Result<bool, Halt> {
        let mut sums = [0.0; 3];
        for row in 0..self.count() {
            match self.sides[row] {
                0.0 => {}
                side => {
                    sums[usize::from(side > 0.0)] += self.bounds[row];
                    sums[2] += 1.0;
                }
            }
        }
        let [negative, positive, rows] = combined(exchange, sums, Combine::Sum)?;
        self.rows = rows;
        let lighter = negative.min(positive);
        if rows == 0.0 || (self.rules.intercept && lighter == 0.0) {
            return Ok(false);
        }
        let share = |own: f64| match self.rules.intercept {
            true => 0.5 * lighter / own,
            false => 0.5,
        };
        let shares = [share(negative), share(positive)];
        for row in 0..self.count() {
            if self.takes_part(row) {
                self.a[row] = shares[usize::from(self.sides[row] > 0.0)] * self.bounds[row];
            }
        }
        self.weigh(exchange)?;
        // the best multiple of it
        let own = [self.a.iter().sum()];
        let [linear] = combined(exchange, own, Combine::Sum)?;
        let square = square(&self.w);
        let times = if square > linear {
            linear / square
        } else {
            1.0
        };
        self.a.iter_mut().for_each(|a| *a *= times);
        self.w.iter_mut().for_each(|w| *w *= times);
        self.decide()?;
        for row in 0..self.count() {
            let slope = self.sides[row] * self.decisions[row] - 1.0;
            self.xi[row] = slope.max(0.0) + BEGIN;
            self.lambda[row] = (-slope).max(0.0) + BEGIN;
        }
        Ok(true)
    }

    /// w = H'Ya, of all machines.
    fn weigh<E: Exchange>(&mut self, exchange: &mut E) -> Result<(), Halt> {
        let products = self.a.iter().zip(&self.sides);
        for (factor, (a, side)) in self.factors.iter_mut().zip(products) {
            *factor = a * side;
        }
        zeroed(&mut self.w, self.factored.rank())?;
        Gather::over(self.level, self.factored, &self.factors, &mut self.w);
        exchange.combine(&mut self.w, Combine::Sum)
    }

    fn decide(&mut self) -> Result<(), Halt> {
        Decide::over(self.level, self.factored, &self.w, &mut self.decisions);
        Ok(())
    }

    /// What there is to say of the point: its state, and the surrogate gap.
    fn look<E: Exchange>(&mut self, exchange: &mut E) -> Result<f64, Halt> {
        let mut sums = [0.0; 5];
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let (side, bound, a) = (self.sides[row], self.bounds[row], self.a[row]);
            let slope = side * (self.decisions[row] + self.nu) - 1.0;
            let residual = slope - self.xi[row] + self.lambda[row];
            sums[0] += a;
            sums[1] += bound * (-slope).max(0.0);
            sums[2] += a * self.xi[row] + (bound - a) * self.lambda[row];
            sums[3] += residual * residual;
            sums[4] += side * a;
        }
        let [linear, losses, gap, residual, balance] = combined(exchange, sums, Combine::Sum)?;
        let half = 0.5 * square(&self.w);
        let primal = half + losses;
        self.state = StepState {
            primal,
            dual: linear - half,
            surrogate: gap / primal,
            residual: residual.sqrt(),
            balance: if self.rules.intercept {
                balance.abs()
            } else {
                0.0
            },
        };
        Ok(gap)
    }

    /// A step from here; its length.
    fn step<E: Exchange>(
        &mut self,
        gap: f64,
        normal: &mut Normal,
        exchange: &mut E,
    ) -> Result<f64, Halt> {
        let t = CENTRING * 2.0 * self.rows / gap;
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let (side, a) = (self.sides[row], self.a[row]);
            let left = self.bounds[row] - a;
            self.inverse[row] = 1.0 / (self.xi[row] / a + self.lambda[row] / left);
            let pull = (1.0 / a - 1.0 / left) / t;
            self.along[row] = 1.0 - side * (self.decisions[row] + self.nu) + pull;
        }
        let sides = (&self.sides[..], &self.inverse[..], &self.along[..]);
        let [by_z, by_y] = normal.solve(self.level, self.factored, sides, exchange)?;
        self.go_along(&by_z, &by_y);
        let shift = self.shift(exchange)?;
        for row in 0..self.count() {
            self.along[row] -= self.balance[row] * shift;
        }
        let length = self.length(t, exchange)?;
        self.go(length, shift, t);
        self.weigh(exchange)?;
        self.decide()?;
        Ok(length)
    }

    /// S z in `along`, S y in `balance`.
    fn go_along(&mut self, by_z: &[f64], by_y: &[f64]) {
        Decide::over(self.level, self.factored, by_z, &mut self.factors);
        Decide::over(self.level, self.factored, by_y, &mut self.balance);
        for row in 0..self.sides.len() {
            let (side, inverse) = (self.sides[row], self.inverse[row]);
            self.along[row] = inverse * (self.along[row] - side * self.factors[row]);
            self.balance[row] = inverse * (side - side * self.balance[row]);
        }
    }

    /// d nu
    fn shift<E: Exchange>(&self, exchange: &mut E) -> Result<f64, Halt> {
        let mut sums = [0.0; 2];
        for row in 0..self.count() {
            sums[0] += self.sides[row] * (self.along[row] + self.a[row]);
            sums[1] += self.sides[row] * self.balance[row];
        }
        let [wanted, each] = combined(exchange, sums, Combine::Sum)?;
        match self.rules.intercept && each > 0.0 {
            true => Ok(wanted / each),
            false => Ok(0.0),
        }
    }

    /// d xi and d lambda of a row.
    #[inline(always)]
    fn slopes(&self, row: usize, t: f64) -> (f64, f64) {
        let (a, along) = (self.a[row], self.along[row]);
        let left = self.bounds[row] - a;
        let (xi, lambda) = (self.xi[row], self.lambda[row]);
        let to_xi = -xi + (1.0 / t - xi * along) / a;
        let to_lambda = -lambda + (1.0 / t + lambda * along) / left;
        (to_xi, to_lambda)
    }

    /// How far all variables may go.
    fn length<E: Exchange>(&self, t: f64, exchange: &mut E) -> Result<f64, Halt> {
        let mut least = f64::INFINITY;
        let mut bound = |room: f64, change: f64| {
            if change < 0.0 {
                least = least.min(room / -change);
            }
        };
        for row in 0..self.count() {
            if self.takes_part(row) {
                let (to_xi, to_lambda) = self.slopes(row, t);
                let along = self.along[row];
                bound(self.a[row], along);
                bound(self.bounds[row] - self.a[row], -along);
                bound(self.xi[row], to_xi);
                bound(self.lambda[row], to_lambda);
            }
        }
        let [least] = combined(exchange, [least], Combine::Least)?;
        Ok((SHORT_OF * least).min(1.0))
    }

    fn go(&mut self, length: f64, shift: f64, t: f64) {
        for row in 0..self.count() {
            if self.takes_part(row) {
                let (to_xi, to_lambda) = self.slopes(row, t);
                self.xi[row] += length * to_xi;
                self.lambda[row] += length * to_lambda;
                self.a[row] += length * self.along[row];
            }
        }
        self.nu += length * shift;
    }

    /// A feasible a, with w and b and what they come to. Its own point stays what it is.
    fn settle<E: Exchange>(
        &mut self,
        ends: Ends,
        steps: u32,
        exchange: &mut E,
    ) -> Result<Solved, Halt> {
        let kept = (
            std::mem::take(&mut self.a),
            std::mem::take(&mut self.w),
            std::mem::take(&mut self.decisions),
        );
        self.a = self.feasible(ends, &kept.0, exchange)?;
        self.decisions = filled(0.0, self.count())?;
        self.weigh(exchange)?;
        self.decide()?;
        let intercept = self.intercept(exchange)?;
        let mut report = self.report(intercept, exchange)?;
        report.stop = Some(match report.certificate.gap <= self.rules.tolerance {
            true => StopReason::Tolerance,
            false => StopReason::MaxPasses,
        });
        Ok(Solved {
            duals: std::mem::replace(&mut self.a, kept.0),
            weights: std::mem::replace(&mut self.w, kept.1),
            decisions: std::mem::replace(&mut self.decisions, kept.2),
            intercept,
            report,
            steps,
        })
    }

    /// Entries that go to a bound at it, and y'a = 0.
    fn feasible<E: Exchange>(
        &mut self,
        ends: Ends,
        a: &[f64],
        exchange: &mut E,
    ) -> Result<Vec<f64>, Halt> {
        let most = a.iter().copied().fold(0.0, f64::max);
        let [most] = combined(exchange, [-most], Combine::Least)?;
        let most = -most;
        let mut found = filled(0.0, a.len())?;
        let mut sums = [0.0; 2];
        for row in 0..a.len() {
            let (own, bound) = (a[row], self.bounds[row]);
            if !self.takes_part(row) || most == 0.0 {
                continue;
            }
            // of the two that are 0 in the limit, which is nearer
            let rounds = ends == Ends::AtBounds;
            let at_0 = rounds && own < most * self.xi[row];
            let at_bound = rounds && bound - own < bound * self.lambda[row];
            self.between[row] = !at_0 && !at_bound;
            found[row] = match (at_0, at_bound) {
                (true, _) => 0.0,
                (_, true) => bound,
                _ => own,
            };
            sums[usize::from(self.sides[row] > 0.0)] += found[row];
        }
        let [negative, positive] = combined(exchange, sums, Combine::Sum)?;
        if self.rules.intercept {
            let lighter = negative.min(positive);
            let share = |own: f64| if own > 0.0 { lighter / own } else { 0.0 };
            let shares = [share(negative), share(positive)];
            for (a, side) in found.iter_mut().zip(&self.sides) {
                *a *= shares[usize::from(*side > 0.0)];
            }
        }
        Ok(found)
    }

    /// b of a feasible a: see the head of this file.
    fn intercept<E: Exchange>(&self, exchange: &mut E) -> Result<f64, Halt> {
        if !self.rules.intercept {
            return Ok(0.0);
        }
        let most = MEAN_OF.div_ceil(exchange.machines());
        let (mut sums, mut taken) = ([0.0; 2], 0);
        // from below and above
        let mut limits = [f64::INFINITY; 2];
        for row in 0..self.count() {
            let (side, a) = (self.sides[row], self.a[row]);
            if side == 0.0 {
                continue;
            }
            let own = side - self.decisions[row];
            if self.between[row] {
                if taken < most {
                    sums[0] += own;
                    sums[1] += 1.0;
                    taken += 1;
                }
            } else if (side > 0.0) == (a == 0.0) {
                limits[0] = limits[0].min(-own);
            } else {
                limits[1] = limits[1].min(own);
            }
        }
        let [sum, count] = combined(exchange, sums, Combine::Sum)?;
        let [below, above] = combined(exchange, limits, Combine::Least)?;
        Ok(match (count > 0.0, below.is_finite(), above.is_finite()) {
            (true, ..) => sum / count,
            (_, true, true) => 0.5 * (above - below),
            (_, true, false) => -below,
            (_, false, true) => above,
            (_, false, false) => 0.0,
        })
    }

    /// P at w and b over all rows, D at a.
    fn report<E: Exchange>(&self, b: f64, exchange: &mut E) -> Result<HeadReport, Halt> {
        let mut sums = [0.0; 6];
        for row in 0..self.count() {
            let (side, a) = (self.sides[row], self.a[row]);
            if side == 0.0 {
                continue;
            }
            let decision = self.decisions[row] + b;
            let margin = side * decision;
            let right = right_side(margin, side);
            sums[0] += a;
            sums[1] += self.bounds[row] * (1.0 - margin).max(0.0);
            sums[2] += f64::from(u8::from(right));
            sums[3] += if margin == 0.0 { side } else { 0.0 };
            sums[4] += f64::from(u8::from(a > 0.0));
            sums[5] += 1.0;
        }
        let [linear, losses, right, ties, support, rows] = combined(exchange, sums, Combine::Sum)?;
        let half = 0.5 * square(&self.w);
        Ok(HeadReport {
            certificate: Certificate::of(half + losses, linear - half),
            training_accuracy: right / rows.max(1.0),
            ties: ties / rows.max(1.0),
            stop: None,
            support_vectors: support as u64,
            kappa: 0.0,
            updates: None,
        })
    }
}

fn square(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}
