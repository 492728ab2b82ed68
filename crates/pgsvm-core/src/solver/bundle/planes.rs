//! The planes, and their small quadratic program: max sum b_j B_j - 1/2 |u + sum b_j F_j|^2 over b >= 0, sum b <= 1.
//!
//! What is left to 1 is the weight of a plane of zeros. Weight goes from one plane to another, from the one whose gradient is least
//! of those that have some to the one by which the objective rises most, until the gap max g - sum b g is small. Keerthi, Gilbert, Neural
//! Computation 2002, for the pair; Fan, Chen, Lin, JMLR 6, 2005, for the second choice.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::simd::{Isa, Level, Work};
#[cfg(test)]
use crate::solver::still::product;

/// Exchanges of a solution at most, for each plane.
const EXCHANGES: usize = 2000;
/// Planes at most: beyond, one that has had no weight for long goes.
const MOST_PLANES: usize = 400;
/// Sums of a product side by side.
const SIDE_BY_SIDE: usize = 16;

/// <a, b>
fn dot(a: &[f64], b: &[f64]) -> f64 {
    struct Dot<'a>(&'a [f64], &'a [f64]);
    impl Work for Dot<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<K: Isa>(self) -> f64 {
            let mut sums = [0.0; SIDE_BY_SIDE];
            let (a, b) = (
                self.0.chunks_exact(SIDE_BY_SIDE),
                self.1.chunks_exact(SIDE_BY_SIDE),
            );
            let rest = a.remainder().iter().zip(b.remainder());
            let rest: f64 = rest.map(|(a, b)| a * b).sum();
            for (a, b) in a.zip(b) {
                for (place, sum) in sums.iter_mut().enumerate() {
                    *sum += a[place] * b[place];
                }
            }
            sums.iter().sum::<f64>() + rest
        }
    }
    Level::best().run(Dot(a, b))
}

/// A plane: what some rows put into weights and value when all that are within the margin at some weights are at their bounds.
pub(super) struct Plane {
    pub(super) f: Vec<f64>,
    pub(super) b: f64,
    pub(super) weight: f64,
    /// Solutions since it had some.
    idle: u32,
}

/// All planes, with the products of each two.
#[derive(Default)]
pub(super) struct Planes {
    pub(super) all: Vec<Plane>,
    gram: Vec<f64>,
    /// The first so many planes whose products are known.
    known: usize,
}

impl Planes {
    /// Adds a plane; what is known of the weights of others stays.
    pub(super) fn push(&mut self, f: Vec<f64>, b: f64) -> Result<(), OutOfMemory> {
        let weight = if self.all.is_empty() { 1.0 } else { 0.0 };
        self.all.room(1)?.push(Plane {
            f,
            b,
            weight,
            idle: 0,
        });
        Ok(())
    }

    /// Gives up the plane that has had no weight for longest, where there are too many. Not where rows know planes by their number.
    pub(super) fn forget(&mut self) {
        let idle = |place: &usize| self.all[*place].idle;
        let longest = (0..self.all.len()).max_by_key(idle);
        if let Some(place) = longest.filter(|place| self.all.len() > MOST_PLANES && idle(place) > 0)
        {
            self.all.remove(place);
            self.forget_products(place);
        }
    }

    /// Planes have changed: no product is known.
    pub(super) fn change(&mut self) {
        self.known = 0;
    }

    /// Takes the products that are not known.
    pub(super) fn multiply(&mut self) -> Result<(), OutOfMemory> {
        let (count, known) = (self.all.len(), self.known);
        let mut gram = Vec::new();
        gram.room(count * count)?.resize(count * count, 0.0);
        let before = self.gram.chunks_exact(known.max(1)).take(known);
        for (row, before) in gram.chunks_exact_mut(count.max(1)).zip(before) {
            row[..known].copy_from_slice(before);
        }
        for i in known..count {
            interrupts::check();
            for j in 0..=i {
                let product = dot(&self.all[i].f, &self.all[j].f);
                gram[i * count + j] = product;
                gram[j * count + i] = product;
            }
        }
        (self.gram, self.known) = (gram, count);
        Ok(())
    }

    /// Gives up the products of a plane that goes.
    fn forget_products(&mut self, place: usize) {
        let known = self.known;
        if place >= known {
            return;
        }
        let mut at = 0;
        self.gram.retain(|_| {
            let (row, column) = (at / known, at % known);
            at += 1;
            row != place && column != place
        });
        self.known -= 1;
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

    /// The best weights b beside `near`, sums of rows that are held, with the shift `damp` = 1 + kappa, to this gap.
    pub(super) fn solve(&mut self, near: &[f64], damp: f64, gap: f64) -> Result<(), OutOfMemory> {
        let count = self.all.len();
        if count == 0 {
            return Ok(());
        }
        // by plane, that of zeros behind them
        let mut weights = Vec::new();
        weights.room(count + 1)?;
        weights.extend(self.all.iter().map(|plane| plane.weight));
        weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
        let mut g = zeros(count + 1)?;
        for (place, plane) in self.all.iter().enumerate() {
            let products = dot(self.products(place), &weights[..count]);
            g[place] = plane.b - (dot(&plane.f, near) + products) / damp;
        }
        let mut squares = zeros(count + 1)?;
        for (place, square) in squares[..count].iter_mut().enumerate() {
            *square = self.products(place)[place];
        }
        for turn in 0..EXCHANGES * count {
            if turn % EXCHANGES == 0 {
                interrupts::check();
            }
            let Some((from, to, by)) = self.exchange((&weights, &g, &squares), damp, gap) else {
                break;
            };
            let by_g = by / damp;
            for (place, by) in [(from, by_g), (to, -by_g)] {
                for (g, product) in g.iter_mut().zip(self.products(place)) {
                    *g += by * product;
                }
            }
            for (place, by) in [(from, -by), (to, by)] {
                weights[place] = (weights[place] + by).max(0.0);
            }
        }
        for (plane, weight) in self.all.iter_mut().zip(&weights) {
            plane.weight = *weight;
            plane.idle = match *weight > 0.0 {
                true => 0,
                false => plane.idle + 1,
            };
        }
        self.keep_within();
        Ok(())
    }

    /// Weights that are more than 1 together by rounding become 1.
    fn keep_within(&mut self) {
        let sum: f64 = self.all.iter().map(|plane| plane.weight).sum();
        if sum > 1.0 {
            self.all.iter_mut().for_each(|plane| plane.weight /= sum);
        }
    }

    /// <F, F> of a plane and each; none with that of zeros.
    fn products(&self, place: usize) -> &[f64] {
        let count = self.all.len();
        match place < count {
            true => &self.gram[place * count..][..count],
            false => &[],
        }
    }

    /// From which plane how much weight goes to which, by weights, gradients and squares; None where the gap is small.
    fn exchange(
        &self,
        (weights, g, squares): (&[f64], &[f64], &[f64]),
        damp: f64,
        gap: f64,
    ) -> Option<(usize, usize, f64)> {
        let (mut to, mut most) = (0, f64::NEG_INFINITY);
        for (place, g) in g.iter().enumerate() {
            if *g > most {
                (to, most) = (place, *g);
            }
        }
        let owns = weights.iter().zip(g);
        let left: f64 = owns.map(|(weight, g)| weight * (most - g)).sum();
        if left <= gap {
            return None;
        }
        let products = self.products(to);
        let mut best: Option<(f64, usize, f64)> = None;
        for (from, weight) in weights.iter().enumerate() {
            if *weight <= 0.0 || g[from] >= most {
                continue;
            }
            let rises = most - g[from];
            let both = 2.0 * products.get(from).copied().unwrap_or(0.0);
            let curvature = (squares[from] + squares[to] - both) / damp;
            let step = match curvature > 0.0 {
                true => (rises / curvature).min(*weight),
                false => *weight,
            };
            let gain = step * (rises - 0.5 * step * curvature.max(0.0));
            if best.is_none_or(|(known, ..)| gain > known) {
                best = Some((gain, from, step));
            }
        }
        best.map(|(_, from, step)| (from, to, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

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
            planes.solve(&near, damp, 1e-9).unwrap();
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
                linear - 0.5 * product(&v, &v) / damp
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
