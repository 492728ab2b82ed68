//! `svm_features(model)`: what was decided for each column of a model. Runs in any backend.

use crate::base::errors::OrRaise;
use crate::features::{Dictionary, FeaturePart, FeatureSet};
use crate::model;
use crate::pg::memory_ends::prepared;
use pgrx::prelude::*;
use pgsvm_core::memory::{all_of, owned, OutOfMemory};
use pgsvm_expand::numbers::How;

/// What a row of the listing says of a part of the features.
struct Listed {
    column: String,
    type_name: String,
    treatment: &'static str,
    /// None where the data tell as they come.
    features: Option<u64>,
    categories: Option<Vec<String>>,
    /// Words or values with features of their own.
    vocabulary: Option<u64>,
}

/// `svm_features(model)`: see sql/ for the columns.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn svm_features(
    model: &str,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(position, i32),
        name!(column_name, String),
        name!(type, String),
        name!(treatment, String),
        name!(features, Option<i64>),
        name!(categories, Option<Vec<String>>),
        name!(nulls, Option<i64>),
        name!(mean, Option<f64>),
        name!(vocabulary, Option<i64>),
        name!(collisions, Option<f64>),
    ),
> {
    let _prepared = prepared();
    let model = model::of_call(fcinfo, model).or_raise();
    let set = &model.features;
    let rows = set.parts.iter().zip(column_means(set)).enumerate();
    let rows = rows.map(|(at, (part, mean))| {
        let listed = list(part)?;
        Ok::<_, OutOfMemory>((
            at as i32 + 1,
            listed.column,
            listed.type_name,
            listed.treatment.to_owned(),
            listed.features.map(|count| count as i64),
            listed.categories,
            set.nulls.get(at).map(|count| *count as i64),
            mean,
            listed.vocabulary.map(|count| count as i64),
            part.collisions(),
        ))
    });
    TableIterator::new(all_of(rows).or_raise())
}

/// What stands for NULL in each part that is one number.
fn column_means(set: &FeatureSet) -> impl Iterator<Item = Option<f64>> + '_ {
    let mut next = 0;
    set.parts.iter().map(move |part| {
        let at = next;
        match part {
            FeaturePart::Column { .. } => {
                next += 1;
                set.means.get(at).copied()
            }
            FeaturePart::Array { length, .. } => {
                next += length.unwrap_or(0) as usize;
                None
            }
            _ => None,
        }
    })
}

fn list(part: &FeaturePart) -> Result<Listed, OutOfMemory> {
    let columns: Vec<_> = part.columns().collect();
    let dictionary = part.dictionary();
    let categories = dictionary.map(|known| all_of(known.values().map(owned)));
    Ok(Listed {
        column: columns.join(", "),
        type_name: match part {
            FeaturePart::Sparse {
                index_type,
                value_type,
                ..
            } => format!("{index_type}, {value_type}"),
            other => other.type_name().to_owned(),
        },
        treatment: treatment(part),
        features: match part {
            FeaturePart::Column { .. } => Some(1),
            FeaturePart::Array { length, .. } => length.map(u64::from),
            FeaturePart::Sparse {
                hash_bits: Some(bits),
                ..
            } => Some(1 << bits),
            FeaturePart::Products { hash_bits, .. } => Some(1 << hash_bits),
            // as many as the longest string has
            FeaturePart::Text { form, .. } if form.degree().is_some() => None,
            FeaturePart::Text { vocabulary, .. } => Some(vocabulary.len() as u64),
            _ => dictionary.map(Dictionary::len),
        },
        categories: categories.transpose()?,
        vocabulary: match part {
            FeaturePart::Text { form, .. } if form.degree().is_some() => None,
            FeaturePart::Text { vocabulary, .. } => Some(vocabulary.words().len() as u64),
            _ => dictionary.map(|known| known.values().count() as u64),
        },
    })
}

fn treatment(part: &FeaturePart) -> &'static str {
    match part {
        FeaturePart::Column {
            reading: Some(_),
            time,
            ..
        } => match time {
            true => "time in text",
            false => "number in text",
        },
        FeaturePart::Column { time: true, .. } => "time",
        FeaturePart::Column { .. } => "number",
        FeaturePart::Array {
            made: Some(made), ..
        } => match made.how {
            How::Log => "logarithm",
            How::Polynomial => "polynomial",
            How::Bucket => "buckets",
            How::Spline => "spline",
            How::Parts => "parts of a time",
            How::Product => "product",
        },
        FeaturePart::Array { .. } => "array",
        FeaturePart::Products { .. } => "hashed polynomial",
        FeaturePart::Sparse {
            hash_bits: Some(_), ..
        } => "hashed sparse",
        FeaturePart::Sparse { .. } | FeaturePart::Sparsevec { .. } => "sparse",
        FeaturePart::Libsvm { .. } => "libsvm",
        FeaturePart::Category { dictionary, .. } if dictionary.is_hashed() => "hashed category",
        FeaturePart::Category { .. } => "category",
        FeaturePart::Text { form, .. } if form.degree().is_some() => "weighted degree",
        FeaturePart::Text { vocabulary, .. } if vocabulary.is_hashed() => "hashed text",
        FeaturePart::Text { .. } => "text",
    }
}
