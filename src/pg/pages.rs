//! Scans of whole tables that are to read some of their pages only: so several processes can share tables, each with the
//! plan, the rights and the filters of the query. Runs where the query runs.

use super::table_scans::{branches, states};
use core::ops::Range;
use pgrx::pg_sys;
use serde::{Deserialize, Serialize};

/// A table that is scanned, and its size then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub oid: u32,
    pub pages: u32,
}

/// The tables that a plan scans from beginning to end, one after the other; None for a plan that does anything else, and
/// where a table is none of PostgreSQL's own kind.
///
/// # Safety
/// The statement is PostgreSQL's; its relations are locked.
pub unsafe fn tables(statement: *mut pg_sys::PlannedStmt) -> Option<Vec<Table>> {
    // SAFETY: as the caller promises.
    unsafe {
        let scans = branches(statement).into_iter();
        scans.map(|scan| table(scan?.table)).collect()
    }
}

/// # Safety
/// The relation is locked.
unsafe fn table(oid: pg_sys::Oid) -> Option<Table> {
    // SAFETY: as the caller promises.
    unsafe {
        let relation = pg_sys::relation_open(oid, pg_sys::NoLock as _);
        let pages = is_heap(relation).then(|| pages_of(relation));
        pg_sys::relation_close(relation, pg_sys::NoLock as _);
        pages.map(|pages| Table {
            oid: oid.to_u32(),
            pages,
        })
    }
}

/// The scans of a started query's tables, each to be run by itself.
pub struct PageScans {
    desc: *mut pg_sys::QueryDesc,
    /// What the query runs by itself.
    whole: *mut pg_sys::PlanState,
    /// By table; none of one that PostgreSQL knows to hold no row.
    scans: Vec<Option<PageScan>>,
}

impl PageScans {
    /// Of a query that has [`tables`].
    ///
    /// # Safety
    /// The query is started and outlives the result.
    pub unsafe fn of(desc: *mut pg_sys::QueryDesc) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let scan = |state: *mut pg_sys::PlanState| PageScan {
                state: state.cast(),
                begun: false,
            };
            let states = states(desc).into_iter();
            Self {
                desc,
                whole: (*desc).planstate,
                scans: states.map(|state| state.map(scan)).collect(),
            }
        }
    }

    /// Has the query go on with these pages of one of its tables, of those that it has; an end beyond the last page means
    /// that one. False when there is nothing to be run.
    ///
    /// # Safety
    /// The query is not finished, and not running.
    pub unsafe fn restrict(&mut self, table: usize, pages: Range<u32>) -> bool {
        match &mut self.scans[table] {
            None => false,
            // SAFETY: as the caller promises; what is below an Append is run the same way from above.
            Some(scan) => unsafe {
                scan.restrict(pages);
                (*self.desc).planstate = scan.state.cast();
                true
            },
        }
    }

    /// Makes the query whole again, to be finished.
    ///
    /// # Safety
    /// The query is not finished, and not running.
    pub unsafe fn release(self) {
        // SAFETY: as the caller promises.
        unsafe { (*self.desc).planstate = self.whole };
    }
}

/// The scan of a table of a started query.
struct PageScan {
    state: *mut pg_sys::SeqScanState,
    /// Whether it has begun, which counts once as a scan of the table.
    begun: bool,
}

impl PageScan {
    /// # Safety
    /// As for [`PageScans::restrict`].
    unsafe fn restrict(&mut self, pages: Range<u32>) {
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
pub(super) unsafe fn is_heap(relation: pg_sys::Relation) -> bool {
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
