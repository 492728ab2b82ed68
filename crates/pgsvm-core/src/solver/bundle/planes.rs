//! The planes, and their small quadratic program: max sum b_j B_j - 1/2 |u + sum b_j F_j|^2 over b >= 0, sum b <= 1.
//!
//! By projected gradients with momentum on the Gram matrix of the planes, which are some tens.

use crate::base::memory::{OutOfMemory, Room};

/// Steps of a solution.
const STEPS: usize = 300;
/// Steps by which the largest eigenvalue is estimated.
const POWER_STEPS: usize = 20;

/// A plane: what some rows put into weights and value when all that are within the margin at some weights are at their bounds.
pub(super) struct Plane {
    pub(super) f: Vec<f64>,
    pub(super) b: f64,
    pub(super) weight: f64,
}

/// All planes, with the products of each two.
#[derive(Default)]
pub(super) struct Planes {
    pub(super) all: Vec<Plane>,
    gram: Vec<f64>,
}

impl Planes {
    /// Adds a plane; what is known of the weights of others stays.
    pub(super) fn push(&mut self, f: Vec<f64>, b: f64) -> Result<(), OutOfMemory> {
        let weight = if self.all.is_empty() { 1.0 } else { 0.0 };
        self.all.room(1)?.push(Plane { f, b, weight });
        Ok(())
    }

    /// Takes the products anew, as planes have changed.
    pub(super) fn multiply(&mut self) -> Result<(), OutOfMemory> {
        let count = self.all.len();
        self.gram.clear();
        self.gram.room(count * count)?.resize(count * count, 0.0);
        for i in 0..count {
            for j in 0..=i {
                let product = dot(&self.all[i].f, &self.all[j].f);
                self.gram[i * count + j] = product;
                self.gram[j * count + i] = product;
            }
        }
        Ok(())
    }

    /// sum += sum of b F
    pub(super) fn add_to(&self, sum: &mut [f64]) {
        for plane in self.all.iter().filter(|plane| plane.weight > 0.0) {
            for (sum, f) in sum.iter_mut().zip(&plane.f) {
                *sum += plane.weight * f;
            }
        }
    }

    /// sum of b B
    pub(super) fn value(&self) -> f64 {
        self.all.iter().map(|plane| plane.weight * plane.b).sum()
    }

    /// What they say that the others lose at least at weights w.
    pub(super) fn risk(&self, w: &[f64]) -> f64 {
        let risk = |plane: &Plane| plane.b - dot(&plane.f, w);
        self.all.iter().map(risk).fold(0.0, f64::max)
    }

    /// The best weights b beside `near`, sums of rows that are held, with the shift `damp` = 1 + kappa.
    pub(super) fn solve(&mut self, near: &[f64], damp: f64) -> Result<(), OutOfMemory> {
        let count = self.all.len();
        if count == 0 {
            return Ok(());
        }
        let mut room = Vec::new();
        room.room(5 * count)?.resize(5 * count, 0.0);
        let (linear, rest) = room.split_at_mut(count);
        let (b, rest) = rest.split_at_mut(count);
        let (before, rest) = rest.split_at_mut(count);
        let (ahead, gradient) = rest.split_at_mut(count);
        for (place, plane) in self.all.iter().enumerate() {
            linear[place] = plane.b - dot(&plane.f, near) / damp;
            b[place] = plane.weight;
            before[place] = plane.weight;
        }
        let rate = damp
            / self
                .largest_eigenvalue(ahead, gradient)
                .max(f64::MIN_POSITIVE);
        for step in 0..STEPS {
            let momentum = step as f64 / (step + 3) as f64;
            for place in 0..count {
                ahead[place] = b[place] + momentum * (b[place] - before[place]);
            }
            self.multiply_by(ahead, gradient);
            before.copy_from_slice(b);
            for place in 0..count {
                b[place] = ahead[place] + rate * (linear[place] - gradient[place] / damp);
            }
            project(b, gradient);
        }
        for (plane, b) in self.all.iter_mut().zip(b) {
            plane.weight = *b;
        }
        Ok(())
    }

    fn multiply_by(&self, x: &[f64], out: &mut [f64]) {
        let rows = self.gram.chunks_exact(x.len());
        for (out, row) in out.iter_mut().zip(rows) {
            *out = dot(row, x);
        }
    }

    /// No more than a little above it.
    fn largest_eigenvalue(&self, x: &mut [f64], out: &mut [f64]) -> f64 {
        x.fill(1.0);
        let mut largest = 0.0;
        for _ in 0..POWER_STEPS {
            self.multiply_by(x, out);
            let length = dot(out, out).sqrt();
            if length == 0.0 {
                break;
            }
            largest = length / dot(x, x).sqrt();
            for (x, out) in x.iter_mut().zip(&*out) {
                *x = out / length;
            }
        }
        1.1 * largest
    }
}

/// The nearest point with b >= 0, sum b <= 1. Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008, figure 1.
fn project(b: &mut [f64], sorted: &mut [f64]) {
    b.iter_mut().for_each(|b| *b = b.max(0.0));
    if b.iter().sum::<f64>() <= 1.0 {
        return;
    }
    sorted.copy_from_slice(b);
    sorted.sort_unstable_by(|one, other| other.total_cmp(one));
    let (mut sum, mut excess) = (0.0, 0.0);
    for (place, value) in sorted.iter().enumerate() {
        sum += value;
        let by = (sum - 1.0) / (place + 1) as f64;
        if value - by > 0.0 {
            excess = by;
        }
    }
    b.iter_mut().for_each(|b| *b = (*b - excess).max(0.0));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    #[test]
    fn the_projection_is_on_the_simplex_and_the_nearest_there() {
        let mut random = Random::new(3, Stream::Sample);
        for _ in 0..100 {
            let from: Vec<f64> = (0..6).map(|_| 2.0 * random.unit() - 0.5).collect();
            let mut b = from.clone();
            project(&mut b, &mut [0.0; 6]);
            assert!(b.iter().all(|b| *b >= 0.0) && b.iter().sum::<f64>() <= 1.0 + 1e-12);
            let away =
                |b: &[f64]| -> f64 { from.iter().zip(b).map(|(x, b)| (x - b).powi(2)).sum() };
            for _ in 0..50 {
                let mut other: Vec<f64> = (0..6).map(|_| random.unit()).collect();
                let sum: f64 = other.iter().sum::<f64>().max(1.0);
                other.iter_mut().for_each(|it| *it /= sum);
                assert!(away(&b) <= away(&other) + 1e-12);
            }
        }
    }

    #[test]
    fn no_other_weights_of_planes_are_better() {
        let mut random = Random::new(4, Stream::Sample);
        for damp in [1.0, 3.0] {
            let mut planes = Planes::default();
            for _ in 0..5 {
                let f = (0..8).map(|_| 4.0 * random.unit() - 1.0).collect();
                planes.push(f, 10.0 * random.unit()).unwrap();
            }
            planes.multiply().unwrap();
            let near: Vec<f64> = (0..8).map(|_| random.unit()).collect();
            planes.solve(&near, damp).unwrap();
            let value = |weights: &[f64]| {
                let mut v = near.clone();
                for (plane, weight) in planes.all.iter().zip(weights) {
                    v.iter_mut()
                        .zip(&plane.f)
                        .for_each(|(v, f)| *v += weight * f);
                }
                let linear: f64 = planes
                    .all
                    .iter()
                    .zip(weights)
                    .map(|(it, weight)| it.b * weight)
                    .sum();
                linear - 0.5 * dot(&v, &v) / damp
            };
            let found: Vec<f64> = planes.all.iter().map(|plane| plane.weight).collect();
            for _ in 0..200 {
                let mut other: Vec<f64> = (0..5).map(|_| random.unit()).collect();
                let sum: f64 = other.iter().sum::<f64>().max(1.0);
                other.iter_mut().for_each(|it| *it /= sum);
                assert!(value(&other) <= value(&found) + 1e-6 * value(&found).abs());
            }
        }
    }
}
