//! Rows in the form in which a training visits them, made of examples one at a time: what [`super::Reader`] does to rows that it keeps, for
//! rows that nobody keeps. All rows must have been surveyed before.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::objective::plan::MOST_FOLDS;
use crate::reader::encode;
use crate::reader::seen::grown;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError};
use crate::scaling::{Applier, Scaling, TargetScale};

/// Sparse features are numbered in 32 bits, and dense ones are fewer.
const MOST_FEATURES: usize = 1 << 33;

/// What is known from all rows about the form of each.
#[derive(Debug, Serialize, Deserialize)]
pub struct RowForm {
    pub(super) dense: usize,
    pub(super) features: usize,
    pub(super) groups: usize,
    /// What dense values are kept relative to in 32 bits, empty for 0.
    #[serde(deserialize_with = "list")]
    pub(super) provisional: Vec<f64>,
    pub(super) scaling: Scaling,
    /// What stands for missing values, by dense feature; empty where none is missing.
    #[serde(deserialize_with = "list")]
    pub(super) means: Vec<f64>,
    /// What costs are multiplied by, by group; empty for 1.
    #[serde(deserialize_with = "list")]
    pub(super) balance: Vec<f32>,
    /// Where rows are divided by their length, by how much each may be off before that, as a vector.
    pub(super) unit_off: Option<f64>,
    /// What makes targets of labels that are numbers, and groups that a class has.
    pub(super) targets: Option<TargetScale>,
    pub(super) stride: u32,
}

/// Makes rows of examples.
#[derive(Debug)]
pub struct RowMaker {
    applier: Applier,
    provisional: Vec<f64>,
    dense: usize,
    features: usize,
    groups: usize,
    words: Vec<u32>,
    rows: u64,
}

impl RowForm {
    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            provisional: copied(&self.provisional)?,
            scaling: self.scaling.copied()?,
            means: copied(&self.means)?,
            balance: copied(&self.balance)?,
            ..*self
        })
    }

    /// Whether its parts fit one another, of rows of so many classes; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self, classes: usize) -> bool {
        let fits = |all: &[f64]| all.is_empty() || all.len() == self.dense;
        let scaling = &self.scaling;
        let sparse = scaling.sparse_factor.len();
        self.dense <= self.features
            && self.features <= MOST_FEATURES
            && self.groups <= classes.saturating_mul(MOST_FOLDS as usize)
            && scaling.is_sound()
            && scaling.dense == self.dense
            && (sparse == 0 || sparse == self.features - self.dense)
            && fits(&self.provisional)
            && fits(&self.means)
            && self.targets.is_none_or(|it| it.is_sound())
            && (self.balance.is_empty() || self.balance.len() == self.groups)
    }

    /// Features, and groups.
    pub fn size(&self) -> (usize, usize) {
        (self.features, self.groups)
    }

    /// Takes over which groups there are.
    pub fn take_groups(&mut self, of: &Self) {
        self.groups = of.groups;
    }

    pub(super) fn applier(&self) -> Result<Applier, OutOfMemory> {
        let balance = copied(&self.balance)?;
        let (provisional, means) = (&self.provisional, &self.means);
        Ok(
            Applier::new(&self.scaling, provisional, means, balance, self.unit_off)?
                .with_targets(self.targets, self.stride),
        )
    }

    /// What makes such rows.
    pub fn maker(&self) -> Result<RowMaker, OutOfMemory> {
        Ok(RowMaker {
            applier: self.applier()?,
            provisional: copied(&self.provisional)?,
            dense: self.dense,
            features: self.features,
            groups: self.groups,
            words: Vec::new(),
            rows: 0,
        })
    }
}

impl RowMaker {
    /// The row of an example; its number is that of the examples before it.
    ///
    /// # Errors
    /// An example that is none of those from which the form was learned: of another length, of an unknown group, with a value
    /// that is not finite.
    pub fn make(&mut self, example: &Example<'_>) -> Result<Row<'_>, RowError> {
        let length = encode::check(example, self.rows, self.dense)?;
        self.check(example)?;
        let words = grown(&mut self.words, length)?;
        let dense = encode::lay_out(example, self.rows, words);
        for (at, (bits, value)) in dense.iter_mut().zip(example.dense).enumerate() {
            let provisional = self.provisional.get(at).copied().unwrap_or(0.0);
            *bits = ((value - provisional) as f32).to_bits();
        }
        self.applier.apply(words);
        self.rows += 1;
        Ok(Row::new(words, self.dense))
    }

    /// Refuses what would lie outside of weights or signs.
    #[inline]
    fn check(&self, example: &Example<'_>) -> Result<(), RowError> {
        let ordinal = self.rows;
        let last = example.sparse_index.last().copied();
        let last = last.map_or(0, |last| last as usize + self.dense);
        if example.group as usize >= self.groups || last >= self.features.max(1) {
            return Err(RowError::Unknown { ordinal });
        }
        Ok(())
    }
}
