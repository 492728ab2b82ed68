//! pgvector's `sparsevec`, whose indices are those that pgvector prints, from 1.

use super::kind::{FeatureKind, Operands, SPARSE};
use super::reads::{ReadAs, ReadColumn};
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::error::FeatureError;
use crate::features::part::Part;
use crate::features::stored_part::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::vector::VectorKind;
use serde::Serialize;

/// A `sparsevec`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SparsevecPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

impl SparsevecPart {
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
