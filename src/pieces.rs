//! Who fetches which piece of a table, where several processes do: a byte of shared memory for each piece says who has
//! taken it. The reader takes pieces in the table's order, helpers those in front of it that nobody has taken.

use crate::pg::query::Planned;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};
use serde::{Deserialize, Serialize};

/// What a piece takes on disk, about, out-of-line values included: a helper is a piece or two ahead of the reader, and what
/// it has fetched meanwhile lies in its queue.
const PIECE_BYTES: f64 = 512.0 * 1024.0;

/// A table cut into runs of pages.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Cut {
    /// Pages of a piece.
    pages: u32,
    /// Pieces in all, 1 or more.
    count: u32,
}

impl Cut {
    /// Of the table that a query scans from beginning to end; None for a query that does anything else.
    pub fn of(planned: &Planned) -> Option<Self> {
        let all = planned.table_pages.filter(|pages| *pages > 0)?;
        let page_bytes = (planned.relation_bytes / f64::from(all)).max(1.0);
        let pages = (PIECE_BYTES / page_bytes).clamp(1.0, f64::from(all)) as u32;
        Some(Self {
            pages,
            count: all.div_ceil(pages),
        })
    }

    /// Number of pieces.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The pages of a piece; the last one goes on to the end of the table, which may have grown.
    pub fn pages(&self, piece: u32) -> Range<u32> {
        let start = piece * self.pages;
        match piece + 1 == self.count {
            true => start..u32::MAX,
            false => start..start + self.pages,
        }
    }
}

/// Whoever fetches rows of a table.
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
#[derive(Clone, Copy)]
pub struct Pieces {
    pub cut: Cut,
    owners: &'static [AtomicU8],
}

impl Pieces {
    /// Bytes it takes in shared memory.
    pub fn bytes(cut: Cut) -> usize {
        cut.count as usize
    }

    /// Pieces that nobody has taken.
    ///
    /// # Safety
    /// `at` points to `bytes(cut)` bytes of shared memory that outlive every copy of the result.
    pub unsafe fn create(at: *mut u8, cut: Cut) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            at.write_bytes(FREE, Self::bytes(cut));
            Self::attach(at, cut)
        }
    }

    /// The pieces that another process created at `at`.
    ///
    /// # Safety
    /// As for `create`, and `create` has run.
    pub unsafe fn attach(at: *mut u8, cut: Cut) -> Self {
        // SAFETY: as the caller promises; an atomic byte is a byte.
        let owners = unsafe { core::slice::from_raw_parts(at.cast(), Self::bytes(cut)) };
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
