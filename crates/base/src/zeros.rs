//! Large vectors of zeros that cost nothing until they are touched: the operating system's own zeros, page by page. Writing
//! them would take a second for some gigabytes, and nothing could end it. Any role.

use crate::huge_pages::{prefer_huge_pages, HUGE_PAGE};
use crate::memory::OutOfMemory;
use crate::prefetch::LINE_BYTES;
use std::alloc::{alloc_zeroed, Layout};
use std::ops::{Deref, DerefMut};

/// A type whose value 0 is all bits zero.
///
/// # Safety
/// It must be valid with all bits zero, and need no drop.
pub unsafe trait Zero: Copy {}

// SAFETY: plain numbers, and an array of them.
unsafe impl Zero for u8 {}
// SAFETY: as above.
unsafe impl Zero for u32 {}
// SAFETY: as above.
unsafe impl Zero for f32 {}
// SAFETY: as above.
unsafe impl Zero for f64 {}
// SAFETY: as above.
unsafe impl Zero for [f32; 8] {}

/// So many zeros, or an error where they cannot be had.
pub fn zeros<V: Zero>(length: usize) -> Result<Vec<V>, OutOfMemory> {
    let bytes = length.saturating_mul(size_of::<V>()) as u64;
    let out_of_memory = OutOfMemory { bytes };
    let Ok(shape) = Layout::array::<V>(length) else {
        return Err(out_of_memory);
    };
    if shape.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the shape has a size; all bits zero are `length` values, the block is of that shape, and the vector frees it by
    // the same shape.
    unsafe {
        let address = alloc_zeroed(shape).cast::<V>();
        if address.is_null() {
            return Err(out_of_memory);
        }
        prefer_huge_pages(address.cast(), shape.size());
        Ok(Vec::from_raw_parts(address, length, length))
    }
}

/// Numbers that begin with a line of the processor's cache, so that no vector of up to a line lies across two of them, and
/// many of them with a huge page: rows come in shuffled order, and so the first touches of what is kept for each of them.
pub struct Lined<V> {
    all: Vec<V>,
    first: usize,
    length: usize,
}

impl<V: Zero> Lined<V> {
    /// So many zeros.
    pub fn zeros(length: usize) -> Result<Self, OutOfMemory> {
        let size = size_of::<V>();
        let start = match length.saturating_mul(size) {
            HUGE_PAGE.. => HUGE_PAGE,
            _ => LINE_BYTES,
        };
        let all = zeros::<V>(length.saturating_add(start / size + 1))?;
        // values of more than 16 bytes may miss it by half a value
        let address = all.as_ptr() as usize;
        let first = (address.next_multiple_of(start) - address).div_ceil(size);
        Ok(Self { all, first, length })
    }

    /// Numbers that begin wherever they begin.
    pub fn as_they_lie(all: Vec<V>) -> Self {
        let length = all.len();
        Self {
            all,
            first: 0,
            length,
        }
    }

    /// Forgets all from `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl<V> Deref for Lined<V> {
    type Target = [V];

    #[inline(always)]
    fn deref(&self) -> &[V] {
        &self.all[self.first..][..self.length]
    }
}

impl<V> DerefMut for Lined<V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [V] {
        &mut self.all[self.first..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_huge_pages_begin_where_the_numbers_do() {
        for (length, start) in [(0, LINE_BYTES), (7, LINE_BYTES), (HUGE_PAGE, HUGE_PAGE)] {
            let numbers = Lined::<f32>::zeros(length).unwrap();
            assert_eq!(numbers.len(), length);
            assert_eq!(numbers.as_ptr() as usize % start, 0);
            let lanes = Lined::<[f32; 8]>::zeros(length).unwrap();
            assert_eq!(lanes.len(), length);
            assert!(lanes.as_ptr() as usize % start < size_of::<[f32; 8]>());
        }
    }

    #[test]
    fn there_are_as_many_as_asked_for_or_none() {
        assert_eq!(zeros::<f32>(3).unwrap(), [0.0; 3]);
        assert_eq!(zeros::<[f32; 8]>(2).unwrap(), [[0.0; 8]; 2]);
        assert!(zeros::<u8>(0).unwrap().is_empty());
        let bytes = (usize::MAX / 8 * 8) as u64;
        assert!(
            matches!(zeros::<f64>(usize::MAX / 8), Err(OutOfMemory { bytes: asked }) if asked == bytes)
        );
    }
}
