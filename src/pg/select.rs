//! Prepared SELECTs run read-only through SPI: with the snapshot that is active and without a new
//! command, so that they work in parallel workers, in read-only transactions and on a standby.
//!
//! An error in between leaves SPI to the abort of the transaction, as PostgreSQL provides.

use super::long_errors::cut_off;
use super::varlena::Varlena;
use crate::base::errors::OrRaise;
use core::ffi::{c_char, CStr};
use pgrx::pg_sys;
use pgsvm_core::memory::lossy;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;

/// A plan that outlives the transaction; PostgreSQL plans it anew when a table or the role changes.
#[derive(Clone, Copy)]
pub struct PreparedSelect(pg_sys::SPIPlanPtr);

thread_local! {
    /// By text: as many as the extension has statements of this kind, for each schema that it was in.
    static KEPT: RefCell<HashMap<String, PreparedSelect>> = RefCell::new(HashMap::new());
}

/// One row of a result, valid while it is visited.
pub struct ResultRow {
    tuple: pg_sys::HeapTuple,
    columns: pg_sys::TupleDesc,
}

/// A parameter.
pub enum Parameter<'a> {
    Int8(i64),
    Int4(Option<i32>),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// Rows fetched at a time, so that wide rows need little memory at once.
const FETCH_ROWS: core::ffi::c_long = 8;

/// Runs `body` between SPI's connect and finish, under a snapshot.
pub fn connected<T>(body: impl FnOnce() -> T) -> T {
    let connection = Connection::open();
    let result = cut_off(body);
    connection.close();
    result
}

/// SPI, connected. Each call of PostgreSQL's is some hundred bytes of code, so what does not depend on the body is compiled once.
struct Connection {
    /// Whether a snapshot was pushed for it.
    pushed: bool,
}

impl Connection {
    #[inline(never)]
    fn open() -> Self {
        // SAFETY: `close` finishes SPI and pops a snapshot pushed here; an error before that leaves both to the abort.
        unsafe {
            let pushed = !pg_sys::ActiveSnapshotSet();
            if pushed {
                pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            }
            pg_sys::SPI_connect();
            Self { pushed }
        }
    }

    #[inline(never)]
    fn close(self) {
        // SAFETY: as in `open`.
        unsafe {
            pg_sys::SPI_finish();
            if self.pushed {
                pg_sys::PopActiveSnapshot();
            }
        }
    }
}

/// Calls `visit` with the next rows of a cursor until that returns false; whether there may be more.
///
/// # Safety
/// SPI is connected, and has opened the cursor.
unsafe fn visit_some(cursor: pg_sys::Portal, visit: &mut dyn FnMut(&ResultRow) -> bool) -> bool {
    super::check_for_interrupts();
    // SAFETY: as the caller promises; the rows are read before their table is freed.
    unsafe {
        pg_sys::SPI_cursor_fetch(cursor, true, FETCH_ROWS);
        let table = pg_sys::SPI_tuptable;
        let count = pg_sys::SPI_processed as usize;
        let more = (0..count).all(|at| {
            visit(&ResultRow {
                tuple: *(*table).vals.add(at),
                columns: (*table).tupdesc,
            })
        });
        pg_sys::SPI_freetuptable(table);
        more && count > 0
    }
}

impl PreparedSelect {
    /// Plans `sql`, one SELECT with parameters of these types, inside `connected`.
    pub fn new(sql: &CStr, types: &[pg_sys::Oid]) -> Self {
        Self::once(sql, types).keep()
    }

    fn keep(self) -> Self {
        // SAFETY: SPI is connected as the caller promises; a plan that is kept moves to memory of
        // its own, which nothing frees.
        unsafe { pg_sys::SPI_keepplan(self.0) };
        self
    }

    /// The same, made once in this backend, and planned once for any values. Parameter types follow from the text.
    pub fn kept(sql: &str, types: &[pg_sys::Oid]) -> Self {
        if let Some(known) = KEPT.with_borrow(|kept| kept.get(sql).copied()) {
            return known;
        }
        let made = Self::prepare(
            &CString::new(sql).unwrap_or_default(),
            types,
            pg_sys::CURSOR_OPT_GENERIC_PLAN,
        )
        .keep();
        KEPT.with_borrow_mut(|kept| kept.insert(sql.to_owned(), made));
        made
    }

    /// The same for use inside this `connected` only.
    pub fn once(sql: &CStr, types: &[pg_sys::Oid]) -> Self {
        Self::prepare(sql, types, 0)
    }

    fn prepare(sql: &CStr, types: &[pg_sys::Oid], options: u32) -> Self {
        let mut types = types.to_vec();
        let (count, options) = (types.len() as _, options as _);
        // SAFETY: SPI is connected as the caller promises.
        unsafe {
            let plan = pg_sys::SPI_prepare_cursor(sql.as_ptr(), count, types.as_mut_ptr(), options);
            assert!(!plan.is_null(), "a SELECT of ours parses");
            Self(plan)
        }
    }

    /// The same, planned for the values with which it is run, in parallel where the planner finds that worth while.
    pub fn for_values(sql: &CStr, types: &[pg_sys::Oid]) -> Self {
        let options = pg_sys::CURSOR_OPT_PARALLEL_OK | pg_sys::CURSOR_OPT_CUSTOM_PLAN;
        Self::prepare(sql, types, options)
    }

    /// The same, in parallel where the planner finds that worth while.
    pub fn parallel(sql: &CStr, types: &[pg_sys::Oid]) -> Self {
        let options = pg_sys::CURSOR_OPT_PARALLEL_OK | pg_sys::CURSOR_OPT_GENERIC_PLAN;
        Self::prepare(sql, types, options)
    }

    /// Runs it to its end, inside `connected`, and calls `visit` with each row when all are there.
    pub fn for_each_at_once(
        &self,
        parameters: &[Parameter<'_>],
        mut visit: impl FnMut(&ResultRow),
    ) {
        let (mut values, nulls) = bind(parameters);
        // SAFETY: SPI is connected as the caller promises, and the values are of the types that
        // the plan was made for.
        unsafe {
            pg_sys::SPI_execute_plan(self.0, values.as_mut_ptr(), nulls.as_ptr(), true, 0);
            visit_all(&mut visit);
        }
    }

    /// Runs it, inside `connected`, and calls `visit` with each row until that returns false.
    pub fn for_each(
        &self,
        parameters: &[Parameter<'_>],
        mut visit: impl FnMut(&ResultRow) -> bool,
    ) {
        self.for_each_row(parameters, &mut visit);
    }

    /// The same, compiled once.
    fn for_each_row(
        &self,
        parameters: &[Parameter<'_>],
        visit: &mut dyn FnMut(&ResultRow) -> bool,
    ) {
        let (mut values, nulls) = bind(parameters);
        // SAFETY: SPI is connected as the caller promises, and the values are of the types that
        // the plan was made for.
        unsafe {
            let portal = pg_sys::SPI_cursor_open(
                core::ptr::null(),
                self.0,
                values.as_mut_ptr(),
                nulls.as_ptr(),
                true,
            );
            while visit_some(portal, visit) {}
            pg_sys::SPI_cursor_close(portal);
        }
    }
}

/// Runs a SELECT once, inside `connected`, in parallel where the planner finds that worth while, and
/// calls `visit` with each row when all are there.
pub fn for_each_at_once(sql: &CStr, mut visit: impl FnMut(&ResultRow)) {
    // SAFETY: SPI is connected as the caller promises.
    unsafe {
        pg_sys::SPI_execute(sql.as_ptr(), true, 0);
        visit_all(&mut visit);
    }
}

/// Calls `visit` with each row of the statement that was run last, and frees them.
///
/// # Safety
/// SPI is connected, and has run a SELECT.
unsafe fn visit_all(visit: &mut dyn FnMut(&ResultRow)) {
    // SAFETY: as the caller promises; the rows are read before their table is freed.
    unsafe {
        let table = pg_sys::SPI_tuptable;
        for at in 0..pg_sys::SPI_processed as usize {
            visit(&ResultRow {
                tuple: *(*table).vals.add(at),
                columns: (*table).tupdesc,
            });
        }
        pg_sys::SPI_freetuptable(table);
    }
}

/// Runs a statement that changes something, with a zero byte behind it.
pub fn execute(sql: &[u8]) {
    if let Ok(sql) = CStr::from_bytes_with_nul(sql) {
        // SAFETY: SPI is connected; an error is left to the abort.
        connected(|| unsafe { pg_sys::SPI_execute(sql.as_ptr(), false, 0) });
    }
}

/// Values and null flags as SPI wants them.
fn bind(parameters: &[Parameter<'_>]) -> (Vec<pg_sys::Datum>, Vec<c_char>) {
    parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Int8(value) => (pg_sys::Datum::from(*value), b' ' as c_char),
            Parameter::Int4(Some(value)) => (pg_sys::Datum::from(*value), b' ' as c_char),
            Parameter::Int4(None) => (pg_sys::Datum::from(0), b'n' as c_char),
            Parameter::Text(text) => (text_datum(text), b' ' as c_char),
            Parameter::Bytes(bytes) => (varlena_datum(bytes), b' ' as c_char),
        })
        .unzip()
}

/// A text value in the current memory context.
pub fn text_datum(text: &str) -> pg_sys::Datum {
    varlena_datum(text.as_bytes())
}

/// The same of any bytes.
fn varlena_datum(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: the bytes are copied before the call returns.
    let copy = unsafe { pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as _) };
    pg_sys::Datum::from(copy)
}

impl ResultRow {
    /// The value of column `number`, counted from 1; None for NULL.
    pub fn datum(&self, number: i32) -> Option<pg_sys::Datum> {
        let mut null = false;
        // SAFETY: tuple and descriptor belong together and live while the row is visited.
        let datum = unsafe { pg_sys::SPI_getbinval(self.tuple, self.columns, number, &mut null) };
        (!null).then_some(datum)
    }

    /// A text column's value.
    pub fn text(&self, number: i32) -> Option<String> {
        let value = self.varlena(number)?;
        Some(lossy(value.payload()).or_raise())
    }

    /// The value of a column of variable length.
    pub fn varlena(&self, number: i32) -> Option<Varlena<'_>> {
        let datum = self.datum(number)?;
        // SAFETY: the column is of such a type, as the SELECT says, and lives as long as the row.
        Some(unsafe { Varlena::open(datum) })
    }

    /// An integer column's value.
    pub fn int4(&self, number: i32) -> Option<i32> {
        self.datum(number).map(|datum| datum.value() as i32)
    }

    /// A bigint column's value.
    pub fn int8(&self, number: i32) -> Option<i64> {
        self.datum(number).map(|datum| datum.value() as i64)
    }

    /// A double precision column's value.
    pub fn float8(&self, number: i32) -> Option<f64> {
        self.datum(number)
            .map(|datum| f64::from_bits(datum.value() as u64))
    }
}
