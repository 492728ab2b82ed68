//! What a head keeps for each row, the dual variable and whether the row is shrunk, in a form that several threads of one
//! trainer may change at a time, each for rows of its own.
//!
//! Loads and stores are relaxed, which costs what plain ones cost: no thread looks at another's rows, and what one
//! wrote reaches the others when it is joined.

use std::collections::TryReserveError;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A dual variable.
#[repr(transparent)]
pub(in crate::solver) struct Dual(AtomicU32);

impl Dual {
    /// The same values, which may be shared from here on.
    pub(in crate::solver) fn share(values: &mut [f32]) -> &[Dual] {
        // SAFETY: Dual is an AtomicU32, which has the size, alignment and valid bits of a u32 and so of an f32 (with
        // 32-bit alignment on every target that has it); the borrow is exclusive, so for its length nobody else
        // reaches the values but by this slice.
        unsafe { std::slice::from_raw_parts(values.as_mut_ptr().cast(), values.len()) }
    }

    #[inline(always)]
    pub(in crate::solver) fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(in crate::solver) fn set(&self, value: f32) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

/// The rows that active passes leave out: a bit each, and those behind the last row are shrunk for ever.
pub struct Shrunk {
    words: Vec<AtomicU64>,
}

impl Shrunk {
    /// All of 0..rows active.
    pub(in crate::solver) fn new(rows: usize) -> Result<Self, TryReserveError> {
        let mut words = Vec::new();
        words.try_reserve_exact(rows.div_ceil(64))?;
        words.resize_with(rows.div_ceil(64), AtomicU64::default);
        if let (Some(last), 1..) = (words.last_mut(), rows % 64) {
            *last.get_mut() = u64::MAX << (rows % 64);
        }
        Ok(Self { words })
    }

    /// All rows of 0..rows active, and what is behind them.
    pub(in crate::solver) fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// Takes over the bits of as many rows.
    pub(in crate::solver) fn copy(&mut self, other: &Self) {
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own.get_mut() = other.load(Ordering::Relaxed);
        }
    }

    /// Sets the bits of the rows `64 n..64 (n + 1)`, those behind the last row too.
    pub(in crate::solver) fn set_word(&mut self, n: usize, shrinks: u64) {
        *self.words[n].get_mut() = shrinks;
    }

    /// The bits of the rows `64 n..64 (n + 1)`.
    #[inline]
    pub(in crate::solver) fn word(&self, n: usize) -> u64 {
        self.words[n].load(Ordering::Relaxed)
    }

    #[inline]
    pub(in crate::solver) fn get(&self, row: usize) -> bool {
        self.group(row, 1) == 1
    }

    #[inline]
    pub(in crate::solver) fn set(&self, row: usize, shrinks: bool) {
        self.set_group(row, 1, u32::from(shrinks));
    }

    /// The bits of `width` (at most 16, dividing 64) rows from `first`, a multiple of `width`.
    #[inline]
    pub fn group(&self, first: usize, width: usize) -> u32 {
        (self.word(first / 64) >> (first % 64)) as u32 & ((1 << width) - 1)
    }

    /// Replaces the bits of [`Self::group`]. Threads have blocks of their own but may meet in a word.
    #[inline]
    pub(in crate::solver) fn set_group(&self, first: usize, width: usize, bits: u32) {
        let changed = self.group(first, width) ^ bits;
        if changed != 0 {
            let changed = u64::from(changed) << (first % 64);
            self.words[first / 64].fetch_xor(changed, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_rows_sleeps_and_wakes_beside_its_neighbours() {
        let shrunk = Shrunk::new(100).unwrap();
        shrunk.set_group(16, 16, 0xa5a5);
        shrunk.set_group(32, 16, 0xffff);
        shrunk.set(99, true);
        assert_eq!(shrunk.group(16, 16), 0xa5a5);
        shrunk.set_group(16, 16, 0x00ff);
        assert_eq!((shrunk.group(16, 16), shrunk.group(0, 16)), (0x00ff, 0));
        assert!(shrunk.get(32) && !shrunk.get(31) && shrunk.get(99));
    }

    #[test]
    fn nothing_is_active_behind_the_last_row() {
        for rows in [0, 1, 63, 64, 65, 100, 128] {
            let mut shrunk = Shrunk::new(rows).unwrap();
            let words = rows.div_ceil(64);
            let active = |shrunk: &Shrunk| (0..words).map(|n| shrunk.word(n).count_zeros()).sum();
            let all: u32 = active(&shrunk);
            for n in 0..words {
                shrunk.set_word(n, shrunk.word(n) | 0xaaaa_aaaa_aaaa_aaaa);
            }
            let even: u32 = active(&shrunk);
            assert_eq!((all as usize, even as usize), (rows, rows.div_ceil(2)));
            assert!(rows == 0 || !shrunk.get(0));
        }
    }

    #[test]
    fn shared_duals_are_the_same_values() {
        let mut values = [0.5, -0.0, f32::MAX];
        let duals = Dual::share(&mut values);
        assert_eq!(duals[2].get(), f32::MAX);
        duals[0].set(2.0);
        assert_eq!(values, [2.0, 0.0, f32::MAX]);
    }
}
