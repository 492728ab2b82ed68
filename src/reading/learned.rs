//! What a survey has found out about rows: values that travel, and join what was found out about others.

use crate::base::errors::Failure;
use crate::features::{FeaturePart, FeatureSet};
use crate::planning::job::sent;
use crate::reading::constants::Constants;
use crate::reading::row_decoder::RowDecoder;
use crate::targets::labels::LabelValue;
use pgsvm_core::memory::{gathered, list, OutOfMemory, Room};
use pgsvm_core::Survey;
use serde::{Deserialize, Serialize};

/// What is known of the rows so far.
#[derive(Serialize, Deserialize)]
pub struct Learned {
    /// With the lengths of arrays.
    #[serde(with = "sent")]
    pub features: FeatureSet,
    #[serde(deserialize_with = "list")]
    pub classes: Vec<LabelValue>,
    pub null_labels: u64,
    #[serde(deserialize_with = "list")]
    pub null_counts: Vec<u64>,
    pub rows_seen: u64,
    pub rows_skipped: u64,
    pub constants: Constants,
    /// Sparse features that lose digits.
    #[serde(deserialize_with = "list")]
    pub imprecise: Vec<u32>,
    pub survey: Survey,
    /// Whether something is wrong with a row; which one and what says only who reads the rows one after the other.
    pub failed: bool,
}

impl Learned {
    /// What rows that were decoded like this have told.
    pub fn of(decode: RowDecoder, survey: Survey, failed: bool) -> Result<Self, OutOfMemory> {
        let labels = &decode.groups.labels;
        Ok(Self {
            features: decode.decoder.learned().copied()?,
            classes: gathered(labels.classes().iter().cloned())?,
            null_labels: labels.nulls,
            imprecise: gathered(decode.decoder.imprecise())?,
            null_counts: decode.null_counts,
            rows_seen: decode.rows_seen,
            rows_skipped: decode.rows_skipped,
            constants: decode.constants,
            survey,
            failed,
        })
    }

    /// Joins what was found out about other rows.
    pub fn join(&mut self, more: Self) -> Result<(), Failure> {
        self.failed |= more.failed || !self.fits(&more.features);
        if self.failed {
            return Ok(());
        }
        let classes = self.join_classes(&more.classes)?;
        self.null_labels += more.null_labels;
        for (own, more) in self.null_counts.iter_mut().zip(&more.null_counts) {
            *own += more;
        }
        self.rows_seen += more.rows_seen;
        self.rows_skipped += more.rows_skipped;
        self.constants.join(more.constants);
        for id in more.imprecise {
            if let Err(at) = self.imprecise.binary_search(&id) {
                self.imprecise.room(1)?.insert(at, id);
            }
        }
        self.failed |= self.survey.join(more.survey, &classes).is_err();
        Ok(())
    }

    /// Takes lengths over that were not known yet; false where those are others that are.
    fn fits(&mut self, more: &FeatureSet) -> bool {
        let parts = self.features.parts.iter_mut().zip(&more.parts);
        parts.fold(true, |fits, (own, more)| match (own, more) {
            (FeaturePart::Array { length, .. }, FeaturePart::Array { length: other, .. }) => {
                *length = length.or(*other);
                fits && (other.is_none() || length == other)
            }
            _ => fits,
        })
    }

    /// Takes classes in; gives back by class of theirs the same one here.
    fn join_classes(&mut self, more: &[LabelValue]) -> Result<Vec<u32>, OutOfMemory> {
        let mut same = Vec::new();
        same.room(more.len())?;
        for class in more {
            let known = self.classes.iter().position(|it| it == class);
            same.push(known.unwrap_or(self.classes.len()) as u32);
            if known.is_none() {
                self.classes.room(1)?.push(class.clone());
            }
        }
        Ok(same)
    }
}
