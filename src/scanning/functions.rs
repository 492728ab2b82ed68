//! The aggregate's functions, as sql/internal.sql declares them.

use super::rows_state::RowsState;
use super::state::{ScanState, Taking};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::aggregate::{self, argument};
use crate::pg::record::RowValue;
use crate::pg::varlena::Varlena;
use crate::pg::{c_function, flat_state};
use pgrx::pg_sys;

c_function!(svm_scan_add_wrapper, pg_finfo_svm_scan_add_wrapper, add);
c_function!(
    svm_scan_combine_wrapper,
    pg_finfo_svm_scan_combine_wrapper,
    aggregate::combine::<ScanState>
);
c_function!(
    svm_scan_serialize_wrapper,
    pg_finfo_svm_scan_serialize_wrapper,
    aggregate::serialize::<ScanState>
);
c_function!(
    svm_scan_deserialize_wrapper,
    pg_finfo_svm_scan_deserialize_wrapper,
    aggregate::deserialize::<ScanState>
);

c_function!(svm_scan_join_wrapper, pg_finfo_svm_scan_join_wrapper, join);

c_function!(
    svm_scan_rows_add_wrapper,
    pg_finfo_svm_scan_rows_add_wrapper,
    add_row
);
c_function!(
    svm_scan_rows_combine_wrapper,
    pg_finfo_svm_scan_rows_combine_wrapper,
    flat_state::combine::<RowsState>
);

/// `svm_scan_join(internal, bytea)`: what a scan of other rows has found.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with the arguments declared in SQL.
unsafe fn join(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let state = aggregate::state::<ScanState>(fcinfo);
        if let Some(found) = argument(fcinfo, 1).map(|datum| Varlena::open(datum)) {
            state.join(found.payload()).or_raise();
        }
        aggregate::returned(state)
    }
}

/// Arguments before the columns: the state, and the message of the scan.
const BEFORE: usize = 2;

/// `svm_scan_add(internal, bytea, VARIADIC "any")`: the columns of a row behind the message of the scan.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with the arguments declared in SQL.
unsafe fn add(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; columns are read as the types that the call's expression gives them.
    unsafe {
        let state = aggregate::state::<ScanState>(fcinfo);
        let count = (*fcinfo).nargs as usize;
        let arguments = &(*fcinfo).args.as_slice(count)[BEFORE..];
        let begin = || {
            let types =
                (BEFORE..count).map(|at| pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, at as i32));
            let message = argument(fcinfo, 1).map(|datum| Varlena::open(datum));
            Taking::of_message(message.as_ref().map_or(&[], Varlena::payload), types)
        };
        let columns = arguments.iter().map(|it| (it.value, it.isnull));
        state.take(columns, begin).or_raise();
        aggregate::returned(state)
    }
}

/// `svm_scan_rows_add(bytea, bytea, record)`: the same of a row, behind the message of the scan.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with the arguments declared in SQL.
unsafe fn add_row(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; columns are read as the types that the row says.
    unsafe {
        let (state, value) = flat_state::state::<RowsState>(fcinfo);
        let Some(row) = argument(fcinfo, 2) else {
            Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "a row of a scan is NULL",
            )
            .raise();
        };
        let message = || argument(fcinfo, 1).map(|datum| Varlena::open(datum));
        state.take(&RowValue::open(row), message).or_raise();
        value
    }
}
