//! Asks the operating system for huge pages, for private memory that holds a cache or something for each row.

/// Size of a huge page on x86-64, and of one kind on ARM.
pub const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages where whole ones fit into a block of memory: a fifth of a training that fits the cache went
/// into faults of small pages, and visits of rows in shuffled order miss the processor's page tables less. Advice
/// only: a refusal does not matter.
///
/// # Safety
/// `address` points to `bytes` bytes of memory that this process owns.
#[cfg(target_os = "linux")]
pub unsafe fn prefer_huge_pages(address: *mut u8, bytes: usize) {
    let start = (address as usize).next_multiple_of(HUGE_PAGE);
    let end = (address as usize + bytes) / HUGE_PAGE * HUGE_PAGE;
    if start < end {
        // SAFETY: the range lies within the caller's block; the advice changes no content.
        unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE) };
    }
}

/// Elsewhere there is nothing to ask for.
///
/// # Safety
/// As on Linux.
#[cfg(not(target_os = "linux"))]
pub unsafe fn prefer_huge_pages(_address: *mut u8, _bytes: usize) {}
