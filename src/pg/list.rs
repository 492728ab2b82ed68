//! PostgreSQL's lists.

use pgrx::pg_sys;

/// The elements of a list, which may be null: that is the empty one.
///
/// # Safety
/// `list` is a list of pointers to `T`, or null, and outlives the iterator unchanged.
pub unsafe fn elements<T>(
    list: *const pg_sys::List,
) -> impl DoubleEndedIterator<Item = *mut T> + ExactSizeIterator {
    // SAFETY: as the caller promises.
    let (first, length) = match unsafe { list.as_ref() } {
        None => (core::ptr::null_mut(), 0),
        Some(list) => (list.elements, list.length as usize),
    };
    // SAFETY: the same; a list's elements lie side by side.
    (0..length).map(move |at| unsafe { (*first.add(at)).ptr_value.cast() })
}

/// Element `at`, from 0, if there are as many.
///
/// # Safety
/// As for `elements`.
pub unsafe fn nth<T>(list: *const pg_sys::List, at: usize) -> Option<*mut T> {
    // SAFETY: as the caller promises.
    unsafe { elements(list) }.nth(at)
}

/// The oids in a list of such, which may be null.
///
/// # Safety
/// `list` is a list of oids, or null, and outlives the iterator unchanged.
pub unsafe fn oids(list: *const pg_sys::List) -> impl Iterator<Item = pg_sys::Oid> {
    // SAFETY: as the caller promises.
    let (first, length) = match unsafe { list.as_ref() } {
        None => (core::ptr::null_mut(), 0),
        Some(list) => (list.elements, list.length as usize),
    };
    // SAFETY: the same; a list's elements lie side by side.
    (0..length).map(move |at| unsafe { (*first.add(at)).oid_value })
}
