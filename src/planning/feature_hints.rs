//! What to type in place of features that cannot be had as they are written: an expression, a column of a type that no feature comes
//! from, a name that no column has. Pure but for the relation's name.

use crate::base::near;
use crate::base::text::listed;
use crate::features::{self, FeatureError};
use crate::pg::query::Column;
use crate::pg::statement;
use crate::request::source::{free_name, quote, Source};
use crate::request::Request;
use crate::targets::labels::MADE_OF;
use pgrx::spi::quote_literal;

/// Longest query that a hint has again.
const LONGEST: usize = 1000;

/// What the columns of a training are, and what was asked of them.
pub(super) struct Asked<'a> {
    pub request: &'a Request,
    pub source: &'a Source,
    /// Those that may be meant.
    pub offered: &'a [Column],
    pub entries: &'a [String],
}

impl Asked<'_> {
    /// What to type; None where the error itself says it.
    pub fn hint(&self, error: &FeatureError) -> Option<String> {
        match error {
            FeatureError::Several(all) => all.iter().find_map(|error| self.hint(error)),
            FeatureError::MissingColumn { column, near } if near.is_empty() => {
                match is_expression(column) {
                    true => self
                        .crossed(column)
                        .or_else(|| self.computed(column, &self.with_fields(column))),
                    false => self.columns(),
                }
            }
            FeatureError::Entry { entry } => self.form(entry),
            FeatureError::Type {
                column, type_name, ..
            } => self.cast(column, type_name),
            _ => None,
        }
    }

    /// Two columns with a colon between them, as R writes their interaction.
    fn crossed(&self, entry: &str) -> Option<String> {
        let names = entry.split(':').map(str::trim);
        let is_column = |name: &str| self.offered.iter().any(|column| column.name == name);
        let names: Vec<_> = names.collect();
        if names.len() < 2 || !names.iter().all(|name| is_column(name)) {
            return None;
        }
        let names: Vec<_> = names.into_iter().map(quote).collect();
        let cross = format!("cross({})", names.join(", "));
        let entries = self.entries.iter().map(String::as_str);
        let all = entries.map(|it| match it == entry {
            true => cross.as_str(),
            false => it,
        });
        Some(format!("Write {}.", features::naming(all)))
    }

    /// An expression with the names of fields behind `->` and `->>` in quotes, unless they are columns' names.
    fn with_fields(&self, expression: &str) -> String {
        let mut pieces = expression.split("->");
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (arrow, field) = match piece.strip_prefix('>') {
                Some(field) => ("->>", field),
                None => ("->", piece),
            };
            let name = field.trim_start();
            let end = name.find(|c| !is_in_word(c)).unwrap_or(name.len());
            let (name, rest) = name.split_at(end);
            let is_column = self.offered.iter().any(|column| column.name == name);
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
            out += arrow;
            out += &match is_column || is_number {
                true => field.to_owned(),
                false => format!("{}{rest}", quote_literal(name)),
            };
        }
        out
    }

    fn columns(&self) -> Option<String> {
        let names: Vec<_> = self.offered.iter().map(|column| &column.name).collect();
        (!names.is_empty()).then(|| format!("The source has the columns {}", listed(&names)))
    }

    /// Of an entry with a word in front of parentheses: the form that is meant, or else the call of a function.
    fn form(&self, entry: &str) -> Option<String> {
        let (word, rest) = entry.split_once('(')?;
        let words = features::FORMS.iter().map(|form| form.split('(').next());
        let words: Vec<_> = words.flatten().collect();
        let Some(meant) = near::nearest(word.trim(), &words) else {
            return self.computed(entry, entry);
        };
        let form = features::FORMS[words.iter().position(|word| *word == meant)?];
        let written = features::spread(&format!("{meant}({rest}"));
        let arguments = written.iter().filter_map(|it| it.split_once('('));
        let mut names = arguments.map(|(_, rest)| rest.trim_end_matches(')').trim_matches('"'));
        let is_column = |name: &str| self.offered.iter().any(|column| column.name == name);
        let is_whole = form.matches(',').count() == 0 && names.all(is_column);
        Some(match is_whole && written != [entry] {
            false => format!("Write it as '{form}'."),
            true => {
                let all = self.entries.iter().flat_map(|it| match it == entry {
                    true => written.as_slice(),
                    false => std::slice::from_ref(it),
                });
                format!("Write {}.", features::naming(all.map(String::as_str)))
            }
        })
    }

    /// A column of a type that is none of a feature's.
    fn cast(&self, column: &str, type_name: &str) -> Option<String> {
        let category = format!("category({column})");
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| *entry == column || **entry == category)?;
        let bare = type_name.split('(').next().unwrap_or_default();
        let name = quote(column);
        match bare.trim_matches('"') {
            "uuid" => {
                let others: Vec<_> = self.entries.iter().filter(|it| *it != entry).collect();
                let others = others.into_iter().map(String::as_str);
                Some(match self.entries.len() {
                    1 => {
                        format!("A uuid tells a row from all others: leave {name} out of features.")
                    }
                    _ => format!(
                        "A uuid tells a row from all others; leave it out: {}",
                        features::naming(others)
                    ),
                })
            }
            "json" | "jsonb" => self.computed(entry, &format!("({name} ->> 'field')::float8")),
            _ => self.computed(entry, &format!("{name}::text")),
        }
    }

    /// The training with an expression in a column of its own in place of an entry.
    fn computed(&self, entry: &str, expression: &str) -> Option<String> {
        if entry.trim() == "*" {
            return Some("Leave features out: then every other column is one.".to_owned());
        }
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let alias = words.join("_").to_ascii_lowercase();
        let alias = match alias.starts_with(|c: char| c.is_ascii_digit()) || alias.is_empty() {
            true => format!("f_{alias}"),
            false => alias,
        };
        let alias = free_name(&alias, self.offered);
        let entries = self.entries.iter().map(String::as_str);
        let features = features::naming(entries.map(|it| match it == entry {
            true => alias.as_str(),
            false => it,
        }));
        let expression = with_quotes(expression, self.offered);
        let column = format!("{expression} AS {}", quote(&alias));
        let label = &self.request.label;
        computing(self.request, self.source, &column, (label, &features))
    }
}

/// The training with a label that is an expression in a column of its own; None of a name.
pub(super) fn computed_label(
    request: &Request,
    source: &Source,
    columns: &[Column],
) -> Option<String> {
    let label = &request.label;
    is_expression(label)
        .then(|| labelled_by(request, source, columns, &with_quotes(label, columns)))?
}

/// The training with the label as text.
pub(super) fn labelled_as_text(
    request: &Request,
    source: &Source,
    columns: &[Column],
) -> Option<String> {
    let label = format!("{}::text", quote(&request.label));
    labelled_by(request, source, columns, &label)
}

/// The training with whether the label is above its median.
pub(super) fn labelled_above_median(
    request: &Request,
    source: &Source,
    columns: &[Column],
) -> Option<String> {
    let name = quote(&request.label);
    let rank = format!("percent_rank() OVER (ORDER BY {name}) >= 0.5");
    let label = format!("CASE WHEN {name} IS NOT NULL THEN {rank} END");
    labelled_by(request, source, columns, &label)
}

/// The training with a label made of this one, which stands between two [`MADE_OF`].
pub(super) fn labelled_by_another(
    request: &Request,
    source: &Source,
    columns: &[Column],
) -> String {
    let label = format!("{MADE_OF}{}{MADE_OF}", quote(&request.label));
    labelled_by(request, source, columns, &label).unwrap_or_default()
}

/// The training with a label that is computed of columns, which are no features then.
fn labelled_by(
    request: &Request,
    source: &Source,
    columns: &[Column],
    expression: &str,
) -> Option<String> {
    let name = free_name("label", columns);
    let column = format!("{expression} AS {}", quote(&name));
    let entries = request.features.iter().flatten();
    let mut features = Vec::new();
    if request.features.is_some() {
        features.push(features::naming(entries.map(String::as_str)));
    }
    // of what is named nothing needs to be left out
    let words: Vec<_> = expression.split(|c: char| !is_in_word(c)).collect();
    let made_of = columns.iter().map(|column| column.name.as_str());
    let is_read = |name: &&str| match quote(name) {
        quoted if quoted == **name => words.contains(name),
        quoted => expression.contains(&quoted),
    };
    let made_of = made_of.filter(|name| request.features.is_none() && is_read(name));
    let mut made_of = made_of.peekable();
    if made_of.peek().is_some() || !request.exclude.is_empty() {
        features.push(features::excluding(made_of, &request.exclude));
    }
    computing(request, source, &column, (&name, &features.join(", ")))
}

/// The training with a column that is computed, this label, and these arguments that say what features are.
fn computing(
    request: &Request,
    source: &Source,
    column: &str,
    (label, features): (&str, &str),
) -> Option<String> {
    // whoever calls such a function need not be allowed to see what its owner trains on
    if !statement::is_callers_own() {
        return None;
    }
    let from = match source {
        Source::Query(text) if text.len() > LONGEST => "…".to_owned(),
        // the line break ends a comment
        Source::Query(text) if text.contains("--") => format!("({text}\n) AS q"),
        Source::Query(text) => format!("({}) AS q", text.trim_end_matches([';', ' ', '\n'])),
        Source::Relation(_) => source.table_expression().ok()?,
    };
    let query = format!("SELECT *, {column} FROM {from}");
    let mut arguments = vec![quote_literal(label)];
    arguments.extend((!features.is_empty()).then(|| features.to_owned()));
    let stored = match request.model.as_str() {
        "" => None,
        name if request.named || label == request.label => Some(name),
        _ => Some("name"),
    };
    arguments.extend(stored.map(|name| format!("model => {}", quote_literal(name))));
    let arguments = arguments.join(", ") + &request.typed;
    Some(match stored {
        Some(_) => format!(
            "Compute it in a query: SELECT svm_train_query({}, {arguments})",
            quote_literal(query)
        ),
        None => format!("Compute it in a view: CREATE VIEW computed AS {query}; and pass 'computed', {arguments}"),
    })
}

/// An expression in which the names of columns that SQL would take for others, in lower case, stand in quotes.
fn with_quotes(expression: &str, columns: &[Column]) -> String {
    let (mut out, mut rest) = (String::new(), expression);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            // a text, or a name in quotes
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            c if is_in_word(c) => rest.find(|c| !is_in_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        let lower = piece.to_lowercase();
        let is = |name: &str| columns.iter().any(|column| column.name == name);
        match lower != piece && is(piece) && !is(&lower) {
            true => out += &quote(piece),
            false => out += piece,
        }
        rest = behind;
    }
    out
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether what stands for a column is more than a name.
fn is_expression(entry: &str) -> bool {
    let count = |of: char| entry.matches(of).count();
    let is_whole = count('(') == count(')') && count('\'') % 2 == 0;
    let signs = [':', '(', '+', '*', '/', '|', '>', '<', '=', '\'', '%'];
    is_whole && (entry.contains(signs) || entry.contains(" - "))
}
