//! Arrays of numbers, pgvector's `vector` and `halfvec` among them, and what is made of numbers: as many dense features as there are
//! numbers.

use super::kind::{identifier, FeatureKind, Operand, Operands, MADE_OF_SEVERAL};
use super::reads::{ReadAs, ReadColumn};
use crate::features::by_name::{type_of, ByName};
use crate::features::error::FeatureError;
use crate::features::made_form::Made;
use crate::features::part::{array_kind, Part};
use crate::features::quoted::quoted;
use crate::features::stored_part::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::vector::VectorKind;
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
    pub made: Option<Made>,
}

impl ArrayPart {
    /// Where it is an array of numbers as they are, whether these are integers.
    pub fn holds_integers(&self) -> Option<bool> {
        let is_plain = self.made.is_none();
        is_plain.then(|| INTEGER_ARRAYS.contains(&self.type_name.as_str()))
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
        self.made.as_ref().map_or("array", Made::treatment)
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
        self.made.iter_mut().for_each(Made::forget);
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

/// Whether a column's type, as SQL writes it, is one of pgvector's, whose elements only a cast gives.
fn is_vector(type_name: &str) -> bool {
    let bare = type_name.split('(').next().unwrap_or_default();
    matches!(bare.rsplit('.').next(), Some("vector" | "halfvec"))
}
