//! The map of a training by scans. Landmarks are chosen from the sample that a survey has taken; gamma 'scale' is the sample's.
//!
//! Memory: the sample, its factor, and the mapped sample within the bytes that the caller gives.

use pgsvm_kernels::{KernelError, LowRank, Pivots};

use crate::maps::low_rank::mapping::Mapping;
use crate::maps::low_rank::sampling::Sampling;
use crate::maps::low_rank::LowRankJob;
use crate::reader::{Balance, ReaderJob, Survey, Surveyed};
use crate::rows::batch::Batch;
use crate::rows::facts::{Facts, Rounding};
use crate::rows::source::RowError;

/// Landmarks on their way.
pub struct MapSearch {
    surveyed: Surveyed,
    pivots: Pivots,
    gamma: Option<f64>,
    job: ReaderJob,
    sample_bytes: usize,
}

/// A map, and the rows that it makes of those that were surveyed.
pub struct SampledMap {
    pub map: LowRank,
    /// Its sample are the mapped rows of the sample before, as many as fit.
    pub mapped: Surveyed,
    /// What all rows are like that are mapped.
    pub raw: Surveyed,
    pub gamma: Option<f64>,
}

impl MapSearch {
    /// As asked, of rows surveyed with `job`; `sample_bytes`: for the mapped sample.
    pub fn new(
        asked: &LowRankJob,
        job: ReaderJob,
        surveyed: Surveyed,
        sample_bytes: usize,
    ) -> Result<Self, KernelError> {
        let rows = surveyed.sample_rows();
        let here = Facts {
            rows,
            ..surveyed.facts
        };
        let mut sampling = Sampling::of_some(asked, &surveyed.facts, rows)?;
        for row in Batch::new(&surveyed.sample, here.dense) {
            sampling.look(&row)?;
        }
        let kernel = sampling.kernel(asked, &here)?;
        Ok(Self {
            gamma: kernel.gamma(),
            pivots: sampling.finish(kernel, asked)?,
            surveyed,
            job,
            sample_bytes,
        })
    }

    /// Chooses on; true at the end.
    pub fn step(&mut self) -> Result<bool, KernelError> {
        self.pivots.step()
    }

    /// Landmarks so far.
    pub fn landmarks(&self) -> usize {
        self.pivots.taken()
    }

    /// The map, and what rows it makes.
    pub fn finish(self) -> Result<SampledMap, KernelError> {
        let mut map = LowRank::wide(self.pivots.finish()?)?;
        let mut raw = self.surveyed;
        let words = std::mem::take(&mut raw.sample);
        let rows = || Batch::new(&words, raw.facts.dense);
        // costs are balanced already
        let job = ReaderJob {
            balance: Balance::None,
            ..self.job.of_scaled_rows()
        };
        let mut survey = Survey::new(&job, self.sample_bytes);
        let facts = Facts {
            rows: rows().count(),
            ..raw.facts
        };
        let mut mapping = Mapping::new(&map, &facts)?;
        let mut rows = rows().peekable();
        while let Some(row) = rows.next() {
            mapping.take(&row)?;
            if mapping.is_full() || rows.peek().is_none() {
                let delivered = mapping.deliver(&map, &mut |example| survey.take(example));
                delivered.map_err(refused)?;
                mapping.clear();
            }
        }
        if let Some(left_out) = mapping.left_out() {
            map.found_left_out(left_out);
        }
        let mut mapped = survey.finish(&[], raw.facts.positive)?;
        // the sample may have been without some class, and is but a part of the rows
        mapped.facts = Facts {
            rows: raw.facts.rows,
            dense: map.rank(),
            features: map.rank(),
            occurring: map.rank(),
            max_row_words: mapped.facts.max_row_words,
            mean_row_words: mapped.facts.mean_row_words,
            stored_row_words: mapped.facts.mean_row_words,
            mean_q: mapped.facts.mean_q,
            // of rows that a wide map makes, each value is right to the last of its 32 bits; whatever that changes counts
            rounding: Rounding {
                dense: 1.0,
                ..Rounding::default()
            },
            ..raw.facts
        };
        mapped.form.take_groups(&raw.form);
        mapped
            .report
            .group_counts
            .clone_from(&raw.report.group_counts);
        std::mem::swap(&mut mapped.positive_weights, &mut raw.positive_weights);
        Ok(SampledMap {
            map,
            mapped,
            raw,
            gamma: self.gamma,
        })
    }
}

/// Of mapped rows only memory can be wrong, or values that are not finite.
fn refused(error: RowError) -> KernelError {
    match error {
        RowError::OutOfMemory { bytes } => KernelError::OutOfMemory { bytes },
        RowError::Kernel { ordinal } => KernelError::NotFinite {
            row: ordinal as usize,
        },
        _ => KernelError::Zero,
    }
}
