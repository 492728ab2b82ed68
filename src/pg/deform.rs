//! Takes rows of a table apart whose columns all have a fixed width and stand in the row by value:
//! without NULLs each lies at the same place in every row, so nothing is worked out per value.
//! Everything else is PostgreSQL's to take apart. Runs in whichever process runs the query.

use super::prefetch;
use pgrx::{pg_sys, PgTupleDesc};

/// Rows as they come straight from a table's pages.
pub struct TableRows {
    /// The descriptor that `columns` belongs to: the partitions of a table have one each.
    descriptor: pg_sys::TupleDesc,
    columns: Option<FixedColumns>,
}

impl Default for TableRows {
    fn default() -> Self {
        Self {
            descriptor: core::ptr::null_mut(),
            columns: None,
        }
    }
}

impl TableRows {
    /// Values and null flags of the row in `slot`; None where PostgreSQL is to take it apart.
    ///
    /// # Safety
    /// `slot` is PostgreSQL's and holds a row; its descriptor lives as long as `self`.
    #[inline]
    pub unsafe fn take_apart(
        &mut self,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> Option<(&[pg_sys::Datum], &[bool])> {
        // SAFETY: a slot with these operations is a BufferHeapTupleTableSlot, whose tuple lies in a
        // page that is pinned as long as the slot holds it.
        unsafe {
            if !core::ptr::eq((*slot).tts_ops, &raw const pg_sys::TTSOpsBufferHeapTuple) {
                return None;
            }
            let tuple = (*slot.cast::<pg_sys::BufferHeapTupleTableSlot>())
                .base
                .tuple
                .as_ref()?;
            let bytes = core::slice::from_raw_parts(tuple.t_data.cast(), tuple.t_len as usize);
            prefetch::row_ahead(bytes);
            let descriptor = (*slot).tts_tupleDescriptor;
            if descriptor != self.descriptor {
                self.descriptor = descriptor;
                self.columns = FixedColumns::of(descriptor);
            }
            self.columns.as_mut()?.take_apart(tuple)
        }
    }
}

/// Where the columns of such rows lie, and room for the values of one row.
struct FixedColumns {
    runs: Vec<Run>,
    /// Bytes from the first column's start to the last one's end.
    bytes: usize,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

/// Columns of one width side by side.
struct Run {
    offset: usize,
    width: usize,
    count: usize,
}

impl FixedColumns {
    /// None when a column has no fixed width, is not passed by value, has an alignment of its own, or
    /// was dropped.
    ///
    /// # Safety
    /// `descriptor` is valid.
    unsafe fn of(descriptor: pg_sys::TupleDesc) -> Option<Self> {
        // SAFETY: as the caller promises.
        let descriptor = unsafe { PgTupleDesc::from_pg_unchecked(descriptor) };
        let (mut runs, mut bytes) = (Vec::<Run>::new(), 0usize);
        for attribute in descriptor.iter() {
            let width = usize::try_from(attribute.attlen).ok()?;
            let aligned_to_width = matches!(
                (attribute.attalign as u8, width),
                (pg_sys::TYPALIGN_CHAR, 1)
                    | (pg_sys::TYPALIGN_SHORT, 2)
                    | (pg_sys::TYPALIGN_INT, 4)
                    | (pg_sys::TYPALIGN_DOUBLE, 8)
            );
            if attribute.attisdropped || !attribute.attbyval || !aligned_to_width {
                return None;
            }
            let offset = bytes.next_multiple_of(width);
            bytes = offset + width;
            match runs.last_mut() {
                Some(run) if run.width == width => run.count += 1,
                _ => runs.push(Run {
                    offset,
                    width,
                    count: 1,
                }),
            }
        }
        Some(Self {
            runs,
            bytes,
            values: Vec::with_capacity(descriptor.len()),
            nulls: vec![false; descriptor.len()],
        })
    }

    /// The row's values and null flags; None for one with NULLs, or from before a column was added.
    ///
    /// # Safety
    /// `tuple` is a row with the columns given to `of`.
    #[inline]
    unsafe fn take_apart(
        &mut self,
        tuple: &pg_sys::HeapTupleData,
    ) -> Option<(&[pg_sys::Datum], &[bool])> {
        // SAFETY: a row starts with its header, which says where its columns start; they end within
        // the row's length.
        let columns = unsafe {
            let header = &*tuple.t_data;
            let stored = usize::from(header.t_infomask2) & pg_sys::HEAP_NATTS_MASK as usize;
            let has_nulls = u32::from(header.t_infomask) & pg_sys::HEAP_HASNULL != 0;
            let start = usize::from(header.t_hoff);
            if has_nulls || stored < self.nulls.len() || (tuple.t_len as usize) < start + self.bytes
            {
                return None;
            }
            core::slice::from_raw_parts(tuple.t_data.cast::<u8>().add(start), self.bytes)
        };
        self.values.clear();
        for run in &self.runs {
            let bytes = &columns[run.offset..][..run.width * run.count];
            let values = &mut self.values;
            match run.width {
                1 => values.extend(bytes.iter().map(|b| datum(u64::from(*b)))),
                2 => extend(values, bytes, |b| u64::from(u16::from_ne_bytes(b))),
                4 => extend(values, bytes, |b| u64::from(u32::from_ne_bytes(b))),
                _ => extend(values, bytes, u64::from_ne_bytes),
            }
        }
        Some((&self.values, &self.nulls))
    }
}

#[inline(always)]
fn extend<const WIDTH: usize>(
    values: &mut Vec<pg_sys::Datum>,
    bytes: &[u8],
    read: impl Fn([u8; WIDTH]) -> u64,
) {
    values.extend(bytes.as_chunks().0.iter().map(|b| datum(read(*b))));
}

#[inline(always)]
fn datum(value: u64) -> pg_sys::Datum {
    pg_sys::Datum::from(value)
}
