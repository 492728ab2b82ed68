//! A scan of a whole table that is to read some of its pages only: so several processes can share a table, each with the
//! plan, the rights and the filters of the query. Runs where the query runs.

use super::whole_rows;
use core::ops::Range;
use pgrx::pg_sys;

/// Pages of the table that a plan scans from beginning to end, without anything above the scan; None for any other plan,
/// and where the table is none of PostgreSQL's own kind.
///
/// # Safety
/// The statement is PostgreSQL's; its relations are locked.
pub unsafe fn table_pages(statement: *mut pg_sys::PlannedStmt) -> Option<u32> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let (_, table) = whole_rows::table_scan(statement)?;
        let relation = pg_sys::relation_open(table, pg_sys::NoLock as _);
        let pages = is_heap(relation).then(|| pages_of(relation));
        pg_sys::relation_close(relation, pg_sys::NoLock as _);
        pages
    }
}

/// The scan of a started query.
pub struct PageScan {
    state: *mut pg_sys::SeqScanState,
    /// Whether it has begun, which counts once as a scan of the table.
    begun: bool,
}

impl PageScan {
    /// Of a query that does nothing but scan a table from beginning to end.
    ///
    /// # Safety
    /// The query is started and outlives the result.
    pub unsafe fn of(desc: *mut pg_sys::QueryDesc) -> Option<Self> {
        // SAFETY: as the caller promises; a node's tag says what it is.
        unsafe {
            let state = (*desc).planstate;
            if (*state).type_ != pg_sys::NodeTag::T_SeqScanState {
                return None;
            }
            let state = state.cast::<pg_sys::SeqScanState>();
            is_heap((*state).ss.ss_currentRelation).then_some(Self {
                state,
                begun: false,
            })
        }
    }

    /// Has the query go on with these pages, of those that the table has; an end beyond the last page means that one.
    ///
    /// # Safety
    /// The query is started, not finished, and not running.
    pub unsafe fn restrict(&mut self, pages: Range<u32>) {
        // Only a sequential scan is counted among the table's scans and locks the table for serializable transactions: the
        // first one is one, and does both for all.
        let kind = match std::mem::replace(&mut self.begun, true) {
            false => pg_sys::ScanOptions::SO_TYPE_SEQSCAN,
            true => pg_sys::ScanOptions::SO_TYPE_TIDRANGESCAN,
        };
        let options =
            kind | pg_sys::ScanOptions::SO_ALLOW_STRAT | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
        // SAFETY: as the caller promises. The node begins a scan of its own only where there is none, and ends what is
        // there when the query ends.
        unsafe {
            let node = &mut (*self.state).ss;
            if !node.ss_currentScanDesc.is_null() {
                pg_sys::heap_endscan(node.ss_currentScanDesc);
            }
            let snapshot = (*node.ps.state).es_snapshot;
            let (none, alone) = (core::ptr::null_mut(), core::ptr::null_mut());
            let scan =
                pg_sys::heap_beginscan(node.ss_currentRelation, snapshot, 0, none, alone, options);
            let end = pages.end.min(pages_of(node.ss_currentRelation));
            let start = pages.start.min(end);
            pg_sys::heap_setscanlimits(scan, start, end - start);
            node.ss_currentScanDesc = scan;
        }
    }
}

/// # Safety
/// The relation is open.
unsafe fn is_heap(relation: pg_sys::Relation) -> bool {
    // SAFETY: as the caller promises.
    unsafe { core::ptr::eq((*relation).rd_tableam, pg_sys::GetHeapamTableAmRoutine()) }
}

/// # Safety
/// The relation is open.
unsafe fn pages_of(relation: pg_sys::Relation) -> u32 {
    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: as the caller promises.
    unsafe { pg_sys::RelationGetNumberOfBlocksInFork(relation, main) }
}
