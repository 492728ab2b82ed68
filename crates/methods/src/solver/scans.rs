//! What one read-only pass over the rows adds up, at weights that do not change meanwhile.
//!
//! Examples: decisions of held-out rows, the accuracy of a sample, slacks of margins, a recount of the primal. A sum implements [`Scans`],
//! which takes one row at a time. The code that holds the rows calls [`ScanRows`] with a run of rows at a time, and need not know which sum
//! it is.
//!
//! Threads have sums over different rows. They are joined by the code that made them, since it knows their type: `Tally::with`,
//! `Sums::with`, `Breakpoints::join`, `Proof::join`. So joining is no part of the trait.

use crate::rows::row::Row;
use crate::rows::visited::VisitedRows;
use crate::simd::{Isa, Level, Work};

/// What is summed up over rows, at a method M.
pub trait Scans<M> {
    /// Takes one row in. Gives back how many values that was, at least one.
    fn add<K: Isa>(&mut self, method: &M, row: &Row<'_>) -> usize;

    /// Takes a run of rows in: for sums that do better with several rows at once.
    #[inline(always)]
    fn add_all<K: Isa>(&mut self, method: &M, rows: VisitedRows<'_>) -> usize {
        let mut values = 0;
        for row in rows {
            values += self.add::<K>(method, &row);
        }
        values
    }
}

/// The same for whoever hands over rows. Called once for a run of them.
pub trait ScanRows<M> {
    /// Takes these rows in. Gives back how many values that was.
    fn scan(&mut self, method: &M, rows: VisitedRows<'_>) -> usize;
}

impl<M, S: Scans<M>> ScanRows<M> for S {
    fn scan(&mut self, method: &M, rows: VisitedRows<'_>) -> usize {
        Level::best().run(Addition {
            sums: self,
            method,
            rows,
        })
    }
}

/// The work of taking in a run of rows.
struct Addition<'a, S, M> {
    sums: &'a mut S,
    method: &'a M,
    rows: VisitedRows<'a>,
}

impl<M, S: Scans<M>> Work for Addition<'_, S, M> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        self.sums.add_all::<K>(self.method, self.rows)
    }
}
