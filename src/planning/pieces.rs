//! Who fetches which piece of a table, where several processes do: a byte of shared memory for each piece says who has
//! taken it. The reader takes pieces in the table's order, one table after the other, helpers those in front of it that
//! nobody has taken.

use crate::pg::pages::Table;
use crate::pg::query::Planned;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};
use pgsvm_core::memory::list;
use serde::{Deserialize, Serialize};

/// What a piece takes on disk, about, out-of-line values included: a helper is a piece or two ahead of the reader, and what
/// it has fetched meanwhile lies in its queue.
const PIECE_BYTES: f64 = 512.0 * 1024.0;

/// Tables cut into runs of pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cut {
    #[serde(deserialize_with = "list")]
    tables: Vec<Table>,
    /// Number of the first piece of each.
    #[serde(deserialize_with = "list")]
    first: Vec<u32>,
    /// Pages of a piece.
    pages: u32,
    /// Pieces in all, 1 or more.
    count: u32,
}

impl Cut {
    /// Of the tables that a query scans from beginning to end; None for a query that does anything else.
    pub fn of(planned: &Planned) -> Option<Self> {
        let tables = planned.tables.clone()?;
        let all: f64 = tables.iter().map(|table| f64::from(table.pages)).sum();
        if all == 0.0 {
            return None;
        }
        let page_bytes = (planned.relation_bytes / all).max(1.0);
        let pages = (PIECE_BYTES / page_bytes).max(1.0) as u32;
        let mut count = 0;
        let mut place = |table: &Table| {
            let first = count;
            count += table.pages.div_ceil(pages).max(1);
            first
        };
        Some(Self {
            first: tables.iter().map(&mut place).collect(),
            tables,
            pages,
            count,
        })
    }

    /// Number of pieces.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a query scans these tables, in this order.
    pub fn fits(&self, planned: &Planned) -> bool {
        let ours = self.tables.iter().map(|table| table.oid);
        let theirs = planned.tables.iter().flatten().map(|table| table.oid);
        ours.eq(theirs)
    }

    /// The table that a piece is of, by number, and its pages; a table's last piece goes on to its end, as it may have grown.
    pub fn piece(&self, piece: u32) -> (usize, Range<u32>) {
        let table = self.first.partition_point(|first| *first <= piece) - 1;
        let start = (piece - self.first[table]) * self.pages;
        let next = self.first.get(table + 1).copied().unwrap_or(self.count);
        let end = match piece + 1 == next {
            true => u32::MAX,
            false => start + self.pages,
        };
        (table, start..end)
    }
}

/// A process that fetches rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetcher {
    /// The process that plays the reader.
    Reader,
    /// The worker of this number, below 254.
    Helper(usize),
}

const FREE: u8 = 0;
const READER: u8 = 1;
const FIRST_HELPER: u8 = 2;

impl Fetcher {
    fn code(self) -> u8 {
        match self {
            Self::Reader => READER,
            Self::Helper(worker) => FIRST_HELPER + worker as u8,
        }
    }

    fn of(code: u8) -> Self {
        match code {
            FREE | READER => Self::Reader,
            helper => Self::Helper(usize::from(helper - FIRST_HELPER)),
        }
    }
}

/// Who has taken which piece of a table.
#[derive(Clone)]
pub struct TablePieces {
    pub cut: Cut,
    owners: &'static [AtomicU8],
}

impl TablePieces {
    /// Bytes it takes in shared memory.
    pub fn bytes(cut: &Cut) -> usize {
        cut.count as usize
    }

    /// Pieces that nobody has taken.
    ///
    /// # Safety
    /// `at` points to `bytes(&cut)` bytes of shared memory that outlive every copy of the result.
    pub unsafe fn create(at: *mut u8, cut: Cut) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            at.write_bytes(FREE, Self::bytes(&cut));
            Self::attach(at, cut)
        }
    }

    /// The pieces that another process created at `at`.
    ///
    /// # Safety
    /// As for `create`, and `create` has run.
    pub unsafe fn attach(at: *mut u8, cut: Cut) -> Self {
        // SAFETY: as the caller promises; an atomic byte is a byte.
        let owners = unsafe { core::slice::from_raw_parts(at.cast(), Self::bytes(&cut)) };
        Self { cut, owners }
    }

    /// Takes a piece, or says who has. Orders nothing else: rows go through queues.
    pub fn take(&self, piece: u32, fetcher: Fetcher) -> Result<(), Fetcher> {
        self.owners[piece as usize]
            .compare_exchange(FREE, fetcher.code(), Ordering::Relaxed, Ordering::Relaxed)
            .map(|_| ())
            .map_err(Fetcher::of)
    }
}
