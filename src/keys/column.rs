//! The column that says which row is which: what can be one, and what a key in it is known by.

use crate::base::errors::{Code, Failure};
use crate::catalog::trained_by::training;
use crate::keys::chunks::KeyKind;
use crate::keys::digest;
use crate::pg::query::Column;
use crate::pg::types::type_name;
use crate::pg::varlena::with_text;
use pgrx::pg_sys;
use pgsvm_core::memory::text;
use serde::{Deserialize, Serialize};

/// The key column of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyColumn {
    #[serde(deserialize_with = "text")]
    pub name: String,
    pub kind: KeyKind,
    /// Its place in the row, cast to [`KeyKind::cast`].
    pub at: usize,
    /// The place of an integer that is 1 in rows added to those of the source, where there may be such.
    pub added_at: Option<usize>,
}

impl KeyKind {
    /// The kind for a column.
    ///
    /// # Errors
    /// When its type cannot be a key.
    pub fn of_column(column: &Column) -> Result<Self, Failure> {
        // SAFETY: a catalog look-up inside a transaction.
        match unsafe { pg_sys::getBaseType(column.type_oid) } {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => Ok(Self::Integer),
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::UUIDOID => Ok(Self::Text),
            _ => Err(Failure::new(
                Code::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "key column \"{}\" has type {}, which cannot be a key",
                    column.name,
                    type_name(column.type_oid, column.typmod)
                ),
            )
            .hint("A key is smallint, integer, bigint, text, varchar or uuid")),
        }
    }

    /// The word that svm_version keeps.
    pub fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Text => "text",
        }
    }

    /// Reads what `word` writes.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Integer, Self::Text]
            .into_iter()
            .find(|kind| kind.word() == word)
    }

    /// The type to which a key is cast where rows are read.
    pub fn cast(self) -> &'static str {
        match self {
            Self::Integer => "pg_catalog.int8",
            Self::Text => "pg_catalog.text",
        }
    }

    /// What a key is known by.
    pub fn known_by(self, datum: pg_sys::Datum) -> u128 {
        match self {
            Self::Integer => u128::from(datum.value() as u64),
            Self::Text => with_text(datum, digest::of_key),
        }
    }

    /// How a key reads.
    pub fn shown(self, datum: pg_sys::Datum) -> String {
        match self {
            Self::Integer => (datum.value() as i64).to_string(),
            Self::Text => {
                // more than an error shows of it
                let beginning = |bytes: &[u8]| {
                    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
                };
                format!("\"{}\"", with_text(datum, beginning))
            }
        }
    }
}

/// Bytes of a key that are looked at to show it.
const SHOWN_BYTES: usize = 1000;

/// A key that is NULL, in row `number` of the source.
pub fn null_key(column: &str, number: u64) -> Failure {
    Failure::new(
        Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("key column \"{column}\" contains NULL"),
    )
    .detail(format!("It is in row {number} of the source."))
    .about_row()
    .hint("A key says which row is which: no row may lack it")
}

/// Refuses a key column that has become of another kind.
pub fn check_kind(model: &str, column: &str, found: KeyKind, kind: KeyKind) -> Result<(), Failure> {
    if found == kind {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "key column \"{column}\" is of type {} now, model \"{model}\" was trained when it was {}",
            found.word(),
            kind.word()
        ),
    )
    .hint(format!("Train the model anew: {}", training(model, ""))))
}
