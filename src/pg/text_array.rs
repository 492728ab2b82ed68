//! The elements of an array of texts, read from its bytes where they lie. Any process.

use super::varlena::plain_payload;
use pgrx::pg_sys;

/// Bytes of the header fields, the length word among them.
const FIELDS: usize = size_of::<pg_sys::ArrayType>();
/// Most dimensions of an array.
const MOST_DIMENSIONS: usize = 6;

/// Calls `read` with each element that is not NULL; None, and no more calls, where the bytes contradict themselves.
///
/// # Safety
/// `bytes` are an array of texts with its varlena header of four bytes; elements of other forms than plain ones are refused.
pub unsafe fn for_each<E>(
    bytes: &[u8],
    mut read: impl FnMut(&[u8]) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let dimensions = usize::try_from(int(bytes, 4)?).ok()?;
    if dimensions == 0 {
        return Some(Ok(()));
    }
    if dimensions > MOST_DIMENSIONS {
        return None;
    }
    let mut count = 1usize;
    for at in 0..dimensions {
        let length = usize::try_from(int(bytes, FIELDS + 4 * at)?).ok()?;
        count = count.checked_mul(length)?;
    }
    let behind = FIELDS + 8 * dimensions;
    let (nulls, mut at) = match int(bytes, 8)? {
        0 => (None, behind.next_multiple_of(8)),
        offset => {
            let bitmap = bytes.get(behind..behind + count.div_ceil(8))?;
            (Some(bitmap), usize::try_from(offset).ok()?)
        }
    };
    for number in 0..count {
        if nulls.is_some_and(|present| present[number / 8] >> (number % 8) & 1 == 0) {
            continue;
        }
        // a short header stands at any place, a long one begins with a byte of zeros to skip
        if *bytes.get(at)? == 0 {
            at = at.next_multiple_of(4);
        }
        let rest = bytes.get(at..).filter(|rest| rest.len() >= 4)?;
        // SAFETY: there are bytes of a header, which the caller's array has at such places.
        let payload = unsafe { plain_payload(pg_sys::Datum::from(rest.as_ptr())) }?;
        let end = payload.as_ptr() as usize - bytes.as_ptr() as usize + payload.len();
        if end > bytes.len() {
            return None;
        }
        if let Err(error) = read(payload) {
            return Some(Err(error));
        }
        at = end;
    }
    Some(Ok(()))
}

fn int(bytes: &[u8], at: usize) -> Option<i32> {
    let (word, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(i32::from_ne_bytes(*word))
}
