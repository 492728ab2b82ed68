//! Reads the lists of rows for an index to keep: the indices and values of sparse parts as they stand in the row, whatever a
//! training makes of them.

use super::error::FeatureError;
use super::kept::List;
use super::part::Part;
use super::resolve::ByName;
use super::row::RowValues;
use super::set::{FeaturePart, FeatureSet};
use super::sparse::SparseScratch;
use crate::pg::query::Column;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

/// Reads the parts of a feature set that are lists.
pub struct ListReader {
    parts: Vec<(FeaturePart, Part, List)>,
    sparse: SparseScratch,
}

/// The indices and values of a sparse part in a row.
pub type Pairs<'a> = (&'a [f64], &'a [f64]);

impl FeaturePart {
    /// Whether an index may keep it as a list.
    pub fn is_list(&self) -> bool {
        matches!(
            self,
            Self::Sparse { .. } | Self::Libsvm { .. } | Self::Sparsevec { .. }
        )
    }
}

impl ListReader {
    /// For rows with these columns, and lists of so many entries at most.
    pub fn new(
        features: &FeatureSet,
        columns: &[Column],
        most: usize,
    ) -> Result<Self, FeatureError> {
        let by_name = ByName::new(columns)?;
        let mut parts = Vec::new();
        for part in features.parts.iter().filter(|part| part.is_list()) {
            let place = Part::new(part, &by_name)?;
            if let Some(list) = List::of(&place) {
                parts.room(1)?.push((part.clone(), place, list));
            }
        }
        let mut sparse = SparseScratch::new(parts.len());
        sparse.most = most;
        Ok(Self { parts, sparse })
    }

    /// The lists, in the order of their numbers.
    pub fn lists(&self) -> impl ExactSizeIterator<Item = List> + '_ {
        self.parts.iter().map(|(_, _, list)| *list)
    }

    /// The pairs of list `number` in a row; None where there is a NULL, or something that no training takes.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn pairs(
        &mut self,
        number: usize,
        values: &[pg_sys::Datum],
        nulls: &[bool],
    ) -> Result<Option<Pairs<'_>>, OutOfMemory> {
        let (part, place, _) = &self.parts[number];
        let row = RowValues { values, nulls };
        // SAFETY: as the caller promises.
        match unsafe { self.sparse.read(part, *place, &row) } {
            Ok(Some([false, false])) => {
                let (indices, values) = self.sparse.pairs();
                Ok((indices.len() == values.len()).then_some((indices, values)))
            }
            Err(FeatureError::OutOfMemory(error)) => Err(error),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}
