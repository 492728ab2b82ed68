//! The rows of a set-returning function, gathered for PostgreSQL to fetch; on disk beyond work_mem.
//! Any process that may call the function.

use pgrx::{pg_sys, PgMemoryContexts, PgSqlErrorCode};

/// Rows in the making.
pub struct ResultSet {
    store: *mut pg_sys::Tuplestorestate,
    columns: pg_sys::TupleDesc,
    /// Holds one row's values at a time.
    scratch: PgMemoryContexts,
}

impl ResultSet {
    /// Makes the call's result a set, as yet without rows.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's call of a function that is declared to return a table.
    pub unsafe fn begin(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: only a caller that takes sets gives a ReturnSetInfo; store and description live as
        // long as its query.
        unsafe {
            let info = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            let takes_sets = !info.is_null()
                && (*info).type_ == pg_sys::NodeTag::T_ReturnSetInfo
                && (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32
                    != 0;
            if !takes_sets {
                pgrx::ereport!(
                    ERROR,
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    "set-valued function called in context that cannot accept a set"
                );
            }
            let random = pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random as i32;
            let random = (*info).allowedModes & random != 0;
            let context = (*(*info).econtext).ecxt_per_query_memory;
            // what the look-up leaves behind goes with this call's memory, not the query's
            let mut columns = core::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo, core::ptr::null_mut(), &mut columns);
            let (store, columns) = PgMemoryContexts::For(context).switch_to(|_| {
                let store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
                (store, pg_sys::CreateTupleDescCopy(columns))
            });
            (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*info).setResult = store;
            (*info).setDesc = columns;
            (*fcinfo).isnull = true;
            Self {
                store,
                columns,
                scratch: PgMemoryContexts::new("pgsvm row of a result"),
            }
        }
    }

    /// Adds the row that `row` writes, None for NULL; its values are freed afterwards.
    ///
    /// # Safety
    /// The values are of the types that the function is declared to return.
    pub unsafe fn put<const COLUMNS: usize>(
        &mut self,
        row: impl FnOnce() -> [Option<pg_sys::Datum>; COLUMNS],
    ) {
        // SAFETY: the description is that of the call.
        unsafe { assert!((*self.columns).natts as usize == COLUMNS) };
        // SAFETY: as the caller promises.
        unsafe { self.put_first(row) };
    }

    /// The same where the function may be declared, by an older version of the extension, to return the first of these
    /// columns only.
    ///
    /// # Safety
    /// As for `put`.
    pub unsafe fn put_first<const COLUMNS: usize>(
        &mut self,
        row: impl FnOnce() -> [Option<pg_sys::Datum>; COLUMNS],
    ) {
        super::check_for_interrupts();
        // SAFETY: as the caller promises; the store copies the values.
        unsafe {
            assert!((*self.columns).natts as usize <= COLUMNS);
            self.scratch.switch_to(|_| {
                let row = row();
                let mut values = row.map(|value| value.unwrap_or(pg_sys::Datum::from(0)));
                let mut nulls = row.map(|value| value.is_none());
                pg_sys::tuplestore_putvalues(
                    self.store,
                    self.columns,
                    values.as_mut_ptr(),
                    nulls.as_mut_ptr(),
                );
            });
            self.scratch.reset();
        }
    }
}

/// A double precision value.
pub fn float8(value: f64) -> pg_sys::Datum {
    pg_sys::Datum::from(value.to_bits())
}
