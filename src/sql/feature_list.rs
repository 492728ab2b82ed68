//! `svm_features(model)`: what was decided for each column of a model. Runs in any backend.

use crate::base::errors::OrRaise;
use crate::features::FeatureSet;
use crate::model;
use crate::pg::memory_ends::prepared;
use pgrx::prelude::*;
use pgsvm_core::memory::{all_of, owned, OutOfMemory};

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
        let columns: Vec<_> = part.columns().collect();
        let categories = part.dictionary();
        let categories = categories.map(|known| all_of(known.values().map(owned)));
        Ok::<_, OutOfMemory>((
            at as i32 + 1,
            columns.join(", "),
            part.types(),
            part.treatment().to_owned(),
            part.count().map(|count| count as i64),
            categories.transpose()?,
            set.nulls.get(at).map(|count| *count as i64),
            mean,
            part.known_values().map(|count| count as i64),
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
