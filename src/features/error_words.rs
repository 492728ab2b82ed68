//! How what is wrong with features is said.

use super::error::FeatureError;
use super::kinds::category::dictionary::{
    CategoryLimits, KeyCount, NumberUnit, LONGEST_VALUE_BYTES,
};
use super::kinds::text::form::MOST_CHARACTERS;
use super::stored::MOST_PARTS;
use crate::base::near;
use crate::base::text::{array_element, array_literal, counted, listed};
use pgrx::spi::{quote_identifier as quote, quote_literal};
use pgsvm_expand::numbers::{MOST_DEGREE, MOST_KNOTS};
use pgsvm_expand::MOST_RUN;

/// Most features that a hint types.
pub const MOST_TYPED: usize = 30;
/// Columns that a hint excludes at once.
const MOST_EXCLUDED: usize = 100;

impl FeatureError {
    /// What is wrong.
    pub(super) fn message(&self) -> String {
        match self {
            Self::MissingColumn { .. }
            | Self::Several(_)
            | Self::Excluded { .. }
            | Self::AmbiguousColumn { .. }
            | Self::Entry { .. }
            | Self::Split { .. }
            | Self::Runs { .. }
            | Self::Characters { .. }
            | Self::TooManyMade { .. }
            | Self::Making { .. }
            | Self::Crossed { .. }
            | Self::HashBits { .. }
            | Self::Configuration { .. }
            | Self::Duplicate { .. }
            | Self::TooMany { .. }
            | Self::Label { .. }
            | Self::Nothing { .. }
            | Self::AllLeftOut { .. } => self.about_list(),
            Self::Keys { .. }
            | Self::Numbers { .. }
            | Self::Type { .. }
            | Self::LongCategory { .. }
            | Self::NotUtf8 { .. }
            | Self::NoWords { .. }
            | Self::Letter { .. }
            | Self::TooManyCategories { .. } => self.about_columns(),
            Self::Length { .. }
            | Self::Empty { .. }
            | Self::Dimensions { .. }
            | Self::UnknownLength { .. }
            | Self::SparseLength { .. }
            | Self::Index { .. }
            | Self::DuplicateIndex { .. } => self.about_arrays(),
            Self::Position { .. }
            | Self::NotFinite { .. }
            | Self::LibsvmSyntax { .. }
            | Self::LibsvmLabel { .. }
            | Self::Damaged { .. }
            | Self::OutOfMemory(_)
            | Self::LongRow { .. } => self.about_values(),
            Self::InRow { error, .. } => error.message(),
        }
    }

    /// What is wrong with the list of features or the columns that it names.
    fn about_list(&self) -> String {
        match self {
            Self::MissingColumn { column, .. } => format!("column \"{column}\" does not exist"),
            Self::AmbiguousColumn { column } => format!("column \"{column}\" is ambiguous"),
            Self::Entry { entry } => format!("feature \"{entry}\" is not understood"),
            Self::Split { entry, .. } => {
                format!("feature \"{entry}\" has no closing parenthesis")
            }
            Self::Runs { entry, given } => {
                format!("feature \"{entry}\" asks for runs of {given} words")
            }
            Self::TooManyMade { entry, most } => {
                format!("feature \"{entry}\" makes more than {most} numbers of a row")
            }
            Self::Making { entry } => format!("feature \"{entry}\" cannot be made"),
            Self::Crossed { entry } => {
                format!("feature \"{entry}\" crosses columns that do not go together")
            }
            Self::HashBits { entry } => {
                format!("feature \"{entry}\" hashes into a number of bits that cannot be")
            }
            Self::Characters { entry } => {
                format!("feature \"{entry}\" asks for runs that cannot be")
            }
            Self::Configuration { reason, .. } => reason.clone(),
            Self::Duplicate { entry } => format!("feature \"{entry}\" appears twice"),
            Self::TooMany { entries } => {
                format!("features has {entries} entries, more than {MOST_PARTS}")
            }
            Self::Several(all) => {
                let all: Vec<_> = all.iter().map(Self::message).collect();
                all.join("; ")
            }
            Self::Excluded { column } => {
                format!("column \"{column}\" is both in features and in exclude")
            }
            Self::Label { column } => {
                format!("label column \"{column}\" cannot be among the features")
            }
            _ => "there is no feature to train on".to_owned(),
        }
    }

    /// What is wrong with a column, or with what its rows together hold.
    fn about_columns(&self) -> String {
        match self {
            Self::Numbers { column, .. } => {
                format!("text column \"{column}\" looks like numbers")
            }
            Self::Keys { keys, .. } => match keys.as_slice() {
                [(column, _)] => format!("column \"{column}\" looks like a key"),
                _ => {
                    let names = keys.iter().map(|(column, _)| format!("\"{column}\""));
                    let names: Vec<_> = names.collect();
                    format!("columns {} look like keys", listed(&names))
                }
            },
            Self::Type {
                column, type_name, ..
            } => format!("column \"{column}\" of type {type_name} cannot be used here"),
            Self::LongCategory { column, bytes } => format!(
                "column \"{column}\" holds a text of {bytes} bytes, too long for a category"
            ),
            Self::NotUtf8 { column, bytes } => {
                let bytes = bytes.escape_ascii();
                format!("column \"{column}\" holds a text that is no UTF-8: {bytes}")
            }
            Self::Letter {
                column,
                place,
                byte,
                ..
            } => format!(
                "character {place} of column \"{column}\" is \"{}\", no letter of its alphabet",
                byte.escape_ascii()
            ),
            Self::NoWords { column } => {
                format!("text column \"{column}\" has no words to learn from")
            }
            Self::TooManyCategories { column } => {
                format!("the categories of column \"{column}\" do not fit in")
            }
            _ => String::new(),
        }
    }

    /// What is wrong with an array.
    fn about_arrays(&self) -> String {
        match self {
            Self::Length {
                column,
                length,
                expected,
                ..
            } => format!(
                "array \"{column}\" has {}, not {expected}",
                counted(*length as u64, "element")
            ),
            Self::Empty { column } => format!("array \"{column}\" is empty"),
            Self::Dimensions { column, dimensions } => {
                format!("array \"{column}\" has {dimensions} dimensions, not 1")
            }
            Self::UnknownLength { column } => {
                format!("array \"{column}\" is NULL in the first row")
            }
            Self::SparseLength {
                part,
                indices,
                values,
            } => {
                let indices = match indices {
                    1 => "1 index".to_owned(),
                    many => format!("{many} indices"),
                };
                let values = counted(*values as u64, "value");
                format!("{part} has {indices} and {values}")
            }
            Self::Index { part, index } => {
                format!("{part} has index {index}, outside 0 to {}", i32::MAX)
            }
            Self::DuplicateIndex { part, index } => format!("{part} has index {index} twice"),
            _ => String::new(),
        }
    }

    /// What is wrong with a value or a row of them.
    fn about_values(&self) -> String {
        match self {
            Self::Position { index, features } => {
                format!("position {index} lies outside 1 to {features}")
            }
            Self::NotFinite {
                column,
                element: None,
                value,
            } => format!("column \"{column}\" is {}", sql_float(*value)),
            Self::NotFinite {
                column,
                element: Some(element),
                value,
            } => format!("element {element} of \"{column}\" is {}", sql_float(*value)),
            Self::LibsvmSyntax { token } => {
                format!("\"{token}\" is no index:value pair of LIBSVM notation")
            }
            Self::LibsvmLabel { token } => {
                format!("\"{token}\" in front of the index:value pairs is a label, not a feature")
            }
            Self::Damaged { column } => format!("the value of column \"{column}\" is damaged"),
            Self::OutOfMemory(error) => error.to_string(),
            Self::LongRow { values, most } => {
                format!("a row of {values} values, of which there may be {most}")
            }
            _ => String::new(),
        }
    }

    /// What else there is to know.
    pub(super) fn detail(&self) -> Option<String> {
        match self {
            Self::Several(all) => {
                let all: Vec<_> = all.iter().filter_map(Self::detail).collect();
                (!all.is_empty()).then(|| all.join(" "))
            }
            Self::InRow { row, error } => {
                let place = format!("It is in row {row} of the source.");
                Some(match error.detail() {
                    Some(detail) => format!("{detail} {place}"),
                    None => place,
                })
            }
            _ => self
                .detail_of_columns()
                .or_else(|| self.detail_of_values().map(str::to_owned)),
        }
    }

    /// The same of the list of features and of columns.
    fn detail_of_columns(&self) -> Option<String> {
        Some(match self {
            Self::Entry { .. } => format!(
                "A feature is the name of a column, {} or libsvm(text_column).",
                FORMS.join(", ")
            ),
            Self::Split { .. } => {
                "In an array literal such as '{text(body, english)}' a comma ends an entry.".to_owned()
            }
            Self::Runs { .. } => format!("A run has 1 to {MOST_RUN} words."),
            Self::Making { .. } => format!(
                "'polynomial(column, 2)' has a degree of 1 to {MOST_DEGREE}, 'bucket(column, 10)' and 'spline(column, 5)' have 1 to {MOST_KNOTS} buckets or knots."
            ),
            Self::Crossed { .. } => {
                "Columns are crossed that are all numbers, or two of which at least one is a category and the other one or a number."
                    .to_owned()
            }
            Self::HashBits { .. } => {
                format!("There are 1 to {} bits.", CategoryLimits::MOST_HASH_BITS)
            }
            Self::Characters { .. } => format!(
                "'ngrams(column, 1, 3)' has runs of 1 to 3 characters, of {MOST_CHARACTERS} at most, 'spectrum(column, 5)' of 5; \
                 'weighted_degree(column, 8, ACGT)' runs of up to 8 of these letters at each place, fewer than 2147483648."
            ),
            Self::Letter { alphabet, .. } => format!("The letters are \"{alphabet}\"."),
            Self::Configuration { .. } => {
                "The words of a text are the lexemes of a text search configuration where one is named."
                    .to_owned()
            }
            Self::NoWords { .. } => {
                "A word has two letters or digits at least, and is in as many rows as \"min_df\" and \"max_df\" say."
                    .to_owned()
            }
            Self::Keys { keys, .. } => {
                let counts: Vec<_> = keys.iter().map(distinct_values).collect();
                format!("{}: what most rows have alone says nothing about others.", listed(&counts))
            }
            Self::LongCategory { .. } => {
                format!("A category has up to {LONGEST_VALUE_BYTES} bytes.")
            }
            Self::TooManyCategories { .. } => format!(
                "Categories, hashed ones included, share feature numbers up to {} with sparse features.",
                i32::MAX
            ),
            Self::Type { expected, .. } => format!("It must be {expected}."),
            Self::Nothing { columns } => {
                let others = match columns.is_empty() {
                    true => String::new(),
                    false => format!(" Others: {}.", listed(columns)),
                };
                format!(
                    "No column but the label is a number, a date, a boolean, text, an enum, a tsvector or an array of numbers or texts.{others}"
                )
            }
            Self::AllLeftOut { columns } => format!("Left out: {}.", listed(columns)),
            Self::Numbers { column, others, .. } => numbers_but_for(column, others),
            _ => return None,
        })
    }

    /// The same of values.
    fn detail_of_values(&self) -> Option<&'static str> {
        Some(match self {
            Self::Length { .. } => "All rows must have arrays of one length.",
            Self::UnknownLength { .. } => "Before NULL can be replaced the length must be known.",
            Self::SparseLength { .. } => "Each index needs its value.",
            Self::NotFinite { value, .. } if value.is_finite() => {
                "Sparse values are kept as type real, which it does not fit."
            }
            Self::NotFinite { .. } => "Features must be finite numbers.",
            Self::LibsvmSyntax { .. } | Self::LibsvmLabel { .. } => {
                "Expected is a text such as '3:0.5 17:1'."
            }
            _ => return None,
        })
    }

    /// What to do.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::MissingColumn { near, .. } => near::hint(near),
            Self::Several(all) => {
                let all: Vec<_> = all.iter().filter_map(Self::hint).collect();
                (!all.is_empty()).then(|| all.join(" "))
            }
            Self::InRow { error, .. } => error.hint(),
            _ => self
                .hint_on_columns()
                .or_else(|| self.plain_hint().map(str::to_owned)),
        }
    }

    /// What to do about columns, with their names.
    fn hint_on_columns(&self) -> Option<String> {
        Some(match self {
            Self::AmbiguousColumn { column } => format!(
                "Give the columns different names: SELECT … AS {}.",
                quote(format!("{column}_2"))
            ),
            Self::Split { entries, .. } => {
                let entries: Vec<_> = entries.iter().map(quote_literal).collect();
                format!("Write features => ARRAY[{}].", entries.join(", "))
            }
            Self::Length {
                pair: Some((index, value)),
                ..
            } => {
                let entry = quote_literal(format!("sparse({}, {})", quote(index), quote(value)));
                format!("Indices and their values are one sparse vector: features => ARRAY[{entry}].")
            }
            Self::Numbers {
                column,
                read,
                without,
                left_out,
                ..
            } => {
                let number = array_element(&format!("number({})", quote(column)));
                let read = match read.is_empty() {
                    true => format!(" by {number} in features"),
                    false => format!(": {}", naming(read.iter().map(String::as_str))),
                };
                let without = match left_out {
                    Some(left_out) => excluding([column.as_str()], left_out),
                    None if without.is_empty() => String::new(),
                    None => naming(without.iter().map(String::as_str)),
                };
                let without = match without.is_empty() {
                    true => without,
                    false => format!("; or leave it out: {without}"),
                };
                format!("Read it as a number{read}{without}.")
            }
            Self::Index { part, .. } if part.starts_with("weighted_degree") => {
                "Take shorter runs, or shorter strings: each run has a number of its own at each place."
                    .to_owned()
            }
            Self::Keys {
                left_out: None,
                keys,
                units,
            } if !keys.is_empty() => {
                format!(
                    "Leave it out of features. {}{}{KEYS_HINT}.",
                    words_hint(&keys[0].0),
                    units_hint(units)
                )
            }
            Self::Keys {
                keys,
                units,
                left_out,
            } => {
                let names = keys.iter().take(MOST_EXCLUDED);
                let names = names.map(|(name, _)| name.as_str());
                let names = excluding(names, left_out.as_deref().unwrap_or_default());
                let units = units_hint(units);
                format!("Leave out what is a key: {names}. {units}{KEYS_HINT}.")
            }
            Self::Letter { alphabet, byte, .. } if byte.is_ascii_graphic() => format!(
                "Name all letters: 'weighted_degree(column, 8, {alphabet}{})'.",
                char::from(*byte)
            ),
            Self::LongCategory { column, .. } => format!(
                "{}Or leave the column out, or shorten it in svm_train_query. {LONG_HINT}.",
                words_hint(column)
            ),
            _ => return None,
        })
    }

    /// What to do, whatever the columns are called.
    fn plain_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::TooManyMade { .. } => {
                "Take a lower degree or fewer columns, or a kernel: kernel => 'polynomial'."
            }
            Self::Crossed { .. } => {
                "'cross(a, b)' of an integer that is a category: cast it to text in svm_train_query."
            }
            Self::Runs { .. } => "'text(column, english, 2)' has words and pairs of words.",
            Self::Configuration { .. } => {
                "SELECT cfgname FROM pg_ts_config lists them; 'text(column)' takes words as they are."
            }
            Self::NoWords { .. } => {
                "Leave the column out, or let more words count: options => '{\"min_df\": 1, \"max_df\": 1}'."
            }
            Self::Excluded { .. } => "Name it in one of them.",
            Self::AllLeftOut { .. } => {
                "features => '{…}' names the columns to train on, whatever they are."
            }
            Self::NotUtf8 { .. } => {
                "Categories, classes and folds are kept as UTF-8: use a database of that encoding, or numbers in their place."
            }
            Self::TooManyCategories { .. } => {
                "Hash into fewer features: options => '{\"hash_bits\": 12}'."
            }
            Self::Label { .. } => {
                "Leave it out, or leave features out to use every other column."
            }
            Self::TooMany { .. } => {
                "Keep sparse features in two array columns: features => ARRAY['sparse(idx, val)']."
            }
            Self::LibsvmLabel { .. } => "Keep the label in a column of its own.",
            Self::DuplicateIndex { .. } => "Add the values of equal indices up first.",
            Self::UnknownLength { .. } => {
                "Use nulls => 'skip', or replace NULL with zeros in svm_train_query."
            }
            _ => return None,
        })
    }
}

/// How a column is taken for a text; nothing of one that was named as a category, which may be of numbers.
fn words_hint(column: &str) -> String {
    if column.starts_with("category(") {
        return String::new();
    }
    let entry = format!("text({})", quote(column));
    format!("Its words are features with {}. ", naming([entry.as_str()]))
}

/// How a column of numbers with a unit behind them is made one of numbers.
pub fn without_unit(column: &str, unit: &NumberUnit) -> String {
    let bare = format!(
        "replace({}, {}, '')",
        quote(column),
        quote_literal(&unit.name)
    );
    match &unit.thousands {
        None => format!("{bare}::float8"),
        Some((value, [point, thousands])) => format!(
            "{bare}::float8 if {} is {point}, replace({bare}, '.', '')::float8 if it is {thousands}",
            quote_literal(value)
        ),
    }
}

/// The same of several, as a sentence; nothing of none.
fn units_hint(units: &[(String, NumberUnit)]) -> String {
    let units = units
        .iter()
        .map(|(column, unit)| without_unit(column, unit));
    let units: Vec<_> = units.collect();
    match units.is_empty() {
        true => String::new(),
        false => format!(
            "Numbers with a unit are numbers without it, in svm_train_query: {}. ",
            units.join(", ")
        ),
    }
}

/// How columns that look like keys are taken all the same.
const KEYS_HINT: &str = "options => '{\"hash_bits\": 18}' takes keys as they are: each value is a feature of its own, and one that is in one row alone says nothing about others";
/// The same of values that are too long.
const LONG_HINT: &str = "options => '{\"hash_bits\": 18}' hashes long values instead, of which those that are in one row say nothing about others";

/// How many values a column has in how many rows.
fn distinct_values((column, count): &(String, KeyCount)) -> String {
    let about = if count.estimated { "about " } else { "" };
    format!(
        "\"{column}\" has {about}{} values in {} rows",
        count.values, count.rows
    )
}

/// Which values of a text column that looks like numbers are none.
fn numbers_but_for(column: &str, others: &[String]) -> String {
    if others.is_empty() {
        return format!("The values of \"{column}\" are numbers.");
    }
    let shown: Vec<_> = others.iter().map(|value| format!("'{value}'")).collect();
    format!(
        "The values of \"{column}\" are numbers but for {}.",
        shown.join(", ")
    )
}

/// What a feature may be beside the name of a column.
pub const FORMS: [&str; 16] = [
    "category(column)",
    "number(column)",
    "time(column)",
    "text(column)",
    "text(column, configuration, words)",
    "ngrams(column, 1, 3)",
    "spectrum(column, 5)",
    "weighted_degree(column, 8)",
    "log(column)",
    "polynomial(column, 2)",
    "bucket(column, 10)",
    "spline(column, 5)",
    "parts(time_column)",
    "cross(column, column)",
    "sparse(index_column, value_column)",
    "hash(sparse(index_column, value_column), 18)",
];

/// An entry as it is written; of a form of one column that is given several, one for each.
pub fn spread(entry: &str) -> Vec<String> {
    let parts = entry
        .split_once('(')
        .and_then(|(word, rest)| Some((word.trim(), rest.strip_suffix(')')?)));
    let of_one = |word: &str| {
        let mut forms = FORMS
            .iter()
            .filter(|form| form.split('(').next() == Some(word));
        matches!((forms.next(), forms.next()), (Some(form), None) if !form.contains(','))
    };
    match parts {
        Some((word, columns)) if of_one(word) && columns.contains(',') => columns
            .split(',')
            .map(|column| format!("{word}({})", column.trim()))
            .collect(),
        _ => vec![entry.to_owned()],
    }
}

/// The argument that names features.
pub fn naming<'a>(entries: impl IntoIterator<Item = &'a str>) -> String {
    format!("features => {}", array_literal(entries))
}

/// The argument that leaves columns out, with those that are left out already: it takes the place of the argument that did.
pub(crate) fn excluding<'a>(
    names: impl IntoIterator<Item = &'a str>,
    already: &'a [String],
) -> String {
    let mut all: Vec<&str> = already.iter().map(String::as_str).collect();
    let new = names
        .into_iter()
        .filter(|name| !already.iter().any(|it| it == name));
    all.extend(new);
    format!("exclude => {}", array_literal(all))
}

/// A float as PostgreSQL prints it.
fn sql_float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}Infinity")
    } else {
        format!("{value:e}")
    }
}
