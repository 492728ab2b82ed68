//! The arguments of a call by the names that its SQL declaration gives them, so that one body serves
//! functions whose arguments differ: those of an older version of the extension among them.

use crate::base::errors::{Code, Failure};
use core::ffi::{c_char, CStr};
use pgrx::{pg_sys, FromDatum};

/// Longest argument, a query's text or an array for instance.
const MOST_BYTES: usize = 1 << 20;

/// The arguments of one call.
pub struct Call {
    names: Vec<(String, pg_sys::Oid)>,
    values: Vec<pg_sys::NullableDatum>,
}

impl Call {
    /// Looks up how the called function names its arguments.
    ///
    /// # Safety
    /// `fcinfo` is the argument of a function that PostgreSQL called by its SQL declaration.
    pub unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller promises; the catalog's row is held while its arrays are copied.
        unsafe {
            let count = (*fcinfo).nargs as usize;
            let values = (*fcinfo).args.as_slice(count).to_vec();
            let oid = pg_sys::Datum::from((*(*fcinfo).flinfo).fn_oid);
            let row = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::PROCOID as _, oid);
            let names = match row.is_null() {
                true => Vec::new(),
                false => {
                    let names = input_names(row, count);
                    pg_sys::ReleaseSysCache(row);
                    names
                }
            };
            Self { names, values }
        }
    }

    /// The value of the argument called `name`; None where it is NULL, or where the declaration has none.
    ///
    /// # Safety
    /// Where the SQL declaration has this argument, it is of the SQL type that `T` is read from.
    pub unsafe fn get<T: FromDatum>(&self, name: &str) -> Option<T> {
        let at = self.names.iter().position(|(known, _)| known == name)?;
        let value = self.values.get(at)?;
        // SAFETY: as the caller promises; the type is that of the declaration.
        unsafe {
            if !value.isnull && pg_sys::get_typlen(self.names[at].1) == -1 {
                check_length(name, pg_sys::toast_raw_datum_size(value.value));
            }
            T::from_datum(value.value, value.isnull)
        }
    }
}

/// Refuses an argument that would take much memory, of which what reads it asks for without a way to fail.
fn check_length(name: &str, bytes: usize) {
    if bytes > MOST_BYTES {
        Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("argument \"{name}\" has {bytes} bytes, more than {MOST_BYTES}"),
        )
        .hint("Keep it short: a view may stand for a long query")
        .raise()
    }
}

/// Names and types of the first `count` arguments, which are the input arguments of all functions here.
///
/// # Safety
/// `row` is a row of pg_proc.
unsafe fn input_names(row: pg_sys::HeapTuple, count: usize) -> Vec<(String, pg_sys::Oid)> {
    let mut types = core::ptr::null_mut();
    let mut names: *mut *mut c_char = core::ptr::null_mut();
    let mut modes = core::ptr::null_mut();
    // SAFETY: as the caller promises; where there are names, there is one for each argument.
    unsafe {
        let all = pg_sys::get_func_arg_info(row, &mut types, &mut names, &mut modes);
        let known = match names.is_null() {
            true => 0,
            false => count.min(all.max(0) as usize),
        };
        (0..known)
            .map(|at| {
                let name = CStr::from_ptr(*names.add(at));
                (name.to_string_lossy().into_owned(), *types.add(at))
            })
            .collect()
    }
}
