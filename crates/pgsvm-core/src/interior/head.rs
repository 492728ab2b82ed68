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
//! Optimization and Applications 6, 1996). With t = 10 * 2n / eta alone it takes two to three times as many steps.
//!
//! The beginning is 1/2 C, of the heavier side as much as makes y'a = 0, with xi and lambda all alike. Steps are as long for all
//! variables, 99 hundredths of the way to the nearest bound at most, so y'a stays what it is but for rounding, and the
//! residual of the first condition shrinks as far as steps go.
//!
//! What is told at the end is a feasible a: entries that go to a bound are put there, and of the heavier side all shrink by what makes
//! y'a = 0; where that loses too much, as with many rows near a bound, the a of the last step. w = H'Ya, and b is the mean of
//! y - <w, h> over up to [`MEAN_OF`] rows between the bounds whose xi and lambda are within the tolerance; where there are none,
//! the middle of the interval in which b meets the conditions of the others. P at w and b, D at a.

use crate::base::memory::{copied, filled, gathered, OutOfMemory};
use crate::interior::exchange::{combined, zeroed, Combine, Exchange, Halt};
use crate::interior::factoring::{Factored, Share};
use crate::interior::sums::{Decide, Gather, Normal};
use crate::simd::Level;
use crate::task::evaluation::right_side;
use crate::task::heads::HeadSpec;
use crate::task::report::{Certificate, HeadReport, StopReason};

/// Rows over which b is averaged, at most.
const MEAN_OF: usize = 1000;
/// The part of the way to the nearest bound that a step goes.
const SHORT_OF: f64 = 0.99;
/// A step so short says that rounding is all that is left, after so many of them in turn.
const STUCK: f64 = 1e-4;
const STUCK_STEPS: u32 = 5;
/// What xi and lambda are at the beginning, as a part of the mean of |Qa - 1|, or of 1 where that is less.
const BEGIN: f64 = 0.1;
/// Corrections of a step towards equal products, at most; how much farther it is to go by one, of which a part at least; by how
/// much products may be away from mu.
const CORRECTIONS: usize = 2;
const FARTHER: f64 = 0.3;
const LEAST_GAIN: f64 = 0.1;
const APART: f64 = 10.0;

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

/// Which vector it is about.
#[derive(Debug, Clone, Copy)]
enum Of {
    Along,
    Balance,
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
        for row in 0..self.count() {
            if self.takes_part(row) {
                let left = self.bounds[row] - self.a[row];
                let pulls = self.xi[row] / self.a[row] + self.lambda[row] / left;
                self.inverse[row] = 1.0 / pulls;
            }
        }
        let rows = (&self.sides[..], &self.inverse[..]);
        normal.factor(self.level, self.factored, rows, exchange)?;
        self.balance.copy_from_slice(&self.sides);
        self.by_inverse(Of::Balance, normal, exchange)?;
        self.to_xi.fill(0.0);
        self.to_lambda.fill(0.0);
        // where it would go were the gap to be closed at once, and how much of it would be left there
        self.direct(0.0, normal, exchange)?;
        let length = self.length(0.0, exchange)?;
        let left = self.foreseen(length, exchange)? / gap;
        let mu = left.powi(3) * gap / (2.0 * self.rows);
        let shift = self.direct(mu, normal, exchange)?;
        let length = self.length(mu, exchange)?;
        let (length, shift) = self.corrected(mu, (length, shift), normal, exchange)?;
        self.go(length, shift, mu);
        self.weigh(exchange)?;
        self.decide()?;
        Ok(length)
    }

    /// Corrects the step for products that would come to lie far from mu behind a longer one, as long as that makes it longer.
    fn corrected<E: Exchange>(
        &mut self,
        mu: f64,
        (mut length, mut shift): (f64, f64),
        normal: &mut Normal,
        exchange: &mut E,
    ) -> Result<(f64, f64), Halt> {
        for _ in 0..CORRECTIONS {
            if length >= SHORT_OF {
                break;
            }
            let kept = [
                copied(&self.along)?,
                copied(&self.to_xi)?,
                copied(&self.to_lambda)?,
            ];
            self.aim(mu, (length + FARTHER).min(1.0));
            let corrected = self.direct(mu, normal, exchange)?;
            let longer = self.length(mu, exchange)?;
            if longer < length + LEAST_GAIN * FARTHER {
                [self.along, self.to_xi, self.to_lambda] = kept;
                break;
            }
            (length, shift) = (longer, corrected);
        }
        Ok((length, shift))
    }

    /// Has products that a step of this length would bring too far from mu aim at what is not.
    fn aim(&mut self, mu: f64, length: f64) {
        let missing = |product: f64| {
            let near = product.clamp(mu / APART, mu * APART);
            (near - product).max(-mu * APART)
        };
        for row in 0..self.count() {
            if self.takes_part(row) {
                let (to_xi, to_lambda) = self.slopes(row, mu);
                let along = self.along[row];
                let left = self.bounds[row] - self.a[row];
                let low = (self.a[row] + length * along) * (self.xi[row] + length * to_xi);
                let high = (left - length * along) * (self.lambda[row] + length * to_lambda);
                self.to_xi[row] -= missing(low);
                self.to_lambda[row] += missing(high);
            }
        }
    }

    /// d a in `along`, for 1 / t = `mu`; gives back d nu.
    fn direct<E: Exchange>(
        &mut self,
        mu: f64,
        normal: &mut Normal,
        exchange: &mut E,
    ) -> Result<f64, Halt> {
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let (side, a) = (self.sides[row], self.a[row]);
            let left = self.bounds[row] - a;
            let pull = (mu - self.to_xi[row]) / a - (mu + self.to_lambda[row]) / left;
            self.along[row] = 1.0 - side * (self.decisions[row] + self.nu) + pull;
        }
        self.by_inverse(Of::Along, normal, exchange)?;
        let shift = self.shift(exchange)?;
        for (along, balance) in self.along.iter_mut().zip(&self.balance) {
            *along -= balance * shift;
        }
        Ok(shift)
    }

    /// S v in place of v.
    fn by_inverse<E: Exchange>(
        &mut self,
        of: Of,
        normal: &mut Normal,
        exchange: &mut E,
    ) -> Result<(), Halt> {
        let vector = match of {
            Of::Along => &mut self.along,
            Of::Balance => &mut self.balance,
        };
        for (row, factor) in self.factors.iter_mut().enumerate() {
            *factor = self.sides[row] * self.inverse[row] * vector[row];
        }
        let solved = normal.solve(self.level, self.factored, &self.factors, exchange)?;
        Decide::over(self.level, self.factored, solved, &mut self.factors);
        for (row, value) in vector.iter_mut().enumerate() {
            *value = self.inverse[row] * (*value - self.sides[row] * self.factors[row]);
        }
        Ok(())
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
    fn slopes(&self, row: usize, mu: f64) -> (f64, f64) {
        let (a, along) = (self.a[row], self.along[row]);
        let left = self.bounds[row] - a;
        let (xi, lambda) = (self.xi[row], self.lambda[row]);
        let to_xi = -xi + (mu - self.to_xi[row] - xi * along) / a;
        let to_lambda = -lambda + (mu + self.to_lambda[row] + lambda * along) / left;
        (to_xi, to_lambda)
    }

    /// How far all variables may go.
    fn length<E: Exchange>(&self, mu: f64, exchange: &mut E) -> Result<f64, Halt> {
        let mut least = f64::INFINITY;
        let mut bound = |room: f64, change: f64| {
            if change < 0.0 {
                least = least.min(room / -change);
            }
        };
        for row in 0..self.count() {
            if self.takes_part(row) {
                let (to_xi, to_lambda) = self.slopes(row, mu);
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

    /// The surrogate gap behind a step of this length towards a gap of 0, of which the products of changes are kept for the next.
    fn foreseen<E: Exchange>(&mut self, length: f64, exchange: &mut E) -> Result<f64, Halt> {
        let mut sum = 0.0;
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let (to_xi, to_lambda) = self.slopes(row, 0.0);
            let along = self.along[row];
            let left = self.bounds[row] - self.a[row];
            sum += (self.a[row] + length * along) * (self.xi[row] + length * to_xi)
                + (left - length * along) * (self.lambda[row] + length * to_lambda);
            self.to_xi[row] = along * to_xi;
            self.to_lambda[row] = along * to_lambda;
        }
        let [sum] = combined(exchange, [sum], Combine::Sum)?;
        Ok(sum)
    }

    fn go(&mut self, length: f64, shift: f64, mu: f64) {
        for row in 0..self.count() {
            if self.takes_part(row) {
                let (to_xi, to_lambda) = self.slopes(row, mu);
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
            let at_0 = own < most * self.xi[row];
            let at_bound = bound - own < bound * self.lambda[row];
            // it meets its margin, as far as the tolerance goes
            let met = self.xi[row].max(self.lambda[row]) <= self.rules.tolerance;
            self.between[row] = met && !at_0 && !at_bound;
            self.support[row] = !at_0;
            found[row] = match (ends, at_0, at_bound) {
                (Ends::AtBounds, true, _) => 0.0,
                (Ends::AtBounds, _, true) => bound,
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
            } else if (side > 0.0) == (a < 0.5 * self.bounds[row]) {
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
            sums[4] += f64::from(u8::from(self.support[row]));
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
