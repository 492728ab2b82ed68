//! A row's values on their way through the decoder, and what becomes of a part's.

use super::error::FeatureError;
use pgrx::pg_sys;

/// The value of a part that is NULL, in whole or in an element.
pub struct Null;

pub type Decoded = Result<Option<Null>, FeatureError>;

/// One row's values and null flags.
pub struct RowValues<'a> {
    pub values: &'a [pg_sys::Datum],
    pub nulls: &'a [bool],
}
