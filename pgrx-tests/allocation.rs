//! Allocations that fail when told to: `tests/torture/test_allocation.py` has one after the other fail and looks at how the
//! statement ends. Three settings, of a library with in-backend tests only:
//!
//! | setting | |
//! |---|---|
//! | `pgsvm.fail_allocation` | the large allocation of this process, counted from 1, that fails; 0: none |
//! | `pgsvm.large_allocations` | how many there were so far |
//! | `pgsvm.trace_allocations` | where each comes from, to the server's log |
//!
//! Only Rust's allocations are counted: PostgreSQL's own raise an error by themselves.

use core::ffi::CStr;
use pgrx::pg_sys;
use pgsvm_core::memory::reserve::Sparing;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

/// What counts as large: Rust ends the process where it has no memory for something smaller that cannot fail.
const LARGE_BYTES: usize = 64 << 10;

static FAILS: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);
static TRACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Taking a trace allocates too.
    static TRACING: Cell<bool> = const { Cell::new(false) };
}

struct Failing;

#[global_allocator]
static ALLOCATOR: Failing = Failing;

// SAFETY: every call goes to the usual allocator as it came, or fails as an allocator may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, shape: Layout) -> *mut u8 {
        match fails(shape.size()) {
            true => core::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { Sparing.alloc(shape) },
        }
    }

    unsafe fn alloc_zeroed(&self, shape: Layout) -> *mut u8 {
        match fails(shape.size()) {
            true => core::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { Sparing.alloc_zeroed(shape) },
        }
    }

    unsafe fn realloc(&self, address: *mut u8, shape: Layout, bytes: usize) -> *mut u8 {
        match bytes > shape.size() && fails(bytes) {
            true => core::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { Sparing.realloc(address, shape, bytes) },
        }
    }

    unsafe fn dealloc(&self, address: *mut u8, shape: Layout) {
        // SAFETY: as the caller promises.
        unsafe { Sparing.dealloc(address, shape) }
    }
}

/// Counts an allocation, and says whether it is the one that is to fail.
fn fails(bytes: usize) -> bool {
    if bytes < LARGE_BYTES || TRACING.get() {
        return false;
    }
    let number = COUNT.fetch_add(1, Relaxed) + 1;
    if TRACED.load(Relaxed) {
        TRACING.set(true);
        let trace = std::backtrace::Backtrace::force_capture();
        eprintln!("large allocation {number} of {bytes} bytes\n{trace}");
        TRACING.set(false);
    }
    number == FAILS.load(Relaxed)
}

/// Defines the settings; called once from `_PG_init`.
pub fn register() {
    let numbers: [(&CStr, &CStr, *mut i32); 2] = [
        (
            c"pgsvm.fail_allocation",
            c"The large allocation that fails.",
            FAILS.as_ptr(),
        ),
        (
            c"pgsvm.large_allocations",
            c"Large allocations so far.",
            COUNT.as_ptr(),
        ),
    ];
    for (name, about, place) in numbers {
        // SAFETY: names and places live as long as the process; PostgreSQL writes the places in the main thread.
        unsafe {
            pg_sys::DefineCustomIntVariable(
                name.as_ptr(),
                about.as_ptr(),
                core::ptr::null(),
                place,
                0,
                0,
                i32::MAX,
                pg_sys::GucContext::PGC_USERSET,
                0,
                None,
                None,
                None,
            );
        }
    }
    // SAFETY: as above.
    unsafe {
        pg_sys::DefineCustomBoolVariable(
            c"pgsvm.trace_allocations".as_ptr(),
            c"Whether large allocations are traced.".as_ptr(),
            core::ptr::null(),
            TRACED.as_ptr(),
            false,
            pg_sys::GucContext::PGC_USERSET,
            0,
            None,
            None,
            None,
        );
    }
}
