//! Reads arrays of numbers from PostgreSQL's array bytes (`ArrayType`), where they lie and at any
//! alignment: no copy, no call into the server, no allocation. And makes some. Any process.

use super::numeric;
use super::types::NumberKind;
use core::ffi::c_int;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

/// One array's elements.
pub struct NumberArray<'a> {
    kind: NumberKind,
    length: usize,
    /// A set bit per element that is not NULL; None when none is.
    present: Option<&'a [u8]>,
    /// The elements that are not NULL, one after the other.
    data: &'a [u8],
}

/// Why a value is not taken as a list of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayProblem {
    /// It has this many dimensions, not one.
    Dimensions(i32),
    /// Its bytes contradict themselves.
    Damaged,
    /// There is no memory for its elements.
    Memory(OutOfMemory),
}

impl From<OutOfMemory> for ArrayProblem {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

/// Bytes of the header fields behind the length word: dimensions, data offset, element type.
const FIELDS: usize = size_of::<pg_sys::ArrayType>() - pg_sys::VARHDRSZ;
/// Length and lower bound of the only dimension.
const DIMENSION: usize = 2 * size_of::<c_int>();
/// Where the data of a one-dimensional array without NULLs starts, behind the length word.
const DATA: usize = (pg_sys::VARHDRSZ + FIELDS + DIMENSION).next_multiple_of(8) - pg_sys::VARHDRSZ;

impl<'a> NumberArray<'a> {
    /// Reads the header of an array value whose elements are of `kind`; `payload` is the value
    /// behind its varlena header. An array without dimensions has length 0.
    #[inline]
    pub fn new(payload: &'a [u8], kind: NumberKind) -> Result<Self, ArrayProblem> {
        let dimensions = int(payload, 0)?;
        match dimensions {
            0 => {
                return Ok(Self {
                    kind,
                    length: 0,
                    present: None,
                    data: &[],
                })
            }
            1 => {}
            many => return Err(ArrayProblem::Dimensions(many)),
        }
        let offset = int(payload, 4)?;
        let length = usize::try_from(int(payload, FIELDS)?).map_err(|_| ArrayProblem::Damaged)?;
        let start = match offset {
            0 => DATA,
            offset => usize::try_from(offset)
                .ok()
                .and_then(|offset| offset.checked_sub(pg_sys::VARHDRSZ))
                .ok_or(ArrayProblem::Damaged)?,
        };
        let bitmap = FIELDS + DIMENSION..FIELDS + DIMENSION + length.div_ceil(8);
        let present = match offset {
            0 => None,
            _ => Some(payload.get(bitmap).ok_or(ArrayProblem::Damaged)?),
        };
        let data = payload.get(start..).ok_or(ArrayProblem::Damaged)?;
        Ok(Self {
            kind,
            length,
            present,
            data,
        })
    }

    /// Number of elements, NULLs included.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it says which elements are NULL; then some may be.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        self.present.is_some()
    }

    /// Appends the elements to `out`, 0 for NULL. True when one of them is NULL.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<f64>) -> Result<bool, ArrayProblem> {
        // a length that the bytes do not bear out asks for nothing
        let most = self.data.len() + 8 * self.present.map_or(0, <[u8]>::len);
        out.room(self.length.min(most))?;
        if self.present.is_none() {
            let before = out.len();
            match self.kind {
                NumberKind::Int2 => out.extend(self.words().iter().map(|b| read_int2(*b))),
                NumberKind::Int4 => out.extend(self.words().iter().map(|b| read_int4(*b))),
                NumberKind::Int8 => out.extend(self.words().iter().map(|b| read_int8(*b))),
                NumberKind::Float4 => out.extend(self.words().iter().map(|b| read_float4(*b))),
                NumberKind::Float8 => out.extend(self.words().iter().map(|b| read_float8(*b))),
                _ => return self.append_slowly(out),
            }
            return match out.len() - before == self.length {
                true => Ok(false),
                false => Err(ArrayProblem::Damaged),
            };
        }
        self.append_slowly(out)
    }

    fn append_slowly(&self, out: &mut Vec<f64>) -> Result<bool, ArrayProblem> {
        let mut any_null = false;
        self.for_each(|element| {
            any_null |= element.is_none();
            out.push(element.unwrap_or(0.0));
        })?;
        Ok(any_null)
    }

    /// Sum of the products of the elements with `weights`, which is as long. None when an element
    /// is NULL or the array is of a kind that has no short way.
    #[inline]
    pub fn dot(&self, weights: &[f64]) -> Option<f64> {
        if self.present.is_some() || self.length != weights.len() {
            return None;
        }
        match self.kind {
            NumberKind::Int2 => dot(self.words(), weights, read_int2),
            NumberKind::Int4 => dot(self.words(), weights, read_int4),
            NumberKind::Int8 => dot(self.words(), weights, read_int8),
            NumberKind::Float4 => dot(self.words(), weights, read_float4),
            NumberKind::Float8 => dot(self.words(), weights, read_float8),
            _ => None,
        }
    }

    /// Calls `visit` with each element in order, None for NULL.
    pub fn for_each(&self, mut visit: impl FnMut(Option<f64>)) -> Result<(), ArrayProblem> {
        let mut rest = self.data;
        for at in 0..self.length {
            if self.is_null(at) {
                visit(None);
                continue;
            }
            let value = match self.kind {
                NumberKind::Boolean => take(&mut rest).map(|[b]: [u8; 1]| f64::from(b)),
                NumberKind::Int2 => take(&mut rest).map(read_int2),
                NumberKind::Int4 => take(&mut rest).map(read_int4),
                NumberKind::Int8 => take(&mut rest).map(read_int8),
                NumberKind::Float4 => take(&mut rest).map(read_float4),
                NumberKind::Float8 => take(&mut rest).map(read_float8),
                NumberKind::Numeric => take_numeric(self.data, &mut rest),
                // arrays of these are no arrays of numbers
                NumberKind::Date
                | NumberKind::Timestamp
                | NumberKind::Money(_)
                | NumberKind::Interval
                | NumberKind::Clock
                | NumberKind::ZonedClock => None,
            };
            visit(Some(value.ok_or(ArrayProblem::Damaged)?));
        }
        Ok(())
    }

    /// The places, from 0, of the elements that are NULL.
    pub fn nulls(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.length).filter(|at| self.is_null(*at))
    }

    fn is_null(&self, at: usize) -> bool {
        self.present
            .is_some_and(|bits| bits.get(at / 8).is_none_or(|b| b >> (at % 8) & 1 == 0))
    }

    /// The elements as fixed-size words: all of them, as there is no NULL.
    #[inline]
    fn words<const WIDTH: usize>(&self) -> &'a [[u8; WIDTH]] {
        let words = self.data.as_chunks::<WIDTH>().0;
        &words[..words.len().min(self.length)]
    }
}

/// A type whose values PostgreSQL's arrays hold as they are.
pub trait Element: Copy {}
impl Element for i32 {}
impl Element for i64 {}
impl Element for f32 {}
impl Element for f64 {}

/// An array in the current memory context; `element` is the type of `elements`.
pub fn made<T: Element>(elements: &[T], element: pg_sys::Oid) -> pg_sys::Datum {
    if elements.is_empty() {
        // SAFETY: makes a value in the current memory context.
        return pg_sys::Datum::from(unsafe { pg_sys::construct_empty_array(element) });
    }
    let header = DATA + pg_sys::VARHDRSZ;
    let bytes = header + size_of_val(elements);
    // SAFETY: header, length, lower bound and elements fill the bytes; palloc aligns for all of
    // them, and raises an error for more than 1 GB.
    unsafe {
        let array = pg_sys::palloc0(bytes).cast::<pg_sys::ArrayType>();
        pgrx::varlena::set_varsize_4b(array.cast(), bytes as i32);
        (*array).ndim = 1;
        (*array).elemtype = element;
        let dimension = array.add(1).cast::<i32>();
        *dimension = elements.len() as i32;
        *dimension.add(1) = 1;
        let data = array.cast::<u8>().add(header).cast::<T>();
        core::ptr::copy_nonoverlapping(elements.as_ptr(), data, elements.len());
        pg_sys::Datum::from(array)
    }
}

/// The sum of products, by wider instructions where the processor has them; both ways add in the
/// same order and so give the same number.
#[inline]
fn dot<const WIDTH: usize>(
    words: &[[u8; WIDTH]],
    weights: &[f64],
    read: impl Fn([u8; WIDTH]) -> f64,
) -> Option<f64> {
    if words.len() != weights.len() {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return Some(unsafe { sum_avx2(words, weights, read) });
    }
    Some(sum(words, weights, read))
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn sum_avx2<const WIDTH: usize>(
    words: &[[u8; WIDTH]],
    weights: &[f64],
    read: impl Fn([u8; WIDTH]) -> f64,
) -> f64 {
    sum(words, weights, read)
}

/// Partial sums, so that the additions do not wait for each other.
#[inline(always)]
fn sum<const WIDTH: usize>(
    words: &[[u8; WIDTH]],
    weights: &[f64],
    read: impl Fn([u8; WIDTH]) -> f64,
) -> f64 {
    let (word_blocks, word_rest) = words.as_chunks::<8>();
    let (weight_blocks, weight_rest) = weights.as_chunks::<8>();
    let mut sums = [0.0f64; 8];
    for (word, weight) in word_blocks.iter().zip(weight_blocks) {
        for lane in 0..8 {
            sums[lane] += read(word[lane]) * weight[lane];
        }
    }
    let rest: f64 = word_rest
        .iter()
        .zip(weight_rest)
        .map(|(word, weight)| read(*word) * weight)
        .sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + rest
}

#[inline(always)]
fn read_int2(bytes: [u8; 2]) -> f64 {
    f64::from(i16::from_ne_bytes(bytes))
}

#[inline(always)]
fn read_int4(bytes: [u8; 4]) -> f64 {
    f64::from(i32::from_ne_bytes(bytes))
}

#[inline(always)]
fn read_int8(bytes: [u8; 8]) -> f64 {
    i64::from_ne_bytes(bytes) as f64
}

#[inline(always)]
fn read_float4(bytes: [u8; 4]) -> f64 {
    f64::from(f32::from_ne_bytes(bytes))
}

#[inline(always)]
fn read_float8(bytes: [u8; 8]) -> f64 {
    f64::from_ne_bytes(bytes)
}

fn int(payload: &[u8], at: usize) -> Result<i32, ArrayProblem> {
    let bytes = payload
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .ok_or(ArrayProblem::Damaged)?;
    Ok(i32::from_ne_bytes(*bytes))
}

fn take<const WIDTH: usize>(rest: &mut &[u8]) -> Option<[u8; WIDTH]> {
    let (word, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*word)
}

/// A numeric element: with a short header it follows at once, with a long one at the next multiple
/// of four, after zero bytes. `data` starts 8-byte aligned; `rest` is what is left of it.
fn take_numeric<'a>(data: &'a [u8], rest: &mut &'a [u8]) -> Option<f64> {
    let mut at = data.len() - rest.len();
    if *data.get(at)? == 0 {
        at = at.next_multiple_of(4);
    }
    let bytes = data.get(at..)?;
    let first = *bytes.first()?;
    let (header, length) = if cfg!(target_endian = "big") {
        match first & 0x80 {
            0 => (4, int(bytes, 0).ok()? as u32 & 0x3fff_ffff),
            _ => (1, u32::from(first & 0x7f)),
        }
    } else {
        match first & 1 {
            0 => (4, int(bytes, 0).ok()? as u32 >> 2),
            _ => (1, u32::from(first >> 1)),
        }
    };
    let length = usize::try_from(length).ok()?;
    let value = numeric::to_f64(bytes.get(header..length)?)?;
    *rest = &bytes[length..];
    Some(value)
}
