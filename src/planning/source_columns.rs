//! The columns of a training's source, looked at before anything is read: whether those that are named are there and can be what
//! they are to be, and which ones are features where none are named.

use crate::base::errors::{Code, Failure};
use crate::base::near;
use crate::base::text::listed;
use crate::catalog::identifiers;
use crate::features::{self, FeatureError, FeatureSet};
use crate::keys::chunks::KeyKind;
use crate::pg::query::Column;
use crate::pg::types::{type_kind, type_name, TypeKind};
use crate::request::source::Source;
use crate::request::Request;
use crate::targets::labels::LabelKind;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, Room};
use std::collections::HashSet;
use std::iter::repeat;

/// What the columns of a source turned out to be.
pub struct Checked {
    pub label_type: pg_sys::Oid,
    pub label_kind: LabelKind,
    pub key: Option<KeyKind>,
    pub features: FeatureSet,
    pub left_out: LeftOut,
}

/// Looks at the columns of a source; says all at once what is wrong with them.
pub fn check(request: &Request, source: &Source) -> Result<Checked, Failure> {
    let columns = source.columns()?;
    let (names, mut complaints) = (&columns, Vec::new());
    let mut check = |found: Result<(), Failure>| complaints.extend(found.err());
    check(named("label", &request.label, names).map(|_| ()));
    if let Some(name) = &request.key {
        check(
            named("key", name, names)
                .and_then(KeyKind::of_column)
                .map(|_| ()),
        );
    }
    if let Some(name) = &request.weight_column {
        check(named("weight", name, names).and_then(check_weight));
    }
    if let Some(name) = &request.fold_column {
        check(named("fold", name, names).map(|_| ()));
    }
    if let Some(name) = &request.fold_order {
        check(named("fold order", name, names).map(|_| ()));
    }
    let resolved = resolve_features(request, names);
    let resolved = resolved.map_err(|failure| complaints.push(failure));
    if let Some(failure) = Failure::join(complaints) {
        return Err(failure);
    }
    let label = named("label", &request.label, names)?;
    let key = match &request.key {
        Some(name) => Some(KeyKind::of_column(named("key", name, names)?)?),
        None => None,
    };
    let (features, left_out) = resolved.unwrap_or_default();
    Ok(Checked {
        label_type: label.type_oid,
        label_kind: LabelKind::of_type(&label.name, label.type_oid)?,
        key,
        features,
        left_out,
    })
}

/// Columns of a source that are no features though nobody said so.
#[derive(Clone, Default)]
pub struct LeftOut {
    /// Because of their types.
    pub by_type: Vec<String>,
    /// Identifiers, with what makes each of them one.
    pub identifiers: Vec<String>,
}

/// The features: those named, or else all columns but what says weight, fold and key, identifiers and those excluded.
fn resolve_features(
    request: &Request,
    columns: &[Column],
) -> Result<(FeatureSet, LeftOut), Failure> {
    check_excluded(&request.exclude, columns)?;
    if request.features.is_some() {
        let (set, _) = features::resolve(request.features.as_deref(), columns, &request.label)
            .map_err(|error| without_identifiers(error, columns))?;
        let mut excluded = set
            .columns()
            .into_iter()
            .filter(|name| request.exclude.iter().any(|it| it == name));
        return match excluded.next() {
            None => Ok((set, LeftOut::default())),
            Some(name) => Err(FeatureError::Excluded {
                column: name.to_owned(),
            }
            .into()),
        };
    }
    let folds = [&request.fold_column, &request.fold_order];
    let aside = [&request.weight_column, &request.key]
        .into_iter()
        .chain(folds);
    let aside = aside.flatten().chain(&request.exclude);
    let aside: HashSet<&str> = aside
        .map(String::as_str)
        .chain([request.label.as_str()])
        .collect();
    let candidates = columns.iter();
    let candidates = candidates.filter(|column| !aside.contains(column.name.as_str()));
    let candidates = gathered(candidates.cloned())?;
    let mut left_out = LeftOut::default();
    let mut usable = Vec::new();
    usable.room(candidates.len())?;
    for (column, reason) in candidates.iter().zip(identifiers::reasons(&candidates)?) {
        match reason {
            Some(reason) => left_out
                .identifiers
                .push(format!("{} ({reason})", column.name)),
            None => usable.push(column.clone()),
        }
    }
    match features::resolve(None, &usable, &request.label) {
        Ok((set, skipped)) => {
            left_out.by_type = skipped.into_iter().map(|column| column.name).collect();
            Ok((set, left_out))
        }
        Err(FeatureError::Nothing)
            if !(left_out.identifiers.is_empty() && request.exclude.is_empty()) =>
        {
            let excluded = request
                .exclude
                .iter()
                .map(|name| format!("{name} (exclude)"));
            let columns = left_out.identifiers.into_iter().chain(excluded).collect();
            Err(FeatureError::AllLeftOut { columns }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Unknown columns that one error names.
const MOST_UNKNOWN: usize = 10;

/// Refuses names in `exclude` that no column has.
fn check_excluded(exclude: &[String], columns: &[Column]) -> Result<(), Failure> {
    let mut known = HashSet::new();
    let names = columns.iter().map(|column| column.name.as_str());
    known.room(names.len())?.extend(names);
    let mut unknown = exclude.iter().filter(|name| !known.contains(name.as_str()));
    let first = unknown.by_ref().take(MOST_UNKNOWN);
    let failures = first.filter_map(|name| named("excluded", name, columns).err());
    let Some(failure) = Failure::join(failures) else {
        return Ok(());
    };
    Err(match unknown.count() {
        0 => failure,
        more => Failure {
            message: format!("{}; and {more} more", failure.message),
            ..failure
        },
    })
}

/// The columns that do not just tell the rows of their table apart.
fn but_identifiers(columns: &[Column]) -> Vec<Column> {
    let reasons = identifiers::reasons(columns).unwrap_or_default();
    let reasons = reasons.into_iter().chain(repeat(None));
    let named = columns.iter().zip(reasons);
    let offered = named.filter(|(_, reason)| reason.is_none());
    offered.map(|(column, _)| column.clone()).collect()
}

/// What is wrong with the features, without keys among the names that may have been meant.
fn without_identifiers(error: FeatureError, columns: &[Column]) -> FeatureError {
    match error {
        FeatureError::MissingColumn { column, mut near } => {
            let offered = but_identifiers(columns);
            near.retain(|name| offered.iter().any(|column| column.name == *name));
            FeatureError::MissingColumn { column, near }
        }
        FeatureError::Several(all) => FeatureError::Several(
            all.into_iter()
                .map(|error| without_identifiers(error, columns))
                .collect(),
        ),
        other => other,
    }
}

/// The column of this name, which is to be this.
pub fn named<'a>(role: &str, name: &str, columns: &'a [Column]) -> Result<&'a Column, Failure> {
    columns
        .iter()
        .find(|column| column.name == name)
        .ok_or_else(|| {
            // who looks for a feature or a label is not told of keys
            let offered = match role {
                "key" => columns.to_vec(),
                _ => but_identifiers(columns),
            };
            let known = || offered.iter().map(|column| column.name.as_str());
            let failure = Failure::new(
                Code::ERRCODE_UNDEFINED_COLUMN,
                format!("{role} column \"{name}\" does not exist"),
            );
            match near::hint(&near::names(name, known())) {
                Some(hint) => failure.hint(hint),
                None if offered.is_empty() => failure,
                None => {
                    let known: Vec<_> = known().collect();
                    failure.hint(format!("The source has the columns {}", listed(&known)))
                }
            }
        })
}

fn check_weight(column: &Column) -> Result<(), Failure> {
    match type_kind(column.type_oid) {
        TypeKind::Number(_) if column.type_oid != pg_sys::BOOLOID => Ok(()),
        _ => Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "weight column \"{}\" has type {}, not a number",
                column.name,
                type_name(column.type_oid, column.typmod)
            ),
        )
        .hint("weight => 'column' names a column that says how much each row counts")),
    }
}
