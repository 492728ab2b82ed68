//! Rows of which an index has kept what they were decoded to: number columns, arrays of numbers and lists come from there, all
//! else from the row itself.

use super::decode::{check_length, check_row, Decoder};
use super::error::FeatureError;
use super::part::Part;
use core::ops::Range;
use pgsvm_core::memory::{OutOfMemory, Room};
use serde::{Deserialize, Serialize};

/// By place among a decoder's parts, where its values stand in what is kept of a row.
#[derive(Default)]
pub struct KeptPlaces {
    /// The numbers of its columns; none for a part that is no number.
    numbers: Vec<Vec<Range<usize>>>,
    /// The number of its list, where it has one that is kept.
    lists: Vec<Option<usize>>,
}

/// What is kept of a row. No NULL is among the numbers; of a list that has one nothing is kept.
#[derive(Clone, Copy)]
pub struct KeptRow<'a> {
    pub places: &'a KeptPlaces,
    pub numbers: KeptNumbers<'a>,
    pub lists: &'a dyn KeptLists,
}

/// Values in 32 bits where these hold them all, else in 64.
#[derive(Clone, Copy)]
pub enum Narrowed<'a, N, W> {
    Narrow(&'a [N]),
    Wide(&'a [W]),
}

pub type KeptNumbers<'a> = Narrowed<'a, f32, f64>;

/// The indices and values of a sparse part, as many of each.
pub type KeptPairs<'a> = (Narrowed<'a, u32, u64>, KeptNumbers<'a>);

/// The lists of a row.
pub trait KeptLists {
    /// The pairs of the list of this number; None where they are not kept.
    fn pairs(&self, list: usize) -> Option<KeptPairs<'_>>;
}

/// What the values of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    /// Indices with a value each.
    Pairs,
}

/// A part whose list may be kept: of which kind, and the places in a row of the columns that it is read from, of which there are
/// one or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    pub kind: ListKind,
    pub first: usize,
    pub second: Option<usize>,
}

impl List {
    pub(super) fn of(part: &Part) -> Option<Self> {
        let (kind, first, second) = match part {
            Part::Sparse { index, value } => (ListKind::Pairs, index.0, Some(value.0)),
            Part::Libsvm { at } | Part::Sparsevec { at } => (ListKind::Pairs, *at, None),
            _ => return None,
        };
        Some(Self {
            kind,
            first,
            second,
        })
    }

    /// The columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        core::iter::once(self.first).chain(self.second)
    }
}

impl KeptNumbers<'_> {
    /// Appends them.
    #[inline]
    pub(super) fn append(&self, out: &mut Vec<f64>) -> Result<(), OutOfMemory> {
        match self {
            Self::Narrow(numbers) => out
                .room(numbers.len())?
                .extend(numbers.iter().copied().map(f64::from)),
            Self::Wide(numbers) => out.room(numbers.len())?.extend_from_slice(numbers),
        }
        Ok(())
    }

    #[inline]
    fn part(&self, range: Range<usize>) -> Self {
        match self {
            Self::Narrow(numbers) => Self::Narrow(&numbers[range]),
            Self::Wide(numbers) => Self::Wide(&numbers[range]),
        }
    }
}

impl<'a> KeptRow<'a> {
    /// Appends the numbers of the part at this place.
    #[inline]
    pub(super) fn append(&self, place: usize, out: &mut Vec<f64>) -> Result<(), FeatureError> {
        for range in &self.places.numbers[place] {
            self.numbers.part(range.clone()).append(out)?;
        }
        Ok(())
    }

    /// The pairs of the part at this place, where they are kept.
    #[inline]
    pub(super) fn pairs(&self, place: usize) -> Option<KeptPairs<'a>> {
        self.lists.pairs(self.places.lists[place]?)
    }
}

/// The columns of a part whose numbers may be kept.
fn columns(part: &Part) -> Range<usize> {
    match part {
        Part::Columns { at, count, .. } => *at..*at + *count,
        Part::Array { at, .. } | Part::Vector { at, .. } => *at..*at + 1,
        _ => 0..0,
    }
}

impl KeptPlaces {
    /// Whether numbers are wanted.
    pub fn has_numbers(&self) -> bool {
        self.numbers.iter().any(|ranges| !ranges.is_empty())
    }

    /// The lists that are wanted.
    pub fn lists(&self) -> impl Iterator<Item = usize> + '_ {
        self.lists.iter().copied().flatten()
    }
}

impl Decoder {
    /// The places in a row of its number columns and arrays of numbers.
    pub fn number_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.places().iter().flat_map(columns)
    }

    /// Its parts whose lists may be kept.
    pub fn lists(&self) -> impl Iterator<Item = List> + '_ {
        self.places().iter().filter_map(List::of)
    }

    /// Where what it wants stands in kept rows, in which `kept` finds the numbers of a column by its place in the row, and `list`
    /// the number of a list.
    ///
    /// # Errors
    /// The place of the first column whose numbers are not kept.
    pub fn kept_places(
        &self,
        kept: impl Fn(usize) -> Option<Range<usize>>,
        list: impl Fn(List) -> Option<usize>,
    ) -> Result<KeptPlaces, usize> {
        let places = self.places().iter().map(|part| {
            let mut ranges = Vec::<Range<usize>>::new();
            for column in columns(part) {
                let found = kept(column).ok_or(column)?;
                match ranges.last_mut() {
                    Some(last) if last.end == found.start => last.end = found.end,
                    _ => ranges.push(found),
                }
            }
            Ok::<_, usize>(ranges)
        });
        let lists = self.places().iter().map(|part| list(List::of(part)?));
        Ok(KeptPlaces {
            numbers: places.collect::<Result<_, _>>()?,
            lists: lists.collect(),
        })
    }

    /// The numbers of array part `number`, at this place among the parts.
    pub(super) fn kept_array(
        &mut self,
        number: usize,
        place: usize,
        row: &KeptRow<'_>,
        dense: &mut Vec<f64>,
    ) -> Result<(), FeatureError> {
        let most = self.most();
        let start = dense.len();
        row.append(place, dense)?;
        check_row(dense.len(), most)?;
        let count = dense.len() - start;
        let (name, length) = self.array_part(number);
        check_length(name, count, *length)?;
        *length = Some(count as u32);
        Ok(())
    }
}
