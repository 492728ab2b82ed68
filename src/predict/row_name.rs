//! What a row is known by, for errors about it: the values of its table's primary key, or what the query
//! of an evaluation gives in columns of its own. Looked up when there is an error, and not before.

use crate::base::errors::shortened;
use crate::pg::record::{RowShape, RowValue};
use crate::pg::select;
use crate::pg::value;
use pgrx::pg_sys;
use std::ffi::CString;

/// How the columns begin that say what a row is known by, in a query of ours.
pub const NAMING: &str = "pgsvm row's ";

/// What the row is known by: `id 17`, or `a 1 and b 2`.
pub fn of(shape: &mut RowShape, row: &RowValue) -> Option<String> {
    let columns = shape.columns().to_vec();
    let named = columns.iter().enumerate().filter_map(|(at, column)| {
        let name = column.name.strip_prefix(NAMING)?;
        Some((at, name.to_owned()))
    });
    let mut known_by: Vec<(usize, String)> = named.collect();
    if known_by.is_empty() {
        let keys = primary_key(shape.type_id());
        known_by = keys
            .into_iter()
            .filter_map(|key| {
                let at = columns.iter().position(|column| column.name == key)?;
                Some((at, key))
            })
            .collect();
    }
    let (values, nulls) = shape.deform(row);
    let names: Vec<String> = known_by
        .iter()
        .filter(|(at, _)| !nulls[*at])
        .map(|(at, name)| {
            // SAFETY: the row's values are of its columns' types.
            let text = unsafe { value::printed(values[*at], columns[*at].type_oid) };
            format!("{name} {}", shortened(&text))
        })
        .collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The columns of a table's primary key, given the type of its rows; none of another type.
fn primary_key(type_id: pg_sys::Oid) -> Vec<String> {
    let query = format!(
        "SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_type AS t
         JOIN pg_catalog.pg_index AS i ON i.indrelid OPERATOR(pg_catalog.=) t.typrelid
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid
             AND a.attnum OPERATOR(pg_catalog.=) ANY (i.indkey::pg_catalog.int2[])
         WHERE t.oid OPERATOR(pg_catalog.=) {} AND i.indisprimary
         ORDER BY pg_catalog.array_position(i.indkey::pg_catalog.int2[], a.attnum)",
        type_id.to_u32()
    );
    let mut keys = Vec::new();
    let query = CString::new(query).unwrap_or_default();
    select::connected(|| {
        select::for_each_at_once(&query, |row| keys.extend(row.text(1)));
    });
    keys
}
