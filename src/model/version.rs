//! One version of a model in memory, and what it decides about a row.

use super::heads::{ClassesBy, HeadPairs, ModelHead};
use super::kernel_machine::KernelMachine;
use super::weights::SparseWeights;
use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::whole::StoredRows;
use crate::combinations::{models, novelty};
use crate::features::{FeatureBuffer, FeatureSet, Nulls};
use crate::pg::check_for_interrupts;
use pgsvm_core::quantiles::{self, MOST_QUANTILES};
use pgsvm_core::ConformalResiduals;

/// What svm_version says of a regression.
pub const REGRESSION: &str = "regression";

/// The same of a model that finds novelties.
pub const NOVELTY: &str = "novelty";

/// One version of a model.
pub struct Model {
    /// `name@version`.
    pub name: String,
    pub features: FeatureSet,
    pub nulls: Nulls,
    pub label_column: String,
    /// The label column's type, as SQL writes it.
    pub label_type: String,
    /// The classes: labels as text, ascending, two or more.
    pub labels: Vec<String>,
    /// The labels as numbers, where their type is a number or boolean.
    pub numbers: Option<Vec<f64>>,
    /// One where there are two classes, else one a class, or one for each of these pairs.
    pub heads: Vec<ModelHead>,
    pub pairs: Option<HeadPairs>,
    pub classes_by: ClassesBy,
    /// Whether decisions are numbers to predict, and labels are the two sides of them.
    pub regresses: bool,
    /// Whether it was trained on rows of one class.
    pub finds_novelties: bool,
    /// Of a regression, the quantiles that its heads predict, ascending; none where it predicts the label itself.
    pub quantiles: Vec<f64>,
    /// Of a regression, how far predictions of rows held out were off, in the units of the label; None where none were.
    pub residuals: Option<ConformalResiduals>,
    /// Head 0's, for raw rows, as are all weights.
    pub intercept: f64,
    /// How many rows of it must be there.
    pub stored_rows: StoredRows,
    /// Number of dense features.
    pub dense_count: usize,
    /// A weight per dense feature, head after head; none of a kernel machine.
    pub dense: Vec<f64>,
    pub sparse: SparseWeights,
    /// Of a kernel machine, in place of weights.
    pub kernel: Option<KernelMachine>,
}

impl Model {
    /// What svm_version says of its task; None where that is to tell classes apart.
    pub fn task(&self) -> Option<&'static str> {
        match (self.regresses, self.finds_novelties) {
            (true, _) => Some(REGRESSION),
            (_, true) => Some(NOVELTY),
            _ => None,
        }
    }

    /// Refuses what is asked of classes where there are none.
    pub fn check_classes(&self) -> Result<(), Failure> {
        match self.regresses {
            true => Err(models::no_classes(
                &self.name,
                self.base_name().replace('\'', "''"),
            )),
            false => Ok(()),
        }
    }

    /// Refuses what is asked of probabilities where no label could say them.
    pub fn check_labels(&self) -> Result<(), Failure> {
        match self.finds_novelties {
            true => Err(novelty::probability()),
            false => Ok(()),
        }
    }

    /// Weights times features plus intercept; there is one head. `row` holds as many dense features
    /// as there are dense weights; sparse ids that the training did not see count nothing.
    pub fn decision(&self, row: &FeatureBuffer) -> f64 {
        if let Some(machine) = &self.kernel {
            return machine
                .decide_one(row)
                .map_err(|_| self.no_memory())
                .or_raise();
        }
        let sparse: f64 = row
            .sparse_index
            .iter()
            .zip(&row.sparse_value)
            .map(|(id, value)| self.sparse.weight(*id) * f64::from(*value))
            .sum();
        dot(&self.dense, &row.dense) + sparse + self.intercept
    }

    /// The number that a regression predicts, by the decisions of its heads: of several quantiles the one nearest the median.
    pub fn number(&self, decisions: &[f64]) -> f64 {
        match decisions {
            [only] => *only,
            all => self.sorted(all)[quantiles::middle(&self.quantiles)],
        }
    }

    /// The head whose decision stands at this place among those for quantiles in their order.
    pub fn head_in_order(&self, place: usize, decisions: &[f64]) -> usize {
        let mut heads = [0; MOST_QUANTILES];
        let heads = &mut heads[..decisions.len().min(MOST_QUANTILES)];
        heads.iter_mut().enumerate().for_each(|(at, it)| *it = at);
        heads.sort_by(|a, b| decisions[*a].total_cmp(&decisions[*b]));
        heads.get(place).copied().unwrap_or(0)
    }

    /// The decisions for quantiles in their order, which heads that cross have not.
    pub fn sorted(&self, decisions: &[f64]) -> [f64; MOST_QUANTILES] {
        let mut all = [f64::INFINITY; MOST_QUANTILES];
        let own = all.iter_mut().zip(decisions);
        own.for_each(|(own, it)| *own = *it);
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// The decision of each head.
    pub fn decisions(&self, row: &FeatureBuffer, out: &mut Vec<f64>) {
        if let Some(machine) = &self.kernel {
            let decided = machine.decide(row, out);
            return decided.map_err(|_| self.no_memory()).or_raise();
        }
        out.clear();
        if self.heads.len() == 1 {
            out.push(self.decision(row));
            return;
        }
        out.extend((0..self.heads.len()).map(|head| dot(self.dense_of(head), &row.dense)));
        for (id, value) in row.sparse_index.iter().zip(&row.sparse_value) {
            let weights = self.sparse.of_heads(*id).unwrap_or_default();
            for (decision, weight) in out.iter_mut().zip(weights) {
                *decision += weight * f64::from(*value);
            }
        }
        for (decision, head) in out.iter_mut().zip(&self.heads) {
            *decision += head.intercept;
        }
    }

    /// Makes a row one that weights are for: divided by its length, where the model was trained on such rows.
    #[inline]
    pub fn prepare(&self, row: &mut FeatureBuffer) {
        if let Some(scaling) = &self.features.unit_rows {
            scaling.scale_to_unit(&mut row.dense, &row.sparse_index, &mut row.sparse_value);
        }
    }

    /// A head's weights of the dense features.
    #[inline]
    pub fn dense_of(&self, head: usize) -> &[f64] {
        &self.dense[head * self.dense_count..][..self.dense_count]
    }

    /// The class that a head's positive side stands for, and the one of its negative side; None: all others.
    pub fn classes_of_head(&self, head: usize) -> (usize, Option<usize>) {
        match (&self.pairs, self.labels.len()) {
            (Some(pairs), _) => {
                let [positive, negative] = pairs.sides(head);
                (positive, Some(negative))
            }
            (None, 2) => (1, None),
            (None, _) => (head, None),
        }
    }

    /// The head that decides about a class, and the sign of its decision for it; not of pairs.
    pub fn head_of_class(&self, class: usize) -> (usize, f64) {
        match (self.heads.len(), class) {
            (1, 0) => (0, -1.0),
            (1, _) => (0, 1.0),
            _ => (class, 1.0),
        }
    }

    /// The name, and the number of the version where it has one.
    pub fn name_and_version(&self) -> (&str, Option<i32>) {
        let (name, version) = self.name.rsplit_once('@').unwrap_or((&self.name, ""));
        (name, version.parse().ok())
    }

    /// The name without the version.
    pub fn base_name(&self) -> &str {
        self.name.rsplit_once('@').map_or("", |(name, _)| name)
    }

    fn no_memory(&self) -> Failure {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for a decision of model \"{}\"", self.name),
        )
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let fixed = 4096;
        let labels: usize = self.labels.iter().map(|label| label.len() + 64).sum();
        let weights = self.dense.len() * size_of::<f64>() + self.sparse.bytes();
        let kernel = self.kernel.as_ref().map_or(0, KernelMachine::bytes);
        let residuals = self.residuals.as_ref();
        let residuals = residuals.map_or(0, |it| size_of_val(it.sizes()));
        fixed + labels + self.features.bytes() + weights + kernel + residuals
    }
}

/// Products summed up between two looks for interrupts: a millisecond's.
const DOT_AT_ONCE: usize = 1 << 19;

fn dot(weights: &[f64], values: &[f64]) -> f64 {
    let pieces = weights.chunks(DOT_AT_ONCE).zip(values.chunks(DOT_AT_ONCE));
    pieces.fold(-0.0, |sum, (weights, values)| {
        if weights.len() == DOT_AT_ONCE {
            check_for_interrupts();
        }
        let products = weights.iter().zip(values);
        products.fold(sum, |sum, (weight, value)| sum + weight * value)
    })
}
