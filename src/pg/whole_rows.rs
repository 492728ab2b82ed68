//! Has a plain scan of one table hand its rows over as they lie in the table, instead of copying the
//! selected columns out of each: with a hundred columns that copying took a third of reading a row.
//! PostgreSQL's planner does the same below the top of a plan. Runs where the query runs.

use pgrx::{pg_sys, PgTupleDesc};

/// Makes the plan yield whole rows of the table and returns where the columns that were selected
/// stand in them, from 0; None where the plan is none of a plain scan, and stays as it is.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now and not started; its relations are locked.
pub unsafe fn read_whole_rows(statement: *mut pg_sys::PlannedStmt) -> Option<Vec<usize>> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let (scan, table) = table_scan(statement)?;
        let places = selected_places((*scan).plan.targetlist, (*scan).scanrelid)?;
        let relation = pg_sys::relation_open(table, pg_sys::NoLock as _);
        let whole = whole_row((*relation).rd_att, (*scan).scanrelid);
        pg_sys::relation_close(relation, pg_sys::NoLock as _);
        (*scan).plan.targetlist = whole?;
        Some(places)
    }
}

/// Whether a plan scans one table, leaves no row out and selects nothing but columns of it.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now.
pub unsafe fn is_plain(statement: *mut pg_sys::PlannedStmt) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        table_scan(statement).is_some_and(|(scan, _)| {
            (*scan).plan.qual.is_null()
                && selected_places((*scan).plan.targetlist, (*scan).scanrelid).is_some()
        })
    }
}

/// The scan from beginning to end of one table, if a plan is nothing but that, and the table.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now.
pub unsafe fn table_scan(
    statement: *mut pg_sys::PlannedStmt,
) -> Option<(*mut pg_sys::Scan, pg_sys::Oid)> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let plan = (*statement).planTree;
        if (*plan).type_ != pg_sys::NodeTag::T_SeqScan {
            return None;
        }
        let scan = &raw mut (*plan.cast::<pg_sys::SeqScan>()).scan;
        let place = (*scan).scanrelid as usize - 1;
        let entry = list_nth::<pg_sys::RangeTblEntry>((*statement).rtable, place);
        Some((scan, (*entry).relid))
    }
}

/// The places of columns selected as they are; None when something else is selected.
///
/// # Safety
/// `targets` is the target list of a scan of relation number `scanned`.
unsafe fn selected_places(
    targets: *mut pg_sys::List,
    scanned: pg_sys::Index,
) -> Option<Vec<usize>> {
    // SAFETY: every element of a target list is a TargetEntry with an expression.
    unsafe {
        let count = targets.as_ref()?.length as usize;
        (0..count)
            .map(|i| {
                let target = list_nth::<pg_sys::TargetEntry>(targets, i);
                let column = (*target).expr.cast::<pg_sys::Var>();
                let is_column = !(*target).resjunk
                    && (*column).xpr.type_ == pg_sys::NodeTag::T_Var
                    && (*column).varno as pg_sys::Index == scanned;
                // system columns and whole rows have numbers below 1
                match is_column {
                    true => usize::try_from((*column).varattno).ok()?.checked_sub(1),
                    false => None,
                }
            })
            .collect()
    }
}

/// A target list of every column as it lies in the table; None when one has no place there.
///
/// # Safety
/// `descriptor` is that of relation number `scanned`.
unsafe fn whole_row(
    descriptor: pg_sys::TupleDesc,
    scanned: pg_sys::Index,
) -> Option<*mut pg_sys::List> {
    // SAFETY: as the caller promises; the nodes are made in the current memory context.
    unsafe {
        let columns = PgTupleDesc::from_pg_unchecked(descriptor);
        let mut targets = core::ptr::null_mut();
        for column in columns.iter() {
            if column.attisdropped || column.atthasmissing {
                return None;
            }
            let variable = pg_sys::makeVar(
                scanned as _,
                column.attnum,
                column.atttypid,
                column.atttypmod,
                column.attcollation,
                0,
            );
            let target = pg_sys::makeTargetEntry(
                variable.cast(),
                column.attnum,
                core::ptr::null_mut(),
                false,
            );
            targets = pg_sys::lappend(targets, target.cast());
        }
        Some(targets)
    }
}

/// # Safety
/// `list` is a list of pointers to `T` with more than `index` elements.
unsafe fn list_nth<T>(list: *const pg_sys::List, index: usize) -> *mut T {
    // SAFETY: as the caller promises.
    unsafe { (*(*list).elements.add(index)).ptr_value.cast() }
}
