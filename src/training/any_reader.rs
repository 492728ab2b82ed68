//! The pure crate's reader of a source's rows: of the rows as they are, or, for a kernel machine, of what its map makes of
//! them. Errors of either as PostgreSQL's.

use crate::base::errors::Failure;
use crate::features::Nulls;
use crate::planning::job::{Job, ReaderOutcome};
use crate::reading::rows::RowSource;
use crate::training::failures::{cache_failure, is_of_rows, mapped_failure, read_failure};
use crate::training::spool::SpoolFile;
use crate::training::strings;
use pgsvm_core::engine::ThrottledSpool;
use pgsvm_core::kernels::KernelError;
use pgsvm_core::{
    Beyond, Cache, CacheError, LandmarkChoice, LowRankError, LowRankJob, LowRankProgress,
    LowRankSource, OutOfMemory, ReadError, Reader, ReaderJob, ReaderReport, Scaling, Step,
};

type File = ThrottledSpool<SpoolFile>;
/// Rows that a map makes of a source's.
pub type MappedRows = LowRankSource<RowSource, File>;

/// A reader of rows, mapped or not.
pub enum AnyReader {
    Rows(Box<Reader<RowSource, File>>),
    Mapped(Box<Reader<MappedRows, File>>, LandmarkChoice),
}

impl AnyReader {
    /// Reads `source` as `job` says into `cache`; an error where the cache cannot be laid out.
    pub fn new(cache: Cache, job: &Job, source: RowSource) -> Result<Self, CacheError> {
        let reads = reads(job);
        Ok(match job.kernel.as_ref().and_then(|it| it.maps.first()) {
            None => Self::Rows(Box::new(Reader::new(cache, reads, source, file(job))?)),
            Some(map) => {
                let (asked, bytes) = (job.asked(map), job.source_cache_bytes());
                let mapped = LowRankSource::new(source, file(job), reads, asked, bytes)?;
                Self::of_mapped(cache, job, mapped, map.landmarks)?
            }
        })
    }

    fn of_mapped(
        cache: Cache,
        job: &Job,
        mapped: MappedRows,
        landmarks: LandmarkChoice,
    ) -> Result<Self, CacheError> {
        let reads = reads(job).of_scaled_rows();
        let reader = Reader::new(cache, reads, mapped, file(job))?;
        Ok(Self::Mapped(Box::new(reader), landmarks))
    }

    /// Reads the rows that were kept once more, as this map makes them, into a cache that `fresh` gives when nobody
    /// uses the one before.
    pub fn mapped_anew(
        self,
        fresh: &dyn Fn() -> Cache,
        job: &Job,
        map: &LowRankJob,
    ) -> Result<(Self, Cache), Failure> {
        let Self::Mapped(reader, landmarks) = self else {
            unreachable!("gammas are those of kernel machines")
        };
        let mut source = reader.into_source();
        source.map_anew(job.asked(map))?;
        let cache = fresh();
        let reader = Self::of_mapped(cache.clone(), job, source, landmarks);
        Ok((reader.map_err(cache_failure)?, cache))
    }

    /// How far a kernel machine's rows are that nobody has trained on yet.
    pub fn map_progress(&self) -> Option<LowRankProgress> {
        match self {
            Self::Rows(_) => None,
            Self::Mapped(reader, _) => Some(reader.source().progress()),
        }
    }

    /// Has rows scaled by this and by nothing that is learned.
    pub fn keep_scaling(&mut self, scaling: Scaling) {
        if let Self::Rows(reader) = self {
            reader.keep_scaling(scaling);
        }
    }

    /// Reads on.
    pub fn step(&mut self, rows: usize, cache_bytes: usize) -> Result<Step, Failure> {
        match self {
            Self::Rows(reader) => reader
                .step(rows)
                .map_err(|error| read_failure(error, cache_bytes)),
            Self::Mapped(reader, _) => reader
                .step(rows)
                .map_err(|error| mapped_failure(error, cache_bytes)),
        }
    }

    /// The same; the outer error is one of a kernel that these rows cannot have, behind which they may be mapped anew.
    pub fn step_of_grid(
        &mut self,
        rows: usize,
        cache_bytes: usize,
    ) -> Result<Result<Step, Failure>, KernelError> {
        let Self::Mapped(reader, _) = self else {
            return Ok(self.step(rows, cache_bytes));
        };
        match reader.step(rows) {
            Err(ReadError::Source(LowRankError::Kernel(error))) if is_of_rows(&error) => Err(error),
            other => Ok(other.map_err(|error| mapped_failure(error, cache_bytes))),
        }
    }

    /// The rows as the source has them.
    pub fn source(&self) -> &RowSource {
        match self {
            Self::Rows(reader) => reader.source(),
            Self::Mapped(reader, _) => match reader.source().inner() {
                Some(source) => source,
                None => unreachable!("an error has ended the training"),
            },
        }
    }

    /// The same, to take over what it learned.
    pub fn source_mut(&mut self) -> &mut RowSource {
        match self {
            Self::Rows(reader) => reader.source_mut(),
            Self::Mapped(reader, _) => match reader.source_mut().inner_mut() {
                Some(source) => source,
                None => unreachable!("an error has ended the training"),
            },
        }
    }

    /// What was seen of the source's rows; complete once all were read.
    pub fn report(&self) -> Result<ReaderReport, OutOfMemory> {
        match self {
            Self::Rows(reader) => reader.report(),
            Self::Mapped(reader, _) => match reader.source().raw_report() {
                Some(report) => report.copied(),
                None => reader.report(),
            },
        }
    }

    /// The rows as a map makes them, and what its landmarks are; None where there is no map.
    pub fn mapped(&mut self) -> Option<(&mut MappedRows, LandmarkChoice)> {
        match self {
            Self::Rows(_) => None,
            Self::Mapped(reader, chosen) => Some((reader.source_mut(), *chosen)),
        }
    }
}

/// What the pure reader is asked.
pub fn reads(job: &Job) -> ReaderJob {
    ReaderJob {
        scale: job.scale,
        seed: job.terms.parameters.seed,
        beyond: Beyond::of(job.terms.solver()),
        compression: job.terms.compression,
        stride: job.plan.stride(),
        balance: job.balance(),
        impute: job.rows.nulls == Nulls::Mean,
        unit_rows: job.rows.unit_rows,
        as_they_come: true,
        looks: job.looks.telltales,
        expansion: strings::kept_as(job),
        targets: job.terms.targets,
        epsilon: None,
    }
}

fn file(job: &Job) -> File {
    ThrottledSpool::new(SpoolFile::default(), job.resources.spool_rate)
}

/// What a reader leaves behind that has seen this of the source's rows.
pub fn outcome(source: &RowSource, report: ReaderReport) -> Result<ReaderOutcome, OutOfMemory> {
    let telltales = source.telltales(&report.alone, report.rows)?;
    let (features, dropped) = source.features(&report)?;
    let dense = report.dense_features;
    let mut report = report.with_imprecise(source.imprecise().map(|id| dense + u64::from(id)));
    report.features -= dropped.len() as u64;
    for id in &mut report.imprecise {
        *id -= dropped.partition_point(|gone| gone < id) as u64;
    }
    Ok(ReaderOutcome {
        features,
        dropped,
        report,
        classes: source.classes()?,
        fold_values: source.fold_values(),
        rows_skipped: source.rows_skipped(),
        rows_unlabelled: source.rows_unlabelled(),
        bad_rows: source.bad_rows(),
        telltales,
        key_chunks: source.key_chunks().len() as u64,
        versions: source.versions().map(|versions| versions.len() as u64),
    })
}
