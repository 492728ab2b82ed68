//! What the catalog says of a function: its body, and the types of its arguments and its result.

use super::varlena::Varlena;
use crate::base::errors::{Code, Failure};
use pgrx::pg_sys;
use pgsvm_core::memory::owned;

/// A function.
pub struct Procedure {
    pub body: String,
    pub arguments: Vec<pg_sys::Oid>,
    pub result: pg_sys::Oid,
}

/// The function with this oid.
pub fn find(function: pg_sys::Oid) -> Result<Procedure, Failure> {
    // SAFETY: the catalog's row is held while it is read; its body is a text, its arguments a vector of oids, of which there are as many as
    // its length says.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
        if row.is_null() {
            return Err(Failure::new(
                Code::ERRCODE_UNDEFINED_FUNCTION,
                "the function does not exist",
            ));
        }
        let form = pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>();
        let types = &(*form).proargtypes;
        let arguments = types.values.as_slice(types.dim1.max(0) as usize).to_vec();
        let mut null = false;
        let number = pg_sys::Anum_pg_proc_prosrc as pg_sys::AttrNumber;
        let datum = pg_sys::SysCacheGetAttr(cache, row, number, &mut null);
        let body = match null {
            true => Ok(String::new()),
            false => {
                let text = Varlena::open(datum);
                owned(core::str::from_utf8(text.payload()).unwrap_or_default())
            }
        };
        let result = (*form).prorettype;
        pg_sys::ReleaseSysCache(row);
        Ok(Procedure {
            body: body?,
            arguments,
            result,
        })
    }
}

/// Whether the validator with the first oid is to look at the body of a function: it may, and the setting says so.
pub fn is_to_be_checked(validator: pg_sys::Oid, function: pg_sys::Oid) -> bool {
    // SAFETY: look-ups in the catalog, and a setting of this thread.
    unsafe {
        pg_sys::CheckFunctionValidatorAccess(validator, function) && pg_sys::check_function_bodies
    }
}
