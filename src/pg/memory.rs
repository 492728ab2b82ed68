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
        (!address.is_null()).then(|| Self {
            address: address.cast(),
        })
    }

    /// Where it starts, MAXALIGNed.
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

/// Zeros in Rust's memory; None when the system has not that much.
pub fn zeros(count: usize) -> Option<Vec<f64>> {
    let shape = core::alloc::Layout::array::<f64>(count).ok()?;
    if shape.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the shape has a size; zeroed bytes are zeros, and the vector frees them by the same shape.
    unsafe {
        let address = std::alloc::alloc_zeroed(shape).cast::<f64>();
        (!address.is_null()).then(|| Vec::from_raw_parts(address, count, count))
    }
}

impl Drop for Huge {
    fn drop(&mut self) {
        // While an ERROR unwinds, its memory context is about to go and takes the block along.
        if !std::thread::panicking() {
            // SAFETY: allocated above and freed once; the context outlives this call's frame.
            unsafe { pg_sys::pfree(self.address.cast()) };
        }
    }
}
