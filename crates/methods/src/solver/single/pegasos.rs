//! Pegasos for one head: sub-gradient steps on the primal, as block minimization makes them (Yu, Hsieh, Chang, Lin, KDD
//! 2010, section 4, equations 11 to 13; Shalev-Shwartz, Singer, Srebro, ICML 2007).
//!
//! minimized   P(w) = 1/2 |w|^2 + C sum c L(y <w, x>) over l rows (divided by l C in the paper)
//! update t    w' = (1 - 1/t) w + l C / (t |B|) sum over B+ of c s y x,  B+ = rows of B with m = y <w, x> < 1, s = -L'(m)
//!             w <- min(1, r / |w'|) w',  r^2 = C max(l, sum c), which no optimum exceeds, half of it with squared hinge
//! stop        of an update none: one each; of the training the certificate's gap
//!
//! Each update scales w and adds rows of B+, so w is a nonnegative combination of the rows. Its factors are kept as dual variables,
//! w = sum a y x, though the paper's method is primal. So the weights have a lower bound on the objective. After k passes with an update for each row, a = C c (share of visits at which the row was violated), or
//! less, and is feasible. Blocks of unequal size can take a row beyond its bound by the ratio of sizes; all of a is then
//! scaled back to the bound when the dual is taken (D(theta a)), and by the verifying pass. The claimed gap is true in
//! any case; it closes at about one over the number of passes.
//!
//! The paper's loss is the hinge, s = 1. The squared hinge has s = 2 (1 - m), and bends: by 2 c |x|^2 along a row, beyond
//! which a step of length l C / t would throw the row's margin to the other side of 1 and farther each time. So the length of
//! an update is min(l C / t, 1 / the most that any row looked at so far makes the loss bend), in both places:
//! w' = (1 - length / (l C)) w + length / |B| sum.
//!
//! u and the kept factors are w and a divided by a common scale, which is what a step shrinks.

use crate::base::memory::{OutOfMemory, Room};
use crate::objective::loss::{by_loss, LossFunction, NO_LOSS_FROM};
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::proximal::iterate::Norms;
use crate::solver::single::descent::Descent;
use crate::solver::single::head::{scale, Head};

/// Below this the scale is multiplied out.
const LEAST_SCALE: f64 = 1e-20;

impl<T: Real> Head<T> {
    /// Takes the losses of a row, then an update by it alone.
    #[inline(always)]
    pub(in crate::solver) fn descend_by_row<K: Isa>(&mut self, row: &Row<'_>) {
        let Some(mut descent) = self.descent else {
            return;
        };
        let c = self.state.ledger.terms.c;
        by_loss!(self.state.ledger.terms.loss, loss => {
            let score = self.look_at::<K, _>(loss, row, &mut descent);
            let factor = descent.shrink(c);
            if let Some((y, cost, score)) = score.filter(|(y, _, score)| y * score < NO_LOSS_FROM) {
                let step = descent.step(c, cost, loss.steepness(y * score), 1.0);
                let length = f64::from(row.q()) + self.iterate.intercept();
                descent.norm += 2.0 * step * factor * y * score + step * step * length;
                self.add::<K, _>(loss, row, (y, cost), step, &mut descent);
            }
        });
        descent.project(c);
        self.put_back(descent);
    }

    /// Makes room to look at a set of so many rows.
    pub(in crate::solver) fn begin_set(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        self.steepness.clear();
        if self.state.ledger.terms.loss.is_smooth() {
            self.steepness.room(rows)?;
        }
        Ok(())
    }

    /// Takes the losses of a row and notes whether it is in B+.
    #[inline(always)]
    pub(in crate::solver) fn look<K: Isa>(&mut self, row: &Row<'_>) {
        let Some(mut descent) = self.descent else {
            return;
        };
        by_loss!(self.state.ledger.terms.loss, loss => {
            let seen = self.look_at::<K, _>(loss, row, &mut descent);
            let margin = seen.map(|(y, _, score)| y * score);
            let violated = margin.filter(|margin| *margin < NO_LOSS_FROM);
            // the bit of rows that active passes leave out, of which there are none here
            self.shrunk.set(row.ordinal(), violated.is_none());
            if self.steepness.len() < self.steepness.capacity() {
                let steepness = violated.map_or(0.0, |margin| loss.steepness(margin));
                self.steepness.push(steepness as f32);
            }
        });
        self.descent = Some(descent);
    }

    /// Begins the update by a set: what it does to the weights without its rows. `keeps_norm`: the rows have fewer values
    /// than there are features.
    pub(in crate::solver) fn begin_update(&mut self, keeps_norm: bool) {
        if let Some(mut descent) = self.descent {
            descent.shrink(self.state.ledger.terms.c);
            (descent.place, descent.keeps_norm) = (0, keeps_norm);
            self.put_back(descent);
        }
    }

    /// Adds a row of a set of `size` if it was noted.
    #[inline(always)]
    pub(in crate::solver) fn descend_by_set<K: Isa>(&mut self, row: &Row<'_>, size: usize) {
        let Some(descent) = &mut self.descent else {
            return;
        };
        let place = descent.place;
        descent.place += 1;
        if self.shrunk.get(row.ordinal()) {
            return;
        }
        let (mut descent, c) = (*descent, self.state.ledger.terms.c);
        let y = f64::from(self.signs[row.group()]);
        let cost = self.state.ledger.terms.cost(row.cost(), y);
        by_loss!(self.state.ledger.terms.loss, loss => {
            let steepness = self.steepness.get(place).map_or(1.0, |it| f64::from(*it));
            let step = descent.step(c, cost, steepness, size as f64);
            if descent.keeps_norm {
                let length = f64::from(row.q()) + self.iterate.intercept();
                let score = descent.scale * self.visitor(loss).score_now::<K>(row);
                descent.norm += 2.0 * step * y * score + step * step * length;
            }
            self.add::<K, _>(loss, row, (y, cost), step, &mut descent);
        });
        self.descent = Some(descent);
    }

    /// Ends the update by a set.
    pub(in crate::solver) fn end_update(&mut self) {
        if let Some(mut descent) = self.descent {
            if !descent.keeps_norm {
                descent.norm = descent.scale * descent.scale * self.iterate.norms().w;
            }
            descent.project(self.state.ledger.terms.c);
            self.put_back(descent);
        }
    }

    /// Sums the losses of a row; gives back sign, cost and score if it is one of the head's.
    #[inline(always)]
    fn look_at<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        descent: &mut Descent,
    ) -> Option<(f64, f64, f64)> {
        let intercept = self.iterate.intercept();
        let mut visitor = self.visitor(loss);
        let seen = visitor.look::<K>(row, descent.scale);
        self.state.sums = visitor.sums;
        if let Some((_, cost, _)) = seen {
            descent.seen += cost;
            if L::CURVED {
                let length = f64::from(row.q()) + intercept;
                descent.bend = descent.bend.max(loss.curvature() * cost * length);
            }
        }
        seen
    }

    /// w += step y x
    #[inline(always)]
    fn add<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        (y, cost): (f64, f64),
        step: f64,
        descent: &mut Descent,
    ) {
        let step = step / descent.scale;
        let mut visitor = self.visitor(loss);
        let (before, after) = visitor.add_scaled::<K>(row, y, step);
        visitor.sums.updates += 1;
        self.state.sums = visitor.sums;
        let weight = self.state.ledger.terms.c * cost;
        if L::CURVED {
            let squares = f64::from(after).powi(2) - f64::from(before).powi(2);
            descent.diag += loss.conjugate(weight).curvature * squares;
        }
        if !loss.is_unbounded() {
            let share = descent.scale * f64::from(after) / weight;
            descent.most = descent.most.max(descent.t * share);
        }
    }

    fn put_back(&mut self, descent: Descent) {
        self.descent = Some(descent);
        if descent.scale < LEAST_SCALE {
            self.fold();
        }
    }

    /// Multiplies the scale out.
    fn fold(&mut self) {
        if let Some(descent) = &mut self.descent {
            let scale = std::mem::replace(&mut descent.scale, 1.0);
            descent.diag *= scale * scale;
            self.iterate.multiply(scale);
            self.scale_duals(scale);
        }
    }

    pub(in crate::solver) fn scale_duals(&mut self, factor: f64) {
        scale(&mut self.alpha, factor);
    }

    /// At the end of a pass: weights and dual variables as they are, and their norms and sum as those of feasible dual
    /// variables.
    pub(in crate::solver) fn settle_descent(&mut self) -> Norms {
        self.fold();
        let mut theta = 1.0;
        if let Some(descent) = &mut self.descent {
            descent.mass = std::mem::take(&mut descent.seen);
            theta = descent.theta();
            self.state.sums.diag = descent.diag;
            self.state.updates = Some(descent.t as u64);
        }
        let norms = self.iterate.norms();
        let sum: f64 = self.alpha.iter().map(|alpha| f64::from(*alpha)).sum();
        self.state.sums.alpha = theta * sum;
        Norms {
            v: theta * theta * norms.v,
            ..norms
        }
    }

    /// The factor that makes the dual variables feasible.
    pub(in crate::solver) fn feasible_share(&self) -> f64 {
        self.descent.map_or(1.0, |descent| descent.theta())
    }

    /// Makes the dual variables feasible, to be verified.
    pub(in crate::solver) fn make_feasible(&mut self) {
        let theta = self.feasible_share();
        if theta < 1.0 {
            self.scale_duals(theta);
        }
    }

    /// Goes on from exactly recomputed v of feasible dual variables.
    pub(in crate::solver) fn go_on_from(&mut self, v: &mut [f64]) {
        let theta = self.feasible_share();
        if theta < 1.0 {
            self.scale_duals(1.0 / theta);
            v.iter_mut().for_each(|v| *v /= theta);
        }
        self.iterate.set_v(v);
        if let Some(descent) = &mut self.descent {
            descent.norm = self.iterate.norms().w;
            descent.diag = self.state.sums.diag;
        }
    }
}
