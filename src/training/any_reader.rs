//! The pure crate's reader of a source's rows: of the rows as they are, or, for a kernel machine, of what its map makes of
//! them. Errors of either as PostgreSQL's.

use crate::base::errors::Failure;
use crate::features::Nulls;
use crate::planning::job::{Job, ReaderOutcome};
use crate::reading::rows::RowSource;
use crate::training::failures::{mapped_failure, read_failure};
use crate::training::spool::SpoolFile;
use pgsvm_core::engine::ThrottledSpool;
use pgsvm_core::{
    Cache, CacheError, LandmarkChoice, LowRankSource, OutOfMemory, Reader, ReaderJob, ReaderReport,
    Scaling, Step,
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
        let reads = ReaderJob {
            scale: job.scale,
            seed: job.terms.seed,
            policy: job.terms.policy,
            blocks: job.terms.blocks,
            spooling: job.terms.spooling,
            stride: job.plan.stride(),
            balance: job.balance,
            impute: job.nulls == Nulls::Mean,
            unit_rows: job.unit_rows,
        };
        let file = || ThrottledSpool::new(SpoolFile::default(), job.spool_rate);
        Ok(match job.low_rank() {
            None => Self::Rows(Box::new(Reader::new(cache, reads, source, file())?)),
            Some(asked) => {
                let bytes = job.source_cache_bytes();
                let mapped = LowRankSource::new(source, file(), reads, asked, bytes)?;
                let reader = Reader::new(cache, reads.of_scaled_rows(), mapped, file())?;
                Self::Mapped(Box::new(reader), asked.landmarks)
            }
        })
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

/// What a reader leaves behind that has seen this of the source's rows.
pub fn outcome(source: &RowSource, report: ReaderReport) -> Result<ReaderOutcome, OutOfMemory> {
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
        key_chunks: source.key_chunks().len() as u64,
        versions: source.versions().map(|versions| versions.len() as u64),
    })
}
