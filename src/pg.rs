//! Everything of PostgreSQL's C interface that training and prediction touch, in small wrappers.
//! Imports nothing of the rest of the extension.

pub mod acting;
pub mod aggregate;
pub mod array;
pub mod backtraces;
pub mod base_column;
pub mod call;
pub mod citus;
pub mod compat;
pub mod composite;
pub mod deform;
pub mod document;
pub mod executor;
pub mod flat_state;
pub mod insert;
pub mod json;
pub mod kept_rows;
pub mod kept_statement;
pub mod lineage;
pub mod list;
pub mod long_errors;
pub mod memory;
pub mod memory_ends;
pub mod numeric;
pub mod origin;
pub mod packed_rows;
pub mod pages;
pub mod parallel;
pub mod positions;
pub mod prefetch;
pub mod procedure;
pub mod query;
pub mod queue;
pub mod random;
pub mod record;
pub mod result_set;
pub mod select;
pub mod signals;
pub mod snapshot;
pub mod statement;
pub mod subtransaction;
pub mod table_scans;
pub mod tempfile;
pub mod text_array;
pub mod text_search;
pub mod transactions;
pub mod trigger;
pub mod types;
pub mod value;
pub mod varlena;
pub mod vector;
pub mod wait;
pub mod whole_rows;
pub mod word;
pub mod written;

use crate::base::errors::{Code, Failure};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::{CaughtError, ErrorReportWithLevel};

/// Lets PostgreSQL act on cancel, termination and worker messages; raises the ERROR if so.
/// Every loop of ours calls it at least every few milliseconds.
#[inline]
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}

/// The same in the middle of a step, while signals may be blocked: what the pure crates ask every few milliseconds, of the main
/// thread of each process.
pub fn answer() {
    signals::deliver();
    check_for_interrupts();
}

/// Calls of [`Patience::tick`] between two looks for interrupts: a millisecond of comparisons.
const TICKS: u32 = 1 << 16;

/// Looks for interrupts now and then, for loops of very many small steps.
#[derive(Default)]
pub struct Patience {
    ticks: u32,
}

impl Patience {
    #[inline]
    pub fn tick(&mut self) {
        self.ticks += 1;
        if self.ticks == TICKS {
            self.ticks = 0;
            check_for_interrupts();
        }
    }
}

/// Makes a vector longer by this value, however long that takes.
pub fn grow<T: Copy>(vector: &mut Vec<T>, length: usize, value: T) {
    while vector.len() < length {
        check_for_interrupts();
        vector.resize(length.min(vector.len() + TICKS as usize), value);
    }
}

/// Exports a function to SQL by PostgreSQL's own calling convention, under `$symbol` and with the
/// `$record` that announces the convention. For functions whose calls must cost next to nothing,
/// or that look at more than their arguments; `pg_extern` serves the others.
///
/// `$fast`, if given, is tried first and without the guard between Rust and PostgreSQL: it must
/// neither panic nor make PostgreSQL raise an error, and answers None where it is not sure.
macro_rules! c_function {
    ($symbol:ident, $record:ident, $body:path $(, first $fast:path)?) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $symbol(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            $(
                // SAFETY: as for the body below.
                if let Some(result) = unsafe { $fast(fcinfo) } {
                    return result;
                }
            )?
            #[pgrx::prelude::pg_guard]
            unsafe extern "C-unwind" fn guarded(
                fcinfo: pgrx::pg_sys::FunctionCallInfo,
            ) -> pgrx::pg_sys::Datum {
                let _prepared = crate::pg::memory_ends::prepared();
                // SAFETY: PostgreSQL calls with the arguments that the SQL declaration names.
                unsafe { $body(fcinfo) }
            }
            // SAFETY: as above.
            unsafe { guarded(fcinfo) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $record() -> &'static pgrx::pg_sys::Pg_finfo_record {
            &pgrx::pg_sys::Pg_finfo_record { api_version: 1 }
        }
    };
}
pub(crate) use c_function;

/// The report of an error that `PgTryBuilder` caught.
fn caught(error: &CaughtError) -> &ErrorReportWithLevel {
    match error {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => report,
        CaughtError::RustPanic { ereport, .. } => ereport,
    }
}

/// What an error says of functions of ours that are not there, which those of another server may be; None of others.
pub fn lacks_functions(error: &CaughtError) -> Option<Failure> {
    let report = caught(error);
    let code = report.sql_error_code();
    let lacks = matches!(
        code,
        Code::ERRCODE_INVALID_SCHEMA_NAME | Code::ERRCODE_UNDEFINED_FUNCTION
    );
    let message = report.message();
    (lacks && message.contains("svm_")).then(|| Failure::new(code, message.to_owned()))
}

/// The server's version, as in server_version_num.
pub fn server_version() -> i32 {
    let name = c"server_version_num".as_ptr();
    // SAFETY: a setting that is always there; its text is read at once.
    let text = unsafe { core::ffi::CStr::from_ptr(pg_sys::GetConfigOption(name, false, false)) };
    text.to_str()
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(0)
}

/// An error that was caught: its code, message and detail.
pub fn failure_of(error: &CaughtError) -> Failure {
    let report = caught(error);
    let failure = Failure::new(report.sql_error_code(), report.message().to_owned());
    match report.detail() {
        Some(detail) => failure.detail(detail),
        None => failure,
    }
}

/// Whether an error says that another server cannot be reached, or has ended what it was asked for, and that another try may
/// succeed: not that the transaction has lost what it had there.
pub fn is_unreachable(error: &CaughtError) -> bool {
    matches!(
        caught(error).sql_error_code(),
        Code::ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION
            | Code::ERRCODE_SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION
            | Code::ERRCODE_CONNECTION_DOES_NOT_EXIST
            | Code::ERRCODE_CONNECTION_FAILURE
            | Code::ERRCODE_ADMIN_SHUTDOWN
            | Code::ERRCODE_CRASH_SHUTDOWN
            | Code::ERRCODE_CANNOT_CONNECT_NOW
    )
}
