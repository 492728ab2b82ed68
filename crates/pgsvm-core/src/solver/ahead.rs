//! Rows asked for in advance, so that they are in the processor's cache when their turn comes.
//!
//! Blocks are visited in shuffled order, and no processor guesses where the next one lies. A short row is asked for a
//! block ahead, while the same place of the block before it is visited; of a long row the processor guesses the rest
//! once it has seen the beginning, so it is asked for one row ahead, the first of a block while the last of the block before
//! it is visited. Before that it has been asked for from farther away, some rows ahead and into the second cache: the first
//! one's lines come a few at a time, and a row takes less time than its memory takes to answer.

use crate::kernel::{prefetch, prefetch_far, LINE_BYTES};
use crate::page::Page;
use crate::row::Row;

/// Rows up to this many words are short.
const SHORT_WORDS: usize = 192;
/// Cache lines of a long row to ask for.
const LINES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / size_of::<u32>();
/// Long rows are asked for from farther away when so many words lie before them, at least two rows and at most so many.
const FAR_WORDS: usize = 1536;
const FAR_ROWS: usize = 8;

pub(super) struct Ahead<'a> {
    page: Page<'a>,
    /// The next block: its first row, and those of its rows that are still to be asked for.
    first: usize,
    left: u32,
    /// Whether the first of those, a long row, was asked for.
    asked: bool,
}

impl<'a> Ahead<'a> {
    pub(super) fn new(page: Page<'a>) -> Self {
        Self {
            page,
            first: 0,
            left: 0,
            asked: false,
        }
    }

    /// The next block begins at row `first`; a bit for each row that will be visited.
    #[inline(always)]
    pub(super) fn begin(&mut self, first: usize, rows: u32) {
        self.first = first;
        self.left = rows;
        self.asked = false;
    }

    /// Asks for something while `row` is visited; `left` are the rows after it in the block that begins at `first`. A long
    /// row is still to be asked for: the caller does so.
    #[inline(always)]
    pub(super) fn coming(&mut self, row: &Row<'_>, first: usize, left: u32) -> Coming<'a> {
        if row.values() <= SHORT_WORDS {
            self.one();
            return Coming::none();
        }
        self.ask_far(row, first, left);
        if left != 0 {
            let next = first + left.trailing_zeros() as usize;
            return Coming::new(self.page.peek_words(next));
        } else if self.left != 0 {
            self.asked = true;
            return Coming::new(self.next());
        }
        Coming::none()
    }

    /// Asks for a long row that lies some rows behind this one, if it is in this block or the next.
    #[inline(always)]
    fn ask_far(&self, row: &Row<'_>, first: usize, mut left: u32) {
        let mut next = self.left;
        for _ in 1..rows_far(row) {
            match left {
                0 => next &= next.wrapping_sub(1),
                _ => left &= left - 1,
            }
        }
        let slot = match (left, next) {
            (0, 0) => return,
            (0, next) => self.first + next.trailing_zeros() as usize,
            (left, _) => first + left.trailing_zeros() as usize,
        };
        prefetch_far(self.page.peek_words(slot), LINES);
    }

    /// The words of the first row that is still to be asked for; there is one.
    #[inline(always)]
    fn next(&self) -> &'a [u32] {
        let slot = self.first + self.left.trailing_zeros() as usize;
        self.page.peek_words(slot)
    }

    #[inline(always)]
    fn one(&mut self) {
        if self.left != 0 {
            prefetch(self.next(), LINES);
            self.left &= self.left - 1;
        }
    }

    /// Asks for what is left of the next block: all of it if its rows are short, else its first row.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        if self.left == 0 {
            return;
        }
        let next = self.next();
        if next.len() > SHORT_WORDS {
            if !self.asked {
                prefetch(next, LINES);
            }
            return;
        }
        while self.left != 0 {
            self.one();
        }
    }
}

/// How many rows ahead a long row like this one is asked for from farther away.
#[inline(always)]
fn rows_far(row: &Row<'_>) -> usize {
    (FAR_WORDS / row.values()).clamp(2, FAR_ROWS)
}

/// A long row that is asked for part by part, between other work: the processor waits for some lines at a time only, and
/// whoever asks for more than those waits as well.
pub(super) struct Coming<'a> {
    words: &'a [u32],
}

impl<'a> Coming<'a> {
    /// No row.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { words: &[] }
    }

    /// A row of these words.
    #[inline(always)]
    pub(super) fn new(words: &'a [u32]) -> Self {
        let words = &words[..words.len().min(LINES * LINE_WORDS)];
        Self { words }
    }

    /// One of so many parts of what is left, to be asked for by the caller.
    #[inline(always)]
    pub(super) fn part(&mut self, parts: usize) -> &'a [u32] {
        let lines = self.words.len().div_ceil(LINE_WORDS).div_ceil(parts);
        let words = self.words.len().min(lines * LINE_WORDS);
        let (part, rest) = self.words.split_at(words);
        self.words = rest;
        part
    }

    /// Asks for what is left.
    #[inline(always)]
    pub(super) fn rest(&mut self) {
        prefetch(self.part(1), LINES);
    }
}
