//! `svm_suspects(…, folds => 5)`: rows judged out of fold. The relation is trained on as the model was, without storing anything: each
//! row is decided by the heads that were trained on the other folds, so that none speaks for a label that it has learned.
//!
//! Rows are told apart by their number in the order of a hash of their text. That does not depend on how they are fetched, and of
//! rows that are equal each is as good as the other.

use crate::base::errors::Failure;
use crate::base::text::{joined, terminated, written};
use crate::combinations::following;
use crate::keys::chunks::{read_keys, KeyKind};
use crate::model::Model;
use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::request::source::{free_name, quote, GivenSource};
use crate::sql::suspects::label_as_number;
use crate::training::entrance;
use crate::training::outcome::Trained;
use crate::warm_start::stored::StoredVersion;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use std::fmt::Display;

/// What is asked for.
pub(super) struct AskedFolds<'a> {
    /// The extension's schema, quoted.
    pub(super) schema: &'a str,
    pub(super) model: &'a Model,
    pub(super) source: &'a GivenSource,
    pub(super) folds: i32,
    /// The margin below which labels are doubted.
    pub(super) below: f64,
    pub(super) limit: Option<i32>,
}

/// The rows that have a label, numbered.
struct Numbered {
    /// What follows FROM, and what a row is called there.
    from: String,
    row: String,
    /// SQL for its label as a text, where that is predicted as a number, and for its own number; and what this is called.
    label: String,
    value: Option<String>,
    number: String,
    column: String,
}

/// What was found.
struct Doubts {
    /// By class, its label.
    labels: Vec<String>,
    /// The rows that are doubted, the most doubtful first: number, class, margin; of a regression how far above the label the prediction is.
    rows: Vec<(i64, usize, f64)>,
}

/// Judges the rows, and gives `visit` those that are doubted, the most doubtful first: the row as jsonb, its label, the one that
/// is predicted, its margin.
pub(super) fn visit(asked: &AskedFolds<'_>, visit: impl FnMut(&ResultRow)) -> Result<(), Failure> {
    let numbered = Numbered::of(asked)?;
    let doubts = find(asked, &numbered)?;
    let query = match asked.model.regresses {
        true => numbers_query(&numbered)?,
        false => query(&numbered, &doubts.labels)?,
    };
    let query = terminated(&query)?;
    let rows = || doubts.rows.iter();
    let lists = [
        array(rows().map(|it| it.0))?,
        array(rows().map(|it| it.1 + 1))?,
        array(rows().map(|it| it.2))?,
    ];
    select::connected(|| {
        let values = lists.each_ref().map(|list| Parameter::Text(list));
        let types = [pg_sys::TEXTOID; 3];
        PreparedSelect::once(&query, &types).for_each_at_once(&values, visit);
    });
    Ok(())
}

/// An array's text.
fn array<T: Display>(items: impl IntoIterator<Item = T>) -> Result<String, Failure> {
    Ok(written(format_args!("{{{}}}", joined(items, ",")?))?)
}

impl Numbered {
    fn of(asked: &AskedFolds<'_>) -> Result<Self, Failure> {
        let columns = asked.source.columns()?;
        let row = quote(&free_name("pgsvm row", &columns));
        let label = format!("{row}.{}", quote(&asked.model.label_column));
        Ok(Self {
            from: written(format_args!(
                "(SELECT * FROM {}) AS {row} WHERE {label} IS NOT NULL",
                asked.source.table_expression()?
            ))?,
            number: format!(
                "pg_catalog.row_number() OVER (ORDER BY pg_catalog.md5({row}::pg_catalog.text))"
            ),
            label: format!("CAST({label} AS pg_catalog.text)"),
            column: free_name("pgsvm number", &columns),
            value: (asked.model.regresses).then(|| label_as_number(asked.model, &columns, &row)),
            row,
        })
    }

    /// The same as a source to train on.
    fn source(&self) -> Result<GivenSource, Failure> {
        let Self {
            from,
            row,
            number,
            column,
            ..
        } = self;
        let column = quote(column);
        let query = written(format_args!(
            "SELECT {row}.*, {number} AS {column} FROM {from}"
        ))?;
        Ok(GivenSource::query(query))
    }
}

/// Trains on the rows with each fold held out.
fn find(asked: &AskedFolds<'_>, numbered: &Numbered) -> Result<Doubts, Failure> {
    let (name, version) = asked.model.name_and_version();
    let stored = StoredVersion::load(asked.schema, name, version.unwrap_or_default())?;
    if stored.tells_classes_together() {
        return Err(following::together_suspects());
    }
    let features = &asked.model.features;
    let request = stored.request_of(numbered.source()?, name, features, None)?;
    let request = request.out_of_fold(asked.folds, &numbered.column)?;
    let mut prepared = entrance::prepare(&request, None)?;
    // whoever called may be in a query that is in parallel mode
    (prepared.job.roles, prepared.job.statement.cut) = (Vec::new(), None);
    prepared.job.looks.doubts = Some(asked.below);
    let trained = entrance::run(&prepared, None);
    doubts(asked, &trained)
}

fn doubts(asked: &AskedFolds<'_>, trained: &Trained) -> Result<Doubts, Failure> {
    let numbers = numbers(trained)?;
    // a row with a target comes on two sides, one behind the other
    let (sides, unit) = match trained.reader.report.targets {
        Some(targets) => (2, targets.deviation),
        None => (1, 1.0),
    };
    let mut rows = gathered(trained.doubts.iter().map(|doubt| {
        let number = numbers.get(doubt.row / sides).copied().unwrap_or_default();
        (number, doubt.class, unit * f64::from(doubt.margin))
    }))?;
    let doubtful = |margin: f64| match sides {
        2 => -margin.abs(),
        _ => margin,
    };
    rows.sort_by(|(a, _, one), (b, _, other)| {
        let order = doubtful(*one).total_cmp(&doubtful(*other));
        order.then(a.cmp(b))
    });
    if let Some(limit) = asked.limit {
        rows.truncate(limit.max(0) as usize);
    }
    let classes = trained.reader.classes.iter();
    let labels = gathered(classes.map(|class| class.text.clone()))?;
    Ok(Doubts { labels, rows })
}

/// The numbers of the rows that were trained on.
fn numbers(trained: &Trained) -> Result<Vec<i64>, Failure> {
    let mut numbers = Vec::new();
    for chunk in &trained.keys {
        let rows = chunk.rows as usize;
        let read = read_keys(KeyKind::Integer, rows, &chunk.keys, &chunk.digests)?;
        let keys = read.unwrap_or_default();
        numbers
            .room(keys.len())?
            .extend(keys.iter().map(|(key, _)| *key as u64 as i64));
    }
    Ok(numbers)
}

/// The SELECT of the rows whose numbers, classes from 1 and margins are given.
fn query(numbered: &Numbered, labels: &[String]) -> Result<String, OutOfMemory> {
    let labels = joined(labels.iter().map(quote_literal), ", ")?;
    let predicted = written(format_args!(
        "(ARRAY[{labels}]::pg_catalog.text[])[doubt.class]"
    ))?;
    numbered.select(&predicted, "doubt.margin", "doubt.margin")
}

/// The same of labels that are numbers, where margins are how far above them predictions are.
fn numbers_query(numbered: &Numbered) -> Result<String, OutOfMemory> {
    let predicted = "CAST(suspect.value OPERATOR(pg_catalog.+) doubt.margin AS pg_catalog.text)";
    let margin = "pg_catalog.abs(doubt.margin)";
    numbered.select(predicted, margin, "pg_catalog.abs(doubt.margin) DESC")
}

impl Numbered {
    /// The SELECT of the rows whose numbers are given, with what is predicted of a suspect by its doubt.
    fn select(&self, predicted: &str, margin: &str, order: &str) -> Result<String, OutOfMemory> {
        let Self {
            from,
            row,
            label,
            value,
            number,
            ..
        } = self;
        let value = match value {
            None => "NULL",
            Some(value) => value,
        };
        written(format_args!(
            "SELECT pg_catalog.to_jsonb(suspect.example), suspect.label, {predicted}, {margin}
             FROM (SELECT {row} AS example, {label} AS label, {value} AS value, {number} AS number FROM {from}) AS suspect
             JOIN ROWS FROM (
                 pg_catalog.unnest($1::pg_catalog.int8[]),
                 pg_catalog.unnest($2::pg_catalog.int4[]),
                 pg_catalog.unnest($3::pg_catalog.float8[])
             ) AS doubt (number, class, margin) ON doubt.number OPERATOR(pg_catalog.=) suspect.number
             ORDER BY {order}, doubt.number"
        ))
    }
}
