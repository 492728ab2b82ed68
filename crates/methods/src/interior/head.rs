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
//! gap        eta = a'xi + (C - a)'lambda, the surrogate; mu = 1/t
//! ```
//!
//! One Cholesky factor a step serves several right sides: y, and z of mu = 0, which tells how much of eta would be left; with the
//! cube of that part the mu of the step itself, which knows of the second order what the first has found (Mehrotra, *On the
//! implementation of a primal-dual interior point method*, SIAM J. Optimization 2, 1992, which the paper refers to); and up to
//! two corrections of it, each as long as it makes the step longer (Gondzio, *Multiple centrality corrections*, Computational
//! Optimization and Applications 6, 1996). With t = 10 * 2n / eta alone it takes two to four times as many steps.
//!
//! The beginning is 1/2 C, of the heavier side as much as makes y'a = 0, with xi and lambda all alike. Steps are as long for all
//! variables, 99 hundredths of the way to the nearest bound at most, so y'a stays what it is but for rounding, and the
//! residual of the first condition shrinks as far as steps go.

mod ending;
mod step;

use serde::{Deserialize, Serialize};

use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::interior::exchange::{combined, Combine, Exchange, Halt};
use crate::interior::factoring::{Factored, Share};
use crate::interior::head::ending::Ends;
use crate::interior::sums::{Decide, Gather, Normal};
use crate::objective::central_path::{central, NEAR};
use crate::objective::heads::HeadSpec;
use crate::objective::report::{HeadReport, StopReason};
use crate::simd::Level;

/// A step so short says that rounding is all that is left, after so many of them in turn.
const STUCK: f64 = 1e-4;
const STUCK_STEPS: u32 = 5;
/// What xi and lambda are at the beginning, as a part of the mean of |Qa - 1|, or of 1 where that is less.
const BEGIN: f64 = 0.1;

/// How a head is to be solved.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
    /// What the second order takes from a xi = mu and adds to (C - a) lambda = mu.
    to_xi: Vec<f64>,
    to_lambda: Vec<f64>,
    /// Room for one number a row.
    factors: Vec<f64>,
    /// Of a feasible a, whether it is between the bounds.
    between: Vec<bool>,
    /// The same, whether it is not at 0.
    support: Vec<bool>,
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
            to_xi: none()?,
            to_lambda: none()?,
            factors: none()?,
            between: filled(false, count)?,
            support: filled(false, count)?,
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
        144 * rows
    }

    /// The greatest C of a row of this machine.
    pub(super) fn largest_bound(&self) -> f64 {
        self.bounds.iter().copied().fold(0.0, f64::max)
    }

    /// Where it stands.
    pub(super) fn state(&self) -> StepState {
        self.state
    }

    /// w and nu, which its state is about.
    pub(super) fn weights(&self) -> (&[f64], f64) {
        (&self.w, self.nu)
    }

    /// Solves it, beginning near these weights where there are any, the intercept behind them; `log` sees it behind each step.
    pub(super) fn solve<E: Exchange>(
        mut self,
        start: &[f64],
        normal: &mut Normal,
        exchange: &mut E,
        mut log: impl FnMut(&Self),
    ) -> Result<Solved, Halt> {
        if !self.begin(start, exchange)? {
            return self.settle(Ends::AtBounds, 0, exchange);
        }
        let (mut steps, mut short) = (0, 0);
        loop {
            let gap = self.look(exchange)?;
            log(&self);
            if self.is_near() {
                for ends in [Ends::AtBounds, Ends::Between] {
                    let found = self.settle(ends, steps, exchange)?;
                    if found.report.stop == Some(StopReason::Tolerance) {
                        return Ok(found);
                    }
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

    fn takes_part(&self, row: usize) -> bool {
        self.sides[row] != 0.0
    }

    fn count(&self) -> usize {
        self.sides.len()
    }

    /// Where it begins; false where one side has no rows, so that nothing is to be solved.
    fn begin<E: Exchange>(&mut self, start: &[f64], exchange: &mut E) -> Result<bool, Halt> {
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
        if let Some((intercept, weights)) = start.split_last() {
            if self.begin_near(weights, *intercept, exchange)? {
                return Ok(true);
            }
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
        self.decide()?;
        let slopes = self.sides.iter().zip(&self.decisions);
        let own = slopes.map(|(side, decision)| side.abs() * (side * decision - 1.0).abs());
        let own = [own.sum()];
        let [slopes] = combined(exchange, own, Combine::Sum)?;
        let begin = (BEGIN * slopes / rows).max(BEGIN);
        self.xi.fill(begin);
        self.lambda.fill(begin);
        Ok(true)
    }

    /// Begins where a, xi and lambda are to margins of these weights what they are to those of a point whose products are all mu; false
    /// where the weights are no better than none.
    fn begin_near<E: Exchange>(
        &mut self,
        weights: &[f64],
        intercept: f64,
        exchange: &mut E,
    ) -> Result<bool, Halt> {
        Decide::over(self.level, self.factored, weights, &mut self.decisions)?;
        let nu = if self.rules.intercept { intercept } else { 0.0 };
        let mut sums = [0.0; 2];
        for row in 0..self.count() {
            let within = 1.0 - self.sides[row] * (self.decisions[row] + nu);
            if self.takes_part(row) {
                sums[0] += self.bounds[row] * within.max(0.0);
                sums[1] += self.bounds[row];
            }
        }
        let [losses, at_0] = combined(exchange, sums, Combine::Sum)?;
        let primal = 0.5 * square(weights) + losses;
        let falls = primal < at_0;
        if !falls {
            return Ok(false);
        }
        let mu = NEAR * primal / (2.0 * self.rows);
        let mut sums = [0.0; 2];
        for row in 0..self.count() {
            if self.takes_part(row) {
                let slope = self.sides[row] * (self.decisions[row] + nu) - 1.0;
                self.a[row] = central(slope, self.bounds[row], mu);
                sums[usize::from(self.sides[row] > 0.0)] += self.a[row];
            }
        }
        let [negative, positive] = combined(exchange, sums, Combine::Sum)?;
        let lighter = negative.min(positive);
        let shares = [negative, positive].map(|own| match self.rules.intercept {
            true => lighter / own,
            false => 1.0,
        });
        for row in 0..self.count() {
            if self.takes_part(row) {
                let a = self.a[row] * shares[usize::from(self.sides[row] > 0.0)];
                self.a[row] = a;
                self.xi[row] = mu / a;
                self.lambda[row] = mu / (self.bounds[row] - a);
            }
        }
        self.nu = nu;
        self.weigh(exchange)?;
        self.decide()?;
        Ok(true)
    }

    /// w = H'Ya, of all machines.
    fn weigh<E: Exchange>(&mut self, exchange: &mut E) -> Result<(), Halt> {
        let products = self.a.iter().zip(&self.sides);
        for (factor, (a, side)) in self.factors.iter_mut().zip(products) {
            *factor = a * side;
        }
        self.w.clear();
        let rank = self.factored.rank();
        self.w.room(rank)?.resize(rank, 0.0);
        Gather::over(self.level, self.factored, &self.factors, &mut self.w)?;
        exchange.combine(&mut self.w, Combine::Sum)
    }

    fn decide(&mut self) -> Result<(), Halt> {
        Decide::over(self.level, self.factored, &self.w, &mut self.decisions)
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
}

fn square(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}
