//! The rows kept while streaming: pages of rows in the cache, with room made by compaction and random replacement.
//!
//! Rows have any length, so room is made page by page: a page with dead rows is compacted; when no page has enough
//! of them, a random page gives up a random part of its rows. Every member is equally likely to go.

use crate::base::bits::Bits;
use crate::base::random::Random;
use crate::cache::WorkingSetRegion;
use crate::rows::facts::Facts;
use crate::rows::page::{Page, PageMut, PAGE_HEADER_WORDS};
use crate::rows::row::Row;
use crate::training::error::TrainError;

/// Pages aimed at, rows aimed at for each, and pages there should be at least.
const PAGES: usize = 128;
const ROWS: usize = 16;
const LEAST_PAGES: usize = 8;
/// Words of the largest page unless a row needs more.
const PAGE_WORDS: usize = 64 * 1024;
/// Rows of a group, visited in order; groups are shuffled.
pub(in crate::training) const GROUP: usize = 16;
/// Share of a page's rows that make room when nothing is dead, one in this many.
const REPLACED_SHARE: usize = 4;

pub(in crate::training) struct WorkingSet {
    region: WorkingSetRegion,
    dense: usize,
    page_words: usize,
    pages: usize,
    /// Pages that have been started.
    started: usize,
    /// The page that takes new rows.
    open: usize,
    /// Ordinals of members.
    members: Bits,
    live_words: usize,
    capacity_words: usize,
    pub(in crate::training) replaced: u64,
    pub(in crate::training) evicted: u64,
}

/// The pages, to be read by any number of threads.
#[derive(Clone, Copy)]
pub(in crate::training) struct Pages<'a> {
    words: &'a [u32],
    page_words: usize,
    dense: usize,
}

impl<'a> Pages<'a> {
    #[inline(always)]
    pub(in crate::training) fn read(self, page: usize) -> Page<'a> {
        let from = page * self.page_words;
        Page::new(&self.words[from..from + self.page_words], self.dense)
    }
}

impl WorkingSet {
    pub(in crate::training) fn new(
        mut region: WorkingSetRegion,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let words = region.words().len();
        let least = facts.max_row_words + PAGE_HEADER_WORDS + 4;
        let mean_words = facts.stored_row_words.max(1);
        let row_words = mean_words + 1;
        let page_words = (words / PAGES)
            .max(ROWS * row_words + PAGE_HEADER_WORDS)
            .min(words / LEAST_PAGES)
            .min(PAGE_WORDS)
            .max(least)
            .next_multiple_of(4)
            .min(words);
        let pages = (words / page_words).max(1);
        let rows_of_page = ((page_words - PAGE_HEADER_WORDS) / row_words).max(1);
        let members = Bits::new(facts.rows).map_err(|_| TrainError::OutOfMemory {
            bytes: facts.rows as u64 / 8,
        })?;
        Ok(Self {
            region,
            dense: facts.dense,
            page_words,
            pages,
            started: 0,
            open: 0,
            members,
            live_words: 0,
            capacity_words: pages * rows_of_page * mean_words,
            replaced: 0,
            evicted: 0,
        })
    }

    fn page(&mut self, page: usize) -> PageMut<'_> {
        let from = page * self.page_words;
        PageMut::open(
            &mut self.region.words()[from..from + self.page_words],
            self.dense,
        )
    }

    pub(in crate::training) fn read(&self, page: usize) -> Page<'_> {
        self.pages().read(page)
    }

    pub(in crate::training) fn pages(&self) -> Pages<'_> {
        Pages {
            words: self.region.shared(),
            page_words: self.page_words,
            dense: self.dense,
        }
    }

    pub(in crate::training) fn len(&self) -> usize {
        self.members.ones()
    }

    pub(in crate::training) fn has(&self, ordinal: usize) -> bool {
        self.members.get(ordinal)
    }

    /// Share of the room taken by live rows.
    pub(in crate::training) fn fill(&self) -> f64 {
        self.live_words as f64 / self.capacity_words as f64
    }

    /// Words of as many rows of mean length as there is room for.
    pub(in crate::training) fn capacity_words(&self) -> usize {
        self.capacity_words
    }

    /// Keeps a row unless it is a member already.
    pub(in crate::training) fn insert(&mut self, row: &Row<'_>, random: &mut Random) {
        if self.members.get(row.ordinal()) {
            return;
        }
        if self.started == 0 || !self.put(row) {
            self.open_page(row.words().len(), random);
            if !self.put(row) {
                return;
            }
        }
        self.members.set(row.ordinal(), true);
    }

    fn put(&mut self, row: &Row<'_>) -> bool {
        let open = self.open;
        let fits = match self.page(open).push(row.words().len()) {
            Some(words) => {
                words.copy_from_slice(row.words());
                true
            }
            None => false,
        };
        if fits {
            self.live_words += row.words().len();
        }
        fits
    }

    /// Opens a page with room for a row of `length` words.
    fn open_page(&mut self, length: usize, random: &mut Random) {
        if self.started < self.pages {
            self.open = self.started;
            self.started += 1;
            let (from, dense) = (self.open * self.page_words, self.dense);
            PageMut::create(
                &mut self.region.words()[from..from + self.page_words],
                dense,
            );
            return;
        }
        let mut victim = random.below(self.pages);
        for _ in 0..3 {
            let other = random.below(self.pages);
            if self.read(other).live_words() < self.read(victim).live_words() {
                victim = other;
            }
        }
        self.open = victim;
        self.page(victim).compact();
        let wanted = (self.page_words / 8).max(length + 1);
        let mut rounds = 0;
        while self.page_words - PAGE_HEADER_WORDS < self.used_words(victim) + wanted && rounds < 64
        {
            let slots = self.read(victim).slots();
            for _ in 0..slots.div_ceil(REPLACED_SHARE) {
                let slot = random.below(slots);
                if self.drop_row(victim, slot) {
                    self.replaced += 1;
                }
            }
            self.page(victim).compact();
            rounds += 1;
        }
    }

    fn used_words(&mut self, page: usize) -> usize {
        let page = self.read(page);
        page.live_words() + page.slots()
    }

    /// Drops the row in a slot; false when it was dead already.
    fn drop_row(&mut self, page: usize, slot: usize) -> bool {
        let Some((ordinal, words)) = self
            .read(page)
            .row(slot)
            .map(|row| (row.ordinal(), row.words().len()))
        else {
            return false;
        };
        self.page(page).kill(slot);
        self.members.set(ordinal, false);
        self.live_words -= words;
        true
    }

    /// Drops an uninformative row.
    pub(in crate::training) fn evict(&mut self, page: usize, slot: usize) {
        if self.drop_row(page, slot) {
            self.evicted += 1;
        }
    }

    /// A random member, as page and slot, or None when none is found.
    pub(in crate::training) fn pick(&mut self, random: &mut Random) -> Option<(usize, usize)> {
        // pages have unlike numbers of slots, so a slot beyond a page's last one is drawn anew
        let widest = (0..self.started.min(4))
            .map(|page| self.read(page).slots())
            .max()?;
        for _ in 0..256 {
            let (page, slot) = (random.below(self.started), random.below(2 * widest));
            let page_read = self.read(page);
            if slot < page_read.slots() && page_read.row(slot).is_some() {
                return Some((page, slot));
            }
        }
        None
    }

    /// Every group of slots, as page and first slot, shuffled into `order`.
    pub(in crate::training) fn order(
        &mut self,
        order: &mut Vec<(u32, u32)>,
        random: &mut Random,
    ) -> Result<(), TrainError> {
        order.clear();
        for page in 0..self.started {
            let slots = self.read(page).slots();
            let groups = slots.div_ceil(GROUP);
            order
                .try_reserve(groups)
                .map_err(|_| TrainError::OutOfMemory {
                    bytes: 8 * groups as u64,
                })?;
            order.extend((0..groups).map(|group| (page as u32, (group * GROUP) as u32)));
        }
        random.shuffle(order);
        Ok(())
    }
}
