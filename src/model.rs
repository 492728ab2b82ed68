//! A stored model in memory: what predictions read. Loaded once per statement that uses it (`find`)
//! and kept per backend, in any process that may run a SELECT, parallel workers and a standby's
//! backends among them. Nothing here writes.

mod cache;
mod changes;
mod load;
pub mod weights;

pub use cache::find;
pub use changes::{relation_changes, Freshness};

use crate::features::{FeatureBuffer, FeatureSet, Nulls};
use crate::pg::statement;
use pgrx::pg_sys;
use weights::SparseWeights;

/// One version of a model.
pub struct Model {
    /// `name@version`.
    pub name: String,
    pub features: FeatureSet,
    pub nulls: Nulls,
    /// The label column's type, as SQL writes it.
    pub label_type: String,
    /// Negative and positive label, as text.
    pub labels: [String; 2],
    /// The labels as numbers, where their type is a number or boolean.
    pub numbers: Option<[f64; 2]>,
    /// For raw rows, as are all weights.
    pub intercept: f64,
    /// A weight per dense feature.
    pub dense: Vec<f64>,
    sparse: SparseWeights,
}

impl Model {
    /// Weights times features plus intercept. `row` holds as many dense features as there are
    /// dense weights; sparse ids that the training did not see count nothing.
    pub fn decision(&self, row: &FeatureBuffer) -> f64 {
        let dense: f64 = self
            .dense
            .iter()
            .zip(&row.dense)
            .map(|(weight, value)| weight * value)
            .sum();
        let sparse: f64 = row
            .sparse_index
            .iter()
            .zip(&row.sparse_value)
            .map(|(id, value)| self.sparse.weight(*id) * f64::from(*value))
            .sum();
        dense + sparse + self.intercept
    }

    /// The name without the version.
    pub fn base_name(&self) -> &str {
        self.name.rsplit_once('@').map_or("", |(name, _)| name)
    }

    /// Bytes it takes, about.
    fn bytes(&self) -> usize {
        let fixed = 4096;
        fixed + self.features.bytes() + self.dense.len() * size_of::<f64>() + self.sparse.bytes()
    }
}

/// The label on the decision's side: 0 negative, 1 positive. The boundary itself counts as positive.
#[inline]
pub fn side(decision: f64) -> usize {
    usize::from(decision >= 0.0)
}

/// The extension's schema, quoted: that of the function that was called, whatever the search path.
pub fn schema_of_call(fcinfo: pg_sys::FunctionCallInfo) -> String {
    // SAFETY: every caller passes the argument that PostgreSQL called it with.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    statement::quoted_schema(schema).unwrap_or_default()
}
