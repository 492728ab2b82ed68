//! Row values of the extension's own composite types, made from numbers, and arrays of them.

use pgrx::pg_sys;

/// The shape of a function's result that is a composite type, or an array of one, or a row of its own.
pub struct ResultShape {
    /// Of a row of its own `record`.
    row_type: pg_sys::Oid,
    columns: pg_sys::TupleDesc,
}

impl ResultShape {
    /// The shape that the called function is declared to return; valid in the current memory context.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, of a function declared to return a composite type or an array of one.
    pub unsafe fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller promises; catalog look-ups.
        unsafe {
            let declared = pg_sys::get_func_rettype((*(*fcinfo).flinfo).fn_oid);
            let element = pg_sys::get_element_type(declared);
            let row_type = match element == pg_sys::InvalidOid {
                true => declared,
                false => element,
            };
            Self {
                row_type,
                columns: pg_sys::lookup_rowtype_tupdesc_copy(row_type, -1),
            }
        }
    }

    /// The shape of a function that is declared with columns of its own; valid in the current memory context.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, of a function declared to return `record` and with OUT arguments.
    pub unsafe fn of_columns(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller promises; catalog look-ups.
        unsafe {
            let mut columns = core::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo, core::ptr::null_mut(), &mut columns);
            Self {
                row_type: pg_sys::RECORDOID,
                columns: pg_sys::BlessTupleDesc(columns),
            }
        }
    }

    /// A row of values, None for NULL, each of its column's type and passed by value.
    pub fn row(&self, values: &[Option<pg_sys::Datum>]) -> pg_sys::Datum {
        let mut datums: Vec<_> = values
            .iter()
            .map(|value| value.unwrap_or(pg_sys::Datum::from(0)))
            .collect();
        let mut nulls: Vec<_> = values.iter().map(Option::is_none).collect();
        // SAFETY: the descriptor belongs to the type.
        unsafe {
            assert!((*self.columns).natts as usize == values.len());
            let tuple =
                pg_sys::heap_form_tuple(self.columns, datums.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::heap_copy_tuple_as_datum(tuple, self.columns)
        }
    }

    /// An array of such rows.
    pub fn array(&self, rows: &mut [pg_sys::Datum]) -> pg_sys::Datum {
        let align = pg_sys::TYPALIGN_DOUBLE as core::ffi::c_char;
        // SAFETY: row values are of variable length and aligned as doubles.
        let array = unsafe {
            let (count, row_type) = (rows.len() as i32, self.row_type);
            pg_sys::construct_array(rows.as_mut_ptr(), count, row_type, -1, false, align)
        };
        pg_sys::Datum::from(array)
    }
}
