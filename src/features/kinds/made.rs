//! What is made of numbers: how models store it, and how it is made of the columns of a row.

use super::kind::{ReadAs, ReadColumn};
use crate::features::buffer::FeatureBuffer;
use crate::features::by_name::{wrong_type, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::kinds::number::columns;
use crate::features::part::array_kind;
use crate::features::row::RowValues;
use crate::pg::array::NumberArray;
use crate::pg::query::Column;
use crate::pg::types::{type_kind, NumberKind, TypeKind};
use crate::pg::varlena::Varlena;
use pgsvm_core::memory::{list, received, OutOfMemory, Room};
use pgsvm_expand::numbers::{self, How, MOST_MADE};
use serde::{Deserialize, Serialize};

/// What is made of a column, or of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeFeature {
    pub how: How,
    /// The degree, or how many buckets or knots there are.
    #[serde(default)]
    pub number: u32,
    /// Columns behind the first, and their types.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "received"
    )]
    pub others: Vec<(String, String)>,
    /// Where buckets end, or the knots.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list"
    )]
    pub knots: Vec<f64>,
    /// Whether the first column is an array, of so many numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<u32>,
    /// Whether buckets or knots have been learned.
    #[serde(default)]
    pub learned: bool,
}

impl MadeFeature {
    /// Whether something is to be learned of the values first.
    pub fn is_learned(&self) -> bool {
        self.learned || !matches!(self.how, How::Bucket | How::Spline)
    }

    /// As `features` asks for it; `first` is its first column, quoted.
    pub fn name(&self, first: &str) -> String {
        let others = self.others.iter().map(|(name, _)| quoted(name));
        let mut all: Vec<_> = core::iter::once(first.to_owned()).chain(others).collect();
        let word = match self.how {
            How::Log => "log",
            How::Polynomial => "polynomial",
            How::Bucket => "bucket",
            How::Spline => "spline",
            How::Parts => "parts",
            How::Product => "cross",
        };
        if self.number > 0 {
            all.push(self.number.to_string());
        }
        format!("{word}({})", all.join(", "))
    }

    /// As a listing calls one of its features, by its number from 0.
    pub fn label(&self, at: u64) -> String {
        let numbers = self.array.map_or(1 + self.others.len(), |it| it as usize);
        numbers::label(self.how, at as usize, (numbers, self.number), &self.knots)
    }

    /// Forgets what rows have taught.
    pub fn forget(&mut self) {
        self.knots.clear();
        self.array = self.array.map(|_| 0);
        self.learned = false;
    }

    /// The columns that it is made of; the first has this name and type.
    pub fn reads<'a>(&'a self, name: &'a str, type_name: &'a str) -> Vec<ReadColumn<'a>> {
        let first = match (self.how, self.array) {
            (How::Parts, _) => ReadAs::Time,
            (_, Some(_)) => ReadAs::Numbers,
            (_, None) => ReadAs::Factor,
        };
        let others = self.others.iter();
        let others = others.map(|(name, type_name)| ReadAs::Factor.of(name, type_name));
        core::iter::once(first.of(name, type_name))
            .chain(others)
            .collect()
    }

    /// What is made, in a word or two.
    pub fn treatment(&self) -> &'static str {
        match self.how {
            How::Log => "logarithm",
            How::Polynomial => "polynomial",
            How::Bucket => "buckets",
            How::Spline => "spline",
            How::Parts => "parts of a time",
            How::Product => "product",
        }
    }

    /// Whether what was stored makes sense.
    pub fn is_sound(&self) -> bool {
        let degree = self.how != How::Polynomial || self.number <= numbers::MOST_DEGREE;
        degree && self.knots.len() < MOST_MADE && self.knots.is_sorted()
    }
}

impl MadeFeature {
    /// Appends what is made of these numbers; how many features that is.
    pub fn make(
        &mut self,
        name: &str,
        numbers: &[f64],
        out: &mut Vec<f64>,
    ) -> Result<usize, FeatureError> {
        self.check_array(name, numbers.len())?;
        let count = numbers::count(self.how, numbers.len(), self.number, &self.knots);
        let count = count.ok_or_else(|| FeatureError::TooManyMade {
            entry: self.name(name),
            most: MOST_MADE,
        })?;
        let result: Result<(), OutOfMemory> =
            numbers::make(self.how, numbers, self.number, &self.knots, out);
        result?;
        Ok(count)
    }

    /// Refuses an array of another length than those before; the first tells it.
    pub fn check_array(&mut self, name: &str, length: usize) -> Result<(), FeatureError> {
        match &mut self.array {
            None => Ok(()),
            Some(known @ 0) => {
                *known = length as u32;
                Ok(())
            }
            Some(known) if *known as usize == length => Ok(()),
            Some(known) => Err(FeatureError::Length {
                column: name.to_owned(),
                length,
                expected: *known as usize,
                pair: None,
            }),
        }
    }
}

/// Reads the columns of a made part; kept from row to row.
pub struct MadeReader {
    inputs: Vec<(usize, Input)>,
    read: FeatureBuffer,
}

impl MadeReader {
    /// For the rows of these columns, in which a part reads some.
    pub fn new(
        made: &MadeFeature,
        reads: &[ReadColumn<'_>],
        by_name: &ByName<'_>,
    ) -> Result<Self, FeatureError> {
        let mut inputs = Vec::new();
        for read in reads {
            let (at, column) = by_name.place_of(read.name)?;
            inputs.room(1)?.push((at, made_input(made, column)?));
        }
        Ok(Self {
            inputs,
            read: FeatureBuffer::default(),
        })
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

/// One input of a made part.
#[derive(Clone, Copy)]
pub enum Input {
    Number(NumberKind),
    Array(NumberKind),
}

/// How a column is an input.
pub fn made_input(made: &MadeFeature, column: &Column) -> Result<Input, FeatureError> {
    match type_kind(column.type_oid) {
        TypeKind::Number(kind) if kind.is_time() => match made.how {
            How::Parts => Ok(Input::Number(kind)),
            _ => Err(wrong_type(column, "a number")),
        },
        _ if made.how == How::Parts => Err(wrong_type(column, "a date or a timestamp")),
        TypeKind::Number(kind) if made.array.is_none() => Ok(Input::Number(kind)),
        _ if made.array.is_some() => array_kind(column).map(Input::Array),
        _ => Err(wrong_type(column, "a number")),
    }
}
