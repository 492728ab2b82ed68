//! pgvector's `sparsevec`, whose indices are those that pgvector prints, from 1.

use super::kind::{FeatureKind, Operands, ReadAs, ReadColumn, SPARSE};
use super::pairs::SparseScratch;
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::error::FeatureError;
use crate::features::part::Part;
use crate::features::row::RowValues;
use crate::features::stored::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::varlena::Varlena;
use crate::pg::vector::{self, VectorKind};
use serde::Serialize;

/// A `sparsevec`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SparsevecPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

impl SparsevecPart {
    /// Reads the pairs of a row. None where the value is NULL.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is a `sparsevec`.
    #[inline]
    pub unsafe fn read(
        &self,
        row: &RowValues<'_>,
        at: usize,
        to: &mut SparseScratch,
    ) -> Result<Option<[bool; 2]>, FeatureError> {
        if row.nulls[at] {
            return Ok(None);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        let pairs = vector::pairs(value.payload()).ok_or_else(|| FeatureError::Damaged {
            column: self.name.clone(),
        })?;
        to.clear();
        for (index, value) in pairs {
            to.take(f64::from(index) + 1.0, f64::from(value))?;
        }
        Ok(Some([false; 2]))
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
        })
    }
}

impl FeatureKind for SparsevecPart {
    fn of_column(column: &Column) -> Option<Self> {
        let is_one = type_kind(column.type_oid) == TypeKind::Vector(VectorKind::Sparsevec);
        is_one.then(|| Self {
            name: column.name.clone(),
            type_name: type_of(column),
        })
    }

    fn reads(&self) -> Vec<ReadColumn<'_>> {
        vec![ReadAs::Sparsevec.of(&self.name, &self.type_name)]
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn treatment(&self) -> &'static str {
        "sparse"
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        match type_kind(column.type_oid) {
            TypeKind::Vector(VectorKind::Sparsevec) => Ok(Part::Sparsevec { at }),
            _ => Err(wrong_type(column, "a sparsevec")),
        }
    }

    fn is_list(&self) -> bool {
        true
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        Err(SPARSE)
    }
}
