//! Rows that nobody leaves out.

use crate::base::memory::OutOfMemory;
use crate::solver::visit::per_row::Shrunk;

/// All of 0..rows active.
pub(in crate::solver) fn nothing_shrunk(rows: usize) -> Result<Shrunk, OutOfMemory> {
    Shrunk::new(rows).map_err(|_| OutOfMemory {
        bytes: rows as u64 / 8,
    })
}
