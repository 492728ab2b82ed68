//! Variable-length values as bytes. Any process that may call PostgreSQL.
//!
//! A plain value, with the long or the short header, is read where it lies, at any alignment.
//! Only compressed, out-of-line and expanded values are detoasted, and that copy is freed as soon
//! as the `Varlena` is dropped, so that no memory piles up from row to row.

use core::ptr::NonNull;
use pgrx::{pg_sys, varlena};

/// The bytes of one value behind its header.
pub struct Varlena<'a> {
    payload: &'a [u8],
    /// Bytes of the header.
    header: usize,
    detoasted: Option<NonNull<pg_sys::varlena>>,
}

impl Varlena<'_> {
    /// Opens the value behind `datum`.
    ///
    /// # Safety
    /// `datum` is a valid, non-null value of a variable-length type and stays where it is, unchanged,
    /// for the lifetime the caller picks.
    #[inline(always)]
    pub unsafe fn open(datum: pg_sys::Datum) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            match plain_payload(datum) {
                Some(payload) => Self {
                    payload,
                    header: payload.as_ptr() as usize - datum.value(),
                    detoasted: None,
                },
                None => Self::detoast(datum.cast_mut_ptr()),
            }
        }
    }

    /// # Safety
    /// As for `open`.
    #[cold]
    unsafe fn detoast(pointer: *mut pg_sys::varlena) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let copy = pg_sys::pg_detoast_datum(pointer);
            Self {
                payload: long_payload(copy),
                header: pg_sys::VARHDRSZ,
                detoasted: NonNull::new(copy).filter(|copy| copy.as_ptr() != pointer),
            }
        }
    }

    /// Whether it lies where the datum says, perhaps in a page of its table.
    #[inline(always)]
    pub fn is_in_place(&self) -> bool {
        self.detoasted.is_none()
    }

    /// The value without its header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.payload
    }

    /// The value and its header, long or short.
    pub fn with_header(&self) -> &[u8] {
        // SAFETY: the header lies just before the payload.
        unsafe {
            let start = self.payload.as_ptr().sub(self.header);
            core::slice::from_raw_parts(start, self.header + self.payload.len())
        }
    }
}

impl Drop for Varlena<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(copy) = self.detoasted {
            free(copy);
        }
    }
}

#[cold]
fn free(copy: NonNull<pg_sys::varlena>) {
    // SAFETY: the copy was allocated by `detoast` and nothing else knows it; while an error unwinds
    // this stack PostgreSQL has not yet reset the context that holds it.
    unsafe { pg_sys::pfree(copy.as_ptr().cast()) };
}

/// Bytes by which a value is known from others in one snapshot: its own, as they are or compressed, or where it lies out of line.
/// None where it lies in memory in a form of its own.
///
/// # Safety
/// As for `Varlena::open`.
#[inline]
pub unsafe fn stored_bytes<'a>(datum: pg_sys::Datum) -> Option<&'a [u8]> {
    let pointer = datum.cast_mut_ptr::<pg_sys::varlena>();
    // SAFETY: the header is valid as the caller promises, and says how long the value is.
    unsafe {
        if let Some(payload) = plain_payload(datum) {
            return Some(payload);
        }
        let out_of_line = varlena::varatt_is_1b_e(pointer);
        if out_of_line && varlena::vartag_external(pointer) != ON_DISK {
            return None;
        }
        let length = varlena::varsize_any(pointer);
        Some(core::slice::from_raw_parts(pointer.cast(), length))
    }
}

/// The tag of a value that a table holds out of line.
const ON_DISK: u8 = pg_sys::vartag_external::VARTAG_ONDISK as u8;

/// The bytes behind the header of a value that lies in memory as it is; None where it must be
/// detoasted. Neither panics nor raises an error.
///
/// # Safety
/// As for `Varlena::open`.
#[inline(always)]
pub unsafe fn plain_payload<'a>(datum: pg_sys::Datum) -> Option<&'a [u8]> {
    let pointer = datum.cast_mut_ptr::<pg_sys::varlena>();
    // SAFETY: the header is valid as the caller promises, and says how many bytes follow it.
    unsafe {
        if varlena::varatt_is_4b_u(pointer) {
            return Some(long_payload(pointer));
        }
        if varlena::varatt_is_1b(pointer) && !varlena::varatt_is_1b_e(pointer) {
            let length = varlena::varsize_1b(pointer) - pg_sys::VARHDRSZ_SHORT;
            let start = pointer.cast::<u8>().add(pg_sys::VARHDRSZ_SHORT);
            return Some(core::slice::from_raw_parts(start, length));
        }
    }
    None
}

/// # Safety
/// `pointer` has a plain four-byte header.
#[inline]
unsafe fn long_payload<'a>(pointer: *const pg_sys::varlena) -> &'a [u8] {
    // SAFETY: the header holds the length including itself.
    unsafe {
        let length = varlena::varsize_4b(pointer) - pg_sys::VARHDRSZ;
        core::slice::from_raw_parts(pointer.cast::<u8>().add(pg_sys::VARHDRSZ), length)
    }
}

/// Reads a text that a SELECT of ours cast to text, without copying it.
pub fn with_text<T>(datum: pg_sys::Datum, read: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: the datum is a non-null text-like varlena (name columns are cast to text by our
    // SELECT); the detoasted copy lives in the current row's memory context.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        read(pgrx::varlena::varlena_to_byte_slice(varlena))
    }
}
