//! The leeways of rows ([`crate::screening::slack`]): one more pass over all rows when their head has ended. Where no metric is given,
//! one is learned from some of the rows, those of the cache or of the first pass.

use crate::base::memory::{copied, OutOfMemory};
use crate::base::zeros::zeros;
use crate::cache::Facts;
use crate::rows::row::Row;
use crate::screening::slack::{code_at, Learner, Metric, Ruler, MOST_FEATURES};
use crate::simd::{Kernel, Real, Work};
use crate::solver::{Found, Solver};
use crate::training::{HeadSpec, TrainError};

/// Rows from which metrics are learned.
pub(crate) const SAMPLE: usize = 16384;

/// Leeways of a head's rows, at the weights of its certificate.
#[derive(Debug, PartialEq)]
pub struct Leeways {
    /// By group.
    pub metrics: Vec<Metric>,
    /// By ordinal, as [`crate::screening::slack::leeway_of`] reads them; 0 of rows whose dual variable is positive.
    pub codes: Vec<u8>,
}

impl Leeways {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            // of few features
            metrics: self.metrics.clone(),
            codes: copied(&self.codes)?,
        })
    }
}

/// What learns metrics for rows like these; None for rows that get no leeways.
pub(crate) fn learner(facts: &Facts) -> Result<Option<Learner>, TrainError> {
    let wanted = facts.features <= MOST_FEATURES && facts.rows > 0;
    wanted
        .then(|| Learner::new(facts.groups, facts.features))
        .transpose()
}

/// The metrics learned, in the unit of the only head's weights.
pub(crate) fn learned<T: Real>(learner: &Learner, solver: &Solver<T>) -> Vec<Metric> {
    let weights: Vec<f64> = match solver.weights(0) {
        Found::Own(all) => all.iter().map(|weight| weight.to()).collect(),
        Found::Shared(all) => (0..all.len()).map(|j| all.get(j).into()).collect(),
    };
    let metrics = learner.finish().into_iter();
    metrics.map(|metric| metric.in_units_of(&weights)).collect()
}

/// The pass under way.
pub(crate) struct Measuring {
    signs: Vec<i8>,
    rulers: Vec<Ruler>,
    leeways: Leeways,
    /// Rows measured.
    pub(crate) rows: usize,
}

impl Measuring {
    /// Measures in these metrics, by group.
    pub(crate) fn new(
        spec: &HeadSpec,
        facts: &Facts,
        metrics: Vec<Metric>,
    ) -> Result<Self, TrainError> {
        let ruler = |metric| Ruler::new(metric, facts.dense);
        Ok(Self {
            signs: spec.signs.list(facts.groups)?,
            rulers: metrics.iter().map(ruler).collect(),
            leeways: Leeways {
                metrics,
                codes: zeros(facts.rows)?,
            },
            rows: 0,
        })
    }

    pub(crate) fn finish(self) -> Leeways {
        self.leeways
    }

    #[inline(always)]
    fn measure<K: Kernel, T: Real>(&mut self, solver: &Solver<T>, row: &Row<'_>) {
        let (duals, step) = solver.duals(0);
        let (ordinal, group) = (row.ordinal(), row.group());
        self.rows += 1;
        if duals[ordinal * step] > 0.0 {
            return;
        }
        let margin = f32::from(self.signs[group]) * solver.decision::<K>(0, row);
        let ruler = &self.rulers[group];
        self.leeways.codes[ordinal] = code_at(margin, || ruler.length_of(row));
    }
}

/// The work of measuring rows, until about `budget` values of them are.
pub(crate) struct Measure<'a, T, R> {
    pub(crate) solver: &'a Solver<T>,
    pub(crate) rows: R,
    pub(crate) measuring: &'a mut Measuring,
    pub(crate) budget: usize,
}

impl<'a, T: Real, R: Iterator<Item = Row<'a>>> Work for Measure<'_, T, R> {
    /// Values of the rows.
    type Output = usize;

    #[inline(always)]
    fn run<K: Kernel>(self) -> usize {
        let mut values = 0;
        for row in self.rows {
            values += row.values();
            self.measuring.measure::<K, T>(self.solver, &row);
            if values >= self.budget {
                break;
            }
        }
        values
    }
}
