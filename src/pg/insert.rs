//! Inserts many rows by one prepared statement, through SPI and so with triggers, rights and all. The
//! calling backend.

use super::array::{self, Element};
use pgrx::{pg_sys, PgMemoryContexts};
use std::ffi::CString;

/// An INSERT with `COLUMNS` parameters, between SPI's connect and finish.
pub struct Insert<const COLUMNS: usize> {
    plan: pg_sys::SPIPlanPtr,
    /// Holds one row's values at a time.
    scratch: PgMemoryContexts,
}

/// Makes values in the memory of one row.
pub struct RowValues(());

impl<const COLUMNS: usize> Insert<COLUMNS> {
    /// Plans `sql`, one INSERT with parameters of these types. An error in between leaves SPI to the
    /// abort of the transaction.
    pub fn begin(sql: &str, mut types: [pg_sys::Oid; COLUMNS]) -> Self {
        let sql = CString::new(sql).unwrap_or_default();
        // SAFETY: SPI is connected here and finished by `finish`; the plan lives that long.
        unsafe {
            pg_sys::SPI_connect();
            let plan = pg_sys::SPI_prepare(sql.as_ptr(), COLUMNS as i32, types.as_mut_ptr());
            assert!(!plan.is_null(), "an INSERT of ours parses");
            Self {
                plan,
                scratch: PgMemoryContexts::new("pgsvm row to insert"),
            }
        }
    }

    /// Inserts the row that `row` makes; its values are of the parameters' types.
    pub fn put(&mut self, row: impl FnOnce(&RowValues) -> [pg_sys::Datum; COLUMNS]) {
        // SAFETY: there are as many values as parameters, and they live until the reset.
        unsafe {
            let mut values = self.scratch.switch_to(|_| row(&RowValues(())));
            pg_sys::SPI_execute_plan(self.plan, values.as_mut_ptr(), core::ptr::null(), false, 0);
            self.scratch.reset();
        }
    }

    /// Ends the statement.
    pub fn finish(self) {
        // before SPI's memory goes, which it is part of
        drop(self.scratch);
        // SAFETY: connected by `begin`.
        unsafe { pg_sys::SPI_finish() };
    }
}

impl RowValues {
    /// A double precision value.
    pub fn float8(&self, value: f64) -> pg_sys::Datum {
        pg_sys::Datum::from(value.to_bits())
    }

    /// An array; `element` is the type of `elements`.
    pub fn array<T: Element>(&self, elements: &[T], element: pg_sys::Oid) -> pg_sys::Datum {
        array::made(elements, element)
    }
}
