//! `svm_features(model)`: what was decided for each column of a model. Runs in any backend.

use crate::base::errors::OrRaise;
use crate::features::{FeaturePart, FeatureSet};
use crate::model;
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
    ),
> {
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
    let listed = |column: &str, type_name: &str, treatment, features| Listed {
        column: column.to_owned(),
        type_name: type_name.to_owned(),
        treatment,
        features,
        categories: None,
    };
    Ok(match part {
        FeaturePart::Column {
            name,
            type_name,
            time,
        } => {
            let treatment = if *time { "time" } else { "number" };
            listed(name, type_name, treatment, Some(1))
        }
        FeaturePart::Array {
            name,
            type_name,
            length,
        } => listed(name, type_name, "array", length.map(u64::from)),
        FeaturePart::Sparse {
            index,
            index_type,
            value,
            value_type,
        } => listed(
            &format!("{index}, {value}"),
            &format!("{index_type}, {value_type}"),
            "sparse",
            None,
        ),
        FeaturePart::Libsvm { name, type_name } => listed(name, type_name, "libsvm", None),
        FeaturePart::Sparsevec { name, type_name } => listed(name, type_name, "sparse", None),
        FeaturePart::Category {
            name,
            type_name,
            dictionary,
            ..
        } => {
            let treatment = match dictionary.is_hashed() {
                true => "hashed category",
                false => "category",
            };
            Listed {
                categories: Some(all_of(dictionary.values().map(owned))?),
                ..listed(name, type_name, treatment, Some(dictionary.len()))
            }
        }
    })
}
