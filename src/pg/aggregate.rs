//! Aggregates whose state is a Rust value: where it lives, how partial states of parallel workers
//! are put together, and how they travel between processes. Any backend or parallel worker.
//!
//! SQL calls the state `internal`, so nobody but PostgreSQL's executor passes one around.

use super::varlena::Varlena;
use crate::base::errors::{Code, Failure, OrRaise};
use pgrx::{pg_sys, varlena, PgMemoryContexts};
use pgsvm_core::memory::{OutOfMemory, Room};

/// What an aggregate knows of the rows so far.
pub trait State: Default {
    /// Adds what another state knows, about rows of its own; that one is not used any more.
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure>;
    /// Appends its bytes, for `read` in a process of the same server; nothing is added to it any more.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure>;
    /// The state with these bytes; None where they are none.
    fn read(bytes: &[u8]) -> Result<Option<Self>, Failure>;
}

/// Argument `at` of the call; None for NULL.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with more than `at` arguments.
#[inline]
pub unsafe fn argument(fcinfo: pg_sys::FunctionCallInfo, at: usize) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises.
    let argument = unsafe { *(*fcinfo).args.as_ptr().add(at) };
    (!argument.isnull).then_some(argument.value)
}

/// The state that a transition function adds a row to: its first argument, made on the first row.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a transition function over `S`.
#[inline]
pub unsafe fn state<'a, S: State + 'a>(fcinfo: pg_sys::FunctionCallInfo) -> &'a mut S {
    // SAFETY: only functions of this module make states; they live as long as the aggregation.
    unsafe {
        match argument(fcinfo, 0) {
            Some(datum) => &mut *datum.cast_mut_ptr(),
            None => &mut *kept(context(fcinfo), S::default()),
        }
    }
}

/// The state that a final function reads; None when there was no row.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a final function over `S`.
pub unsafe fn finished<'a, S: State + 'a>(fcinfo: pg_sys::FunctionCallInfo) -> Option<&'a mut S> {
    // SAFETY: as for `state`.
    unsafe {
        context(fcinfo);
        argument(fcinfo, 0).map(|datum| &mut *datum.cast_mut_ptr())
    }
}

/// A state as functions over it return it.
pub fn returned<S>(state: &mut S) -> pg_sys::Datum {
    pg_sys::Datum::from(core::ptr::from_mut(state))
}

/// NULL as a result.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
pub unsafe fn null(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { (*fcinfo).isnull = true };
    pg_sys::Datum::from(0)
}

/// The combine function over `S`: the first state takes in the second.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a combine function over `S`.
pub unsafe fn combine<S: State>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as for `state`.
    unsafe {
        let Some(other) = argument(fcinfo, 1) else {
            context(fcinfo);
            return match argument(fcinfo, 0) {
                Some(state) => state,
                None => null(fcinfo),
            };
        };
        let all = state::<S>(fcinfo);
        all.merge(&mut *other.cast_mut_ptr::<S>()).or_raise();
        returned(all)
    }
}

/// The serial function over `S`.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a serial function over `S`; the function is STRICT.
pub unsafe fn serialize<S: State>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as for `state`.
    match unsafe { finished::<S>(fcinfo) } {
        Some(state) => bytes_of(state),
        // SAFETY: `fcinfo` is PostgreSQL's.
        None => unsafe { null(fcinfo) },
    }
}

/// A state as a bytea.
fn bytes_of(state: &mut impl State) -> pg_sys::Datum {
    let mut bytes = vec![0; pg_sys::VARHDRSZ];
    state.write(&mut bytes).or_raise();
    // SAFETY: the copy has room for header and bytes.
    unsafe {
        let copy = pg_sys::palloc(bytes.len()).cast::<u8>();
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
        varlena::set_varsize_4b(copy.cast(), bytes.len() as i32);
        pg_sys::Datum::from(copy)
    }
}

/// The deserial function over `S`; the state lives until the combine function has seen it.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a deserial function over `S`; the function is STRICT.
pub unsafe fn deserialize<S: State>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as for `state`; the first argument is a bytea.
    unsafe {
        context(fcinfo);
        let bytes = argument(fcinfo, 0).map(|datum| Varlena::open(datum));
        match bytes.and_then(|bytes| S::read(bytes.payload()).or_raise()) {
            Some(state) => returned(&mut *kept(pg_sys::CurrentMemoryContext, state)),
            None => Failure::new(
                Code::ERRCODE_DATA_CORRUPTED,
                "the state of an aggregate is damaged",
            )
            .raise(),
        }
    }
}

/// Moves a state into a memory context, whose end drops it.
///
/// # Safety
/// `context` is a memory context.
unsafe fn kept<S>(context: pg_sys::MemoryContext, state: S) -> *mut S {
    PgMemoryContexts::For(context).leak_and_drop_on_delete(state)
}

/// The memory context of the aggregation; an ERROR where the call belongs to none.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
pub(super) unsafe fn context(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::MemoryContext {
    let mut context = core::ptr::null_mut();
    // SAFETY: as the caller promises.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
        Failure::new(
            Code::ERRCODE_GROUPING_ERROR,
            "this function is part of an aggregate and not to be called by itself",
        )
        .raise();
    }
    context
}

/// Appends numbers to bytes, and takes them off again.
pub fn put(out: &mut Vec<u8>, number: u64) -> Result<(), OutOfMemory> {
    let bytes = number.to_ne_bytes();
    out.room(bytes.len())?.extend_from_slice(&bytes);
    Ok(())
}

/// Takes the number off that `put` appended.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_ne_bytes(*number))
}
