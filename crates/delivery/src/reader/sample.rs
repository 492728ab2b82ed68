//! A sample of packed rows. Each row draws a number, and the rows below a bar are in the sample. The bar is halved whenever the sample has
//! no room left. So samples of several parts of the rows join to a sample of all.

use serde::{Deserialize, Serialize};

use super::seen::out_of_memory;
use crate::base::memory::{list, words, Room};
use crate::base::random::{Random, Stream};
use crate::rows::batch::Batch;
use crate::rows::row;
use crate::rows::source::RowError;

/// Rows with a number below the bar, as they were packed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackedSample {
    #[serde(with = "words")]
    words: Vec<u32>,
    /// By row.
    #[serde(deserialize_with = "list")]
    drawn: Vec<f64>,
    bar: f64,
    room: usize,
    #[serde(skip, default = "numbers")]
    random: Random,
}

fn numbers() -> Random {
    Random::new(0, Stream::Sample)
}

impl PackedSample {
    /// With room for so many words.
    pub(super) fn new(room: usize, seed: u64) -> Self {
        Self {
            words: Vec::new(),
            drawn: Vec::new(),
            bar: 1.0,
            room,
            random: Random::new(seed, Stream::Sample),
        }
    }

    /// Has room for so many words at least.
    pub(super) fn widen(&mut self, room: usize) {
        self.room = self.room.max(room);
    }

    /// Whether it has its rows, with so many dense features and features in all, of groups below that one.
    pub(super) fn is_sound(&self, dense: usize, features: usize, groups: usize) -> bool {
        let mut rest = &self.words[..];
        let all_rows = self.drawn.iter().all(|_| {
            let row = row::Row::checked(rest, dense, features, groups);
            rest = &rest[row.map_or(0, |row| row.values())..];
            row.is_some()
        });
        all_rows && rest.is_empty()
    }

    /// The rows, one behind the other.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(super) fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// Takes a packed row, where it is to be in the sample.
    pub(super) fn take(&mut self, row: &[u32], dense: usize) -> Result<(), RowError> {
        if let Some(words) = self.wants(row.len(), dense)? {
            words.copy_from_slice(row);
        }
        Ok(())
    }

    /// Room for a row of so many words, where it is to be in the sample.
    pub(super) fn wants(
        &mut self,
        length: usize,
        dense: usize,
    ) -> Result<Option<&mut [u32]>, RowError> {
        let drawn = self.random.unit();
        if drawn >= self.bar {
            return Ok(None);
        }
        while self.words.len() + length > self.room && self.bar > f64::MIN_POSITIVE {
            self.lower(0.5 * self.bar, dense);
        }
        if drawn >= self.bar {
            return Ok(None);
        }
        let from = self.words.len();
        let words = self.words.room(length);
        words
            .map_err(|_| out_of_memory(length))?
            .resize(from + length, 0);
        let drawn_of_all = self.drawn.room(1).map_err(|_| out_of_memory(2))?;
        drawn_of_all.push(drawn);
        Ok(Some(&mut self.words[from..]))
    }

    /// Keeps what is below this bar.
    fn lower(&mut self, bar: f64, dense: usize) {
        self.bar = bar;
        let (mut from, mut to, mut kept) = (0, 0, 0);
        for at in 0..self.drawn.len() {
            let length = row::Row::new(&self.words[from..], dense).values();
            if self.drawn[at] < bar {
                self.words.copy_within(from..from + length, to);
                self.drawn[kept] = self.drawn[at];
                (to, kept) = (to + length, kept + 1);
            }
            from += length;
        }
        self.words.truncate(to);
        self.drawn.truncate(kept);
    }

    /// Joins another sample, whose dense values are kept relative to what is further by `shift`.
    pub(super) fn join(
        &mut self,
        mut more: Self,
        dense: usize,
        shift: &[f64],
        rename: impl Fn(u32) -> u32,
    ) -> Result<(), RowError> {
        let bar = self.bar.min(more.bar);
        self.lower(bar, dense);
        more.lower(bar, dense);
        let length = more.words.len();
        let words = self.words.room(length).map_err(|_| out_of_memory(length))?;
        let from = words.len();
        words.extend_from_slice(&more.words);
        let drawn = self.drawn.room(more.drawn.len());
        let drawn = drawn.map_err(|_| out_of_memory(2 * more.drawn.len()))?;
        drawn.extend_from_slice(&more.drawn);
        let mut place = from;
        while place < self.words.len() {
            let row = &mut self.words[place..];
            let length = Batch::new(row, dense).next().map_or(1, |it| it.values());
            row::rename_group(row, &rename);
            row::shift_dense(row, shift);
            place += length;
        }
        while self.words.len() > self.room && self.bar > f64::MIN_POSITIVE {
            self.lower(0.5 * self.bar, dense);
        }
        Ok(())
    }
}
