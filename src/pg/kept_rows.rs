//! Rows of a query that ran once, kept to be gone through as often as wanted: in memory, and beyond that in a temporary file,
//! which temp_file_limit counts. The calling backend.

use super::deform::{DeformedRow, RowColumns};
use super::executor::{in_row_context, row_context, Continue, RunningQuery};
use super::query::Planned;
use pgrx::pg_sys;

/// Memory for rows before they go to the file, in kilobytes.
const MEMORY_KB: i32 = 4096;
/// Rows fetched before interrupts are looked for.
const ROWS_AT_A_TIME: u64 = 10_000;

/// The rows; they go with the memory context in which they were kept, and their file with the transaction.
pub struct KeptTuples {
    store: *mut pg_sys::Tuplestorestate,
    slot: *mut pg_sys::TupleTableSlot,
    row_context: pg_sys::MemoryContext,
    reader: RowColumns,
}

impl KeptTuples {
    /// Runs the query with the active snapshot and the current user's rights.
    pub fn of(planned: &Planned) -> Self {
        // SAFETY: a plan has a target list, and the result is made in the current memory context.
        let columns =
            unsafe { pg_sys::ExecCleanTypeFromTL((*(*planned.plan).planTree).targetlist) };
        let mut running = RunningQuery::start(planned);
        // SAFETY: inside a transaction; store and slot are made for the columns of the query, whose rows are copied.
        let (store, slot, row_context) = unsafe {
            let memory = pg_sys::work_mem.min(MEMORY_KB);
            let store = pg_sys::tuplestore_begin_heap(false, false, memory);
            let mut more = true;
            while more {
                super::check_for_interrupts();
                more = running.run(ROWS_AT_A_TIME, &mut |row| {
                    pg_sys::tuplestore_putvalues(
                        store,
                        columns,
                        row.values.as_ptr().cast_mut(),
                        row.nulls.as_ptr().cast_mut(),
                    );
                    Continue::Yes
                });
            }
            let slot = pg_sys::MakeSingleTupleTableSlot(columns, &pg_sys::TTSOpsMinimalTuple);
            (store, slot, row_context())
        };
        running.finish();
        Self {
            store,
            slot,
            row_context,
            reader: RowColumns::default(),
        }
    }

    /// Goes back to the first row.
    pub fn rewind(&mut self) {
        // SAFETY: the store is alive, and may be read again from its beginning.
        unsafe { pg_sys::tuplestore_rescan(self.store) };
    }

    /// Pushes up to `rows` rows into `visit`; true when there may be more, false too when `visit` has had enough.
    pub fn run(&mut self, rows: u64, visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue) -> bool {
        for _ in 0..rows {
            // SAFETY: store, slot and context are alive; the slot holds the row until the next one is asked for.
            let wanted = unsafe {
                if !pg_sys::tuplestore_gettupleslot(self.store, true, false, self.slot) {
                    return false;
                }
                let row = self.reader.of(self.slot);
                in_row_context(self.row_context, || visit(&row))
            };
            if matches!(wanted, Continue::No) {
                return false;
            }
        }
        true
    }
}
