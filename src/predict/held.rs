//! Rows that hold all features in one column, as the queries of an evaluation give them. A call with the column's value
//! itself could match a function that somebody made for its type; one with a record matches ours and no other.

use super::argument::RowArgument;
use super::complaints::Called;
use crate::base::errors::Failure;
use crate::model::{relation_changes, Model};
use crate::pg::record::{RowShape, RowValue};
use pgrx::pg_sys;

/// What that column is called in a query of ours.
pub const HELD: &str = "pgsvm features";

/// How to read such rows at one call site.
pub struct HeldArgument {
    shape: RowShape,
    /// Where the column is.
    at: usize,
    /// For its values, from the first that is not NULL on.
    argument: Option<RowArgument>,
    /// Changes of relations when the shape was looked up.
    changes: u64,
}

impl HeldArgument {
    /// For rows like this one; None where it has no such column.
    pub fn of(row: &RowValue) -> Option<Self> {
        let shape = RowShape::of(row);
        let at = shape
            .columns()
            .iter()
            .position(|column| column.name == HELD)?;
        Some(Self {
            shape,
            at,
            argument: None,
            changes: relation_changes(),
        })
    }

    /// Whether the row is like the one it was made for.
    pub fn fits(&self, row: &RowValue) -> bool {
        self.changes == relation_changes() && self.shape.fits(row)
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.shape.bytes() + self.argument.as_ref().map_or(0, RowArgument::bytes)
    }

    /// What `ask` makes of the features in a row that fits, and of how to read them; None where they are NULL.
    ///
    /// # Safety
    /// `datum` is a row value.
    #[inline]
    pub unsafe fn ask<T>(
        &mut self,
        call: (&Model, &Called),
        datum: pg_sys::Datum,
        ask: impl FnOnce(&mut RowArgument, pg_sys::Datum) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        // SAFETY: as the caller promises; the features are valid while the row is.
        let row = unsafe { RowValue::open(datum) };
        match self.features(call, &row)? {
            Some((argument, features)) => ask(argument, features).map(Some),
            None => Ok(None),
        }
    }

    /// The features in a row that fits, valid while the row is, and how to read them; None where they are NULL.
    fn features(
        &mut self,
        (model, called): (&Model, &Called),
        row: &RowValue,
    ) -> Result<Option<(&mut RowArgument, pg_sys::Datum)>, Failure> {
        let (values, nulls) = self.shape.deform(row);
        if nulls[self.at] {
            return Ok(None);
        }
        let value = values[self.at];
        let argument = match self.argument.take() {
            Some(argument) => argument,
            None => {
                let type_id = self.shape.columns()[self.at].type_oid;
                // SAFETY: the value is the column's.
                let called = unsafe { called.with(type_id, value) };
                RowArgument::new(model, called)?
            }
        };
        Ok(Some((self.argument.insert(argument), value)))
    }
}
