//! What differs between PostgreSQL 15 to 18, and nowhere else.

use pgrx::pg_sys;

/// The number of the file that a relation's rows are in.
///
/// # Safety
/// The relation is open.
pub unsafe fn file_number(relation: pg_sys::Relation) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*relation).rd_node.relNode.to_u32();
        #[cfg(not(feature = "pg15"))]
        return (*relation).rd_locator.relNumber.to_u32();
    }
}

/// `ExecutorRun`, forwards, for at most `rows` rows and to be continued.
///
/// # Safety
/// `desc` is started and not yet finished.
pub unsafe fn executor_run(desc: *mut pg_sys::QueryDesc, rows: u64) {
    let forward = pg_sys::ScanDirection::ForwardScanDirection;
    // SAFETY: as the caller promises.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        pg_sys::ExecutorRun(desc, forward, rows, false)
    };
    // SAFETY: as the caller promises.
    #[cfg(feature = "pg18")]
    unsafe {
        pg_sys::ExecutorRun(desc, forward, rows)
    };
}
