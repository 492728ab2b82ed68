//! Numbers of transactions. Any process.

use pgrx::pg_sys;

/// So many transactions later the numbers that rows are marked with come again, of which there are twice as many.
const MOST: i64 = 1 << 31;

/// The number of the next transaction, of those that never come again.
pub fn next() -> i64 {
    // SAFETY: it reads shared memory under PostgreSQL's own lock.
    unsafe { pg_sys::ReadNextFullTransactionId().value as i64 }
}

/// Whether the transactions that have marked rows since then are marked by numbers of their own.
pub fn are_told_apart_since(then: i64) -> bool {
    next()
        .checked_sub(then)
        .is_some_and(|passed| (0..MOST).contains(&passed))
}
