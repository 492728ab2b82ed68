//! Rows of a query as one run of bytes, on their way from the process that fetched them to the one that reads them.
//!
//! In words of eight bytes: how many rows follow and what ends with them, then each row:
//!
//! | words | hold |
//! |---|---|
//! | 1 | the row's length in words, and whether it has NULLs |
//! | 1 | its origin |
//! | one a column | a value passed by value; of any other where it lies, in bytes from the row's start |
//! | one for eight columns | a byte a column, 1 for NULL; only where there are NULLs |
//! | the rest | values that are not passed by value, each from a whole word on, detoasted |

use super::executor::{Continue, DeformedRow};
use super::origin;
use super::query::Planned;
use super::varlena::Varlena;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

/// A message is sent once it has so many bytes.
const RIPE_BYTES: usize = 256 * 1024;
/// The longest row that is packed.
const MOST_ROW_BYTES: usize = 512 * 1024;
const WORD: usize = size_of::<u64>();
/// Words of a row in front of its columns.
const HEAD: usize = 2;

/// The columns of the rows, as far as packing needs to know them.
pub struct Shape {
    width: usize,
    /// Columns that are not passed by value, and their length; None where each value says it.
    elsewhere: Vec<(usize, Option<usize>)>,
}

impl Shape {
    /// Of a query's columns; None when one of them has values of a form that no table holds.
    pub fn of(planned: &Planned) -> Option<Self> {
        Self::new(planned.columns.iter().map(|column| column.type_oid))
    }

    /// The same of columns with these types.
    fn new(types: impl Iterator<Item = pg_sys::Oid>) -> Option<Self> {
        let (mut width, mut elsewhere) = (0, Vec::new());
        for oid in types {
            let (mut length, mut by_value) = (0i16, false);
            // SAFETY: a catalog look-up inside a transaction.
            unsafe { pg_sys::get_typlenbyval(oid, &mut length, &mut by_value) };
            match (by_value, length) {
                (true, _) => {}
                (false, -1) => elsewhere.push((width, None)),
                (false, length) => elsewhere.push((width, Some(usize::try_from(length).ok()?))),
            }
            width += 1;
        }
        Some(Self { width, elsewhere })
    }

    /// The values of a packed row; made in `scratch` where some lie elsewhere.
    #[inline]
    fn values<'a>(
        &self,
        row: &'a [u64],
        nulls: &[bool],
        scratch: &'a mut Vec<pg_sys::Datum>,
    ) -> &'a [pg_sys::Datum] {
        let values = &row[HEAD..HEAD + self.width];
        if self.elsewhere.is_empty() {
            // SAFETY: a Datum is a word of eight bytes, whatever it holds.
            return unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), self.width) };
        }
        scratch.clear();
        scratch.extend(values.iter().map(|value| pg_sys::Datum::from(*value)));
        for &(at, _) in self.elsewhere.iter().filter(|(at, _)| !nulls[*at]) {
            scratch[at] = (row.as_ptr() as usize + values[at] as usize).into();
        }
        scratch
    }
}

/// What ends with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    None,
    /// The piece of the table that the rows were of.
    Piece,
    /// That too, but not all of it was sent: the row after those sent is too long.
    GivenBack,
}

impl Ending {
    const ALL: [Self; 3] = [Self::None, Self::Piece, Self::GivenBack];
    /// Where it stands in a message's first word.
    const SHIFT: u32 = 32;
}

/// Packs rows.
pub struct RowPacker {
    shape: Shape,
    words: Vec<u64>,
}

impl RowPacker {
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            words: vec![0],
        }
    }

    /// Adds a row; false, and nothing is added, for one that is too long.
    ///
    /// # Safety
    /// The row has the columns of the shape.
    pub unsafe fn push(&mut self, row: &DeformedRow<'_>) -> Result<bool, OutOfMemory> {
        let start = self.words.len();
        let width = self.shape.width;
        // all but what is elsewhere
        self.words.room(HEAD + 2 * width)?;
        let (values, nulls) = (&row.values[..width], &row.nulls[..width]);
        let has_nulls = nulls.contains(&true);
        self.words.extend([0, row.origin]);
        self.words
            .extend(values.iter().map(|value| value.value() as u64));
        if has_nulls {
            self.words.extend(nulls.chunks(WORD).map(null_word));
        }
        for &(at, length) in &self.shape.elsewhere {
            let place = (self.words.len() - start) * WORD;
            if nulls[at] {
                continue;
            }
            // SAFETY: as the caller promises, such a column holds a value of this length, or one that says its own.
            if !unsafe { append_value(&mut self.words, start, values[at], length) }? {
                self.words.truncate(start);
                return Ok(false);
            }
            self.words[start + HEAD + at] = place as u64;
        }
        let length = (self.words.len() - start) as u64;
        self.words[start] = length << 1 | u64::from(has_nulls);
        self.words[0] += 1;
        Ok(true)
    }

    /// Whether there is enough for a message.
    pub fn is_ripe(&self) -> bool {
        self.words.len() * WORD >= RIPE_BYTES
    }

    /// Sends the rows so far, and forgets them.
    pub fn take<T>(&mut self, ending: Ending, send: impl FnOnce(&[u8]) -> T) -> T {
        self.words[0] |= (ending as u64) << Ending::SHIFT;
        // SAFETY: every byte of a word is initialized.
        let sent = send(unsafe {
            core::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * WORD)
        });
        self.words.truncate(1);
        self.words[0] = 0;
        sent
    }
}

/// The flags of up to eight columns.
fn null_word(nulls: &[bool]) -> u64 {
    let mut bytes = [0; WORD];
    for (byte, null) in bytes.iter_mut().zip(nulls) {
        *byte = u8::from(*null);
    }
    u64::from_ne_bytes(bytes)
}

/// Appends what a value points to, as `append` does.
///
/// # Safety
/// It points to so many bytes, or, without a length, to a value that says its own.
unsafe fn append_value(
    words: &mut Vec<u64>,
    start: usize,
    value: pg_sys::Datum,
    length: Option<usize>,
) -> Result<bool, OutOfMemory> {
    // SAFETY: as the caller promises.
    unsafe {
        match length {
            Some(length) => {
                let bytes = core::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), length);
                append(words, start, bytes)
            }
            None => append(words, start, Varlena::open(value).with_header()),
        }
    }
}

/// Appends bytes, from a whole word on; false when the row that began at `start` is too long with them.
fn append(words: &mut Vec<u64>, start: usize, bytes: &[u8]) -> Result<bool, OutOfMemory> {
    if (words.len() - start) * WORD + bytes.len() > MOST_ROW_BYTES {
        return Ok(false);
    }
    words.room(bytes.len().div_ceil(WORD))?;
    let (whole, rest) = bytes.as_chunks::<WORD>();
    words.extend(whole.iter().map(|word| u64::from_ne_bytes(*word)));
    if !rest.is_empty() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u64::from_ne_bytes(last));
    }
    Ok(true)
}

/// Takes messages apart.
pub struct RowUnpacker {
    shape: Shape,
    values: Vec<pg_sys::Datum>,
    no_nulls: Vec<bool>,
    /// What is left of the message: its rows, how many, and what ends with them.
    rest: &'static [u64],
    rows: u32,
    ending: Ending,
}

impl RowUnpacker {
    pub fn new(shape: Shape) -> Self {
        Self {
            values: Vec::with_capacity(shape.width),
            no_nulls: vec![false; shape.width],
            shape,
            rest: &[],
            rows: 0,
            ending: Ending::None,
        }
    }

    /// Begins a message; what is left of the one before is forgotten.
    ///
    /// # Safety
    /// A packer made it for the same shape; it begins at a whole word, and stays in place until [`Self::rows`] has given
    /// its last row.
    pub unsafe fn open(&mut self, message: *const [u8]) {
        // SAFETY: whole words, as the caller promises; they are looked at no longer than it does.
        let words =
            unsafe { core::slice::from_raw_parts(message.cast::<u64>(), message.len() / WORD) };
        self.rows = words[0] as u32;
        self.ending = Ending::ALL[(words[0] >> Ending::SHIFT) as usize];
        self.rest = &words[1..];
    }

    /// Pushes up to `count` of the message's rows into `visit`, until it has had enough. Gives back what ends with the
    /// message, once there is no row left.
    pub fn rows(
        &mut self,
        count: u64,
        visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue,
    ) -> Option<Ending> {
        let width = self.shape.width;
        for _ in 0..count.min(u64::from(self.rows)) {
            let (row, behind) = self.rest.split_at((self.rest[0] >> 1) as usize);
            (self.rest, self.rows) = (behind, self.rows - 1);
            let nulls = match row[0] & 1 {
                0 => &self.no_nulls[..],
                // SAFETY: a byte a column follows the values, 0 or 1.
                _ => unsafe {
                    core::slice::from_raw_parts(row[HEAD + width..].as_ptr().cast::<bool>(), width)
                },
            };
            let row = DeformedRow {
                values: self.shape.values(row, nulls, &mut self.values),
                nulls,
                origin: row[1],
                tuple: origin::NONE,
            };
            if matches!(visit(&row), Continue::No) {
                break;
            }
        }
        (self.rows == 0).then_some(self.ending)
    }
}
