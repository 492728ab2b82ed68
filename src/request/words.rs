//! Words, numbers and lists as arguments and options give them, and the errors where they do not. Pure.

use crate::base::errors::{shortened, shown, Code, Failure};
use crate::base::near;
use pgsvm_core::memory::all_of;
use pgsvm_core::Order;
use std::ops::RangeInclusive;

/// The words for an order.
pub(super) const ORDERS: [(&str, Order); 2] =
    [("random", Order::Random), ("sequential", Order::Sequential)];

pub fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// An argument that must be given.
pub fn required<T>(value: Option<T>, name: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument \"{name}\" must not be NULL"),
        )
    })
}

/// The choice that an argument names.
pub fn word<T: Clone>(argument: &str, given: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    choice(given, known).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
        let all = format!("{argument} => {}", names.join(" or "));
        unknown(argument, given).hint(match meant(given, known) {
            Some(near) => format!("Perhaps '{near}' is meant. {all}"),
            None => all,
        })
    })
}

/// The same of an option.
pub(super) fn option_word<T: Clone>(
    key: &str,
    given: &str,
    known: &[(&str, T)],
) -> Result<T, Failure> {
    choice(given, known).ok_or_else(|| {
        let json = |name: &str| match name {
            "true" | "false" => name.to_owned(),
            name => format!("\"{name}\""),
        };
        let near = meant(given, known);
        let first = near.as_deref().unwrap_or(known[0].0);
        let others = known.iter().filter(|(name, _)| *name != first);
        let others: String = others
            .map(|(name, _)| format!(", or {}", json(name)))
            .collect();
        let all = format!("options => '{{\"{key}\": {}}}'{others}", json(first));
        unknown(key, given).hint(match near {
            Some(near) => format!("Perhaps {} is meant. {all}", json(&near)),
            None => all,
        })
    })
}

fn choice<T: Clone>(given: &str, known: &[(&str, T)]) -> Option<T> {
    let found = known.iter().find(|(name, _)| *name == given);
    found.map(|(_, choice)| choice.clone())
}

fn meant<T>(given: &str, known: &[(&str, T)]) -> Option<String> {
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    near::meant(given, &names)
}

fn unknown(what: &str, given: &str) -> Failure {
    invalid(format!("unknown {what} '{}'", shortened(given)))
}

/// The choice that `given` names; the first of those known where nothing is given.
pub(super) fn chosen<T: Clone>(
    argument: &str,
    given: Option<&str>,
    known: &[(&str, T)],
) -> Result<T, Failure> {
    match given {
        None => Ok(known[0].1.clone()),
        Some(given) => word(argument, given, known),
    }
}

/// A float as SQL writes it.
pub fn sql_float(value: f64) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => value.to_string(),
    }
}

pub fn entries(features: Vec<Option<String>>) -> Result<Vec<String>, Failure> {
    if features.is_empty() {
        return Err(invalid("features is an empty array")
            .hint("features => NULL uses every usable column but the label"));
    }
    all_of(
        features
            .into_iter()
            .map(|entry| required(entry, "features[…]")),
    )
}

pub fn excluded(columns: Vec<Option<String>>) -> Result<Vec<String>, Failure> {
    let names = columns.into_iter();
    let names = names.map(|name| required(name, "exclude[…]"));
    all_of(names).map_err(|failure: Failure| {
        failure.hint("exclude => '{column, …}' names columns that are to be no features")
    })
}

/// An option's whole number within `range`; `usual` is what a hint proposes.
pub(super) fn whole_number(
    key: &str,
    given: &serde_json::Value,
    range: RangeInclusive<u32>,
    usual: u32,
) -> Result<u32, Failure> {
    given
        .as_u64()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            invalid(format!(
                "{key} must be a whole number from {least} to {most}, not {}",
                shown(given)
            ))
            .hint(format!("options => '{{\"{key}\": {usual}}}'"))
        })
}

/// The same where there are words too, named by `words`.
pub(super) fn number_or_word(
    key: &str,
    given: &serde_json::Value,
    most: u32,
    words: &str,
    usual: u32,
) -> Result<u32, Failure> {
    whole_number(key, given, 1..=most, usual).map_err(|_| {
        invalid(format!(
            "{key} must be {words} or a whole number from 1 to {most}, not {given}"
        ))
        .hint(format!("options => '{{\"{key}\": {usual}}}'"))
    })
}
