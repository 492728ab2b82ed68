//! Where a training's rows come from: a relation or a query becomes one SELECT of the label and the
//! feature columns, planned in the leader to learn its types, its size and who may run it.
//!
//! The executor runs that SELECT, so rights, row-level security, views and partitions are
//! PostgreSQL's own.

use crate::base::errors::{Code, Failure};
use crate::features::{FeaturePart, FeatureSet};
use crate::pg::positions;
use crate::pg::query::{self, Column, NotOneSelect, Planned};
use crate::pg::statement;
use crate::targets::labels::LabelKind;
use pgrx::pg_sys;
use pgsvm_core::CacheLayout;
use std::ffi::CStr;

/// What the user named as the source of rows.
#[derive(Debug, Clone)]
pub enum Source {
    Relation(pg_sys::Oid),
    Query(String),
}

impl Source {
    /// The FROM item that yields the source's rows, every name in it quoted and qualified.
    pub fn table_expression(&self) -> Result<String, Failure> {
        match self {
            Self::Relation(oid) => qualified_relation(*oid).ok_or_else(|| missing(*oid)),
            Self::Query(text) => positions::in_text(text, || query::single_select(text))
                // the line break ends a comment that the user's query may end with
                .map(|select| format!("({select}\n) AS pgsvm_source"))
                .map_err(not_one_select),
        }
    }

    /// The columns that the source offers. What PostgreSQL finds wrong in a query it says here, with the place.
    pub fn columns(&self) -> Result<Vec<Column>, Failure> {
        let select = match self {
            Self::Relation(oid) => {
                check_relation_kind(*oid)?;
                format!("SELECT * FROM {}", self.table_expression()?)
            }
            Self::Query(text) => {
                positions::in_text(text, || query::single_select(text)).map_err(not_one_select)?
            }
        };
        Ok(positions::in_text(&select, || query::plan(&select)).columns)
    }

    /// `SELECT label, features…, weight, fold, key, mark FROM source`, where there are such columns.
    pub fn select(&self, columns: &Selected<'_>) -> Result<String, Failure> {
        let list = columns.list().join(", ");
        Ok(format!("SELECT {list} FROM {}", self.table_expression()?))
    }

    /// The name a model gets when the user gives none: relation_label.
    pub fn default_model_name(&self, label: &str) -> Result<String, Failure> {
        match self {
            Self::Relation(oid) => relation_name(*oid)
                .map(|name| format!("{name}_{label}"))
                .ok_or_else(|| missing(*oid)),
            Self::Query(_) => Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "a model trained from a query needs a name",
            )
            .hint("svm_train_query('SELECT …', 'label', model => 'name')")),
        }
    }
}

/// The columns that a training reads.
pub struct Selected<'a> {
    pub label: &'a str,
    pub label_kind: LabelKind,
    pub features: Vec<&'a str>,
    pub weight: Option<&'a str>,
    pub fold: Option<&'a str>,
    /// The column in whose order folds go forward, and how many pieces there are.
    pub order: Option<(&'a str, u32)>,
    /// With the type to cast it to.
    pub key: Option<(&'a str, &'static str)>,
    /// Whether rows are marked, and as added to those of the model's source.
    pub added: Option<bool>,
}

impl Selected<'_> {
    /// As SQL: first the label, text-like ones cast to text; the weight as float8 and the fold as text.
    fn list(&self) -> Vec<String> {
        let label = match self.label_kind {
            LabelKind::Text => format!("{}::pg_catalog.text", quote(self.label)),
            _ => quote(self.label),
        };
        let features = self.features.iter().map(|name| quote(name));
        let weight = self
            .weight
            .map(|name| format!("{}::pg_catalog.float8", quote(name)));
        let fold = self
            .fold
            .map(|name| format!("{}::pg_catalog.text", quote(name)));
        let order = self.order.map(|(name, pieces)| piece(&quote(name), pieces));
        let key = self
            .key
            .map(|(name, cast)| format!("{}::{cast}", quote(name)));
        let all = core::iter::once(label).chain(features);
        let mark = self.added.map(|added| i32::from(added).to_string());
        all.chain(weight)
            .chain(fold)
            .chain(order)
            .chain(key)
            .chain(mark)
            .collect()
    }
}

/// As SQL: in which of so many pieces of equal length a row is in the order of a column, from 0; rows of one value are in the
/// same. NULL where the column is.
fn piece(column: &str, pieces: u32) -> String {
    let rank = format!("pg_catalog.percent_rank() OVER (ORDER BY {column})");
    let piece =
        format!("pg_catalog.floor({rank} OPERATOR(pg_catalog.*) {pieces}::pg_catalog.float8)");
    let last = pieces - 1;
    format!("CASE WHEN {column} IS NOT NULL THEN LEAST({piece}, {last})::pg_catalog.int4 END")
}

/// Bytes the source may come to: what the planner expects, or what the relations it scans take on
/// disk, whichever is larger (wide arrays live out of line, where the planner does not look).
pub fn estimated_bytes(planned: &Planned) -> f64 {
    (planned.rows * planned.width_bytes).max(planned.relation_bytes)
}

/// Bytes of cache that the rows may take: what the source may come to, but for plain columns and
/// categories what they take when packed, whatever else the relations hold.
pub fn expected_cache_bytes(planned: &Planned, features: &FeatureSet) -> f64 {
    let numbers = features.parts.iter().try_fold(0, |sum, part| match part {
        FeaturePart::Column { .. } => Some(sum + 1),
        // the feature's number and its value
        FeaturePart::Category { .. } => Some(sum + 2),
        _ => None,
    });
    match numbers {
        Some(numbers) => planned.rows * CacheLayout::dense_row_bytes(numbers) as f64,
        None => estimated_bytes(planned),
    }
}

/// An identifier as SQL writes it.
pub fn quote(identifier: &str) -> String {
    pgrx::spi::quote_identifier(identifier)
}

fn missing(oid: pg_sys::Oid) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_TABLE,
        format!("relation with OID {} does not exist", oid.to_u32()),
    )
}

/// A relation's name, quoted and with its schema.
pub fn qualified_relation(oid: pg_sys::Oid) -> Option<String> {
    let name = relation_name(oid)?;
    // SAFETY: a catalog look-up inside a transaction.
    let schema = statement::quoted_schema(unsafe { pg_sys::get_rel_namespace(oid) })?;
    Some(format!("{schema}.{}", quote(&name)))
}

fn relation_name(oid: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalog look-up inside a transaction; the result is a palloc'd string or null.
    unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

fn check_relation_kind(oid: pg_sys::Oid) -> Result<(), Failure> {
    // SAFETY: a catalog look-up inside a transaction.
    let kind = unsafe { pg_sys::get_rel_relkind(oid) } as u8;
    let readable = [
        pg_sys::RELKIND_RELATION,
        pg_sys::RELKIND_PARTITIONED_TABLE,
        pg_sys::RELKIND_VIEW,
        pg_sys::RELKIND_MATVIEW,
        pg_sys::RELKIND_FOREIGN_TABLE,
    ];
    if kind == 0 || readable.contains(&kind) {
        return Ok(());
    }
    let name = relation_name(oid).unwrap_or_default();
    Err(Failure::new(
        Code::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{name}\" is not a table, view, materialized view or foreign table"),
    ))
}

fn not_one_select(reason: NotOneSelect) -> Failure {
    let what = match reason {
        NotOneSelect::Empty => "the query is empty".to_owned(),
        NotOneSelect::SeveralStatements(count) => {
            format!("the query holds {count} statements, expected one SELECT")
        }
        NotOneSelect::NotASelect => "the query is not a SELECT".to_owned(),
    };
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, what).hint(
        "Give one SELECT without INTO: svm_train_query('SELECT y, x1, x2 FROM t', 'y', model => 'm')",
    )
}
