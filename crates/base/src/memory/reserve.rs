//! A reserve of memory for the moment when there is no more: reporting an error needs some, and Rust ends the process where a small piece
//! cannot be had. The reserve lies untouched, so it costs nothing except under limits of address space. There is one for the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::AcqRel, Ordering::Relaxed};

/// What is kept: PostgreSQL asks for up to a megabyte at once, for a text of a few bytes, in each of its memory contexts.
const BYTES: usize = 4 << 20;
/// What is small: larger pieces are asked for with a way to fail.
const SMALL_BYTES: usize = 64 << 10;

static KEPT: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());

/// Keeps it, where it is not kept and can be had.
pub fn keep() {
    if !KEPT.load(Relaxed).is_null() {
        return;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a mapping of its own, at an address that the system chooses.
    let block = unsafe { libc::mmap(null_mut(), BYTES, protection, flags, -1, 0) };
    if block != libc::MAP_FAILED {
        give_back(KEPT.swap(block, AcqRel));
    }
}

/// Gives it back; false where it was not kept.
pub fn let_go() -> bool {
    give_back(KEPT.swap(null_mut(), AcqRel))
}

fn give_back(block: *mut libc::c_void) -> bool {
    // SAFETY: what stands there was mapped by `keep` with this size, and whoever takes it out gives it back once.
    !block.is_null() && unsafe { libc::munmap(block, BYTES) } == 0
}

/// The system's allocator, which asks again for a small piece once what is kept has been let go.
#[derive(Debug, Clone, Copy)]
pub struct Sparing;

fn again(shape: Layout) -> bool {
    shape.size() <= SMALL_BYTES && let_go()
}

// SAFETY: every call goes to the system's allocator as it came, once more where it has failed.
unsafe impl GlobalAlloc for Sparing {
    unsafe fn alloc(&self, shape: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        match unsafe { System.alloc(shape) } {
            none if none.is_null() && again(shape) => unsafe { System.alloc(shape) },
            address => address,
        }
    }

    unsafe fn alloc_zeroed(&self, shape: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        match unsafe { System.alloc_zeroed(shape) } {
            none if none.is_null() && again(shape) => unsafe { System.alloc_zeroed(shape) },
            address => address,
        }
    }

    unsafe fn realloc(&self, address: *mut u8, shape: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises; what could not be moved is as it was.
        match unsafe { System.realloc(address, shape, bytes) } {
            none if none.is_null() && bytes <= SMALL_BYTES && let_go() => unsafe {
                System.realloc(address, shape, bytes)
            },
            moved => moved,
        }
    }

    unsafe fn dealloc(&self, address: *mut u8, shape: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, shape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_let_go_once() {
        keep();
        keep();
        assert!(let_go());
        assert!(!let_go());
        keep();
        assert!(let_go());
    }
}
