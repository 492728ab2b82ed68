//! Values as the text that stands for them: equal values, equal text. For aggregates that count
//! classes of any type.

use super::varlena::Varlena;
use super::word;
use core::cmp::Ordering;
use core::ffi::CStr;
use pgrx::pg_sys;
use std::ffi::CString;

/// How values of one type become text.
pub struct ValueWriter {
    kind: WriterKind,
    output: pg_sys::FmgrInfo,
    input: pg_sys::FmgrInfo,
    /// What the input function wants to know of the type beside the text.
    parameter: pg_sys::Oid,
}

enum WriterKind {
    Text,
    /// Blanks at the end do not count.
    Padded,
    Float4,
    Float8,
    Numeric,
    Other,
}

impl ValueWriter {
    /// For values of this type. `context` outlives the result.
    ///
    /// # Safety
    /// `context` is a memory context.
    pub unsafe fn new(type_oid: pg_sys::Oid, context: pg_sys::MemoryContext) -> Self {
        let mut output = pg_sys::FmgrInfo::default();
        let mut input = pg_sys::FmgrInfo::default();
        let mut parameter = pg_sys::InvalidOid;
        // SAFETY: catalog look-ups inside a transaction.
        let base = unsafe {
            let (mut function, mut varlena) = (pg_sys::InvalidOid, false);
            pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut varlena);
            pg_sys::fmgr_info_cxt(function, &mut output, context);
            pg_sys::getTypeInputInfo(type_oid, &mut function, &mut parameter);
            pg_sys::fmgr_info_cxt(function, &mut input, context);
            pg_sys::getBaseType(type_oid)
        };
        let kind = match base {
            pg_sys::TEXTOID | pg_sys::VARCHAROID => WriterKind::Text,
            pg_sys::BPCHAROID => WriterKind::Padded,
            pg_sys::FLOAT4OID => WriterKind::Float4,
            pg_sys::FLOAT8OID => WriterKind::Float8,
            pg_sys::NUMERICOID => WriterKind::Numeric,
            _ => WriterKind::Other,
        };
        Self {
            kind,
            output,
            input,
            parameter,
        }
    }

    /// Calls `read` with the bytes of a value's text.
    ///
    /// # Safety
    /// `datum` is a value, not NULL, of the type given to `new`.
    pub unsafe fn with_text<T>(
        &mut self,
        datum: pg_sys::Datum,
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        // SAFETY: as the caller promises.
        unsafe {
            match self.kind {
                WriterKind::Text => read(Varlena::open(datum).payload()),
                WriterKind::Padded => {
                    let value = Varlena::open(datum);
                    read(word::without_padding(value.payload()))
                }
                // negative zero equals zero
                WriterKind::Float4 => {
                    let value = f32::from_bits(datum.value() as u32) + 0.0;
                    read(self.output(pg_sys::Datum::from(value.to_bits())))
                }
                WriterKind::Float8 => {
                    let value = f64::from_bits(datum.value() as u64) + 0.0;
                    read(self.output(pg_sys::Datum::from(value.to_bits())))
                }
                // 1.0 equals 1
                WriterKind::Numeric => {
                    let trimmed = pgrx::direct_function_call_as_datum(
                        pg_sys::numeric_trim_scale,
                        &[Some(datum)],
                    );
                    read(self.output(trimmed.unwrap_or(datum)))
                }
                WriterKind::Other => read(self.output(datum)),
            }
        }
    }

    /// The same of the value that a text, not NULL, stands for: what is none of the type is PostgreSQL's error.
    ///
    /// # Safety
    /// `datum` is a text.
    pub unsafe fn with_text_read<T>(
        &mut self,
        datum: pg_sys::Datum,
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        // SAFETY: as the caller promises; a string is a text or padded like one, all else its input function makes of the text.
        unsafe {
            match self.kind {
                WriterKind::Text | WriterKind::Padded => self.with_text(datum, read),
                _ => {
                    let text = pg_sys::text_to_cstring(datum.cast_mut_ptr());
                    let value =
                        pg_sys::InputFunctionCall(&mut self.input, text, self.parameter, -1);
                    self.with_text(value, read)
                }
            }
        }
    }

    /// # Safety
    /// As for `with_text`.
    unsafe fn output<'a>(&mut self, datum: pg_sys::Datum) -> &'a [u8] {
        // SAFETY: as the caller promises; the text is terminated.
        unsafe { CStr::from_ptr(pg_sys::OutputFunctionCall(&mut self.output, datum)).to_bytes() }
    }
}

/// The order of two values, given by their texts, in their type: strings compare by their bytes, types
/// without an order as texts.
pub fn compare(type_oid: pg_sys::Oid, a: &[u8], b: &[u8]) -> Ordering {
    let (Ok(left), Ok(right)) = (CString::new(a), CString::new(b)) else {
        return a.cmp(b);
    };
    // SAFETY: catalog look-ups inside a transaction; the texts came out of the type's output function,
    // and its own comparison gets what its input function makes of them.
    unsafe {
        let category = pg_sys::TypeCategory(pg_sys::getBaseType(type_oid)) as u8;
        let flags = pg_sys::TYPECACHE_CMP_PROC_FINFO as i32;
        let entry = pg_sys::lookup_type_cache(type_oid, flags);
        if category == pg_sys::TYPCATEGORY_STRING || (*entry).cmp_proc == pg_sys::InvalidOid {
            return a.cmp(b);
        }
        let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(type_oid, &mut input, &mut parameter);
        let value = |text: &CStr| {
            pg_sys::OidInputFunctionCall(input, text.as_ptr().cast_mut(), parameter, -1)
        };
        let collation = (*entry).typcollation;
        let (left, right) = (value(&left), value(&right));
        let order = pg_sys::FunctionCall2Coll(&mut (*entry).cmp_proc_finfo, collation, left, right);
        (order.value() as i32).cmp(&0)
    }
}
