//! Slack, which the code calls leeway: how far weights may move before a row without loss can have one. A training that continues another
//! one does not read rows with enough slack. Its certificate covers them all the same.
//!
//! Rows and weights are measured in a metric of the row's class. With a centre m and a spread s > 0 for each feature, and a
//! constant k > 0:
//!
//! - the length of a row x is  |x|^2 = sum_j ((x_j - m_j) / s_j)^2 + k^2
//! - how far (w', b') is from (w, b) is  |d|^2 = sum_j (s_j d_j)^2 + ((<d, m> + e) / k)^2,  d = w' - w, e = b' - b
//!
//! By Cauchy and Schwarz  |<d, x> + e| = |<d, x - m> + (<d, m> + e)| <= |d| |x|.  So a row whose margin y (<w, x> + b) is 1
//! or more keeps one of 1 or more, and its loss is 0 in the hinge and the squared hinge, while |d| is no more than
//!
//!   leeway = (y (<w, x> + b) - 1) / |x|
//!
//! This holds for any m, s and k. With the mean and the standard deviation of the class it is as much as it can be where
//! features do not depend on each other; k is small beside the rest of a row's length, and large enough that a move of all
//! margins of the class by some hundredths does not count for more than its size.

use crate::base::memory::{all_of, list, OutOfMemory};
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The most features for which rows get a leeway: beyond, weights move too far within the tolerance.
pub const MOST_FEATURES: usize = 4096;

/// The leeway of code 1 is 2 to the minus so many.
const OCTAVES_BELOW_ONE: i64 = 12;
/// Codes an octave.
const CODES: usize = 16;
/// The exponent of 1 in a number of 64 bits, which lies above 52 bits.
const EXPONENT_OF_ONE: i64 = 1023;
/// Of a row's length squared, so much is the constant.
const CONSTANT_SHARE: f64 = 0.1;
/// The spread of a feature in a class is at least so much of that in all rows.
const LEAST_SHARE: f64 = 0.01;
/// And of a feature that is the same in all rows that were looked at, so much of the mean spread.
const LEAST_OF_MEAN: f64 = 0.001;
/// What rounding may add to a length, and take from a margin.
const ROUNDING: f32 = 1e-3;
const MARGIN_ROUNDING: f32 = 1e-5;
const LANES: usize = 16;

/// The largest code whose leeway is not more than this one; 0 for none, or less than can be said.
#[inline]
pub fn code_of(leeway: f64) -> u8 {
    let octave = (leeway.to_bits() >> 52) as i64 - EXPONENT_OF_ONE + OCTAVES_BELOW_ONE;
    if leeway <= 0.0 || leeway.is_nan() || octave < 0 {
        return 0;
    }
    let first = (1 + octave as usize * CODES).min(LEEWAYS.len());
    let last = (first + CODES).min(LEEWAYS.len());
    let not_more = LEEWAYS[first..last].partition_point(|known| *known <= leeway);
    (first + not_more - 1) as u8
}

/// The leeway that a code stands for; 0 for code 0.
#[inline]
pub fn leeway_of(code: u8) -> f64 {
    LEEWAYS[usize::from(code)]
}

/// By code.
static LEEWAYS: LazyLock<[f64; 256]> = LazyLock::new(|| {
    core::array::from_fn(|code| match code.checked_sub(1) {
        None => 0.0,
        Some(above) => {
            let octave = (above / CODES) as i64 - OCTAVES_BELOW_ONE;
            ((above % CODES) as f64 / CODES as f64).exp2() * 2f64.powi(octave as i32)
        }
    })
});

/// The metric of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// By feature.
    #[serde(deserialize_with = "list")]
    pub centre: Vec<f32>,
    /// By feature, as many, positive.
    #[serde(deserialize_with = "list")]
    pub spread: Vec<f32>,
    /// Positive.
    pub constant: f32,
}

crate::base::received_as_derived!(Metric);

impl Metric {
    /// Whether it is a metric: its numbers finite, spreads and the constant positive.
    pub fn is_sound(&self) -> bool {
        let positive = |value: &f32| *value > 0.0 && value.is_finite();
        self.centre.len() == self.spread.len()
            && self.centre.iter().all(|value| value.is_finite())
            && self.spread.iter().all(positive)
            && positive(&self.constant)
    }

    /// The same metric in the unit in which the weights themselves are as long as 1, but for their constant: a leeway then
    /// is a share of them.
    pub fn in_units_of(self, weights: &[f64]) -> Self {
        let stretched = weights.iter().zip(&self.spread);
        let stretched = stretched.map(|(w, s)| (w * f64::from(*s)).powi(2));
        let length = stretched.sum::<f64>().sqrt();
        let spread = self.spread.iter().map(|s| (f64::from(*s) / length) as f32);
        let in_units = Self {
            spread: spread.collect(),
            constant: (f64::from(self.constant) * length) as f32,
            centre: self.centre.clone(),
        };
        match in_units.is_sound() {
            true => in_units,
            false => self,
        }
    }

    /// How far weights have moved that have changed by this much, by feature, and in the intercept. Features beyond those of
    /// the metric do not count: the rows it is for have none; changes that are missing are 0.
    pub fn distance(&self, change: impl Iterator<Item = f64>, intercept: f64) -> f64 {
        let (mut squares, mut shift) = (0.0, intercept);
        for ((change, centre), spread) in change.zip(&self.centre).zip(&self.spread) {
            squares += (change * f64::from(*spread)).powi(2);
            shift += change * f64::from(*centre);
        }
        (squares + (shift / f64::from(self.constant)).powi(2)).sqrt()
    }
}

/// Measures rows in a metric.
#[derive(Debug)]
pub struct Ruler {
    /// Of the dense features m and 1 / s^2.
    centre: Vec<f32>,
    factors: Vec<f32>,
    /// Of the sparse ones 1 / s^2 and 2 m / s^2.
    sparse: Vec<[f64; 2]>,
    /// k^2, and what a row of zeros has besides in the features that are sparse.
    constant: f32,
    base: f64,
}

impl Ruler {
    /// For rows whose first `dense` features are dense.
    pub fn new(metric: &Metric, dense: usize) -> Self {
        let factor = |spread: &f32| (1.0 / f64::from(*spread).powi(2)).min(f64::from(f32::MAX));
        let dense = dense.min(metric.centre.len());
        let sparse = metric.centre.iter().zip(&metric.spread).skip(dense);
        let sparse = sparse.map(|(centre, spread)| (f64::from(*centre), factor(spread)));
        Self {
            centre: metric.centre[..dense].to_vec(),
            factors: metric.spread[..dense]
                .iter()
                .map(|spread| factor(spread) as f32)
                .collect(),
            base: sparse
                .clone()
                .map(|(centre, factor)| centre * centre * factor)
                .sum(),
            sparse: sparse
                .map(|(centre, factor)| [factor, 2.0 * centre * factor])
                .collect(),
            constant: metric.constant.powi(2),
        }
    }

    /// The length of a row, or a little more; infinite for one with features that the metric does not know.
    #[inline(always)]
    pub fn length<'a>(&self, dense: &[f32], sparse: impl Iterator<Item = (u32, f32)> + 'a) -> f64 {
        if dense.len() > self.centre.len() {
            return f64::INFINITY;
        }
        let (centre, factors) = (&self.centre[..dense.len()], &self.factors[..dense.len()]);
        let ((xs, x_rest), (ms, m_rest)) =
            (dense.as_chunks::<LANES>(), centre.as_chunks::<LANES>());
        let (fs, f_rest) = factors.as_chunks::<LANES>();
        let mut lanes = [0f32; LANES];
        for ((x, m), f) in xs.iter().zip(ms).zip(fs) {
            for lane in 0..LANES {
                let from: f32 = x[lane] - m[lane];
                lanes[lane] += from * from * f[lane];
            }
        }
        let rest = x_rest.iter().zip(m_rest).zip(f_rest);
        let rest: f32 = rest
            .map(|((x, m), f): ((&f32, &f32), &f32)| (x - m) * (x - m) * f)
            .sum();
        let mut squares = f64::from(lanes.iter().sum::<f32>() + rest + self.constant) + self.base;
        for (feature, value) in sparse {
            let at = (feature as usize).wrapping_sub(self.centre.len());
            let Some([factor, twice]) = self.sparse.get(at) else {
                return f64::INFINITY;
            };
            let x = f64::from(value);
            squares += x * (x * factor - twice);
        }
        squares.max(f64::from(self.constant)).sqrt() * f64::from(1.0 + ROUNDING)
    }

    #[inline(always)]
    pub fn length_of(&self, row: &Row<'_>) -> f64 {
        let entries = row.sparse().iter();
        self.length(
            row.dense(),
            entries.map(|[feature, bits]| (*feature, f32::from_bits(*bits))),
        )
    }
}

/// The code of a row with this margin, whose length is asked for where it has any leeway.
#[inline(always)]
pub fn code_at(margin: f32, length: impl FnOnce() -> f64) -> u8 {
    let over = margin - 1.0 - MARGIN_ROUNDING * (1.0 + margin.abs());
    match over > 0.0 {
        true => code_of(f64::from(over) / length()),
        false => 0,
    }
}

/// Learns the metrics of classes from some of their rows.
pub struct MetricLearner {
    classes: Vec<ClassSums>,
    features: usize,
}

struct ClassSums {
    rows: f64,
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl MetricLearner {
    pub fn new(classes: usize, features: usize) -> Result<Self, OutOfMemory> {
        let sums = |_| {
            Ok::<_, OutOfMemory>(ClassSums {
                rows: 0.0,
                values: zeros(features)?,
                squares: zeros(features)?,
            })
        };
        Ok(Self {
            classes: all_of((0..classes).map(sums))?,
            features,
        })
    }

    #[inline(always)]
    pub fn take(&mut self, row: &Row<'_>) {
        let sums = &mut self.classes[row.group()];
        sums.rows += 1.0;
        for (feature, value) in row.dense().iter().enumerate() {
            sums.take(feature, *value);
        }
        for [feature, bits] in row.sparse() {
            sums.take(*feature as usize, f32::from_bits(*bits));
        }
    }

    /// The metric of each class.
    pub fn finish(&self) -> Vec<Metric> {
        let mut all = ClassSums {
            rows: self.classes.iter().map(|sums| sums.rows).sum(),
            values: vec![0.0; self.features],
            squares: vec![0.0; self.features],
        };
        for sums in &self.classes {
            for feature in 0..self.features {
                all.values[feature] += sums.values[feature];
                all.squares[feature] += sums.squares[feature];
            }
        }
        let in_all: Vec<f64> = (0..self.features)
            .map(|j| all.moments(j).1.sqrt())
            .collect();
        let mean = in_all.iter().sum::<f64>() / self.features.max(1) as f64;
        let least = (LEAST_OF_MEAN * mean).max(f64::from(f32::MIN_POSITIVE).sqrt());
        let metric = |sums: &ClassSums| {
            let (mut centre, mut spread) = (Vec::new(), Vec::new());
            let mut squares = 0.0;
            for (feature, of_all) in in_all.iter().enumerate() {
                let (mean, variance) = sums.moments(feature);
                let used = variance.sqrt().max(LEAST_SHARE * of_all).max(least);
                squares += variance / used.powi(2);
                centre.push(mean as f32);
                spread.push(used as f32);
            }
            Metric {
                centre,
                spread,
                constant: (CONSTANT_SHARE * squares.max(1.0)).sqrt() as f32,
            }
        };
        self.classes.iter().map(metric).collect()
    }
}

impl ClassSums {
    #[inline(always)]
    fn take(&mut self, feature: usize, value: f32) {
        let value = f64::from(value);
        self.values[feature] += value;
        self.squares[feature] += value * value;
    }

    /// Mean and variance of a feature.
    fn moments(&self, feature: usize) -> (f64, f64) {
        let rows = self.rows.max(1.0);
        let mean = self.values[feature] / rows;
        (mean, (self.squares[feature] / rows - mean * mean).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_never_says_more_than_there_is_and_hardly_less() {
        for step in 1..2000 {
            let leeway = 2f64.powf(f64::from(step) / 100.0 - 12.5);
            let said = leeway_of(code_of(leeway));
            assert!(said <= leeway, "{leeway}: {said}");
            assert!(
                said == 0.0 && leeway < 2f64.powi(-12) || said > 0.95 * leeway.min(14.0),
                "{leeway}: {said}"
            );
        }
        for code in 1..=255 {
            assert_eq!(code_of(leeway_of(code)), code);
        }
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(code_of(nothing), 0);
        }
        assert_eq!(code_of(f64::INFINITY), 255);
    }

    #[test]
    fn margins_move_no_further_than_the_distance_times_the_length() {
        let metric = Metric {
            centre: vec![0.5, -2.0, 0.0, 3.0],
            spread: vec![1.0, 0.1, 2.0, 0.5],
            constant: 0.6,
        };
        let mut random = crate::base::random::Random::new(1, crate::base::random::Stream::Trainer);
        let mut draw = || random.below(2001) as f64 / 500.0 - 2.0;
        for dense in [0, 2, 4] {
            let ruler = Ruler::new(&metric, dense);
            for _ in 0..500 {
                let x: Vec<f32> = (0..4).map(|_| draw() as f32).collect();
                let change: Vec<f64> = (0..4).map(|_| draw()).collect();
                let intercept = draw();
                let moved: f64 = x.iter().zip(&change).map(|(x, d)| f64::from(*x) * d).sum();
                let sparse = (dense as u32..).zip(x[dense..].iter().copied());
                let length = ruler.length(&x[..dense], sparse);
                let distance = metric.distance(change.iter().copied(), intercept);
                assert!(
                    (moved + intercept).abs() <= distance * length,
                    "{x:?} {change:?}"
                );
            }
        }
        let beyond = Ruler::new(&metric, 4).length(&[0.0; 4], [(4, 1.0)].into_iter());
        assert_eq!(beyond, f64::INFINITY);
    }
}
