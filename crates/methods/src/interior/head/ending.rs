//! What a head reports at its end.
//!
//! The dual variables a must be feasible. Entries that go to a bound are put there, and those of the heavier side shrink by the factor that
//! makes y'a = 0. Where that loses too much, as with many rows near a bound, the a of the last step is taken. w = H'Ya, and b is the mean
//! of y - <w, h> over up to [`MEAN_OF`] rows between the bounds whose xi and lambda are within the tolerance. Without such rows it is the
//! middle of the interval in which b meets the conditions of the others. Then P is taken at w and b, and D at a.

use crate::base::memory::filled;
use crate::interior::exchange::{combined, Combine, Exchange, Halt};
use crate::interior::head::{square, Head, Solved};
use crate::objective::evaluation::right_side;
use crate::objective::loss::LossFunction;
use crate::objective::losses::hinge::Hinge;
use crate::objective::report::{Certificate, HeadReport, StopReason};

/// Rows over which b is averaged, at most.
const MEAN_OF: usize = 1000;

/// Where entries of a feasible a go that go to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    AtBounds,
    /// They stay where they are.
    Between,
}

impl Head<'_> {
    /// What there is where it comes no nearer: entries at bounds, unless that is worse than those between them.
    pub(super) fn give_up<E: Exchange>(
        mut self,
        steps: u32,
        exchange: &mut E,
    ) -> Result<Solved, Halt> {
        let at_bounds = self.settle(Ends::AtBounds, steps, exchange)?;
        let between = self.settle(Ends::Between, steps, exchange)?;
        let gap = |found: &Solved| found.report.certificate.gap;
        match gap(&between) < gap(&at_bounds) {
            true => Ok(between),
            false => Ok(at_bounds),
        }
    }

    /// A feasible a, with w and b and what they come to. Its own point stays what it is.
    pub(super) fn settle<E: Exchange>(
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
            sums[1] += self.bounds[row] * Hinge.value(margin);
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
            truncated: None,
            kappa: 0.0,
            updates: None,
            rounding: 0.0,
        })
    }
}
