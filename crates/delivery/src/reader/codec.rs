//! Chunks on their way to the spool and back: as they are, or compressed where that is faster.
//!
//! How fast the spool is nobody knows beforehand: it is a file behind the operating system's cache. So it is measured.
//! The first few chunks and every [`PROBE_EVERY`]th after them are a *probe*: the chunk is compressed and unpacked
//! again, and the oldest chunk that no probe has read is read back; once the spool has outgrown the memory that one
//! comes from the device. Every write is timed too. [`CodecPace`] turns this into the rule for the chunks to come. Each
//! chunk remembers its own form and comes back as the same words in either, so timing has no say in the result.
//!
//! Compression is LZ4 behind a transposition: the bytes of equal place in each value (4 bytes), or in each pair of
//! feature id and value (8 bytes), are put together, since neighbours resemble each other in their upper bytes. The
//! first chunk is tried in all [`ROUNDS`], and the smallest wins.
//!
//! A [`Compression`] other than `Auto` measures nothing: every chunk is compressed, or none.

mod pace;
mod packing;

use std::collections::TryReserveError;
use std::time::Instant;

use crate::base::words::{as_bytes, as_bytes_mut};
use crate::objective::problem::Compression;
use crate::rows::source::Spool;
use pace::CodecPace;
pub use packing::Packing;

/// Chunks that are probed at the beginning, and how many there are to a probe later: a few percent of the writing.
const FIRST_PROBES: usize = 4;
const PROBE_EVERY: usize = 64;
/// Rounds of transposition to choose from: none, bytes of a value, bytes of a pair.
const ROUNDS: [u32; 3] = [0, 2, 3];

/// Where a chunk stands in the spool. One that takes fewer bytes than its words have is compressed.
#[derive(Clone, Copy)]
struct StoredChunk {
    position: u64,
    bytes: u32,
    words: u32,
}

/// Why a chunk cannot be written or had back.
#[derive(Debug)]
pub(super) enum ChunkError<E> {
    Spool(E),
    Memory,
    /// What was read is not what was written.
    Corrupt,
}

impl<E> From<TryReserveError> for ChunkError<E> {
    fn from(_: TryReserveError) -> Self {
        Self::Memory
    }
}

/// The chunks in the spool, numbered as they are written. The buffers are two chunks long, three in a probe.
pub(super) struct Chunks {
    stored: Vec<StoredChunk>,
    bytes: u64,
    compression: Compression,
    pace: CodecPace,
    /// Rounds of transposition, once the first chunk has chosen.
    rounds: Option<u32>,
    packing: Packing,
    /// Room for a compressed chunk.
    packed: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(compression: Compression) -> Self {
        Self {
            stored: Vec::new(),
            bytes: 0,
            compression,
            pace: CodecPace::default(),
            rounds: None,
            packing: Packing::default(),
            packed: Vec::new(),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    /// Bytes in the spool.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Words of a chunk's rows.
    pub(super) fn words(&self, chunk: usize) -> usize {
        self.stored[chunk].words as usize
    }

    /// Writes rows as the next chunk.
    pub(super) fn write<P: Spool>(
        &mut self,
        rows: &[u32],
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        let rows = as_bytes(rows);
        let packed = match self.wants_packing(rows, spool)? {
            true => self.pack(rows)?,
            false => rows.len(),
        };
        let bytes = match packed < rows.len() {
            true => &self.packed[..packed],
            false => rows,
        };
        self.stored.try_reserve(1)?;
        let start = Instant::now();
        let position = spool.append(bytes).map_err(ChunkError::Spool)?;
        self.pace.wrote(start.elapsed(), bytes.len());
        self.bytes += bytes.len() as u64;
        self.stored.push(StoredChunk {
            position,
            bytes: bytes.len() as u32,
            words: (rows.len() / 4) as u32,
        });
        Ok(())
    }

    /// Whether the next chunk, these rows, is to be compressed.
    fn wants_packing<P: Spool>(
        &mut self,
        rows: &[u8],
        spool: &mut P,
    ) -> Result<bool, ChunkError<P::Error>> {
        match self.compression {
            Compression::Off => return Ok(false),
            Compression::On => {
                if self.rounds.is_none() {
                    self.choose_rounds(rows)?;
                }
                return Ok(true);
            }
            Compression::Auto => {}
        }
        let chunks = self.len();
        if chunks < FIRST_PROBES || chunks.is_multiple_of(PROBE_EVERY) {
            self.time_reading(chunks / PROBE_EVERY, spool)?;
            self.time_packing(rows)?;
        }
        Ok(self.pace.favours_packing())
    }

    /// Reads a chunk back into `rows`, as long as its words.
    pub(super) fn read<P: Spool>(
        &mut self,
        chunk: usize,
        rows: &mut [u32],
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        let StoredChunk {
            position, bytes, ..
        } = self.stored[chunk];
        let rows = as_bytes_mut(rows);
        if bytes as usize == rows.len() {
            return spool.read(position, rows).map_err(ChunkError::Spool);
        }
        let packed = room(&mut self.packed, bytes as usize)?;
        spool.read(position, packed).map_err(ChunkError::Spool)?;
        self.unpack(bytes as usize, rows)
    }

    fn time_reading<P: Spool>(
        &mut self,
        chunk: usize,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        let Some(old) = self.stored.get(chunk) else {
            return Ok(());
        };
        let bytes = room(&mut self.packed, old.bytes as usize)?;
        let start = Instant::now();
        spool.read(old.position, bytes).map_err(ChunkError::Spool)?;
        self.pace.read(start.elapsed(), bytes.len());
        Ok(())
    }

    fn time_packing<E>(&mut self, rows: &[u8]) -> Result<(), ChunkError<E>> {
        if self.rounds.is_none() {
            self.choose_rounds(rows)?;
        }
        let mut again = Vec::new();
        let again = room(&mut again, rows.len())?;
        let start = Instant::now();
        let packed = self.pack(rows)?;
        let packing = start.elapsed();
        self.unpack(packed, again)?;
        let unpacking = start.elapsed() - packing;
        self.pace.packed(packing, unpacking, packed, rows.len());
        Ok(())
    }

    fn choose_rounds(&mut self, rows: &[u8]) -> Result<(), TryReserveError> {
        let mut smallest = usize::MAX;
        for rounds in ROUNDS {
            let before = self.rounds.replace(rounds);
            let packed = self.pack(rows)?;
            if packed < smallest {
                smallest = packed;
            } else {
                self.rounds = before;
            }
        }
        Ok(())
    }

    /// Compresses rows into the beginning of `packed` and gives the length there.
    fn pack(&mut self, rows: &[u8]) -> Result<usize, TryReserveError> {
        let rounds = self.rounds.unwrap_or(0);
        self.packing.pack(rows, rounds, &mut self.packed)
    }

    /// Unpacks the first `length` bytes of `packed` into `rows`.
    fn unpack<E>(&mut self, length: usize, rows: &mut [u8]) -> Result<(), ChunkError<E>> {
        let rounds = self.rounds.unwrap_or(0);
        match self.packing.unpack(&self.packed[..length], rounds, rows)? {
            true => Ok(()),
            false => Err(ChunkError::Corrupt),
        }
    }
}

/// The first `length` bytes of a buffer that grows as needed; what they hold does not matter.
fn room(buffer: &mut Vec<u8>, length: usize) -> Result<&mut [u8], TryReserveError> {
    if buffer.len() < length {
        buffer.try_reserve_exact(length - buffer.len())?;
        buffer.resize(length, 0);
    }
    Ok(&mut buffer[..length])
}

#[cfg(test)]
mod tests;
