//! Contributions to the decision of a kernel machine: how much of it goes when a feature of the row is put back to the
//! baseline's value, all others as they are. Of a machine with the linear kernel that is weight times (value - baseline), as
//! of linear models; of others features work together, and what is left is said to be interactions.

use super::contributions::{Baseline, Contribution};
use crate::features::FeatureBuffer;
use crate::model::{KernelMachine, Model};
use crate::pg::Patience;
use pgsvm_core::memory::{copied, OutOfMemory, Room};

/// What was found.
pub struct KernelContributions {
    pub contributions: Vec<Contribution>,
    /// What is decided at the baseline.
    pub base: f64,
    /// What of the difference between the two decisions no feature makes alone.
    pub interactions: f64,
}

/// The contributions to the decision for a class that are not zero.
pub fn contributions(
    (model, machine): (&Model, &KernelMachine),
    class: usize,
    row: &FeatureBuffer,
    baseline: Baseline,
) -> Result<KernelContributions, OutOfMemory> {
    let mut asked = AskedRow {
        model,
        machine,
        class,
        row: with_all(model, row, baseline)?,
        decisions: Vec::new(),
    };
    let whole = asked.decision()?;
    let mut patience = Patience::default();
    let mut contributions: Vec<Contribution> = Vec::new();
    let (dense, sparse) = (asked.row.dense.len(), asked.row.sparse_index.len());
    for at in 0..dense + sparse {
        patience.tick();
        let (feature, value) = asked.at(at, model);
        let base = baseline.of(model, feature);
        if value == base {
            continue;
        }
        asked.set(at, base);
        let amount = whole - asked.decision()?;
        asked.set(at, value);
        if amount != 0.0 {
            contributions.room(1)?.push(Contribution {
                feature,
                value,
                weight: None,
                amount,
            });
        }
    }
    for at in 0..dense + sparse {
        let (feature, _) = asked.at(at, model);
        asked.set(at, baseline.of(model, feature));
    }
    let base = asked.decision()?;
    let sum: f64 = contributions.iter().map(|one| one.amount).sum();
    Ok(KernelContributions {
        contributions,
        base,
        interactions: whole - base - sum,
    })
}

/// A row whose values are changed, and the machine that is asked about it.
struct AskedRow<'a> {
    model: &'a Model,
    machine: &'a KernelMachine,
    class: usize,
    row: FeatureBuffer,
    decisions: Vec<f64>,
}

impl AskedRow<'_> {
    fn decision(&mut self) -> Result<f64, OutOfMemory> {
        let bytes = OutOfMemory { bytes: 0 };
        let decided = self.machine.decide(&self.row, &mut self.decisions);
        decided.map_err(|_| bytes)?;
        Ok(self.model.decision_for(self.class, &self.decisions))
    }

    /// The feature at a place of the row, and its value.
    fn at(&self, at: usize, model: &Model) -> (u64, f64) {
        match at.checked_sub(self.row.dense.len()) {
            None => (at as u64, self.row.dense[at]),
            Some(at) => {
                let feature = model.dense_count as u64 + u64::from(self.row.sparse_index[at]);
                (feature, f64::from(self.row.sparse_value[at]))
            }
        }
    }

    fn set(&mut self, at: usize, value: f64) {
        match at.checked_sub(self.row.dense.len()) {
            None => self.row.dense[at] = value,
            Some(at) => self.row.sparse_value[at] = value as f32,
        }
    }
}

/// The row, with the sparse features too that it lacks and the baseline has.
fn with_all(
    model: &Model,
    row: &FeatureBuffer,
    baseline: Baseline,
) -> Result<FeatureBuffer, OutOfMemory> {
    let dense = model.dense_count as u64;
    let known = match baseline {
        Baseline::Zero => 0,
        Baseline::Mean => (model.features.spread.mean.len() as u64).saturating_sub(dense),
    };
    let mut all = FeatureBuffer {
        dense: copied(&row.dense)?,
        ..FeatureBuffer::default()
    };
    let mut present = row.sparse_index.iter().zip(&row.sparse_value).peekable();
    let room = row.sparse_index.len() + known as usize;
    all.sparse_index.room(room)?;
    all.sparse_value.room(room)?;
    for id in 0..u32::try_from(known).unwrap_or(u32::MAX) {
        let value = present.next_if(|(at, _)| **at == id);
        if value.is_some() || baseline.of(model, dense + u64::from(id)) != 0.0 {
            all.sparse_index.push(id);
            all.sparse_value
                .push(value.map_or(0.0, |(_, value)| *value));
        }
    }
    for (id, value) in present {
        all.sparse_index.push(*id);
        all.sparse_value.push(*value);
    }
    Ok(all)
}
