//! Arrays of numbers, pgvector's `vector` and `halfvec` among them, and what is made of numbers: as many dense features as there are
//! numbers.

use super::kind::{
    identifier, FeatureKind, Operand, Operands, ReadAs, ReadColumn, MADE_OF_SEVERAL,
};
use super::made::{MadeFeature, MadeReader};
use crate::features::buffer::{FeatureBuffer, Nulls};
use crate::features::by_name::{type_of, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::kept::KeptRow;
use crate::features::part::{array_kind, Part};
use crate::features::row::{Decoded, Null, RowValues};
use crate::features::stored::{given, StoredPart};
use crate::pg::array::{ArrayProblem, NumberArray};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, NumberKind, TypeKind};
use crate::pg::varlena::Varlena;
use crate::pg::vector::{self, VectorKind};
use crate::pg::{grow, prefetch, Patience};
use pgsvm_core::memory::Room;
use serde::Serialize;

/// Types of arrays that may hold indices.
const INTEGER_ARRAYS: [&str; 3] = ["smallint[]", "integer[]", "bigint[]"];

/// As many dense features as the array is long, which the first row tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArrayPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub length: Option<u32>,
    /// Where the numbers are made of those of the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeFeature>,
}

impl ArrayPart {
    /// Where it is an array of numbers as they are, whether these are integers.
    pub fn holds_integers(&self) -> Option<bool> {
        let is_plain = self.made.is_none();
        is_plain.then(|| INTEGER_ARRAYS.contains(&self.type_name.as_str()))
    }

    /// Decodes an array of `kind`, in rows of up to so many values.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is such an array.
    #[inline]
    pub unsafe fn decode(
        &mut self,
        row: &RowValues<'_>,
        (at, kind): (usize, NumberKind),
        (nulls, most): (Nulls, usize),
        out: &mut FeatureBuffer,
    ) -> Decoded {
        if row.nulls[at] {
            return self.null(nulls, out);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        if value.is_in_place() {
            prefetch::row_ahead(value.payload());
        }
        let problem = |problem| FeatureError::from_array(&self.name, problem);
        let array = NumberArray::new(value.payload(), kind).map_err(problem)?;
        self.check_length(array.len())?;
        let start = out.dense.len();
        check_row(start.saturating_add(array.len()), most)?;
        let any_null = array.append_to(&mut out.dense).map_err(problem)?;
        if any_null {
            out.missing.room(array.len())?;
            out.missing.extend(array.nulls().map(|at| start + at));
        }
        self.length = Some(array.len() as u32);
        Ok(any_null.then_some(Null))
    }

    /// The same of a `vector` or, where `half`, a `halfvec`.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is of that type.
    #[inline]
    pub unsafe fn decode_vector(
        &mut self,
        row: &RowValues<'_>,
        (at, half): (usize, bool),
        nulls: Nulls,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        if row.nulls[at] {
            return self.null(nulls, out);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        let count = vector::append_elements(value.payload(), half, &mut out.dense)?;
        let count = count.ok_or_else(|| FeatureError::Damaged {
            column: self.name.clone(),
        })?;
        self.check_length(count)?;
        self.length = Some(count as u32);
        Ok(None)
    }

    /// The same of what is made of the columns.
    ///
    /// # Safety
    /// As for `Decoder::decode`; `reader` is that of the part.
    #[inline]
    pub unsafe fn make(
        &mut self,
        reader: &mut MadeReader,
        row: &RowValues<'_>,
        (nulls, most): (Nulls, usize),
        out: &mut FeatureBuffer,
    ) -> Decoded {
        // SAFETY: as the caller promises.
        let numbers = unsafe { reader.numbers(&self.name, row) }?;
        let (Some(made), Some(numbers)) = (&mut self.made, numbers) else {
            return self.null(nulls, out);
        };
        let count = made.make(&self.name, numbers, &mut out.dense)?;
        self.length = Some(count as u32);
        check_row(out.dense.len(), most)?;
        Ok(None)
    }

    /// The same of what was kept of the part at this place.
    #[inline]
    pub fn take_kept(
        &mut self,
        row: &KeptRow<'_>,
        place: usize,
        most: usize,
        dense: &mut Vec<f64>,
    ) -> Result<(), FeatureError> {
        let start = dense.len();
        row.append(place, dense)?;
        check_row(dense.len(), most)?;
        let count = dense.len() - start;
        self.check_length(count)?;
        self.length = Some(count as u32);
        Ok(())
    }

    /// NULL where the array should be.
    #[cold]
    fn null(&self, nulls: Nulls, out: &mut FeatureBuffer) -> Decoded {
        if self.length.is_none() && matches!(nulls, Nulls::Zero | Nulls::Mean) {
            return Err(FeatureError::UnknownLength {
                column: self.name.clone(),
            });
        }
        let length = self.length.unwrap_or(0) as usize;
        let end = out.dense.len() + length;
        let mut patience = Patience::default();
        let missing = (out.dense.len()..end).inspect(|_| patience.tick());
        out.missing.room(length)?.extend(missing);
        out.dense.room(length)?;
        grow(&mut out.dense, end, 0.0);
        Ok(Some(Null))
    }

    #[inline]
    fn check_length(&self, length: usize) -> Result<(), FeatureError> {
        match self.length {
            Some(expected) if expected as usize == length => Ok(()),
            Some(expected) => Err(FeatureError::Length {
                column: self.name.clone(),
                length,
                expected: expected as usize,
                pair: None,
            }),
            None if length == 0 => Err(FeatureError::Empty {
                column: self.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        if part.made.as_ref().is_some_and(|made| !made.is_sound()) {
            return Err("a part of a feature set makes nothing".to_owned());
        }
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
            length: part.length,
            made: part.made,
        })
    }
}

impl FeatureKind for ArrayPart {
    fn of_column(column: &Column) -> Option<Self> {
        match type_kind(column.type_oid) {
            TypeKind::Array(_) | TypeKind::Vector(VectorKind::Vector | VectorKind::Halfvec) => {
                Some(Self {
                    name: column.name.clone(),
                    type_name: type_of(column),
                    length: None,
                    made: None,
                })
            }
            _ => None,
        }
    }

    fn reads(&self) -> Vec<ReadColumn<'_>> {
        match &self.made {
            Some(made) => made.reads(&self.name, &self.type_name),
            None => vec![ReadAs::Numbers.of(&self.name, &self.type_name)],
        }
    }

    fn name(&self) -> String {
        match &self.made {
            Some(made) => made.name(&quoted(&self.name)),
            None => self.name.clone(),
        }
    }

    fn treatment(&self) -> &'static str {
        self.made.as_ref().map_or("array", MadeFeature::treatment)
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        match type_kind(column.type_oid) {
            TypeKind::Vector(VectorKind::Vector) => Ok(Part::Vector { at, half: false }),
            TypeKind::Vector(VectorKind::Halfvec) => Ok(Part::Vector { at, half: true }),
            _ => array_kind(column).map(|kind| Part::Array { at, kind }),
        }
    }

    fn forget(&mut self) {
        self.length = None;
        self.made.iter_mut().for_each(MadeFeature::forget);
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn width(&self) -> Option<u32> {
        self.length
    }

    fn may_be_indexed(&self) -> bool {
        self.made.is_none()
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        if self.made.is_some() {
            return Err(MADE_OF_SEVERAL);
        }
        let column = match is_vector(&self.type_name) {
            true => format!("(CAST({} AS real[]))", identifier(&self.name)),
            false => identifier(&self.name),
        };
        let places = 1..=self.length.unwrap_or(0);
        let elements = places.map(move |at| Operand::Number(format!("{column}[{at}]"), false));
        Ok(Box::new(elements))
    }
}

/// Refuses a row of more values than may be.
#[inline]
fn check_row(values: usize, most: usize) -> Result<(), FeatureError> {
    match values <= most {
        true => Ok(()),
        false => Err(FeatureError::LongRow { values, most }),
    }
}

impl FeatureError {
    pub(crate) fn from_array(name: &str, problem: ArrayProblem) -> Self {
        let column = name.to_owned();
        match problem {
            ArrayProblem::Dimensions(dimensions) => Self::Dimensions { column, dimensions },
            ArrayProblem::Damaged => Self::Damaged { column },
            ArrayProblem::Memory(error) => Self::OutOfMemory(error),
        }
    }
}

/// Whether a column's type, as SQL writes it, is one of pgvector's, whose elements only a cast gives.
fn is_vector(type_name: &str) -> bool {
    let bare = type_name.split('(').next().unwrap_or_default();
    matches!(bare.rsplit('.').next(), Some("vector" | "halfvec"))
}
