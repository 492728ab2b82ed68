//! `svm_features(model)`: what was decided for each column of a model. Runs in any backend.

use crate::base::errors::OrRaise;
use crate::features::{FeaturePart, FeatureSet};
use crate::model;
use crate::pg::memory_ends::prepared;
use pgrx::prelude::*;
use pgsvm_core::memory::{all_of, owned, OutOfMemory};

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
    set.dense_places().map(move |(part, places)| {
        let mean = set.means.get(places.start).copied();
        mean.filter(|_| part.is_column())
    })
}

fn list(part: &FeaturePart) -> Result<Listed, OutOfMemory> {
    let columns: Vec<_> = part.columns().collect();
    let dictionary = part.dictionary();
    let categories = dictionary.map(|known| all_of(known.values().map(owned)));
    Ok(Listed {
        column: columns.join(", "),
        type_name: part.types(),
        treatment: part.treatment(),
        features: part.count(),
        categories: categories.transpose()?,
        vocabulary: part.known_values(),
    })
}
