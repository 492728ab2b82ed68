//! Where the values of a feature part stand in a row: its columns found by name, their types checked.
//! Called when a decoder is made, and when `features` is resolved.

use super::by_name::wrong_type;
use super::error::FeatureError;
use crate::pg::query::Column;
use crate::pg::text_search::Configuration;
use crate::pg::types::{
    category_kind, type_kind, words_kind, CategoryKind, NumberKind, TypeKind, WordsKind,
};
use pgrx::pg_sys;

/// Where a part's values stand in a row, and as what.
#[derive(Clone, Copy)]
pub enum Part {
    /// Columns of one type side by side, each a part of the feature set.
    Columns {
        at: usize,
        count: usize,
        kind: NumberKind,
    },
    /// A text that is a number or a time, of `char(n)` or not.
    Parsed {
        at: usize,
        padded: bool,
    },
    Array {
        at: usize,
        kind: NumberKind,
    },
    /// pgvector's `vector` or, where `half`, `halfvec`.
    Vector {
        at: usize,
        half: bool,
    },
    Sparse {
        index: (usize, NumberKind),
        value: (usize, NumberKind),
    },
    Libsvm {
        at: usize,
    },
    /// pgvector's `sparsevec`.
    Sparsevec {
        at: usize,
    },
    Category {
        at: usize,
        kind: CategoryKind,
    },
    Text {
        at: usize,
        kind: TextKind,
    },
    /// The values of two columns together.
    Crossed {
        first: (usize, CategoryKind),
        second: (usize, CategoryKind),
    },
    /// A category that has a number for its value.
    Weighted {
        category: (usize, CategoryKind),
        number: (usize, NumberKind),
    },
    /// By this reader of those that the decoder has.
    Made(usize),
    /// The same, hashed.
    Products(usize),
}

/// How the words of a value are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    Words(WordsKind),
    /// By this text search configuration.
    Lexemes(pg_sys::Oid),
    /// Runs of characters, of `char(n)` or not, as they are or in lower case.
    Characters {
        padded: bool,
        as_they_are: bool,
    },
    /// Runs of letters at their places.
    Places {
        padded: bool,
    },
}

impl Part {
    /// The columns of a row, but for those that a reader reads.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let (first, second) = match *self {
            Self::Columns { at, count, .. } => (at..at + count, None),
            Self::Parsed { at, .. }
            | Self::Array { at, .. }
            | Self::Vector { at, .. }
            | Self::Libsvm { at }
            | Self::Sparsevec { at }
            | Self::Category { at, .. }
            | Self::Text { at, .. } => (at..at + 1, None),
            Self::Sparse { index, value } => (index.0..index.0 + 1, Some(value.0)),
            Self::Crossed { first, second } => (first.0..first.0 + 1, Some(second.0)),
            Self::Weighted { category, number } => (category.0..category.0 + 1, Some(number.0)),
            Self::Made(_) | Self::Products(_) => (0..0, None),
        };
        first.chain(second)
    }

    /// How many parts of the feature set it is.
    pub fn count(&self) -> usize {
        match self {
            Self::Columns { count, .. } => *count,
            _ => 1,
        }
    }

    /// Takes `next` in when both are columns of one type and it stands right behind.
    pub fn join(&mut self, next: &Self) -> bool {
        match (self, next) {
            (
                Self::Columns { at, count, kind },
                Self::Columns {
                    at: next_at,
                    count: more,
                    kind: next_kind,
                },
            ) if *next_at == *at + *count && next_kind == kind => {
                *count += more;
                true
            }
            _ => false,
        }
    }
}

/// Of a number that is neither a truth nor a time.
pub fn number_kind(column: &Column) -> Result<NumberKind, FeatureError> {
    match type_kind(column.type_oid) {
        TypeKind::Number(kind) if kind != NumberKind::Boolean && !kind.is_time() => Ok(kind),
        _ => Err(wrong_type(column, "a number")),
    }
}

pub fn array_kind(column: &Column) -> Result<NumberKind, FeatureError> {
    match type_kind(column.type_oid) {
        TypeKind::Array(kind) => Ok(kind),
        _ => Err(wrong_type(column, "an array of numbers")),
    }
}

/// `asked`: whether it is a text that is to be taken apart.
pub fn check_words(column: &Column, asked: bool) -> Result<WordsKind, FeatureError> {
    match (words_kind(column.type_oid), asked) {
        (Some(kind @ (WordsKind::Text | WordsKind::Padded)), true)
        | (Some(kind @ (WordsKind::Vector | WordsKind::Array)), false) => Ok(kind),
        (_, true) => Err(wrong_type(
            column,
            "text; a tsvector or an array of text is a feature as it is",
        )),
        (_, false) => Err(wrong_type(column, "a tsvector or an array of text")),
    }
}

/// The text search configuration of this name.
pub fn find_configuration(name: &str) -> Result<Configuration, FeatureError> {
    Configuration::find(name).map_err(|reason| FeatureError::Configuration {
        name: name.to_owned(),
        reason,
    })
}

pub fn check_category(column: &Column) -> Result<CategoryKind, FeatureError> {
    category_kind(column.type_oid)
        .ok_or_else(|| wrong_type(column, "text, an enum, a boolean or an integer"))
}
