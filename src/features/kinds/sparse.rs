//! Indices and values in two arrays of equal length.

use super::kind::{FeatureKind, Operands, SPARSE};
use super::reads::{ReadAs, ReadColumn};
use crate::features::by_name::{type_of, ByName};
use crate::features::error::FeatureError;
use crate::features::part::{array_kind, index_kind, Part};
use crate::features::quoted::quoted;
use crate::features::stored_part::{given, StoredPart};
use serde::Serialize;

/// Two arrays: indices and values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SparsePart {
    pub index: String,
    pub index_type: String,
    pub value: String,
    pub value_type: String,
    /// Where indices are hashed, into two to the power of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_bits: Option<u32>,
    /// Of the distinct indices that training met and hashed, the share whose feature is that of another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<f64>,
}

impl SparsePart {
    pub fn named(
        index: &str,
        value: &str,
        hash_bits: Option<u32>,
        columns: &ByName<'_>,
    ) -> Result<Self, FeatureError> {
        let index = columns.find(index)?;
        let value = columns.find(value)?;
        index_kind(index)?;
        array_kind(value)?;
        Ok(Self {
            index: index.name.clone(),
            index_type: type_of(index),
            value: value.name.clone(),
            value_type: type_of(value),
            hash_bits,
            collisions: None,
        })
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        Ok(Self {
            index: given(part.index)?,
            index_type: given(part.index_type)?,
            value: given(part.value)?,
            value_type: given(part.value_type)?,
            hash_bits: part.hash_bits.filter(|bits| (1..=24).contains(bits)),
            collisions: part.collisions,
        })
    }
}

impl FeatureKind for SparsePart {
    fn reads(&self) -> Vec<ReadColumn<'_>> {
        vec![
            ReadAs::Indices.of(&self.index, &self.index_type),
            ReadAs::Numbers.of(&self.value, &self.value_type),
        ]
    }

    fn type_name(&self) -> &str {
        &self.value_type
    }

    fn types(&self) -> String {
        format!("{}, {}", self.index_type, self.value_type)
    }

    fn name(&self) -> String {
        match self.hash_bits {
            Some(bits) => format!("hash({}, {bits})", self.with_quotes()),
            None => format!("sparse({}, {})", self.index, self.value),
        }
    }

    fn entry(&self) -> String {
        match self.hash_bits {
            Some(_) => self.name(),
            None => self.with_quotes(),
        }
    }

    fn treatment(&self) -> &'static str {
        match self.hash_bits {
            Some(_) => "hashed sparse",
            None => "sparse",
        }
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (index, index_column) = columns.place_of(&self.index)?;
        let (value, value_column) = columns.place_of(&self.value)?;
        Ok(Part::Sparse {
            index: (index, index_kind(index_column)?),
            value: (value, array_kind(value_column)?),
        })
    }

    fn forget(&mut self) {
        self.collisions = None;
    }

    fn count(&self) -> Option<u64> {
        self.hash_bits.map(|bits| 1 << bits)
    }

    fn hash_bits(&self) -> Option<u32> {
        self.hash_bits
    }

    fn collisions(&self) -> Option<f64> {
        self.collisions
    }

    fn note_collisions(&mut self, share: Option<f64>) {
        self.collisions = share;
    }

    fn hashed_entry(&self) -> Option<String> {
        let name = self.name().replace('\'', "''");
        let hashed = || format!("features => ARRAY['hash({name}, 18)']");
        self.hash_bits.is_none().then(hashed)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        Err(SPARSE)
    }
}

impl SparsePart {
    fn with_quotes(&self) -> String {
        format!("sparse({}, {})", quoted(&self.index), quoted(&self.value))
    }
}
