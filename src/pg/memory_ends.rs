//! What is raised when memory ends. An error takes memory itself: PostgreSQL copies its texts wherever it passes from C to Rust, each such
//! copy that fails is one more error, and five errors within each other are a PANIC. So while a function of ours runs memory is
//! kept for that, and the first error that says there is no more lets it go. Any process.

use crate::base::errors::{Code, Failure};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use pgrx::{pg_sys, PgSqlErrorCode};
use pgsvm_core::memory::reserve;

// Not for everybody in pgrx; it looks at the error that is being raised.
unsafe extern "C-unwind" {
    fn geterrcode() -> c_int;
}

/// The one place on `error_context_stack` that is ours.
struct ContextPlace(UnsafeCell<pg_sys::ErrorContextCallback>);

// SAFETY: only the main thread, the server's own, comes here.
unsafe impl Sync for ContextPlace {}

static PLACE: ContextPlace = ContextPlace(UnsafeCell::new(pg_sys::ErrorContextCallback {
    previous: core::ptr::null_mut(),
    callback: Some(on_error),
    arg: core::ptr::null_mut(),
}));

/// As long as it lives, errors find memory; the outermost one of several sees to that.
pub struct ErrorsPrepared {
    outermost: bool,
}

/// Whether the memory was kept when somebody looked last.
static KEPT: AtomicBool = AtomicBool::new(false);

/// Keeps memory for errors.
///
/// # Errors
/// There is none left that could be kept: nothing is begun then.
pub fn prepared() -> ErrorsPrepared {
    reserve::keep();
    if !KEPT.load(Relaxed) {
        if !reserve::let_go() {
            Failure::new(
                Code::ERRCODE_OUT_OF_MEMORY,
                "out of memory, also for what errors take",
            )
            .raise();
        }
        reserve::keep();
        KEPT.store(true, Relaxed);
    }
    // SAFETY: what is on the stack lives as long as it is there; the place is put there once, and taken off by its owner.
    unsafe {
        let mut known = pg_sys::error_context_stack;
        while !known.is_null() && known != PLACE.0.get() {
            known = (*known).previous;
        }
        let outermost = known.is_null();
        if outermost {
            (*PLACE.0.get()).previous = pg_sys::error_context_stack;
            pg_sys::error_context_stack = PLACE.0.get();
        }
        ErrorsPrepared { outermost }
    }
}

impl Drop for ErrorsPrepared {
    fn drop(&mut self) {
        // while an error travels on, what stands there stays for when it is raised anew; what ends the statement takes it away
        if self.outermost && !std::thread::panicking() {
            // SAFETY: what was put on the stack behind it has been taken off.
            unsafe { pg_sys::error_context_stack = (*PLACE.0.get()).previous };
        }
    }
}

unsafe extern "C-unwind" fn on_error(_: *mut c_void) {
    // SAFETY: an error is being raised.
    if unsafe { geterrcode() } == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int {
        reserve::let_go();
        KEPT.store(false, Relaxed);
    }
}
