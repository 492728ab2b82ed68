//! The metric of the proximal shift whole, where features are few: second moments of the columns, each row counted by its
//! dual variable.
//!
//! M = sum a_i x_i x_i' / sum a_i,   S = I + kappa M,   w = S^-1 (v + kappa M z)
//!
//! If columns only differ in scale, the diagonal of M is enough. If they are correlated, as neighbouring pixels are, or all lie far from 0,
//! the rows differ along few directions only, and a diagonal metric slows down all others. With the whole matrix a step reads all of S^-1;
//! only rows whose dual variable moves pay for that.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::rows::row::{entries, Row};

/// Weights, the intercept's among them, up to which the metric is whole.
pub(in crate::solver) const MOST_WEIGHTS: usize = 128;
/// What is added to the diagonal, as a share of the columns' mean squares: no direction is taken for empty.
const LEAST_SHARE: f64 = 1e-6;

/// Sums of a full pass.
pub(in crate::solver) struct WholeSums {
    /// Weights, the intercept's last.
    size: usize,
    products: Vec<f64>,
    /// Values other than 0 of the row at hand.
    values: Vec<(usize, f64)>,
}

impl WholeSums {
    /// None where features are too many.
    pub(in crate::solver) fn new(features: usize) -> Result<Option<Self>, OutOfMemory> {
        let size = features + 1;
        if size > MOST_WEIGHTS {
            return Ok(None);
        }
        let bytes = (size * size_of::<(usize, f64)>()) as u64;
        let mut values = Vec::new();
        values
            .try_reserve_exact(size)
            .map_err(|_| OutOfMemory { bytes })?;
        Ok(Some(Self {
            size,
            products: zeros(size * size)?,
            values,
        }))
    }

    pub(in crate::solver) fn clear(&mut self) {
        self.products.fill(0.0);
    }

    /// Adds a row with this dual variable, the constant feature being 1.
    #[inline(never)]
    pub(in crate::solver) fn learn(&mut self, row: &Row<'_>, alpha: f64) {
        self.values.clear();
        self.values.extend(entries(row));
        self.values.push((self.size - 1, 1.0));
        for (j, x) in &self.values {
            let products = &mut self.products[j * self.size..][..self.size];
            let scale = alpha * x;
            for (k, other) in &self.values {
                products[*k] += scale * other;
            }
        }
    }

    /// Adds what was learned from other rows.
    pub(in crate::solver) fn add(&mut self, other: &WholeSums) {
        for (sum, other) in self.products.iter_mut().zip(&other.products) {
            *sum += other;
        }
    }

    /// M, row by row. `weight`: the sum of dual variables; `least`: the least diagonal by weight.
    pub(in crate::solver) fn moment(
        &self,
        weight: f64,
        mean_squares: &[f32],
        intercept: f64,
    ) -> Result<Vec<f64>, OutOfMemory> {
        let mut moment: Vec<f64> = zeros(self.products.len())?;
        for (moment, product) in moment.iter_mut().zip(&self.products) {
            *moment = product / weight;
        }
        let last = self.size - 1;
        for j in 0..self.size {
            let own = &mut moment[j * self.size + j];
            let least = mean_squares.get(j).map_or(1.0, |all| f64::from(*all));
            *own += LEAST_SHARE * least;
            if *own <= 0.0 {
                *own = 1.0;
            }
        }
        if intercept == 0.0 {
            // no row has it
            for j in 0..last {
                moment[j * self.size + last] = 0.0;
                moment[last * self.size + j] = 0.0;
            }
        }
        Ok(moment)
    }
}

/// M, M^-1 and S^-1, row by row.
pub(in crate::solver) struct Whole {
    size: usize,
    moment: Vec<f64>,
    inverse: Vec<f64>,
    step: Vec<f64>,
}

/// What visits need of it.
#[derive(Clone, Copy)]
pub(in crate::solver) struct WholeStep<'a> {
    size: usize,
    step: &'a [f64],
    inverse: &'a [f64],
}

impl WholeStep<'_> {
    /// x' S^-1 x, and S^-1 x in `along`: one build for all, since only rows that move pay it.
    #[inline(never)]
    pub(in crate::solver) fn along(
        self,
        row: &Row<'_>,
        intercept: f64,
        along: &mut [f64; MOST_WEIGHTS],
    ) -> f64 {
        times(self.step, self.size, row, intercept, along)
    }

    /// x' M^-1 x
    #[inline(never)]
    pub(in crate::solver) fn norm(self, row: &Row<'_>, intercept: f64) -> f64 {
        let mut along = [0.0; MOST_WEIGHTS];
        times(self.inverse, self.size, row, intercept, &mut along)
    }
}

/// x' A x and, added to `along`, A x of a symmetric matrix.
fn times(
    matrix: &[f64],
    size: usize,
    row: &Row<'_>,
    intercept: f64,
    along: &mut [f64; MOST_WEIGHTS],
) -> f64 {
    let along = &mut along[..size];
    let constant = [(size - 1, intercept)];
    for (j, x) in entries(row).chain(constant) {
        let column = &matrix[j * size..][..size];
        for (along, value) in along.iter_mut().zip(column) {
            *along += x * value;
        }
    }
    let products = entries(row).chain(constant).map(|(j, x)| x * along[j]);
    products.sum()
}

impl Whole {
    /// Of this M and kappa, with `own` for the intercept's 1 in S; None where it cannot be inverted.
    pub(in crate::solver) fn new(
        moment: &[f64],
        kappa: f64,
        own: f64,
    ) -> Result<Option<Self>, OutOfMemory> {
        let size = moment.len().isqrt();
        let mut this = Self {
            size,
            moment: zeros(moment.len())?,
            inverse: zeros(moment.len())?,
            step: zeros(moment.len())?,
        };
        this.moment.copy_from_slice(moment);
        this.inverse.copy_from_slice(moment);
        let inverted = invert(&mut this.inverse, size)? && this.set_kappa(kappa, own)?;
        Ok(inverted.then_some(this))
    }

    /// Takes another kappa; false where that cannot be.
    pub(in crate::solver) fn set_kappa(
        &mut self,
        kappa: f64,
        own: f64,
    ) -> Result<bool, OutOfMemory> {
        for (step, moment) in self.step.iter_mut().zip(&self.moment) {
            *step = kappa * moment;
        }
        for j in 0..self.size {
            let is_last = j + 1 == self.size;
            self.step[j * self.size + j] += if is_last { own } else { 1.0 };
        }
        invert(&mut self.step, self.size)
    }

    pub(in crate::solver) fn view(&self) -> WholeStep<'_> {
        WholeStep {
            size: self.size,
            step: &self.step,
            inverse: &self.inverse,
        }
    }

    /// M d, one entry after another.
    pub(in crate::solver) fn moved<'a>(
        &'a self,
        d: impl Iterator<Item = f64> + Clone + 'a,
    ) -> impl Iterator<Item = f64> + 'a {
        self.moment
            .chunks_exact(self.size)
            .map(move |row| row.iter().zip(d.clone()).map(|(m, d)| m * d).sum())
    }

    /// S^-1 u, one entry after another.
    pub(in crate::solver) fn weights<'a>(&'a self, u: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.step
            .chunks_exact(self.size)
            .map(move |row| row.iter().zip(u).map(|(s, u)| s * u).sum())
    }
}

/// Inverts a symmetric, positive definite matrix in place; false where it is not one. Its columns are brought to the same
/// scale first.
fn invert(matrix: &mut [f64], size: usize) -> Result<bool, OutOfMemory> {
    let mut scale: Vec<f64> = zeros(size)?;
    for (j, scale) in scale.iter_mut().enumerate() {
        *scale = 1.0 / matrix[j * size + j].sqrt();
        if !(*scale > 0.0 && scale.is_finite()) {
            return Ok(false);
        }
    }
    for j in 0..size {
        for k in 0..size {
            matrix[j * size + k] *= scale[j] * scale[k];
        }
    }
    if !invert_even(matrix, size)? {
        return Ok(false);
    }
    for j in 0..size {
        for k in 0..size {
            matrix[j * size + k] *= scale[j] * scale[k];
        }
    }
    Ok(true)
}

/// The same of a matrix whose columns are of one scale, by Cholesky: L L' = A, then A^-1 = L'^-1 L^-1.
fn invert_even(matrix: &mut [f64], size: usize) -> Result<bool, OutOfMemory> {
    let mut low: Vec<f64> = zeros(size * size)?;
    for j in 0..size {
        for k in 0..=j {
            let (one, other) = (&low[j * size..][..k], &low[k * size..][..k]);
            let sum: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
            let rest = matrix[j * size + k] - sum;
            low[j * size + k] = match j == k {
                true if rest > 0.0 => rest.sqrt(),
                true => return Ok(false),
                false => rest / low[k * size + k],
            };
        }
    }
    // L^-1, column by column, written to the rows of its transpose
    let mut inverse: Vec<f64> = zeros(size * size)?;
    for k in 0..size {
        for j in k..size {
            let done = &inverse[k * size + k..k * size + j];
            let sum: f64 = low[j * size + k..j * size + j]
                .iter()
                .zip(done)
                .map(|(a, b)| a * b)
                .sum();
            let one = if j == k { 1.0 } else { 0.0 };
            inverse[k * size + j] = (one - sum) / low[j * size + j];
        }
    }
    for j in 0..size {
        for k in 0..=j {
            let (one, other) = (&inverse[j * size..][j..size], &inverse[k * size..][j..size]);
            let sum: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
            (matrix[j * size + k], matrix[k * size + j]) = (sum, sum);
        }
    }
    Ok(matrix.iter().all(|value| value.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of very different scale that go together.
    fn moment(size: usize) -> Vec<f64> {
        let value = |i: usize, j: usize| {
            let noise = ((i * 37 + j * 91) % 53) as f64 / 53.0 - 0.5;
            (3.0 + noise) * 10f64.powi(j as i32 % 5)
        };
        let mut moment = vec![0.0; size * size];
        for i in 0..20 * size {
            for j in 0..size {
                for k in 0..size {
                    moment[j * size + k] += value(i, j) * value(i, k);
                }
            }
        }
        (0..size).for_each(|j| moment[j * size + j] *= 1.0 + 1e-6);
        moment
    }

    #[test]
    fn an_inverse_undoes_the_matrix() {
        for size in [1, 2, 7, 31] {
            let moment = moment(size);
            let whole = Whole::new(&moment, 2.0, 1.0)
                .unwrap()
                .expect("it is definite");
            let d: Vec<f64> = (0..size).map(|j| 1.0 / (1.0 + j as f64)).collect();
            let moved: Vec<f64> = whole.moved(d.iter().copied()).collect();
            let u: Vec<f64> = d.iter().zip(&moved).map(|(d, m)| d + 2.0 * m).collect();
            for (found, d) in whole.weights(&u).zip(&d) {
                assert!((found - d).abs() < 1e-6 * d.abs(), "{size}: {found} {d}");
            }
        }
    }

    #[test]
    fn what_is_not_definite_is_refused() {
        assert!(Whole::new(&[1.0, 2.0, 2.0, 1.0], 1.0, 1.0)
            .unwrap()
            .is_none());
        assert!(Whole::new(&[0.0], 1.0, 1.0).unwrap().is_none());
    }
}
