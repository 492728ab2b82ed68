//! Checks an example and packs it into words.

use crate::rows::row::{write, write_compact, RowHead};
use crate::rows::source::{Example, RowError};
use crate::scaling::ScaleLearner;

/// Ordinals are 0..=u32::MAX - 2.
const MAX_ROWS: u64 = u32::MAX as u64 - 1;
/// Feature ids are below this, dense part included.
const MAX_FEATURES: u64 = u32::MAX as u64 - 1;

/// Checks everything about a row that does not need its packed form, and gives its length in words.
pub(super) fn check(example: &Example<'_>, ordinal: u64, dense: usize) -> Result<usize, RowError> {
    if ordinal >= MAX_ROWS {
        return Err(RowError::TooManyRows { limit: MAX_ROWS });
    }
    if example.dense.len() != dense {
        return Err(RowError::DenseLength {
            ordinal,
            expected: dense,
            found: example.dense.len(),
        });
    }
    check_indexes(example, ordinal)?;
    if !(example.cost > 0.0 && example.cost.is_finite()) {
        return Err(RowError::Cost {
            ordinal,
            cost: example.cost,
        });
    }
    if !(example.rows > 0.0 && example.rows.is_finite()) {
        return Err(RowError::Cost {
            ordinal,
            cost: example.rows as f32,
        });
    }
    for (&index, &value) in example.sparse_index.iter().zip(example.sparse_value) {
        if !value.is_finite() {
            let feature = u64::from(index) + dense as u64;
            return Err(RowError::NonFinite {
                ordinal,
                feature,
                value: f64::from(value),
            });
        }
    }
    if example.offset.is_some_and(|it| !it.is_finite()) {
        return Err(RowError::Offset { ordinal });
    }
    Ok(visited_words(example))
}

/// Words of a row whose entries are as they are.
pub(super) fn visited_words(example: &Example<'_>) -> usize {
    head(example, 0).row_words(example.dense.len(), example.sparse_index.len())
}

/// Checks that sparse indexes have a value each, ascend, and are not too large.
#[inline]
fn check_indexes(example: &Example<'_>, ordinal: u64) -> Result<(), RowError> {
    let (indexes, values) = (example.sparse_index.len(), example.sparse_value.len());
    if indexes != values {
        return Err(RowError::SparseLength {
            ordinal,
            indexes,
            values,
        });
    }
    let mut pairs = example.sparse_index.windows(2);
    if let Some(position) = pairs.position(|pair| pair[0] >= pair[1]) {
        return Err(RowError::SparseOrder {
            ordinal,
            position: position + 1,
        });
    }
    let last = example.sparse_index.last();
    match last.map(|last| u64::from(*last) + example.dense.len() as u64) {
        Some(feature) if feature >= MAX_FEATURES => {
            Err(RowError::FeatureTooLarge { ordinal, feature })
        }
        _ => Ok(()),
    }
}

/// Writes a checked row but for its dense part, which is given back to be filled.
pub(super) fn lay_out<'a>(
    example: &Example<'_>,
    ordinal: u64,
    out: &'a mut [u32],
) -> &'a mut [u32] {
    let offset = example.dense.len() as u32;
    let head = head(example, ordinal);
    let sparse = example
        .sparse_index
        .iter()
        .zip(example.sparse_value)
        .map(|(index, value)| (index + offset, *value));
    write(out, head, example.dense.len(), sparse)
}

fn head(example: &Example<'_>, ordinal: u64) -> RowHead {
    RowHead {
        ordinal: ordinal as u32,
        group: example.group,
        cost: example.cost,
        offset: example.offset,
    }
}

/// Packs a checked row into `out` while `learner` learns from it; with the short form of its entries, where there is one.
pub(super) fn encode(
    example: &Example<'_>,
    (ordinal, short): (u64, Option<&[u32]>),
    learner: &mut ScaleLearner,
    out: &mut [u32],
) -> Result<(), RowError> {
    let length = out.len();
    let dense = match short {
        None => lay_out(example, ordinal, out),
        Some(short) => {
            let head = head(example, ordinal);
            write_compact(out, head, example.dense.len(), short)
        }
    };
    if !learner.take_dense(example.dense, example.rows, dense) {
        let infinite =
            |bits: &u32| !f32::from_bits(*bits).is_finite() && !learner.is_missing(*bits);
        let feature = dense.iter().position(infinite).unwrap_or(0);
        return Err(RowError::NonFinite {
            ordinal,
            feature: feature as u64,
            value: example.dense[feature],
        });
    }
    learner
        .take_sparse(
            example.sparse_index,
            example.sparse_value,
            (example.rows, example.rounded),
        )
        .map_err(|_| RowError::OutOfMemory {
            bytes: 4 * length as u64,
        })
}
