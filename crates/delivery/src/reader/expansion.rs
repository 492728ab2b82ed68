//! Whether rows are kept in their short form, from which their entries are made at each visit, or with all entries.
//!
//! Rows that do not fit the cache are kept short, since what is not written and read back costs more than making entries. Where all rows
//! with all entries are expected to fit, the first ones decide: the time to read them with all entries is compared with the time to read
//! the short forms and make the entries. Should the rows not fit after all, later ones are kept short too. Rows of both kinds may lie side
//! by side and mean the same.

use std::hint::black_box;
use std::time::Instant;

use super::job::Expanding;
use crate::base::memory::{OutOfMemory, Room};
use crate::rows::compact::Compactor;
use crate::rows::source::Example;

/// Words of entries that are looked at: a megabyte, which no longer lies in the nearest cache of the processor.
const LOOKED_AT: usize = 1 << 18;

/// Finds short forms, while rows are to have them.
#[derive(Debug)]
pub(super) struct Expander {
    compactor: Compactor,
    /// While it is measured.
    probe: Option<Probe>,
    keeps_short: bool,
}

/// What the first rows cost.
#[derive(Debug, Default)]
struct Probe {
    /// Rows that there will be, as is expected, and words that fit the cache.
    rows: u64,
    room: usize,
    seen: u64,
    /// Words of the rows with their entries, and of the short forms.
    stored: u64,
    short: u64,
    /// Seconds that making took.
    making: f64,
    entries: Vec<u32>,
}

impl Expander {
    /// None where rows have no short form. `room`: words that fit the cache.
    pub(super) fn new(job: Expanding, room: usize) -> Option<Self> {
        let probe = job.measured.map(|rows| Probe {
            rows,
            room,
            ..Probe::default()
        });
        Some(Self {
            compactor: Compactor::new(job.form)?,
            probe,
            keeps_short: true,
        })
    }

    /// The short form of a row that has so many words with all its entries; None where it is to be kept with them.
    pub(super) fn take(
        &mut self,
        example: &Example<'_>,
        words: usize,
    ) -> Result<Option<&[u32]>, OutOfMemory> {
        if !self.keeps_short {
            return Ok(None);
        }
        let (index, value) = (example.sparse_index, example.sparse_value);
        let found = self.compactor.take(index, value)?.map(<[u32]>::len);
        if let (Some(probe), Some(short)) = (&mut self.probe, found) {
            let began = Instant::now();
            self.compactor.make_again()?;
            probe.making += began.elapsed().as_secs_f64();
            if probe.take(example, words, short)? {
                self.keeps_short = !probe.favours_entries();
                self.probe = None;
            }
        }
        Ok(self.found())
    }

    /// What `take` found.
    pub(super) fn found(&self) -> Option<&[u32]> {
        self.compactor.found().filter(|_| self.keeps_short)
    }

    /// Rows do not fit the cache.
    pub(super) fn overflow(&mut self) {
        self.probe = None;
        self.keeps_short = true;
    }
}

impl Probe {
    /// Takes a row in; whether enough have been seen.
    fn take(
        &mut self,
        example: &Example<'_>,
        stored: usize,
        short: usize,
    ) -> Result<bool, OutOfMemory> {
        self.seen += 1;
        self.stored += stored as u64;
        self.short += short as u64;
        let pairs = example.sparse_index.iter().zip(example.sparse_value);
        self.entries.room(2 * pairs.len())?;
        self.entries
            .extend(pairs.flat_map(|(index, value)| [*index, value.to_bits()]));
        Ok(self.entries.len() >= LOOKED_AT)
    }

    /// Whether rows are read faster with all their entries.
    fn favours_entries(&self) -> bool {
        let all = self.rows as f64 * self.stored as f64 / self.seen.max(1) as f64;
        if all > self.room as f64 {
            return false;
        }
        let began = Instant::now();
        let sum = self
            .entries
            .iter()
            .fold(0u32, |sum, word| sum.wrapping_add(*word));
        black_box(sum);
        let reading = began.elapsed().as_secs_f64();
        let of_short = self.short as f64 / self.entries.len().max(1) as f64;
        reading < self.making + of_short * reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::compact::{CompactForm, PartForm};

    /// So many rows are taken; how many are kept short.
    fn kept_short(measured: Option<u64>, room: usize, rows: usize, overflow_at: usize) -> usize {
        let kept = [Some((0, PartForm::Counts)), None, None, None];
        let form = CompactForm { parts: 1, kept };
        let mut expander = Expander::new(Expanding { form, measured }, room).unwrap();
        let index: Vec<u32> = (0..1024).map(|at| 3 * at).collect();
        let value = vec![(1.0 / 32.0) as f32; index.len()];
        let example = Example {
            offset: None,
            group: 0,
            cost: 1.0,
            rows: 1.0,
            dense: &[],
            sparse_index: &index,
            sparse_value: &value,
            rounded: false,
        };
        let mut kept = 0;
        for row in 0..rows {
            if row == overflow_at {
                expander.overflow();
            }
            let short = expander.take(&example, 2056).unwrap().is_some();
            assert_eq!(short, expander.found().is_some());
            kept += usize::from(short);
        }
        kept
    }

    #[test]
    fn rows_that_do_not_fit_are_kept_short() {
        assert_eq!(kept_short(None, 0, 200, 999), 200);
        assert_eq!(kept_short(Some(1000), 100_000, 300, 999), 300);
    }

    #[test]
    fn rows_that_fit_are_kept_as_is_faster_until_they_do_not() {
        // counting bytes takes longer than reading words
        let kept = kept_short(Some(300), 1 << 30, 300, 999);
        assert!(kept == 127 || kept == 300, "{kept}");
        let with_overflow = kept_short(Some(300), 1 << 30, 300, 200);
        assert!(with_overflow >= 227, "{with_overflow}");
    }
}
