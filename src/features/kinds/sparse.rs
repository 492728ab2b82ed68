//! Indices and values in two arrays of equal length.

use super::kind::{FeatureKind, Operands, ReadAs, ReadColumn, SPARSE};
use super::pairs::{check_pairs, SparseScratch};
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::part::{array_kind, Part};
use crate::features::row::RowValues;
use crate::features::stored::{given, StoredPart};
use crate::pg::array::NumberArray;
use crate::pg::types::{type_kind, NumberKind, TypeKind};
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;
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
        let part = Self {
            index: index.name.clone(),
            index_type: type_of(index),
            value: value.name.clone(),
            value_type: type_of(value),
            hash_bits,
            collisions: None,
        };
        part.place(columns).map(|_| part)
    }

    fn with_quotes(&self) -> String {
        format!("sparse({}, {})", quoted(&self.index), quoted(&self.value))
    }

    /// Reads the pairs of a row; whether one of the indices is NULL, and one of the values. None where one of the arrays is.
    ///
    /// # Safety
    /// As for `Decoder::decode`; the columns are arrays of these kinds.
    #[inline]
    pub unsafe fn read(
        &self,
        row: &RowValues<'_>,
        (index_at, index_kind): (usize, NumberKind),
        (value_at, value_kind): (usize, NumberKind),
        to: &mut SparseScratch,
    ) -> Result<Option<[bool; 2]>, FeatureError> {
        if row.nulls[index_at] || row.nulls[value_at] {
            return Ok(None);
        }
        let (indices, values) = (row.values[index_at], row.values[value_at]);
        let (most, nan) = (to.most, f64::NAN);
        // SAFETY: as the caller promises.
        unsafe {
            Ok(Some([
                read_array(&self.index, indices, index_kind, nan, most, &mut to.index)?,
                read_array(&self.value, values, value_kind, 0.0, most, &mut to.value)?,
            ]))
        }
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
        let (index, column) = columns.place_of(&self.index)?;
        let (value, values) = columns.place_of(&self.value)?;
        let kind = match type_kind(column.type_oid) {
            TypeKind::Array(kind @ (NumberKind::Int2 | NumberKind::Int4 | NumberKind::Int8)) => {
                kind
            }
            _ => return Err(wrong_type(column, "an array of integers")),
        };
        Ok(Part::Sparse {
            index: (index, kind),
            value: (value, array_kind(values)?),
        })
    }

    fn forget(&mut self) {
        self.collisions = None;
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

/// Reads a whole array into `out`, `null` for NULL; returns whether any is NULL.
///
/// # Safety
/// `datum` is an array of `kind`, valid during the call.
unsafe fn read_array(
    name: &str,
    datum: pg_sys::Datum,
    kind: NumberKind,
    null: f64,
    most: usize,
    out: &mut Vec<f64>,
) -> Result<bool, FeatureError> {
    out.clear();
    let problem = |problem| FeatureError::from_array(name, problem);
    // SAFETY: as the caller promises.
    let value = unsafe { Varlena::open(datum) };
    let array = NumberArray::new(value.payload(), kind).map_err(problem)?;
    check_pairs(array.len(), most)?;
    if !array.has_nulls() {
        array.append_to(out).map_err(problem)?;
        return Ok(false);
    }
    let mut any_null = false;
    out.room(array.len())?;
    array
        .for_each(|element| {
            any_null |= element.is_none();
            out.push(element.unwrap_or(null));
        })
        .map_err(problem)?;
    Ok(any_null)
}
