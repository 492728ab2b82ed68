//! Rows whose numbers were kept when they were decoded before: number columns and arrays of numbers come from there, all else
//! from the row itself.

use super::decode::{check_length, check_row, Decoder};
use super::error::FeatureError;
use super::part::Part;
use core::ops::Range;
use pgsvm_core::memory::Room;

/// By place among a decoder's parts, where the numbers of its columns stand in a kept row; none for one that is no number.
#[derive(Default)]
pub struct KeptPlaces(Vec<Vec<Range<usize>>>);

/// The numbers of a row, as they were decoded: no NULL is among them.
#[derive(Clone, Copy)]
pub struct KeptRow<'a> {
    pub places: &'a KeptPlaces,
    pub numbers: KeptNumbers<'a>,
}

/// In 32 bits where these hold them all.
#[derive(Clone, Copy)]
pub enum KeptNumbers<'a> {
    Narrow(&'a [f32]),
    Wide(&'a [f64]),
}

impl KeptRow<'_> {
    /// Appends the numbers of the part at this place.
    #[inline]
    pub(super) fn append(&self, place: usize, out: &mut Vec<f64>) -> Result<(), FeatureError> {
        for range in &self.places.0[place] {
            let (range, room) = (range.clone(), out.room(range.len())?);
            match self.numbers {
                KeptNumbers::Narrow(numbers) => {
                    room.extend(numbers[range].iter().copied().map(f64::from));
                }
                KeptNumbers::Wide(numbers) => room.extend_from_slice(&numbers[range]),
            }
        }
        Ok(())
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

impl Decoder {
    /// The places in a row of its number columns and arrays of numbers.
    pub fn number_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.places().iter().flat_map(columns)
    }

    /// Where the numbers that it wants stand in kept rows, in which `kept` finds those of a column by its place in the row.
    ///
    /// # Errors
    /// The place of the first column whose numbers are not kept.
    pub fn kept_places(
        &self,
        kept: impl Fn(usize) -> Option<Range<usize>>,
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
        places.collect::<Result<_, _>>().map(KeptPlaces)
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
