//! What grows with features or rows becomes rows of the tables, a chunk each: weights, dual variables, keys and margin slacks.

use crate::base::errors::OrRaise;
use crate::keys::chunks::{KeyChunk, CHUNK_ROWS};
use crate::model::text::TextChunk;
use crate::pg::kept_statement::KeptStatement;
use crate::pg::{check_for_interrupts, transactions};
use crate::storing::together::{RowsOfVersion, StoredRow};
use crate::training::outcome::{Trained, TrainedHead};
use crate::training::weights::{StoredWeights, WeightChunk};
use crate::warm_start::screening::RowSlacks;
use pgrx::datum::DatumWithOid;
use pgrx::spi::SpiError;
use pgsvm_core::kernels::Rows as LandmarkRows;
use pgsvm_core::memory::{gathered, Room};

/// Stores all of these that a training has.
pub fn insert_all(schema: &str, version_id: i64, trained: &mut Trained) -> Result<(), SpiError> {
    let weights = trained.heads.iter().map(|head| &head.weights);
    insert_weights(schema, version_id, weights)?;
    for (number, head) in (0..).zip(&mut trained.heads) {
        insert_duals(schema, version_id, number, head)?;
        insert_states(schema, version_id, number, head)?;
    }
    if let Some(landmarks) = &trained.landmarks {
        insert_landmarks(schema, version_id, landmarks)?;
    }
    insert_keys(schema, version_id, &trained.keys)?;
    match &trained.slacks {
        Some(slacks) => insert_slacks(schema, version_id, slacks),
        None => Ok(()),
    }
}

/// Stores the weights of all heads in their order.
pub fn insert_weights<'a>(
    schema: &str,
    version_id: i64,
    heads: impl Iterator<Item = &'a StoredWeights>,
) -> Result<(), SpiError> {
    let mut chunks = RowsOfVersion::of(schema, version_id);
    for (number, head) in (0..).zip(heads) {
        for chunk in &head.chunks {
            chunks.put((number, chunk))?;
        }
    }
    chunks.finish()
}

impl StoredRow for (i32, &WeightChunk) {
    const TABLE: &'static str = WEIGHT_TABLE;
    const COLUMNS: &'static [&'static str] = WEIGHT_COLUMNS;

    fn values(&self) -> Vec<DatumWithOid<'_>> {
        let (number, chunk) = self;
        vec![
            (*number).into(),
            chunk.first_feature.into(),
            chunk.offsets.as_deref().into(),
            chunk.weights.as_slice().into(),
        ]
    }

    fn bytes(&self) -> usize {
        chunk_bytes(self.1.weights.len())
    }
}

/// A chunk of weights as a model's text has it.
impl StoredRow for TextChunk {
    const TABLE: &'static str = WEIGHT_TABLE;
    const COLUMNS: &'static [&'static str] = WEIGHT_COLUMNS;

    fn values(&self) -> Vec<DatumWithOid<'_>> {
        vec![
            self.head.into(),
            self.first.into(),
            self.features.as_deref().into(),
            self.weights.as_slice().into(),
        ]
    }

    fn bytes(&self) -> usize {
        chunk_bytes(self.weights.len())
    }
}

const WEIGHT_TABLE: &str = "svm_weight";
const WEIGHT_COLUMNS: &[&str] = &["head", "first_feature", "features", "weights"];

/// Bytes of so many weights and the features they are of.
fn chunk_bytes(weights: usize) -> usize {
    weights * (size_of::<f64>() + size_of::<i32>())
}

fn insert_duals(
    schema: &str,
    version_id: i64,
    number: i32,
    head: &TrainedHead,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_dual (version_id, head, first_row, rows, duals)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for chunk in head.duals.listed() {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                number.into(),
                chunk.first_row.into(),
                chunk.offsets.as_slice().into(),
                chunk.duals.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

/// Inserts the dual variables of a training with a key.
fn insert_states(
    schema: &str,
    version_id: i64,
    number: i32,
    head: &mut TrainedHead,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key_dual (version_id, head, first_row, states, common, duals)
         VALUES ($1, $2, $3, $4, $5, $6)"
    );
    for chunk in head.duals.by_key() {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                number.into(),
                chunk.first_row.into(),
                chunk.states.into(),
                chunk.common.into(),
                chunk.duals.into(),
            ]
        })?;
    }
    Ok(())
}

/// Stores the landmarks of a kernel machine.
pub fn insert_landmarks(
    schema: &str,
    version_id: i64,
    landmarks: &LandmarkRows,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_landmark (version_id, landmark, dense, sparse_index, sparse_value)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for landmark in 0..landmarks.len() {
        let entries = landmarks.sparse(landmark).iter();
        let index = gathered(entries.clone().map(|[feature, _]| i64::from(*feature))).or_raise();
        let value = gathered(entries.map(|[_, bits]| f32::from_bits(*bits))).or_raise();
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                (landmark as i32).into(),
                landmarks.dense(landmark).into(),
                index.as_slice().into(),
                value.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

fn insert_keys(schema: &str, version_id: i64, keys: &[KeyChunk]) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key (version_id, first_row, rows, keys, digests)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for chunk in keys {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                chunk.first_row.into(),
                chunk.rows.into(),
                chunk.keys.as_slice().into(),
                chunk.digests.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

fn insert_slacks(schema: &str, version_id: i64, slacks: &RowSlacks) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key_scaling (version_id, as_of, dense, centre, factor, sparse_factor)
         VALUES ($1, $2, $3, $4, $5, $6)"
    );
    let scaling = &slacks.scaling;
    insert_chunk(&insert, || {
        vec![
            version_id.into(),
            (transactions::current() as i64).into(),
            (scaling.dense as i32).into(),
            scaling.centre.as_slice().into(),
            scaling.factor.as_slice().into(),
            scaling.sparse_factor.as_slice().into(),
        ]
    })?;
    let insert = format!(
        "INSERT INTO {schema}.svm_key_metric (version_id, class, centre, spread, constant)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for (class, metric) in &slacks.metrics {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                class.as_str().into(),
                metric.centre.as_slice().into(),
                metric.spread.as_slice().into(),
                metric.constant.into(),
            ]
        })?;
    }
    let insert = format!(
        "INSERT INTO {schema}.svm_key_leeway (version_id, first_row, versions, leeways)
         VALUES ($1, $2, $3, $4)"
    );
    let chunks = slacks.versions.chunks(CHUNK_ROWS);
    for (chunk, (versions, codes)) in chunks.zip(slacks.codes.chunks(CHUNK_ROWS)).enumerate() {
        insert_chunk(&insert, || {
            let mut bytes = Vec::new();
            let room = bytes.room(size_of_val(versions)).or_raise();
            room.extend(versions.iter().flat_map(|it| it.to_le_bytes()));
            vec![
                version_id.into(),
                ((chunk * CHUNK_ROWS) as i64).into(),
                bytes.into(),
                codes.into(),
            ]
        })?;
    }
    Ok(())
}

/// Inserts one row in an SPI connection of its own, whose end frees what its values took.
fn insert_chunk<'a>(
    insert: &str,
    values: impl FnOnce() -> Vec<DatumWithOid<'a>>,
) -> Result<(), SpiError> {
    check_for_interrupts();
    KeptStatement(insert).run(&values())
}
