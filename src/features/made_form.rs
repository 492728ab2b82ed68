//! What is made of numbers, as models store it. Pure.

use super::kinds::reads::{ReadAs, ReadColumn};
use super::quoted::quoted;
use pgsvm_core::memory::{list, received};
use pgsvm_expand::numbers::{self, How, MOST_MADE};
use serde::{Deserialize, Serialize};

/// What is made of a column, or of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
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

impl Made {
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
