//! What a survey has found out about rows, as a value that travels between processes and joins with what was found out about other rows.

use crate::base::errors::Failure;
use crate::features::{ArrayPart, FeatureSet};
use crate::planning::bad_rows::BadRows;
use crate::planning::job::sent;
use crate::reading::constants::Constants;
use crate::reading::row_decoder::RowDecoder;
use crate::targets::labels::LabelValue;
use pgsvm_core::memory::{gathered, list, received, OutOfMemory, Room};
use pgsvm_core::plan::MOST_FOLDS;
use pgsvm_core::{Renamed, Survey};
use serde::{Deserialize, Serialize};
use std::mem::discriminant;

/// What is known of the rows so far.
#[derive(Serialize, Deserialize)]
pub struct LearnedRows {
    /// With the lengths of arrays.
    #[serde(with = "sent")]
    pub features: FeatureSet,
    #[serde(deserialize_with = "list")]
    pub classes: Vec<LabelValue>,
    /// Values of the fold column.
    #[serde(deserialize_with = "received")]
    pub folds: Vec<String>,
    pub null_labels: u64,
    #[serde(deserialize_with = "list")]
    pub null_counts: Vec<u64>,
    pub rows_seen: u64,
    pub rows_skipped: u64,
    pub bad_rows: BadRows,
    pub constants: Constants,
    /// Sparse features that lose digits.
    #[serde(deserialize_with = "list")]
    pub imprecise: Vec<u32>,
    pub survey: Survey,
    /// Whether something is wrong with a row; which one and what says only who reads the rows one after the other.
    pub failed: bool,
}

impl LearnedRows {
    /// What is known from rows that were decoded like this.
    pub fn of(decode: RowDecoder, survey: Survey, failed: bool) -> Result<Self, OutOfMemory> {
        let labels = &decode.groups.labels;
        Ok(Self {
            features: decode.decoder.learned().copied()?,
            classes: gathered(labels.classes().iter().cloned())?,
            folds: decode.groups.known_folds(),
            null_labels: labels.nulls,
            imprecise: gathered(decode.decoder.imprecise())?,
            null_counts: decode.null_counts,
            rows_seen: decode.rows_seen,
            rows_skipped: decode.rows_skipped,
            bad_rows: decode.bad_rows,
            constants: decode.constants,
            survey,
            failed,
        })
    }

    /// Whether its parts fit one another; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self) -> bool {
        // a row that something is wrong with may be half learned of, and nothing of that is used
        self.failed
            || (self.null_counts.len() == self.features.parts.len()
                && self.constants.are_sound(&self.features)
                && self.imprecise.is_sorted()
                && self.folds.len() <= MOST_FOLDS as usize
                && self.survey.is_sound(self.classes.len()))
    }

    /// Whether it is of rows whose features are these, as far as they were known.
    pub fn is_of(&self, features: &FeatureSet) -> bool {
        let parts = self.features.parts.iter().zip(&features.parts);
        let mut parts = parts.map(|(own, known)| {
            discriminant(own) == discriminant(known) && own.name() == known.name()
        });
        self.features.parts.len() == features.parts.len() && parts.all(|same| same)
    }

    /// Whether others were found out in the same way; both are sound.
    pub fn fits(&self, more: &Self) -> bool {
        self.failed
            || more.failed
            || (self.features.parts.len() == more.features.parts.len()
                && self.survey.fits(&more.survey))
    }

    /// Joins what was found out about other rows.
    pub fn join(&mut self, more: Self) -> Result<(), Failure> {
        self.failed |= more.failed || !self.take_lengths(&more.features);
        self.take_unread(&more.features)?;
        if self.failed {
            return Ok(());
        }
        let classes = self.join_classes(&more.classes)?;
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        add(&mut self.null_labels, more.null_labels);
        for (own, more) in self.null_counts.iter_mut().zip(&more.null_counts) {
            add(own, *more);
        }
        add(&mut self.rows_seen, more.rows_seen);
        add(&mut self.rows_skipped, more.rows_skipped);
        self.bad_rows.join(more.bad_rows);
        self.constants.join(more.constants);
        for id in more.imprecise {
            if let Err(at) = self.imprecise.binary_search(&id) {
                self.imprecise.room(1)?.insert(at, id);
            }
        }
        let folds = self.join_folds(more.folds)?;
        if self.folds.len() > MOST_FOLDS as usize {
            // which whoever reads the rows says
            self.failed = true;
            return Ok(());
        }
        let names = Renamed {
            classes: &classes,
            folds: &folds,
        };
        self.failed |= self.survey.join(more.survey, names).is_err();
        Ok(())
    }

    /// Takes lengths over that were not known yet; false where those are others that are.
    fn take_lengths(&mut self, more: &FeatureSet) -> bool {
        let parts = self.features.parts.iter_mut().zip(&more.parts);
        parts.fold(true, |fits, (own, more)| {
            match (own.as_one_mut(), more.as_one()) {
                (Some(ArrayPart { length, .. }), Some(ArrayPart { length: other, .. })) => {
                    *length = length.or(*other);
                    fits && (other.is_none() || length == other)
                }
                _ => fits,
            }
        })
    }

    /// Takes over which texts were no numbers.
    fn take_unread(&mut self, more: &FeatureSet) -> Result<(), OutOfMemory> {
        for (own, more) in self.features.parts.iter_mut().zip(&more.parts) {
            if let (Some(own), Some(more)) = (own.reading_mut(), more.reading()) {
                own.join(more)?;
            }
        }
        Ok(())
    }

    /// Takes values of the fold column in; gives back by fold of theirs the same one here.
    fn join_folds(&mut self, more: Vec<String>) -> Result<Vec<u32>, OutOfMemory> {
        let mut same = Vec::new();
        same.room(more.len())?;
        for value in more {
            let known = self.folds.iter().position(|it| *it == value);
            same.push(known.unwrap_or(self.folds.len()) as u32);
            if known.is_none() {
                self.folds.room(1)?.push(value);
            }
        }
        Ok(same)
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
