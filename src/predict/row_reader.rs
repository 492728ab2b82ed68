//! Rows whose columns are the features by name, of any shape that comes.

use super::complaints::{row_failure, Called};
use super::{document, row_name};
use crate::base::errors::Failure;
use crate::features::{Decoder, FeatureBuffer, FeatureError};
use crate::model::{relation_changes, Model};
use crate::pg::record::{RowShape, RowValue};
use pgrx::pg_sys;
use pgsvm_core::memory::gathered;

/// What rows of one shape need.
pub struct RowReader {
    shape: RowShape,
    decoder: Decoder,
    /// Columns of text where the model wants another type, which may hold nothing but NULL.
    only_null: Vec<(usize, FeatureError)>,
    /// Changes of relations when the shape was looked up.
    changes: u64,
}

impl RowReader {
    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.shape.bytes() + self.decoder.bytes()
    }

    /// Says of a failure which row of its table it is in, where that can be told.
    #[cold]
    pub fn name_row(&mut self, row: &RowValue, failure: Failure) -> Failure {
        name_row(&mut self.shape, row, failure)
    }
}

/// Reads the features of a row; what is needed for rows of its shape is kept in `reader`.
///
/// # Safety
/// `datum` is a row value.
pub unsafe fn read_row(
    (model, called): (&Model, &Called),
    datum: pg_sys::Datum,
    reader: &mut Option<Box<RowReader>>,
    out: &mut FeatureBuffer,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let row = unsafe { RowValue::open(datum) };
    let changes = relation_changes();
    let known = reader
        .take()
        .filter(|reader| reader.changes == changes && reader.shape.fits(&row));
    let reader = match known {
        Some(known) => reader.insert(known),
        None => reader.insert(Box::new(RowReader::new((model, called), &row, changes)?)),
    };
    let (values, nulls) = reader.shape.deform(&row);
    let wrong = reader.only_null.iter().find(|(at, _)| !nulls[*at]);
    let decoded = match wrong {
        Some((_, error)) => Err(error.clone()),
        // SAFETY: the decoder was made for the shape's columns; those of another type are NULL.
        None => unsafe { reader.decoder.decode(values, nulls, out) },
    };
    decoded.map_err(|error| name_row(&mut reader.shape, &row, row_failure(model, called, error)))
}

impl RowReader {
    /// For rows of this one's shape, after so many changes of relations.
    #[cold]
    fn new(
        (model, called): (&Model, &Called),
        row: &RowValue,
        changes: u64,
    ) -> Result<Self, Failure> {
        let shape = RowShape::of(row);
        let (decoder, only_null) =
            decoder_of(model, &shape).map_err(|error| row_failure(model, called, error))?;
        Ok(Self {
            shape,
            decoder,
            only_null,
            changes,
        })
    }
}

/// Says which row of its table it is, where that can be told.
#[cold]
fn name_row(shape: &mut RowShape, row: &RowValue, failure: Failure) -> Failure {
    match row_name::of(shape, row) {
        Some(name) => failure.in_detail(&format!("It is in the row with {name}.")),
        None => failure,
    }
}

/// The decoder for rows of a shape. NULL without a type becomes a column of text, in a subquery and as a
/// parameter: such a column will do for any feature as long as it is NULL.
fn decoder_of(
    model: &Model,
    shape: &RowShape,
) -> Result<(Decoder, Vec<(usize, FeatureError)>), FeatureError> {
    let mut columns = gathered(shape.columns().iter().cloned())?;
    let mut only_null: Vec<(usize, FeatureError)> = Vec::new();
    loop {
        let error = match Decoder::new(&model.features, &columns, model.nulls) {
            Ok(decoder) => return Ok((decoder, only_null)),
            Err(error) => error,
        };
        let FeatureError::Type { column, .. } = &error else {
            return Err(error);
        };
        let at = columns.iter().position(|known| known.name == *column);
        let wanted = document::column_type(&model.features, column);
        match (at, wanted) {
            (Some(at), Some(wanted)) if columns[at].type_oid == pg_sys::TEXTOID => {
                columns[at].type_oid = wanted;
                only_null.push((at, error));
            }
            _ => return Err(error),
        }
    }
}
