//! What may go wrong without ending the transaction.

use pgrx::pg_sys::panic::CaughtError;
use pgrx::{pg_sys, PgTryBuilder};
use std::panic::AssertUnwindSafe;

/// Runs `body` in a subtransaction; an error in it takes back what it did, and is given back.
pub fn attempt<T>(body: impl FnOnce() -> T) -> Result<T, Box<CaughtError>> {
    // SAFETY: inside a transaction and not in parallel mode; memory context, resource owner and error context are those
    // of the caller again, as PostgreSQL's own languages leave them.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let owner = pg_sys::CurrentResourceOwner;
        let stack = pg_sys::error_context_stack;
        pg_sys::BeginInternalSubTransaction(core::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let ended = PgTryBuilder::new(AssertUnwindSafe(|| Ok(body())))
            .catch_others(|error| Err(Box::new(error)))
            .execute();
        match ended {
            Ok(_) => pg_sys::ReleaseCurrentSubTransaction(),
            Err(_) => pg_sys::RollbackAndReleaseCurrentSubTransaction(),
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        pg_sys::error_context_stack = stack;
        ended
    }
}
