//! Large private memory that the operating system gives page by page as it is touched.

use pgrx::pg_sys;

/// A block of PostgreSQL memory of any size; freed when dropped, or with the memory context in which
/// it was allocated, whichever comes first.
pub struct Huge {
    address: *mut u8,
}

impl Huge {
    /// Allocates `bytes`; None when the system has not that much.
    pub fn allocate(bytes: usize) -> Option<Self> {
        let flags = (pg_sys::MCXT_ALLOC_HUGE | pg_sys::MCXT_ALLOC_NO_OOM) as i32;
        // SAFETY: plain allocation; with NO_OOM a failure is a null pointer.
        let address = unsafe {
            pg_sys::MemoryContextAllocExtended(pg_sys::CurrentMemoryContext, bytes, flags)
        };
        if address.is_null() {
            return None;
        }
        prefer_huge_pages(address.cast(), bytes);
        Some(Self {
            address: address.cast(),
        })
    }

    /// Where it starts, MAXALIGNed.
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

/// Size of a huge page on x86-64, and of one kind on ARM.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages where whole ones fit into the block: a fifth of a training that fits the cache went into
/// faults of small pages. Advice only, so a refusal does not matter.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(address: *mut u8, bytes: usize) {
    let start = (address as usize).next_multiple_of(HUGE_PAGE);
    let end = (address as usize + bytes) / HUGE_PAGE * HUGE_PAGE;
    if start < end {
        // SAFETY: the range lies within a block of this process; the advice changes no content.
        unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_address: *mut u8, _bytes: usize) {}

impl Drop for Huge {
    fn drop(&mut self) {
        // While an ERROR unwinds, its memory context is about to go and takes the block along.
        if !std::thread::panicking() {
            // SAFETY: allocated above and freed once; the context outlives this call's frame.
            unsafe { pg_sys::pfree(self.address.cast()) };
        }
    }
}
