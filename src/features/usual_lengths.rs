//! How long the arrays of a column usually are, from some rows of a source. It is found out before all rows are read, so an array of
//! another length is the odd one wherever it stands, and a NULL in the first row does no harm.

use super::buffer::{FeatureBuffer, Nulls};
use super::decode::Decoder;
use super::error::FeatureError;
use super::kinds::{ArrayPart, FeaturePart};
use super::set::FeatureSet;
use crate::pg::query::Column;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

/// The arrays of a source whose lengths are not known.
pub struct UsualLengths {
    arrays: Vec<MeasuredLength>,
    buffer: FeatureBuffer,
}

/// One of them, by the number of its part.
struct MeasuredLength {
    number: usize,
    alone: FeatureSet,
    decoder: Decoder,
    /// Lengths in the order in which they were met, and how often that was.
    lengths: Vec<(u32, u64)>,
}

impl UsualLengths {
    /// For rows with these columns; None where all lengths are known.
    pub fn new(features: &FeatureSet, columns: &[Column]) -> Result<Option<Self>, FeatureError> {
        let mut arrays = Vec::new();
        for (number, part) in features.parts.iter().enumerate() {
            if !is_unknown(part) {
                continue;
            }
            let alone = FeatureSet::of(vec![part.clone()]);
            arrays.room(1)?.push(MeasuredLength {
                number,
                decoder: Decoder::new(&alone, columns, Nulls::Skip)?,
                alone,
                lengths: Vec::new(),
            });
        }
        Ok((!arrays.is_empty()).then(|| Self {
            arrays,
            buffer: FeatureBuffer::default(),
        }))
    }

    /// Looks at a row. What is wrong with it is for the reader to say.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    pub unsafe fn take(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
    ) -> Result<(), OutOfMemory> {
        for array in &mut self.arrays {
            array.decoder.know(array.alone.copied()?);
            // SAFETY: as the caller promises.
            let decoded = unsafe { array.decoder.decode(values, nulls, &mut self.buffer) };
            let met = decoded
                .ok()
                .and_then(|()| length(&array.decoder.learned().parts[0]));
            let Some(met) = met else { continue };
            match array.lengths.iter_mut().find(|(known, _)| *known == met) {
                Some((_, count)) => *count += 1,
                None => array.lengths.room(1)?.push((met, 1)),
            }
        }
        Ok(())
    }

    /// Sets the lengths: the usual one of each array or, unless `usual`, that of the first row that has one.
    pub fn finish(self, features: &mut FeatureSet, usual: bool) {
        for array in self.arrays {
            let most = array.lengths.iter().map(|(_, count)| *count).max();
            let mut met = array.lengths.iter();
            let found = met.find(|(_, count)| !usual || Some(*count) == most);
            if let (Some((found, _)), part) = (found, &mut features.parts[array.number]) {
                set_length(part, *found);
            }
        }
    }
}

/// Whether a part is an array, or made of one, whose length is not known.
fn is_unknown(part: &FeaturePart) -> bool {
    match part.made() {
        Some(made) => made.array == Some(0),
        None => part.width().is_none(),
    }
}

/// How long the column's array is, where that is known.
fn length(part: &FeaturePart) -> Option<u32> {
    match part.made() {
        Some(made) => made.array.filter(|length| *length > 0),
        None => part.width(),
    }
}

fn set_length(part: &mut FeaturePart, to: u32) {
    if let Some(made) = part.made_mut() {
        made.array.iter_mut().for_each(|length| *length = to);
    } else if let Some(ArrayPart { length, .. }) = part.as_one_mut() {
        *length = Some(to);
    }
}
