//! Aggregates whose state is a Rust value and, in SQL, of type bytea. While rows come the value stands behind an expanded object; it
//! becomes bytes where anybody else reads it. Citus needs this: it sends states about as values, and knows none of type `internal`.

use super::aggregate::{self, argument, State};
use super::varlena::Varlena;
use crate::base::errors::{Code, Failure, OrRaise};
use core::ffi::c_void;
use pgrx::pg_sys::submodules::panic::pgrx_extern_c_guard;
use pgrx::{pg_sys, varlena, PgMemoryContexts};

/// A state that can be flattened.
pub trait FlatState: State {
    /// One and the same place for all states of this kind, made by [`methods`]: by it they are known.
    fn methods() -> &'static pg_sys::ExpandedObjectMethods;
}

/// How PostgreSQL gets bytes of a state.
pub const fn methods<S: FlatState>() -> pg_sys::ExpandedObjectMethods {
    pg_sys::ExpandedObjectMethods {
        get_flat_size: Some(flat_size::<S>),
        flatten_into: Some(flatten::<S>),
    }
}

/// A state in memory; PostgreSQL sees the first field only.
#[repr(C)]
struct Expanded<S> {
    head: pg_sys::ExpandedObjectHeader,
    state: S,
    /// The bytes that it has become, with their header, from when somebody has asked for them.
    flat: Vec<u8>,
}

/// Tags of a value that points to an expanded one: one that may be changed, and one that may be read.
const EXPANDED: [u8; 2] = [
    pg_sys::vartag_external::VARTAG_EXPANDED_RW as u8,
    pg_sys::vartag_external::VARTAG_EXPANDED_RO as u8,
];

/// The state that a transition or combine function goes on with, its first argument, and the value to return: the same one each
/// time, so that nobody copies it.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of such a function whose state is `S` as a bytea.
pub unsafe fn state<'a, S: FlatState + 'a>(
    fcinfo: pg_sys::FunctionCallInfo,
) -> (&'a mut S, pg_sys::Datum) {
    // SAFETY: as the caller promises; a state lives as long as its aggregation.
    unsafe {
        let aggregation = aggregate::context(fcinfo);
        let held = match argument(fcinfo, 0) {
            None => made(aggregation, S::default()),
            Some(datum) => match expanded::<S>(datum) {
                Some(held) => held,
                None => made(aggregation, read(datum)),
            },
        };
        if !held.flat.is_empty() {
            held.state = parsed(&held.flat[pg_sys::VARHDRSZ..]);
            held.flat = Vec::new();
        }
        let value = pg_sys::Datum::from(held.head.eoh_rw_ptr.as_ptr());
        (&mut held.state, value)
    }
}

/// The combine function over `S`: the first state takes in the second.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, of a combine function whose states are `S` as bytea.
pub unsafe fn combine<S: FlatState>(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as for `state`.
    unsafe {
        let Some(other) = argument(fcinfo, 1) else {
            aggregate::context(fcinfo);
            return argument(fcinfo, 0).unwrap_or_else(|| aggregate::null(fcinfo));
        };
        let (all, value) = state::<S>(fcinfo);
        all.merge(&mut read::<S>(other)).or_raise();
        value
    }
}

/// The state that is behind a value of ours; None where it is bytes.
///
/// # Safety
/// `datum` is a bytea that stays in place.
unsafe fn expanded<'a, S: FlatState>(datum: pg_sys::Datum) -> Option<&'a mut Expanded<S>> {
    let pointer = datum.cast_mut_ptr::<pg_sys::varlena>();
    // SAFETY: as the caller promises; what our methods belong to was made by `made`.
    unsafe {
        let tag = pointer.cast::<u8>().add(1);
        if !varlena::varatt_is_1b_e(pointer) || !EXPANDED.contains(&*tag) {
            return None;
        }
        let head = pg_sys::DatumGetEOHP(datum);
        core::ptr::eq((*head).eoh_methods, S::methods()).then(|| &mut *head.cast())
    }
}

/// The state that a value has bytes of.
///
/// # Safety
/// `datum` is a bytea.
unsafe fn read<S: State>(datum: pg_sys::Datum) -> S {
    // SAFETY: as the caller promises; an expanded one is flattened.
    parsed(unsafe { Varlena::open(datum) }.payload())
}

fn parsed<S: State>(bytes: &[u8]) -> S {
    S::read(bytes).or_raise().unwrap_or_else(|| {
        Failure::new(
            Code::ERRCODE_DATA_CORRUPTED,
            "the state of an aggregate is damaged",
        )
        .raise()
    })
}

/// Puts a state into memory of its own below that of the aggregation, with whose end it is dropped.
///
/// # Safety
/// `aggregation` is a memory context.
unsafe fn made<'a, S: FlatState>(
    aggregation: pg_sys::MemoryContext,
    state: S,
) -> &'a mut Expanded<S> {
    // SAFETY: as the caller promises; the header is made before anybody sees it.
    unsafe {
        let own = pg_sys::AllocSetContextCreateInternal(
            aggregation,
            c"pgsvm state".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let held = PgMemoryContexts::For(own).leak_and_drop_on_delete(Expanded {
            head: pg_sys::ExpandedObjectHeader::default(),
            state,
            flat: Vec::new(),
        });
        pg_sys::EOH_init_header(&mut (*held).head, S::methods(), own);
        &mut *held
    }
}

/// How many bytes the state takes; makes them.
unsafe extern "C-unwind" fn flat_size<S: FlatState>(
    head: *mut pg_sys::ExpandedObjectHeader,
) -> pg_sys::Size {
    // SAFETY: PostgreSQL calls with what `made` made.
    let held = unsafe { &mut *head.cast::<Expanded<S>>() };
    let made = || {
        if held.flat.is_empty() {
            let mut bytes = vec![0; pg_sys::VARHDRSZ];
            held.state.write(&mut bytes).or_raise();
            held.flat = bytes;
        }
        held.flat.len()
    };
    // SAFETY: a call from PostgreSQL.
    unsafe { pgrx_extern_c_guard(made) }
}

/// Copies them.
unsafe extern "C-unwind" fn flatten<S: FlatState>(
    head: *mut pg_sys::ExpandedObjectHeader,
    place: *mut c_void,
    size: pg_sys::Size,
) {
    // SAFETY: PostgreSQL calls with what `made` made, and room for as many bytes as it was told.
    unsafe {
        let held = &*head.cast::<Expanded<S>>();
        let count = held.flat.len().min(size);
        core::ptr::copy_nonoverlapping(held.flat.as_ptr(), place.cast(), count);
        varlena::set_varsize_4b(place.cast(), count as i32);
    }
}
