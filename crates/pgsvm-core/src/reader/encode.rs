//! Checks an example and packs it into words, dense values relative to a provisional centre.

use crate::row::{row_words, write, RowHead};
use crate::source::{Example, RowError};

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
    let (indexes, values) = (example.sparse_index.len(), example.sparse_value.len());
    if indexes != values {
        return Err(RowError::SparseLength {
            ordinal,
            indexes,
            values,
        });
    }
    if let Some(position) = example
        .sparse_index
        .windows(2)
        .position(|pair| pair[0] >= pair[1])
    {
        return Err(RowError::SparseOrder {
            ordinal,
            position: position + 1,
        });
    }
    if let Some(&last) = example.sparse_index.last() {
        let feature = u64::from(last) + dense as u64;
        if feature >= MAX_FEATURES {
            return Err(RowError::FeatureTooLarge { ordinal, feature });
        }
    }
    if !(example.cost > 0.0 && example.cost.is_finite()) {
        return Err(RowError::Cost {
            ordinal,
            cost: example.cost,
        });
    }
    for (feature, &value) in example.dense.iter().enumerate() {
        if !value.is_finite() {
            return Err(RowError::NonFinite {
                ordinal,
                feature: feature as u64,
                value,
            });
        }
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
    Ok(row_words(dense, indexes))
}

/// Packs a checked row into `out`. `centre`: subtracted from the dense part; empty means nothing.
pub(super) fn encode(
    example: &Example<'_>,
    ordinal: u64,
    centre: &[f64],
    out: &mut [u32],
) -> Result<(), RowError> {
    let offset = example.dense.len() as u32;
    let head = RowHead {
        ordinal: ordinal as u32,
        class: example.class,
        cost: example.cost,
    };
    let sparse = example
        .sparse_index
        .iter()
        .zip(example.sparse_value)
        .map(|(index, value)| (index + offset, *value));
    if centre.is_empty() {
        write(out, head, example.dense.iter().map(|x| *x as f32), sparse);
    } else {
        write(
            out,
            head,
            example
                .dense
                .iter()
                .zip(centre)
                .map(|(x, centre)| (x - centre) as f32),
            sparse,
        );
    }
    let dense = crate::row::Row::new(out, example.dense.len()).dense();
    match dense.iter().position(|x| !x.is_finite()) {
        Some(feature) => Err(RowError::NonFinite {
            ordinal,
            feature: feature as u64,
            value: example.dense[feature],
        }),
        None => Ok(()),
    }
}
