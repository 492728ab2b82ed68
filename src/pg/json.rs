//! Arguments of type jsonb. PostgreSQL's numbers have any size and its nesting any depth, so that what is valid there
//! may be more than a reader of JSON takes: reading can fail, which is the caller's to report.

use crate::base::errors::OrRaise;
use crate::base::json::{self, JsonError};
use pgrx::{pg_sys, FromDatum, IntoDatum};
use pgsvm_core::memory::{lossy, OutOfMemory, Written};
use serde::Serialize;
use serde_json::Value;
use std::rc::Rc;

/// A jsonb value as it prints.
#[derive(Debug, Clone)]
pub struct JsonText(Rc<String>);

impl JsonText {
    /// A value as it prints.
    pub fn of(value: &impl Serialize) -> Result<Self, OutOfMemory> {
        let mut written = Written::default();
        // nothing else can go wrong with plain values
        let done = serde_json::to_writer(&mut written, value).ok();
        let text = done.and_then(|()| String::from_utf8(written.0).ok());
        text.map(|text| Self(Rc::new(text)))
            .ok_or(OutOfMemory { bytes: 0 })
    }

    /// What a column of type jsonb printed.
    pub fn of_column(printed: String) -> Self {
        Self(Rc::new(printed))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, or why it cannot be read.
    pub fn parse(&self) -> Result<Value, String> {
        Self::read(&self.0)
    }

    /// The value that a text prints.
    pub fn read(text: &str) -> Result<Value, String> {
        json::read_value(text).map_err(|error| match error {
            JsonError::OutOfMemory(error) => error.to_string(),
            JsonError::Refused(words) => words,
        })
    }
}

/// JSON on its way into a jsonb column, however long.
pub struct Jsonb<'a>(pub &'a str);

impl IntoDatum for Jsonb<'_> {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        // SAFETY: a terminated copy, which PostgreSQL's own function for the type reads.
        unsafe {
            let copy = pg_sys::pnstrdup(self.0.as_ptr().cast(), self.0.len());
            pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(copy.into())])
        }
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::JSONBOID
    }
}

impl FromDatum for JsonText {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: pg_sys::Oid,
    ) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller promises a jsonb; the function is PostgreSQL's own for the type and returns a C string
        // made for us.
        unsafe {
            let printed = pgrx::direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(datum)])?;
            let text = core::ffi::CStr::from_ptr(printed.cast_mut_ptr());
            Some(Self(Rc::new(lossy(text.to_bytes()).or_raise())))
        }
    }
}
