//! What a head reports at its end.
//!
//! The dual variables a must be feasible. Entries that go to a bound are put there, and those of the heavier side shrink by the factor that
//! makes y'a = 0. Where that loses too much, as with many rows near a bound, the a of the last step is taken. w = H'Ya, and b is the mean
//! of y (p - d a) - <w, h>, where the margin is what a asks for, over up to [`MEAN_OF`] rows between the bounds whose xi and lambda are within the tolerance. Without such rows it is the
//! middle of the interval in which b meets the conditions of the others. Then P is taken at w and b, and D at a.
//!
//! Of a truncated loss both are of the convex problem over the rows that are no outliers at w and b, whatever the round has taken for one:
//! P is the truncated objective, and a of outliers is 0.

use crate::base::memory::filled;
use crate::interior::exchange::{combined, Combine, Exchange, Halt};
use crate::interior::head::{square, Head, Solved};
use crate::objective::central_path::{RowPoint, MIDDLE};
use crate::objective::evaluation::right_side;
use crate::objective::report::{Certificate, HeadReport, StopReason, Truncation};

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
    /// What there is where it comes no nearer, or a round ends: entries at bounds, unless that is worse than those between them. Where losses are
    /// truncated, worse is what has the larger objective, unless it alone is proved: a row next to 1 + s may be an outlier of one and not of
    /// the other, and gaps of two problems tell nothing of each other.
    pub(super) fn better_end<E: Exchange>(
        &mut self,
        steps: u32,
        exchange: &mut E,
    ) -> Result<Solved, Halt> {
        let at_bounds = self.settle(Ends::AtBounds, steps, exchange)?;
        let between = self.settle(Ends::Between, steps, exchange)?;
        let rank = |found: &Solved| {
            let Certificate { primal, gap, .. } = found.report.certificate;
            match self.rounds {
                Some(_) => (found.report.stop != Some(StopReason::Tolerance), primal),
                None => (false, gap),
            }
        };
        match rank(&between) < rank(&at_bounds) {
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
        let (square, moved) = match self.rounds {
            Some(_) => self.leave_outliers(intercept, exchange)?,
            None => (square(&self.w), 0.0),
        };
        let mut report = self.report((intercept, square), exchange)?;
        report.stop = Some(match report.certificate.gap <= self.rules.tolerance {
            true => StopReason::Tolerance,
            false => StopReason::MaxPasses,
        });
        let mut decisions = std::mem::replace(&mut self.decisions, kept.2);
        decisions.iter_mut().for_each(|it| *it += intercept);
        let offsets = decisions.iter_mut().zip(&self.offsets);
        offsets.for_each(|(decision, offset)| *decision -= offset);
        let mut weights = std::mem::replace(&mut self.w, kept.1);
        let in_norm = weights.pop().unwrap_or(0.0);
        Ok(Solved {
            duals: std::mem::replace(&mut self.a, kept.0),
            weights,
            decisions,
            intercept: intercept + in_norm,
            report,
            steps,
            moved,
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
            if !self.takes_part(row) || most == 0.0 {
                continue;
            }
            let point = RowPoint {
                terms: self.terms(row),
                a: a[row],
                xi: self.xi[row],
                lambda: self.lambda[row],
            };
            let [at_0, at_bound] = point.is_at_ends(most);
            // it meets its margin, as far as the tolerance goes
            let met = self.xi[row].max(self.lambda[row]) <= self.rules.tolerance;
            self.between[row] = met && !at_0 && !at_bound;
            self.support[row] = !at_0;
            found[row] = match (ends, at_0, at_bound) {
                (Ends::AtBounds, true, _) => 0.0,
                (Ends::AtBounds, _, true) => point.high(),
                _ => point.a,
            };
            sums[usize::from(self.sides[row] > 0.0)] += found[row];
        }
        self.balance_sides(&mut found, sums, exchange)?;
        Ok(found)
    }

    /// Has y'a be 0, of an a whose sides come to these sums on this machine.
    fn balance_sides<E: Exchange>(
        &self,
        a: &mut [f64],
        sums: [f64; 2],
        exchange: &mut E,
    ) -> Result<(), Halt> {
        let shares = self.shares(combined(exchange, sums, Combine::Sum)?);
        for (a, side) in a.iter_mut().zip(&self.sides) {
            *a *= shares[usize::from(*side > 0.0)];
        }
        Ok(())
    }

    /// Puts a of rows to 0 that are outliers at w and b: |sum of a y h|² of what is left, which is feasible, and how many rows of all machines are
    /// on another side than in the round.
    fn leave_outliers<E: Exchange>(
        &mut self,
        b: f64,
        exchange: &mut E,
    ) -> Result<(f64, f64), Halt> {
        let most = self.most_loss();
        let mut a = std::mem::take(&mut self.a);
        let (mut sums, mut moved) = ([0.0; 2], 0.0);
        for (row, a) in a.iter_mut().enumerate() {
            let (side, own) = (self.side(row), self.sides[row]);
            let is_out = self.rules.loss.value(side * (self.decisions[row] + b)) > most;
            moved += f64::from(u8::from(side != 0.0 && is_out == (own != 0.0)));
            if is_out {
                *a = 0.0;
                self.support[row] = false;
            }
            sums[usize::from(own > 0.0)] += *a;
        }
        self.balance_sides(&mut a, sums, exchange)?;
        self.a = a;
        let w = std::mem::take(&mut self.w);
        self.weigh(exchange)?;
        let square = square(&std::mem::replace(&mut self.w, w));
        let [moved] = combined(exchange, [moved], Combine::Sum)?;
        Ok((square, moved))
    }

    /// b of a feasible a: see the head of this file.
    fn intercept<E: Exchange>(&self, exchange: &mut E) -> Result<f64, Halt> {
        if !self.is_free() {
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
            let own = side * self.terms(row).margin(a) - self.decisions[row];
            if self.between[row] {
                if taken < most {
                    sums[0] += own;
                    sums[1] += 1.0;
                    taken += 1;
                }
            } else if (side > 0.0) == (a < MIDDLE * self.weights[row]) {
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

    /// P at w and b over all rows, D at a, whose sum of a y h has this square.
    fn report<E: Exchange>(
        &self,
        (b, dual_square): (f64, f64),
        exchange: &mut E,
    ) -> Result<HeadReport, Halt> {
        let loss = self.rules.loss;
        let most = self.most_loss();
        let mut sums = [0.0; 8];
        for row in 0..self.count() {
            let side = self.side(row);
            if side == 0.0 {
                continue;
            }
            let terms = self.terms(row);
            let margin = side * (self.decisions[row] + b);
            let lost = loss.value(margin);
            match lost > most {
                true => {
                    sums[6] += terms.weight * most;
                    sums[7] += 1.0;
                }
                false => {
                    sums[0] += terms.dual(self.a[row]);
                    sums[1] += terms.weight * lost;
                }
            }
            sums[2] += f64::from(u8::from(right_side(margin, side)));
            sums[3] += if margin == 0.0 { side } else { 0.0 };
            sums[4] += f64::from(u8::from(self.support[row]));
            sums[5] += 1.0;
        }
        let [linear, losses, right, ties, support, rows, constant, outliers] =
            combined(exchange, sums, Combine::Sum)?;
        let primal = 0.5 * square(&self.w) + losses + constant;
        let dual = linear - 0.5 * dual_square + constant;
        Ok(HeadReport {
            certificate: Certificate::of(primal, dual),
            training_accuracy: right / rows.max(1.0),
            ties: ties / rows.max(1.0),
            stop: None,
            support_vectors: support as u64,
            truncated: self.rounds.as_ref().map(|_| Truncation {
                objective: primal,
                outliers: outliers as u64,
            }),
            kappa: 0.0,
            updates: None,
            rounding: 0.0,
        })
    }
}
