//! Measures the slack of each row ([`crate::screening::slack`]) in one more pass over all rows, when the head has ended. The code calls slack
//! leeway. If no metric is given, one is learned from some rows: those in the cache, or of the first pass.

use crate::base::memory::{copied, OutOfMemory};
use crate::base::zeros::zeros;
use crate::objective::heads::HeadSpec;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::screening::slack::{code_at, Metric, MetricLearner, Ruler, MOST_FEATURES};
use crate::simd::{Isa, Real};
use crate::solver::driver::Method;
use crate::solver::ledger::Ledgers;
use crate::solver::scans::Scans;
use crate::solver::Solver;

/// Rows from which metrics are learned.
pub const SAMPLE: usize = 16384;

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
pub fn learner(facts: &Facts) -> Result<Option<MetricLearner>, OutOfMemory> {
    let wanted = facts.features <= MOST_FEATURES && facts.rows > 0;
    wanted
        .then(|| MetricLearner::new(facts.groups, facts.features))
        .transpose()
}

/// The metrics learned, in the unit of the only head's weights.
pub fn learned<T: Real>(learner: &MetricLearner, solver: &Solver<T>) -> Vec<Metric> {
    let weights: Vec<f64> = solver.weights(0).iter().collect();
    let metrics = learner.finish().into_iter();
    metrics.map(|metric| metric.in_units_of(&weights)).collect()
}

/// The pass under way.
pub struct Measuring {
    signs: Vec<i8>,
    rulers: Vec<Ruler>,
    leeways: Leeways,
}

impl Measuring {
    /// Measures in these metrics, by group.
    pub fn new(spec: &HeadSpec, facts: &Facts, metrics: Vec<Metric>) -> Result<Self, OutOfMemory> {
        let ruler = |metric| Ruler::new(metric, facts.dense);
        Ok(Self {
            signs: spec.signs.list(facts.groups)?,
            rulers: metrics.iter().map(ruler).collect(),
            leeways: Leeways {
                metrics,
                codes: zeros(facts.rows)?,
            },
        })
    }

    pub fn finish(self) -> Leeways {
        self.leeways
    }
}

impl<T: Real> Scans<Solver<T>> for Measuring {
    #[inline(always)]
    fn add<K: Isa>(&mut self, solver: &Solver<T>, row: &Row<'_>) -> usize {
        let (ordinal, group) = (row.ordinal(), row.group());
        if solver.duals(0).get(ordinal) > 0.0 {
            return row.values();
        }
        let margin = f32::from(self.signs[group]) * solver.decision::<K>(0, row);
        let ruler = &self.rulers[group];
        self.leeways.codes[ordinal] = code_at(margin, || ruler.length_of(row));
        row.values()
    }
}
