//! The reader role (skeleton).

use crate::{Cache, CacheError, RowError, Scale, Scaling, Source, Spool, Step};
use serde::{Deserialize, Serialize};

/// What the reader is to do with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReaderJob {
    pub scale: Scale,
    /// Seed of the chunk order of each pass.
    pub seed: u64,
}

/// What the reader saw in pass 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReaderReport {
    pub rows: u64,
    /// Bytes of encoded rows.
    pub bytes: u64,
    pub dense_features: u64,
    /// Largest feature id + 1, dense part included.
    pub features: u64,
    pub scaling: Scaling,
    /// Rows of each class id.
    pub class_counts: Vec<u64>,
    /// Whether every row fitted the cache.
    pub resident: bool,
    pub spool_bytes: u64,
}

/// Why reading ended early.
#[derive(Debug)]
pub enum ReadError<S, P> {
    /// The source failed, or passed on a complaint about a row.
    Source(S),
    /// A row cannot be taken, found out after the source delivered it.
    Row(RowError),
    /// The spool failed.
    Spool(P),
}

/// The reader role: see the crate's head.
pub struct Reader<S: Source, P: Spool> {
    _cache: Cache,
    _job: ReaderJob,
    _source: S,
    _spool: P,
}

impl<S: Source, P: Spool> Reader<S, P> {
    /// Claims the reader's side of `cache`.
    pub fn new(cache: Cache, job: ReaderJob, source: S, spool: P) -> Result<Self, CacheError> {
        Ok(Self {
            _cache: cache,
            _job: job,
            _source: source,
            _spool: spool,
        })
    }
    /// Reads, or hands over, about `budget_rows` rows.
    pub fn step(&mut self, _budget_rows: usize) -> Result<Step, ReadError<S::Error, P::Error>> {
        todo!()
    }
    /// The source, for what it learned itself.
    pub fn source(&self) -> &S {
        &self._source
    }
    /// What was seen in pass 1; complete once the phase is no longer loading.
    pub fn report(&self) -> ReaderReport {
        todo!()
    }
}
