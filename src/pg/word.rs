//! The text of a value that is a category, as a cast to text would give it, without a call into the
//! server but for enums and values to detoast. Any process.

use super::types::{CategoryKind, NumberKind};
use super::varlena::Varlena;
use core::ffi::CStr;
use pgrx::pg_sys;

/// Calls `read` with the bytes of the value's text.
///
/// # Safety
/// `datum` is a value, not NULL, of a type of this `kind` and stays where it is during the call.
#[inline]
pub unsafe fn with_text<T>(
    datum: pg_sys::Datum,
    kind: CategoryKind,
    read: impl FnOnce(&[u8]) -> T,
) -> T {
    let word = datum.value();
    match kind {
        CategoryKind::Text => {
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(datum) };
            read(value.payload())
        }
        CategoryKind::Padded => {
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(datum) };
            read(without_padding(value.payload()))
        }
        CategoryKind::Boolean => read(if word & 0xff != 0 { b"true" } else { b"false" }),
        CategoryKind::Integer(NumberKind::Int2) => read((word as i16).to_string().as_bytes()),
        CategoryKind::Integer(NumberKind::Int4) => read((word as i32).to_string().as_bytes()),
        CategoryKind::Integer(_) => read((word as i64).to_string().as_bytes()),
        CategoryKind::Char => match word as u8 {
            0 => read(b""),
            byte => read(&[byte]),
        },
        // SAFETY: a name is terminated within its 64 bytes.
        CategoryKind::Name => read(unsafe { CStr::from_ptr(datum.cast_mut_ptr()) }.to_bytes()),
        CategoryKind::Enum => {
            let label = pgrx::enum_helper::lookup_enum_by_oid(enum_value(datum)).0;
            read(label.as_bytes())
        }
    }
}

/// What of a `char(n)` counts: all but the blanks at its end.
pub fn without_padding(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|byte| *byte != b' ');
    &bytes[..last.map_or(0, |last| last + 1)]
}

/// A text without the blanks at the end of a `char(n)`.
pub fn unpadded(text: &[u8], padded: bool) -> &[u8] {
    match padded {
        true => without_padding(text),
        false => text,
    }
}

/// The oid of an enum's value.
#[inline]
pub fn enum_value(datum: pg_sys::Datum) -> pg_sys::Oid {
    pg_sys::Oid::from(datum.value() as u32)
}
