//! Random numbers that nobody can guess, any process.

use pgrx::pg_sys;

/// 64 random bits; None where the system has none.
pub fn bits() -> Option<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: fills so many bytes.
    let filled = unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) };
    filled.then(|| u64::from_ne_bytes(bytes))
}
