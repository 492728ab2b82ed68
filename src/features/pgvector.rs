//! pgvector's types as features: `vector` and `halfvec` are arrays of numbers, `sparsevec` is a sparse
//! part whose indices are those that pgvector prints, from 1. Called by the decoder.

use super::buffer::FeatureBuffer;
use super::decode::{check_length, Decoder};
use super::error::FeatureError;
use super::kinds::FeatureKind;
use super::row::{Decoded, RowValues};
use super::sparse::SparseScratch;
use crate::pg::varlena::Varlena;
use crate::pg::vector;

impl Decoder {
    /// A `vector` or, where `half`, a `halfvec` as the elements of array part `number`.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is of that type.
    pub(super) unsafe fn vector(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        at: usize,
        half: bool,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        if row.nulls[at] {
            return self.null_array(number, out);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        let count = vector::append_elements(value.payload(), half, &mut out.dense)?;
        let (name, length) = self.array_part(number);
        let count = count.ok_or_else(|| FeatureError::Damaged {
            column: name.clone(),
        })?;
        check_length(name, count, *length)?;
        *length = Some(count as u32);
        Ok(None)
    }
}

impl SparseScratch {
    /// A `sparsevec`.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is a `sparsevec`.
    pub(super) unsafe fn vector(
        &mut self,
        part: &dyn FeatureKind,
        row: &RowValues<'_>,
        at: usize,
    ) -> Result<Option<[bool; 2]>, FeatureError> {
        if row.nulls[at] {
            return Ok(None);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        let pairs = vector::pairs(value.payload()).ok_or_else(|| FeatureError::Damaged {
            column: part.name(),
        })?;
        self.clear();
        for (index, value) in pairs {
            self.take(f64::from(index) + 1.0, f64::from(value))?;
        }
        Ok(Some([false; 2]))
    }
}
