//! Rows asked for in advance, so that they are in the processor's cache when their turn comes.
//!
//! Blocks are visited in shuffled order, and of many only some rows: no processor guesses where the next one lies. A short row
//! is asked for some visits ahead, all of it. A long row is asked for one visit ahead, between the numbers of that visit, or
//! two where rows are visited two at a time.
//! Before that it has been asked for from farther away, some visits ahead and into the second cache: the first one's lines
//! come a few at a time, and a row takes less time than its memory takes to answer.
//!
//! Where weights are scattered over memory ([`crate::solver::visit::visitor::scattered`]) every row goes the way of a long one: its weights
//! can be asked for one visit ahead, since its words have come by then.

use crate::base::prefetch::{prefetch, LINE_BYTES};
use crate::rows::blocks::Blocks;
use crate::simd::Next;

/// Rows up to this many words are short.
const SHORT_WORDS: usize = 96;
/// Visits from a short row's request to its own.
const SHORT_AHEAD: usize = 16;
/// Cache lines of a long row to ask for.
const LINES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / size_of::<u32>();
/// Long rows are asked for from farther away when so many words lie before them, at least two rows and at most so many.
const FAR_WORDS: usize = 3072;
const FAR_ROWS: usize = 8;
/// Blocks from the walk to the one that it will look up rows of.
const ENTRIES_AHEAD: usize = 1;

/// A walk over the rows that are visited, some visits ahead of these.
///
/// `to_visit` says of the block at a place which row is its first, and has a bit for each that will be visited. Visits may
/// change that only for blocks that they have come to.
pub(in crate::solver) struct Ahead<'a> {
    blocks: Blocks<'a>,
    /// The next block of the walk, and of the one before it the first row and a bit for each row that is left.
    place: usize,
    first: usize,
    left: u32,
    short: bool,
    /// The long row of the n-th visit, at n modulo their number, from those begun to those that the walk has come to.
    rows: [&'a [u32]; FAR_ROWS],
    begun: usize,
    walked: usize,
    /// Visits from a long row's last request to its own.
    near: usize,
}

impl<'a> Ahead<'a> {
    /// `scattered`: weights are; `two`: rows are visited two at a time.
    #[inline(always)]
    pub(in crate::solver) fn new(
        blocks: Blocks<'a>,
        scattered: bool,
        two: bool,
        to_visit: impl Fn(usize) -> (usize, u32),
    ) -> Self {
        let words = blocks.page.stored.mean_words();
        let short = words <= SHORT_WORDS && !scattered;
        let near = if two { 2 } else { 1 };
        let ahead = match short {
            true => SHORT_AHEAD,
            false => (FAR_WORDS / words.max(1)).clamp(2 * near, FAR_ROWS),
        };
        let mut this = Self {
            blocks,
            place: 0,
            first: 0,
            left: 0,
            short,
            rows: [&[]; FAR_ROWS],
            begun: 0,
            walked: 0,
            near,
        };
        for _ in 0..ahead {
            this.walk(&to_visit);
        }
        this
    }

    /// One row farther, if there is one.
    #[inline(always)]
    fn walk(&mut self, to_visit: impl Fn(usize) -> (usize, u32)) -> &'a [u32] {
        while self.left == 0 {
            if self.place == self.blocks.numbers.len() {
                return &[];
            }
            (self.first, self.left) = to_visit(self.place);
            self.place += 1;
            let soon = self.place + ENTRIES_AHEAD;
            if soon < self.blocks.numbers.len() {
                let (slot, rows) = self.blocks.rows(soon);
                let count = rows.count_ones() as usize;
                self.blocks.page.stored.prefetch_entries(slot, count);
            }
        }
        let slot = self.first + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        let words = some(self.blocks.page.stored.peek_words(slot));
        match self.short {
            true => prefetch(words, LINES),
            false => self.rows[self.walked % FAR_ROWS] = words,
        }
        self.walked += 1;
        words
    }

    /// The next visit begins. Gives back what is to be asked for between the row's numbers.
    #[inline(always)]
    pub(in crate::solver) fn next(&mut self, to_visit: impl Fn(usize) -> (usize, u32)) -> Next<'a> {
        let far = self.walk(to_visit);
        self.begun += 1;
        if self.short {
            return Next::NONE;
        }
        let near = self.begun + self.near - 1;
        let near = match near < self.walked {
            true => self.rows[near % FAR_ROWS],
            false => &[],
        };
        Next { near, far }
    }

    /// The same for callers that ask part by part.
    #[inline(always)]
    pub(in crate::solver) fn coming(
        &mut self,
        to_visit: impl Fn(usize) -> (usize, u32),
    ) -> Coming<'a> {
        Coming(self.next(to_visit))
    }
}

/// As many of a row's words as are asked for.
#[inline(always)]
fn some(words: &[u32]) -> &[u32] {
    &words[..words.len().min(LINES * LINE_WORDS)]
}

/// Long rows that are asked for part by part, between the numbers of several products.
pub(in crate::solver) struct Coming<'a>(Next<'a>);

impl<'a> Coming<'a> {
    /// No row.
    #[inline(always)]
    pub(in crate::solver) fn none() -> Self {
        Self(Next::NONE)
    }

    /// The row of these words, and, from farther away, that of those.
    #[inline(always)]
    pub(in crate::solver) fn new(near: &'a [u32], far: &'a [u32]) -> Self {
        Self(Next {
            near: some(near),
            far: some(far),
        })
    }

    /// One of so many parts of what is left, to be asked for by the caller.
    #[inline(always)]
    pub(in crate::solver) fn part(&mut self, parts: usize) -> Next<'a> {
        let Next { near, far } = &mut self.0;
        Next {
            near: split(near, parts),
            far: split(far, parts),
        }
    }

    /// The words of the row that comes next, as far as they have not been asked for.
    #[inline(always)]
    pub(in crate::solver) fn near(&self) -> &'a [u32] {
        self.0.near
    }

    /// Asks for what is left.
    #[inline(always)]
    pub(in crate::solver) fn rest(&mut self) {
        self.part(1).ask_from(0);
    }
}

/// Takes one of so many parts of these words, in whole lines.
#[inline(always)]
fn split<'a>(words: &mut &'a [u32], parts: usize) -> &'a [u32] {
    let lines = words.len().div_ceil(LINE_WORDS).div_ceil(parts);
    let (part, rest) = words.split_at(words.len().min(lines * LINE_WORDS));
    *words = rest;
    part
}
