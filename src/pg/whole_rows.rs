//! Has plain scans of tables hand their rows over as they lie in the table, instead of copying the selected columns out of
//! each: with a hundred columns that copying took a third of reading a row. PostgreSQL's planner does the same below the top
//! of a plan. Runs where the query runs.

use super::list;
use super::table_scans::{branches, TableScan};
use pgrx::{pg_sys, PgTupleDesc};

/// Makes the plan's branches ([`branches`]) yield whole rows of their tables and returns where the columns that were selected
/// stand in them, from 0; None for one that is no plain scan, and stays as it is.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now and not started; its relations are locked.
pub unsafe fn read_whole_rows(statement: *mut pg_sys::PlannedStmt) -> Vec<Option<Vec<usize>>> {
    // SAFETY: as the caller promises.
    unsafe {
        let scans = branches(statement).into_iter();
        scans.map(|scan| read_whole_row(&scan?)).collect()
    }
}

/// # Safety
/// As for `read_whole_rows`, of a scan of the statement.
unsafe fn read_whole_row(scan: &TableScan) -> Option<Vec<usize>> {
    // SAFETY: as the caller promises.
    unsafe {
        let node = &mut *scan.node;
        let targets = list::elements(node.plan.targetlist);
        let places: Option<_> = targets
            .map(|it| selected_place(it, node.scanrelid))
            .collect();
        let places = places?;
        let relation = pg_sys::relation_open(scan.table, pg_sys::NoLock as _);
        let whole = whole_row((*relation).rd_att, node.scanrelid);
        pg_sys::relation_close(relation, pg_sys::NoLock as _);
        node.plan.targetlist = whole?;
        Some(places)
    }
}

/// Whether a plan only scans tables, leaves no row out and computes nothing.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now.
pub unsafe fn is_plain(statement: *mut pg_sys::PlannedStmt) -> bool {
    // SAFETY: as the caller promises; every element of a target list is a TargetEntry with an expression.
    unsafe {
        branches(statement).iter().all(|scan| {
            scan.as_ref().is_some_and(|scan| {
                let node = &*scan.node;
                node.plan.qual.is_null()
                    && list::elements::<pg_sys::TargetEntry>(node.plan.targetlist).all(|target| {
                        (*(*target).expr).type_ == pg_sys::NodeTag::T_Const
                            || selected_place(target, node.scanrelid).is_some()
                    })
            })
        })
    }
}

/// The place of a column selected as it is; None when something else is selected.
///
/// # Safety
/// `target` is an entry in the target list of a scan of relation number `scanned`.
unsafe fn selected_place(
    target: *mut pg_sys::TargetEntry,
    scanned: pg_sys::Index,
) -> Option<usize> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let column = (*target).expr.cast::<pg_sys::Var>();
        let is_column = !(*target).resjunk
            && (*column).xpr.type_ == pg_sys::NodeTag::T_Var
            && (*column).varno as pg_sys::Index == scanned;
        // system columns and whole rows have numbers below 1
        match is_column {
            true => usize::try_from((*column).varattno).ok()?.checked_sub(1),
            false => None,
        }
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
