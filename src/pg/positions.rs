//! Where in a text an error of PostgreSQL's parser lies: without this the position would be one in the
//! client's own statement, and be lost on its way through Rust.
//!
//! PostgreSQL calls the functions on `error_context_stack` when it raises an error. Ours notes position
//! and text, and stays there while the error travels on as a panic; when pgrx raises it anew, our function
//! is called again and adds what was noted. What PostgreSQL does to end the statement takes it away.

use super::long_errors::cut_off;
use core::ffi::{c_int, c_void};
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;

/// Lives until the transaction ends.
struct StatementText {
    callback: pg_sys::ErrorContextCallback,
    /// Terminated.
    text: *mut core::ffi::c_char,
    /// From 1; 0 as long as there was no error.
    position: c_int,
}

/// Runs `body`, in which PostgreSQL looks at `text` and at no other; an error then says where in it.
pub fn in_text<T>(text: &str, body: impl FnOnce() -> T) -> T {
    // SAFETY: what is put on the stack lives as long as the transaction, and is taken off here, or by
    // whoever ends the statement after an error.
    unsafe {
        let transaction = pg_sys::TopTransactionContext;
        let site = pg_sys::MemoryContextAllocZero(transaction, size_of::<StatementText>())
            .cast::<StatementText>();
        let context = pg_sys::MemoryContextSwitchTo(transaction);
        (*site).text = pg_sys::pnstrdup(text.as_ptr().cast(), text.len());
        pg_sys::MemoryContextSwitchTo(context);
        (*site).callback = pg_sys::ErrorContextCallback {
            previous: pg_sys::error_context_stack,
            callback: Some(on_error),
            arg: site.cast(),
        };
        pg_sys::error_context_stack = core::ptr::addr_of_mut!((*site).callback);
        let result = cut_off(body);
        pg_sys::error_context_stack = (*site).callback.previous;
        pg_sys::pfree((*site).text.cast());
        pg_sys::pfree(site.cast());
        result
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn on_error(argument: *mut c_void) {
    // SAFETY: the argument is what `in_text` put there; the functions work on the error being raised.
    unsafe {
        let site = argument.cast::<StatementText>();
        let position = pg_sys::geterrposition();
        if position > 0 {
            (*site).position = position;
            pg_sys::errposition(0);
        }
        if (*site).position > 0 {
            pg_sys::internalerrposition((*site).position);
            pg_sys::internalerrquery((*site).text);
        }
    }
}
