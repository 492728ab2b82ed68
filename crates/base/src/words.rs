//! Words of 32 bits seen as floats and as bytes.

/// The same bits as 32-bit floats.
#[inline(always)]
pub fn as_floats(words: &[u32]) -> &[f32] {
    // SAFETY: u32 and f32 have the same size and alignment, and every bit pattern is a value of both.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// The same memory as bytes, for the spool.
#[inline]
pub fn as_bytes(words: &[u32]) -> &[u8] {
    // SAFETY: bytes have no alignment and every byte of a u32 is initialized.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), std::mem::size_of_val(words)) }
}

/// The same memory as bytes to be filled from the spool.
#[inline]
pub fn as_bytes_mut(words: &mut [u32]) -> &mut [u8] {
    // SAFETY: as above, and every four bytes are a u32.
    unsafe {
        std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), std::mem::size_of_val(words))
    }
}
