//! Runs of numbers as the bytes of a chunk, compressed where that pays: a stored format, little endian, which must never
//! change. Pure.
//!
//! First a byte: [`WIDE`] where numbers have 64 bits, else 32; [`PACKED`] where they are compressed, and from [`ROUNDS_AT`] on the
//! rounds of transposition behind which they are. Then the numbers.

use crate::features::Narrowed;
use core::ops::Range;
use pgsvm_core::memory::{filled, OutOfMemory, Room};
use pgsvm_core::Packing;

/// Numbers that 32 bits do not hold.
const WIDE: u8 = 1;
const PACKED: u8 = 2;
const ROUNDS_AT: u32 = 2;
/// Rounds to choose from: none, bytes of equal place in 32 bits, in 64 bits together.
const ROUNDS: [u32; 3] = [0, 2, 3];
/// What compression must save to be worth unpacking: a part in so many.
const LEAST_SAVED: usize = 8;

/// Packs runs of numbers of one kind.
#[derive(Default)]
pub struct NumberPacker {
    bytes: Vec<u8>,
    packed: Vec<u8>,
    packing: Packing,
    /// Once the first run has chosen.
    rounds: Option<u32>,
}

impl NumberPacker {
    /// Appends floating-point numbers.
    pub fn numbers(&mut self, numbers: &[f64], out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
        let narrow = |x: f64| (f64::from(x as f32) == x).then(|| (x as f32).to_le_bytes());
        self.append_all(numbers, narrow, f64::to_le_bytes, out)
    }

    /// Appends whole numbers.
    pub fn integers(&mut self, integers: &[u64], out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
        let narrow = |x| Some(u32::try_from(x).ok()?.to_le_bytes());
        self.append_all(integers, narrow, u64::to_le_bytes, out)
    }

    /// Appends numbers in 32 bits, where each has them, or else in 64.
    fn append_all<T: Copy>(
        &mut self,
        numbers: &[T],
        narrow: impl Fn(T) -> Option<[u8; 4]>,
        wide: impl Fn(T) -> [u8; 8],
        out: &mut Vec<u8>,
    ) -> Result<(), OutOfMemory> {
        let is_wide = numbers.iter().any(|x| narrow(*x).is_none());
        self.bytes.clear();
        let room = self.bytes.room(size_of_val(numbers))?;
        match is_wide {
            true => room.extend(numbers.iter().flat_map(|x| wide(*x))),
            false => room.extend(numbers.iter().filter_map(|x| narrow(*x)).flatten()),
        }
        self.append(is_wide, out)
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
        self.bytes.clear();
        self.bytes.room(bytes.len())?.extend_from_slice(bytes);
        self.rounds = Some(0);
        self.append(false, out)
    }

    fn append(&mut self, is_wide: bool, out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
        let (length, rounds) = self.pack()?;
        let is_packed = length < self.bytes.len() - self.bytes.len() / LEAST_SAVED;
        let body = match is_packed {
            true => &self.packed[..length],
            false => &self.bytes[..],
        };
        let packed = PACKED | (rounds as u8) << ROUNDS_AT;
        let form = if is_wide { WIDE } else { 0 } | if is_packed { packed } else { 0 };
        out.room(1 + body.len())?.push(form);
        out.extend_from_slice(body);
        Ok(())
    }

    /// Compresses the bytes, behind the rounds that made the first ones smallest; the length, and the rounds.
    fn pack(&mut self) -> Result<(usize, u32), OutOfMemory> {
        let (bytes, packed) = (&self.bytes[..], &mut self.packed);
        let mut pack = |rounds| {
            let length = self.packing.pack(bytes, rounds, packed);
            length.map_err(|_| out_of_memory(bytes.len()))
        };
        if self.rounds.is_none() && !bytes.is_empty() {
            let mut best = (usize::MAX, 0);
            for rounds in ROUNDS {
                best = best.min((pack(rounds)?, rounds));
            }
            self.rounds = Some(best.1);
        }
        let rounds = self.rounds.unwrap_or(0);
        Ok((pack(rounds)?, rounds))
    }
}

fn out_of_memory(bytes: usize) -> OutOfMemory {
    OutOfMemory {
        bytes: bytes as u64,
    }
}

/// Numbers as they are kept: in 32 bits where these hold them all.
#[derive(Debug)]
pub enum NumberRun<N, W> {
    Narrow(Vec<N>),
    Wide(Vec<W>),
}

pub type Numbers = NumberRun<f32, f64>;
pub type Integers = NumberRun<u32, u64>;

impl<N, W> Default for NumberRun<N, W> {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl<N, W> NumberRun<N, W> {
    /// A part of them.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Narrowed<'_, N, W> {
        match self {
            Self::Narrow(numbers) => Narrowed::Narrow(&numbers[range]),
            Self::Wide(numbers) => Narrowed::Wide(&numbers[range]),
        }
    }

    /// Room for numbers of 32 bits: what was there is gone.
    fn narrow(&mut self) -> &mut Vec<N> {
        if matches!(self, Self::Wide(_)) {
            *self = Self::default();
        }
        match self {
            Self::Narrow(numbers) => {
                numbers.clear();
                numbers
            }
            Self::Wide(_) => unreachable!("it has been replaced"),
        }
    }

    /// The same of 64.
    fn wide(&mut self) -> &mut Vec<W> {
        if matches!(self, Self::Narrow(_)) {
            *self = Self::Wide(Vec::new());
        }
        match self {
            Self::Wide(numbers) => {
                numbers.clear();
                numbers
            }
            Self::Narrow(_) => unreachable!("it has been replaced"),
        }
    }
}

/// Reads runs of numbers.
#[derive(Default)]
pub struct NumberUnpacker {
    bytes: Vec<u8>,
    packing: Packing,
}

impl NumberUnpacker {
    /// Reads `count` floating-point numbers into `out`; false where the bytes are not those.
    pub fn numbers(
        &mut self,
        stored: &[u8],
        count: usize,
        out: &mut Numbers,
    ) -> Result<bool, OutOfMemory> {
        let Some((is_wide, body)) = self.body(stored, count, [4, 8])? else {
            return Ok(false);
        };
        read((is_wide, body), out, f32::from_le_bytes, f64::from_le_bytes)?;
        Ok(true)
    }

    /// The same of whole numbers.
    pub fn integers(
        &mut self,
        stored: &[u8],
        count: usize,
        out: &mut Integers,
    ) -> Result<bool, OutOfMemory> {
        let Some((is_wide, body)) = self.body(stored, count, [4, 8])? else {
            return Ok(false);
        };
        read((is_wide, body), out, u32::from_le_bytes, u64::from_le_bytes)?;
        Ok(true)
    }

    /// The same of bytes; None where they are not those.
    pub fn bytes<'a>(
        &'a mut self,
        stored: &'a [u8],
        count: usize,
    ) -> Result<Option<&'a [u8]>, OutOfMemory> {
        Ok(self.body(stored, count, [1, 1])?.map(|(_, bytes)| bytes))
    }

    /// The bytes of `count` numbers of one of these sizes, and whether it is the second.
    fn body<'a>(
        &'a mut self,
        stored: &'a [u8],
        count: usize,
        [narrow, wide]: [usize; 2],
    ) -> Result<Option<(bool, &'a [u8])>, OutOfMemory> {
        let Some((form, body)) = stored.split_first() else {
            return Ok(None);
        };
        let is_wide = form & WIDE != 0;
        let bytes = count.saturating_mul(if is_wide { wide } else { narrow });
        if form & PACKED == 0 {
            return Ok((body.len() == bytes).then_some((is_wide, body)));
        }
        let rounds = u32::from(form >> ROUNDS_AT);
        if !ROUNDS.contains(&rounds) {
            return Ok(None);
        }
        if self.bytes.len() < bytes {
            self.bytes = filled(0, bytes)?;
        }
        let into = &mut self.bytes[..bytes];
        let whole = self.packing.unpack(body, rounds, into);
        let whole = whole.map_err(|_| out_of_memory(bytes))?;
        Ok(whole.then_some((is_wide, &self.bytes[..bytes])))
    }
}

fn read<N, W>(
    (is_wide, body): (bool, &[u8]),
    out: &mut NumberRun<N, W>,
    narrow: impl Fn([u8; 4]) -> N,
    wide: impl Fn([u8; 8]) -> W,
) -> Result<(), OutOfMemory> {
    match is_wide {
        true => {
            let words = body.as_chunks().0.iter();
            out.wide()
                .room(words.len())?
                .extend(words.map(|x| wide(*x)));
        }
        false => {
            let words = body.as_chunks().0.iter();
            out.narrow()
                .room(words.len())?
                .extend(words.map(|x| narrow(*x)));
        }
    }
    Ok(())
}
