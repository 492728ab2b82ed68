//! pgvector's types: how they are recognized without depending on that extension, and their values read
//! from bytes, at any alignment. Lengths are checked against each other: a damaged value is None.
//!
//! Behind the varlena header: `vector` has int16 dimensions, int16 unused, float4 elements; `halfvec`
//! the same with IEEE 754 half precision; `sparsevec` int32 dimensions, int32 count, int32 unused,
//! int32 indices from 0, float4 values.

use core::ffi::CStr;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

/// A type of pgvector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorKind {
    Vector,
    Halfvec,
    Sparsevec,
}

/// The kind of a type that belongs to extension vector; None for all else.
pub fn vector_kind(type_oid: pg_sys::Oid) -> Option<VectorKind> {
    // SAFETY: catalog look-ups inside a transaction; the name is a terminated string.
    let name = unsafe {
        let extension = pg_sys::get_extension_oid(c"vector".as_ptr(), true);
        // whoever owns that extension may add types of his own to it, but only superusers make base types
        if extension == pg_sys::InvalidOid
            || pg_sys::get_typtype(type_oid) as u8 != pg_sys::TYPTYPE_BASE
            || pg_sys::get_typlen(type_oid) != -1
            || pg_sys::getExtensionOfObject(pg_sys::TypeRelationId, type_oid) != extension
        {
            return None;
        }
        CStr::from_ptr(pg_sys::format_type_extended(type_oid, -1, 0)).to_string_lossy()
    };
    // behind the schema where that is not on the search path
    match name.rsplit('.').next()? {
        "vector" => Some(VectorKind::Vector),
        "halfvec" => Some(VectorKind::Halfvec),
        "sparsevec" => Some(VectorKind::Sparsevec),
        _ => None,
    }
}

/// Appends the elements of a `vector` or, where `half`, a `halfvec`; returns how many there are.
/// None where they are damaged.
pub fn append_elements(
    payload: &[u8],
    half: bool,
    out: &mut Vec<f64>,
) -> Result<Option<usize>, OutOfMemory> {
    // at least two bytes each
    out.room(payload.len() / 2)?;
    Ok(append(payload, half, out))
}

/// The same with room for them.
fn append(payload: &[u8], half: bool, out: &mut Vec<f64>) -> Option<usize> {
    let (dimensions, rest) = payload.split_first_chunk()?;
    let count = usize::try_from(i16::from_ne_bytes(*dimensions)).ok()?;
    let data = rest.get(size_of::<i16>()..)?;
    match half {
        true => {
            let words = exactly::<2>(data, count)?;
            out.extend(
                words
                    .iter()
                    .map(|word| half_to_f64(u16::from_ne_bytes(*word))),
            );
        }
        false => {
            let words = exactly::<4>(data, count)?;
            out.extend(
                words
                    .iter()
                    .map(|word| f64::from(f32::from_ne_bytes(*word))),
            );
        }
    }
    Some(count)
}

/// The pairs of a `sparsevec`, indices from 0.
pub fn pairs(payload: &[u8]) -> Option<impl Iterator<Item = (i32, f32)> + '_> {
    let (header, data) = payload.split_first_chunk::<12>()?;
    let count = i32::from_ne_bytes(*header[4..].first_chunk()?);
    let count = usize::try_from(count).ok()?;
    let words = exactly::<4>(data, count.checked_mul(2)?)?;
    let (indices, values) = words.split_at(count);
    let indices = indices.iter().map(|word| i32::from_ne_bytes(*word));
    Some(indices.zip(values.iter().map(|word| f32::from_ne_bytes(*word))))
}

/// The data as `count` words, if it is as long.
fn exactly<const WIDTH: usize>(data: &[u8], count: usize) -> Option<&[[u8; WIDTH]]> {
    let (words, rest) = data.as_chunks();
    (words.len() == count && rest.is_empty()).then_some(words)
}

/// The value of a number of IEEE 754 half precision.
fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match i32::from(bits >> 10 & 0x1f) {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    sign * magnitude
}
