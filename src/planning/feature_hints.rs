//! What to type in place of features that cannot be had as they are written: an expression, a column of a type that no feature comes
//! from, a name that no column has. Pure but for the relation's name.

use crate::base::near;
use crate::base::text::listed;
use crate::features::{self, FeatureError};
use crate::pg::kept_statement::read_two;
use crate::pg::query::Column;
use crate::pg::statement;
use crate::pg::types::{type_kind, type_name, TypeKind};
use crate::request::source::{free_name, quote, GivenSource};
use crate::request::Request;
use crate::targets::labels::MADE_OF;
use pgrx::spi::quote_literal;

/// Rows of a table in which a field is looked for.
const ROWS_LOOKED_AT: usize = 100;
/// Longest query that a hint has again.
const LONGEST: usize = 1000;

/// What the columns of a training are, and what was asked of them.
pub(super) struct AskedFeatures<'a> {
    pub request: &'a Request,
    pub source: &'a GivenSource,
    /// Those that may be meant.
    pub offered: &'a [Column],
    pub entries: &'a [String],
}

impl AskedFeatures<'_> {
    /// What to type; None where the error itself says it.
    pub fn hint(&self, error: &FeatureError) -> Option<String> {
        match error {
            FeatureError::Several(all) => all.iter().find_map(|error| self.hint(error)),
            FeatureError::MissingColumn { column, near } if near.is_empty() => {
                match is_expression(column) {
                    true => self
                        .crossed(column)
                        .or_else(|| self.computed(column, &with_fields(column, self.offered))),
                    false => (self.closed(column))
                        .or_else(|| self.dotted(column))
                        .or_else(|| self.columns()),
                }
            }
            FeatureError::Entry { entry } => self.form(entry),
            FeatureError::Type {
                column, type_name, ..
            } => self.cast(column, type_name),
            _ => None,
        }
    }

    /// The features with the parenthesis closed that an entry leaves open; what a comma has split from it belongs to it too.
    fn closed(&self, entry: &str) -> Option<String> {
        let count = |of: char| entry.matches(of).count();
        if count('(') != count(')') + 1 {
            return None;
        }
        let at = self.entries.iter().position(|it| it == entry)?;
        let (before, rest) = self.entries.split_at(at);
        let is_column = |name: &str| self.offered.iter().any(|column| column.name == name);
        let is_argument = |it: &&String| !it.contains(['(', ')']) && !is_column(it.trim());
        let arguments = rest.iter().skip(1).take_while(is_argument).count();
        let (torn, behind) = rest.split_at(1 + arguments);
        let torn: Vec<_> = torn.iter().map(|it| it.trim()).collect();
        let whole = format!("{})", torn.join(", "));
        let all = [before.to_vec(), vec![whole], behind.to_vec()].concat();
        let all = features::naming(all.iter().map(String::as_str));
        Some(format!("A parenthesis is not closed. Write {all}."))
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

    /// A name with a dot in it: a field of an object, or a column with its table in front.
    fn dotted(&self, entry: &str) -> Option<String> {
        match after_dot(entry, self.offered)? {
            AfterDot::Column(name) => near::hint(&[name.to_owned()]),
            AfterDot::Field(column, field) => {
                let name = quote(&column.name);
                let found = self.field(&name, &type_name(column.type_oid, -1), Some(field));
                let value = format!("{name} ->> {}", quote_literal(field));
                self.computed(
                    entry,
                    &match found {
                        Some((_, true)) => format!("({value})::float8"),
                        _ => value,
                    },
                )
            }
        }
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
        let entry = entries.find(|entry| *entry == column || **entry == category);
        let Some(entry) = entry else {
            return self.number_as_text(column);
        };
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
            "json" | "jsonb" => {
                let field = self
                    .field(&name, bare, None)
                    .unwrap_or(("…".to_owned(), true));
                self.computed(
                    entry,
                    &match field {
                        (field, true) => format!("({name} ->> {})::float8", quote_literal(field)),
                        (field, false) => format!("{name} ->> {}", quote_literal(field)),
                    },
                )
            }
            _ => self.computed(entry, &format!("{name}::text")),
        }
    }

    /// A field that the objects of a table's column have, the `wanted` one if one is, and whether it is a number: numbers first, and what most
    /// rows have. None of what is no table, which to look at may run functions of others.
    fn field(&self, column: &str, type_name: &str, wanted: Option<&str>) -> Option<(String, bool)> {
        if !(self.source.is_table() && type_name == "jsonb" && statement::is_callers_own()) {
            return None;
        }
        let table = self.source.table_expression().ok()?;
        let query = format!(
            "SELECT field.key, pg_catalog.jsonb_typeof(field.value)
             FROM (SELECT {column} AS object FROM {table} WHERE {column} IS NOT NULL LIMIT {ROWS_LOOKED_AT}) AS looked_at
             CROSS JOIN LATERAL pg_catalog.jsonb_each(
                 CASE WHEN pg_catalog.jsonb_typeof(object) OPERATOR(pg_catalog.=) 'object' THEN object END) AS field
             WHERE pg_catalog.jsonb_typeof(field.value) OPERATOR(pg_catalog.=) ANY ('{{number,string,boolean}}'::pg_catalog.text[])
                 AND ($1 IS NULL OR field.key OPERATOR(pg_catalog.=) $1)
             GROUP BY field.key, pg_catalog.jsonb_typeof(field.value)
             ORDER BY pg_catalog.jsonb_typeof(field.value) OPERATOR(pg_catalog.=) 'number' DESC, pg_catalog.count(*) DESC, field.key LIMIT 1"
        );
        let (field, kind) = read_two::<String, String>(&query, &[wanted.into()]).ok()?;
        Some((field?, kind? == "number"))
    }

    /// Of a number of which an entry wants words or characters: the features with the column as it is.
    fn number_as_text(&self, name: &str) -> Option<String> {
        let column = self.offered.iter().find(|column| column.name == name)?;
        if !matches!(type_kind(column.type_oid), TypeKind::Number(_)) {
            return None;
        }
        let of_text = ["text", "ngrams", "spectrum", "weighted_degree"];
        let is_meant = |entry: &&String| {
            features::parse_form(entry).is_some_and(|form| {
                of_text.contains(&form.word.as_str())
                    && form.names.first().is_some_and(|it| it == name)
            })
        };
        let entry = self.entries.iter().find(is_meant)?;
        let others = self.entries.iter().filter(|it| *it != entry);
        let is_there = self.entries.iter().any(|it| it == name);
        let all = others.map(String::as_str);
        let all = all.chain((!is_there).then_some(name));
        Some(format!(
            "{} is no text, and a feature as it is: {}.",
            quote(name),
            features::naming(all)
        ))
    }

    /// The training with an expression in a column of its own in place of an entry.
    fn computed(&self, entry: &str, expression: &str) -> Option<String> {
        if entry.trim() == "*" {
            return Some("Leave features out: then every other column is one.".to_owned());
        }
        let alias = words_of(expression).to_ascii_lowercase();
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
        let label = &self.request.columns.label;
        computing(self.request, self.source, &column, (label, &features))
    }
}

/// The training with a label that is an expression in a column of its own; None of a name.
pub(super) fn computed_label(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Option<String> {
    let label = &request.columns.label;
    let value = match after_dot(label, columns) {
        Some(AfterDot::Column(name)) => return near::hint(&[name.to_owned()]),
        Some(AfterDot::Field(column, field)) => {
            format!("{} ->> {}", quote(&column.name), quote_literal(field))
        }
        // all columns are none
        None if label.trim().ends_with('*') || !is_expression(label) => return None,
        None => with_quotes(&with_fields(label, columns), columns),
    };
    labelled_by(request, source, columns, &value)
}

/// What a name with one dot in it is likely to mean.
enum AfterDot<'a> {
    /// A column, with the name of its table in front.
    Column(&'a str),
    /// A field of the objects in a column.
    Field(&'a Column, &'a str),
}

fn after_dot<'a>(name: &'a str, columns: &'a [Column]) -> Option<AfterDot<'a>> {
    let (before, after) = name.split_once('.')?;
    let named = |name: &str| columns.iter().find(|column| column.name == name);
    let is_word = !after.is_empty() && after.chars().all(is_in_word);
    match named(before).filter(|_| is_word) {
        Some(column) if matches!(type_kind(column.type_oid), TypeKind::Json { .. }) => {
            Some(AfterDot::Field(column, after))
        }
        _ => named(after).map(|column| AfterDot::Column(&column.name)),
    }
}

/// An expression with the names of fields behind `->` and `->>` in quotes, unless they are columns' names; the last field as a text, since a
/// feature or a label is no object.
fn with_fields(expression: &str, columns: &[Column]) -> String {
    let mut pieces = expression.split("->").peekable();
    let mut out = pieces.next().unwrap_or_default().to_owned();
    while let Some(piece) = pieces.next() {
        let (arrow, field) = match piece.strip_prefix('>') {
            Some(field) => ("->>", field),
            None => ("->", piece),
        };
        let name = field.trim_start();
        let end = name.find(|c| !is_in_word(c)).unwrap_or(name.len());
        let quoted = name.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        let is_literal = quoted.is_some_and(|it| !it.contains('\''));
        let is_last = pieces.peek().is_none() && (end == name.len() || is_literal);
        let (name, rest) = name.split_at(end);
        let is_column = columns.iter().any(|column| column.name == name);
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        out += if is_last { "->>" } else { arrow };
        out += &match is_column || is_number {
            true => field.to_owned(),
            false => format!("{}{rest}", quote_literal(name)),
        };
    }
    out
}

/// The training with a key made of several columns, whose names somebody gave as one; None of other names.
pub(super) fn keyed_by_several(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Option<String> {
    let given = request.columns.key.as_deref()?;
    let names = given.trim_matches(['{', '}', '(', ')']).split(',');
    let names: Vec<_> = names.map(str::trim).collect();
    let is_column = |name: &&str| columns.iter().any(|column| column.name == *name);
    if names.len() < 2 || !names.iter().all(is_column) {
        return None;
    }
    let quoted: Vec<_> = names.into_iter().map(quote).collect();
    let name = free_name("key", columns);
    let column = format!("concat_ws('-', {}) AS {}", quoted.join(", "), quote(&name));
    let entries = request.columns.features.iter().flatten();
    let mut arguments = Vec::new();
    if request.columns.features.is_some() {
        arguments.push(features::naming(entries.map(String::as_str)));
    }
    arguments.push(format!("key => {}", quote_literal(&name)));
    let label = (request.columns.label.as_str(), &*arguments.join(", "));
    let hint = computing(request, source, &column, label)?;
    Some(hint.replacen(&format!(", key => {}", quote_literal(given)), "", 1))
}

/// The training with the label as text.
pub(super) fn labelled_as_text(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Option<String> {
    let label = format!("{}::text", quote(&request.columns.label));
    labelled_by(request, source, columns, &label)
}

/// The training with whether the label is above its median.
pub(super) fn labelled_above_median(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> Option<String> {
    let name = quote(&request.columns.label);
    let rank = format!("percent_rank() OVER (ORDER BY {name}) >= 0.5");
    let label = format!("CASE WHEN {name} IS NOT NULL THEN {rank} END");
    labelled_by(request, source, columns, &label)
}

/// The training with a label made of this one, which stands between two [`MADE_OF`].
pub(super) fn labelled_by_another(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
) -> String {
    let label = format!("{MADE_OF}{}{MADE_OF}", quote(&request.columns.label));
    labelled_by(request, source, columns, &label).unwrap_or_default()
}

/// The training with a label that is computed of columns, which are no features then.
fn labelled_by(
    request: &Request,
    source: &GivenSource,
    columns: &[Column],
    expression: &str,
) -> Option<String> {
    let name = free_name("label", columns);
    let column = format!("{expression} AS {}", quote(&name));
    let entries = request.columns.features.iter().flatten();
    let mut features = Vec::new();
    if request.columns.features.is_some() {
        features.push(features::naming(entries.map(String::as_str)));
    }
    // of what is named nothing needs to be left out
    let words: Vec<_> = expression.split(|c: char| !is_in_word(c)).collect();
    let made_of = columns.iter().map(|column| column.name.as_str());
    let is_read = |name: &&str| match quote(name) {
        quoted if quoted == **name => words.contains(name),
        quoted => expression.contains(&quoted),
    };
    let made_of = made_of.filter(|name| request.columns.features.is_none() && is_read(name));
    let mut made_of = made_of.peekable();
    if made_of.peek().is_some() || !request.columns.exclude.is_empty() {
        features.push(features::excluding(made_of, &request.columns.exclude));
    }
    computing(request, source, &column, (&name, &features.join(", ")))
}

/// The training with a column that is computed, this label, and these arguments that say what features are.
fn computing(
    request: &Request,
    source: &GivenSource,
    column: &str,
    (label, features): (&str, &str),
) -> Option<String> {
    // whoever calls such a function need not be allowed to see what its owner trains on
    if !statement::is_callers_own() {
        return None;
    }
    let from = match source {
        GivenSource::Query(text) if text.len() > LONGEST => "…".to_owned(),
        // the line break ends a comment
        GivenSource::Query(text) if text.contains("--") => format!("({text}\n) AS q"),
        GivenSource::Query(text) => format!("({}) AS q", text.trim_end_matches([';', ' ', '\n'])),
        GivenSource::Relation(_) => source.table_expression().ok()?,
    };
    let query = format!("SELECT *, {column} FROM {from}");
    let mut arguments = vec![quote_literal(label)];
    arguments.extend((!features.is_empty()).then(|| features.to_owned()));
    // as the model of the table would be called; one of another label has a name of its own, as it would be the next version of that
    let stored = match request.model.as_str() {
        "" => None,
        name if request.call.named || label == request.columns.label => Some(name.to_owned()),
        name => Some(format!("{}_{label}", words_of(name))),
    };
    let model = stored.as_ref().map(quote_literal);
    arguments.extend(model.map(|name| format!("model => {name}")));
    let mut arguments = arguments.join(", ") + &request.call.typed;
    // a label made of another is one of classes
    if label != request.columns.label {
        for task in ["classification", "regression"] {
            arguments = arguments.replacen(&format!(", task => '{task}'"), "", 1);
        }
    }
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

/// The words of an expression, as a name.
fn words_of(expression: &str) -> String {
    let words = expression.split(|c: char| !is_in_word(c));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
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
