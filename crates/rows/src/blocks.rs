//! Rows of a page in the order in which they are visited.

use crate::map::{Identity, RowMap};
use crate::visited::VisitedPage;

/// Blocks of consecutive rows of the arena, in the order in which they are visited.
pub struct Blocks<'a, M = Identity> {
    pub page: VisitedPage<'a, M>,
    pub numbers: &'a [u32],
    /// Rows of a block.
    pub width: usize,
}

impl<M> Clone for Blocks<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Blocks<'_, M> {}

impl<'a, M: RowMap> Blocks<'a, M> {
    /// The first row of the block at `place`, and a bit for each of its rows.
    #[inline(always)]
    pub fn rows(&self, place: usize) -> (usize, u32) {
        let first = self.numbers[place] as usize * self.width;
        let rows = self.width.min(self.page.slots() - first);
        (first, (1u32 << rows) - 1)
    }

    /// The same blocks of what is stored, for whoever only asks for it.
    #[inline(always)]
    pub fn stored(&self) -> Blocks<'a> {
        Blocks {
            page: VisitedPage::as_stored(self.page.stored),
            numbers: self.numbers,
            width: self.width,
        }
    }
}
