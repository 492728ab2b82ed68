//! Which columns a training reads, and where each stands in the rows of its SELECT. Made together with that SELECT, and known
//! in no other place.

use crate::keys::chunks::KeyKind;
use crate::keys::column::KeyColumn;
use crate::pg::query::Planned;
use crate::pg::types::type_name;
use crate::request::source::quote;
use crate::targets::costs::WeightColumn;
use crate::targets::groups::FoldColumn;
use crate::targets::labels::{LabelColumn, LabelKind};
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// What the rows of a training's SELECT hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    pub label: LabelColumn,
    /// The places of the feature columns.
    pub features: Range<usize>,
    pub weight: Option<WeightColumn>,
    pub fold: Option<FoldColumn>,
    pub key: Option<KeyColumn>,
    /// The places of what decides how a row is trained on, label and key aside: those are read of every row.
    pub decoded: Range<usize>,
}

/// The columns that a training wants of its source, by name.
pub struct WantedColumns<'a> {
    pub label: &'a str,
    pub label_kind: LabelKind,
    /// As of [`LabelColumn`].
    pub classed: &'a str,
    pub features: Vec<&'a str>,
    pub weight: Option<&'a str>,
    pub fold: Option<&'a str>,
    /// The column in whose order folds go forward, and how many pieces there are.
    pub order: Option<(&'a str, u32)>,
    pub key: Option<(&'a str, KeyKind)>,
    /// Whether rows are marked, and as added to those of the model's source.
    pub added: Option<bool>,
}

/// Expressions of a SELECT, each with its place.
#[derive(Default)]
struct SelectList(Vec<String>);

impl SelectList {
    /// The place of one more expression.
    fn push(&mut self, expression: String) -> usize {
        self.0.push(expression);
        self.0.len() - 1
    }
}

impl WantedColumns<'_> {
    /// The expressions of the SELECT, and what its rows hold.
    pub fn list(&self) -> (Vec<String>, Columns) {
        let mut list = SelectList::default();
        let label = LabelColumn {
            name: self.label.to_owned(),
            kind: self.label_kind,
            classed: self.classed.to_owned(),
            at: list.push(match self.label_kind {
                LabelKind::OneClass => "true".to_owned(),
                LabelKind::Text => cast(self.label, "pg_catalog.text"),
                _ => quote(self.label),
            }),
        };
        let first = list.0.len();
        for name in &self.features {
            list.push(quote(name));
        }
        let features = first..list.0.len();
        let weight = self.weight.map(|name| WeightColumn {
            name: name.to_owned(),
            at: list.push(cast(name, "pg_catalog.float8")),
        });
        let by_value = self.fold.map(|name| (name, cast(name, "pg_catalog.text")));
        let by_order = self
            .order
            .map(|(name, pieces)| (name, piece(&quote(name), pieces)));
        let fold = by_value.or(by_order).map(|(name, fold)| FoldColumn {
            name: name.to_owned(),
            at: list.push(fold),
        });
        let decoded = first..list.0.len();
        let key = self.key.map(|(name, kind)| KeyColumn {
            name: name.to_owned(),
            kind,
            at: list.push(cast(name, kind.cast())),
            added_at: self
                .added
                .map(|added| list.push(i32::from(added).to_string())),
        });
        let columns = Columns {
            label,
            features,
            weight,
            fold,
            key,
            decoded,
        };
        (list.0, columns)
    }
}

fn cast(name: &str, to: &str) -> String {
    format!("{}::{to}", quote(name))
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

/// The first of these columns, each with its place, that has another type in one query than in the other, and both types.
pub(super) fn differing<'a>(
    mut columns: impl Iterator<Item = (usize, &'a str)>,
    queries: [&Planned; 2],
) -> Option<(&'a str, [String; 2])> {
    columns.find_map(|(at, name)| {
        let both = queries.map(|query| &query.columns[at]);
        let differs = both[0].type_oid != both[1].type_oid;
        differs.then(|| {
            (
                name,
                both.map(|column| type_name(column.type_oid, column.typmod)),
            )
        })
    })
}
