//! Takes the rows of a query apart: those that come straight from a table, with columns of fixed
//! width, faster than PostgreSQL does. Without NULLs such a column lies at the same place in every
//! row, so nothing is worked out per value. Runs in whichever process runs the query.

use super::{origin, prefetch};
use core::ffi::c_int;
use pgrx::{pg_sys, PgTupleDesc};

/// Values and null flags of one row, valid during the call only.
pub struct DeformedRow<'a> {
    pub values: &'a [pg_sys::Datum],
    pub nulls: &'a [bool],
    /// What [`super::origin`] knows it by, where that is wanted.
    pub origin: u64,
    /// What it is known by whatever its columns, where that is wanted.
    pub tuple: u64,
}

/// How to get at the columns that are wanted. Rows come in slots: one for all rows of a query, or one for each of the tables
/// that it scans.
#[derive(Default)]
pub struct RowColumns {
    slots: Vec<SlotColumns>,
    /// Which of them the last row came in.
    last: usize,
}

/// The same for the rows in one slot, and room for the values of one row.
struct SlotColumns {
    slot: *mut pg_sys::TupleTableSlot,
    /// Where they stand among the slot's columns, from 0; None: they are the slot's columns.
    places: Option<Vec<usize>>,
    /// Columns of the slot up to the last one wanted.
    needed: usize,
    fixed: Option<FixedColumns>,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
    /// As many flags, all false.
    no_nulls: Vec<bool>,
}

impl RowColumns {
    /// Rows that come in `slot` have the wanted columns at these places, from 0. Those of any other slot are the wanted ones.
    ///
    /// # Safety
    /// `slot` is PostgreSQL's, with a descriptor that it keeps, and outlives `self`.
    pub unsafe fn expect(&mut self, slot: *mut pg_sys::TupleTableSlot, places: Vec<usize>) {
        // SAFETY: as the caller promises.
        self.slots
            .push(unsafe { SlotColumns::new(slot, Some(places)) });
    }

    /// The wanted columns of the row in `slot`.
    ///
    /// # Safety
    /// `slot` is PostgreSQL's and holds a row for as long as the result lives; it keeps its descriptor and outlives `self`.
    #[inline]
    pub unsafe fn of(&mut self, slot: *mut pg_sys::TupleTableSlot) -> DeformedRow<'_> {
        let is_last = |last: &SlotColumns| core::ptr::eq(last.slot, slot);
        if !self.slots.get(self.last).is_some_and(is_last) {
            // SAFETY: as the caller promises.
            unsafe { self.find(slot) };
        }
        // SAFETY: the same.
        unsafe { self.slots[self.last].read() }
    }

    /// # Safety
    /// As for `of`.
    #[cold]
    unsafe fn find(&mut self, slot: *mut pg_sys::TupleTableSlot) {
        let is_it = |known: &SlotColumns| core::ptr::eq(known.slot, slot);
        self.last = self.slots.iter().position(is_it).unwrap_or_else(|| {
            // SAFETY: as the caller promises.
            self.slots.push(unsafe { SlotColumns::new(slot, None) });
            self.slots.len() - 1
        });
    }
}

impl SlotColumns {
    /// # Safety
    /// As for [`RowColumns::expect`].
    unsafe fn new(slot: *mut pg_sys::TupleTableSlot, places: Option<Vec<usize>>) -> Self {
        // SAFETY: as the caller promises.
        let columns = unsafe { PgTupleDesc::from_pg_unchecked((*slot).tts_tupleDescriptor) };
        let all: Vec<usize> = (0..columns.len()).collect();
        let wanted = places.as_deref().unwrap_or(&all);
        Self {
            slot,
            needed: wanted.iter().map(|place| place + 1).max().unwrap_or(0),
            fixed: FixedColumns::new(&columns, wanted),
            values: Vec::new(),
            nulls: vec![false; wanted.len()],
            no_nulls: vec![false; wanted.len()],
            places,
        }
    }

    /// The wanted columns of the row that is there now.
    ///
    /// # Safety
    /// The slot holds a row for as long as the result lives.
    #[inline]
    unsafe fn read(&mut self) -> DeformedRow<'_> {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(tuple) = heap_tuple(self.slot) {
                let length = tuple.t_len as usize;
                prefetch::row_ahead(core::slice::from_raw_parts(tuple.t_data.cast(), length));
                let fixed = self.fixed.as_ref();
                if fixed.is_some_and(|fixed| fixed.read(tuple, &mut self.values)) {
                    return DeformedRow {
                        values: &self.values,
                        nulls: &self.no_nulls,
                        origin: origin::NONE,
                        tuple: origin::NONE,
                    };
                }
            }
            self.by_postgres()
        }
    }

    /// # Safety
    /// As for `read`.
    #[inline]
    unsafe fn by_postgres(&mut self) -> DeformedRow<'_> {
        let slot = self.slot;
        // SAFETY: after slot_getsomeattrs the slot's arrays hold at least as many entries.
        let (values, nulls) = unsafe {
            if usize::try_from((*slot).tts_nvalid).is_ok_and(|valid| valid < self.needed) {
                pg_sys::slot_getsomeattrs_int(slot, self.needed as c_int);
            }
            (
                core::slice::from_raw_parts((*slot).tts_values, self.needed),
                core::slice::from_raw_parts((*slot).tts_isnull, self.needed),
            )
        };
        let Some(places) = &self.places else {
            return DeformedRow {
                values,
                nulls,
                origin: origin::NONE,
                tuple: origin::NONE,
            };
        };
        self.values.clear();
        self.values
            .extend(places.iter().map(|place| values[*place]));
        for (null, place) in self.nulls.iter_mut().zip(places) {
            *null = nulls[*place];
        }
        DeformedRow {
            values: &self.values,
            nulls: &self.nulls,
            origin: origin::NONE,
            tuple: origin::NONE,
        }
    }
}

/// The row in a slot as it lies in a page of its table; None where it does not.
///
/// # Safety
/// The slot is PostgreSQL's and holds a row for as long as the result lives.
#[inline]
pub(super) unsafe fn heap_tuple<'a>(
    slot: *mut pg_sys::TupleTableSlot,
) -> Option<&'a pg_sys::HeapTupleData> {
    // SAFETY: as the caller promises. A slot with these operations is a BufferHeapTupleTableSlot, whose tuple lies in a page
    // that is pinned while it is there.
    unsafe {
        if !core::ptr::eq((*slot).tts_ops, &raw const pg_sys::TTSOpsBufferHeapTuple) {
            return None;
        }
        let slot = slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
        (*slot).base.tuple.as_ref()
    }
}

/// Columns that lie at the same place in every row that has no NULLs.
struct FixedColumns {
    runs: Vec<ColumnRun>,
    /// Columns that a row must have stored.
    columns: usize,
    /// Bytes from where a row's columns start to where the last one ends.
    bytes: usize,
}

/// Columns of one width side by side.
struct ColumnRun {
    offset: usize,
    width: usize,
    count: usize,
}

impl FixedColumns {
    /// None when one of `places` has a column of variable width before it, or one that is not
    /// passed by value or was dropped; or is such a column.
    fn new(columns: &PgTupleDesc<'_>, places: &[usize]) -> Option<Self> {
        let mut extents = Vec::new();
        let mut end = 0usize;
        for attribute in columns.iter() {
            let Some(width) = fixed_width(attribute) else {
                break;
            };
            let offset = end.next_multiple_of(width);
            end = offset + width;
            extents.push((offset, width));
        }
        let (mut runs, mut bytes, mut stored) = (Vec::<ColumnRun>::new(), 0, 0);
        for place in places {
            let (offset, width) = *extents.get(*place)?;
            bytes = bytes.max(offset + width);
            stored = stored.max(place + 1);
            match runs.last_mut() {
                Some(run) if run.width == width && run.offset + run.count * width == offset => {
                    run.count += 1;
                }
                _ => runs.push(ColumnRun {
                    offset,
                    width,
                    count: 1,
                }),
            }
        }
        Some(Self {
            runs,
            columns: stored,
            bytes,
        })
    }

    /// Reads a row's values into `out`; false for a row with NULLs, or from before a column was
    /// added.
    ///
    /// # Safety
    /// `tuple` is a row with the columns given to `new`.
    #[inline]
    unsafe fn read(&self, tuple: &pg_sys::HeapTupleData, out: &mut Vec<pg_sys::Datum>) -> bool {
        // SAFETY: a row starts with its header, which says where its columns start; they end within
        // the row's length.
        let columns = unsafe {
            let header = &*tuple.t_data;
            let stored = usize::from(header.t_infomask2) & pg_sys::HEAP_NATTS_MASK as usize;
            let has_nulls = u32::from(header.t_infomask) & pg_sys::HEAP_HASNULL != 0;
            let start = usize::from(header.t_hoff);
            if has_nulls || stored < self.columns || (tuple.t_len as usize) < start + self.bytes {
                return false;
            }
            core::slice::from_raw_parts(tuple.t_data.cast::<u8>().add(start), self.bytes)
        };
        out.clear();
        for run in &self.runs {
            let bytes = &columns[run.offset..][..run.width * run.count];
            match run.width {
                1 => extend(out, bytes, |[b]| u64::from(b)),
                2 => extend(out, bytes, |b| u64::from(u16::from_ne_bytes(b))),
                4 => extend(out, bytes, |b| u64::from(u32::from_ne_bytes(b))),
                _ => extend(out, bytes, u64::from_ne_bytes),
            }
        }
        true
    }
}

/// The width of a column that is passed by value and aligned to its width.
fn fixed_width(attribute: &pg_sys::FormData_pg_attribute) -> Option<usize> {
    let width = usize::try_from(attribute.attlen).ok()?;
    let aligned_to_width = matches!(
        (attribute.attalign as u8, width),
        (pg_sys::TYPALIGN_CHAR, 1)
            | (pg_sys::TYPALIGN_SHORT, 2)
            | (pg_sys::TYPALIGN_INT, 4)
            | (pg_sys::TYPALIGN_DOUBLE, 8)
    );
    (!attribute.attisdropped && attribute.attbyval && aligned_to_width).then_some(width)
}

#[inline(always)]
fn extend<const WIDTH: usize>(
    out: &mut Vec<pg_sys::Datum>,
    bytes: &[u8],
    read: impl Fn([u8; WIDTH]) -> u64,
) {
    let words = bytes.as_chunks().0.iter();
    out.extend(words.map(|word| pg_sys::Datum::from(read(*word))));
}
