//! Features made of numbers: the values of their columns in a row, and what is made of them. Called by the decoder.

use super::buffer::FeatureBuffer;
use super::by_name::ByName;
use super::dense::columns;
use super::error::FeatureError;
use super::kinds::FeaturePart;
use super::made_form::Made;
use super::part::{made_input, Input};
use super::row::RowValues;
use crate::pg::array::NumberArray;
use crate::pg::varlena::Varlena;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::numbers::{self, MOST_MADE};

/// Reads the columns of a made part; kept from row to row.
pub(super) struct MadeReader {
    inputs: Vec<(usize, Input)>,
    read: FeatureBuffer,
}

impl MadeReader {
    /// For the rows of these columns; None of a part that is not made.
    pub fn new(part: &FeaturePart, by_name: &ByName<'_>) -> Result<Option<Self>, FeatureError> {
        let Some(made) = part.made() else {
            return Ok(None);
        };
        let mut inputs = Vec::new();
        for name in part.columns() {
            let input = made_input(made, by_name.find(name)?)?;
            inputs.room(1)?.push((by_name.place(name)?, input));
        }
        Ok(Some(Self {
            inputs,
            read: FeatureBuffer::default(),
        }))
    }

    /// Whether an input is NULL.
    pub fn lacks(&self, row: &RowValues<'_>) -> bool {
        self.inputs.iter().any(|(at, _)| row.nulls[*at])
    }

    /// The numbers of a row; None where one is NULL.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn numbers(
        &mut self,
        name: &str,
        row: &RowValues<'_>,
    ) -> Result<Option<&[f64]>, FeatureError> {
        self.read.clear();
        if self.lacks(row) {
            return Ok(None);
        }
        for (at, input) in &self.inputs {
            // SAFETY: as the caller promises; the value stays in place until it has been read.
            unsafe {
                match input {
                    Input::Number(kind) => {
                        columns(0, row, *at..*at + 1, *kind, &mut self.read)?;
                    }
                    Input::Array(kind) => {
                        let value = Varlena::open(row.values[*at]);
                        let problem = |problem| FeatureError::from_array(name, problem);
                        let array = NumberArray::new(value.payload(), *kind).map_err(problem)?;
                        if array.append_to(&mut self.read.dense).map_err(problem)? {
                            return Ok(None);
                        }
                    }
                }
            }
        }
        match self.read.dense.iter().find(|x| !x.is_finite()) {
            None => Ok(Some(&self.read.dense)),
            Some(value) => Err(FeatureError::NotFinite {
                column: name.to_owned(),
                element: None,
                value: *value,
            }),
        }
    }
}

/// Appends what is made of these numbers; how many features that is.
pub(super) fn make(
    (name, made): (&str, &mut Made),
    numbers: &[f64],
    out: &mut Vec<f64>,
) -> Result<usize, FeatureError> {
    check_array(name, made, numbers.len())?;
    let count = numbers::count(made.how, numbers.len(), made.number, &made.knots);
    let count = count.ok_or_else(|| FeatureError::TooManyMade {
        entry: made.name(name),
        most: MOST_MADE,
    })?;
    let result: Result<(), OutOfMemory> =
        numbers::make(made.how, numbers, made.number, &made.knots, out);
    result?;
    Ok(count)
}

/// Refuses an array of another length than those before; the first tells it.
pub(super) fn check_array(name: &str, made: &mut Made, length: usize) -> Result<(), FeatureError> {
    if let Some(known) = &mut made.array {
        match *known {
            0 => *known = length as u32,
            known if known as usize == length => {}
            known => {
                return Err(FeatureError::Length {
                    column: name.to_owned(),
                    length,
                    expected: known as usize,
                    pair: None,
                })
            }
        }
    }
    Ok(())
}
