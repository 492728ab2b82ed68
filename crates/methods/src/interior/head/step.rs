//! A step of the interior point: its direction, its length, and its corrections.

use crate::base::memory::copied;
use crate::interior::exchange::{combined, Combine, Exchange, Halt};
use crate::interior::head::Head;
use crate::interior::sums::{Decide, Normal};
use crate::objective::central_path::{length_within, RowStep, SHORT_OF};

/// Corrections of a step towards equal products, at most; how much farther it is to go by one, of which a part at least; by how
/// much products may be away from mu.
const CORRECTIONS: usize = 2;
const FARTHER: f64 = 0.3;
const LEAST_GAIN: f64 = 0.1;
const APART: f64 = 10.0;

/// The part of the gap that is to be left behind a calm step.
const CALM: f64 = 0.3;

/// Which vector it is about.
#[derive(Debug, Clone, Copy)]
enum Of {
    Along,
    Balance,
}

impl Head<'_> {
    /// A step from here; its length. `calm`: without the second order, and with a mu of which the next step has room.
    pub(super) fn step<E: Exchange>(
        &mut self,
        gap: f64,
        calm: bool,
        normal: &mut Normal,
        exchange: &mut E,
    ) -> Result<f64, Halt> {
        for row in 0..self.count() {
            if self.takes_part(row) {
                self.inverse[row] = self.point(row).inverse();
            }
        }
        normal.factor(self.level, self.factored, &self.inverse, exchange)?;
        self.balance.copy_from_slice(&self.sides);
        self.by_inverse(Of::Balance, normal, exchange)?;
        self.to_xi.fill(0.0);
        self.to_lambda.fill(0.0);
        // where it would go were the gap to be closed at once, and how much of it would be left there
        self.direct(0.0, normal, exchange)?;
        let length = self.length(0.0, exchange)?;
        let mut part = (self.foreseen(length, exchange)? / gap).powi(3);
        if calm {
            self.to_xi.fill(0.0);
            self.to_lambda.fill(0.0);
            part = CALM;
        }
        let mu = part * gap / self.products();
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
                let step = self.step_of(row, mu);
                let [low, high] = self.point(row).products(&step, length);
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
            let point = self.point(row);
            let pull = point.pull(mu, self.corrections(row));
            self.along[row] = pull - point.slope(self.margin(row));
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
        Decide::over(self.level, self.factored, solved, &mut self.factors)?;
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
        match self.is_free() && each > 0.0 {
            true => Ok(wanted / each),
            false => Ok(0.0),
        }
    }

    fn corrections(&self, row: usize) -> [f64; 2] {
        [self.to_xi[row], self.to_lambda[row]]
    }

    /// The step of a row with its d a.
    #[inline(always)]
    fn step_of(&self, row: usize, mu: f64) -> RowStep {
        self.point(row)
            .step(self.along[row], mu, self.corrections(row))
    }

    /// How far all variables may go.
    fn length<E: Exchange>(&self, mu: f64, exchange: &mut E) -> Result<f64, Halt> {
        let mut least = f64::INFINITY;
        for row in 0..self.count() {
            if self.takes_part(row) {
                least = least.min(self.point(row).room(&self.step_of(row, mu)));
            }
        }
        let [least] = combined(exchange, [least], Combine::Least)?;
        Ok(length_within(least))
    }

    /// The surrogate gap behind a step of this length towards a gap of 0, of which the products of changes are kept for the next.
    fn foreseen<E: Exchange>(&mut self, length: f64, exchange: &mut E) -> Result<f64, Halt> {
        let mut sum = 0.0;
        for row in 0..self.count() {
            if !self.takes_part(row) {
                continue;
            }
            let step = self.step_of(row, 0.0);
            let [low, high] = self.point(row).products(&step, length);
            sum += low + high;
            self.to_xi[row] = step.a * step.xi;
            self.to_lambda[row] = step.a * step.lambda;
        }
        let [sum] = combined(exchange, [sum], Combine::Sum)?;
        Ok(sum)
    }

    fn go(&mut self, length: f64, shift: f64, mu: f64) {
        for row in 0..self.count() {
            if self.takes_part(row) {
                let step = self.step_of(row, mu);
                let point = self.point(row).after(&step, length);
                self.place(row, &point);
            }
        }
        self.nu += length * shift;
    }
}
