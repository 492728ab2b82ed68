//! One head on the factor: a primal-dual interior point in alpha, xi, lambda and nu, as PSVM has it. Each machine has the parts
//! of the vectors that belong to its rows. What follows of a row alone is in [`crate::objective::central_path`].
//!
//! ```text
//! problem    min 1/2 a'(Q + diag d)a - p'a,  0 <= a_i <= u_i, y'a = 0,   Q = Y H H' Y;  p, d and u are the loss's, of the hinge 1, 0, C_i
//! z          -g + (1/a - 1/(u - a)) / t                                                    equation 12
//! d nu       (y'S z + y'a) / y'S y,   S = (D + Q)^-1                                       equation 8
//! d a        S (z - y d nu)                                                                equation 10
//! S v        D^-1 v - D^-1 Y H (I + H' D^-1 H)^-1 H' Y D^-1 v, for z and y by one Cholesky factor
//! gap        eta = a'xi + (u - a)'lambda, the surrogate; mu = 1/t
//! ```
//!
//! One Cholesky factor a step serves several right sides: y, and z of mu = 0, which tells how much of eta would be left; with the
//! cube of that part the mu of the step itself, which knows of the second order what the first has found (Mehrotra, *On the
//! implementation of a primal-dual interior point method*, SIAM J. Optimization 2, 1992, which the paper refers to); and up to
//! two corrections of it, each as long as it makes the step longer (Gondzio, *Multiple centrality corrections*, Computational
//! Optimization and Applications 6, 1996). With t = 10 * 2n / eta alone it takes two to four times as many steps.
//!
//! The beginning is 1/2 C, of the heavier side as much as makes y'a = 0, with xi and lambda the larger the smaller a row's weight is. Steps are as long for all
//! variables, 99 hundredths of the way to the nearest bound at most, so y'a stays what it is but for rounding, and the
//! residual of the first condition shrinks as far as steps go.
//!
//! A truncated loss, min(L, 1 + s), is solved in rounds (Yen, Chang, Lin, Lin, Lin, KDD 2013, (5)): an outlier, whose loss is above 1 + s
//! where the round before has ended, costs 1 + s times its weight and has no side. Each round begins near the last. It ends where the
//! certificate of the rows that are no outliers at the weights themselves is within the tolerance.

mod ending;
mod step;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room as _};
use crate::interior::exchange::{combined, Combine, Exchange, Halt};
use crate::interior::factoring::{Factored, Share};
use crate::interior::head::ending::Ends;
use crate::interior::sums::{Decide, Gather, Normal};
use crate::objective::central_path::{
    first_slack, products_of_row, RowPoint, RowTerms, MIDDLE, NEAR, STUCK, STUCK_STEPS,
};
use crate::objective::heads::HeadSpec;
use crate::objective::loss::Loss;
use crate::objective::minimized::{balanced, Intercept};
use crate::objective::report::{HeadReport, StopReason};
use crate::simd::Level;

/// The parts of the tolerance to which the first round of a truncated loss and those behind it are solved; and rounds at most.
const FIRST_ROUND: f64 = 0.5;
const LATER_ROUNDS: f64 = 0.1;
const MOST_ROUNDS: u32 = 50;

/// Steps in which the surrogate gap has not fallen by a tenth though the conditions are met, until a step aims at a larger mu and knows of no second
/// order: what the second order says may lead to and fro for ever.
const STANDING: u32 = 4;
const FALLING: f64 = 0.9;

/// How a head is to be solved.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Rules {
    pub(super) loss: Loss,
    /// s, where the loss is truncated; a head may have its own.
    pub(super) truncation: Option<f64>,
    pub(super) intercept: Intercept,
    pub(super) tolerance: f64,
    pub(super) max_steps: u32,
}

impl Rules {
    /// What rows of H have behind them.
    pub(super) fn constant(&self) -> f64 {
        match self.intercept {
            Intercept::InNorm => 1.0,
            Intercept::Free | Intercept::None => 0.0,
        }
    }
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
    /// Of a truncated loss, rows of all machines that are on another side at these weights than in the round.
    moved: f64,
}

/// A head under way on a machine.
pub(super) struct Head<'a> {
    factored: &'a Factored,
    rules: Rules,
    level: Level,
    /// By row: its side, 0 where it takes no part, and its weight.
    sides: Vec<f64>,
    weights: Vec<f64>,
    /// What their scores have beside decisions; empty where that is nothing.
    offsets: Vec<f64>,
    /// Where the loss is truncated.
    rounds: Option<Rounds>,
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
    /// What the second order takes from a xi = mu and adds to (u - a) lambda = mu.
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

/// The rounds of a truncated loss.
struct Rounds {
    /// 1 + s
    most: f64,
    /// By row its side, also of outliers.
    sides: Vec<f64>,
    /// Of the round under way, from 1: what its outliers cost, and how many rows of all machines are on another side than in the last.
    number: u32,
    constant: f64,
    changed: f64,
}

impl<'a> Head<'a> {
    pub(super) fn new(
        spec: &HeadSpec,
        rules: Rules,
        share: &Share,
        factored: &'a Factored,
    ) -> Result<Self, OutOfMemory> {
        let rows = share.groups.iter().zip(&share.costs);
        let side = |group: u32, weight: f64| match weight > 0.0 {
            true => f64::from(spec.signs.of(group as usize)),
            false => 0.0,
        };
        let weights = gathered(rows.map(|(group, cost)| {
            let weight = match spec.signs.of(*group as usize) {
                0 => 0.0,
                1 => f64::from(spec.positive_weight),
                _ => 1.0,
            };
            spec.c * f64::from(*cost) * weight
        }))?;
        let all = share.groups.iter().zip(&weights);
        let count = share.len();
        let none = || filled(0.0, count);
        let sides = gathered(all.map(|(group, weight)| side(*group, *weight)))?;
        let truncation = spec.truncation.or(rules.truncation);
        let offsets = copied(&share.offsets)?;
        Ok(Self {
            rounds: truncation.map(|s| Rounds::new(s, &sides)).transpose()?,
            sides,
            weights,
            offsets,
            factored,
            rules,
            level: Level::best(),
            a: none()?,
            xi: none()?,
            lambda: none()?,
            nu: 0.0,
            decisions: none()?,
            w: filled(0.0, factored.rank() + 1)?,
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

    /// The greatest dual variable that a row of this machine may have; 0 where they have no bounds.
    pub(super) fn largest_bound(&self) -> f64 {
        match self.rules.loss.unbounded() {
            true => 0.0,
            false => self.weights.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Where it stands.
    pub(super) fn state(&self) -> StepState {
        self.state
    }

    /// w and the intercept, which its state is about.
    pub(super) fn weights(&self) -> (&[f64], f64) {
        let (last, w) = self.w.split_last().unwrap_or((&0.0, &[]));
        (w, self.nu + last)
    }

    /// Whether the intercept is in no norm, so that nu is it and y'a is 0; else it is the weight of a constant, if there is one.
    fn is_free(&self) -> bool {
        self.rules.intercept == Intercept::Free
    }

    /// Solves it, beginning near these weights where there are any, the intercept behind them; `log` sees it where it begins and behind
    /// each step.
    pub(super) fn solve<E: Exchange>(
        mut self,
        start: &[f64],
        normal: &mut Normal,
        exchange: &mut E,
        mut log: impl FnMut(&Self),
    ) -> Result<Solved, Halt> {
        let mut found = self.round(start, 0, normal, exchange, &mut log)?;
        while found.report.stop != Some(StopReason::Tolerance) && self.goes_on(found.steps) {
            let mut near = std::mem::take(&mut found.weights);
            near.room(1)?.push(found.intercept);
            (found.duals, found.decisions) = (Vec::new(), Vec::new());
            found = self.round(&near, found.steps, normal, exchange, &mut log)?;
        }
        Ok(found)
    }

    /// Whether another round may bring what this one has not, after so many steps.
    fn goes_on(&self, steps: u32) -> bool {
        self.rounds.as_ref().is_some_and(|it| {
            let moves = it.number <= 2 || it.changed > 0.0;
            moves && it.number < MOST_ROUNDS && steps < self.rules.max_steps
        })
    }

    /// Solves the convex problem that these weights leave, after so many steps.
    fn round<E: Exchange>(
        &mut self,
        start: &[f64],
        taken: u32,
        normal: &mut Normal,
        exchange: &mut E,
        log: &mut impl FnMut(&Self),
    ) -> Result<Solved, Halt> {
        if !self.begin(start, exchange)? {
            return self.settle(Ends::AtBounds, taken, exchange);
        }
        let share = self.rounds.as_ref().map_or(1.0, |it| match it.number {
            1 => FIRST_ROUND,
            _ => LATER_ROUNDS,
        });
        let tolerance = share * self.rules.tolerance;
        let (mut steps, mut short) = (taken, 0);
        let (mut least, mut standing) = (f64::INFINITY, 0);
        loop {
            let gap = self.look(exchange)?;
            if taken == 0 || steps > taken {
                log(self);
            }
            if self.is_near(tolerance) {
                if let Some(found) = self.end_near(tolerance, steps, exchange)? {
                    return Ok(found);
                }
            }
            if steps >= self.rules.max_steps || short == STUCK_STEPS || gap == 0.0 {
                return self.better_end(steps, exchange);
            }
            let falls = gap < FALLING * least || !self.meets_conditions(tolerance);
            standing = if falls { 0 } else { standing + 1 };
            least = least.min(gap);
            let length = self.step(gap, standing >= STANDING, normal, exchange)?;
            steps += 1;
            short = if length < STUCK { short + 1 } else { 0 };
        }
    }

    /// What there is once it is near: None where that proves too little, and of a truncated loss no row would change sides.
    fn end_near<E: Exchange>(
        &mut self,
        tolerance: f64,
        steps: u32,
        exchange: &mut E,
    ) -> Result<Option<Solved>, Halt> {
        if self.rounds.is_some() {
            let found = self.better_end(steps, exchange)?;
            let ends = found.report.stop == Some(StopReason::Tolerance) || found.moved > 0.0;
            return Ok(Some(found).filter(|_| ends));
        }
        for ends in [Ends::AtBounds, Ends::Between] {
            let found = self.settle(ends, steps, exchange)?;
            if found.report.certificate.gap <= tolerance {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether surrogate gap and residuals are within the tolerance.
    fn is_near(&self, tolerance: f64) -> bool {
        let state = &self.state;
        state.surrogate <= tolerance
            && self.meets_conditions(tolerance)
            && state.balance <= 1e-3 * tolerance * state.primal.max(1.0)
    }

    /// Whether the residual of the first condition is within the tolerance.
    fn meets_conditions(&self, tolerance: f64) -> bool {
        self.state.residual <= tolerance * self.rows.sqrt()
    }

    fn takes_part(&self, row: usize) -> bool {
        self.sides[row] != 0.0
    }

    fn count(&self) -> usize {
        self.sides.len()
    }

    /// What the dual has of a row.
    #[inline(always)]
    fn terms(&self, row: usize) -> RowTerms {
        let terms = RowTerms::of(self.rules.loss, self.weights[row]);
        match self.offset(row) {
            0.0 => terms,
            offset => terms.with_offset(self.side(row) * offset),
        }
    }

    /// What the score of a row has beside its decision.
    #[inline(always)]
    fn offset(&self, row: usize) -> f64 {
        self.offsets.get(row).copied().unwrap_or(0.0)
    }

    #[inline(always)]
    fn point(&self, row: usize) -> RowPoint {
        RowPoint {
            terms: self.terms(row),
            a: self.a[row],
            xi: self.xi[row],
            lambda: self.lambda[row],
        }
    }

    fn place(&mut self, row: usize, point: &RowPoint) {
        (self.a[row], self.xi[row], self.lambda[row]) = (point.a, point.xi, point.lambda);
    }

    #[inline(always)]
    fn margin(&self, row: usize) -> f64 {
        self.sides[row] * (self.decisions[row] + self.nu)
    }

    /// Products that are to become mu, of all machines.
    fn products(&self) -> f64 {
        products_of_row(self.rules.loss) * self.rows
    }

    /// What sums of a over either side are multiplied by for y'a = 0.
    fn shares(&self, [negative, positive]: [f64; 2]) -> [f64; 2] {
        match self.is_free() {
            true => balanced(negative, positive),
            false => [1.0; 2],
        }
    }

    /// Where it begins; false where one side has no rows, so that nothing is to be solved.
    fn begin<E: Exchange>(&mut self, start: &[f64], exchange: &mut E) -> Result<bool, Halt> {
        self.forget();
        let near = match start {
            [] => None,
            start => self.sort_by(start, exchange)?,
        };
        let mut sums = [0.0; 3];
        for row in 0..self.count() {
            match self.sides[row] {
                0.0 => {}
                side => {
                    sums[usize::from(side > 0.0)] += self.weights[row];
                    sums[2] += 1.0;
                }
            }
        }
        let [negative, positive, rows] = combined(exchange, sums, Combine::Sum)?;
        self.rows = rows;
        if rows == 0.0 || (self.is_free() && negative.min(positive) == 0.0) {
            return Ok(false);
        }
        match near {
            Some(primal) => self.begin_near(primal, exchange)?,
            None => {
                let shares = self.shares([negative, positive]);
                self.begin_anew(shares, (negative + positive) / rows, exchange)?;
            }
        }
        Ok(true)
    }

    /// Forgets the round before.
    fn forget(&mut self) {
        for vector in [
            &mut self.a,
            &mut self.xi,
            &mut self.lambda,
            &mut self.inverse,
        ] {
            vector.fill(0.0);
        }
        self.between.fill(false);
        self.support.fill(false);
        self.nu = 0.0;
        if let Some(rounds) = &mut self.rounds {
            rounds.number += 1;
        }
    }

    /// Decides by these weights, and takes rows out that are outliers there: what the others lose, and half the square; None where the
    /// weights are no better than none.
    fn sort_by<E: Exchange>(
        &mut self,
        weights: &[f64],
        exchange: &mut E,
    ) -> Result<Option<f64>, Halt> {
        Decide::over(self.level, self.factored, weights, &mut self.decisions)?;
        self.add_offsets();
        let (last, w) = weights.split_last().unwrap_or((&0.0, &[]));
        let nu = if self.is_free() { *last } else { 0.0 };
        let own = last * self.factored.constant;
        let loss = self.rules.loss;
        let most = self.most_loss();
        let mut sums = [0.0; 2];
        for row in 0..self.count() {
            let (side, weight) = (self.side(row), self.weights[row]);
            if side != 0.0 {
                let lost = loss.value(side * (self.decisions[row] + nu));
                sums[0] += weight * lost.min(most);
                sums[1] += weight * loss.value(side * self.offset(row));
            }
        }
        let [losses, at_0] = combined(exchange, sums, Combine::Sum)?;
        let primal = 0.5 * (square(w) + own * own) + losses;
        let falls = primal < at_0;
        if !falls {
            return Ok(None);
        }
        self.nu = nu;
        self.take_out(exchange)?;
        Ok(Some(primal - self.constant()))
    }

    /// The side of a row, also of an outlier.
    fn side(&self, row: usize) -> f64 {
        let rounds = self.rounds.as_ref();
        rounds.map_or(self.sides[row], |it| it.sides[row])
    }

    /// Takes outliers at these decisions out of the problem.
    fn take_out<E: Exchange>(&mut self, exchange: &mut E) -> Result<(), Halt> {
        let Some(rounds) = &mut self.rounds else {
            return Ok(());
        };
        let mut sums = [0.0; 2];
        for (row, own) in self.sides.iter_mut().enumerate() {
            let side = rounds.sides[row];
            let lost = self
                .rules
                .loss
                .value(side * (self.decisions[row] + self.nu));
            let is_out = side != 0.0 && lost > rounds.most;
            let next = if is_out { 0.0 } else { side };
            sums[0] += if is_out {
                self.weights[row] * rounds.most
            } else {
                0.0
            };
            sums[1] += f64::from(u8::from(*own != next));
            *own = next;
        }
        [rounds.constant, rounds.changed] = combined(exchange, sums, Combine::Sum)?;
        Ok(())
    }

    /// In the middle.
    fn begin_anew<E: Exchange>(
        &mut self,
        shares: [f64; 2],
        mean_weight: f64,
        exchange: &mut E,
    ) -> Result<(), Halt> {
        for row in 0..self.count() {
            if self.takes_part(row) {
                let share = shares[usize::from(self.sides[row] > 0.0)];
                self.a[row] = MIDDLE * share * self.weights[row];
            }
        }
        self.weigh(exchange)?;
        self.decide()?;
        let taking = (0..self.count()).filter(|row| self.takes_part(*row));
        let slopes = taking.map(|row| self.point(row).slope(self.margin(row)).abs());
        let [slopes] = combined(exchange, [slopes.sum()], Combine::Sum)?;
        let slack = first_slack(slopes, self.rows);
        for row in 0..self.count() {
            if self.takes_part(row) {
                let point =
                    RowPoint::with_slack(self.terms(row), self.a[row], (slack, mean_weight));
                self.place(row, &point);
            }
        }
        Ok(())
    }

    /// Where a, xi and lambda are to margins of known weights, of this primal, what they are to those of a point whose products are all mu.
    fn begin_near<E: Exchange>(&mut self, primal: f64, exchange: &mut E) -> Result<(), Halt> {
        let mu = NEAR * primal / self.products();
        let mut sums = [0.0; 2];
        for row in 0..self.count() {
            if self.takes_part(row) {
                self.a[row] = self.terms(row).central(self.margin(row), mu);
                sums[usize::from(self.sides[row] > 0.0)] += self.a[row];
            }
        }
        let sums = combined(exchange, sums, Combine::Sum)?;
        let shares = self.shares(sums);
        for row in 0..self.count() {
            if self.takes_part(row) {
                let a = self.a[row] * shares[usize::from(self.sides[row] > 0.0)];
                self.place(row, &RowPoint::on_path(self.terms(row), a, mu));
            }
        }
        self.weigh(exchange)?;
        self.decide()
    }

    /// w = H'Ya, of all machines.
    fn weigh<E: Exchange>(&mut self, exchange: &mut E) -> Result<(), Halt> {
        let products = self.a.iter().zip(&self.sides);
        for (factor, (a, side)) in self.factors.iter_mut().zip(products) {
            *factor = a * side;
        }
        self.w.clear();
        let length = self.factored.rank() + 1;
        self.w.room(length)?.resize(length, 0.0);
        Gather::over(self.level, self.factored, &self.factors, &mut self.w)?;
        exchange.combine(&mut self.w, Combine::Sum)
    }

    fn decide(&mut self) -> Result<(), Halt> {
        Decide::over(self.level, self.factored, &self.w, &mut self.decisions)?;
        self.add_offsets();
        Ok(())
    }

    fn add_offsets(&mut self) {
        let rows = self.decisions.iter_mut().zip(&self.offsets);
        rows.for_each(|(score, offset)| *score += offset);
    }

    /// The loss beyond which a row is an outlier; infinite where the loss is not truncated.
    fn most_loss(&self) -> f64 {
        self.rounds.as_ref().map_or(f64::INFINITY, |it| it.most)
    }

    /// What outliers of the round cost.
    fn constant(&self) -> f64 {
        self.rounds.as_ref().map_or(0.0, |it| it.constant)
    }

    /// What there is to say of the point: its state, and the surrogate gap.
    fn look<E: Exchange>(&mut self, exchange: &mut E) -> Result<f64, Halt> {
        let loss = self.rules.loss;
        let mut sums = [0.0; 5];
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let (point, margin) = (self.point(row), self.margin(row));
            let residual = point.residual(margin);
            sums[0] += point.terms.dual(point.a);
            sums[1] += point.terms.weight * loss.value(margin);
            sums[2] += point.gap();
            sums[3] += residual * residual;
            sums[4] += self.sides[row] * point.a;
        }
        let [linear, losses, gap, residual, balance] = combined(exchange, sums, Combine::Sum)?;
        let (half, constant) = (0.5 * square(&self.w), self.constant());
        let primal = half + losses + constant;
        self.state = StepState {
            primal,
            dual: linear - half + constant,
            surrogate: gap / primal,
            residual: residual.sqrt(),
            balance: if self.is_free() { balance.abs() } else { 0.0 },
        };
        Ok(gap)
    }
}

impl Rounds {
    fn new(s: f64, sides: &[f64]) -> Result<Self, OutOfMemory> {
        Ok(Self {
            most: 1.0 + s,
            sides: copied(sides)?,
            number: 0,
            constant: 0.0,
            changed: 0.0,
        })
    }
}

fn square(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}
