//! Rows asked for in advance, so that they are in the processor's cache when their turn comes.
//!
//! Blocks are visited in shuffled order, and no processor guesses where the next one lies. A short row is asked for a
//! block ahead, while the same place of the block before it is visited; of a long row the processor guesses the rest
//! once it has seen the beginning, so it is asked for one row ahead, the first of a block while the last of the block before
//! it is visited.

use crate::kernel::prefetch;
use crate::page::Page;
use crate::row::Row;

/// Rows up to this many words are short.
const SHORT_WORDS: usize = 192;
/// Cache lines of a long row to ask for.
const LINES: usize = 64;

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

    /// Asks for something while `row` is visited; `left` are the rows after it in the block that begins at `first`.
    #[inline(always)]
    pub(super) fn fetch(&mut self, row: &Row<'_>, first: usize, left: u32) {
        if row.values() <= SHORT_WORDS {
            self.one();
        } else if left != 0 {
            let next = first + left.trailing_zeros() as usize;
            prefetch(self.page.peek_words(next), LINES);
        } else if self.left != 0 {
            prefetch(self.next(), LINES);
            self.asked = true;
        }
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
