//! What a query of ours sees of the tables.

use pgrx::pg_sys;

/// Runs `body` with a snapshot taken now, or the transaction's from REPEATABLE READ on. After the locks on what it reads,
/// like PostgreSQL's own statements: whoever waits for a lock sees what the one before has committed, and where that
/// rewrote the table an older snapshot would see no rows.
pub fn with_latest<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: inside a transaction; the snapshot is popped here, or by the abort if the body raises an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let result = body();
        pg_sys::PopActiveSnapshot();
        result
    }
}

/// Runs `body` with what PostgreSQL's own look-ups in a catalog see, whatever the transaction's snapshot.
pub fn with_catalog<T>(catalog: pg_sys::Oid, body: impl FnOnce() -> T) -> T {
    // SAFETY: inside a transaction; the snapshot is copied as it is pushed, and popped here, or by the abort if the body raises
    // an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetCatalogSnapshot(catalog));
        let result = body();
        pg_sys::PopActiveSnapshot();
        result
    }
}
