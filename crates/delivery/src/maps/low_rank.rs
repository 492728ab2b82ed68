//! Kernel machines of low rank: a source of the rows phi(x) made of another source's rows x (`pgsvm-kernels` has the
//! mathematics). Reader and trainer take them for what they are, dense rows of as many features as there are landmarks; so
//! every loss, head, fold, weight, search, schedule and certificate is what it is for other rows, also where phi(x) does not
//! fit the cache and streams.
//!
//! ```text
//! let asked = LowRankJob::new(KernelSpec::new(KernelKind::Rbf, None, 3, 0.0)?);        // None: gamma 'scale'
//! let asked = LowRankJob { rank: Some(490), ..asked };
//! let mapped = LowRankSource::new(source, spool, raw_job, asked, raw_cache_bytes)?;    // raw_job: scaling, missing values …
//! let reader = Reader::new(cache, raw_job.of_scaled_rows(), mapped, another_spool)?;
//! ... both roles as ever ...
//! let source = reader.source();          // &LowRankSource
//! source.map()                           // Some(&LowRank) once rows come: rank(), left_out(), kernel(), landmarks(), fold()
//! source.raw_report()                    // Some(&ReaderReport) of the rows x: their scaling, means, features
//! source.inner()                         // the source given, for what it learned itself
//! source.progress()                      // what it is at, before the first row comes
//! ```
//!
//! Which process: the one that reads. Where another one stores the model, [`LowRank::into_factor`] of `take_map` is what to
//! send; it is serde's.
//!
//! # The way of a row
//!
//! 1. The inner source's rows go through a reader of their own into a cache of their own, and to a spool where they do not fit
//!    it; so scaling, means and row lengths are what they are for linear machines.
//! 2. The stored rows are read once: a random sample is taken, and gamma 'scale' learned of all values.
//! 3. Landmarks are chosen of the sample.
//! 4. The stored rows are read again in the order in which they were read: blocks of them are mapped and delivered,
//!    with their groups and costs. So ordinals are those of the table's rows. Then the raw rows are given up.
//!
//! Where rows are kept (`keeps_rows`), 2 to 4 can be had again with another kernel ([`LowRankSource::map_anew`]): the table is
//! read once for a whole grid of gammas.
//!
//! Until 4 `fetch` delivers nothing and says that there is more; each call takes some ten milliseconds.
//!
//! # Memory
//!
//! The raw rows' cache until they have been mapped, the sample with its factor and the map (up to `memory_bytes`, unless a rank
//! that is given takes more; of the map 12 bytes for each pair of landmarks stay), kernel values and phi of 256 rows.

mod head;
mod mapping;
mod norms;
pub mod proof;
mod sampling;
pub mod scanned;
pub mod search;

use std::fmt;

use pgsvm_kernels::{KernelError, KernelSpec, LowRank, Pivots};

use crate::base::memory::OutOfMemory;
use crate::cache::{Cache, CacheError};
use crate::maps::low_rank::mapping::{Mapping, BLOCK};
use crate::maps::low_rank::sampling::Sampling;
use crate::maps::stored::{GoError, Polled, Stored};
use crate::reader::{Beyond, ReadError, Reader, ReaderJob, ReaderReport};
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError, Source, Spool};

/// Raw rows that are looked at or read in a call of `fetch`.
const LOOKED_AT: usize = 4096;

/// What landmarks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandmarkChoice {
    /// Rows, each the one of which the others say least.
    Pivots,
    /// Rows, drawn with chances in proportion to what the others do not say of them.
    Drawn,
    /// Rows, drawn with equal chances.
    Uniform,
    /// Means of rows.
    Centres,
}

/// What map is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowRankJob {
    pub kernel: KernelSpec,
    /// Where the kernel has no gamma of its own: so many times gamma 'scale'.
    pub scale_times: f64,
    pub landmarks: LandmarkChoice,
    /// None: the square root of the number of rows, or as many more as `work` allows, or less where memory allows no more.
    pub rank: Option<usize>,
    /// Multiplications of mapping that landmarks beyond the square root may take, where `rank` does not say how many there are.
    pub work: f64,
    /// How many there are at most by what `work` says.
    pub most: usize,
    /// The part of the trace below which no more landmarks are taken.
    pub tolerance: f64,
    /// Of the sample.
    pub seed: u64,
    /// Rows of the sample for each landmark, and at least, of as many as there are.
    pub sample_times: usize,
    pub least_sample: usize,
    /// For the sample, its factor and the map.
    pub memory_bytes: usize,
    /// Whether the raw rows are kept when they have been mapped, to be read again.
    pub keeps_rows: bool,
}

impl LowRankJob {
    pub const DEFAULT_TOLERANCE: f64 = 1e-6;
    /// More rows than these give no better landmarks.
    pub const SAMPLE_TIMES: usize = 4;
    pub const LEAST_SAMPLE: usize = 2000;
    pub const DEFAULT_MEMORY: usize = 256 << 20;

    /// With pivots for landmarks.
    pub fn new(kernel: KernelSpec) -> Self {
        Self {
            kernel,
            scale_times: 1.0,
            landmarks: LandmarkChoice::Pivots,
            rank: None,
            work: 0.0,
            most: usize::MAX,
            tolerance: Self::DEFAULT_TOLERANCE,
            seed: 0,
            sample_times: Self::SAMPLE_TIMES,
            least_sample: Self::LEAST_SAMPLE,
            memory_bytes: Self::DEFAULT_MEMORY,
            keeps_rows: false,
        }
    }
}

/// What it is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowRankProgress {
    /// Rows are read; so many have been.
    Reading {
        rows: u64,
    },
    /// A sample is taken; so many rows have been looked at.
    Sampling {
        rows: u64,
    },
    /// So many landmarks have been chosen.
    Choosing {
        landmarks: usize,
    },
    /// Rows are mapped and delivered; so many have been.
    Mapping {
        rows: u64,
    },
    Done,
}

/// Why no mapped rows come.
#[derive(Debug, PartialEq)]
pub enum LowRankError<S, P> {
    /// The rows cannot be read.
    Read(ReadError<S, P>),
    /// They cannot be mapped.
    Kernel(KernelError),
    /// A mapped row was not taken.
    Row(RowError),
}

impl<S, P> From<RowError> for LowRankError<S, P> {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

impl<S, P> From<KernelError> for LowRankError<S, P> {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error)
    }
}

impl<S, P> From<OutOfMemory> for LowRankError<S, P> {
    fn from(error: OutOfMemory) -> Self {
        Self::Kernel(error.into())
    }
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for LowRankError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Kernel(error) => error.fmt(f),
            Self::Row(error) => error.fmt(f),
        }
    }
}

impl<S: fmt::Debug + fmt::Display, P: fmt::Debug + fmt::Display> std::error::Error
    for LowRankError<S, P>
{
}

/// The source of mapped rows: see the head of this file.
pub struct LowRankSource<S: Source, P: Spool> {
    job: LowRankJob,
    inner: Inner<S, P>,
    stage: MapStage,
    map: Option<LowRank>,
    /// The gamma of the kernel that landmarks were to be chosen for last.
    gamma: Option<f64>,
    positive: usize,
    /// Whether balancing is in the costs of the raw rows: with two classes, or by examples.
    is_balanced: bool,
}

enum Inner<S: Source, P: Spool> {
    Reading(Box<Reader<S, P>>),
    /// The raw rows have been given up.
    Read(S, Box<ReaderReport>),
    /// Something has failed.
    Gone,
}

enum MapStage {
    /// The inner source's rows are read.
    Reading(crate::cache::Waiting),
    Sampling(Stored, Box<Sampling>),
    Choosing(Stored, Box<Pivots>),
    Mapping(Stored, Box<Mapping>),
    /// All rows have been delivered, and are kept.
    Kept(Stored),
    Done,
}

impl<S: Source, P: Spool> LowRankSource<S, P> {
    /// `job`: what the rows of `source` are read with; its schedule is that of the mapped rows.
    /// `cache_bytes`: for the raw rows, until they are mapped.
    pub fn new(
        source: S,
        spool: P,
        job: ReaderJob,
        asked: LowRankJob,
        cache_bytes: usize,
    ) -> Result<Self, CacheError> {
        let cache = Cache::in_memory(cache_bytes)?;
        let job = ReaderJob {
            beyond: Beyond::Streams,
            ..job
        };
        let mut reader = Reader::new(cache.clone(), job, source, spool)?;
        reader.keep_order();
        Ok(Self {
            job: asked,
            inner: Inner::Reading(Box::new(reader)),
            stage: MapStage::Reading(cache.claim_trainer()?),
            map: None,
            gamma: None,
            positive: 1,
            is_balanced: false,
        })
    }

    /// The map, once landmarks are chosen.
    pub fn map(&self) -> Option<&LowRank> {
        self.map.as_ref()
    }

    /// The gamma of the kernel, once a sample has been taken, where it has one: also of a kernel that these rows cannot have.
    pub fn gamma(&self) -> Option<f64> {
        self.gamma
    }

    /// The same, to be taken over when all rows have been delivered.
    pub fn take_map(&mut self) -> Option<LowRank> {
        self.map.take()
    }

    /// Gives back a map that was taken over.
    pub fn put_map(&mut self, map: LowRank) {
        self.map = Some(map);
    }

    /// The source whose rows are mapped; None after an error.
    pub fn inner(&self) -> Option<&S> {
        match &self.inner {
            Inner::Reading(reader) => Some(reader.source()),
            Inner::Read(source, _) => Some(source),
            Inner::Gone => None,
        }
    }

    /// The same, to take over what it learned.
    pub fn inner_mut(&mut self) -> Option<&mut S> {
        match &mut self.inner {
            Inner::Reading(reader) => Some(reader.source_mut()),
            Inner::Read(source, _) => Some(source),
            Inner::Gone => None,
        }
    }

    /// What was seen of the raw rows, once all have been delivered.
    pub fn raw_report(&self) -> Option<&ReaderReport> {
        match &self.inner {
            Inner::Read(_, report) => Some(report),
            Inner::Reading(_) | Inner::Gone => None,
        }
    }

    /// The same, once they have been read; None after an error.
    pub fn seen(&self) -> Result<Option<ReaderReport>, OutOfMemory> {
        match &self.inner {
            Inner::Reading(reader) => reader.report().map(Some),
            Inner::Read(_, report) => report.copied().map(Some),
            Inner::Gone => Ok(None),
        }
    }

    /// The source given, the map and what was seen of the raw rows, when all have been delivered.
    pub fn into_parts(self) -> Option<(S, LowRank, ReaderReport)> {
        match (self.inner, self.map) {
            (Inner::Read(source, report), Some(map)) => Some((source, map, *report)),
            _ => None,
        }
    }

    pub fn progress(&self) -> LowRankProgress {
        match (&self.stage, &self.inner) {
            (MapStage::Reading(_), Inner::Reading(reader)) => LowRankProgress::Reading {
                rows: reader.rows(),
            },
            (MapStage::Reading(_), _) => LowRankProgress::Sampling { rows: 0 },
            (MapStage::Sampling(_, sampling), _) => LowRankProgress::Sampling {
                rows: sampling.looked_at,
            },
            (MapStage::Choosing(_, pivots), _) => LowRankProgress::Choosing {
                landmarks: pivots.taken(),
            },
            (MapStage::Mapping(_, mapping), _) => LowRankProgress::Mapping {
                rows: mapping.mapped_rows,
            },
            (MapStage::Kept(_) | MapStage::Done, _) => LowRankProgress::Done,
        }
    }

    /// Reads up to `most` of the raw rows that are kept, in their order; true behind the last one, after which it begins
    /// again. All rows must have been delivered.
    pub fn go_over(
        &mut self,
        most: usize,
        look: impl FnMut(Row<'_>) -> Result<(), OutOfMemory>,
    ) -> Result<bool, LowRankError<S::Error, P::Error>> {
        match (&mut self.stage, &mut self.inner) {
            (MapStage::Kept(stored), Inner::Reading(reader)) => {
                stored.go_on(reader, most, look).map_err(low_rank_error)
            }
            // there were none
            _ => Ok(true),
        }
    }

    /// Has the raw rows that are kept mapped once more, by another map, and delivered to another reader. All rows must have been
    /// delivered before, unless they could not have the kernel; the map so far is given up.
    pub fn map_anew(&mut self, asked: LowRankJob) -> Result<(), KernelError> {
        self.stage = match std::mem::replace(&mut self.stage, MapStage::Done) {
            MapStage::Kept(stored) => {
                self.map = None;
                let sampling = Sampling::new(&asked, &stored.facts)?;
                MapStage::Sampling(stored, Box::new(sampling))
            }
            // there were none
            other => other,
        };
        self.job = asked;
        Ok(())
    }

    /// How many landmarks such a map would have at most; None where rows are not kept.
    pub fn rank_of(&self, asked: &LowRankJob) -> Option<usize> {
        match &self.stage {
            MapStage::Kept(stored) => Sampling::new(asked, &stored.facts).ok().map(|it| it.rank()),
            _ => None,
        }
    }

    /// What is known of the raw rows; None where they are not kept.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.stage {
            MapStage::Kept(stored) => Some(&stored.facts),
            _ => None,
        }
    }

    /// Gives up the raw rows that are kept.
    pub fn give_up_rows(&mut self) -> Result<(), OutOfMemory> {
        if matches!(self.stage, MapStage::Kept(_)) {
            self.give_up()?;
        }
        Ok(())
    }

    /// Reads, looks, chooses or maps some more. False when all has been delivered.
    fn step(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, LowRankError<S::Error, P::Error>> {
        let Inner::Reading(reader) = &mut self.inner else {
            return Ok(false);
        };
        self.stage = match std::mem::replace(&mut self.stage, MapStage::Done) {
            MapStage::Reading(waiting) => {
                reader.step(LOOKED_AT).map_err(LowRankError::Read)?;
                match Stored::poll(waiting) {
                    Polled::Waiting(waiting) => MapStage::Reading(waiting),
                    Polled::Failed => return Err(LowRankError::Read(ReadError::TrainerFailed)),
                    Polled::Stored(stored) => {
                        self.positive = reader.source().positive();
                        self.is_balanced = stored.facts.weighed == 0;
                        match stored.facts.rows {
                            0 => return self.end(),
                            _ => {
                                let sampling = Sampling::new(&self.job, &stored.facts)?;
                                MapStage::Sampling(stored, Box::new(sampling))
                            }
                        }
                    }
                }
            }
            MapStage::Sampling(mut stored, mut sampling) => {
                let looked = stored.go_on(reader, LOOKED_AT, |row| sampling.look(&row));
                match looked.map_err(low_rank_error)? {
                    false => MapStage::Sampling(stored, sampling),
                    true => self.choose(stored, *sampling)?,
                }
            }
            MapStage::Choosing(stored, mut pivots) => match pivots.step() {
                Err(error) => return Err(self.refuse(stored, error)),
                Ok(false) => MapStage::Choosing(stored, pivots),
                Ok(true) => self.begin_to_map(stored, *pivots)?,
            },
            MapStage::Mapping(mut stored, mut mapping) => {
                let Some(map) = &self.map else {
                    return Ok(false);
                };
                mapping.clear();
                let most = rows.clamp(1, BLOCK);
                let taken = stored.go_on(reader, most, |row| mapping.take(&row));
                let last = taken.map_err(low_rank_error)?;
                mapping.deliver(map, sink)?;
                if let (true, Some(map), Some(left_out)) = (last, &mut self.map, mapping.left_out())
                {
                    map.found_left_out(left_out);
                }
                match last {
                    false => MapStage::Mapping(stored, mapping),
                    true if self.job.keeps_rows => {
                        self.stage = MapStage::Kept(stored);
                        return Ok(false);
                    }
                    true => return self.end(),
                }
            }
            MapStage::Kept(stored) => {
                self.stage = MapStage::Kept(stored);
                return Ok(false);
            }
            MapStage::Done => return Ok(false),
        };
        Ok(true)
    }

    /// Begins to choose landmarks of the sample.
    fn choose(
        &mut self,
        stored: Stored,
        sampling: Sampling,
    ) -> Result<MapStage, LowRankError<S::Error, P::Error>> {
        let kernel = sampling.kernel(&self.job, &stored.facts)?;
        self.gamma = kernel.gamma();
        match sampling.finish(kernel, &self.job) {
            Ok(pivots) => Ok(MapStage::Choosing(stored, Box::new(pivots))),
            Err(error) => Err(self.refuse(stored, error)),
        }
    }

    /// Begins to map the rows, with the landmarks chosen.
    fn begin_to_map(
        &mut self,
        stored: Stored,
        pivots: Pivots,
    ) -> Result<MapStage, LowRankError<S::Error, P::Error>> {
        match pivots.finish().and_then(LowRank::new) {
            Err(error) => Err(self.refuse(stored, error)),
            Ok(map) => {
                let mapping = Mapping::new(&map, &stored.facts)?;
                self.map = Some(map);
                Ok(MapStage::Mapping(stored, Box::new(mapping)))
            }
        }
    }

    /// The rows cannot have this kernel. They are kept for another one, where they were to be.
    fn refuse(&mut self, stored: Stored, error: KernelError) -> LowRankError<S::Error, P::Error> {
        if self.job.keeps_rows {
            self.stage = MapStage::Kept(stored);
        }
        error.into()
    }

    /// All rows have been delivered: the raw ones are given up.
    fn end(&mut self) -> Result<bool, LowRankError<S::Error, P::Error>> {
        self.give_up()?;
        Ok(false)
    }

    fn give_up(&mut self) -> Result<(), OutOfMemory> {
        self.stage = MapStage::Done;
        if let Inner::Reading(reader) = std::mem::replace(&mut self.inner, Inner::Gone) {
            let report = Box::new(reader.report()?);
            self.inner = Inner::Read(reader.into_source(), report);
        }
        Ok(())
    }
}

impl<S: Source, P: Spool> Source for LowRankSource<S, P> {
    type Error = LowRankError<S::Error, P::Error>;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, Self::Error> {
        self.step(rows, sink)
    }

    fn positive(&self) -> usize {
        self.positive
    }

    fn is_balanced(&self) -> bool {
        self.is_balanced
    }
}

fn low_rank_error<S, P>(error: GoError<S, P, OutOfMemory>) -> LowRankError<S, P> {
    match error {
        GoError::Read(error) => LowRankError::Read(error),
        GoError::Look(error) => error.into(),
    }
}
