//! Row values (`record` and named row types) as columns and values.

use super::query::Column;
use crate::base::errors::OrRaise;
use core::ffi::CStr;
use pgrx::{pg_sys, varlena, PgTupleDesc};
use pgsvm_core::memory::{filled, gathered};

/// The shape of row values of one type, and room for the values of one row.
pub struct RowShape {
    type_id: pg_sys::Oid,
    typmod: i32,
    descriptor: pg_sys::TupleDesc,
    columns: Vec<Column>,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

/// One row value, detoasted.
pub struct RowValue {
    header: pg_sys::HeapTupleHeader,
    copied: bool,
}

impl RowValue {
    /// Opens a row value.
    ///
    /// # Safety
    /// `datum` is a valid row value that stays where it is while the result is used.
    pub unsafe fn open(datum: pg_sys::Datum) -> Self {
        let pointer = datum.cast_mut_ptr::<pg_sys::varlena>();
        // SAFETY: the header is valid as the caller promises.
        unsafe {
            let plain = varlena::varatt_is_4b_u(pointer);
            let detoasted = match plain {
                true => pointer,
                false => pg_sys::pg_detoast_datum(pointer),
            };
            Self {
                header: detoasted.cast(),
                copied: detoasted != pointer,
            }
        }
    }

    fn row_type(&self) -> (pg_sys::Oid, i32) {
        // SAFETY: a row value's header starts with its length, typmod and type.
        let fields = unsafe { (*self.header).t_choice.t_datum };
        // Named types have no type modifier; newer minor versions of PostgreSQL keep a version of the type in its place.
        let typmod = match fields.datum_typeid {
            pg_sys::RECORDOID => fields.datum_typmod,
            _ => -1,
        };
        (fields.datum_typeid, typmod)
    }
}

impl Drop for RowValue {
    fn drop(&mut self) {
        if self.copied {
            // SAFETY: `open` made the copy and nothing else knows it.
            unsafe { pg_sys::pfree(self.header.cast()) };
        }
    }
}

impl RowShape {
    /// The shape of a row value.
    pub fn of(row: &RowValue) -> Self {
        let (type_id, typmod) = row.row_type();
        // SAFETY: the type is that of an existing value; the copy lands in memory that lasts until the shape is dropped.
        let (descriptor, columns) = unsafe {
            let before = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            let descriptor = pg_sys::lookup_rowtype_tupdesc_copy(type_id, typmod);
            pg_sys::MemoryContextSwitchTo(before);
            (descriptor, columns(descriptor))
        };
        Self {
            type_id,
            typmod,
            descriptor,
            values: filled(pg_sys::Datum::from(0), columns.len()).or_raise(),
            nulls: filled(true, columns.len()).or_raise(),
            columns,
        }
    }

    /// The type of the rows.
    pub fn type_id(&self) -> pg_sys::Oid {
        self.type_id
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let column = size_of::<Column>() + size_of::<pg_sys::FormData_pg_attribute>() + 32;
        256 + self.columns.len() * column
    }

    /// Whether the row value has this shape.
    #[inline]
    pub fn fits(&self, row: &RowValue) -> bool {
        row.row_type() == (self.type_id, self.typmod)
    }

    /// The columns, dropped ones with an empty name.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The row's values and null flags, valid while the row is.
    pub fn deform(&mut self, row: &RowValue) -> (&[pg_sys::Datum], &[bool]) {
        // SAFETY: the row has this shape, and both vectors have room for each of its columns.
        unsafe {
            let mut tuple = pg_sys::HeapTupleData {
                t_len: varlena::varsize_4b(row.header.cast()) as u32,
                t_data: row.header,
                ..Default::default()
            };
            pg_sys::heap_deform_tuple(
                &mut tuple,
                self.descriptor,
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
        }
        (&self.values, &self.nulls)
    }
}

impl Drop for RowShape {
    fn drop(&mut self) {
        // SAFETY: `of` made the copy, and nothing else knows it.
        unsafe { pg_sys::FreeTupleDesc(self.descriptor) };
    }
}

/// # Safety
/// `descriptor` is valid.
unsafe fn columns(descriptor: pg_sys::TupleDesc) -> Vec<Column> {
    // SAFETY: as the caller promises; the names are terminated.
    let descriptor = unsafe { PgTupleDesc::from_pg_unchecked(descriptor) };
    let columns = descriptor
        .iter()
        .map(|attribute| match attribute.attisdropped {
            true => Column {
                name: String::new(),
                type_oid: pg_sys::InvalidOid,
                typmod: -1,
                base: None,
            },
            false => Column {
                // SAFETY: a name of the catalog ends with a zero byte.
                name: unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }
                    .to_string_lossy()
                    .into_owned(),
                type_oid: attribute.atttypid,
                typmod: attribute.atttypmod,
                base: None,
            },
        });
    gathered(columns).or_raise()
}
