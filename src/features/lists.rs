//! Reads the lists of rows that an index keeps: indices and values of sparse parts as they stand in the row, and the words of texts.

use super::by_name::ByName;
use super::error::FeatureError;
use super::kept::ListOfPart;
use super::kinds::pairs::SparseScratch;
use super::kinds::text::reader::TextReader;
use super::kinds::FeaturePart;
use super::part::Part;
use super::row::RowValues;
use super::set::FeatureSet;
use crate::pg::query::Column;
use crate::pg::types::NumberKind;
use crate::pg::varlena::plain_payload;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::Tokens;

/// Reads the parts of a feature set that are lists.
pub struct ListReader {
    parts: Vec<(FeaturePart, Part, ListOfPart)>,
    sparse: SparseScratch,
    texts: TextReader,
}

/// A list of a row.
pub enum Listed<'a> {
    /// Indices, and as many values.
    Pairs(&'a [f64], &'a [f64]),
    Words(&'a Tokens),
    /// Not read: arrays of integers and floats, or a `sparsevec`, that lie in the row as they are. Nothing is faster.
    InRow,
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
            let place = part.place(&by_name)?;
            if let Some(list) = ListOfPart::of(&place) {
                parts.room(1)?.push((part.clone(), place, list));
            }
        }
        let mut sparse = SparseScratch::new(parts.len());
        sparse.most = most;
        Ok(Self {
            parts,
            sparse,
            texts: TextReader::default(),
        })
    }

    /// The lists, in the order of their numbers.
    pub fn lists(&self) -> impl ExactSizeIterator<Item = ListOfPart> + '_ {
        self.parts.iter().map(|(_, _, list)| *list)
    }

    /// List `number` of a row; None where there is a NULL, or something that no training takes.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn read(
        &mut self,
        number: usize,
        values: &[pg_sys::Datum],
        nulls: &[bool],
    ) -> Result<Option<Listed<'_>>, OutOfMemory> {
        let (part, place, _) = &self.parts[number];
        if let Part::Text { at, kind } = *place {
            if nulls[at] {
                return Ok(None);
            }
            // SAFETY: as the caller promises.
            let words = unsafe { self.texts.tokens(&part.name(), (values[at], kind)) };
            return match words {
                Ok(words) => Ok(Some(Listed::Words(words))),
                Err(FeatureError::OutOfMemory(error)) => Err(error),
                Err(_) => Ok(None),
            };
        }
        let row = RowValues { values, nulls };
        // SAFETY: as the caller promises.
        if unsafe { lies_in_row(place, &row) } {
            return Ok(Some(Listed::InRow));
        }
        // SAFETY: as the caller promises.
        match unsafe { part.read_pairs(*place, &row, &mut self.sparse) } {
            Ok(Some([false, false])) => {
                let (indices, values) = self.sparse.pairs();
                Ok((indices.len() == values.len()).then_some(Listed::Pairs(indices, values)))
            }
            Err(FeatureError::OutOfMemory(error)) => Err(error),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

/// Whether the pairs of a part lie in the row as they are, and are no text and no `numeric`.
///
/// # Safety
/// As for `Decoder::decode`.
unsafe fn lies_in_row(place: &Part, row: &RowValues<'_>) -> bool {
    let lies = |at: usize| {
        // SAFETY: as the caller promises; arrays and a `sparsevec` are of variable length.
        !row.nulls[at] && unsafe { plain_payload(row.values[at]) }.is_some()
    };
    match place {
        Part::Sparse { index, value } => {
            value.1 != NumberKind::Numeric && lies(index.0) && lies(value.0)
        }
        Part::Sparsevec { at } => lies(*at),
        _ => false,
    }
}
