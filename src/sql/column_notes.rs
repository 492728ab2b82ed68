//! Sentences of the NOTICE's DETAIL about a training's columns: those that are texts, that hold numbers in text, or that have NULLs.

use crate::base::errors::shortened;
pub(super) use crate::base::text::counted;
use crate::base::text::listed;
use crate::features::{without_unit, CategoryPart, FeaturePart, FeatureSet, Nulls};
use pgrx::spi::quote_literal;
use pgsvm_core::memory::gathered;
use pgsvm_expand::reading::{is_marker, of_thousands};
use pgsvm_expand::Reading;

/// Text columns of so many numbers that they may be meant as numbers.
pub(super) fn number_columns(features: &FeatureSet) -> Vec<String> {
    const MANY: usize = 20;
    let texts = features.parts.iter().filter_map(FeaturePart::as_one);
    let such = texts.filter(|text: &&CategoryPart| {
        text.dictionary.values().count() >= MANY && text.looks_like_numbers().is_some()
    });
    such.map(|text| text.name.clone()).collect()
}

/// Text columns of numbers with a unit behind them, as SQL that makes them numbers.
pub(super) fn with_units(features: &FeatureSet) -> Vec<String> {
    let texts = text_columns(features).filter(|text| !text.asked);
    let notes = texts.filter_map(|text| Some(without_unit(&text.name, &text.dictionary.unit()?)));
    notes.collect()
}

/// The columns in which training met NULLs, and what these count as.
pub(super) fn nulls(features: &FeatureSet, rule: Nulls) -> Vec<String> {
    let mut notes = Vec::new();
    for ((part, dense), count) in features.dense_places().zip(&features.nulls) {
        let as_what = match rule {
            _ if *count == 0 => continue,
            Nulls::Error | Nulls::Skip => return Vec::new(),
            Nulls::Zero => "as 0".to_owned(),
            Nulls::Mean if part.is_number() => {
                let mean = features.means.get(dense.start).copied();
                format!("as the mean {}", short(mean.unwrap_or(0.0)))
            }
            Nulls::Mean if part.is_dense() => "as the mean".to_owned(),
            Nulls::Mean if part.is_one_value() => "as a category of its own".to_owned(),
            Nulls::Mean => "as nothing".to_owned(),
        };
        notes.push(format!(
            "{} in {}, {as_what}",
            part.name(),
            counted(*count, "row")
        ));
    }
    notes
}

/// Texts that are numbers or times, and those among them that are none.
pub(super) fn read_texts(features: &FeatureSet) -> Vec<String> {
    let read = features.parts.iter();
    let read = read.filter_map(|part| Some((part.name(), part.reading()?)));
    let notes = read.map(|(name, reading)| {
        let by = match reading.by {
            Reading::Number => "",
            Reading::CommaNumber => " with a decimal comma",
            Reading::Ymd => " as year-month-day",
            Reading::Dmy => " as day-month-year",
            Reading::Mdy => " as month-day-year",
            Reading::Clock => " as a time of the day, in seconds since midnight",
        };
        let such: Vec<_> = reading.such.iter().map(quote_literal).collect();
        let unread = match reading.unread {
            0 => String::new(),
            rows => format!(
                ", {} with {} counted as NULL",
                counted(rows, "row"),
                listed(&such)
            ),
        };
        let text = reading.thousands.as_deref();
        let point = match of_thousands(text.into_iter()) {
            None => String::new(),
            Some((text, [point, thousands])) => format!(
                ", {} as {point}; if it is {thousands}, take the points out in svm_train_query",
                quote_literal(text)
            ),
        };
        format!("{name}{by}{point}{unread}")
    });
    notes.collect()
}

/// Columns of text that are categories, with how many values each has.
pub(super) fn text_categories(features: &FeatureSet) -> Vec<String> {
    let texts = text_columns(features).filter(|text| !text.asked);
    let notes = texts.map(|text| {
        let CategoryPart {
            name, dictionary, ..
        } = text;
        let values = counted(dictionary.values().count() as u64, "value");
        match dictionary.is_hashed() {
            true => format!("{name} ({values}, others hashed)"),
            false => format!("{name} ({values})"),
        }
    });
    notes.collect()
}

/// Values that a column's message shows.
const MOST_SHOWN: usize = 5;
/// Values of a column that are looked at.
const MOST_LOOKED_AT: usize = 10_000;

/// Columns of categories some of which stand for a missing value, with these.
pub(super) fn missing_categories(features: &FeatureSet) -> Vec<String> {
    categories(features, |values| {
        values.iter().copied().filter(|it| is_marker(it)).collect()
    })
}

/// Columns of categories some of which are one but for case and blanks, with these.
pub(super) fn split_categories(features: &FeatureSet) -> Vec<String> {
    categories(features, alike)
}

/// Columns of text that are categories each alone.
fn text_columns(features: &FeatureSet) -> impl Iterator<Item = &CategoryPart> {
    let categories = features.parts.iter().filter_map(FeaturePart::as_one);
    categories.filter(|it: &&CategoryPart| it.crossed.is_none() && is_text(&it.type_name))
}

/// Columns of text with the categories that are found among theirs.
fn categories(features: &FeatureSet, find: for<'a> fn(&[&'a str]) -> Vec<&'a str>) -> Vec<String> {
    let found = text_columns(features).filter_map(|text| {
        let (name, values) = (&text.name, text.dictionary.values());
        // without memory for it nothing is said
        let values = gathered(values.take(MOST_LOOKED_AT)).unwrap_or_default();
        let found = find(&values);
        let shown = found.iter().take(MOST_SHOWN);
        let shown: Vec<_> = shown.map(|it| quote_literal(shortened(it))).collect();
        (!shown.is_empty()).then(|| format!("{name} ({})", shown.join(", ")))
    });
    found.collect()
}

/// The texts that are one with another but for case and blanks, those that are one behind each other.
pub(super) fn alike<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let plain = |text: &str| text.trim().to_lowercase();
    let all = gathered(texts.iter().map(|text| (plain(text), *text)));
    let mut all: Vec<(String, &str)> = all.unwrap_or_default();
    all.sort_unstable();
    let same = all.chunk_by(|(one, _), (other, _)| one == other);
    let several = same.filter(|same| same.len() > 1);
    several.flatten().map(|(_, text)| *text).collect()
}

/// Whether a type's name is that of texts of any length or a given one.
fn is_text(type_name: &str) -> bool {
    ["text", "character", "name"]
        .iter()
        .any(|text| type_name.starts_with(text))
}

/// A number with five digits.
pub(super) fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.4e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// The texts, and how many words each has; where words share numbers, so many numbers besides.
pub(super) fn texts(features: &FeatureSet) -> Vec<String> {
    let texts = features.parts.iter().filter_map(|part| {
        let known = part.vocabulary().filter(|known| known.is_learned())?;
        let words = known.words().len() as u64;
        let what = match part.is_list() {
            true => "word",
            false => "run",
        };
        let mut notes = format!("{} of {}", counted(words, what), part.name());
        if known.is_hashed() {
            let hashed = known.len() as u64 - words;
            notes += &format!(" and {hashed} hashed");
        }
        Some(notes)
    });
    texts.collect()
}
