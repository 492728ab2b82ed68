//! The second metric of the proximal shift, for problems where the first one is too slow: mean squares of the columns, each row weighted by
//! its dual variable.
//!
//! m_j = sum a_i x_ij^2 / sum a_i
//!
//! Weight j is held by the rows with a_i > 0, so their mean square says how far it may move at a time. The mean over all rows differs
//! from it if the rows that matter are few and unlike the rest. Examples: pixels that only some digits have; columns in which a handful of
//! rows hold values a million times the others' (their a_i are tiny, since a step is divided by |x_i|^2). A head turns to this metric when [`crate::solver::proximal::rule`] finds its own constants far off, and not
//! earlier, since the dual variables must have come near their scale. From then on the metric is new with every move of the centre
//! that ends a full pass.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::solver::proximal::moments::{usable, ShiftMetric};
use crate::solver::proximal::whole::WholeSums;

/// A column is never taken for smaller than this part of its mean square over all rows: rows of which a = 0 until now may
/// come.
const LEAST_SHARE: f64 = 1e-4;

/// The sums of one full pass.
pub(in crate::solver) struct DualMoments {
    squares: Vec<f64>,
    weight: f64,
    /// Where features are few.
    whole: Option<WholeSums>,
}

impl DualMoments {
    /// Nothing learned yet.
    pub(in crate::solver) fn new(features: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            squares: zeros(features)?,
            weight: 0.0,
            whole: WholeSums::new(features)?,
        })
    }

    /// Of the same length, with nothing learned yet.
    pub(in crate::solver) fn another(&self) -> Result<Self, OutOfMemory> {
        Self::new(self.squares.len())
    }

    pub(in crate::solver) fn clear(&mut self) {
        self.squares.fill(0.0);
        self.weight = 0.0;
        if let Some(whole) = &mut self.whole {
            whole.clear();
        }
    }

    /// Adds a row with this dual variable.
    #[inline(always)]
    pub(in crate::solver) fn learn(&mut self, row: &Row<'_>, alpha: f32) {
        if alpha <= 0.0 {
            return;
        }
        let alpha = f64::from(alpha);
        self.weight += alpha;
        if let Some(whole) = &mut self.whole {
            whole.learn(row, alpha);
        }
        for (sum, x) in self.squares.iter_mut().zip(row.dense()) {
            *sum += alpha * f64::from(*x) * f64::from(*x);
        }
        for &[j, bits] in row.sparse() {
            let x = f64::from(f32::from_bits(bits));
            self.squares[j as usize] += alpha * x * x;
        }
    }

    /// Adds what was learned from other rows.
    pub(in crate::solver) fn add(&mut self, other: &DualMoments) {
        for (sum, other) in self.squares.iter_mut().zip(&other.squares) {
            *sum += other;
        }
        self.weight += other.weight;
        if let (Some(whole), Some(other)) = (&mut self.whole, &other.whole) {
            whole.add(other);
        }
    }

    /// The metric; None if nothing was learned. `mean_squares`: of the columns over all rows; `intercept`: 1 or 0.
    pub(in crate::solver) fn metric(
        &self,
        mean_squares: &[f32],
        intercept: f64,
    ) -> Result<Option<ShiftMetric>, OutOfMemory> {
        if self.weight <= 0.0 {
            return Ok(None);
        }
        let mut moment: Vec<f32> = zeros(self.squares.len() + 1)?;
        let mut mean_norm = intercept;
        for ((moment, sum), all) in moment.iter_mut().zip(&self.squares).zip(mean_squares) {
            let mean = sum / self.weight;
            let least = LEAST_SHARE * f64::from(*all);
            let wanted = mean.max(least);
            *moment = if usable(wanted) { wanted as f32 } else { 1.0 };
            mean_norm += mean / f64::from(*moment);
        }
        let last = moment.len() - 1;
        moment[last] = 1.0;
        let whole = match &self.whole {
            Some(whole) => Some(whole.moment(self.weight, mean_squares, intercept)?),
            None => None,
        };
        Ok(Some(ShiftMetric {
            moment,
            whole,
            mean_norm,
            follows_duals: true,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::row::{row_words, write, RowHead};

    /// A row of one dense and one sparse value (of feature 2).
    fn words(dense: f32, sparse: f32) -> Vec<u32> {
        let head = RowHead {
            offset: None,
            ordinal: 0,
            group: 0,
            cost: 1.0,
        };
        let mut words = vec![0; row_words(1, 1)];
        write(&mut words, head, 1, [(2, sparse)].into_iter())[0] = dense.to_bits();
        words
    }

    #[test]
    fn a_row_counts_as_much_as_its_dual_variable() {
        let (few, many) = (words(1e3, -4.0), words(2.0, 1.0));
        let (few, many) = (Row::new(&few, 1), Row::new(&many, 1));
        let mut moments = DualMoments::new(3).unwrap();
        moments.learn(&few, 1e-6);
        moments.learn(&few, 0.0);
        let mut others = moments.another().unwrap();
        others.learn(&many, 3.0);
        moments.add(&others);
        let metric = moments
            .metric(&[1e5, 7.0, 2.0], 1.0)
            .unwrap()
            .expect("two rows were learned");
        let near = |got: f32, wanted: f64| (f64::from(got) / wanted - 1.0).abs() < 1e-6;
        let weight = 3.0 + f64::from(1e-6f32);
        let first = (12.0 + f64::from(1e-6f32) * 1e6) / weight;
        assert!(
            near(metric.moment[0], first.max(10.0)),
            "{:?}",
            metric.moment
        );
        // no row with a > 0 holds it: the least share of its mean square
        assert!(near(metric.moment[1], 7e-4));
        assert!(near(
            metric.moment[2],
            (3.0 + f64::from(1e-6f32) * 16.0) / weight
        ));
        assert_eq!(metric.moment[3], 1.0);
        assert!(metric.mean_norm > 2.0 && metric.mean_norm <= 3.0 + 1e-6);
    }

    #[test]
    fn there_is_no_metric_before_a_dual_variable_moves() {
        let mut moments = DualMoments::new(3).unwrap();
        assert!(moments.metric(&[1.0; 3], 1.0).unwrap().is_none());
        let row = words(1.0, 1.0);
        moments.learn(&Row::new(&row, 1), 2.0);
        moments.clear();
        assert!(moments.metric(&[1.0; 3], 1.0).unwrap().is_none());
    }
}
