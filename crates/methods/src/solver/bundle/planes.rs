//! The planes, and their small quadratic program: max sum b_j B_j - 1/2 |u + sum b_j F_j|^2 over b >= 0, sum b <= 1.
//!
//! What is left to 1 is the weight of a plane of zeros. Weight goes from one plane to another, from the one whose gradient is least
//! of those that have some to the one by which the objective rises most, until the gap max g - sum b g is small. Keerthi, Gilbert, Neural
//! Computation 2002, for the pair; Fan, Chen, Lin, JMLR 6, 2005, for the second choice.
//!
//! Pairs alone take without end where planes are nearly parallel, as they are where C is large or columns differ in size. So a
//! round of them is followed by a step of all planes with weight at once, to the top of the objective in their span or as far as
//! no weight falls below 0 (an active set, Gill, Murray and Wright, Practical Optimization, 1981, section 5.2). Where rounds come no nearer
//! what is left is rounding; and a solution takes no more than so much work, whose weights are a solution as near as it has come.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::lower::Lower;
use crate::simd::{Isa, Level, Work};
#[cfg(test)]
use crate::solver::fixed_weights::product;

/// Exchanges of a round, beside as many as there are planes with weight.
const EXCHANGES: usize = 32;
/// Products of a solution at most, and rounds in which the gap has not halved.
const MOST_WORK: u64 = 1 << 26;
/// What a round takes beside products, in products, and an exchange: of few planes that is most of it, which where nothing is gained any more
/// went on for half a minute.
const BESIDE_ROUND: u64 = 1 << 13;
const BESIDE_EXCHANGE: u64 = 1 << 7;
const MOST_STALLED: u32 = 8;
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
    /// To where a free intercept is pulled, else 0: the last weight is that beside it.
    pub(super) centre: f64,
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
            for j in 0..=i {
                let product = dot(&self.all[i].f, &self.all[j].f);
                interrupts::worked(self.all[i].f.len());
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

    /// The best weights b beside `near`, sums of rows that are held, with the shift `damp` = 1 + kappa, to this gap. Gives back how many
    /// products that took.
    pub(super) fn solve(&mut self, near: &[f64], damp: f64, gap: f64) -> Result<u64, OutOfMemory> {
        let count = self.all.len();
        if count == 0 {
            return Ok(0);
        }
        // by plane, that of zeros behind them
        let mut weights = Vec::new();
        weights.room(count + 1)?;
        weights.extend(self.all.iter().map(|plane| plane.weight));
        weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
        // their gradients without weight
        let mut alone = zeros(count)?;
        for (alone, plane) in alone.iter_mut().zip(&self.all) {
            let beside = self.centre * plane.f.last().copied().unwrap_or(0.0);
            *alone = plane.b - beside - dot(&plane.f, near) / damp;
        }
        let mut squares = zeros(count + 1)?;
        for (place, square) in squares[..count].iter_mut().enumerate() {
            *square = self.products(place)[place];
        }
        let mut g = zeros(count + 1)?;
        let (mut least, mut stalled) = (f64::INFINITY, 0);
        let (mut work, mut beside) = (0, 0);
        while work + beside < MOST_WORK {
            g[..count].copy_from_slice(&alone);
            let owning = weights[..count].iter().enumerate();
            for (place, weight) in owning.filter(|(_, weight)| **weight > 0.0) {
                let by = weight / damp;
                for (g, product) in g.iter_mut().zip(self.products(place)) {
                    *g -= by * product;
                }
                work += count as u64;
            }
            let left = left(&weights, &g);
            stalled = if left <= 0.5 * least { 0 } else { stalled + 1 };
            least = least.min(left);
            if left.is_nan() || left <= gap || stalled >= MOST_STALLED {
                break;
            }
            let owns = weights.iter().filter(|weight| **weight > 0.0).count();
            self.step_together((&mut weights, &mut g), damp)?;
            work += (owns * (owns * owns / 6 + count)) as u64;
            beside += BESIDE_ROUND;
            for _ in 0..EXCHANGES + owns {
                let found = self.exchange((&weights, &g, &squares), damp, gap);
                let Some((from, to, by)) = found else {
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
                interrupts::worked(4 * count);
                work += 4 * count as u64;
                beside += BESIDE_EXCHANGE;
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
        Ok(work)
    }

    /// A step of all planes with weight at once, that of zeros with them, from these weights, behind which it stands, with these
    /// gradients.
    fn step_together(
        &self,
        (weights, g): (&mut [f64], &mut [f64]),
        damp: f64,
    ) -> Result<(), OutOfMemory> {
        let count = self.all.len();
        let mut own: Vec<usize> = Vec::new();
        own.room(count)?
            .extend((0..count).filter(|place| weights[*place] > 0.0));
        let (mut step, mut ones) = (zeros(own.len())?, zeros(own.len())?);
        // G d = damp g in the scale in which its diagonal is 1; without weight of zeros the sum of d is 0
        let scale = |place: usize| match self.products(place)[place] {
            square if square > 0.0 => square.sqrt().recip(),
            _ => 0.0,
        };
        let mut matrix = Lower::new(own.len())?;
        for (i, row) in own.iter().enumerate() {
            for (j, column) in own[..i].iter().enumerate() {
                let product = self.products(*row)[*column];
                matrix.set(i, j, product * scale(*row) * scale(*column));
            }
            matrix.set(i, i, f64::from(u8::from(scale(*row) > 0.0)));
            (step[i], ones[i]) = (damp * g[*row] * scale(*row), scale(*row));
        }
        let mut factor = Cholesky::new(matrix);
        while !factor.is_done() {
            factor.step(Level::best());
        }
        factor.solve(&mut step);
        factor.solve(&mut ones);
        for (place, (step, one)) in own.iter().zip(step.iter_mut().zip(&mut ones)) {
            *step *= scale(*place);
            *one *= scale(*place);
        }
        if weights[count] <= 0.0 {
            let by = step.iter().sum::<f64>() / ones.iter().sum::<f64>();
            if by.is_finite() {
                for (step, one) in step.iter_mut().zip(&ones) {
                    *step -= by * one;
                }
            }
        }
        let of_zeros = match weights[count] > 0.0 {
            true => -step.iter().sum::<f64>(),
            false => 0.0,
        };
        let mut curved = zeros(count)?;
        for (place, step) in own.iter().zip(&step) {
            for (curved, product) in curved.iter_mut().zip(self.products(*place)) {
                *curved += step * product / damp;
            }
        }
        let slope: f64 = own.iter().zip(&step).map(|(at, d)| g[*at] * d).sum();
        let bend: f64 = own.iter().zip(&step).map(|(at, d)| curved[*at] * d).sum();
        let mut length = slope / bend;
        let moves = own.iter().zip(&step).map(|(at, d)| (weights[*at], *d));
        for (weight, d) in moves.chain([(weights[count], of_zeros)]) {
            if d < 0.0 {
                length = length.min(weight / -d);
            }
        }
        if !(slope > 0.0 && length > 0.0 && length.is_finite()) {
            return Ok(());
        }
        for (place, d) in own
            .iter()
            .zip(&step)
            .map(|(at, d)| (*at, *d))
            .chain([(count, of_zeros)])
        {
            weights[place] = (weights[place] + length * d).max(0.0);
        }
        for (g, curved) in g.iter_mut().zip(&curved) {
            *g -= length * curved;
        }
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
        if left(weights, g) <= gap {
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

/// max g - sum b g
fn left(weights: &[f64], g: &[f64]) -> f64 {
    let most = g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let owns = weights.iter().zip(g);
    owns.map(|(weight, g)| weight * (most - g)).sum()
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
