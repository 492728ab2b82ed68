//! What a plan is made of where it is nothing but one scan, or several one after the other, as of the partitions of a
//! table or the branches of a UNION ALL: then each may be told apart from the others.

use super::list;
use pgrx::pg_sys;

/// A scan of a table from beginning to end.
pub struct TableScan {
    pub node: *mut pg_sys::Scan,
    pub table: pg_sys::Oid,
}

/// The plans that hand their rows straight to the caller of the statement, in their order: those below an Append, or the one
/// plan that there is. A table scan for each that is one.
///
/// # Safety
/// The statement is PostgreSQL's.
pub unsafe fn branches(statement: *mut pg_sys::PlannedStmt) -> Vec<Option<TableScan>> {
    // SAFETY: as the caller promises.
    unsafe {
        let plans = plans(statement).into_iter();
        plans.map(|plan| table_scan(statement, plan)).collect()
    }
}

/// The same branches of a started query; None for one that PostgreSQL knows to hold no row.
///
/// # Safety
/// The query is started and not finished.
pub unsafe fn states(desc: *mut pg_sys::QueryDesc) -> Vec<Option<*mut pg_sys::PlanState>> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let top = (*desc).planstate;
        let states = match (*top).type_ {
            pg_sys::NodeTag::T_AppendState => {
                let append = top.cast::<pg_sys::AppendState>();
                core::slice::from_raw_parts((*append).appendplans, (*append).as_nplans as usize)
            }
            _ => &[top],
        };
        // in the order of the plans, some of which may have been left out
        let mut states = states.iter().copied().peekable();
        let plans = plans((*desc).plannedstmt).into_iter();
        plans
            .map(|plan| states.next_if(|state| core::ptr::eq((**state).plan, plan)))
            .collect()
    }
}

/// The scan of a table that handed over the row that a query has handed over last; None where it does more than that.
///
/// # Safety
/// The query is started and not finished.
pub unsafe fn last(desc: *mut pg_sys::QueryDesc) -> Option<*mut pg_sys::ScanState> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let top = (*desc).planstate;
        let state = match (*top).type_ {
            pg_sys::NodeTag::T_AppendState => {
                let append = top.cast::<pg_sys::AppendState>();
                let plans = core::slice::from_raw_parts(
                    (*append).appendplans,
                    (*append).as_nplans as usize,
                );
                *plans.get(usize::try_from((*append).as_whichplan).ok()?)?
            }
            _ => top,
        };
        let scans = (*state).type_ == pg_sys::NodeTag::T_SeqScanState;
        scans.then(|| state.cast())
    }
}

/// # Safety
/// As for `branches`.
unsafe fn plans(statement: *mut pg_sys::PlannedStmt) -> Vec<*mut pg_sys::Plan> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let top = (*statement).planTree;
        match (*top).type_ {
            pg_sys::NodeTag::T_Append => {
                list::elements((*top.cast::<pg_sys::Append>()).appendplans).collect()
            }
            _ => vec![top],
        }
    }
}

/// # Safety
/// The plan is one of the statement, which is PostgreSQL's.
unsafe fn table_scan(
    statement: *mut pg_sys::PlannedStmt,
    plan: *mut pg_sys::Plan,
) -> Option<TableScan> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        if (*plan).type_ != pg_sys::NodeTag::T_SeqScan {
            return None;
        }
        let node = &raw mut (*plan.cast::<pg_sys::SeqScan>()).scan;
        let place = (*node).scanrelid as usize - 1;
        let entry = list::nth::<pg_sys::RangeTblEntry>((*statement).rtable, place)?;
        Some(TableScan {
            node,
            table: (*entry).relid,
        })
    }
}
