//! Rows as a training visits them, wherever they are stored: in the slots of a page, or in a batch as it came.
//!
//! Solver and training have rows from here and from nowhere else, so that a [`RowMap`] stands between what is stored and
//! what is visited; what only moves rows from one place to another has them from [`Page`] and [`Batch`].

use crate::batch::Batch;
use crate::map::{Identity, RowMap};
use crate::page::Page;
use crate::row::Row;
use std::ops::Range;

/// The rows of a page.
pub struct VisitedPage<'a, M = Identity> {
    /// What they are made of, which prefetching asks for.
    pub stored: Page<'a>,
    map: &'a M,
}

impl<M> Clone for VisitedPage<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for VisitedPage<'_, M> {}

impl<'a> VisitedPage<'a> {
    /// Its rows as they are stored.
    #[inline(always)]
    pub fn as_stored(page: Page<'a>) -> Self {
        Self::mapped(page, &Identity)
    }
}

impl<'a, M: RowMap> VisitedPage<'a, M> {
    /// What this map makes of its rows.
    #[inline(always)]
    pub fn mapped(stored: Page<'a>, map: &'a M) -> Self {
        Self { stored, map }
    }

    #[inline(always)]
    pub fn slots(&self) -> usize {
        self.stored.slots()
    }

    /// The row in a slot, dead or not.
    #[inline(always)]
    pub fn row(&self, slot: usize) -> Row<'a> {
        self.map.visited(self.stored.peek_row(slot))
    }

    /// The row in a slot unless it is dead.
    #[inline(always)]
    pub fn live(&self, slot: usize) -> Option<Row<'a>> {
        self.stored.row(slot).map(|row| self.map.visited(row))
    }
}

/// The rows of a batch.
pub struct VisitedBatch<'a, M = Identity> {
    stored: Batch<'a>,
    map: &'a M,
}

impl<M> Clone for VisitedBatch<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self {
            stored: self.stored.clone(),
            map: self.map,
        }
    }
}

impl<'a> VisitedBatch<'a> {
    /// Its rows as they are stored.
    #[inline(always)]
    pub fn as_stored(stored: Batch<'a>) -> Self {
        Self {
            stored,
            map: &Identity,
        }
    }
}

impl<'a, M: RowMap> VisitedBatch<'a, M> {
    /// The row that comes next, which stays the next.
    #[inline(always)]
    pub fn peek(&self) -> Option<Row<'a>> {
        self.stored.peek().map(|row| self.map.visited(row))
    }
}

impl<'a, M: RowMap> Iterator for VisitedBatch<'a, M> {
    type Item = Row<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a>> {
        self.stored.next().map(|row| self.map.visited(row))
    }
}

/// A run of rows from either.
pub enum VisitedRows<'a, M = Identity> {
    Slots {
        page: VisitedPage<'a, M>,
        slots: Range<usize>,
    },
    Batch {
        batch: VisitedBatch<'a, M>,
        /// How many have been looked at.
        count: &'a mut usize,
    },
}

impl<'a, M: RowMap> Iterator for VisitedRows<'a, M> {
    type Item = Row<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a>> {
        match self {
            Self::Slots { page, slots } => match slots.start < slots.end {
                true => {
                    slots.start += 1;
                    Some(page.row(slots.start - 1))
                }
                false => None,
            },
            Self::Batch { batch, count } => {
                let row = batch.next()?;
                **count += 1;
                Some(row)
            }
        }
    }
}
