//! Products of numbers that are too many to be listed, or whose hashes are asked for.

use super::kind::{FeatureKind, Operands, ReadColumn, MADE_OF_SEVERAL};
use super::made::{MadeFeature, MadeReader};
use super::pairs::SparseScratch;
use crate::features::buffer::FeatureBuffer;
use crate::features::by_name::ByName;
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::part::Part;
use crate::features::row::{Decoded, Null, RowValues};
use crate::features::stored::{given, StoredPart};
use pgsvm_expand::numbers::How;
use serde::Serialize;

/// Products of numbers, hashed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductsPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub made: MadeFeature,
    pub hash_bits: u32,
    /// As those of sparse parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<f64>,
}

impl ProductsPart {
    /// Decodes the products of a row as sparse part `number`; NULL where a column is.
    ///
    /// # Safety
    /// As for `Decoder::decode`; `reader` is that of the part.
    #[inline]
    pub unsafe fn decode(
        &mut self,
        reader: &mut MadeReader,
        row: &RowValues<'_>,
        number: i64,
        (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
    ) -> Decoded {
        // SAFETY: as the caller promises.
        let Some(numbers) = unsafe { reader.numbers(&self.name, row) }? else {
            return Ok(Some(Null));
        };
        self.made.check_array(&self.name, numbers.len())?;
        let numbers = (numbers, self.made.number, self.hash_bits);
        sparse.products(self, number, numbers, out).map(|()| None)
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        let makes = |made: &MadeFeature| made.how == How::Polynomial && made.is_sound();
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
            made: part
                .made
                .filter(makes)
                .ok_or("a part of a feature set makes nothing")?,
            hash_bits: given(part.hash_bits.filter(|bits| (1..=24).contains(bits)))?,
            collisions: part.collisions,
        })
    }
}

impl FeatureKind for ProductsPart {
    fn reads(&self) -> Vec<ReadColumn<'_>> {
        self.made.reads(&self.name, &self.type_name)
    }

    fn name(&self) -> String {
        let made = self.made.name(&quoted(&self.name));
        format!("hash({made}, {})", self.hash_bits)
    }

    fn treatment(&self) -> &'static str {
        "hashed polynomial"
    }

    fn place(&self, _: &ByName<'_>) -> Result<Part, FeatureError> {
        unreachable!("read by a reader of its own")
    }

    fn forget(&mut self) {
        self.made.forget();
        self.collisions = None;
    }

    fn hash_bits(&self) -> Option<u32> {
        Some(self.hash_bits)
    }

    fn collisions(&self) -> Option<f64> {
        self.collisions
    }

    fn note_collisions(&mut self, share: Option<f64>) {
        self.collisions = share;
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        Err(MADE_OF_SEVERAL)
    }
}
