//! Which columns of a relation or a query an evaluation reads, and as what predictions are given them: the caller needs
//! no right on any other, and no other is fetched.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::base::settings::{self, PredictNulls};
use crate::base::text::{joined, listed, written};
use crate::features::{ArrayPart, Nulls};
use crate::model::{self, Model};
use crate::pg::kept_statement::read_one;
use crate::pg::query::{self, Column};
use crate::pg::types::{type_kind, TypeKind};
use crate::predict::held::HELD;
use crate::predict::row_name::NAMING;
use crate::request::source::{self, quote, GivenSource};
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// Longest name that PostgreSQL keeps whole.
const LONGEST_NAME_BYTES: usize = 63;

/// SQL for the rows of a relation or a query.
pub struct RowsSql {
    /// A FROM item; as a whole it is what predictions are given.
    pub from: String,
    /// What it is called, as SQL writes it.
    pub name: String,
    /// What is joined with it, where nodes of Citus have the rows.
    pub beside: &'static str,
    /// The same as a row value.
    pub value: String,
    /// The label of a row.
    pub label: String,
    pub label_type: pg_sys::Oid,
}

/// The rows of a source. `features`: the column that holds all of them, where there is one.
pub fn of(
    source: &GivenSource,
    model: &Model,
    label: &str,
    features: Option<&str>,
) -> Result<RowsSql, Failure> {
    let columns = source.columns()?;
    let (from, source_name) = (source.table_expression()?, source.named()?);
    let find = |name: &str| columns.iter().find(|column| column.name == name);
    let missing = |name: &str, argument: &str| missing(name, argument, &columns, &source_name);
    let held_in = features.map(|name| find(name).ok_or_else(|| missing(name, "features")));
    let held_in = held_in.transpose()?;
    let row = quote(&source::free_name("pgsvm row", &columns));
    let label_column = find(label);
    let label_sql =
        label_of(&row, label, label_column, held_in).ok_or_else(|| missing(label, "label"))?;
    let label_type = label_column.map_or(pg_sys::TEXTOID, |column| column.type_oid);
    if held_in.is_none() && query::spread_of(&format!("SELECT * FROM {from}")).is_citus {
        // what Citus writes for a node keeps the names of a table's columns, and loses those of a query's
        return Ok(RowsSql {
            from: match source {
                GivenSource::Relation(_) => from,
                GivenSource::Query(_) => written(format_args!("(SELECT * FROM {from})"))?,
            },
            label: label_sql,
            value: format!("{row}::pg_catalog.record"),
            name: row,
            beside: model::beside_nodes(),
            label_type,
        });
    }
    let mut list = columns_read(model, label, held_in, &columns, source)?;
    list.extend(label_column.map(|_| quote(label)));
    Ok(RowsSql {
        from: written(format_args!("(SELECT {} FROM {from})", joined(list, ", ")?))?,
        label: label_sql,
        value: row.clone(),
        name: row,
        beside: "",
        label_type,
    })
}

/// SQL for the label of `row`: its column, or a field of the document that holds the features; None where there is neither.
fn label_of(
    row: &str,
    label: &str,
    column: Option<&Column>,
    held_in: Option<&Column>,
) -> Option<String> {
    let alias = |name: &str| format!("{row}.{}", quote(name));
    if column.is_some() {
        return Some(alias(label));
    }
    match type_kind(held_in?.type_oid) {
        TypeKind::Json { .. } => Some(format!(
            "({} OPERATOR(pg_catalog.->>) {})",
            alias(HELD),
            quote_literal(label)
        )),
        _ => None,
    }
}

/// The column that holds all features, or else those that the model reads, but for the label, and those that say which row it is.
/// One that is not there is for the prediction to complain about.
fn columns_read(
    model: &Model,
    label: &str,
    held_in: Option<&Column>,
    columns: &[Column],
    source: &GivenSource,
) -> Result<Vec<String>, Failure> {
    if let Some(column) = held_in.or_else(|| only_array(model, columns)) {
        return Ok(vec![format!("{} AS {}", quote(&column.name), quote(HELD))]);
    }
    let is_there = |name: &&str| columns.iter().any(|column| column.name == *name);
    let read = model.features.columns().into_iter();
    let read = read.filter(|name| *name != label).filter(is_there);
    let known_by = match source {
        GivenSource::Relation(relation) => known_by(*relation)?,
        GivenSource::Query(_) => Vec::new(),
    };
    let named = known_by
        .iter()
        .filter(|name| NAMING.len() + name.len() <= LONGEST_NAME_BYTES)
        .map(|name| format!("{} AS {}", quote(name), quote(&format!("{NAMING}{name}"))));
    Ok(read.map(quote).chain(named).collect())
}

/// The column of arrays that is all that the model reads; None where a NULL in its place is more than NULL.
fn only_array<'a>(model: &Model, columns: &'a [Column]) -> Option<&'a Column> {
    let [part] = model.features.parts.as_slice() else {
        return None;
    };
    let ArrayPart {
        name, made: None, ..
    } = part.as_one()?
    else {
        return None;
    };
    let null_is_null = match model.nulls {
        Nulls::Skip => true,
        Nulls::Error => settings::predict_nulls() == PredictNulls::Null,
        Nulls::Zero | Nulls::Mean => false,
    };
    columns
        .iter()
        .find(|column| null_is_null && column.name == *name)
        .filter(|column| matches!(type_kind(column.type_oid), TypeKind::Array(_)))
}

/// The columns that say which row it is, as far as the caller may read them: the primary key's, or its place.
fn known_by(relation: pg_sys::Oid) -> Result<Vec<String>, Failure> {
    let names = read_one::<Vec<String>>(
        "SELECT coalesce(
             (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY
                  pg_catalog.array_position(i.indkey::pg_catalog.int2[], a.attnum))
              FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_attribute AS a
                  ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid
                  AND a.attnum OPERATOR(pg_catalog.=) ANY (i.indkey::pg_catalog.int2[])
              WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indisprimary
              HAVING pg_catalog.bool_and(pg_catalog.has_column_privilege(i.indrelid, a.attnum, 'SELECT'))),
             CASE WHEN c.relkind OPERATOR(pg_catalog.=) ANY ('{r,m,p}'::pg_catalog.\"char\"[])
                 AND pg_catalog.has_table_privilege(c.oid, 'SELECT') THEN '{ctid}'::pg_catalog.text[] END,
             '{}'::pg_catalog.text[])
         FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) $1",
        &[relation.into()],
    );
    Ok(names.ok().flatten().unwrap_or_default())
}

/// There is no such column in `source`; `argument` names one.
fn missing(column: &str, argument: &str, columns: &[Column], source: &str) -> Failure {
    let known = || columns.iter().map(|column| column.name.as_str());
    let near = near::names(column, known());
    let quoted: Vec<_> = near.iter().map(|name| format!("\"{name}\"")).collect();
    let hint = match near.as_slice() {
        [] => format!(
            "Name the column that holds {}: {argument} => '…'; there are {}.",
            match argument {
                "label" => "the labels",
                _ => "the features",
            },
            listed(&known().collect::<Vec<_>>())
        ),
        [one] => format!(
            "There is a column \"{one}\": {argument} => {}.",
            quote_literal(one)
        ),
        [first, ..] => format!(
            "The nearest names are {}: {argument} => {}.",
            quoted.join(", "),
            quote_literal(first)
        ),
    };
    Failure::new(
        Code::ERRCODE_UNDEFINED_COLUMN,
        format!(
            "column \"{}\" does not exist in {source}",
            shortened(column)
        ),
    )
    .hint(hint)
}
