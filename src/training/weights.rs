//! Weights, and dual variables, on their way into a model, in the leader. The scaling is folded into
//! the weights, so that a prediction takes raw rows; both are cut into chunks in which zeros cost
//! nothing. Memory that grows with the model is asked for fallibly: a refusal is an ERROR.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::keys::chunks::{StateChunk, StateChunks};
use crate::pg::check_for_interrupts;
use crate::planning::job::{Job, ReaderOutcome};
use pgsvm_core::kernels::Rows as LandmarkRows;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::Scaling;

/// A millisecond of folding.
pub const FEATURES_BETWEEN_INTERRUPTS: usize = 1 << 16;
/// Features a chunk spans: 128 KB of weights at most.
const CHUNK_FEATURES: usize = 16384;

/// Weights of consecutive features, as one row of `svm_weight` holds them.
pub struct WeightChunk {
    pub first_feature: i64,
    /// Offsets of the weights from `first_feature`; None when there is one for each feature.
    pub offsets: Option<Vec<i32>>,
    pub weights: Vec<f64>,
}

/// A model's weights for raw rows; all-zero chunks are absent.
pub struct StoredWeights {
    pub chunks: Vec<WeightChunk>,
    pub intercept: f64,
    pub features: u64,
}

/// Takes weights for scaled rows, feature after feature.
pub struct WeightFolding<'a> {
    /// None where weights stay for scaled rows.
    scaling: Option<&'a Scaling>,
    /// Features without a weight, ascending.
    dropped: &'a [u64],
    /// Features taken, those without a weight among them.
    taken: usize,
    /// Weights of the current chunk.
    pending: Vec<f64>,
    stored: StoredWeights,
}

impl<'a> WeightFolding<'a> {
    /// Of a training; `intercept` belongs to the scaled rows.
    pub fn of(job: &Job, reader: &'a ReaderOutcome, intercept: f64) -> Self {
        Self {
            dropped: &reader.dropped,
            scaling: (!job.rows.unit_rows).then_some(&reader.report.scaling),
            ..Self::new(&reader.report.scaling, intercept)
        }
    }

    /// Of factors that stay as they are.
    pub fn of_factors(intercept: f64) -> Self {
        Self::with(None, intercept)
    }

    /// `intercept` belongs to the scaled rows.
    pub fn new(scaling: &'a Scaling, intercept: f64) -> Self {
        Self::with(Some(scaling), intercept)
    }

    fn with(scaling: Option<&'a Scaling>, intercept: f64) -> Self {
        Self {
            scaling,
            dropped: &[],
            taken: 0,
            pending: with_room(CHUNK_FEATURES),
            stored: StoredWeights {
                chunks: Vec::new(),
                intercept,
                features: 0,
            },
        }
    }

    /// Takes the next feature's weight.
    pub fn push(&mut self, scaled: f64) {
        let feature = self.taken;
        self.taken += 1;
        if !self.dropped.is_empty() && self.dropped.binary_search(&(feature as u64)).is_ok() {
            return;
        }
        let (weight, shift) = match self.scaling {
            Some(scaling) => scaling.fold_weight(feature, scaled),
            None => (scaled, 0.0),
        };
        self.stored.intercept -= shift;
        self.stored.features += 1;
        self.pending.push(weight);
        if self.pending.len() == CHUNK_FEATURES {
            self.close_chunk();
        }
    }

    /// Takes the weights in a message of native-endian f64, and says how many there were.
    pub fn extend(&mut self, message: &[u8]) -> usize {
        let (weights, _) = message.as_chunks();
        weights
            .iter()
            .for_each(|bytes| self.push(f64::from_ne_bytes(*bytes)));
        weights.len()
    }

    /// All weights, in chunks.
    pub fn finish(mut self) -> StoredWeights {
        self.close_chunk();
        self.stored
    }

    fn close_chunk(&mut self) {
        let first_feature = self.stored.features as i64 - self.pending.len() as i64;
        let nonzero = self.pending.iter().filter(|weight| **weight != 0.0).count();
        if nonzero * 2 >= self.pending.len() && nonzero > 0 {
            let mut weights = with_room(self.pending.len());
            weights.extend_from_slice(&self.pending);
            self.stored.chunks.room(1).or_raise().push(WeightChunk {
                first_feature,
                offsets: None,
                weights,
            });
        } else if nonzero > 0 {
            let (mut offsets, mut weights) = (with_room(nonzero), with_room(nonzero));
            for (offset, weight) in (0..).zip(&self.pending) {
                if *weight != 0.0 {
                    offsets.push(offset);
                    weights.push(*weight);
                }
            }
            self.stored.chunks.room(1).or_raise().push(WeightChunk {
                first_feature,
                offsets: Some(offsets),
                weights,
            });
        }
        self.pending.clear();
    }
}

/// Factors of products with landmarks, added up.
pub fn hyperplane(
    job: &Job,
    read: &ReaderOutcome,
    landmarks: &LandmarkRows,
    (factors, intercept): (&[f64], f64),
) -> StoredWeights {
    let features = (read.report.features as usize) + read.dropped.len();
    let sums = landmarks.combined(factors, features).or_raise();
    let mut weights = WeightFolding::of(job, read, intercept);
    for (feature, sum) in sums.iter().take(features).enumerate() {
        if feature % FEATURES_BETWEEN_INTERRUPTS == 0 {
            check_for_interrupts();
        }
        weights.push(*sum);
    }
    weights.finish()
}

/// An empty vector with room for `count` items; an ERROR when the system has not that much memory.
pub fn with_room<T>(count: usize) -> Vec<T> {
    let mut items = Vec::new();
    if items.try_reserve_exact(count).is_err() {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            "out of memory for the weights of the model",
        )
        .raise()
    }
    items
}

impl StoredWeights {
    /// All of them so many times, the intercept too.
    pub fn multiply(&mut self, times: f64) {
        let chunks = self.chunks.iter_mut();
        chunks
            .flat_map(|chunk| &mut chunk.weights)
            .for_each(|weight| *weight *= times);
        self.intercept *= times;
    }

    /// Of features by number, ascending; the others have none.
    pub fn of_entries(entries: &[(u32, f64)], features: u64) -> Result<Self, OutOfMemory> {
        let mut chunks: Vec<WeightChunk> = Vec::new();
        let span = CHUNK_FEATURES as u32;
        for (feature, weight) in entries.iter().filter(|(_, weight)| *weight != 0.0) {
            let first = i64::from(feature - feature % span);
            if chunks
                .last()
                .is_none_or(|chunk| chunk.first_feature != first)
            {
                chunks.room(1)?.push(WeightChunk {
                    first_feature: first,
                    offsets: Some(Vec::new()),
                    weights: Vec::new(),
                });
            }
            if let Some(WeightChunk {
                offsets: Some(offsets),
                weights,
                ..
            }) = chunks.last_mut()
            {
                offsets.room(1)?.push((feature % span) as i32);
                weights.room(1)?.push(*weight);
            }
        }
        Ok(Self {
            chunks,
            intercept: 0.0,
            features,
        })
    }

    /// Exchanges the classes: the decision changes its sign.
    pub fn flip(&mut self) {
        self.intercept = -self.intercept;
        for weight in self.chunks.iter_mut().flat_map(|chunk| &mut chunk.weights) {
            *weight = -*weight;
        }
    }
}

/// The dual variables of a head, in the forms in which the training is to store them. Of a regression one a row: that of its upper side
/// less that of its lower one, which is the β of Ho and Lin (JMLR 13, 2012), (5). So rows times what is stored are the weights of a regression
/// as of classes.
pub struct KeptDuals {
    /// Of a regression the lower side's, until the upper one's comes; None of classes.
    lower: Option<Option<f32>>,
    /// What those that are listed are multiplied by: certificates of Huber's loss are of labels in parts of their deviation, training is of
    /// those in parts of delta.
    times: f32,
    listed: Option<DualChunks>,
    by_key: Option<StateChunks>,
}

impl KeptDuals {
    pub fn new(job: &Job) -> Self {
        Self {
            lower: job.terms.targets.is_some().then_some(None),
            times: (job.terms.targets)
                .and_then(|it| it.delta)
                .map_or(1.0, |delta| delta as f32),
            listed: job.terms.keep_duals.then(DualChunks::default),
            by_key: job
                .statement
                .columns
                .key
                .is_some()
                .then(StateChunks::default),
        }
    }

    /// Takes the dual variable of the next row, or of the next side of a regression's row.
    pub fn push(&mut self, dual: f32) {
        let dual = match &mut self.lower {
            None => dual,
            Some(lower) => match lower.take() {
                Some(lower) => dual - lower,
                None => {
                    *lower = Some(dual);
                    return;
                }
            },
        };
        if let Some(listed) = &mut self.listed {
            listed.push(dual * self.times);
        }
        if let Some(by_key) = &mut self.by_key {
            by_key.push(dual).or_raise();
        }
    }

    /// Takes the dual variables in a message of native-endian f32, and says how many there were.
    pub fn extend(&mut self, message: &[u8]) -> usize {
        let (duals, _) = message.as_chunks();
        duals
            .iter()
            .for_each(|bytes| self.push(f32::from_ne_bytes(*bytes)));
        duals.len()
    }

    /// As rows of svm_dual.
    pub fn listed(&self) -> &[DualChunk] {
        self.listed.as_ref().map_or(&[], DualChunks::chunks)
    }

    /// How many rows of svm_key_dual there will be.
    pub fn by_key_count(&self) -> usize {
        self.by_key.as_ref().map_or(0, StateChunks::count)
    }

    /// As rows of svm_key_dual.
    pub fn by_key(&mut self) -> Vec<StateChunk> {
        self.by_key
            .take()
            .map_or_else(Vec::new, |chunks| chunks.finish().or_raise())
    }
}

/// Dual variables of consecutive rows that are not all zero, as one row of `svm_dual` holds them.
pub struct DualChunk {
    pub first_row: i64,
    /// Offsets from `first_row` of the rows whose dual variable is not 0.
    pub offsets: Vec<i32>,
    pub duals: Vec<f32>,
}

/// Rows a chunk of dual variables spans.
const CHUNK_ROWS: usize = 16384;

/// Takes dual variables row after row and keeps those that are not zero.
#[derive(Default)]
pub struct DualChunks {
    chunks: Vec<DualChunk>,
    rows: usize,
}

impl DualChunks {
    /// Takes the next row's dual variable.
    pub fn push(&mut self, dual: f32) {
        let row = self.rows;
        self.rows += 1;
        if dual == 0.0 {
            return;
        }
        let first_row = (row - row % CHUNK_ROWS) as i64;
        if self
            .chunks
            .last()
            .is_none_or(|chunk| chunk.first_row != first_row)
        {
            self.chunks.room(1).or_raise().push(DualChunk {
                first_row,
                offsets: Vec::new(),
                duals: Vec::new(),
            });
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let offset = (row % CHUNK_ROWS) as i32;
            chunk.offsets.room(1).or_raise().push(offset);
            chunk.duals.room(1).or_raise().push(dual);
        }
    }

    /// The chunks taken.
    pub fn chunks(&self) -> &[DualChunk] {
        &self.chunks
    }
}
