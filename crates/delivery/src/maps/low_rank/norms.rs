//! Squared norms in the span of landmarks z, in 64 bits, and bounds on what rounding changes of them.
//!
//! ```text
//! |f|² = a'K a                               of a machine with factors a, K of the landmarks = L L'
//! |v|² = v'K^-1 v = c'v + c'r + r'K^-1 r     of what lies in the span of a sum of rows, v = sum of y_i u_i k(z, x_i), r = v - K c
//! ```
//!
//! The second holds for any c. With c = L^-T L^-1 v, r is what rounding leaves, and r'K^-1 r <= |r|² / the least eigenvalue of K. If a landmark
//! lies close to the span of others, c is large, and the effect of rounding v and K grows with it. Let kernel values be off by e l(x) l(z) at
//! most. Then v_j is off by e l(z_j) U and (K c)_j by e l(z_j) R, where U is the sum of u l(x) and R the sum of |c_j| l(z_j); rounding of the
//! sums comes on top.

use pgsvm_kernels::expansion::dot;
use pgsvm_kernels::triangle::{backward, forward};
use pgsvm_kernels::LowRank;

use crate::base::interrupts;
use crate::base::memory::{copied, filled, OutOfMemory};
use crate::simd::Level;

/// Rows of K that are made together, at most, and kernel values.
const ROWS: usize = 256;
const VALUES: usize = 1 << 16;

/// A vector of as many numbers as there are landmarks, and K times it.
struct Times {
    by: Vec<f64>,
    k: Vec<f64>,
}

impl Times {
    fn new(by: Vec<f64>) -> Result<Self, OutOfMemory> {
        let k = filled(0.0, by.len())?;
        Ok(Self { by, k })
    }
}

/// What is measured of a machine.
pub(super) struct InSpan {
    factors: Times,
    v: Vec<f64>,
    c: Times,
}

/// What rounding may change, see the head of this file.
pub(super) struct Lost<'a> {
    /// e of v, and of K, what a product with K loses included; and what a product with v loses.
    pub(super) v: f64,
    pub(super) k: f64,
    pub(super) dot: f64,
    /// l(z), by landmark.
    pub(super) lengths: &'a [f64],
    /// U.
    pub(super) reach: f64,
    /// No eigenvalue of K is below it.
    pub(super) least_eigenvalue: f64,
}

impl InSpan {
    /// Of a machine with these factors and of v; `lower`: L.
    pub(super) fn new(factors: &[f64], v: Vec<f64>, lower: &[f64]) -> Result<Self, OutOfMemory> {
        let mut c = copied(&v)?;
        forward(lower, &mut c);
        backward(lower, &mut c);
        Ok(Self {
            factors: Times::new(copied(factors)?)?,
            v,
            c: Times::new(c)?,
        })
    }

    /// Has all of them measured by the landmarks of this map.
    pub(super) fn measure(map: &LowRank, all: &mut [Self]) -> Result<(), OutOfMemory> {
        let (rank, level) = (map.rank(), Level::best());
        let at_once = (VALUES / rank.max(1)).clamp(1, ROWS);
        let mut values = filled(0.0, at_once.min(rank) * rank)?;
        for first in (0..rank).step_by(at_once) {
            let count = at_once.min(rank - first);
            let values = &mut values[..count * rank];
            let landmarks = map.landmarks();
            landmarks.wide_values(map.kernel(), level, (landmarks.rows(), first), values);
            for Times { by, k } in all.iter_mut().flat_map(|it| [&mut it.factors, &mut it.c]) {
                for (k, row) in k[first..].iter_mut().zip(values.chunks_exact(rank)) {
                    *k = dot(row, by);
                }
                interrupts::worked(count * rank);
            }
        }
        Ok(())
    }

    /// |f|²
    pub(super) fn norm(&self) -> f64 {
        dot(&self.factors.by, &self.factors.k)
    }

    /// |v|², and by how much it may be more.
    pub(super) fn projected(&self, lost: &Lost<'_>) -> [f64; 2] {
        let Times { by: c, k } = &self.c;
        let lengths = || lost.lengths.iter();
        let reach: f64 = c.iter().zip(lengths()).map(|(c, l)| c.abs() * l).sum();
        // of r_j, times l(z_j)
        let off = lost.v * lost.reach + lost.k * reach;
        let rest = |(v, k): (&f64, &f64)| v - k;
        let rests = || self.v.iter().zip(k).map(rest);
        let found: f64 = c.iter().zip(rests()).map(|(c, r)| c * r).sum();
        let most = rests()
            .zip(lengths())
            .map(|(r, l)| (r.abs() + off * l).powi(2));
        let beyond = most.sum::<f64>() / lost.least_eigenvalue;
        let more = reach * ((lost.v + lost.dot) * lost.reach + off) + beyond;
        [dot(&self.v, c) + found, more]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};
    use pgsvm_kernels::{Choice, Kernel, Pivots, Rows, ValueRounding};

    /// Whole numbers, of which those behind the first differ by little beside their size.
    fn rows(random: &mut Random, width: usize) -> Rows {
        let mut rows = Rows::new(width);
        let far: Vec<i64> = (0..width).map(|_| random.below(2000) as i64).collect();
        for at in 0..60 {
            let by = if at % 3 == 0 { 2000 } else { 40 };
            let row = far.iter().map(|x| (x + random.below(by) as i64) as f32);
            rows.push(&row.collect::<Vec<_>>(), &[]).unwrap();
        }
        rows
    }

    /// Of sums of landmarks' own rows, whose norms whole numbers say: u'K u is that of the machine with these factors too.
    #[test]
    fn norms_are_off_by_what_is_counted_at_most() {
        let kernel = Kernel::Polynomial {
            gamma: 1.0,
            degree: 3,
            coef0: 1.0,
        };
        let mut random = Random::new(3, Stream::Trainer);
        let (mut worst, mut shares) = (0.0f64, 0);
        for width in [1, 2, 3, 5, 8] {
            let sample = rows(&mut random, width);
            let mut pivots = Pivots::new(kernel, sample, Choice::Greatest, 30, 0.0).unwrap();
            while !pivots.step().unwrap() {}
            let map = LowRank::new(pivots.finish().unwrap()).unwrap();
            let (rank, all) = (map.rank(), map.landmarks().rows());
            let mut rounding = ValueRounding::new(kernel, 0.0);
            let lengths = (0..rank).map(|at| rounding.take((all, at), all.wide_square(at)));
            let lengths: Vec<f64> = lengths.collect();
            let whole = |row: usize| all.dense(row).iter().map(|x| *x as i128);
            let exact = |i: usize, j: usize| {
                let product: i128 = whole(i).zip(whole(j)).map(|(x, z)| x * z).sum();
                (product + 1).pow(3)
            };
            let mut values = vec![0.0; rank * rank];
            let level = Level::best();
            map.landmarks()
                .wide_values(&kernel, level, (all, 0), &mut values);
            for size in [1, 100, 10_000] {
                let u: Vec<i128> = (0..rank)
                    .map(|at| random.below(size + 1) as i128 * [1, -1][at % 2])
                    .collect();
                let wide: Vec<f64> = u.iter().map(|u| *u as f64).collect();
                let rows = values.chunks_exact(rank);
                let v: Vec<f64> = rows.map(|row| dot(row, &wide)).collect();
                let reach = wide.iter().zip(&lengths).map(|(u, l)| u.abs() * l).sum();
                let (dot, value) = (rounding.dot_off(), rounding.value_off());
                let off = value * lengths.iter().map(|l| l * l).sum::<f64>();
                let span = map.span(off).unwrap();
                let mut own = vec![InSpan::new(&wide, v, &span.lower).unwrap()];
                InSpan::measure(&map, &mut own).unwrap();
                let lost = Lost {
                    v: value + dot,
                    k: value + dot,
                    dot,
                    lengths: &lengths,
                    reach,
                    least_eigenvalue: span.least_eigenvalue,
                };
                let [found, more] = own[0].projected(&lost);
                let pairs = (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j)));
                let norm = pairs.map(|(i, j)| u[i] * u[j] * exact(i, j)).sum::<i128>() as f64;
                let what = format!("{width} {size} {rank}: {norm} {found} {more}");
                assert!((found - norm).abs() <= more, "{what}");
                let most = (value + 2.0 * dot) * reach * reach;
                assert!((own[0].norm() - norm).abs() <= most, "{what} {most}");
                worst = worst.max((found - norm).abs() / more);
                shares += u32::from(more < 1e-3 * norm);
            }
        }
        assert!(worst > 1e-4 && shares > 5, "{worst} {shares}");
    }
}
