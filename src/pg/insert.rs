//! Inserts many rows by one prepared statement, through SPI and so with triggers, rights and all. The
//! calling backend.

use pgrx::{pg_sys, PgMemoryContexts};
use std::ffi::CString;

/// An INSERT with `COLUMNS` parameters, between SPI's connect and finish.
pub struct Insert<const COLUMNS: usize> {
    plan: pg_sys::SPIPlanPtr,
    /// Holds one row's values at a time.
    scratch: PgMemoryContexts,
}

/// Makes values in the memory of one row.
pub struct Values(());

/// Where the elements of an array with one dimension and without NULLs start.
const ARRAY_HEADER: usize =
    (size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>()).next_multiple_of(8);

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
    pub fn put(&mut self, row: impl FnOnce(&Values) -> [pg_sys::Datum; COLUMNS]) {
        // SAFETY: there are as many values as parameters, and they live until the reset.
        unsafe {
            let mut values = self.scratch.switch_to(|_| row(&Values(())));
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

/// A type whose values PostgreSQL's arrays hold as they are.
pub trait Element: Copy {}
impl Element for i32 {}
impl Element for f32 {}

impl Values {
    /// A double precision value.
    pub fn float8(&self, value: f64) -> pg_sys::Datum {
        pg_sys::Datum::from(value.to_bits())
    }

    /// An array; `element` is the type of `elements`.
    pub fn array<T: Element>(&self, elements: &[T], element: pg_sys::Oid) -> pg_sys::Datum {
        if elements.is_empty() {
            // SAFETY: makes a value in the current memory context.
            return pg_sys::Datum::from(unsafe { pg_sys::construct_empty_array(element) });
        }
        let bytes = ARRAY_HEADER + size_of_val(elements);
        // SAFETY: header, length, lower bound and elements fill the bytes; palloc aligns for all of
        // them, and raises an error for more than 1 GB.
        unsafe {
            let array = pg_sys::palloc0(bytes).cast::<pg_sys::ArrayType>();
            pgrx::varlena::set_varsize_4b(array.cast(), bytes as i32);
            (*array).ndim = 1;
            (*array).elemtype = element;
            let dimension = array.add(1).cast::<i32>();
            *dimension = elements.len() as i32;
            *dimension.add(1) = 1;
            let data = array.cast::<u8>().add(ARRAY_HEADER).cast::<T>();
            core::ptr::copy_nonoverlapping(elements.as_ptr(), data, elements.len());
            pg_sys::Datum::from(array)
        }
    }
}
