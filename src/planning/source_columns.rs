//! The columns of a training's source, looked at before anything is read: whether those that are named are there and can be what
//! they are to be, and which ones are features where none are named.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::base::text::listed;
use crate::catalog::giveaways::{self, LABEL_IS_MADE_OF_IT};
use crate::catalog::identifiers;
use crate::features::{self, FeatureError, FeatureSet};
use crate::keys::chunks::KeyKind;
use crate::pg::query::Column;
use crate::pg::types::{type_kind, type_name, NumberKind, TypeKind};
use crate::planning::feature_hints::{
    computed_label, keyed_by_several, labelled_above_median, labelled_as_text, labelled_by_another,
    AskedFeatures,
};
use crate::request::source::GivenSource;
use crate::request::Request;
use crate::targets::labels::LabelKind;
use pgrx::pg_sys;
use pgrx::spi::quote_identifier;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use std::collections::{HashMap, HashSet};
use std::iter::repeat;

/// What the columns of a source turned out to be.
pub struct CheckedColumns {
    pub label_type: pg_sys::Oid,
    pub label_kind: LabelKind,
    /// What trains on classes made of the label, as [`LabelColumn`](crate::targets::labels::LabelColumn) has it.
    pub classed: String,
    pub key: Option<KeyKind>,
    pub features: FeatureSet,
    pub left_out: LeftOutColumns,
}

/// Looks at the columns of a source; says all at once what is wrong with them.
pub fn check(request: &Request, source: &GivenSource) -> Result<CheckedColumns, Failure> {
    let columns = source.columns()?;
    let mut complaints = complaints(request, source, &columns);
    let resolved = resolve_features(request, source, &columns);
    let resolved = resolved.map_err(|failure| complaints.push(failure));
    if let Some(failure) = Failure::join(complaints) {
        return Err(failure);
    }
    let key = match &request.columns.key {
        Some(name) => Some(KeyKind::of_column(named("key", name, &columns)?)?),
        None => None,
    };
    let (mut features, left_out) = resolved.unwrap_or_default();
    features.weigh_sublinearly(request.texts.sublinear);
    if request.terms.nu.is_some() {
        return Ok(CheckedColumns {
            label_type: pg_sys::TEXTOID,
            label_kind: LabelKind::OneClass,
            classed: String::new(),
            key,
            features,
            left_out,
        });
    }
    let label = named("label", &request.columns.label, &columns)?;
    let label_kind = LabelKind::of_type(&label.name, label.type_oid).map_err(|failure| {
        let is_amount = matches!(type_kind(label.type_oid), TypeKind::Number(_));
        let (why, converted) = match is_amount {
            true => (
                Some(above_median(label)),
                labelled_above_median(request, source, &columns),
            ),
            false => (
                failure.hint.as_ref().map(|hint| format!("{hint}.")),
                labelled_as_text(request, source, &columns),
            ),
        };
        let hint = why.into_iter().chain(converted);
        failure.hint(hint.collect::<Vec<_>>().join(" "))
    })?;
    if request.terms.targets.is_some() && !label_kind.is_number() {
        return Err(no_number(label));
    }
    Ok(CheckedColumns {
        label_type: label.type_oid,
        label_kind,
        classed: labelled_by_another(request, source, &columns),
        key,
        features,
        left_out,
    })
}

/// What to do with a label that is an amount of no type that labels have: make a number of it, or two classes.
fn above_median(label: &Column) -> String {
    let name = quote_identifier(&label.name);
    let number = match type_kind(label.type_oid) {
        TypeKind::Number(NumberKind::Money(_)) => format!("{name}::numeric"),
        _ => format!("extract(epoch FROM {name})"),
    };
    format!("To predict a number, have a query with {number} AS the label, and task => 'regression'. Or predict whether it is above a threshold, here the median.")
}

/// A regression predicts numbers.
fn no_number(label: &Column) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!("label column \"{}\" holds no numbers", label.name),
    )
    .detail("A regression predicts a number: smallint, integer, bigint, real, double precision or numeric.")
    .hint("Leave out task, epsilon and losses of a regression: each value is a class. Or make numbers of them in a query: svm_train_query('SELECT … AS label FROM …', 'label')")
}

/// What is wrong with the columns that are no features.
fn complaints(request: &Request, source: &GivenSource, columns: &[Column]) -> Vec<Failure> {
    let is_there = |role: &str, name: &String| named(role, name, columns).map(|_| ());
    let key = |name: &String| {
        let kind = named("key", name, columns).and_then(KeyKind::of_column);
        kind.map(|_| ())
            .map_err(|failure| match keyed_by_several(request, source, columns) {
                Some(hint) => failure.hint(format!("A key is one column. {hint}")),
                None => failure,
            })
    };
    let weight = |name: &String| named("weight", name, columns).and_then(check_weight);
    let label = is_there("label", &request.columns.label).map_err(|failure| {
        match computed_label(request, source, columns) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    });
    let checked = [
        (request.terms.nu.is_none()).then_some(label),
        request.columns.key.as_ref().map(key),
        request.columns.weight.as_ref().map(weight),
        (request.columns.fold_column.as_ref()).map(|name| is_there("fold", name)),
        (request.columns.fold_order.as_ref()).map(|name| is_there("fold order", name)),
    ];
    let checked = checked.into_iter().flatten();
    checked.filter_map(Result::err).collect()
}

/// Columns of a source that are no features though nobody said so.
#[derive(Clone, Default)]
pub struct LeftOutColumns {
    /// Because of their types.
    pub by_type: Vec<String>,
    /// Key, weight and folds, identifiers, and what gives the label away, with what makes each of them such.
    pub identifiers: Vec<String>,
    /// What gives the label away and is a feature all the same, as somebody named it; with why it does.
    pub named_though: Vec<(String, String)>,
}

/// The features: those named, or else all columns but what says weight, fold and key, identifiers and those excluded.
fn resolve_features(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Result<(FeatureSet, LeftOutColumns), Failure> {
    check_excluded(&request.columns.exclude, columns)?;
    let giveaways = giveaways::reasons(columns, &source.lineages()?, &request.columns.label)?;
    if request.columns.features.is_none() {
        return all_features(request, columns, giveaways);
    }
    let set = named_features(request, source, columns)?;
    let used: HashSet<&str> = set.columns().into_iter().collect();
    let named = columns.iter().zip(giveaways);
    let named = named.filter(|(column, _)| used.contains(column.name.as_str()));
    let named_though = named.filter_map(|(column, reason)| Some((column.name.clone(), reason?)));
    let left_out = LeftOutColumns {
        named_though: named_though.collect(),
        ..LeftOutColumns::default()
    };
    drop(used);
    Ok((set, left_out))
}

/// The features that are named, none of which may be excluded too.
fn named_features(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Result<FeatureSet, Failure> {
    let named = request.columns.features.as_deref();
    let resolved = features::resolve(named, columns, &request.columns.label);
    let (set, _) = resolved.map_err(|error| {
        let offered = but_identifiers(columns);
        let error = without_identifiers(error, &offered);
        let asked = AskedFeatures {
            request,
            source,
            offered: &offered,
            entries: named.unwrap_or_default(),
        };
        let hint = named.and_then(numbers_for_c);
        let computed = asked.hint(&error);
        let failure = Failure::from(error);
        match hint.or(failure.hint.is_none().then_some(computed).flatten()) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let is_excluded = |name: &&str| request.columns.exclude.iter().any(|it| it == name);
    let excluded = set.columns().into_iter().find(is_excluded);
    match excluded.map(str::to_owned) {
        None => Ok(set),
        Some(column) => Err(FeatureError::Excluded { column }.into()),
    }
}

/// What to type where all features are numbers: 0.2.0's svm_cross_validate had C in the place of features.
fn numbers_for_c(features: &[String]) -> Option<String> {
    let are_numbers = features.iter().all(|it| it.parse::<f64>().is_ok());
    are_numbers.then(|| {
        format!(
            "Numbers to choose C from go by name: c => '{{{}}}'",
            shortened(&features.join(","))
        )
    })
}

/// All columns but those that are something else; `giveaways`: why each of all columns gives the label away.
fn all_features(
    request: &Request,
    columns: &[Column],
    giveaways: Vec<Option<String>>,
) -> Result<(FeatureSet, LeftOutColumns), Failure> {
    let mut left_out = LeftOutColumns {
        identifiers: with_other_roles(request, columns),
        ..LeftOutColumns::default()
    };
    let giveaways: HashMap<&str, String> = columns
        .iter()
        .zip(giveaways)
        .filter_map(|(column, reason)| Some((column.name.as_str(), reason?)))
        .collect();
    let candidates = candidates(request, columns)?;
    let mut usable = Vec::new();
    usable.room(candidates.len())?;
    for (column, reason) in candidates.iter().zip(identifiers::reasons(&candidates)?) {
        let given_away = || giveaways.get(column.name.as_str()).cloned();
        let by_name = || tells_rows_apart(column).then(|| BY_NAME.to_owned());
        match reason.or_else(given_away).or_else(by_name) {
            Some(reason) => left_out
                .identifiers
                .push(format!("{} ({reason})", column.name)),
            None => usable.push(column.clone()),
        }
    }
    if usable.is_empty() {
        // a number and whether it is large: there is nothing else to learn from
        let made_of =
            |name: &str| giveaways.get(name).map(String::as_str) == Some(LABEL_IS_MADE_OF_IT);
        let sources = candidates.iter().filter(|column| made_of(&column.name));
        usable.extend(sources.cloned());
        left_out
            .identifiers
            .retain(|it| !it.ends_with(&format!("({LABEL_IS_MADE_OF_IT})")));
    }
    match features::resolve(None, &usable, &request.columns.label) {
        Ok((set, skipped)) => {
            left_out.by_type = skipped.iter().map(ToString::to_string).collect();
            Ok((set, left_out))
        }
        Err(FeatureError::Nothing { columns: of_type })
            if !(left_out.identifiers.is_empty() && request.columns.exclude.is_empty()) =>
        {
            let excluded = request.columns.exclude.iter();
            let excluded = excluded.map(|name| format!("{name} (exclude)"));
            let columns = left_out.identifiers.into_iter().chain(excluded);
            let columns = columns.chain(of_type).collect();
            Err(FeatureError::AllLeftOut { columns }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Why a column is no feature that is called as what only tells rows apart.
const BY_NAME: &str = "by its name it only tells rows apart";

/// Whether it is a number or a text that is called so.
fn tells_rows_apart(column: &Column) -> bool {
    match type_kind(column.type_oid) {
        TypeKind::Number(NumberKind::Boolean) => false,
        TypeKind::Number(kind) => {
            !kind.is_time() && identifiers::tells_rows_apart(&column.name, true)
        }
        TypeKind::Text => identifiers::tells_rows_apart(&column.name, false),
        _ => false,
    }
}

/// Columns that say something else than features do, with what that is.
fn with_other_roles(request: &Request, columns: &[Column]) -> Vec<String> {
    let roles = [
        (&request.columns.key, "key"),
        (&request.columns.weight, "weight"),
        (&request.columns.fold_column, "folds"),
        (&request.columns.fold_order, "order of folds"),
    ];
    let roles = roles.into_iter();
    let named = roles.filter_map(|(name, role)| Some((name.as_ref()?, role)));
    let there = named.filter(|(name, _)| columns.iter().any(|column| column.name == **name));
    there
        .map(|(name, role)| format!("{name} ({role})"))
        .collect()
}

/// The columns that are neither label, weight, fold nor key, and not excluded.
fn candidates(request: &Request, columns: &[Column]) -> Result<Vec<Column>, OutOfMemory> {
    let aside = [
        &request.columns.weight,
        &request.columns.key,
        &request.columns.fold_column,
        &request.columns.fold_order,
    ];
    let aside = aside.into_iter().flatten();
    let aside = aside
        .chain(&request.columns.exclude)
        .chain([&request.columns.label]);
    let aside: HashSet<&str> = aside.map(String::as_str).collect();
    let all = columns.iter();
    let others = all.filter(|column| !aside.contains(column.name.as_str()));
    gathered(others.cloned())
}

/// Unknown columns that one error names.
const MOST_UNKNOWN: usize = 10;

/// Refuses names in `exclude` that no column has.
pub fn check_excluded(exclude: &[String], columns: &[Column]) -> Result<(), Failure> {
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

/// The column that tells rows apart, where the tables or its name say so: the primary key first.
pub fn likely_key(columns: &[Column]) -> Option<String> {
    let reasons = identifiers::reasons(columns).ok()?;
    let rank = |(column, reason): &(&Column, Option<String>)| match reason.as_deref() {
        Some("primary key") => Some(0),
        Some(_) => Some(1),
        None => identifiers::tells_rows_apart(&column.name, true).then_some(2),
    };
    let can_be = columns.iter().zip(reasons);
    let can_be = can_be.filter(|(column, _)| KeyKind::of_column(column).is_ok());
    let known = can_be.filter_map(|it| Some((rank(&it)?, it.0)));
    let (_, key) = known.min_by_key(|(rank, _)| *rank)?;
    Some(key.name.clone())
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
fn without_identifiers(error: FeatureError, offered: &[Column]) -> FeatureError {
    match error {
        FeatureError::MissingColumn { column, mut near } => {
            near.retain(|name| offered.iter().any(|column| column.name == *name));
            FeatureError::MissingColumn { column, near }
        }
        FeatureError::Several(all) => FeatureError::Several(
            all.into_iter()
                .map(|error| without_identifiers(error, offered))
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
                    let all: Vec<_> = columns.iter().map(|column| &column.name).collect();
                    failure.hint(format!("The source has the columns {}", listed(&all)))
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
