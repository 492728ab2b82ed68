//! Columns of categories: texts, enums, booleans, integers that are called so, and pairs of columns.

pub mod dictionary;
pub mod one_hot;

use super::kind::{FeatureKind, Operand, Operands, ReadAs, ReadColumn, MADE_OF_SEVERAL};
use crate::features::by_name::{type_of, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::part::{check_category, number_kind, Part};
use crate::features::stored::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{category_kind, CategoryKind};
use dictionary::Dictionary;
use serde::Serialize;
use std::rc::Rc;

/// Categories: a feature each, 1 where a row has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CategoryPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    /// Whether `features` must ask for categories, as the column alone would be a number.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub asked: bool,
    /// The column whose values its own are paired with, and its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossed: Option<(String, String)>,
    /// Whether that column is a number, which a row's category has for its value.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub by_number: bool,
    #[serde(flatten)]
    pub dictionary: Rc<Dictionary>,
}

impl CategoryPart {
    fn of(column: &Column, asked: bool) -> Self {
        Self {
            name: column.name.clone(),
            type_name: type_of(column),
            asked,
            crossed: None,
            by_number: false,
            dictionary: Rc::default(),
        }
    }

    pub fn named(name: &str, columns: &ByName<'_>) -> Result<Self, FeatureError> {
        let column = columns.find(name)?;
        let asked = matches!(check_category(column)?, CategoryKind::Integer(_));
        Ok(Self::of(column, asked))
    }

    /// Two columns that are crossed, the first a category: pairs of categories or, `by_number`, categories with a number for
    /// their value.
    pub fn crossed(first: &Column, second: &Column, by_number: bool) -> Self {
        Self {
            crossed: Some((second.name.clone(), type_of(second))),
            by_number,
            ..Self::of(first, true)
        }
    }

    /// Of a column that nobody called a category and nearly all of whose values are numbers, values that are none.
    pub fn looks_like_numbers(&self) -> Option<Vec<String>> {
        self.dictionary.but_numbers().filter(|_| !self.asked)
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        let dictionary = Dictionary::stored(part.values, part.codes, part.null_code, part.hashed);
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
            asked: part.asked,
            by_number: part.by_number && part.crossed.is_some(),
            crossed: part.crossed,
            dictionary: Rc::new(dictionary?),
        })
    }
}

impl FeatureKind for CategoryPart {
    fn of_column(column: &Column) -> Option<Self> {
        category_kind(column.type_oid).map(|_| Self::of(column, false))
    }

    fn reads(&self) -> Vec<ReadColumn<'_>> {
        let second = match self.by_number {
            true => ReadAs::Factor,
            false => ReadAs::Category,
        };
        let crossed = self.crossed.iter();
        let crossed = crossed.map(|(name, type_name)| second.of(name, type_name));
        core::iter::once(ReadAs::Category.of(&self.name, &self.type_name))
            .chain(crossed)
            .collect()
    }

    fn name(&self) -> String {
        match (&self.crossed, self.asked) {
            (Some((second, _)), _) => format!("cross({}, {})", quoted(&self.name), quoted(second)),
            (None, true) => format!("category({})", quoted(&self.name)),
            (None, false) => self.name.clone(),
        }
    }

    fn treatment(&self) -> &'static str {
        match self.dictionary.is_hashed() {
            true => "hashed category",
            false => "category",
        }
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        let kind = check_category(column)?;
        let Some((second, _)) = &self.crossed else {
            return Ok(Part::Category { at, kind });
        };
        let (second, column) = columns.place_of(second)?;
        Ok(match self.by_number {
            true => Part::Weighted {
                category: (at, kind),
                number: (second, number_kind(column)?),
            },
            false => Part::Crossed {
                first: (at, kind),
                second: (second, check_category(column)?),
            },
        })
    }

    fn forget(&mut self) {
        self.dictionary = Rc::default();
    }

    fn is_one_value(&self) -> bool {
        true
    }

    fn count(&self) -> Option<u64> {
        Some(self.dictionary.len())
    }

    fn known_values(&self) -> Option<u64> {
        Some(self.dictionary.values().count() as u64)
    }

    fn collisions(&self) -> Option<f64> {
        self.dictionary.collisions()
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        if self.crossed.is_some() {
            return Err(MADE_OF_SEVERAL);
        }
        if self.dictionary.is_hashed() {
            return Err("Its categories are hashed, and SQL has no common hash function.");
        }
        let operand = Operand::Category(&self.name, &self.type_name, &self.dictionary);
        Ok(Box::new(core::iter::once(operand)))
    }
}
