//! A jsonb object, its fields found by name where they lie. Any process; what is read lives in the
//! current memory context.

use super::varlena::Varlena;
use super::{numeric, value};
use crate::base::errors::Failure;
use core::ffi::{c_char, c_int, CStr};
use pgrx::pg_sys;
use pgsvm_core::memory::{lossy, OutOfMemory, Room};

/// A jsonb value, detoasted.
pub struct Document(*mut pg_sys::JsonbContainer);

/// A value in it.
pub enum Field<'a> {
    Null,
    Boolean(bool),
    Number(JsonNumber),
    Text(&'a [u8]),
    Array(Elements),
    Object,
}

/// A number as jsonb has it: a numeric.
pub struct JsonNumber(pg_sys::Datum);

/// The elements of an array.
pub struct Elements {
    container: *mut pg_sys::JsonbContainer,
    length: u32,
}

impl Document {
    /// The document; PostgreSQL's complaint about a json that is none, as one with `\u0000` in it.
    ///
    /// # Safety
    /// `datum` is a jsonb or, where `is_text`, a json, and the current memory context outlives the result.
    pub unsafe fn open(datum: pg_sys::Datum, is_text: bool) -> Result<Self, Failure> {
        // SAFETY: as the caller promises; jsonb_in takes a terminated string and returns a jsonb. The root
        // lies behind the header, which a detoasted value has in its long form.
        unsafe {
            let datum = match is_text {
                true => {
                    let text = pg_sys::text_to_cstring(datum.cast_mut_ptr());
                    let text = [Some(pg_sys::Datum::from(text))];
                    let read = value::complaint_of(|| {
                        pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &text)
                    })?;
                    read.unwrap_or(datum)
                }
                false => datum,
            };
            let value = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::Jsonb>();
            Ok(Self(core::ptr::addr_of_mut!((*value).root)))
        }
    }

    /// Whether it is an object, which has fields.
    pub fn is_object(&self) -> bool {
        // SAFETY: `open` found the container.
        unsafe { (*self.0).header & pg_sys::JB_FOBJECT != 0 }
    }

    /// Whether it is JSON's null.
    pub fn is_null(&self) -> bool {
        let mut value = pg_sys::JsonbValue::default();
        // SAFETY: `open` found the container; of a scalar its one value is set.
        unsafe {
            pg_sys::JsonbExtractScalar(self.0, &mut value) && matches!(read(&value), Field::Null)
        }
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<Field<'_>> {
        let length = c_int::try_from(name.len()).ok()?;
        // SAFETY: the container is an object, as the first look makes sure; what is found lives in
        // the current memory context and points into the container.
        unsafe {
            if !self.is_object() {
                return None;
            }
            let found = pg_sys::getKeyJsonValueFromContainer(
                self.0,
                name.as_ptr().cast::<c_char>(),
                length,
                core::ptr::null_mut(),
            );
            found.as_ref().map(|value| read(value))
        }
    }

    /// The names of its fields, or of the first of them, where it is an object.
    pub fn names(&self, most: usize) -> Result<Vec<String>, OutOfMemory> {
        let mut names = Vec::new();
        if !self.is_object() {
            return Ok(names);
        }
        // SAFETY: the container is an object; the iterator lives in the current memory context, a value is set by each step
        // that says KEY, and keys are strings that point into the container.
        unsafe {
            let mut at = pg_sys::JsonbIteratorInit(self.0);
            let mut value = pg_sys::JsonbValue::default();
            while !at.is_null() && names.len() < most {
                let step = pg_sys::JsonbIteratorNext(&mut at, &mut value, true);
                if step == pg_sys::JsonbIteratorToken::WJB_DONE {
                    break;
                }
                if step != pg_sys::JsonbIteratorToken::WJB_KEY {
                    continue;
                }
                if let Field::Text(name) = read(&value) {
                    names.room(1)?.push(lossy(name)?);
                }
            }
        }
        Ok(names)
    }
}

impl JsonNumber {
    /// The nearest double; not finite beyond the range.
    pub fn to_f64(&self) -> f64 {
        // SAFETY: a numeric out of a jsonb.
        let value = unsafe { Varlena::open(self.0) };
        numeric::to_f64(value.payload()).unwrap_or(f64::NAN)
    }

    /// As PostgreSQL writes it, without zeros at the end of a fraction.
    pub fn to_text(&self) -> Result<String, OutOfMemory> {
        // SAFETY: both functions take a numeric; the second returns a terminated string.
        unsafe {
            let trimmed =
                pgrx::direct_function_call_as_datum(pg_sys::numeric_trim_scale, &[Some(self.0)]);
            let printed = pgrx::direct_function_call_as_datum(
                pg_sys::numeric_out,
                &[trimmed.or(Some(self.0))],
            );
            printed.map_or_else(
                || Ok(String::new()),
                |text| lossy(CStr::from_ptr(text.cast_mut_ptr()).to_bytes()),
            )
        }
    }
}

impl Elements {
    pub fn len(&self) -> usize {
        self.length as usize
    }

    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        (0..self.length).map(|at| {
            // SAFETY: the container is an array of this length.
            unsafe {
                let found = pg_sys::getIthJsonbValueFromContainer(self.container, at);
                found.as_ref().map_or(Field::Null, |value| read(value))
            }
        })
    }
}

/// # Safety
/// The value is one that PostgreSQL found in a jsonb that outlives the result.
unsafe fn read<'a>(value: &pg_sys::JsonbValue) -> Field<'a> {
    // SAFETY: as the caller promises; the type says which member of the union is set.
    unsafe {
        match value.type_ {
            pg_sys::jbvType::jbvBool => Field::Boolean(value.val.boolean),
            pg_sys::jbvType::jbvNumeric => {
                Field::Number(JsonNumber(pg_sys::Datum::from(value.val.numeric)))
            }
            pg_sys::jbvType::jbvString => {
                let text = value.val.string;
                let length = usize::try_from(text.len).unwrap_or(0);
                Field::Text(core::slice::from_raw_parts(text.val.cast(), length))
            }
            pg_sys::jbvType::jbvBinary => {
                let container = value.val.binary.data;
                let header = (*container).header;
                match header & pg_sys::JB_FARRAY != 0 {
                    true => Field::Array(Elements {
                        container,
                        length: header & pg_sys::JB_CMASK,
                    }),
                    false => Field::Object,
                }
            }
            _ => Field::Null,
        }
    }
}
