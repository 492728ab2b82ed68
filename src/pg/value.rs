//! Values of any type from and to text, by the type's own functions. Any process; each call looks the
//! type up, so nothing here is for every row of a scan that can do without.

use super::long_errors::{caught_short, cut_off};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::text::terminated;
use core::ffi::{c_int, CStr};
use pgrx::pg_sys;
use pgsvm_core::memory::lossy;

/// In which order year, month and day stand where a date leaves that open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    Ymd,
    Dmy,
    Mdy,
}

/// What the setting `DateStyle` says.
pub fn date_order() -> DateOrder {
    // SAFETY: a setting's value, which this thread alone changes.
    match unsafe { pg_sys::DateOrder } as u32 {
        pg_sys::DATEORDER_YMD => DateOrder::Ymd,
        pg_sys::DATEORDER_DMY => DateOrder::Dmy,
        _ => DateOrder::Mdy,
    }
}

/// The value as its type prints it.
///
/// # Safety
/// `datum` is a value of the type, not NULL.
pub unsafe fn printed(datum: pg_sys::Datum, type_id: pg_sys::Oid) -> String {
    // SAFETY: as the caller promises; an output function returns a terminated string.
    unsafe {
        let (mut output, mut is_varlena) = (pg_sys::InvalidOid, false);
        pg_sys::getTypeOutputInfo(type_id, &mut output, &mut is_varlena);
        let text = cut_off(|| pg_sys::OidOutputFunctionCall(output, datum));
        let copy = lossy(CStr::from_ptr(text).to_bytes()).or_raise();
        pg_sys::pfree(text.cast());
        copy
    }
}

/// The value of the type that the text stands for, in the current memory context; the message of the
/// type's own complaint when it stands for none. Of a type that is none of PostgreSQL's own the statement must end with an ERROR then.
pub fn read(text: &str, type_id: pg_sys::Oid) -> Result<pg_sys::Datum, String> {
    let text = terminated(text).map_err(|error| error.to_string())?;
    // SAFETY: a terminated string; the caller ends the statement where what complains may hold more than memory.
    let read = complaint_of(|| unsafe {
        let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(type_id, &mut input, &mut parameter);
        pg_sys::OidInputFunctionCall(input, text.as_ptr().cast_mut(), parameter, -1)
    });
    read.map_err(|complaint| complaint.message)
}

/// What `read` returns; its complaint about a value. Errors about anything else go on: memory that is not there, a
/// cancel. The statement may go on after a complaint only where `read` holds nothing but memory of the current context, as PostgreSQL's
/// own input functions do.
pub(super) fn complaint_of<T>(read: impl FnOnce() -> T) -> Result<T, Failure> {
    caught_short(read).map_err(|error| {
        let complaint = super::failure_of(&error);
        match is_about_a_value(complaint.code) {
            true => complaint,
            false => error.rethrow(),
        }
    })
}

/// Whether an error with this code says what is wrong with a text; else something is wrong with the server, or it was told to stop.
fn is_about_a_value(code: Code) -> bool {
    let class = |of: Code| (of as c_int) & 0xFFF;
    let others = [
        Code::ERRCODE_INSUFFICIENT_RESOURCES,
        Code::ERRCODE_OPERATOR_INTERVENTION,
        Code::ERRCODE_SYSTEM_ERROR,
        Code::ERRCODE_INTERNAL_ERROR,
    ];
    others.iter().all(|other| class(*other) != class(code))
}
