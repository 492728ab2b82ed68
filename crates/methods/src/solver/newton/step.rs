//! The step of a head, from a factor of the Hessian. If P rose at the end of the last step, the step is shortened to where P is lowest.

use crate::linalg::cholesky::Cholesky;
use crate::linalg::lower::Lower;
use crate::simd::Level;
use crate::solver::fixed_weights::product;
use crate::solver::newton::head::{Newton, Next};

/// A sample ends with a step that is expected to lower P by less than this part: what is left is less than the sample is off;
/// and passes over it at most.
const SAMPLE_GAIN: f64 = 0.005;
const SAMPLE_PASSES: u32 = 12;
/// The same where passes over all rows are scans: more of them, and less than this part of what P at the sample's weights may be off,
/// which is about a row of the sample for each feature; where it has all rows, it is solved.
const SAMPLE_PASSES_BEFORE_SCANS: u32 = 30;
const OF_SAMPLE_ERROR: f64 = 0.05;
const SOLVED: f64 = 1e-6;

impl Newton {
    /// P rose: a pass says where on the way from the best it is lowest.
    pub(super) fn begin_line(&mut self) -> Next {
        self.line = None;
        Next::Line
    }

    /// Ends the pass over the way from the best: the step is shortened, and the next pass has the Hessian of all rows.
    pub(super) fn end_line(&mut self) -> Next {
        let ends = self.w.len() - usize::from(self.objective.free);
        let (best, step) = (&self.best[..ends], &self.step[..ends]);
        let own = (
            product(best, step) - product(&self.fixed, step),
            product(step, step),
        );
        let line = self.line.take();
        let Some(part) = line.and_then(|line| line.lowest(own, self.objective.curvature())) else {
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
    pub(super) fn begin_factoring(&mut self) -> Next {
        let last = self.w.len() - 1;
        let sums = &mut self.sums;
        let Some(gram) = &mut sums.gram else {
            return Next::GivenUp;
        };
        let share = match sums.gathered > 0.0 {
            true => sums.costs / sums.gathered,
            false => 1.0,
        };
        let curvature = self.objective.curvature();
        let constant = sums.costs * self.objective.intercept * self.objective.intercept;
        let mut matrix = std::mem::replace(gram.sums_mut(), Lower::NONE);
        for (column, scale) in self.scales.iter_mut().enumerate() {
            let mut square = share * matrix.get(column, column);
            if let Some(squares) = &sums.squares {
                square = square.max(squares[column]);
            }
            let regular = !(self.objective.free && column == last);
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
    pub fn products(&self) -> usize {
        self.factor.as_ref().map_or(0, Cholesky::products)
    }

    /// Goes on with the factorization, and takes the step behind it.
    pub fn factor(&mut self, level: Level) -> Next {
        if let Some(factor) = &mut self.factor {
            if !factor.is_done() {
                factor.step(level);
                return Next::Factor;
            }
        }
        self.take_step()
    }

    /// s of H s = r, whose place r has, and what the next pass is to sum up.
    pub(super) fn take_step(&mut self) -> Next {
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
        match self.local.take() {
            Some(local) => self.go_within(local, gain),
            None => self.go(gain),
        }
    }

    /// Of a sample the part of P by which steps may fall short.
    fn sample_error(&self) -> f64 {
        let part = self.objective.c / self.c;
        match part > 1.0 {
            true => {
                let rows = (self.pace.rows() / part).max(1.0);
                (OF_SAMPLE_ERROR * self.w.len() as f64 / rows).clamp(SOLVED, SAMPLE_GAIN)
            }
            false => SOLVED,
        }
    }

    /// Takes the step from the best, which is expected to lower P by `gain`, and says what the next pass is to sum up.
    pub(super) fn go(&mut self, gain: f64) -> Next {
        for ((w, step), best) in self.w.iter_mut().zip(&self.step).zip(&self.best) {
            *w = best + step;
        }
        if !(gain > 0.0 && gain.is_finite()) {
            return self.give_up();
        }
        let (passes, least) = match self.bringing {
            Some(_) => (SAMPLE_PASSES_BEFORE_SCANS, self.sample_error()),
            None => (SAMPLE_PASSES, SAMPLE_GAIN),
        };
        let ends = self.sampled >= passes || gain <= least * self.best_primal;
        if self.samples && ends {
            return Next::Sampled;
        }
        self.pace.note(gain);
        // what the gap is where dual variables are not multiplied: unlike it not bounded, so that it falls from the start
        let left = 0.5 * product(&self.best_gradient, &self.best_gradient) / self.best_primal;
        let within = self.sums.tally.support;
        let gathers = self.samples
            || self.conjugate.is_some()
            || self.bringing.is_some()
            || !self.is_quadratic() && self.pace.gathers(self.tolerance, left, within);
        self.begin_pass(gathers);
        Next::Pass
    }
}
