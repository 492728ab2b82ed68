//! The arguments of a call by the names that its SQL declaration gives them, so that one body serves
//! functions whose arguments differ: those of an older version of the extension among them.

use crate::base::errors::{Code, Failure, OrRaise};
use core::ffi::{c_char, CStr};
use pgrx::datum::Array;
use pgrx::{pg_sys, FromDatum};
use pgsvm_core::memory::{all_of, gathered, owned};

/// Longest name, or word.
const MOST_NAME_BYTES: usize = 1000;
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

    /// The type that the declaration gives the argument called `name`; None where it has none.
    pub fn declared(&self, name: &str) -> Option<pg_sys::Oid> {
        let known = self.names.iter().find(|(known, _)| known == name);
        known.map(|(_, declared)| *declared)
    }

    /// The value of the argument called `name`; None where it is NULL, or where the declaration has none. For what is
    /// of fixed size, or asks for memory with a way to fail.
    ///
    /// # Safety
    /// Where the SQL declaration has this argument, it is of the SQL type that `T` is read from.
    pub unsafe fn get<T: FromDatum>(&self, name: &str) -> Option<T> {
        // SAFETY: as the caller promises.
        unsafe { self.limited(name, MOST_BYTES) }
    }

    /// A short text: a name, or a word.
    ///
    /// # Safety
    /// Where the SQL declaration has this argument, it is a text.
    pub unsafe fn text(&self, name: &str) -> Option<String> {
        // SAFETY: as the caller promises; the value lives as long as the call.
        let text: Option<&str> = unsafe { self.limited(name, MOST_NAME_BYTES) };
        text.map(str::to_owned)
    }

    /// A text that may be long.
    ///
    /// # Safety
    /// As for `text`.
    pub unsafe fn long_text(&self, name: &str) -> Option<String> {
        // SAFETY: as for `text`.
        let text: Option<&str> = unsafe { self.limited(name, MOST_BYTES) };
        text.map(|text| owned(text).or_raise())
    }

    /// A list of short texts.
    ///
    /// # Safety
    /// Where the SQL declaration has this argument, it is an array of texts.
    pub unsafe fn texts(&self, name: &str) -> Option<Vec<Option<String>>> {
        // SAFETY: as for `text`.
        let list: Option<Array<'_, &str>> = unsafe { self.limited(name, MOST_BYTES) };
        let texts = |list: Array<'_, &str>| {
            let texts = list.iter().map(|text| {
                let text = text.inspect(|text| check_length(name, text.len(), MOST_NAME_BYTES));
                text.map(owned).transpose()
            });
            all_of(texts).or_raise()
        };
        list.map(texts)
    }

    /// A list of numbers.
    ///
    /// # Safety
    /// Where the SQL declaration has this argument, it is an array of double precision.
    pub unsafe fn numbers(&self, name: &str) -> Option<Vec<Option<f64>>> {
        // SAFETY: as for `text`.
        let list: Option<Array<'_, f64>> = unsafe { self.limited(name, MOST_BYTES) };
        list.map(|list| gathered(list.iter()).or_raise())
    }

    /// # Safety
    /// As for `get`.
    unsafe fn limited<T: FromDatum>(&self, name: &str, most: usize) -> Option<T> {
        let at = self.names.iter().position(|(known, _)| known == name)?;
        let value = self.values.get(at)?;
        // SAFETY: as the caller promises; the type is that of the declaration.
        unsafe {
            if !value.isnull && pg_sys::get_typlen(self.names[at].1) == -1 {
                check_length(name, pg_sys::toast_raw_datum_size(value.value), most);
            }
            T::from_datum(value.value, value.isnull)
        }
    }
}

/// Refuses an argument that is too long for what it says, or would take much memory.
fn check_length(name: &str, bytes: usize, most: usize) {
    if bytes > most {
        let failure = Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("argument \"{name}\" has {bytes} bytes, more than {most}"),
        );
        match most {
            MOST_BYTES => failure.hint("Keep it short: a view may stand for a long query"),
            _ => failure.hint("Names of columns have at most 63 bytes, those of models too"),
        }
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
