//! The shared region (skeleton).

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the region is in use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum Phase {
    /// Pass 1: the reader fills the arena.
    Loading = 0,
    /// Every row is in the arena, which the trainer owns.
    Resident = 1,
    /// Rows arrive through the ring, pass after pass.
    Streaming = 2,
    /// The trainer has finished.
    Finished = 3,
    /// A role has given up with an error.
    Failed = 4,
}

/// Sizes of a region, worked out before it is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLayout {
    pub(crate) cache_bytes: usize,
}

/// Why a region cannot be laid out or claimed.
#[derive(Debug, Clone, PartialEq)]
pub enum CacheError {
    /// Fewer bytes than the smallest region that works.
    TooSmall { cache_bytes: u64, minimum: u64 },
    /// More bytes than row offsets can address.
    TooLarge { cache_bytes: u64, maximum: u64 },
    /// Memory for a private region could not be had.
    OutOfMemory { bytes: u64 },
    /// Another reader or trainer holds this role already.
    RoleTaken { role: &'static str },
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall {
                cache_bytes,
                minimum,
            } => {
                write!(
                    f,
                    "a cache of {cache_bytes} bytes is too small, at least {minimum} are needed"
                )
            }
            Self::TooLarge {
                cache_bytes,
                maximum,
            } => {
                write!(
                    f,
                    "a cache of {cache_bytes} bytes is too large, at most {maximum} can be used"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory while asking for {bytes} bytes")
            }
            Self::RoleTaken { role } => write!(f, "the cache has a {role} already"),
        }
    }
}

impl std::error::Error for CacheError {}

impl CacheLayout {
    /// The layout of a cache of `cache_bytes` (rows and ring together).
    pub fn for_bytes(cache_bytes: usize) -> Result<Self, CacheError> {
        Ok(Self { cache_bytes })
    }
    /// Bytes to allocate: the cache and its control block.
    pub fn total_bytes(&self) -> usize {
        self.cache_bytes + 4096
    }
}

/// A snapshot of the counters, for progress reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    pub phase: Phase,
    /// Rows taken from the source so far.
    pub rows_loaded: u64,
    /// Bytes of encoded rows taken from the source so far.
    pub bytes_loaded: u64,
    /// Rows in all; 0 while loading.
    pub rows: u64,
    /// Full passes the trainer has begun, verification included.
    pub pass: u32,
    /// Rows of the pass already visited.
    pub rows_into_pass: u64,
    /// The smallest relative gap known, NaN before the first.
    pub gap: f64,
    pub visits: u64,
    pub updates: u64,
    /// Rows dropped from the working set as uninformative.
    pub evictions: u64,
    /// Rows dropped from the working set to make room.
    pub replaced: u64,
    pub working_set_rows: u64,
}

/// A handle on the region; cheap to clone.
#[derive(Clone)]
pub struct Cache {
    _base: *mut u8,
}

// SAFETY: skeleton, replaced by the real handle.
unsafe impl Send for Cache {}

impl Cache {
    /// Initializes a region.
    ///
    /// # Safety
    /// `base` points to `layout.total_bytes()` bytes that live as long as every handle and that
    /// nobody else uses; no handle is attached to them yet.
    pub unsafe fn create(base: *mut u8, _layout: &CacheLayout) -> Cache {
        Cache { _base: base }
    }
    /// Attaches to a region that [`Cache::create`] has initialized, perhaps in another process.
    ///
    /// # Safety
    /// `base` is the same region (mapped at any address), initialized before this call, alive as
    /// long as every handle.
    pub unsafe fn attach(base: *mut u8) -> Cache {
        Cache { _base: base }
    }
    /// A region in private memory, freed with the last handle.
    pub fn in_memory(_cache_bytes: usize) -> Result<Cache, CacheError> {
        todo!()
    }
    /// Asks both roles to end at their next step.
    pub fn request_stop(&self) {
        todo!()
    }
    /// The counters now. Any process may ask; the fields are read one by one.
    pub fn statistics(&self) -> Statistics {
        todo!()
    }
}
