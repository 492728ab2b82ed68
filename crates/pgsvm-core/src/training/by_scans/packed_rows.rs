//! Packed rows in memory, as the source of a training of their own.

use crate::base::memory::{OutOfMemory, Room};
use crate::objective::plan::drawn_fold;
use crate::reader::ReadError;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError, Source, Spool};
use crate::training::error::TrainError;

/// Rows that are read in a step.
pub(super) const ROWS_A_STEP: usize = 1024;
/// Of the cache beside the rows: its ends, and what rounding takes.
const CACHE_BESIDE_ROWS: usize = 256 << 10;

/// Bytes of a cache for so many rows of so many bytes.
pub(super) fn room_for(rows: usize, bytes: usize) -> usize {
    bytes + 8 * rows + CACHE_BESIDE_ROWS
}

/// What went wrong while they were read.
pub(super) fn reading(error: ReadError<RowError, OutOfMemory>) -> TrainError {
    match error {
        ReadError::Source(RowError::OutOfMemory { bytes })
        | ReadError::Row(RowError::OutOfMemory { bytes })
        | ReadError::Spool(OutOfMemory { bytes }) => TrainError::OutOfMemory { bytes },
        // they have all been taken once
        _ => TrainError::ReaderFailed,
    }
}

/// Some of the rows, scaled already, each in a fold that is drawn for it.
pub(super) struct PackedRows {
    words: Vec<u32>,
    /// The word from which on rows are still to come.
    from: usize,
    dense: usize,
    stands_for: f64,
    positive: usize,
    folding: Folding,
    /// Rows of each class so far.
    of_class: Vec<u64>,
    example: Parts,
}

/// In which folds the rows are.
#[derive(Clone, Copy)]
pub(super) enum Folding {
    /// In those that they come with.
    Known,
    /// Drawn by this seed, in so many.
    Drawn(u64, u32),
}

/// The values of a row, kept from row to row.
#[derive(Default)]
struct Parts {
    dense: Vec<f64>,
    index: Vec<u32>,
    value: Vec<f32>,
}

impl Parts {
    fn take(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        let Self {
            dense,
            index,
            value,
        } = self;
        dense.clear();
        index.clear();
        value.clear();
        let values = row.dense().iter().map(|value| f64::from(*value));
        dense.room(row.dense().len())?.extend(values);
        let (features, entries) = (dense.len() as u32, row.sparse());
        index
            .room(entries.len())?
            .extend(entries.iter().map(|[feature, _]| feature - features));
        value
            .room(entries.len())?
            .extend(entries.iter().map(|[_, bits]| f32::from_bits(*bits)));
        Ok(())
    }
}

impl PackedRows {
    /// `rows` of all rows: each stands for as many as there are for one of them.
    pub(super) fn new(words: Vec<u32>, all: &Facts, rows: usize, folding: Folding) -> Self {
        Self {
            words,
            from: 0,
            dense: all.dense,
            stands_for: all.rows as f64 / rows.max(1) as f64,
            positive: all.positive,
            folding,
            of_class: Vec::new(),
            example: Parts::default(),
        }
    }

    /// The rows once more.
    pub(super) fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// The group of the next row, which has come with this one: its class and fold. The two sides of a row whose label is a number are held
    /// out together.
    fn group(&mut self, (class, has_target): (usize, bool)) -> Result<u32, OutOfMemory> {
        let Folding::Drawn(seed, folds) = self.folding else {
            return Ok(class as u32);
        };
        if class >= self.of_class.len() {
            let more = class + 1 - self.of_class.len();
            self.of_class.room(more)?.resize(class + 1, 0);
        }
        let nth = &mut self.of_class[class];
        let fold = drawn_fold(seed, if has_target { 0 } else { class as u32 }, *nth, folds);
        *nth += 1;
        Ok(class as u32 * folds + fold)
    }
}

impl Source for PackedRows {
    type Error = RowError;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, RowError> {
        let memory = |OutOfMemory { bytes }| RowError::OutOfMemory { bytes };
        for _ in 0..rows {
            if self.from == self.words.len() {
                return Ok(false);
            }
            let row = Row::new(&self.words[self.from..], self.dense);
            let (class, cost, length) = (row.group(), row.cost(), row.values());
            self.example.take(&row).map_err(memory)?;
            let offset = row.has_offset().then(|| row.offset());
            let group = self.group((class, offset.is_some())).map_err(memory)?;
            self.from += length;
            let rows = f64::from(cost) * self.stands_for;
            sink(&Example {
                group,
                cost: (rows as f32).clamp(f32::MIN_POSITIVE, f32::MAX),
                rows,
                offset,
                dense: &self.example.dense,
                sparse_index: &self.example.index,
                sparse_value: &self.example.value,
                rounded: false,
            })?;
        }
        Ok(self.from < self.words.len())
    }

    fn positive(&self) -> usize {
        self.positive
    }
}

/// Where rows would go that do not fit: the cache is made for all of them.
pub(super) struct NoSpool;

impl Spool for NoSpool {
    type Error = OutOfMemory;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, OutOfMemory> {
        Err(none(bytes))
    }

    fn read(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), OutOfMemory> {
        Err(none(bytes))
    }
}

fn none(bytes: &[u8]) -> OutOfMemory {
    OutOfMemory {
        bytes: bytes.len() as u64,
    }
}
