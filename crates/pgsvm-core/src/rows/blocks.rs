//! Rows of a page in the order in which they are visited.

use crate::rows::page::Page;

/// Blocks of consecutive rows of the arena, in the order in which they are visited.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) page: Page<'a>,
    pub(crate) numbers: &'a [u32],
    /// Rows of a block.
    pub(crate) width: usize,
}

impl Blocks<'_> {
    /// The first row of the block at `place`, and a bit for each of its rows.
    #[inline(always)]
    pub(crate) fn rows(&self, place: usize) -> (usize, u32) {
        let first = self.numbers[place] as usize * self.width;
        let rows = self.width.min(self.page.slots() - first);
        (first, (1u32 << rows) - 1)
    }
}
