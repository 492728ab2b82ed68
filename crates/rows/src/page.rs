//! A run of words that holds rows from the front and their offsets from the back.
//!
//! The arena of data that fit the cache is one page; the working set is many small ones.
//! Words 0..4: number of slots, quads in use, quads of live rows, unused. Slot k is word len-1-k:
//! the row's offset in quads, its top bit set once the row is dead.

use crate::row::{Row, QUAD};
use pgsvm_base::prefetch::prefetch;

const SLOTS: usize = 0;
const USED: usize = 1;
const LIVE: usize = 2;
const DEAD: u32 = 1 << 31;

/// Words a page takes besides its rows: the header, and one for each row's slot.
pub const PAGE_HEADER_WORDS: usize = QUAD;
/// The largest page: offsets are 31 bits of quads.
pub const PAGE_MAX_WORDS: usize = (DEAD as usize) * QUAD;

/// A page that is only read.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    words: &'a [u32],
    dense: usize,
}

impl<'a> Page<'a> {
    #[inline(always)]
    pub fn new(words: &'a [u32], dense: usize) -> Self {
        Self { words, dense }
    }

    /// Slots given out, dead ones included.
    #[inline(always)]
    pub fn slots(&self) -> usize {
        self.words[SLOTS] as usize
    }

    /// The row in a slot unless it is dead.
    #[inline(always)]
    pub fn row(&self, slot: usize) -> Option<Row<'a>> {
        let entry = self.words[self.words.len() - 1 - slot];
        (entry & DEAD == 0).then(|| Row::new(&self.words[entry as usize * QUAD..], self.dense))
    }

    /// The first word of a slot's row, dead or not, for prefetching.
    #[inline(always)]
    pub fn peek(&self, slot: usize) -> &'a [u32] {
        let entry = self.words[self.words.len() - 1 - slot] & !DEAD;
        &self.words[entry as usize * QUAD..]
    }

    /// About the words of a slot's row, without looking at them: up to where the next row starts.
    #[inline(always)]
    pub fn peek_words(&self, slot: usize) -> &'a [u32] {
        let words = self.peek(slot);
        let next = slot + 1;
        if next >= self.slots() {
            return &words[..QUAD];
        }
        let length = self.peek(next).as_ptr() as usize - words.as_ptr() as usize;
        &words[..(length / 4).min(words.len())]
    }

    /// Words of a row, on average over the slots.
    #[inline(always)]
    pub fn mean_words(&self) -> usize {
        self.words[USED] as usize * QUAD / self.slots().max(1)
    }

    /// Asks the processor for the entries of `count` slots, no more than a line holds, and of the one behind them, by which
    /// the words of the last one end.
    #[inline(always)]
    pub fn prefetch_entries(&self, first: usize, count: usize) {
        let entry = self.words.len() - 1 - first;
        prefetch(&self.words[entry..], 1);
        prefetch(&self.words[entry.saturating_sub(count)..], 1);
    }

    /// The row in a slot, dead or not.
    #[inline(always)]
    pub(crate) fn peek_row(&self, slot: usize) -> Row<'a> {
        Row::new(self.peek(slot), self.dense)
    }

    /// The words between rows and slots.
    #[inline]
    pub fn spare(&self) -> &'a [u32] {
        let end = self.words.len() - self.slots();
        &self.words[(self.words[USED] as usize * QUAD).min(end)..end]
    }

    /// Words of live rows.
    #[inline]
    pub fn live_words(&self) -> usize {
        self.words[LIVE] as usize * QUAD
    }
}

/// A page that is written.
pub struct PageMut<'a> {
    words: &'a mut [u32],
    dense: usize,
}

impl<'a> PageMut<'a> {
    /// An empty page in `words`.
    #[inline]
    pub fn create(words: &'a mut [u32], dense: usize) -> Self {
        words[..PAGE_HEADER_WORDS].copy_from_slice(&[0, 1, 0, 0]);
        Self { words, dense }
    }

    /// The page that `words` hold already.
    #[inline]
    pub fn open(words: &'a mut [u32], dense: usize) -> Self {
        Self { words, dense }
    }

    #[inline]
    pub fn read(&self) -> Page<'_> {
        Page::new(self.words, self.dense)
    }

    /// Room for a row of `length` words (whole quads) in a new slot, or None when the page is full.
    #[inline]
    pub fn push(&mut self, length: usize) -> Option<&mut [u32]> {
        let slots = self.words[SLOTS] as usize;
        let from = self.words[USED] as usize * QUAD;
        let limit = self.words.len() - 1 - slots;
        if from + length > limit {
            return None;
        }
        self.words[limit] = self.words[USED];
        self.words[SLOTS] += 1;
        self.words[USED] += (length / QUAD) as u32;
        self.words[LIVE] += (length / QUAD) as u32;
        Some(&mut self.words[from..from + length])
    }

    /// The words between rows and slots: whoever takes them pushes no more rows.
    #[inline]
    pub fn spare_mut(&mut self) -> &mut [u32] {
        let end = self.words.len() - self.read().slots();
        let from = (self.words[USED] as usize * QUAD).min(end);
        &mut self.words[from..end]
    }

    /// The words of the row in a slot.
    #[inline]
    pub fn row_words_mut(&mut self, slot: usize) -> &mut [u32] {
        let from = (self.words[self.words.len() - 1 - slot] & !DEAD) as usize * QUAD;
        let length = Row::new(&self.words[from..], self.dense).words().len();
        &mut self.words[from..from + length]
    }

    /// Marks the row in a slot dead; its room is regained by [`Self::compact`].
    #[inline]
    pub fn kill(&mut self, slot: usize) {
        if let Some(row) = self.read().row(slot) {
            let quads = (row.words().len() / QUAD) as u32;
            self.words[LIVE] -= quads;
            let entry = self.words.len() - 1 - slot;
            self.words[entry] |= DEAD;
        }
    }

    /// Moves the live rows together, in order, and renumbers the slots.
    pub fn compact(&mut self) {
        let last = self.words.len() - 1;
        let (mut kept, mut used) = (0, PAGE_HEADER_WORDS);
        for slot in 0..self.words[SLOTS] as usize {
            let entry = self.words[last - slot];
            if entry & DEAD != 0 {
                continue;
            }
            let from = entry as usize * QUAD;
            let length = Row::new(&self.words[from..], self.dense).words().len();
            self.words.copy_within(from..from + length, used);
            self.words[last - kept] = (used / QUAD) as u32;
            kept += 1;
            used += length;
        }
        self.words[SLOTS] = kept as u32;
        self.words[USED] = (used / QUAD) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{row_words, write, RowHead};

    fn push(page: &mut PageMut<'_>, ordinal: u32, sparse: usize) -> bool {
        match page.push(row_words(2, sparse)) {
            Some(words) => {
                let head = RowHead {
                    offset: None,
                    ordinal,
                    group: 0,
                    cost: 1.0,
                };
                let entries: Vec<_> = (0..sparse)
                    .map(|k| (2 + k as u32, ordinal as f32))
                    .collect();
                write(words, head, 2, entries.into_iter()).fill(0);
                true
            }
            None => false,
        }
    }

    #[test]
    fn rows_come_back_in_order_and_compaction_keeps_the_living() {
        let mut words = vec![0u32; 256];
        let mut page = PageMut::create(&mut words, 2);
        let mut pushed = 0;
        while push(&mut page, pushed, pushed as usize % 4) {
            pushed += 1;
        }
        assert!(pushed > 10);
        for slot in (0..pushed as usize).step_by(2) {
            page.kill(slot);
            page.kill(slot);
        }
        let live = page.read().live_words();
        page.compact();
        assert_eq!(page.read().live_words(), live);
        let ordinals: Vec<_> = (0..page.read().slots())
            .map(|k| page.read().row(k).unwrap().ordinal() as u32)
            .collect();
        assert_eq!(
            ordinals,
            (0..pushed).filter(|k| k % 2 == 1).collect::<Vec<_>>()
        );
        assert!(push(&mut page, 99, 1));
    }
}
